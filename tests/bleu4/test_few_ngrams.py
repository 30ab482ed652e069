"""An order without a match never raises BLEU, and few n-grams are warned of, once."""

import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.bleu4.scoring import SMOOTHINGS, bleu4, sample_scores, sample_statistics, score
from metrics.scale.batches import BatchStatistics

TWO = {"predictions": ["a dog runs fast", "two men"], "references": [["a dog runs slowly"], ["two men"]]}
# Made up, without blanks: under ptb a caption is a token, or two where there is a comma.
CHINESE = {
    "predictions": ["小猫在喝水", "一只狗,跑得很快", "两个人在说话", "他在做饭,她在唱歌,孩子在笑,狗在叫", "水"],
    "references": [["小猫在喝水", "猫喝水"], ["一只狗,跑得慢"], ["两个人聊天"], ["他在做饭,她在跳舞"], ["水"]],
}


@st.composite
def statistics(draw, orders=5):
    """Matches and totals of a few samples: totals fall with the order, and zeros are frequent."""
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        length = draw(st.integers(0, 12))
        totals = [max(length - order, 0) for order in range(orders)]
        most = draw(st.integers(0, orders))
        rows.append((length, totals, [draw(st.integers(0, t)) if k < most else 0 for k, t in enumerate(totals)]))
    lengths, totals, matches = map(np.array, zip(*rows))
    return {
        "matches": matches,
        "totals": totals,
        "candidate_length": lengths,
        "reference_length": draw(st.just(lengths) | st.just(lengths + 3)),
    }


def check_orders(matches, totals, precisions, bleu):
    """The rule, order by order: matches are left alone, what has none is at most what stands below it."""
    for order in range(len(matches)):
        if totals[order] and matches[order]:
            assert precisions[order] == matches[order] / totals[order]
        elif totals[order]:
            below = [1 / (totals[order] + 1), *precisions[:order]]
            assert precisions[order] == min(below)
            # The last bit of an exponential of a mean of logarithms.
            assert order == 0 or bleu[order] <= bleu[order - 1] * (1 + 1e-12)


@settings(max_examples=200, deadline=None)
@given(statistics(), st.booleans())
def test_an_order_without_a_match_never_raises_bleu(found, effective_order):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        corpus = score(found, effective_order=effective_order)
    sums = {key: values.sum(0) for key, values in found.items()}
    values = [corpus[f"bleu{order}"] for order in range(1, 6)]
    check_orders(sums["matches"], sums["totals"], corpus["precisions"], values)

    weights = np.random.default_rng(0).integers(0, 3, (3, len(found["totals"])))
    resampled = score(found, effective_order=effective_order, weights=weights)
    for row, weight in enumerate(weights):
        values = [resampled[f"bleu{order}"][row] for order in range(1, 6)]
        check_orders(weight @ found["matches"], weight @ found["totals"], resampled["precisions"][row], values)

    samples = sample_scores(found, effective_order=effective_order)
    for row, (matches, totals) in enumerate(zip(found["matches"], found["totals"])):
        values = [samples[f"bleu{order}"][row] for order in range(1, 6)]
        for order in range(1, 5):
            if totals[order] and not matches[order]:
                assert values[order] <= values[order - 1] * (1 + 1e-12)


def test_chinese_without_blanks(load_metric):
    few = "4 2-grams (0 in a reference), 2 3-grams (0 in a reference), 1 4-gram (0 in a reference) in all"
    with pytest.warns(UserWarning, match=re.escape(few)):
        results = load_metric("bleu4").compute(**CHINESE)
    # 4 of 9 tokens; 1 / (4 + 1), and no more where 1 / 3 and 1 / 2 would be.
    assert results["precisions"] == pytest.approx([4 / 9, 0.2, 0.2, 0.2], abs=1e-15)
    values = [results[f"bleu{order}"] for order in range(1, 5)]
    assert values == sorted(values, reverse=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_metric("bleu4").compute(**CHINESE, tokenizer="char")["bleu4"] > results["bleu4"]


def test_ids_follow_the_same_rule():
    # Two words of two, no pair: 1 / (1 + 1) would be above 1 / 3.
    assert bleu4([1, 2, 3, 4, 5], [[1, 9, 5]]) == pytest.approx((0.4 * 0.2 * 0.2 * 0.2) ** 0.25)
    # 1 / 3 of the fourth order is left where those below are higher.
    assert bleu4([1, 2, 3, 9, 5], [[1, 2, 3, 4, 5]]) == pytest.approx((0.8 * 0.5 / 3 / 3) ** 0.25)


def test_a_smoothed_score_lies_between_none_and_an_exact_match():
    assert 0 == bleu4("a b c x d e f", ["a b c d e f g"], False) < bleu4("a b c x d e f", ["a b c d e f g"]) < 1


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_few_n_grams_are_named_once(smoothing, load_metric):
    options = {"smoothing": smoothing, "confidence_level": 0.9, "n_resamples": 50, "by": ["a", "b"]}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_metric("bleu4").compute(**TWO, **options, per_sample=True)
    told = [str(warning.message) for warning in caught if warning.category is UserWarning]
    few_samples, few_ngrams = told
    assert few_samples.startswith("2 samples are fewer than 50")
    assert few_ngrams.startswith("few n-grams for BLEU: 1 4-gram (0 in a reference) in all candidates (2); ")


@pytest.mark.parametrize(
    "predictions, references, options, expected",
    [
        (["a red cat"], [["a red cat"]], {}, "0 4-grams (0 in a reference) in all candidates (1)"),
        (["a red cat"], [["a red cat"]], {"effective_order": True}, None),
        (
            ["a cat on the mat"],
            [["a cat sits on a mat"]],
            {},
            "3 3-grams (0 in a reference), 2 4-grams (0 in a reference)",
        ),
        # The score is 0 as was asked for, and says so.
        (["a cat on the mat"], [["a cat sits on a mat"]], {"smoothing": False}, None),
        (["a cat on the mat"], [["a cat sits on a mat"]], {"max_order": 2}, None),
        (["x y z w v"], [["a cat sits on a mat"]], {}, None),
        (["a cat sits on a mat"], [["a cat sits on a rug"]], {}, None),
        (
            ["a dog", "a dog", "a cat sits here"],
            [["a dog"], ["a dog"], ["a cat sits here"]],
            {},
            "2 3-grams (2 in a reference), 1 4-gram (1 in a reference) in all candidates (3)",
        ),
        (["", ""], [["a"], ["b"]], {}, None),
    ],
)
def test_what_is_warned_of(predictions, references, options, expected, load_metric):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load_metric("bleu4").compute(predictions=predictions, references=references, **options)
    told = [str(warning.message) for warning in caught if warning.category is UserWarning]
    assert len(told) == (expected is not None)
    assert expected is None or expected in told[0]


def test_samples_and_ids_alone_are_not_warned_of():
    counted = sample_statistics(TWO["predictions"], TWO["references"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bleu4([1, 2, 3, 4], [[1, 2, 9, 4]])
        sample_scores(counted)
        score(counted, weights=np.ones((2, 2)))


def test_shards_warn_as_the_whole():
    statistics_of = BatchStatistics("bleu4")
    found = statistics_of({"prediction": TWO["predictions"], "references": TWO["references"]})
    with pytest.warns(UserWarning, match=re.escape("1 4-gram (0 in a reference) in all candidates (2)")):
        statistics_of.score(found)


def test_the_signature_names_the_rule(load_metric):
    metric = load_metric("bleu4")
    metric.compute(predictions=["a cat sits on a mat"], references=[["a cat sits on a rug"]])
    assert "|smooth:capped|" in metric.signature()
    assert "|smooth:no|" in metric.signature(smoothing=False) and "|smooth:exp|" in metric.signature(smoothing="exp")


def test_real_captions_are_not_warned_of_and_keep_their_score(shared):
    import gzip
    import json

    with gzip.open(shared / "gold" / "captions" / "coco_demo_val2014.json.gz", "rt", encoding="utf-8") as file:
        gold = json.load(file)
    counted = sample_statistics(gold["predictions"], gold["references"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert score(counted)["bleu4"] == pytest.approx(score(counted, False)["bleu4"], abs=1e-15)
        assert score(counted)["bleu4"] == pytest.approx(0.1908290437674253, abs=1e-9)
