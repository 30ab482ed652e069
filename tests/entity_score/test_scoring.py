"""EntityScore against the straight way, one pair at a time, and what must hold for any encoder."""

import csv
import os
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.entity_score import scoring, similarity
from metrics.entity_score.scoring import Entities, compute_entity_score, find_entities, sample_statistics, score
from tests import tiny_models

ROOT = Path(__file__).resolve().parents[2]
PREDICTION = (
    "on stage a man speaks. on stage a man speaking had a white head a black suit a white shirt and a red tie. behind "
    "the man is a white wall. in front of the man is a black microphone. the man speaks with a."
)
REFERENCE = (
    "inside a man speaks into a microphone. a speech is being delivered by a man with white and black hair on his "
    "temples a black suit a white shirt and a tie with light and blue and white diagonal stripes. the man is backed "
    "by a sizable red wall. the man is in front of two microphones. he has a rhythm to his speech."
)


@pytest.fixture(scope="module")
def encoder(t5_folder):
    from metrics.utils.t5 import T5Encoder

    return T5Encoder(str(t5_folder), device="cpu")


@pytest.fixture(scope="module")
def parts(t5_folder):
    """Tokenizer and model, loaded apart from ours."""
    from transformers import AutoTokenizer, T5EncoderModel

    return AutoTokenizer.from_pretrained(t5_folder), T5EncoderModel.from_pretrained(t5_folder).eval()


@pytest.fixture(scope="module")
def pairs(nltk_data):
    """300 pairs of paragraphs: AudioCaps captions where they are, else the sentences of the tiny tagger."""
    from tests.conftest import SHARED

    path, rng = SHARED / "data" / "audiocaps" / "captions_test.csv", random.Random(5)
    texts = tiny_models.TEXTS
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            texts = [row[-1].lower().rstrip(".") + "." for row in csv.reader(file)][1:]
    made = [(" ".join(rng.sample(texts, rng.randint(1, 4))), " ".join(rng.sample(texts, 3))) for _ in range(298)]
    return [*made, (made[0][1], made[0][1]), ("it is raining.", made[1][0])]


class OneHot:
    """Stands in for an encoder: every stem is a direction of its own, one token long."""

    def lengths(self, texts):
        return dict.fromkeys(texts, 1)

    def states(self, lengths):
        return {stem: np.eye(30)[ord(stem[0]) - ord("a")][None] for stem in lengths}


def of_sets(predictions, references, **options):
    return sample_statistics(found=Entities(predictions, references), encoder=OneHot(), **options)


def test_equals_the_straight_way(pairs, encoder, parts):
    from tests.entity_score.straight import pair_score

    statistics = sample_statistics(*zip(*pairs), encoder=encoder)
    wanted = [pair_score(*pair, *parts) or (np.nan,) * 3 for pair in pairs]
    for column, key in enumerate(("entity_score", "recall", "similarity")):
        np.testing.assert_allclose(statistics[key], [row[column] for row in wanted], rtol=0, atol=1e-6)
    assert statistics["entity_score"][-2] == pytest.approx(1.00005, abs=1e-8)
    np.testing.assert_array_equal(statistics["has_entities"], ~np.isnan(statistics["entity_score"]))
    assert 0 < np.nanmin(statistics["entity_score"]) < 0.5


def test_readme_formula_equals_the_straight_way(pairs, encoder, parts):
    from tests.entity_score.straight import readme_score

    some = pairs[:60]
    statistics = sample_statistics(*zip(*some), formula="readme", encoder=encoder)
    scored = np.flatnonzero(statistics["has_entities"] & (statistics["recall"] > 0))
    assert len(scored) > 10
    wanted = np.array([readme_score(*some[row], *parts) for row in scored])
    for column, key in enumerate(("entity_score", "recall", "similarity")):
        np.testing.assert_allclose(statistics[key][scored], wanted[:, column], rtol=0, atol=1e-6)


def test_published_function(pairs, parts):
    from tests.entity_score.straight import pair_score

    for prediction, reference in pairs[:5]:
        wanted = pair_score(prediction, reference, *parts)
        assert compute_entity_score(prediction, reference, "k", *parts) == pytest.approx(wanted[0], abs=1e-6)
    with pytest.warns(UserWarning, match="no entities on one side of 'k9'"):
        assert compute_entity_score("he runs", pairs[0][1], "k9", *parts) == -1


def test_example_of_the_readme(shared, nltk_data, encoder):
    found = find_entities([PREDICTION], [REFERENCE])
    assert found.predictions == ["front head man microphon shirt speak stage suit tie wall".split()]
    assert found.references == [["front hair man microphon rhythm shirt speech stripe suit templ tie wall".split()]]
    results = score(sample_statistics(found=found, encoder=encoder))
    assert results["entity_recall"] == 7 / 12
    assert 0.6364 <= results["entity_score"] <= 0.73693


def test_block_size_order_and_cache_change_nothing(pairs, t5_folder, monkeypatch):
    from metrics.utils import t5
    from metrics.utils.t5 import T5Encoder

    whole = sample_statistics(*zip(*pairs), encoder=T5Encoder(str(t5_folder), batch_size=64))
    order = np.random.default_rng(0).permutation(len(pairs))
    monkeypatch.setattr(similarity, "BLOCK_TOKENS", 200)
    monkeypatch.setattr(t5, "CACHE_BYTES", 2000)
    t5.forget_models()
    again = sample_statistics(*zip(*[pairs[i] for i in order]), encoder=T5Encoder(str(t5_folder), batch_size=3))
    for key, values in whole.items():
        np.testing.assert_allclose(again[key], values[order], rtol=0, atol=1e-6)


def test_hash_seed_changes_nothing(nltk_data, t5_folder):
    code = (
        "import sys; from metrics.utils.t5 import T5Encoder; from metrics.entity_score.scoring import *; "
        "from tests.tiny_models import TEXTS; "
        "found = find_entities(TEXTS[:6], TEXTS[6:]); print(found); "
        "print(sample_statistics(found=found, encoder=T5Encoder(sys.argv[1]))['entity_score'].tolist())"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(t5_folder)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and "guitar" in outputs.pop()


def test_shards_join(pairs, encoder):
    whole = sample_statistics(*zip(*pairs), encoder=encoder)
    shards = [sample_statistics(*zip(*part), encoder=encoder) for part in (pairs[:100], pairs[100:])]
    joined = {key: np.concatenate([shard[key] for shard in shards]) for key in whole}
    assert score(joined) == pytest.approx(score(whole), abs=1e-7)


def test_worked_numbers():
    statistics = of_sets([["a", "b"], ["a"], ["x"]], [[["a", "c"]], [["a"]], [["y", "z"]]])
    np.testing.assert_allclose(statistics["recall"], [0.5, 1.0, 0.0])
    np.testing.assert_allclose(statistics["similarity"], [0.75, 1.0, 0.5])
    wanted = [2 * 0.75 * 0.5001 / 1.2501, 2 * 1.0001 / 2.0001, 2 * 0.5 * 1e-4 / 0.5001]
    np.testing.assert_allclose(statistics["entity_score"], wanted, rtol=1e-12)
    assert wanted[1] == pytest.approx(1.00005, abs=1e-8) and wanted[2] == pytest.approx(2e-4, rel=1e-3)
    readme = of_sets([["a", "b"], ["a"], ["x"]], [[["a", "c"]], [["a"]], [["y", "z"]]], formula="readme")
    np.testing.assert_allclose(readme["similarity"], [0.75, 1.0, 0.5])
    np.testing.assert_allclose(readme["entity_score"], [0.6, 1.0, 0.0])


def test_several_references_take_the_best():
    statistics = of_sets([["a", "b"], ["a"]], [[["c"], ["b", "a"], ["a"], []], [[], ["d", "a"]]])
    assert statistics["reference"].tolist() == [1, 1]
    np.testing.assert_allclose(statistics["recall"], [1, 0.5])
    found = Entities([["a", "b"], ["a"]], [[["c"], ["a", "b"], ["a"], []], [[], ["a", "d"]]])
    assert scoring.sample_entities(statistics, found)["reference_entities"] == [["a", "b"], ["a", "d"]]


def test_pairs_without_entities():
    sets = [["a"], [], ["a"]], [[["a"]], [["a"]], [[]]]
    results = score(of_sets(*sets))
    assert results["entity_recall"] == 1 and results["num_skipped"] == 2
    results = score(of_sets(*sets, no_entities="zero"))
    assert results["entity_recall"] == pytest.approx(1 / 3) and results["num_skipped"] == 0
    assert results["entity_score_min"] == 0
    with pytest.warns(UserWarning, match="no pair has entities on both sides"):
        results = score(of_sets([[]], [[["a"]]]))
    assert np.isnan(results["entity_score"]) and np.isnan(results["entity_score_max"]) and results["num_skipped"] == 1


def test_weights_count_samples():
    statistics = of_sets([["a", "b"], ["a"], ["x"], []], [[["a", "c"]], [["a"]], [["y"]], [["y"]]])
    weights = np.array([[1, 1, 1, 1], [2, 0, 1, 1], [0, 3, 0, 1], [0, 0, 0, 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = score(statistics, weights)
    for row, counts in enumerate(weights[:3]):
        wanted = score({key: np.repeat(values, counts) for key, values in statistics.items()})
        for key, values in found.items():
            assert values[row] == pytest.approx(wanted[key], abs=1e-12)
    assert np.isnan(found["entity_score"][3]) and list(found) == ["entity_score", "entity_recall", "entity_similarity"]


stems = st.sets(st.sampled_from("abcdefgh"), min_size=1)


@settings(max_examples=200, deadline=None)
@given(predicted=stems, reference=stems, data=st.data())
def test_sanity(predicted, reference, data):
    fewer = data.draw(st.sets(st.sampled_from(sorted(predicted)), min_size=1))
    unrelated = data.draw(st.sets(st.sampled_from("uvwxyz")))
    rows = [sorted(predicted), sorted(fewer), sorted(predicted | unrelated)]
    statistics = of_sets(rows, [[sorted(reference)]] * 3)
    assert statistics["recall"][1] <= statistics["recall"][0] == statistics["recall"][2]
    assert statistics["similarity"][2] <= statistics["similarity"][0] + 1e-12
    assert ((statistics["similarity"] >= 0) & (statistics["similarity"] <= 1)).all()
    assert ((statistics["entity_score"] > 0) & (statistics["entity_score"] <= 1.00005)).all()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"formula": "paper"}, r"formula is 'paper', expected one of \['favdbench', 'readme'\]"),
        ({"no_entities": None}, "no_entities is None, expected one of"),
    ],
)
def test_options_are_checked_before_anything_is_loaded(options, message):
    with pytest.raises(ValueError, match=message):
        sample_statistics(["a"], ["b"], **options)


@pytest.mark.parametrize(
    "predictions, references, error, message",
    [
        (["a", 5], ["b", "c"], TypeError, r"predictions\[1\] is int 5, expected str"),
        ([[1, 2]], [[3]], TypeError, r"predictions\[0\] is list \[1, 2\], expected str"),
        (["a"], [["b", None]], TypeError, r"references\[0\]\[1\] is None, expected str"),
        (["a"], [[]], ValueError, r"references\[0\] is an empty list"),
        ([], [], ValueError, "predictions is empty"),
    ],
)
def test_wrong_items(predictions, references, error, message):
    with pytest.raises(error, match=message):
        find_entities(predictions, references)
