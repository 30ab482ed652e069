"""Intervals against SciPy's, coverage and calibration by simulation, sacrebleu's tests on the same data."""

import copy
import itertools
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.utils import resampling
from metrics.utils.paired_tests import approximate_randomization, holm, paired_bootstrap
from metrics.utils.resampling import bootstrap, check_resampling, confidence_interval, mean, score_by, standard_error
from metrics.vqa_accuracy import scoring as vqa
from tests.benchmarks import bench_few_samples
from tests.stress import rounds


def score_mean(statistics, weights=None):
    return {"mean": mean(statistics["x"], weights)}


def of(values):
    return {"x": np.asarray(values, float)}


def random_statistics(samples, seed=0):
    """Statistics of each metric as their scoring.py makes them, with its formula."""
    generator = np.random.default_rng(seed)
    length = generator.integers(0, 12, samples)
    totals = np.maximum(length[:, None] - np.arange(4), 0)
    counts = {
        "matches": generator.integers(0, totals + 1),
        "totals": totals,
        "candidate_length": length,
        "reference_length": generator.integers(0, 12, samples),
    }
    return {
        "cider": (cider.score, {"similarity": generator.random((samples, 4))}),
        "bleu4": (bleu4.score, counts),
        "vqa_accuracy": (vqa.score, {"accuracy": generator.random(samples)}),
    }


METRICS = ["cider", "bleu4", "vqa_accuracy"]


def repeated(statistics, counts):
    return {key: np.repeat(values, counts, axis=0) for key, values in statistics.items()}


@pytest.mark.parametrize("name", METRICS)
def test_weights_are_numbers_of_copies(name):
    score, statistics = random_statistics(30)[name]
    weights = np.random.default_rng(1).integers(0, 4, (20, 30)).astype(float)
    found = score(statistics, weights=weights)
    for row, counts in enumerate(weights.astype(int)):
        expected = score(repeated(statistics, counts))
        assert list(found) == list(expected)
        for key, value in expected.items():
            assert found[key][row] == pytest.approx(value, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("smoothing", bleu4.SMOOTHINGS)
@pytest.mark.parametrize("effective_order", [False, True])
@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), samples=st.integers(1, 6))
def test_bleu_of_weights_is_bleu_of_copies_under_every_smoothing(smoothing, effective_order, seed, samples):
    _, statistics = random_statistics(samples, seed)["bleu4"]
    weights = np.random.default_rng(seed).integers(0, 3, (3, samples)).astype(float)
    found = bleu4.score(statistics, smoothing, effective_order, weights)
    for row, counts in enumerate(weights.astype(int)):
        expected = bleu4.score(repeated(statistics, counts), smoothing, effective_order)
        for key, value in expected.items():
            assert found[key][row] == pytest.approx(value, rel=1e-12, abs=1e-15)


@settings(max_examples=50, deadline=None)
@given(values=arrays.arrays(float, st.integers(2, 30), elements=st.floats(-100, 100)), seed=st.integers(0, 2**32))
def test_intervals_hold_the_values_that_can_be(values, seed):
    low, high = confidence_interval(score_mean, of(values), 0.9, 50, seed)["mean"]
    assert values.min() - 1e-9 <= low <= high <= values.max() + 1e-9


@pytest.mark.parametrize("confidence_level", [0.5, 0.9, 0.95, 0.99])
def test_intervals_and_standard_errors_of_means_agree_with_scipy(confidence_level):
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(3).gamma(2.0, size=400)
    expected = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=40000,
        method="percentile",
        batch=1000,
        confidence_level=confidence_level,
        rng=np.random.default_rng(4),
    )
    low, high = confidence_interval(score_mean, of(values), confidence_level, 40000)["mean"]
    assert [low, high] == pytest.approx(list(expected.confidence_interval), abs=0.004)
    (resampled,) = bootstrap(score_mean, [of(values)], 40000)
    assert standard_error(resampled)["mean"] == pytest.approx(expected.standard_error, rel=0.02)


def test_95_percent_intervals_cover_95_percent():
    generator = np.random.default_rng(5)
    covered = 0
    for seed in range(1000):
        low, high = confidence_interval(score_mean, of(generator.exponential(1.0, 200)), 0.95, 300, seed)["mean"]
        covered += low <= 1 <= high
    assert 930 <= covered <= 970


def test_intervals_of_clusters_cover_where_those_of_samples_do_not():
    generator = np.random.default_rng(6)
    clusters = np.repeat(np.arange(80), 4)
    covered = {"samples": 0, "clusters": 0}
    for seed in range(500):
        values = of(np.repeat(generator.normal(size=80), 4) + 0.3 * generator.normal(size=320))
        for kind, labels in (("samples", None), ("clusters", clusters)):
            low, high = confidence_interval(score_mean, values, 0.95, 200, seed, labels)["mean"]
            covered[kind] += low <= 0 <= high
    assert 465 <= covered["clusters"] <= 485
    assert covered["samples"] < 400


def p_values(test, difference, sets=500):
    generator = np.random.default_rng(7)
    found = []
    for seed in range(sets):
        hardness = generator.normal(size=150)
        first, second = (of(hardness + generator.normal(size=150)) for _ in range(2))
        second["x"] += difference
        found.append(test(score_mean, first, second, n_resamples=299, seed=seed)["mean"]["p_value"])
    return np.array(found)


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_p_values_are_uniform_under_no_difference(test):
    stats = pytest.importorskip("scipy.stats")
    found = p_values(test, 0.0)
    assert stats.kstest(found, "uniform").pvalue > 0.01
    assert 0.02 <= np.mean(found <= 0.05) <= 0.08


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_planted_difference_is_found(test):
    assert np.mean(p_values(test, 0.5, sets=100) <= 0.05) > 0.9


def test_pairing_finds_what_separate_intervals_hide():
    generator = np.random.default_rng(8)
    hardness = 5 * generator.normal(size=300)
    first, second = of(hardness), of(hardness + 0.1 + 0.1 * generator.normal(size=300))
    one, other = (confidence_interval(score_mean, system)["mean"] for system in (first, second))
    assert one[1] > other[0]
    found = paired_bootstrap(score_mean, first, second)["mean"]
    assert found["p_value"] == pytest.approx(1 / 1001)
    assert found["confidence_interval"][0] > 0.05
    assert found["difference"] == pytest.approx(0.1, abs=0.03)


def degraded(captions, share, generator):
    """Captions of which some words were dropped."""
    return [" ".join(word for word in caption.split() if generator.random() > share) or "x" for caption in captions]


@pytest.fixture(scope="module")
def translations():
    """References, a system, one a little worse and one that is clearly worse, over a small vocabulary."""
    generator = np.random.default_rng(9)
    words = [f"w{i}" for i in range(60)]
    references = [" ".join(generator.choice(words, generator.integers(8, 16))) for _ in range(150)]
    return references, *(
        degraded(references, share, np.random.default_rng(10 + i)) for i, share in enumerate((0.20, 0.22, 0.26))
    )


@pytest.mark.parametrize("system", [1, 2], ids=["close", "far"])
def test_sacrebleu_finds_the_same_on_the_same_tokens(system, translations, monkeypatch):
    significance = pytest.importorskip("sacrebleu.significance")
    from sacrebleu.metrics import BLEU

    monkeypatch.setenv("SACREBLEU_SEED", "11")
    references, first, *others = translations
    second = others[system - 1]
    theirs = {}
    for kind in ("bs", "ar"):
        named = [("first", first), ("second", second)]
        bleu = {"BLEU": BLEU(tokenize="none", smooth_method="none")}
        test = significance.PairedTest(named, bleu, [references], test_type=kind, n_samples=2000)
        theirs[kind] = test()[1]["BLEU"]
    one, other = (
        bleu4.sample_statistics(captions, [[r] for r in references], tokenizer="whitespace")
        for captions in (first, second)
    )

    def score(statistics, weights=None):
        return bleu4.score(statistics, False, weights=weights)

    found = paired_bootstrap(score, one, other, n_resamples=2000)["bleu4"]
    assert 100 * score(one)["bleu4"] == pytest.approx(theirs["bs"][0].score, abs=1e-3)
    assert 100 * score(other)["bleu4"] == pytest.approx(theirs["bs"][1].score, abs=1e-3)
    # Theirs counts the resamples on one side, so that it is half as large.
    assert found["p_value"] / 2 == pytest.approx(theirs["bs"][1].p_value, abs=0.03)
    randomized = approximate_randomization(score, one, other, n_resamples=2000)["bleu4"]
    assert randomized["p_value"] == pytest.approx(theirs["ar"][1].p_value, abs=0.04)
    interval = confidence_interval(score, other, n_resamples=2000)["bleu4"]
    half = 100 * (interval[1] - interval[0]) / 2
    assert half == pytest.approx(theirs["bs"][1].ci, rel=0.1)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_a_system_does_not_differ_from_itself(name, test):
    score, statistics = random_statistics(40)[name]
    found = test(score, statistics, copy.deepcopy(statistics), n_resamples=50)[name]
    assert (found["difference"], found["p_value"]) == (0.0, 1.0)


def test_randomization_of_few_samples_meets_the_exact_test():
    # Of the 2^n ways to swap, only none and all make a difference as large; sums in other orders are other floats,
    # and still count as equal.
    for samples, trials, tolerance in ((4, 20000, 0), (4, 16, 0), (11, 1000, 0.02), (11, 2047, 0.02), (11, 2048, 0)):
        second = np.random.default_rng(samples).random(samples)
        found = approximate_randomization(score_mean, of([0] * samples), of(second), trials)["mean"]
        assert found["p_value"] == pytest.approx(2 / 2**samples, abs=tolerance)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("clusters", [None, [0, 1, 1, 2, 3, 3, 4]], ids=["samples", "clusters"])
def test_all_swaps_are_tried_where_they_are_few(name, clusters):
    score, first = random_statistics(7)[name]
    second = random_statistics(7, seed=1)[name][1]
    labels = np.arange(7) if clusters is None else np.array(clusters)
    wanted = abs(score(second)[name] - score(first)[name])
    larger = []
    for swapped in itertools.product((False, True), repeat=labels.max() + 1):
        rows = np.array(swapped)[labels]
        one, other = (
            {key: np.where(chosen.reshape(-1, *[1] * (first[key].ndim - 1)), second[key], first[key]) for key in first}
            for chosen in (rows, ~rows)
        )
        larger.append(abs(score(other)[name] - score(one)[name]) >= wanted - 1e-9)
    for seed in (0, 1):
        found = approximate_randomization(score, first, second, 1000, seed, clusters)[name]
        assert found["p_value"] == np.mean(larger)


SIMULATED = {
    "scores": bench_few_samples.SCORES,
    "answers": bench_few_samples.HALF,
    "rare": bench_few_samples.RARE,
    "skewed": bench_few_samples.SKEWED,
}


@pytest.mark.stress
@pytest.mark.parametrize("kind", SIMULATED.values(), ids=SIMULATED)
@pytest.mark.parametrize("samples", [5, 8, 12, 30, 49])
def test_randomization_calls_no_more_equal_systems_different_than_it_says(samples, kind):
    sets = rounds(600, 20_000)
    found = bench_few_samples.called_different(approximate_randomization, kind, samples, sets, 1, rounds(400, 1000))
    assert found <= 0.05 + 3 * (0.05 * 0.95 / sets) ** 0.5


def test_bootstrap_of_few_samples_is_why():
    sets = 600
    error = 3 * (0.06 * 0.94 / sets) ** 0.5
    found = {
        samples: bench_few_samples.called_different(paired_bootstrap, bench_few_samples.SCORES, samples, sets)
        for samples in (8, resampling.FEW_UNITS)
    }
    assert found[8] > 0.06 + error and found[resampling.FEW_UNITS] <= 0.06 + error


def test_table_of_few_samples_is_what_the_simulation_finds():
    text = (Path(__file__).resolve().parents[2] / "docs/comparing.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \|((?: \d+ \|){7})$", text, re.MULTILINE)
    assert {int(samples) for samples, _ in rows} >= {5, 8, 20, 50}
    for samples, cells in rows:
        if int(samples) in (8, 50):
            written = np.array(cells.split("|")[:-1], float) / 100
            sets = 800
            found = np.array(bench_few_samples.row(int(samples), sets)) / 100
            error = np.sqrt(np.maximum(written * (1 - written), 0.01) / sets)
            assert (np.abs(found - written) <= 0.005 + 3.5 * error).all()


@pytest.mark.parametrize("test", [paired_bootstrap, approximate_randomization])
def test_resamples_without_a_value_prove_nothing(test):
    def score(statistics, weights=None):
        """A mean over the samples that count, which weights may leave without any; and one key that they have not."""
        counted = ~np.isnan(statistics["x"])
        values = statistics["x"][counted]
        if weights is None:
            return {"mean": values.mean(), "num_skipped": int((~counted).sum())}
        with np.errstate(invalid="ignore"):
            return {"mean": weights[:, counted] @ values / weights[:, counted].sum(axis=1)}

    found = test(score, of([0, np.nan, np.nan]), of([1, np.nan, np.nan]), n_resamples=50)
    assert list(found) == ["mean"]
    assert found["mean"]["p_value"] == 1.0


def test_randomization_swaps_whole_clusters():
    first, second = of([0] * 6), of([1] * 6)
    found = approximate_randomization(score_mean, first, second, 20000, clusters=["a"] * 3 + ["b"] * 3)["mean"]
    assert found["p_value"] == pytest.approx(2 / 4, abs=0.01)


@pytest.mark.parametrize("name", METRICS)
@pytest.mark.parametrize("clusters", [None, [i // 3 for i in range(50)]], ids=["samples", "clusters"])
def test_blocks_change_nothing(name, clusters, monkeypatch):
    score, statistics = random_statistics(50)[name]

    def everything():
        interval = confidence_interval(score, statistics, 0.9, 101, 3, clusters)
        other = random_statistics(50, seed=1)[name][1]
        randomized = approximate_randomization(score, statistics, other, 101, 3, clusters)
        return [*np.concatenate([np.ravel(bounds) for bounds in interval.values()]), randomized[name]["p_value"]]

    whole = everything()
    for cells in (1, 50 * 7):
        monkeypatch.setattr(resampling, "_CELLS", cells)
        assert everything() == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize(
    "rows, clusters, by, message",
    [
        (49, None, None, "^49 samples are fewer than 50: bootstrap intervals of so few are too narrow$"),
        (100, list(range(10)) * 10, None, "^10 clusters are fewer than 50"),
        (
            100,
            None,
            ["a"] * 60 + ["b"] * 40,
            "^1 of 2 labels have fewer than 50 samples: their intervals are too narrow$",
        ),
        (
            200,
            list(range(100)) * 2,
            ["a"] * 100 + ["b"] * 60 + ["c"] * 40,
            "^1 of 3 labels have fewer than 50 clusters",
        ),
        (50, None, None, None),
        (100, list(range(50)) * 2, None, None),
        (100, None, ["a"] * 50 + ["b"] * 50, None),
    ],
)
def test_few_samples_are_warned_of(rows, clusters, by, message):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        resampling.warn_few(rows, clusters, by)
    assert len(caught) == bool(message)
    assert not message or re.search(message, str(caught[0].message))


def test_seeds_and_labels():
    values = of(np.random.default_rng(0).normal(size=40))
    one, same, other = (confidence_interval(score_mean, values, seed=seed)["mean"] for seed in (0, 0, 1))
    assert one == same != other
    numbers, texts = [i // 4 for i in range(40)], [f"{i // 4:02}" for i in range(40)]
    expected = confidence_interval(score_mean, values, clusters=numbers)
    assert confidence_interval(score_mean, values, clusters=texts) == expected
    assert confidence_interval(score_mean, values, clusters=np.array(numbers)) == expected


@pytest.mark.parametrize("name", METRICS)
def test_two_equal_rows_in_each_cluster_are_as_one(name):
    score, statistics = random_statistics(40)[name]
    expected = confidence_interval(score, statistics)[name]
    doubled = {key: np.repeat(values, 2, axis=0) for key, values in statistics.items()}
    assert confidence_interval(score, doubled, clusters=np.arange(80) // 2)[name] == pytest.approx(expected, abs=1e-12)
    low, high = confidence_interval(score, doubled)[name]
    assert high - low < 0.9 * (expected[1] - expected[0])


def test_clusters_are_the_same_in_any_order_of_rows():
    values, clusters = np.random.default_rng(0).normal(size=40), [f"{i // 4:02}" for i in range(40)]
    order = np.random.default_rng(1).permutation(40)
    straight = confidence_interval(score_mean, of(values), clusters=clusters)["mean"]
    shuffled = confidence_interval(score_mean, of(values[order]), clusters=[clusters[i] for i in order])["mean"]
    assert shuffled == pytest.approx(straight, abs=1e-12)


def test_score_by_label():
    values = of([1, 0, 0.5, 0.25, 0])
    found = score_by(score_mean, values, ["b", "a", "b", "a", "c"], confidence_level=0.9)
    assert list(found) == ["a", "b", "c"]
    assert {label: (group["mean"], group["count"]) for label, group in found.items()} == {
        "a": (0.125, 2),
        "b": (0.75, 2),
        "c": (0.0, 1),
    }
    assert found["b"]["confidence_interval"]["mean"] == [0.5, 1.0]
    assert "confidence_interval" not in found["c"]
    assert list(score_by(score_mean, values, [3, 1, 3, 1, 2])) == [1, 2, 3]


@settings(max_examples=50, deadline=None)
@given(p=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_rejects_as_its_procedure_does(p):
    for level in (0.01, 0.05, 0.2):
        rejected, order = set(), sorted(range(len(p)), key=lambda i: p[i])
        for rank, place in enumerate(order):
            if p[place] * (len(p) - rank) > level:
                break
            rejected.add(place)
        assert {i for i, value in enumerate(holm(p)) if value <= level} == rejected


WRONG = {
    "confidence_level is 0": dict(confidence_level=0),
    "confidence_level is 1": dict(confidence_level=1),
    "confidence_level is 95": dict(confidence_level=95),
    "confidence_level is nan": dict(confidence_level=float("nan")),
    "confidence_level is True": dict(confidence_level=True),
    "confidence_level is '0.95'": dict(confidence_level="0.95"),
    "n_resamples is 0": dict(n_resamples=0),
    "n_resamples is 2.5": dict(n_resamples=2.5),
    "seed is -1": dict(seed=-1),
    "seed is None": dict(seed=None),
    "clusters has 3 labels, expected 4 (one per row)": dict(clusters=["a"] * 3),
    "there is a single cluster, expected at least 2": dict(clusters=["a"] * 4, confidence_level=0.9),
}


@pytest.mark.parametrize("message, options", WRONG.items(), ids=WRONG)
def test_wrong_options_are_named(message, options):
    with pytest.raises(ValueError) as error:
        check_resampling(4, **options)
    assert message in str(error.value)


@pytest.mark.parametrize(
    "labels, message",
    [
        (["a", 1], "clusters[1] is int 1, expected str in all rows, or int in all rows"),
        ([1, "a"], "clusters[1] is str 'a'"),
        (["a", None], "clusters[1] is None"),
        ([1, True], "clusters[1] is bool True"),
        ([0.5, 1.0], "clusters[0] is float 0.5"),
        ([1, float("nan")], "clusters[1] is float nan"),
    ],
)
def test_wrong_labels_are_named(labels, message):
    with pytest.raises(TypeError) as error:
        check_resampling(2, clusters=labels)
    assert message in str(error.value)


def test_a_single_sample_has_no_interval_and_systems_need_the_same_samples():
    with pytest.raises(ValueError, match="single sample"):
        confidence_interval(score_mean, of([0.5]))
    with pytest.raises(ValueError, match=r"\[2, 3\] rows, expected the same samples"):
        paired_bootstrap(score_mean, of([1, 2]), of([1, 2, 3]))
    with pytest.raises(TypeError, match="by is str 'ab'"):
        score_by(score_mean, of([1, 2]), "ab")
