"""Intervals and subgroups of recall_at_k: whole images are drawn, each with its texts, in both directions."""

import numpy as np
import pytest

from metrics.recall_at_k.images import image_of_rows
from metrics.recall_at_k.inputs import check_pairs
from metrics.recall_at_k.scoring import sample_statistics, score

REFERENCES = [[0, 1], [2], [3, 4, 5], [6], [7, 8]]


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("recall_at_k")


@pytest.fixture(scope="module")
def similarity():
    rng = np.random.default_rng(3)
    noise = rng.standard_normal((5, 9)).astype(np.float32)
    for image, texts in enumerate(REFERENCES):
        noise[image, texts] += 0.8
    return noise


def drawn_again(statistics, image, draw):
    """The rows of the images drawn, as often as they were drawn."""
    rows = np.concatenate([np.flatnonzero(image == number) for number in draw])
    return {key: values[rows] for key, values in statistics.items()}


def test_intervals_are_those_of_whole_images_drawn_again(metric, similarity):
    found = metric.compute(
        predictions=similarity, references=REFERENCES, k=[1, 2], confidence_level=0.9, n_resamples=200, seed=5
    )["confidence_interval"]
    statistics = sample_statistics(similarity, REFERENCES)
    image = np.array([0, 1, 2, 3, 4, *np.repeat(np.arange(5), [2, 1, 3, 1, 2])])
    rng = np.random.default_rng(5)
    scores = [score(drawn_again(statistics, image, rng.integers(5, size=5)), k=[1, 2]) for _ in range(200)]
    for key, bounds in found.items():
        expected = np.quantile([values[key] for values in scores], [0.05, 0.95])
        assert bounds == pytest.approx(expected.tolist(), abs=1e-12), key
    assert found["rsum"][0] < found["rsum"][1]


def test_subgroups_are_the_queries_of_their_images_against_the_whole_gallery(metric, similarity):
    by = metric.compute(predictions=similarity, references=REFERENCES, k=1, by=["x", "y", "x", "y", "y"])["by"]
    samples = metric.compute(predictions=similarity, references=REFERENCES, k=1, per_sample=True)["per_sample"]
    hits = np.array(samples["r@1"])
    assert by["x"]["i2t_r@1"] == hits[[0, 2]].mean()
    assert by["y"]["t2i_r@1"] == pytest.approx(hits[5:][[2, 6, 7, 8]].mean())
    assert (by["x"]["count"], by["y"]["count"]) == (2 + 5, 3 + 4)


def test_a_text_without_an_image_is_drawn_on_its_own():
    pairs = check_pairs([[0], [2]], None, 2, 4)
    statistics = sample_statistics(np.eye(2, 4), [[0], [2]])
    assert image_of_rows(statistics, pairs, (2, 4)).tolist() == [0, 1, 0, 3, 1, 5]


FOUR = {"predictions": np.eye(4) + np.arange(4) / 10, "references": [[0], [1], [2], []], "k": 1}


def test_a_text_without_an_image_has_no_label(metric):
    by = metric.compute(**FOUR, by=["a", "a", "b", "b"])["by"]
    assert {label: scores["count"] for label, scores in by.items()} == {"a": 4, "b": 3}
    assert by["b"]["i2t_r@1"] == 1.0


@pytest.mark.parametrize("first, others", [("none", "pqrstuvwxyz"), (-1, range(11))])
def test_labels_of_users_take_in_no_text_without_an_image(metric, first, others):
    # Twelve images with a text each, the first of them not found, and a text more.
    inputs = {"predictions": np.eye(12, 13) * (np.arange(13) > 0), "references": list(range(12)), "k": 1}
    options = {"no_correct": "zero", "confidence_level": 0.9, "n_resamples": 50, "directions": "backward"}
    found, plain = (
        metric.compute(**inputs, by=labels, clusters=labels, **options)
        for labels in ([first, *others], ["a", *"bcdefghijkl"])
    )
    assert found["by"][first] == plain["by"]["a"]
    assert found["by"][first]["count"] == 1
    assert found["confidence_interval"] == plain["confidence_interval"]
    assert found["confidence_interval"]["t2i_r@1"][0] < found["t2i_r@1"] < found["confidence_interval"]["t2i_r@1"][1]


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"by": ["x", "y", "x", 3, "y"]}, TypeError, r"by\[3\] is int 3, expected str for all images"),
        ({"by": ["x", ["y"], "x", "x", "y"]}, TypeError, r"by\[1\] is list"),
        ({"clusters": [1, True, 2, 3, 4]}, TypeError, r"clusters\[1\] is bool True"),
        (
            {"references": [[0], [1], [2], [3], []], "by": ["x", "x", "x", "x", "y"]},
            ValueError,
            "by has str 'y', of which no image has a correct item",
        ),
        ({"by": ["x"] * 9}, ValueError, r"by has 9 labels, expected 5 \(one per image\)"),
        ({"clusters": "xyxyx"}, TypeError, "clusters is str"),
        ({"confidence_level": 95}, ValueError, "confidence_level is 95"),
    ],
)
def test_wrong_labels_are_named(metric, similarity, options, error, message):
    with pytest.raises(error, match=message):
        metric.compute(**{"predictions": similarity, "references": REFERENCES, **options})
