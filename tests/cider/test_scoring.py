"""CIDEr-D, CIDEr and CIDEr-R against a slow oracle written from the formulas, and against stored official scores."""

import gzip
import json
import math
import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from metrics.cider._shared import Encoder, caption_counts
from metrics.cider.scoring import VARIANTS, sample_scores, sample_statistics, score


def grams_of(tokens, order):
    return Counter(tuple(tokens[i : i + order]) for i in range(len(tokens) - order + 1))


def penalty_of(variant, candidate, reference, sigma):
    if variant == "cider":
        return 1.0
    if variant == "cider_d":
        return math.exp(-((len(candidate) - len(reference)) ** 2) / (2 * sigma**2))
    mine, theirs = (Counter(re.findall(r"\w+", " ".join(tokens))) for tokens in (candidate, reference))
    if not mine or not reference:
        return 0.0
    terms = [1 / (1 + abs(theirs[w] - count)) if w in theirs else 1 / count for w, count in mine.items()]
    repetition = math.prod(terms) ** (1 / len(terms))
    length = math.exp(-((len(reference) - len(candidate)) ** 2) / len(reference) ** 2)
    return repetition**0.8 * length**0.2


def oracle(predictions, references, variant="cider_d", n=4, sigma=6.0, end_token=None, stem=False):
    """Per sample and order, 0..1, with dictionaries."""
    porter = PorterStemmer().stem

    def tokens_of(text):
        tokens = [porter(word) for word in text.split()] if stem else text.split()
        return tokens + ([] if end_token is None else [end_token])

    candidates = [tokens_of(text) for text in predictions]
    groups = [[tokens_of(text) for text in group] for group in references]
    scores = np.zeros((len(candidates), n))
    for order in range(1, n + 1):
        df = Counter(gram for group in groups for gram in set().union(*(grams_of(r, order) for r in group)))

        def vector(tokens, order=order, df=df):
            return {
                gram: count * (math.log(len(groups)) - math.log(max(1, df[gram])))
                for gram, count in grams_of(tokens, order).items()
            }

        for row, (candidate, group) in enumerate(zip(candidates, groups)):
            mine = vector(candidate)
            for reference in group:
                theirs = vector(reference)
                dot = sum(
                    (value if variant == "cider" else min(value, theirs[gram])) * theirs[gram]
                    for gram, value in mine.items()
                    if gram in theirs
                )
                norms = [math.sqrt(sum(v * v for v in side.values())) for side in (mine, theirs)]
                if all(norms):
                    penalty = penalty_of(variant, candidate, reference, sigma)
                    scores[row, order - 1] += penalty * dot / norms[0] / norms[1] / len(group)
    return scores


captions = st.lists(st.sampled_from(["a", "b", "c", "cats", "running-cat"]), max_size=8).map(" ".join)
corpora = st.lists(st.tuples(captions, st.lists(captions, min_size=1, max_size=3)), min_size=2, max_size=5)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=60, deadline=None)
@given(
    corpus=corpora,
    n=st.integers(1, 6),
    sigma=st.sampled_from([0.5, 2, 6.0, 40.0]),
    end_token=st.sampled_from([None, "<eos>", "a"]),
    stem=st.booleans(),
)
def test_scores_are_those_of_the_oracle(variant, corpus, n, sigma, end_token, stem):
    predictions, references = zip(*corpus)
    options = {"variant": variant, "n": n, "sigma": sigma, "end_token": end_token, "stem": stem}
    found = sample_statistics(predictions, references, tokenizer="whitespace", **options)["similarity"]
    np.testing.assert_allclose(found, oracle(predictions, references, **options), rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora)
def test_token_ids_score_as_texts(variant, corpus):
    number = {"a": 7, "b": -3, "c": 1 << 40, "cats": 0, "running": 5}
    corpus = [[text.replace("running-cat", "running") for text in (p, *r)] for p, r in corpus]
    as_ids = [[[number[word] for word in text.split()] for text in row] for row in corpus]
    texts = sample_statistics([r[0] for r in corpus], [r[1:] for r in corpus], variant, tokenizer="whitespace")
    ids = sample_statistics([r[0] for r in as_ids], [r[1:] for r in as_ids], variant, tokenizer="none")
    if variant == "cider_r":
        # The "word" of an id is its digits, so -3 is the word 3: still one word per token.
        np.testing.assert_allclose(ids["similarity"], texts["similarity"], rtol=0, atol=1e-12)
    else:
        np.testing.assert_array_equal(ids["similarity"], texts["similarity"])


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora, seed=st.integers(0, 1000))
def test_the_order_of_rows_does_not_matter(variant, corpus, seed):
    order = np.random.default_rng(seed).permutation(len(corpus))
    shuffled = [corpus[place] for place in order]
    straight = sample_statistics(*zip(*corpus), variant, tokenizer="whitespace")["similarity"]
    moved = sample_statistics(*zip(*shuffled), variant, tokenizer="whitespace")["similarity"]
    np.testing.assert_allclose(moved, straight[order], rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora)
def test_the_order_of_references_does_not_matter(variant, corpus):
    turned = [(candidate, group[::-1]) for candidate, group in corpus]
    straight = sample_statistics(*zip(*corpus), variant, tokenizer="whitespace")["similarity"]
    found = sample_statistics(*zip(*turned), variant, tokenizer="whitespace")["similarity"]
    np.testing.assert_allclose(found, straight, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(corpus=corpora)
def test_similarities_are_finite_and_between_0_and_1(variant, corpus):
    similarity = sample_statistics(*zip(*corpus), variant, tokenizer="whitespace")["similarity"]
    assert np.isfinite(similarity).all()
    assert similarity.min() >= 0
    assert similarity.max() <= 1 + 1e-12


GOLD = {
    "cider": ({}, 0.5998952026835711),
    "cider_plain": ({"variant": "cider"}, 0.7111763052924763),
    "cider_plain_stemmed": ({"variant": "cider", "stem": True}, 0.8014758254482615),
    "cider_d_stemmed": ({"stem": True}, 0.6765006237554353),
    "cider_r": ({"variant": "cider_r"}, 0.6244522602911292),
}


def read_gold(shared, name):
    with gzip.open(shared / "gold" / "captions" / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


@pytest.mark.parametrize("key", GOLD)
def test_every_variant_equals_the_official_code_on_coco_demo(shared, key):
    gold, (options, corpus_value) = read_gold(shared, "coco_demo_val2014"), GOLD[key]
    statistics = sample_statistics(gold["predictions"], gold["references"], **options)
    np.testing.assert_allclose(sample_scores(statistics)["cider"], gold[key], rtol=0, atol=1e-9)
    assert score(statistics)["cider"] == pytest.approx(corpus_value, abs=1e-9)


@pytest.mark.parametrize(
    "name, corpus_value",
    [("coco_val2017_human", 0.8648747466999986), ("coco_val2017_fakecap", 0.00027085598949264165)],
)
def test_cider_d_equals_the_official_code_on_coco_val2017(shared, name, corpus_value):
    gold = read_gold(shared, name)
    statistics = sample_statistics(gold["predictions"], gold["references"])
    np.testing.assert_allclose(sample_scores(statistics)["cider"], gold["cider"], rtol=0, atol=1e-9)
    assert score(statistics)["cider"] == pytest.approx(corpus_value, abs=1e-9)


# Scored with pycocoevalcap 1.2 (Cider().compute_score).
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
OWN_SCORES = [
    1.9333905596801382,
    1.763459732623633,
    3.7000657709362175,
    2.280541060390727,
    6.474107797260861,
    1.183421814142911,
    4.870835744672236,
    0.8226284281491689,
]


def test_own_captions_score_as_pycocoevalcap_scored_them():
    statistics = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    np.testing.assert_allclose(sample_scores(statistics)["cider"], OWN_SCORES, rtol=0, atol=1e-12)
    assert score(statistics)["cider"] == pytest.approx(2.878556363481987, abs=1e-12)


def test_metric_gives_the_same_and_each_sample(load_metric):
    results = load_metric("cider").compute(predictions=OWN_PREDICTIONS, references=OWN_REFERENCES, per_sample=True)
    assert results["cider"] == pytest.approx(2.878556363481987, abs=1e-12)
    assert results["per_sample"]["cider"] == pytest.approx(OWN_SCORES, abs=1e-12)
    assert list(results) == ["cider", "cider_1", "cider_2", "cider_3", "cider_4", "per_sample"]
    assert list(results["per_sample"]) == list(results)[:-1]
    for key in list(results)[:-1]:
        assert type(results[key]) is float
        assert np.mean(results["per_sample"][key]) == pytest.approx(results[key], abs=1e-12)
    assert np.mean([results[f"cider_{order}"] for order in range(1, 5)]) == pytest.approx(results["cider"], abs=1e-12)


def test_results_are_json(load_metric):
    results = load_metric("cider").compute(predictions=OWN_PREDICTIONS, references=OWN_REFERENCES, per_sample=True)
    assert json.loads(json.dumps(results)) == results


def scores_of(predictions, references, **options):
    statistics = sample_statistics(predictions, references, **{"tokenizer": "whitespace", **options})
    return sample_scores(statistics)["cider"].tolist()


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_single_image_is_an_error(variant):
    with pytest.raises(ValueError, match="single image.*idf.*table"):
        sample_statistics(["a b"], [["a b", "a c"]], variant)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("tokens, best", [(4, 10.0), (5, 10.0), (3, 7.5), (2, 5.0), (1, 2.5)])
def test_a_perfect_caption_scores_a_quarter_of_10_per_order_it_has(variant, tokens, best):
    one, other = ("a b c d e".split()[:tokens], "v w x y z".split()[:tokens])
    captions = [" ".join(one), " ".join(other)]
    assert scores_of(captions, [[c] for c in captions], variant=variant) == pytest.approx([best, best], abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_candidate_scores_0_and_the_others_keep_theirs(variant):
    references = [["a b c d"], ["e f g h"], ["i j k"]]
    full = scores_of(["a b c d", "e f g h", "i j k"], references, variant=variant)
    assert scores_of(["a b c d", "", "i j k"], references, variant=variant) == [full[0], 0.0, full[2]]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "predictions, references",
    [
        (["", ""], [["a b"], ["c d"]]),
        (["a b", "c d"], [[""], [""]]),
        (["", ""], [[""], ["", ""]]),
        (["a b", "a b"], [["a b"], ["a b"]]),
        (["x y", "z"], [["a b"], ["c d"]]),
    ],
    ids=["no-candidate-words", "no-reference-words", "no-words", "same-references-everywhere", "disjoint"],
)
def test_nothing_to_weigh_or_share_is_exactly_0(variant, predictions, references):
    assert scores_of(predictions, references, variant=variant) == [0.0, 0.0]


@pytest.mark.parametrize("variant", VARIANTS)
def test_an_empty_reference_counts_as_a_reference_with_similarity_0(variant):
    without = scores_of(["a b c d", "e f g h"], [["a b c d"], ["e f g h"]], variant=variant)
    with_empty = scores_of(["a b c d", "e f g h"], [["a b c d", ""], ["e f g h"]], variant=variant)
    assert with_empty == pytest.approx([without[0] / 2, without[1]], abs=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_duplicated_reference_weighs_twice(variant):
    predictions, group = ["a b c d", "x y"], ["a b c d", "e f g h"]
    assert scores_of(predictions, [group, ["z"]], variant=variant)[0] == pytest.approx(5.0, abs=1e-12)
    assert scores_of(predictions, [[group[0], *group], ["z"]], variant=variant)[0] == pytest.approx(20 / 3, abs=1e-12)


def test_cider_d_clips_repeats_and_cider_does_not():
    references = [["kite in the sky"], ["dog on rug"]]
    predictions = ["kite kite kite kite", "dog on rug"]
    plain, clipped = (
        sample_statistics(predictions, references, variant, n=1, sigma=1e9)["similarity"][0, 0]
        for variant in ("cider", "cider_d")
    )
    assert plain == pytest.approx(0.5, abs=1e-12)
    assert clipped == pytest.approx(0.125, abs=1e-12)


@pytest.mark.parametrize("sigma", [1.0, 6.0])
def test_the_length_penalty_of_cider_d_is_gaussian_in_tokens(sigma):
    predictions, references = ["a b c", "x"], [["a b c d e"], ["y"]]
    plain = sample_statistics(predictions, references, "cider", tokenizer="whitespace")["similarity"][0]
    penalized = sample_statistics(predictions, references, sigma=sigma, n=1, tokenizer="whitespace")["similarity"][0]
    assert penalized[0] == pytest.approx(plain[0] * math.exp(-4 / (2 * sigma**2)), abs=1e-12)


def test_an_emoji_only_caption_scores_0():
    assert scores_of(["\U0001f600", "b c d"], [["a kite"], ["b c d"]], tokenizer="ptb") == [0.0, 7.5]


def test_a_no_break_space_separates_words():
    plain = scores_of(["red kite over sand", "x"], [["red kite"], ["y"]], tokenizer="ptb")
    assert scores_of(["red\u00a0kite over\u00a0sand", "x"], [["red\u00a0kite"], ["y"]], tokenizer="ptb") == plain


@pytest.mark.parametrize("separator", ["\n", "\r", "\r\n", "\u2028", "\u2029", "\x0b", "\x0c", "\x85", "\x1c"])
@pytest.mark.parametrize("tokenizer", ["ptb", "whitespace", "13a"])
def test_a_line_break_inside_a_caption_changes_no_neighbour(separator, tokenizer):
    rows = [
        ["kite flies over sand", "dog on the rug", "clock hangs there"],
        [["kite flies there"], ["dog on a rug", "the dog"], ["old clock hangs there"]],
    ]
    plain = scores_of(*rows, tokenizer=tokenizer)
    rows[0][0], rows[1][1][0] = f"kite flies{separator}over sand", f"dog on{separator}a rug"
    assert scores_of(*rows, tokenizer=tokenizer) == plain
    assert min(plain) > 0


@pytest.mark.parametrize("n", [1, 2, 3, 5, 6])
def test_a_perfect_caption_scores_10_for_any_n(n):
    captions = ["a b c d e f", "u v w x y z"]
    assert scores_of(captions, [[c] for c in captions], n=n) == pytest.approx([10, 10], abs=1e-12)


def test_orders_below_n_do_not_depend_on_n():
    short = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES, n=2)["similarity"]
    long = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES, n=6)["similarity"]
    np.testing.assert_allclose(short, long[:, :2], rtol=0, atol=1e-12)


def test_scale_only_scales():
    statistics = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES)
    for key, value in score(statistics).items():
        assert score(statistics, scale=1.0)[key] == pytest.approx(value / 10, abs=1e-12)
    assert score(statistics, scale=100)["cider"] == pytest.approx(28.78556363481987, abs=1e-11)


@pytest.mark.parametrize(
    "option, wrong",
    [
        ("variant", "cider-d"),
        ("variant", "CIDEr"),
        ("variant", None),
        ("variant", ""),
        ("n", 0),
        ("n", -1),
        ("n", True),
        ("n", 2.5),
        ("n", 4.0),
        ("n", "4"),
        ("n", None),
        ("sigma", 0),
        ("sigma", -1.0),
        ("sigma", float("nan")),
        ("scale", 0),
        ("scale", -10),
        ("scale", float("nan")),
    ],
)
def test_an_option_out_of_range_is_a_value_error_that_names_it(load_metric, option, wrong):
    with pytest.raises(ValueError, match=re.escape(f"{option} is {wrong!r}, expected")):
        load_metric("cider").compute(predictions=["a b", "c"], references=[["a"], ["c"]], **{option: wrong})


def test_counts_of_too_few_orders_are_a_value_error():
    counts = caption_counts(["a b", "c"], [["a"], ["c"]], 2, Encoder())
    with pytest.raises(ValueError, match="counts hold 2 orders, expected at least n=4"):
        sample_statistics(counts=counts)


def test_ready_counts_give_the_same():
    counts = caption_counts(OWN_PREDICTIONS, OWN_REFERENCES, 6, Encoder())
    for variant in VARIANTS:
        ready = sample_statistics(counts=counts, variant=variant)["similarity"]
        direct = sample_statistics(OWN_PREDICTIONS, OWN_REFERENCES, variant)["similarity"]
        np.testing.assert_allclose(ready, direct, rtol=0, atol=1e-12)
