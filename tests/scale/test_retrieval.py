"""recall_at_k over shards of both sides: the counts of the whole."""

import numpy as np
import pytest

from metrics.recall_at_k import scoring
from metrics.scale.retrieval import sample_statistics

NUMBERS = (1, 2, 7)


def shards(matrix, number, seed=0):
    edges = np.sort(np.random.default_rng(seed).choice(np.arange(1, len(matrix)), number - 1, replace=False))
    return np.split(matrix, edges)


def texts_of_images(images, texts, seed=0):
    """Any number of correct texts per image, each text correct for at least one."""
    rng = np.random.default_rng(seed)
    return [sorted({*range(i, texts, images), *rng.integers(0, texts, 2).tolist()}) for i in range(images)]


def same(found, expected):
    assert found.keys() == expected.keys()
    for name in found:
        np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


@pytest.mark.parametrize("number", NUMBERS)
def test_integer_embeddings_with_ties_exactly(number):
    rng = np.random.default_rng(1)
    images, texts = rng.integers(-2, 3, (40, 5)), rng.integers(-2, 3, (90, 5))
    options = {"references": texts_of_images(40, 90), "similarity": "dot", "fraction_at": (1, 5)}
    expected = scoring.sample_statistics(image_embeddings=images, text_embeddings=texts, **options)
    sides = {"image_embeddings": shards(images, number), "text_embeddings": shards(texts, number, 1)}
    same(sample_statistics(**sides, **options), expected)
    assert expected["tied"].any()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("directions", scoring.DIRECTIONS)
def test_matrix_exactly(number, directions):
    matrix = np.random.default_rng(2).normal(size=(30, 50)).round(1).astype(np.float32)
    options = {"references": texts_of_images(30, 50), "directions": directions}
    same(sample_statistics(shards(matrix, number), **options), scoring.sample_statistics(matrix, **options))


@pytest.mark.parametrize("number", NUMBERS)
def test_float_embeddings_exactly(number):
    rng = np.random.default_rng(3)
    images, texts = rng.normal(size=(2, 300, 16)).astype(np.float32)
    expected = scoring.sample_statistics(image_embeddings=images, text_embeddings=texts)
    found = sample_statistics(image_embeddings=shards(images, number), text_embeddings=shards(texts, number))
    same(found, expected)


@pytest.mark.parametrize("number", NUMBERS)
def test_repeated_vectors_and_multiples_tie_in_any_shards(number):
    rng = np.random.default_rng(6)
    images = rng.normal(size=(40, 16)).astype(np.float32)
    texts = (images[rng.integers(0, 9, 90)] * rng.uniform(0.5, 2, (90, 1))).astype(np.float32)
    options = {"references": texts_of_images(40, 90), "fraction_at": (1, 5)}
    expected = scoring.sample_statistics(image_embeddings=images, text_embeddings=texts, **options)
    sides = {"image_embeddings": shards(images, number), "text_embeddings": shards(texts, number, 1)}
    same(sample_statistics(**sides, **options), expected)
    assert (expected["tied"] > 3).any()


def test_files_and_shards_without_rows(tmp_path):
    rng = np.random.default_rng(4)
    images, texts = rng.integers(0, 9, (10, 4)).astype(np.float16), rng.integers(0, 9, (10, 4)).astype(np.float16)
    paths = {}
    for name, side in (("image", images), ("text", texts)):
        paths[name] = [str(tmp_path / f"{name}{i}.npy") for i in range(3)]
        for path, part in zip(paths[name], (side[:6], side[:0], side[6:])):
            np.save(path, part)
    found = sample_statistics(image_embeddings=paths["image"], text_embeddings=paths["text"], similarity="dot")
    same(found, scoring.sample_statistics(image_embeddings=images, text_embeddings=texts, similarity="dot"))


def test_one_wide_shard_widens_all():
    images = np.random.default_rng(5).integers(0, 5, (12, 3)).astype(np.float32)
    wide = images.astype(np.float64)
    found = sample_statistics(image_embeddings=[images[:5], wide[5:]], text_embeddings=[images], similarity="dot")
    same(found, scoring.sample_statistics(image_embeddings=wide, text_embeddings=images, similarity="dot"))


@pytest.mark.parametrize(
    "sides, error, message",
    [
        ({}, ValueError, "expected either predictions"),
        ({"image_embeddings": [[[1.0]]]}, ValueError, "expected either predictions"),
        (
            {"image_embeddings": [[[1.0]], [[float("nan")]]], "text_embeddings": [[[1.0]] * 2]},
            ValueError,
            r"image_embeddings\[1\] has 1 NaN",
        ),
        (
            {"image_embeddings": [[[1.0]]], "text_embeddings": [[[1.0, 2.0]]]},
            ValueError,
            "2 columns, expected 1 as in",
        ),
        ({"image_embeddings": [np.zeros((0, 1))], "text_embeddings": [[[1.0]]]}, ValueError, "no row in any shard"),
        ({"image_embeddings": ["none.npy"], "text_embeddings": [[[1.0]]]}, OSError, "none.npy"),
        ({"predictions": [[["a"]]]}, TypeError, r"predictions\[0\]\[0\]\[0\] is str 'a'"),
        (
            {
                "image_embeddings": [np.full((1, 1), 1e30, np.float32)],
                "text_embeddings": [np.full((1, 1), 1e30, np.float32)],
                "similarity": "dot",
            },
            ValueError,
            "overflow",
        ),
    ],
)
def test_wrong_shards_are_named(sides, error, message):
    with pytest.raises(error, match=message):
        sample_statistics(**sides)
