"""BLEU against a slow oracle, sacrebleu, nltk and stored official scores, and the rules that its docstrings state."""

import gzip
import itertools
import json
import math
import re
import warnings
from collections import Counter

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from nltk.translate.bleu_score import SmoothingFunction, corpus_bleu, sentence_bleu
from sacrebleu.metrics import BLEU

from metrics.bleu4 import scoring
from metrics.bleu4._shared import Encoder, caption_counts
from metrics.bleu4.scoring import SMOOTHINGS, bleu4, sample_scores, sample_statistics, score

EXACT = [smoothing for smoothing in SMOOTHINGS if smoothing != "coco"]


def grams_of(tokens, order):
    return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))


def oracle_counts(candidate, references, max_order):
    """Clipped matches, totals and the closest reference length, with Counters."""
    matches, totals = [], []
    for order in range(1, max_order + 1):
        mine = grams_of(candidate, order)
        most = Counter()
        for reference in references:
            most |= grams_of(reference, order)
        matches.append(sum((mine & most).values()))
        totals.append(sum(mine.values()))
    closest = min((abs(len(reference) - len(candidate)), len(reference)) for reference in references)[1]
    return matches, totals, closest


def oracle_bleu(matches, totals, candidate_length, reference_length, smoothing, effective_order):
    """BLEU of the highest order, from the formula, in plain Python."""
    if smoothing == "coco":
        product = math.prod((m + 1e-15) / (t + 1e-9) for m, t in zip(matches, totals))
        ratio = (candidate_length + 1e-15) / (reference_length + 1e-9)
        return product ** (1 / len(matches)) * (math.exp(1 - 1 / ratio) if ratio < 1 else 1.0)
    if not matches[0]:
        return 0.0
    precisions, zeros = [], 0
    for order, (m, t) in enumerate(zip(matches, totals), start=1):
        if t == 0:
            if not effective_order:
                return 0.0
            continue
        zeros += m == 0
        least = min(precisions, default=1.0)
        if smoothing == "add-k" and order > 1:
            m, t = m + 1, t + 1
        elif m == 0:
            smoothed = {True: (1, t + 1), False: (0, t), "epsilon": (0.1, t), "exp": (0.5**zeros, t)}
            m, t = smoothed.get(smoothing, (m, t))
        # The default caps what it makes of an order without a match.
        precisions.append(min(m / t, least) if smoothing is True and zeros and not matches[order - 1] else m / t)
    mean = math.prod(precisions) ** (1 / len(precisions))
    return mean * min(1.0, math.exp(1 - reference_length / candidate_length))


captions = st.lists(st.sampled_from("abc"), max_size=8)
samples = st.tuples(captions, st.lists(captions, min_size=1, max_size=3))
corpora = st.lists(samples, min_size=1, max_size=4)


def statistics_of(corpus, max_order=4):
    texts = [(" ".join(candidate), [" ".join(r) for r in group]) for candidate, group in corpus]
    return sample_statistics(*zip(*texts), max_order=max_order, tokenizer="whitespace")


@settings(max_examples=60, deadline=None)
@given(corpus=corpora, max_order=st.integers(1, 6))
def test_counts_are_those_of_counters(corpus, max_order):
    found = statistics_of(corpus, max_order)
    for row, (candidate, group) in enumerate(corpus):
        matches, totals, closest = oracle_counts(candidate, group, max_order)
        assert found["matches"][row].tolist() == matches
        assert found["totals"][row].tolist() == totals
        assert found["candidate_length"][row] == len(candidate)
        assert found["reference_length"][row] == closest


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora, max_order=st.integers(1, 6))
def test_scores_are_those_of_the_formula(smoothing, effective_order, corpus, max_order):
    statistics = statistics_of(corpus, max_order)
    counts = [(*oracle_counts(c, group, max_order), len(c)) for c, group in corpus]
    options = (smoothing, effective_order)
    samples = sample_scores(statistics, *options)
    for order in range(1, max_order + 1):
        expected = [oracle_bleu(m[:order], t[:order], c, r, *options) for m, t, r, c in counts]
        np.testing.assert_allclose(samples[f"bleu{order}"], expected, rtol=0, atol=1e-12)
        sums = [np.sum([row[part] for row in counts], axis=0) for part in range(4)]
        whole = oracle_bleu(sums[0].tolist()[:order], sums[1].tolist()[:order], sums[3], sums[2], *options)
        assert score(statistics, *options)[f"bleu{order}"] == pytest.approx(whole, abs=1e-12)


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora)
def test_scores_are_finite_and_between_0_and_1(smoothing, effective_order, corpus):
    results = score(statistics_of(corpus), smoothing, effective_order)
    for values in results.values():
        assert np.isfinite(values).all()
    assert all(0 <= results[f"bleu{order}"] <= 1 for order in range(1, 5))


# Under add-k sacrebleu makes an order without n-grams 1 / 1, here it is 0 (or left out): see max_order tokens below.
SACREBLEU = [(False, "none", None), ("exp", "exp", None), ("epsilon", "floor", 0.1), ("add-k", "add-k", 1)]


@pytest.mark.parametrize("smoothing, method, value", SACREBLEU)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora.filter(lambda corpus: all(all(group) for _, group in corpus)), max_order=st.integers(1, 5))
def test_a_corpus_scores_as_sacrebleu_scores_it(smoothing, method, value, corpus, max_order):
    assume(smoothing != "add-k" or any(len(candidate) >= max_order for candidate, _ in corpus))
    metric = BLEU(tokenize="none", smooth_method=method, smooth_value=value, max_ngram_order=max_order)
    depth = max(len(group) for _, group in corpus)
    streams = [[" ".join(g[place]) if place < len(g) else None for _, g in corpus] for place in range(depth)]
    expected = metric.corpus_score([" ".join(candidate) for candidate, _ in corpus], streams).score / 100
    found = score(statistics_of(corpus, max_order), smoothing)[f"bleu{max_order}"]
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("smoothing, method, value", SACREBLEU)
@settings(max_examples=25, deadline=None)
@given(sample=samples.filter(lambda sample: all(sample[1])))
def test_a_sample_scores_as_sacrebleu_scores_it_with_effective_order(smoothing, method, value, sample):
    assume(smoothing != "add-k" or len(sample[0]) >= 4)
    metric = BLEU(tokenize="none", smooth_method=method, smooth_value=value, effective_order=True)
    candidate, group = sample
    expected = metric.sentence_score(" ".join(candidate), [" ".join(r) for r in group]).score / 100
    found = sample_scores(statistics_of([sample]), smoothing, effective_order=True)["bleu4"][0]
    assert found == pytest.approx(expected, abs=1e-9)


long_captions = st.lists(st.sampled_from("abc"), min_size=4, max_size=9)
long_samples = st.tuples(long_captions, st.lists(long_captions, min_size=1, max_size=3))
long_corpora = st.lists(long_samples, min_size=1, max_size=4)
NLTK = [
    ("epsilon", SmoothingFunction().method1),
    ("add-k", SmoothingFunction().method2),
    ("exp", SmoothingFunction().method3),
]


@pytest.mark.parametrize("smoothing, method", NLTK, ids=[smoothing for smoothing, _ in NLTK])
@settings(max_examples=25, deadline=None)
@given(corpus=long_corpora)
def test_captions_of_four_tokens_and_more_score_as_nltk_scores_them(smoothing, method, corpus):
    candidates, groups = [c for c, _ in corpus], [g for _, g in corpus]
    statistics = statistics_of(corpus)
    expected = corpus_bleu(groups, candidates, smoothing_function=method)
    assert score(statistics, smoothing)["bleu4"] == pytest.approx(expected, abs=1e-9)
    expected = [sentence_bleu(group, candidate, smoothing_function=method) for candidate, group in corpus]
    np.testing.assert_allclose(sample_scores(statistics, smoothing)["bleu4"], expected, rtol=0, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(corpus=long_corpora)
def test_without_smoothing_nltk_agrees_up_to_its_tiny_number(corpus):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = corpus_bleu([g for _, g in corpus], [c for c, _ in corpus])
    assert score(statistics_of(corpus), False)["bleu4"] == pytest.approx(expected, abs=1e-9)


GOLD = {
    "coco_demo_val2014": [0.5793995754573356, 0.40439129741018104, 0.2785363856619147, 0.1908290437674253],
    "coco_val2017_human": [0.6266236862685138, 0.42908572154907965, 0.2853301612188756, 0.18872730135942747],
    "coco_val2017_fakecap": [0.14998593879058467, 0.003976986151193297, 7.947523840441196e-09, 1.6921720361100283e-11],
}


@pytest.mark.parametrize("name", GOLD)
def test_coco_smoothing_equals_the_official_code(shared, name):
    with gzip.open(shared / "gold" / "captions" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        gold = json.load(file)
    statistics = sample_statistics(gold["predictions"], gold["references"])
    corpus, samples = score(statistics, "coco"), sample_scores(statistics, "coco")
    assert [corpus[f"bleu{order}"] for order in range(1, 5)] == pytest.approx(GOLD[name], abs=1e-9)
    for key in ("bleu1", "bleu4"):
        np.testing.assert_allclose(samples[key], gold[key], rtol=0, atol=1e-9)


# Scored with pycocoevalcap 1.2 (Bleu(4).compute_score).
OWN_PREDICTIONS = [
    "a red kite flies over the beach",
    "two boys play chess in a garden",
    "the old clock on the wall",
    "a dog",
    "a woman pours tea into a blue cup",
    "a train",
    "people wait for the bus in the rain",
    "a a a kite kite",
]
OWN_REFERENCES = [
    [
        "a red kite is flying over a beach",
        "a kite above the sand on a windy day",
        "someone flies a red kite over the beach",
    ],
    ["two boys are playing chess in the garden", "two kids play a board game outside"],
    ["an old clock hangs on the wall"],
    ["a brown dog sleeps on the rug", "a dog", "the dog lies on a red rug"],
    ["a woman pours tea into a cup", "the woman is pouring tea into a blue cup"],
    ["a long freight train crosses the bridge", "a train on a bridge over the river", "the train crosses a river"],
    ["people wait for the bus", "people stand in the rain and wait for a bus"],
    ["a kite in the sky", "a red kite over the beach"],
]
OWN_CORPUS = [0.777931839114712, 0.6782455455037855, 0.5651162225456036, 0.46824095750683653]
OWN_BLEU4 = [
    7.833126068387208e-05,
    1.1362193660894362e-08,
    6.800874736195394e-05,
    0.0009999999991250007,
    0.9999999998413692,
    0.00022313015995319128,
    0.5208154730393285,
    1.1362193658757192e-08,
]


def test_own_captions_score_as_pycocoevalcap_scored_them(load_metric):
    results = load_metric("bleu4").compute(
        predictions=OWN_PREDICTIONS, references=OWN_REFERENCES, smoothing="coco", per_sample=True
    )
    assert [results[f"bleu{order}"] for order in range(1, 5)] == pytest.approx(OWN_CORPUS, abs=1e-12)
    assert results["per_sample"]["bleu4"] == pytest.approx(OWN_BLEU4, rel=1e-9)


def test_metric_returns_what_its_card_lists_as_plain_numbers(load_metric):
    results = load_metric("bleu4").compute(predictions=OWN_PREDICTIONS, references=OWN_REFERENCES, per_sample=True)
    assert list(results) == [
        "bleu4",
        "bleu1",
        "bleu2",
        "bleu3",
        "precisions",
        "brevity_penalty",
        "length_ratio",
        "translation_length",
        "reference_length",
        "per_sample",
    ]
    assert json.loads(json.dumps(results)) == results
    assert (results["translation_length"], results["reference_length"]) == (45, 51)
    assert results["length_ratio"] == pytest.approx(45 / 51)
    assert results["brevity_penalty"] == pytest.approx(math.exp(1 - 51 / 45))
    assert results["precisions"][0] == pytest.approx(OWN_CORPUS[0] / results["brevity_penalty"], abs=1e-9)
    assert results["per_sample"]["candidate_length"] == [7, 7, 6, 2, 8, 2, 8, 5]
    assert set(map(len, results["per_sample"].values())) == {8}


def test_a_corpus_is_not_the_mean_of_its_samples():
    statistics = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    assert abs(score(statistics)["bleu4"] - sample_scores(statistics)["bleu4"].mean()) > 0.05


def test_joined_statistics_of_two_shards_score_as_the_whole():
    whole = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    shards = [sample_statistics(OWN_PREDICTIONS[rows], OWN_REFERENCES[rows]) for rows in (slice(3), slice(3, None))]
    joined = {key: np.concatenate([shard[key] for shard in shards]) for key in whole}
    for smoothing in SMOOTHINGS:
        assert score(joined, smoothing) == score(whole, smoothing)


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_the_order_of_rows_and_references_does_not_matter(smoothing):
    statistics = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    turned = sample_statistics(OWN_PREDICTIONS[::-1], [group[::-1] for group in OWN_REFERENCES[::-1]])
    assert score(turned, smoothing) == score(statistics, smoothing)
    np.testing.assert_array_equal(
        sample_scores(turned, smoothing)["bleu4"][::-1], sample_scores(statistics, smoothing)["bleu4"]
    )


def of_one(candidate, references, smoothing, effective_order=False, max_order=4):
    statistics = sample_statistics([candidate], [references], max_order=max_order, tokenizer="whitespace")
    return score(statistics, smoothing, effective_order)[f"bleu{max_order}"]


ZERO_4GRAM = {
    True: 0.2737591,
    False: 0.0,
    "epsilon": 0.1106182,
    "add-k": 0.3308775,
    "exp": 0.2080114,
    "coco": 1.1062e-8,
}


@pytest.mark.parametrize("smoothing", SMOOTHINGS)
def test_orders_without_a_match_become_what_the_smoothing_says(smoothing):
    found = of_one("a cat on the mat", ["a cat sits on a mat"], smoothing)
    assert found == pytest.approx(ZERO_4GRAM[smoothing], rel=1e-3)


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", EXACT)
@pytest.mark.parametrize("candidate", ["a b c d", "a", "", "a b c d e f g"])
@pytest.mark.parametrize("reference", ["x y z w", "x", ""])
def test_no_word_in_common_is_exactly_0(candidate, reference, smoothing, effective_order):
    assert of_one(candidate, [reference], smoothing, effective_order) == 0.0


def test_no_word_in_common_under_coco_is_tiny():
    assert 0 < of_one("a b c d", ["x y z w"], "coco") < 1e-14


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", SMOOTHINGS)
@pytest.mark.parametrize("references", [["a b c d"], ["", "a"], [""]])
def test_an_empty_candidate_is_0(references, smoothing, effective_order):
    found = of_one("", references, smoothing, effective_order)
    if smoothing == "coco":
        assert found < 1e-5
    else:
        assert found == 0.0


@pytest.mark.parametrize("effective_order", [False, True])
@pytest.mark.parametrize("smoothing", EXACT)
@pytest.mark.parametrize("length", [4, 5, 6, 12])
def test_an_exact_match_of_four_tokens_and_more_is_exactly_1(length, smoothing, effective_order):
    caption = " ".join("abcdefghijkl"[:length])
    assert of_one(caption, ["x y", caption], smoothing, effective_order) == 1.0


@pytest.mark.parametrize("smoothing", EXACT)
@pytest.mark.parametrize("caption", ["a", "a b", "a b c"])
def test_a_shorter_exact_match_is_0_unless_with_effective_order(caption, smoothing):
    assert of_one(caption, [caption], smoothing) == 0.0
    assert of_one(caption, [caption], smoothing, effective_order=True) == 1.0


@pytest.mark.parametrize("caption, expected", [("a b c", 0.0316228), ("a", 3.16228e-5), ("a b c d e f", 1.0)])
@pytest.mark.parametrize("effective_order", [False, True])
def test_coco_keeps_its_artefacts(caption, expected, effective_order):
    assert of_one(caption, [caption], "coco", effective_order) == pytest.approx(expected, rel=1e-4)
    assert of_one(caption, [caption], "coco", effective_order) < 1


@pytest.mark.parametrize("smoothing", EXACT)
def test_effective_order_changes_nothing_for_captions_of_four_tokens_and_more(smoothing):
    candidate, references = "a b c x d", ["a b c d", "a c x d"]
    assert of_one(candidate, references, smoothing, True) == of_one(candidate, references, smoothing, False)


@pytest.mark.parametrize("smoothing", EXACT)
@pytest.mark.parametrize("max_order", range(1, 7))
def test_an_exact_match_needs_as_many_tokens_as_orders(smoothing, max_order):
    caption = "a b c d e f".split()
    assert of_one(" ".join(caption[:max_order]), [" ".join(caption[:max_order])], smoothing, False, max_order) == 1.0
    shorter = " ".join(caption[: max_order - 1])
    assert of_one(shorter, [shorter], smoothing, False, max_order) == 0.0


@pytest.mark.parametrize("max_order", range(1, 7))
def test_lower_orders_do_not_depend_on_max_order(max_order, load_metric):
    data = {"predictions": OWN_PREDICTIONS, "references": OWN_REFERENCES}
    results, all_orders = (load_metric("bleu4").compute(**data, max_order=order) for order in (max_order, 6))
    keys = [key for key in results if re.fullmatch(r"bleu\d", key)]
    assert sorted(keys) == [f"bleu{order}" for order in range(1, max_order + 1)]
    assert [results[key] for key in keys] == [all_orders[key] for key in keys]
    assert len(results["precisions"]) == max_order


@pytest.mark.parametrize("lengths", list(itertools.permutations([3, 5, 9])))
def test_of_two_equally_close_lengths_the_shorter_counts(lengths):
    references = [" ".join(["x"] * length) for length in lengths]
    assert sample_statistics(["a b c d"], [references], tokenizer="whitespace")["reference_length"].tolist() == [3]


@pytest.mark.parametrize("smoothing", EXACT)
def test_a_tie_that_goes_to_the_shorter_costs_no_brevity_in_any_order(smoothing):
    for references in (["a b c d e", "a b c"], ["a b c", "a b c d e"]):
        assert of_one("a b c d", references, smoothing) == 1.0


@settings(max_examples=25, deadline=None)
@given(corpus=corpora)
def test_token_ids_count_as_texts(corpus):
    number = {"a": 0, "b": -7, "c": 1 << 40}
    ids = [([number[t] for t in c], [[number[t] for t in r] for r in group]) for c, group in corpus]
    found, expected = sample_statistics(*zip(*ids)), statistics_of(corpus)
    for key in expected:
        np.testing.assert_array_equal(found[key], expected[key])


def test_all_empty_is_0_and_divides_by_nothing(load_metric):
    results = load_metric("bleu4").compute(predictions=["", ""], references=[[""], ["", ""]])
    assert (results["bleu4"], results["length_ratio"], results["brevity_penalty"]) == (0.0, 0.0, 0.0)
    assert results["precisions"] == [0.0] * 4


@pytest.mark.parametrize(
    "wrong", [1, 0, 1.0, "True", "true", "none", "floor", "", None, np.True_, np.False_, [], "COCO"]
)
def test_an_unknown_smoothing_is_a_value_error(load_metric, wrong):
    with pytest.raises(ValueError, match=re.escape(f"smoothing is {wrong!r}, expected one of")):
        load_metric("bleu4").compute(predictions=["a"], references=[["a"]], smoothing=wrong)


def test_a_smoothing_name_need_not_be_the_same_object():
    assert of_one("a b c d", ["a b c d"], "".join(["ad", "d-k"])) == 1.0


@pytest.mark.parametrize("wrong", [0, -1, True, 2.5, 4.0, "4", None])
def test_a_wrong_max_order_is_a_value_error(load_metric, wrong):
    with pytest.raises(ValueError, match=re.escape(f"max_order is {wrong!r}, expected an integer")):
        load_metric("bleu4").compute(predictions=["a"], references=[["a"]], max_order=wrong)


def test_ready_counts_give_the_same_and_too_few_orders_are_a_value_error():
    counts = caption_counts(OWN_PREDICTIONS, OWN_REFERENCES, 6, Encoder())
    direct = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    for key, values in sample_statistics(counts=counts).items():
        np.testing.assert_array_equal(values, direct[key])
    with pytest.raises(ValueError, match="counts hold 6 orders, expected at least max_order=7"):
        sample_statistics(counts=counts, max_order=7)


def test_counting_in_blocks_changes_nothing(monkeypatch):
    whole = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    monkeypatch.setattr(scoring, "_BLOCK", 3)
    for key, values in sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES).items():
        np.testing.assert_array_equal(values, whole[key])


# --- bleu4(), the function of one sample ------------------------------------------------------------------------

REFERENCE = "a brown dog catches a yellow ball in the garden"


def test_bleu4_of_an_exact_match_is_above_099():
    assert bleu4(REFERENCE, [REFERENCE, "a dog plays"]) > 0.99


@pytest.mark.parametrize("smoothing", EXACT)
def test_bleu4_of_disjoint_captions_is_0(smoothing):
    assert bleu4("seven ships sail north", [REFERENCE], smoothing) == 0.0


def test_bleu4_smoothed_lies_between_unsmoothed_and_exact():
    close = "a brown cat catches the yellow ball in a yard"
    assert bleu4(close, [REFERENCE], False) == 0.0
    assert 0 < bleu4(close, [REFERENCE]) < bleu4(REFERENCE, [REFERENCE])


def test_bleu4_of_a_shorter_caption_pays_brevity():
    beginning = "a brown dog catches a yellow"
    assert bleu4(beginning, [REFERENCE]) == pytest.approx(math.exp(1 - 10 / 6), abs=1e-12)


def test_bleu4_takes_token_ids():
    assert bleu4([1, 2, 3, 4, 9], [[1, 2, 3, 4, 5], [7]]) == bleu4("a b c d z", ["a b c d e", "g"])


def test_bleu4_tokenizes_as_coco():
    assert bleu4("A dog, catching a Ball!", ["a dog catching a ball"]) == 1.0


def test_bleu4_without_references_is_a_value_error():
    with pytest.raises(ValueError, match="references.* is (an )?empty"):
        bleu4("a dog", [])


@pytest.mark.parametrize("smoothing", EXACT)
@pytest.mark.parametrize("generated", ["", " ", "."])
def test_bleu4_of_an_empty_generation_is_0(generated, smoothing):
    assert bleu4(generated, [REFERENCE], smoothing) == 0.0


def test_bleu4_of_no_tokens_is_0():
    assert bleu4([], [[1, 2, 3]]) == 0.0


def test_bleu4_is_a_python_float():
    assert type(bleu4("a dog runs far", ["a dog runs far away"])) is float


def test_bleu4_equals_the_metric(load_metric):
    for prediction, group in zip(OWN_PREDICTIONS, OWN_REFERENCES):
        results = load_metric("bleu4").compute(predictions=[prediction], references=[group])
        assert bleu4(prediction, group) == results["bleu4"]


def test_bleu4_takes_one_text_or_one_list_of_ids_as_one_reference():
    assert bleu4("a dog runs far", "a dog runs far") == 1.0
    assert bleu4([1, 2, 3, 4], [1, 2, 3, 4]) == 1.0


@pytest.mark.parametrize("generated, references", [(None, ["a"]), ([1, 2], ["a"]), ("a", [[1]]), ("a", [None])])
def test_bleu4_of_a_wrong_item_is_a_type_error(generated, references):
    with pytest.raises(TypeError, match="expected"):
        bleu4(generated, references)
