"""Porter stems of both sides, against the definition; what a callable does; OK-VQA's answers, which are stems."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from metrics.vqa_accuracy.answers import number_answers
from metrics.vqa_accuracy.diagnosis import lost_to_style
from metrics.vqa_accuracy.normalizer import evalai, official, stemmed_words
from metrics.vqa_accuracy.protocols import NORMALIZATIONS, resolve_protocol
from metrics.vqa_accuracy.scoring import Scorer, evaluate_answers, sample_statistics


def accuracy(prediction, answers, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        statistics = sample_statistics([prediction], [answers], **{"formula": "leave-one-out", **options})
    return float(statistics["accuracy"][0])


def stemmed(text):
    stemmer, words = PorterStemmer(), []
    for word in text.split(" "):
        words.append(stemmer.stem(word, to_lowercase=False))
    return " ".join(words)


def normalised(prediction, answers, normalization):
    """One question, straight from the card's table; official-2017 is left out."""
    if normalization == "official":
        prediction, answers = prediction.strip(), [answer.strip() for answer in answers]
        both = (lambda text: text) if len(set(answers)) == 1 else official
        return both(prediction), [both(answer) for answer in answers]
    if normalization == "prediction-only":
        return official(prediction), answers
    both = {"always": official, "evalai": evalai, "none": lambda text: text}[normalization]
    return both(prediction), [both(answer) for answer in answers]


def straight(prediction, answers, normalization):
    """Leaves each annotator out in turn and counts equal stems among the others."""
    prediction, answers = normalised(prediction, answers, normalization)
    total = 0
    for left_out in range(len(answers)):
        matches = 0
        for place, answer in enumerate(answers):
            matches += place != left_out and stemmed(answer) == stemmed(prediction)
        total += min(1, matches / 3)
    return total / len(answers)


TEXTS = st.lists(
    st.sampled_from(
        ["riding", "ride", "Rides.", "horses", "a horse", "pony", "ponies", "two", "tennis", "happy", "happiness", ""]
    ),
    min_size=1,
    max_size=3,
).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=10), st.sampled_from(sorted({*NORMALIZATIONS} - {"official-2017"})))
def test_stems_equal_the_definition_and_lower_no_accuracy(prediction, answers, normalization):
    found = accuracy(prediction, answers, normalization=normalization, stem=True)
    assert found == pytest.approx(straight(prediction, answers, normalization), abs=1e-12)
    assert found >= accuracy(prediction, answers, normalization=normalization)


# What OK-VQA v1.1 has for these raw answers: stems, but words where a stem is none.
@pytest.mark.parametrize(
    "raw, answer, without",
    [
        ("riding", "ride", 0),
        ("surfing", "surf", 0),
        ("morning", "morn", 0),
        ("firefighters", "firefight", 0),
        ("electronics", "electron", 0),
        ("pony tail", "pony tail", 1),
        ("Tennis.", "tennis", 1),
        ("police", "police", 1),
        ("happy", "happy", 1),
        ("strawberries", "strawberry", 0),
        ("vacationing", "vacate", 0),
    ],
)
def test_ok_vqa(raw, answer, without):
    answers = [answer] * 4 + ["other"] * 6
    assert accuracy(raw, answers, preset="okvqa") == without
    assert accuracy(raw, answers, preset="okvqa", stem=True) == 1


@pytest.mark.parametrize("raw, answer", [("men's", "men"), ("leaves", "leaf"), ("purring", "pure")])
def test_ok_vqa_has_answers_that_stems_do_not_reach(raw, answer):
    assert accuracy(raw, [answer] * 10, preset="okvqa", stem=True) == 0


def test_stems_of_predictions_alone_lose_what_was_right():
    alone = lambda text: stemmed(official(text))  # noqa: E731
    assert accuracy("riding", ["ride"] * 10, preset="okvqa", stem=alone) == 1
    assert accuracy("happy", ["happy"] * 10, preset="okvqa", stem=alone) == 0


def test_only_words_change():
    assert stemmed_words("Riding  RIDING\n") == "Ride  RIDING\n"
    assert stemmed_words("") == ""
    # The unanimity rule stays: nothing is normalised, but stems are compared.
    assert accuracy("riding", ["ride"] * 10, stem=True) == 1
    assert accuracy("Riding", ["ride"] * 10, stem=True) == accuracy("riding.", ["ride"] * 10, stem=True) == 0


def test_compared_texts_and_signature():
    protocol = resolve_protocol(preset="okvqa", stem=True)
    assert evaluate_answers(["Riding!"], [["ride"] * 10], protocol, with_compared=True).compared == ["ride"]
    assert Scorer(stem=True).settings()[1]["stem"] is True
    assert Scorer(stem=None).settings()[1]["stem"] is Scorer(stem=False).settings()[1]["stem"] is False
    assert accuracy("riding", ["ride"] * 10, stem=None) == accuracy("riding", ["ride"] * 10, stem=False) == 0


@pytest.mark.parametrize(
    "options, prediction, answers, style",
    [
        ({}, "Horses", ["horse"] * 10, "case"),
        ({}, "Riding.", ["ride"] * 10, "unanimity"),
        ({"preset": "okvqa"}, "he is riding horses", ["ride horse"] * 10, "sentence"),
        ({"preset": "okvqa"}, "riding</s>", ["ride"] * 10, "special_token"),
        ({}, "dog", ["cat"] * 10, None),
        ({"preset": "aokvqa"}, "the horses", ["horse"] * 3, "article"),
        ({}, "horses!", ["horse"] * 10, "punctuation"),
    ],
)
def test_styles_of_stems(options, prediction, answers, style):
    protocol = resolve_protocol(**options, stem=True)
    counts = lost_to_style(number_answers([prediction], [answers]), np.zeros(1), protocol)
    assert {key for key, count in counts.items() if count} == ({style} if style else set())


@pytest.mark.parametrize(
    "options, error, message",
    [
        ({"stem": "porter"}, TypeError, "stem is str, expected a bool or a callable"),
        ({"stem": 1}, TypeError, "stem is int, expected a bool"),
        ({"stem": True, "ids": True}, ValueError, "stem is set, expected False: integer ids have no stem"),
        ({"stem": str.lower, "ids": True}, ValueError, "integer ids have no stem"),
        ({"stem": True, "measure": "anls"}, ValueError, "stem is True, expected False or a callable: anls has"),
        ({"stem": True, "measure": "relaxed_accuracy"}, ValueError, "relaxed_accuracy has its own way to compare"),
    ],
)
def test_stems_that_cannot_be(options, error, message):
    with pytest.raises(error, match=message):
        resolve_protocol(**options)


def test_a_callable_goes_with_every_measure():
    assert sample_statistics(["yes\n"], ["yes"], measure="relaxed_accuracy", stem=str.strip)["relaxed_accuracy"] == [1]
