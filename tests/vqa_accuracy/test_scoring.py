"""VQA accuracy against its definition, worked examples, degenerate input, wrong items, and the lesson's function."""

import copy
import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.vqa_accuracy.answers import number_answers
from metrics.vqa_accuracy.diagnosis import STYLES, lost_to_style
from metrics.vqa_accuracy.inputs import check_answers, check_labels
from metrics.vqa_accuracy.measures import anls, levenshtein, relaxed_accuracy
from metrics.vqa_accuracy.normalizer import ARTICLES, CONTRACTIONS, MARKS, NUMBER_WORDS, evalai, official
from metrics.vqa_accuracy.protocols import resolve_protocol
from metrics.vqa_accuracy.scoring import (
    Scorer,
    sample_scores,
    sample_statistics,
    score,
    score_by_label,
    vqa_exact_match,
)


def accuracy(prediction, answers, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statistics = sample_statistics([prediction], [answers], **{"formula": "leave-one-out", **options})
    return float(statistics["accuracy"][0])


def slow_leave_one_out(prediction, answers):
    """Straight from the definition: each annotator in turn is left out."""
    scores = []
    for left_out in range(len(answers)):
        others = [answer for i, answer in enumerate(answers) if i != left_out]
        scores.append(min(1, sum(answer == prediction for answer in others) / 3))
    return sum(scores) / len(scores)


@settings(max_examples=200, deadline=None)
@given(st.sampled_from("abc"), st.lists(st.sampled_from("abc"), min_size=1, max_size=12))
def test_closed_form_equals_the_definition(prediction, answers):
    assert accuracy(prediction, answers, normalization="none") == pytest.approx(
        slow_leave_one_out(prediction, answers), abs=1e-12
    )


ANSWERS = st.lists(st.sampled_from(["yes", "Yes.", "no", "the cat", "cat", "2", "two"]), min_size=1, max_size=10)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["yes", "Yes", "cat", "2"]), ANSWERS), min_size=2, max_size=8))
def test_shards_and_order_do_not_matter(rows):
    predictions, references = [row[0] for row in rows], [row[1] for row in rows]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = sample_statistics(predictions, references, formula="leave-one-out")
        parts = [
            sample_statistics(p, r, formula="leave-one-out")
            for p, r in ((predictions[:1], references[:1]), (predictions[1:], references[1:]))
        ]
        turned = sample_statistics(predictions, [r[::-1] for r in references], formula="leave-one-out")
    joined = {"accuracy": np.concatenate([part["accuracy"] for part in parts])}
    assert score(joined) == score(whole) == score(turned)


@pytest.mark.parametrize("matches, expected", list(enumerate([0, 0.3, 0.6, 0.9, 1, 1, 1, 1, 1, 1, 1])))
def test_ten_annotators(matches, expected):
    assert accuracy("a", ["a"] * matches + ["b"] * (10 - matches), normalization="none") == pytest.approx(expected)


@pytest.mark.parametrize("count, ceiling", [(1, 0), (2, 1 / 3), (3, 2 / 3), (4, 1), (10, 1)])
def test_ceiling_of_few_answers(count, ceiling):
    assert accuracy("a", ["a"] * count) == pytest.approx(ceiling)


# Small golden cases, worked by hand, so that something remains where the gold data is not.
@pytest.mark.parametrize(
    "text, expected",
    [
        ("red,white", "red white"),
        ("red, white", "red white"),
        ("t-shirt", "t shirt"),
        ("n/a", "n"),
        ("2.", "2"),
        (".5", ".5"),
        ("1.5.", "1.5"),
        ("10,000-20,000", "1000020000"),
        ("none", "0"),
        ("The  cat\n", "cat"),
        ("don\u2019t", "don\u2019t"),
        ("Ive", "ive"),
        ("somebody'd", "somebodyd"),
        ("dont", "don't"),
        ("", ""),
        ("a", ""),
        ("." * 33, "."),
        ("$5 % & : *", "$5 % & : *"),
        ("ten.", "10"),
        ("1\t2", "1 2"),
    ],
)
def test_official_normaliser_with_its_quirks(text, expected):
    assert official(text) == expected


# The official code is Python 2: what it gives for texts that Python 3 reads otherwise.
@pytest.mark.parametrize(
    "text, expected",
    [
        ("yes.\u0663.\u0663", "yes\u0663\u0663"),
        ("\u0663,\u0664", "\u0663 \u0664"),
        ("1,\u0664-2", "1 \u0664 2"),
        ("5.\uff13", "5\uff13"),
        ("\u0663.5.", "\u0663.5"),
        ("\u0130stanbul", "istanbul"),
        ("\u039f\u0394\u039f\u03a3", "\u03bf\u03b4\u03bf\u03c3"),
        ("\u180e two\u180edogs \u180e \u180e", "2 dogs"),
        ("\u180e", ""),
        ("two\u180e", "2"),
        ("\u180e ,x", "x"),
    ],
)
def test_official_normaliser_reads_as_python_2(text, expected):
    assert official(text) == expected


def test_digits_of_other_scripts_as_each_code_reads_them():
    row = "yes.\u0663.\u0663", ["no"] * 9 + ["yes\u0663.\u0663"]
    for normalization, expected in {"official": 0.3, "always": 0.3, "official-2017": 0.3, "evalai": 0.0}.items():
        assert accuracy(*row, normalization=normalization) == pytest.approx(expected)
    # Python 3 reads these as numbers, and so does pix2struct.
    assert relaxed_accuracy("\u0665", ["5"]) == relaxed_accuracy("1_000", ["1000"]) == 1


def python_3_normaliser(text):
    """mmf's EvalAI processor, straight from its description: everything is Python 3's."""
    text = re.sub(r"'s", " 's", re.sub(r"[,?]", "", text.lower())).replace("\n", " ").replace("\t", " ").strip()
    changed = text
    for mark in MARKS:
        changed = changed.replace(mark, "" if f"{mark} " in text or f" {mark}" in text else " ")
    words = re.sub(r"\.(?!\d)", "", changed, count=32).lower().split()
    words = [NUMBER_WORDS.get(word, word) for word in words]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


@settings(max_examples=200, deadline=None)
@given(st.text("aI1.,?-' \n\u0663\u0130\u03a3\u180e", max_size=12))
def test_evalai_reads_as_python_3(text):
    assert evalai(text) == python_3_normaliser(text)


def test_tables():
    assert len(CONTRACTIONS) == 120
    assert evalai("McDonald's") == "mcdonald 's"


# The same answers under every normalisation: unanimous; not unanimous; an answer with an article.
@pytest.mark.parametrize(
    "normalization, expected",
    [
        ("official", (0, 1, 1)),
        ("official-2017", (1, 1, 0)),
        ("always", (1, 1, 1)),
        ("evalai", (1, 1, 1)),
        ("prediction-only", (1, 1, 0)),
        ("none", (0, 0, 1)),
    ],
)
def test_protocols_differ(normalization, expected):
    rows = [("Yes.", ["yes"] * 10), ("Yes.", ["yes"] * 9 + ["no"]), ("the cat", ["the cat"] * 9 + ["dog"])]
    assert tuple(accuracy(*row, normalization=normalization) for row in rows) == expected


@pytest.mark.parametrize(
    "preset, expected",
    [
        ("vqav2", ("official", "leave-one-out")),
        ("textvqa", ("evalai", "leave-one-out")),
        ("vizwiz", ("prediction-only", "leave-one-out")),
        ("okvqa", ("evalai", "leave-one-out")),
        ("aokvqa", ("none", "min3")),
        ("gqa", ("none", "exact")),
    ],
)
def test_presets(preset, expected):
    assert resolve_protocol(preset=preset)[:2] == expected
    assert resolve_protocol(preset=preset, normalization="always", formula="exact")[:2] == ("always", "exact")


def test_formulas():
    answers = ["a", "a", "b"]
    assert accuracy("a", answers, formula="min3") == pytest.approx(2 / 3)
    assert accuracy("b", answers, formula="exact") == 1
    assert accuracy("riding", ["rid"] * 9 + ["x"], stem=lambda text: text.removesuffix("ing")) == 1


@pytest.mark.parametrize(
    "prediction, answers, expected",
    [
        ("", ["yes", "no"] * 5, 0),
        ("", [""] * 10, 1),
        ("a", ["", "b"] * 5, 1),
        ("yes", ["yes "] * 10, 1),
        ("Yes", ["yes", "yes "] * 5, 0),
        ("yes", ["Yes"] * 10, 0),
        ("x" * 5000, ["x" * 5000] * 10, 1),
    ],
)
def test_degenerate(prediction, answers, expected):
    assert accuracy(prediction, answers) == expected


def test_single_answers_without_a_formula_are_an_error():
    with pytest.raises(ValueError, match='formula="exact"'):
        sample_statistics(["yes"], ["yes"])
    assert sample_statistics(["yes"], ["yes"], formula="exact")["accuracy"].tolist() == [1.0]
    assert sample_statistics(["yes"], ["yes"], formula="min3")["accuracy"].tolist() == [1 / 3]
    with pytest.warns(UserWarning, match="above 0.0000"):
        sample_statistics(["yes"], ["yes"], formula="leave-one-out")


def test_few_answers_warn_once_with_the_ceiling():
    with pytest.warns(UserWarning, match=r"2 of 3 questions.*above 0\.6667") as caught:
        sample_statistics(["a"] * 3, [["a"] * 2, ["a"] * 3, ["a"] * 4])
    assert len(caught) == 1


def test_annotation_dicts_strings_and_ids():
    words = ["a"] * 8 + ["b"] * 2
    dicts = [{"answer": word, "answer_confidence": "yes", "answer_id": i} for i, word in enumerate(words)]
    assert accuracy("b", dicts) == accuracy("b", words) == pytest.approx(0.6)
    assert check_answers(np.array([1, 2]), [np.array([1, 3]), 2]) == ([1, 2], [[1, 3], [2]])
    assert sample_statistics([1, 2], [[1, 3], 3])["accuracy"].tolist() == [1, 0]
    assert check_answers(np.array(["a"]), (("a", "b"),)) == (["a"], [["a", "b"]])


def test_inputs_are_not_changed():
    predictions, references = ["The Cat."], [[{"answer": "the cat", "answer_id": i} for i in range(9)] + ["Dog"]]
    before = copy.deepcopy((predictions, references))
    first = sample_statistics(predictions, references)["accuracy"].tolist()
    assert (predictions, references) == before
    assert sample_statistics(predictions, references)["accuracy"].tolist() == first == [1.0]


@pytest.mark.parametrize(
    "predictions, references, error, message",
    [
        (["a"], [["a"], ["b"]], ValueError, "1 predictions and 2 references"),
        ([], [], ValueError, "predictions is empty"),
        (["a"], [[]], ValueError, r"references\[0\] is an empty list"),
        (["a", None], [["a"], ["b"]], TypeError, r"predictions\[1\] is None, expected str"),
        (["a", 2], [["a"], ["b"]], TypeError, r"predictions\[1\] is int 2, expected str"),
        (["a"], [["a", math.nan]], TypeError, r"references\[0\]\[1\] is float nan, expected str"),
        (["a"], [["a", 3]], TypeError, r"references\[0\]\[1\] is int 3, expected str"),
        ([1], [["a"]], TypeError, r"references\[0\]\[0\] is str 'a', expected int"),
        ([1, "a"], [1, 2], TypeError, r"predictions\[1\] is str 'a', expected int"),
        ([True], [1], TypeError, r"predictions\[0\] is bool True"),
        ([1], [[True]], TypeError, r"references\[0\]\[0\] is bool True"),
        (["a"], [[{"answer_id": 1}]], TypeError, r"a dict with the keys \['answer_id'\], expected 'answer'"),
        (
            [["a", "b"]],
            ["a"],
            TypeError,
            r"predictions\[0\] is list .* one answer per question \(.* are the two swapped",
        ),
        ([["a", "b"]], [["a", "c"]], TypeError, r"predictions\[0\] is list .* one answer per question$"),
        (["a"], [[{"answer": None}]], TypeError, r"references\[0\]\[0\] is None"),
        (["a"], [[["a"]]], TypeError, r"references\[0\]\[0\] is list"),
        (["a"], [None], TypeError, r"references\[0\] is None"),
        (["a"], [5.5], TypeError, r"references\[0\] is float 5.5"),
        ("a", ["a"], TypeError, "predictions is str"),
    ],
)
def test_wrong_items_are_named(predictions, references, error, message):
    with pytest.raises(error, match=message):
        sample_statistics(predictions, references)


@pytest.mark.parametrize(
    "options, message",
    [
        ({"normalization": "offical"}, "normalization is 'offical', expected one of"),
        ({"formula": 3}, "formula is 3"),
        ({"preset": "vqa"}, "preset is 'vqa'"),
        ({"measure": "em"}, "measure is 'em'"),
        ({"measure": "anls", "preset": "vqav2"}, "preset is 'vqav2', expected None"),
        ({"ids": True, "normalization": "official"}, "normalization is 'official', expected None"),
        ({"ids": True, "preset": "textvqa"}, "preset is 'textvqa', expected None"),
        ({"ids": True, "measure": "anls"}, "expected str"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        resolve_protocol(**options)


def test_wrong_stem_and_labels():
    with pytest.raises(TypeError, match="stem is str"):
        sample_statistics(["a"], [["a"] * 4], stem="porter")
    with pytest.raises(TypeError, match=r"stem\(.a.\) is NoneType"):
        sample_statistics(["a"], [["a"] * 4], stem=lambda text: None)
    with pytest.raises(TypeError, match=r"answer_types\[1\] is None"):
        check_labels(["other", None], 2, "answer_types")


# The lesson: the fraction of equal pairs; different lengths raise.
def test_lesson_fraction_of_equal_pairs():
    assert vqa_exact_match([1, 2, 3, 4], [1, 2, 0, 4]) == 0.75
    assert vqa_exact_match(["yes", "no"], ["yes", "No"]) == 0.5
    assert vqa_exact_match([7], [7]) == 1.0
    assert vqa_exact_match(["a"], [["b", "a"]]) == 1.0


def test_lesson_length_mismatch_raises():
    with pytest.raises(ValueError, match="2 predictions and 1 references"):
        vqa_exact_match([1, 2], [1])


def test_other_measures():
    assert anls("", [""]) == 1.0
    assert anls("none", ["", "None"]) == 1.0
    assert anls("abcd", ["abxy"]) == 0.5
    assert relaxed_accuracy("2%", ["2"]) == 0 and relaxed_accuracy("1,000", ["1000"]) == 0
    assert relaxed_accuracy("5 ", ["5"]) == relaxed_accuracy("Yes", ["yes"]) == 1
    assert score(sample_statistics(["95"], [["100", "7"]], measure="relaxed_accuracy")) == {"relaxed_accuracy": 1.0}


def slow_distance(first, second):
    row = list(range(len(second) + 1))
    for i, a in enumerate(first, 1):
        above = row
        row = [i]
        for j, b in enumerate(second, 1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (a != b)))
    return row[-1]


@settings(max_examples=300, deadline=None)
@given(st.text("abcß", max_size=80), st.text("abcß", max_size=80))
def test_levenshtein(first, second):
    assert levenshtein(first, second) == slow_distance(first, second)


@pytest.mark.parametrize(
    "prediction, style",
    [
        ("Yes", "case"),
        ("yes.", "punctuation"),
        ("yes!", "punctuation"),
        ("a yes", "article"),
        ("yes<|im_end|>", "special_token"),
        ("yes</s>", "special_token"),
        ("It is yes.", "sentence"),
        ("The answer is Yes", "sentence"),
        ("Yes.", "unanimity"),
        ("The Yes!", "unanimity"),
        ("no", None),
        ("yesterday", None),
        ("", None),
        ("Yes<|im_end|>", None),
    ],
)
def test_style_of_unanimous_questions(prediction, style):
    counts = lost_to_style(number_answers([prediction], [["yes"] * 10]), np.zeros(1), resolve_protocol())
    assert list(counts) == list(STYLES)
    assert {key for key, count in counts.items() if count} == ({style} if style else set())


@pytest.mark.parametrize(
    "options, prediction, answers, style",
    [
        ({"preset": "aokvqa"}, "two", ["2", "2", "3"], "number_word"),
        ({"preset": "gqa"}, "The cat", ["cat"], "article"),
        ({"preset": "gqa"}, "cat", ["Cat"], "case"),
        ({}, "It is a cat", ["cat"] * 5 + ["dog"] * 5, "sentence"),
        ({}, "dog", ["cat"] * 9 + ["cow"], None),
        ({"formula": "leave-one-out"}, "Yes", ["yes"], None),
        ({"preset": "gqa"}, "Cat.", ["cat"], None),
    ],
)
def test_style_under_other_protocols(options, prediction, answers, style):
    counts = lost_to_style(number_answers([prediction], [answers]), np.zeros(1), resolve_protocol(**options))
    assert {key for key, count in counts.items() if count} == ({style} if style else set())


def test_labels_and_samples():
    statistics = {"accuracy": np.array([1.0, 0.3, 0.0])}
    by_label = score_by_label(statistics, ["yes/no", "other", "other"])
    assert by_label == {"other": {"value": 0.15, "count": 2}, "yes/no": {"value": 1.0, "count": 1}}
    assert sample_scores(statistics)["vqa_accuracy"].tolist() == [1.0, 0.3, 0.0]
    assert Scorer(stem=str.lower).settings()[1]["stem"] == "callable:str.lower"
