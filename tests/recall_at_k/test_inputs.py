"""What is accepted, what is refused, and in which words."""

import numpy as np
import pandas as pd
import pytest

from metrics.recall_at_k.scoring import sample_statistics, score

RNG = np.random.default_rng(0)
IMAGES, TEXTS = RNG.standard_normal((6, 8)), RNG.standard_normal((9, 8))
REFERENCES = [[0, 1], 2, [3], [4, 5], 6, [7, 8]]
MATRIX = IMAGES @ TEXTS.T


def same(found, expected):
    assert found.keys() == expected.keys()
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key], key)


@pytest.mark.parametrize(
    "change",
    [
        np.asfortranarray,
        np.ndarray.tolist,
        tuple,
        list,
        lambda m: np.flip(np.flip(m).copy()),
        lambda m: np.repeat(m, 2, axis=1)[:, ::2],
        pd.DataFrame,
    ],
    ids=["fortran", "lists", "tuple", "list of rows", "reversed", "strided", "data frame"],
)
def test_containers_of_similarities(change):
    same(sample_statistics(change(MATRIX), REFERENCES), sample_statistics(MATRIX, REFERENCES))


@pytest.mark.parametrize(
    "references",
    [
        tuple(REFERENCES),
        np.array(REFERENCES, dtype=object),
        [np.array(r) if isinstance(r, list) else r for r in REFERENCES],
        [tuple(r) if isinstance(r, list) else np.int64(r) for r in REFERENCES],
    ],
    ids=["tuple", "objects", "arrays", "tuples"],
)
def test_containers_of_references(references):
    same(sample_statistics(MATRIX, references), sample_statistics(MATRIX, REFERENCES))


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("as_predictions", [True, False])
def test_torch_tensors(dtype, as_predictions):
    torch = pytest.importorskip("torch")
    kind = getattr(torch, dtype)
    if as_predictions:
        tensor = torch.tensor(MATRIX, dtype=kind, requires_grad=True)
        same(sample_statistics(tensor, REFERENCES), sample_statistics(tensor.detach().double().numpy(), REFERENCES))
        return
    sides = [torch.tensor(side, dtype=kind) for side in (IMAGES, TEXTS)]
    wide = [side.numpy() if dtype == "float64" else side.float().numpy() for side in sides]
    same(sample_statistics(None, REFERENCES, *sides), sample_statistics(None, REFERENCES, *wide))


def test_half_precision_arrays_are_widened():
    half = [side.astype(np.float16) for side in (IMAGES, TEXTS)]
    same(
        sample_statistics(None, REFERENCES, *half),
        sample_statistics(None, REFERENCES, *(side.astype(np.float32) for side in half)),
    )


def test_zero_vectors_have_similarity_zero():
    images = np.array([[0.0, 0], [1, 0]])
    statistics = sample_statistics(None, [0, 1], images, [[1.0, 1], [1, 0]], directions="forward")
    assert statistics["tied"].tolist() == [1, 0]
    same(statistics, sample_statistics(None, [0, 1], images - 0.0 * images, [[2.0, 2], [1, 0]], directions="forward"))


@pytest.mark.parametrize("scale", [1e-30, 1e-20, 1.0, 1e18, 1e30])
def test_cosine_of_very_small_and_large_vectors(scale):
    # Squares of such numbers leave float32.
    images, texts = (side.astype(np.float32) for side in (IMAGES, TEXTS))
    found = score(sample_statistics(None, REFERENCES, images * np.float32(scale), texts))
    assert found == pytest.approx(score(sample_statistics(None, REFERENCES, images, texts)))


@pytest.mark.parametrize(
    "items, references, error, message",
    [
        ([[1, 2], [3]], None, ValueError, r"predictions\[1\] has 1 numbers, expected 2 as in predictions\[0\]"),
        ([[1, "2"]], [0], TypeError, r"predictions\[0\]\[1\] is str '2', expected a number"),
        ([[1, None]], [0], TypeError, r"predictions\[0\]\[1\] is None"),
        ([[True]], [0], TypeError, r"predictions\[0\]\[0\] is bool True"),
        ("text", [0], TypeError, "predictions is str 'text'"),
        ([], [], ValueError, "predictions is empty"),
        (np.zeros((0, 3)), [], ValueError, r"predictions has the shape \(0, 3\)"),
        (np.zeros((2, 0)), [[], []], ValueError, r"predictions has the shape \(2, 0\)"),
        (np.zeros(3), [0], ValueError, r"predictions has the shape \(3,\)"),
        (np.array([["a"]]), [0], TypeError, "predictions has the type <U1"),
        (np.eye(2) > 0, None, TypeError, "predictions has the type bool"),
        ([[0, np.nan], [np.nan, 1]], None, ValueError, r"predictions has 2 NaN, the first at \[0\]\[1\]"),
        ([[1 << 60, 1]], [0], ValueError, "1 integers beyond"),
        (np.zeros((2, 3)), None, ValueError, "references is None and the sides have 2 and 3 items"),
        (np.eye(2), [0], ValueError, "references has 1 items, expected 2"),
        (np.eye(2), [0, 2], ValueError, r"references\[1\]\[0\] is out of range, expected a column, 0 to 1"),
        (np.eye(2), [0, -1], ValueError, r"references\[1\]\[0\] is out of range"),
        (np.eye(2), [0, 1 << 70], ValueError, r"references\[1\]\[0\] is out of range"),
        (np.eye(2), [0, True], TypeError, r"references\[1\] is bool True"),
        (np.eye(2), [0, [1.0]], TypeError, r"references\[1\]\[0\] is float 1.0, expected int"),
        (np.eye(2), [0, None], TypeError, r"references\[1\] is None"),
        (np.eye(2), {0: 1}, TypeError, "references is dict"),
    ],
)
def test_wrong_similarities_and_references(items, references, error, message):
    with pytest.raises(error, match=message):
        sample_statistics(items, references)


@pytest.mark.parametrize(
    "sides, options, error, message",
    [
        ((IMAGES, None), {}, ValueError, "text_embeddings is None"),
        ((IMAGES, TEXTS[:, :3]), {}, ValueError, "image_embeddings have 8 dimensions and text_embeddings 3"),
        (
            (IMAGES, np.where(TEXTS > 2, np.inf, TEXTS)),
            {},
            ValueError,
            "text_embeddings has .* infinities, the first at",
        ),
        (
            np.float32([IMAGES[:6] * 1e30, TEXTS[:6] * 1e30]),
            {"similarity": "dot"},
            ValueError,
            "could overflow float32",
        ),
        ((IMAGES, TEXTS), {"similarity": "l2"}, ValueError, "similarity is 'l2', expected one of cosine, dot"),
    ],
)
def test_wrong_embeddings(sides, options, error, message):
    with pytest.raises(error, match=message):
        sample_statistics(None, [0] * 6, *sides, **options)


def test_float64_products_reach_further():
    wide = (IMAGES * 1e30, TEXTS * 1e30)
    assert sample_statistics(None, REFERENCES, *wide, similarity="dot")["query"].size == 15


def test_both_or_no_inputs():
    for inputs in ({}, {"predictions": MATRIX, "image_embeddings": IMAGES, "text_embeddings": TEXTS}):
        with pytest.raises(ValueError, match="expected either predictions"):
            sample_statistics(references=REFERENCES, **inputs)
