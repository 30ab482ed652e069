"""What every metric's compute adds on request: intervals, clusters, subgroups."""

import importlib
import json
import warnings

import numpy as np
import pytest

from metrics.utils.resampling import confidence_interval

PREDICTIONS = ["a red kite flies high", "two boys play chess", "an old clock", "a boat on a lake", "red kite", "a dog"]
REFERENCES = [
    ["a red kite in the sky", "the kite flies"],
    ["two boys play a game"],
    ["the old clock", "an old clock"],
    ["a boat on the lake", "boats on a lake"],
    ["a red kite"],
    ["the cat", "a dog"],
]
INPUTS = {"predictions": PREDICTIONS, "references": REFERENCES}
OPTIONS = {"cider": {}, "bleu4": {}, "vqa_accuracy": {"formula": "exact"}}
LABELS = ["near", "far", "near", "far", "near", "only"]


@pytest.fixture(scope="module", params=list(OPTIONS))
def name(request):
    return request.param


@pytest.fixture(scope="module")
def compute(name, load_metric):
    metric = load_metric(name)
    return lambda **options: metric.compute(**{**INPUTS, **OPTIONS[name], **options})


def statistics(name):
    scoring = importlib.import_module(f"metrics.{name}.scoring")
    return scoring.score, scoring.sample_statistics(PREDICTIONS, REFERENCES, **OPTIONS[name])


def numbers(results):
    return {key: value for key, value in results.items() if not isinstance(value, dict)}


def test_intervals_are_those_of_resampling(name, compute):
    results = compute(confidence_level=0.9, n_resamples=200, seed=5)
    assert results["confidence_interval"] == confidence_interval(*statistics(name), 0.9, 200, 5)
    assert list(results["confidence_interval"]) == list(numbers(results))
    low, high = results["confidence_interval"][name]
    assert low < results[name] < high
    json.dumps(results)


def test_intervals_of_few_samples_come_with_a_warning(compute):
    with pytest.warns(UserWarning, match="^6 samples are fewer than 50: bootstrap intervals of so few are"):
        compute(confidence_level=0.9)
    with pytest.warns(UserWarning, match="^3 clusters are fewer than 50"):
        compute(confidence_level=0.9, clusters=LABELS)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # So few captions have few n-grams too.
        warnings.filterwarnings("ignore", "few n-grams for BLEU")
        compute(by=LABELS)


def test_the_other_results_stay_as_they_are(compute):
    plain = compute(per_sample=True)
    assert "confidence_interval" not in plain and "by" not in plain
    rich = compute(per_sample=True, confidence_level=0.95, by=LABELS, clusters=LABELS)
    assert {key: rich[key] for key in plain} == plain


def test_intervals_widen_with_the_level(name, compute):
    wide, narrow = (compute(confidence_level=level)["confidence_interval"][name] for level in (0.99, 0.5))
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_clusters_are_those_of_resampling(name, compute):
    found = compute(confidence_level=0.9, clusters=LABELS)["confidence_interval"]
    assert found == confidence_interval(*statistics(name), 0.9, clusters=LABELS)
    assert found != compute(confidence_level=0.9)["confidence_interval"]


def test_by_gives_the_same_keys_and_counts(name, compute):
    results = compute(by=LABELS, confidence_level=0.9)
    assert list(results["by"]) == ["far", "near", "only"]
    assert [group["count"] for group in results["by"].values()] == [2, 3, 1]
    for label, group in results["by"].items():
        wanted = {*numbers(results), "count"} | ({"confidence_interval"} if label != "only" else set())
        assert set(group) == wanted
    everything = compute(by=[0] * 6)
    assert everything["by"][0] == {**numbers(everything), "count": 6}


def test_subgroups_of_means_are_means_of_samples(name, compute):
    if name == "bleu4":
        pytest.skip("BLEU is no mean")
    results = compute(by=LABELS, per_sample=True)
    samples = np.array(results["per_sample"][name])
    for label, group in results["by"].items():
        assert group[name] == pytest.approx(samples[np.array(LABELS) == label].mean())


def test_cider_of_a_subgroup_keeps_the_document_frequencies_of_all(load_metric):
    cider = load_metric("cider")
    near = [i for i, label in enumerate(LABELS) if label == "near"]
    alone = cider.compute(predictions=[PREDICTIONS[i] for i in near], references=[REFERENCES[i] for i in near])
    assert abs(cider.compute(**INPUTS, by=LABELS)["by"]["near"]["cider"] - alone["cider"]) > 0.1


def test_bleu_of_a_subgroup_is_that_of_its_sums(load_metric):
    bleu4 = load_metric("bleu4")
    near = [i for i, label in enumerate(LABELS) if label == "near"]
    alone = bleu4.compute(predictions=[PREDICTIONS[i] for i in near], references=[REFERENCES[i] for i in near])
    assert bleu4.compute(**INPUTS, by=LABELS)["by"]["near"] == {**alone, "count": 3}


def test_batches_give_the_same(name, compute, load_metric):
    expected = compute(confidence_level=0.9, by=LABELS, clusters=LABELS)
    metric = load_metric(name)
    for rows in (slice(4), slice(4, 6)):
        metric.add_batch(predictions=PREDICTIONS[rows], references=REFERENCES[rows])
    assert metric.compute(**OPTIONS[name], confidence_level=0.9, by=LABELS, clusters=LABELS) == expected


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"clusters": ["a"] * 5}, ValueError, "clusters has 5 labels, expected 6"),
        ({"by": ["a"] * 7}, ValueError, "by has 7 labels, expected 6"),
        ({"by": [None] * 6}, TypeError, r"by\[0\] is None, expected str in all rows"),
        ({"by": "abcdef"}, TypeError, "by is str 'abcdef', expected a list"),
        ({"confidence_level": 1.0}, ValueError, "confidence_level is 1.0, expected a number between 0 and 1"),
        ({"confidence_level": 0.9, "n_resamples": 0}, ValueError, "n_resamples is 0"),
        ({"confidence_level": 0.9, "seed": 1.5}, ValueError, "seed is 1.5"),
        ({"confidence_level": 0.9, "clusters": [1] * 6}, ValueError, "a single cluster, expected at least 2"),
    ],
)
def test_wrong_options_are_named(compute, options, error, message):
    with pytest.raises(error, match=message):
        compute(**options)


@pytest.mark.parametrize("name", ["bleu4", "vqa_accuracy"])
def test_a_single_sample_has_no_interval(name, load_metric):
    with pytest.raises(ValueError, match="a single sample, expected at least 2"):
        load_metric(name).compute(predictions=["a b"], references=[["a b"]], **OPTIONS[name], confidence_level=0.9)


def test_labels_come_in_any_container(name, compute):
    expected = compute(by=[1, 2, 1, 2, 1, 3])
    assert compute(by=np.array([1, 2, 1, 2, 1, 3])) == expected
    assert compute(by=(1, 2, 1, 2, 1, 3)) == expected
