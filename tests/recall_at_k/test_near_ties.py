"""Similarities of embeddings that tie on paper tie, by exact arithmetic; others come in the order of float64."""

import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.recall_at_k import products, ranks, scoring
from metrics.recall_at_k.device import DeviceArithmetic
from metrics.recall_at_k.scoring import sample_statistics, score
from metrics.scale.retrieval import sample_statistics as statistics_of_shards
from tests.recall_at_k.oracle import scores_of, transposed
from tests.stress import rounds

SIZES = (23, 50)
REFERENCES = [sorted({i, 2 * i + 1, (7 * i) % SIZES[1]}) for i in range(SIZES[0])]
# Blocks, and from which share of near pairs on a product in float64 decides: never, as it is, always.
WAYS = [(512, 8400, 1.0), (512, 8400, 1 / 256), (512, 8400, 0.0), (7, 9, 0.0), (16, 64, 1 / 256)]


def binary(rng, size):
    return rng.choice([-1, 1], (size, 12))


def one_hot(rng, size):
    return np.eye(9, dtype=int)[rng.integers(0, 9, size)]


def duplicated(rng, size):
    # Some also at another length, and zero vectors.
    vectors = rng.integers(-20, 21, (size, 30))
    vectors[size // 2 :] = vectors[: size - size // 2] * rng.integers(0, 5, (size - size // 2, 1))
    return vectors


def quantised(rng, size):
    return rng.integers(-4, 5, (size, 2)) * 31


KINDS = [binary, one_hot, duplicated, quantised]


def sides_of(kind, sizes=SIZES, seed=0):
    rng = np.random.default_rng(seed)
    return [kind(rng, size) for size in sizes]


def exact_statistics(images, texts, similarity, **options):
    """Of integers: each query's items as places in their exact order, which a matrix of integers holds."""
    dots = images @ texts.T
    results = []
    for axis, direction in enumerate(scoring.DIRECTIONS[1:]):
        # A query's own norm changes no order.
        squares = (texts, images)[axis].astype(object) ** 2
        squares = squares.sum(axis=1) if similarity == "cosine" else np.ones(len(squares), int)
        keys = [
            [Fraction(int(dot) * abs(int(dot)), int(square) or 1) for dot, square in zip(row, squares)]
            for row in (dots, dots.T)[axis]
        ]
        places = [{key: place for place, key in enumerate(sorted(set(row)))} for row in keys]
        places = np.array([[place[key] for key in row] for place, row in zip(places, keys)])
        results.append(sample_statistics((places, places.T)[axis], directions=direction, **options))
    return {key: np.concatenate([result[key] for result in results]) for key in results[0]}


def same(found, expected):
    assert found.keys() == expected.keys()
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key], key)


def as_type(side, dtype):
    if dtype == "bfloat16":
        return pytest.importorskip("torch").tensor(side).bfloat16()
    return side.astype(dtype)


def with_blocks(monkeypatch, height, width, share):
    for module in (ranks, products):
        monkeypatch.setattr(module, "HEIGHT", height)
        monkeypatch.setattr(module, "WIDTH", width)
    monkeypatch.setattr(products, "NEAR_SHARE", share)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_integers_exactly(monkeypatch, kind, similarity):
    sides = sides_of(kind)
    options = {"references": REFERENCES, "fraction_at": (1, 5)}
    expected = exact_statistics(*sides, similarity, **options)
    assert expected["tied"].any()
    for dtype in ("int8", "float16", "bfloat16", "float32", "float64"):
        typed = [as_type(side, dtype) for side in sides]
        if dtype.startswith("float"):
            # 0.0 and -0.0 are one number.
            typed = [
                np.where(side == 0, np.array([0.0, -0.0], dtype)[np.arange(side.shape[1]) % 2], side) for side in typed
            ]
        for way in WAYS if dtype in ("float32", "float64") else WAYS[1:3]:
            with_blocks(monkeypatch, *way)
            whole = {"image_embeddings": typed[0], "text_embeddings": typed[1]}
            same(sample_statistics(**whole, **options, similarity=similarity), expected)
        shards = {"image_embeddings": [typed[0][:9], typed[0][9:]], "text_embeddings": [typed[1][:30], typed[1][30:]]}
        same(statistics_of_shards(**shards, **options, similarity=similarity), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_integers_on_a_device_exactly(monkeypatch, kind):
    # The same steps in torch; here on the CPU, since the machines that run tests have no GPU.
    torch = pytest.importorskip("torch")
    sides = sides_of(kind)
    expected = exact_statistics(*sides, "cosine", references=REFERENCES)
    pairs = scoring.check_pairs(REFERENCES, None, *SIZES)
    monkeypatch.setattr(scoring, "DeviceArithmetic", lambda device: DeviceArithmetic(torch.device(device)))
    for dtype in ("float32", "float64"):
        items = scoring.check_items(None, *(side.astype(dtype) for side in sides))._replace(device="cpu")
        for way in WAYS:
            with_blocks(monkeypatch, *way)
            same(scoring.count_pairs(items, pairs), expected)


TF32 = ["torch.set_float32_matmul_precision('high')", "torch.backends.cuda.matmul.allow_tf32 = True"]
NEWER = ["torch.backends.cuda.matmul.fp32_precision = 'tf32'", "torch.backends.fp32_precision = 'tf32'"]


@pytest.mark.parametrize("setting", ["pass", *TF32, *NEWER])
def test_a_device_that_multiplies_less_exactly_is_given_float64(setting):
    # In a process of its own, since torch refuses to be asked the older way after the newer was used.
    torch = pytest.importorskip("torch")
    if setting in NEWER and not hasattr(torch.backends.cuda.matmul, "fp32_precision"):
        pytest.skip("this torch has the older way alone")
    code = f"""
import numpy as np, torch
from metrics.recall_at_k.device import DeviceArithmetic
{setting}
print(DeviceArithmetic(torch.device("cpu")).product_type(np.dtype(np.float32)))
"""
    expected = "float32" if setting == "pass" else "float64"
    command = [sys.executable, "-c", code]
    process = subprocess.run(command, capture_output=True, text=True, cwd=Path(__file__).parents[2], check=True)
    assert process.stdout.split() == [expected]


def test_three_equal_cosines():
    texts = np.float32([[1, -1, 1], [-1, -1, -1], [-1, 1, 1]])
    statistics = sample_statistics(None, [0], np.float32([[1, 1, -1]]), texts, directions="forward")
    assert score(statistics, k=1)["i2t_r@1"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("dtype", ["float64", "int8", "float32"])
def test_codes_score_as_their_integer_products(dtype):
    rng = np.random.default_rng(0)
    images = rng.choice([-1, 1], (2000, 24))
    texts = np.where(rng.random(images.shape) < 0.3, -images, images)
    same(sample_statistics(None, None, images.astype(dtype), texts.astype(dtype)), sample_statistics(images @ texts.T))


def multiples(seed, sizes, dimensions):
    rng = np.random.default_rng(seed)
    vector = rng.normal(size=dimensions)
    return [rng.uniform(0.5, 2, (size, 1)) * vector for size in sizes]


@pytest.mark.stress
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("dimensions", [1, 2, 7, 256, 1500])
def test_multiples_of_one_vector_are_at_chance_exactly(dtype, dimensions):
    for seed in range(rounds(4, 100)):
        for twice in (False, True):
            sides = [side.astype(dtype) for side in multiples(seed, (60, 130), dimensions)]
            if twice:
                sides = [side / np.linalg.norm(side, axis=1, keepdims=True).astype(dtype) for side in sides]
            statistics = sample_statistics(None, list(range(60)), *sides, fraction_at=[3])
            assert not statistics["better"].any()
            np.testing.assert_array_equal(statistics["tied"], (statistics["gallery"] - 1) * statistics["correct"])
            assert score(statistics, k=1)["rsum"] == pytest.approx(1 / 60 + 1 / 130)


@pytest.mark.parametrize("seed", range(4))
def test_a_collapsed_model_of_500(seed):
    sides = [side.astype(np.float32) for side in multiples(seed, (500, 500), 256)]
    assert score(sample_statistics(None, None, *sides))["rsum"] == pytest.approx(2 * 16 / 500)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_collapsed_model_in_half_precision_is_at_chance_on_average(dtype):
    # Its stored vectors differ, and so do their similarities; none of them may have an advantage.
    found = []
    for seed in range(200):
        scores = score(sample_statistics(None, None, *(as_type(s, dtype) for s in multiples(seed, (50, 50), 64))), k=1)
        found.append([scores["i2t_r@1"], scores["t2i_r@1"], scores["i2t_r@1"] - scores["t2i_r@1"]])
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - [1 / 50, 1 / 50, 0]) < 3 * error).all()


@given(st.integers(0, 10**6), st.sampled_from(["cosine", "dot"]))
@settings(max_examples=30, deadline=None)
def test_codes_score_the_mean_over_all_orders(seed, similarity):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 6, 2)
    images, texts = (rng.choice([-1, 1], (size, 3)).astype(np.float32) for size in (rows, columns))
    forward = [set(rng.permutation(columns)[: 1 + rng.integers(0, columns)].tolist()) for _ in range(rows)]
    statistics = sample_statistics(
        None, list(map(sorted, forward)), images, texts, similarity=similarity, fraction_at=[1, 2]
    )
    found = score(statistics, [1, 2], recall_fraction=True)
    del found["rsum"]
    expected = scores_of((images @ texts.T).astype(int), forward, transposed(forward, columns), [1, 2])
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_the_bound_of_a_tie(monkeypatch, way, similarity):
    # Four dimensions: 52 * 2**-50, that is 208 times the spacing of numbers from 1 on.
    with_blocks(monkeypatch, *way)
    steps = np.arange(-300, 301)
    texts = np.zeros((601, 4))
    texts[:, 0] = steps * 2.0**-52
    # Nearly at right angles the cosine is the first number, and all lengths are 1.
    texts[:, 1] = 1
    images = [[1.0, 0, 0, 0]]
    statistics = sample_statistics(None, [300], images, texts, similarity=similarity, directions="forward")
    assert (statistics["better"].item(), statistics["tied"].item()) == (300 - 208, 2 * 208)


def noisy(seed=0, images=150, texts=600, dimensions=48):
    """Embeddings as models have them, and to every third text a neighbour: the next number in one dimension."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((images, dimensions)).astype(np.float32)
    own = rng.integers(0, images, texts)
    second = first[own] + 1.5 * rng.standard_normal((texts, dimensions)).astype(np.float32)
    second[1::3] = second[::3]
    second[1::3, 0] = np.nextafter(second[1::3, 0], np.float32(np.inf))
    own[1::3] = own[::3]
    own[2::3] = np.arange(len(own[2::3])) % images
    return first, second, [np.flatnonzero(own == i)[:2].tolist() for i in range(images)]


def in_float64(images, texts):
    wide = (side.astype(float) for side in (images, texts))
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in wide]
    return units[0] @ units[1].T


@pytest.mark.parametrize("seed", range(3))
def test_real_numbers_come_in_the_order_of_float64(seed):
    images, texts, references = noisy(seed)
    exact = in_float64(images, texts)
    expected = sample_statistics(exact, references)
    found = sample_statistics(None, references, images, texts)
    same(found, expected)
    # A peer that computes in float32 has other numbers for some queries; these are the pairs that it takes wrongly.
    units = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (images, texts)]
    peer = units[0] @ units[1].T
    wrong = []
    for query, correct in enumerate(references):
        best, theirs = (max(correct, key=matrix[query].__getitem__) for matrix in (exact, peer))
        differs = (exact[query] > exact[query, best]) != (peer[query] > peer[query, theirs])
        wrong += [(query, item, exact[query, item] - exact[query, best]) for item in np.flatnonzero(differs).tolist()]
    assert wrong, "the peer agrees: the test shows nothing"
    assert all(1e-12 < abs(gap) < 1e-6 for _, _, gap in wrong), wrong


@pytest.mark.parametrize("way", WAYS)
def test_real_numbers_in_any_blocks_and_shards(monkeypatch, way):
    images, texts, references = noisy(5)
    options = {"references": references, "fraction_at": (1, 10)}
    whole = {"image_embeddings": images, "text_embeddings": texts}
    shards = {key: np.array_split(side, 3) for key, side in whole.items()}
    for similarity in ("cosine", "dot"):
        expected = sample_statistics(**whole, **options, similarity=similarity)
        with_blocks(monkeypatch, *way)
        same(sample_statistics(**whole, **options, similarity=similarity), expected)
        same(statistics_of_shards(**shards, **options, similarity=similarity), expected)
        monkeypatch.undo()


PRINT = """
from tests.recall_at_k.test_near_ties import binary, multiples, noisy, sides_of
from metrics.recall_at_k.scoring import sample_statistics
import numpy as np
images, texts, references = noisy(1, 300, 1500, 100)
collapsed = [side.astype(np.float32) for side in multiples(0, (300, 1500), 100)]
codes = [side.astype(np.float32) for side in sides_of(binary, (300, 1500))]
for sides in ((images, texts), collapsed, codes):
    print({key: values.tolist() for key, values in sample_statistics(None, references, *sides).items()})
"""


def test_any_number_of_threads():
    outputs = set()
    for threads in "123":
        names = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        command = [sys.executable, "-c", PRINT]
        root = Path(__file__).parents[2]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, cwd=root, check=True).stdout)
    assert len(outputs) == 1


@pytest.mark.parametrize("dtype, scale", [("float32", 2.0**-80), ("float32", 2.0**50), ("float64", 2.0**-400)])
def test_products_of_very_small_and_large_numbers(dtype, scale):
    sides = [side.astype(dtype) for side in sides_of(duplicated)]
    for similarity in ("cosine", "dot"):
        expected = sample_statistics(None, REFERENCES, *sides, similarity=similarity)
        scaled = [side * np.array(scale, dtype) for side in sides]
        same(sample_statistics(None, REFERENCES, *scaled, similarity=similarity), expected)


def test_lengths_of_all_sizes_under_dot():
    # One vector a million times as long as the others: its block is near everywhere, and the order stays exact.
    images, texts = sides_of(quantised)
    texts[5] *= 10**6
    expected = exact_statistics(images, texts, "dot", references=REFERENCES)
    for dtype in ("float32", "float64"):
        sides = images.astype(dtype), texts.astype(dtype)
        same(sample_statistics(None, REFERENCES, *sides, similarity="dot"), expected)


def test_cosines_of_the_largest_and_smallest_numbers():
    images, texts = (side.astype(float) for side in sides_of(duplicated))
    expected = sample_statistics(None, REFERENCES, images, texts)
    images[::2] *= 2.0**1016
    texts[1::2] *= 2.0**-1040
    same(sample_statistics(None, REFERENCES, images, texts), expected)
