"""Named protocols of VQA accuracy: what is normalised before answers are compared, and what the matches are worth."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .normalizer import clean, evalai, official, punctuation_only

NORMALIZATIONS = ("official", "official-2017", "always", "evalai", "prediction-only", "none")
FORMULAS = ("leave-one-out", "min3", "exact")
MEASURES = ("vqa_accuracy", "anls", "relaxed_accuracy")
PRESETS = {
    "vqav2": ("official", "leave-one-out"),
    "textvqa": ("evalai", "leave-one-out"),
    "vizwiz": ("prediction-only", "leave-one-out"),
    "okvqa": ("evalai", "leave-one-out"),
    "aokvqa": ("none", "min3"),
    "gqa": ("none", "exact"),
}

# As many other annotators must agree for a full score.
ENOUGH = 3


class Protocol(NamedTuple):
    """How a score is made.

    Attributes:
        normalization: One of NORMALIZATIONS; None for measures that have their own comparison.
        formula: One of FORMULAS, or None likewise.
        measure: One of MEASURES.
        is_named: Whether the caller named the formula.
    """

    normalization: str | None
    formula: str | None
    measure: str
    is_named: bool


def resolve_protocol(
    normalization: str | None = None,
    formula: str | None = None,
    preset: str | None = None,
    measure: str = "vqa_accuracy",
    ids: bool = False,
) -> Protocol:
    """Finds normalisation and formula: an explicit option wins over the preset, the preset over the default.

    Args:
        normalization: One of NORMALIZATIONS.
        formula: One of FORMULAS.
        preset: One of PRESETS.
        measure: One of MEASURES; "anls" and "relaxed_accuracy" take none of the three options above.
        ids: Answers are integer ids: compared as they are, by default with formula "exact".

    Raises:
        ValueError: A name is unknown, or an option does not go with the measure or with ids.

    >>> resolve_protocol(preset="textvqa")[:2]
    ('evalai', 'leave-one-out')
    """
    _check_name("measure", measure, MEASURES)
    named = {"normalization": normalization, "formula": formula, "preset": preset}
    for (name, value), known in zip(named.items(), (NORMALIZATIONS, FORMULAS, PRESETS)):
        if value is not None:
            _check_name(name, value, known)
            if measure != "vqa_accuracy":
                raise ValueError(f"{name} is {value!r}, expected None: {measure} has its own way to compare")
    if measure != "vqa_accuracy":
        if ids:
            raise ValueError(f"predictions[0] is an int, expected str: {measure} compares texts")
        return Protocol(None, None, measure, True)
    default = PRESETS[preset] if preset else ("none", "exact") if ids else PRESETS["vqav2"]
    protocol = Protocol(normalization or default[0], formula or default[1], measure, formula is not None)
    if ids and protocol.normalization != "none":
        name = "normalization" if normalization else "preset"
        raise ValueError(f"{name} is {named[name]!r}, expected None: integer ids are compared as they are")
    return protocol


def _check_name(option: str, value, known: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{option} is {value!r}, expected one of {list(known)}")


def _same(answer):
    return answer


_SIDES = {
    "always": (official, official),
    "evalai": (evalai, evalai),
    "prediction-only": (official, _same),
    "none": (_same, _same),
}


def sides(normalization: str, answers: list) -> tuple[Callable, Callable]:
    """What is done to the prediction, and to each answer, of a question with these answers.

    The official evaluation leaves both raw where all annotators typed the same (the unanimity rule).

    >>> prediction_side, _ = sides("official", ["yes"] * 10)
    >>> prediction_side("Yes.")
    'Yes.'
    """
    if normalization in _SIDES:
        return _SIDES[normalization]
    if normalization == "official":
        return (clean, clean) if is_unanimous(answers) else (official, official)
    return official, (_same if len(set(answers)) == 1 else punctuation_only)


def is_unanimous(answers: list[str]) -> bool:
    """Tells whether all answers are the same text but for blanks around it.

    >>> is_unanimous(["yes", "yes "]), is_unanimous(["yes", "Yes"])
    (True, False)
    """
    distinct = set(answers)
    return len(distinct) == 1 or len(set(map(clean, distinct))) == 1


def count_matches(normalization: str, prediction, answers: list) -> int:
    """The number of annotators who gave the predicted answer.

    >>> count_matches("always", "Yes.", ["yes", "yes", "no"])
    2
    """
    if normalization == "official":
        return _count_official(prediction, answers)
    prediction_side, answer_side = sides(normalization, answers)
    wanted = prediction_side(prediction)
    if answer_side is _same:
        return answers.count(wanted)
    return sum(answers.count(answer) for answer in set(answers) if answer_side(answer) == wanted)


def _count_official(prediction: str, answers: list[str]) -> int:
    """The same by the official rule, with few look-ups: texts that are equal when cleaned are equal when normalised,
    so that the unanimity rule matters only where all answers are normalised to the prediction."""
    number, first = len(answers), answers[0]
    if answers.count(first) == number:
        return number if prediction == first or clean(prediction) == clean(first) else 0
    wanted, distinct = official(prediction), set(answers)
    alike = [answer for answer in distinct if official(answer) == wanted]
    if len(alike) == len(distinct) and is_unanimous(answers):
        return number if clean(prediction) == clean(first) else 0
    return sum(map(answers.count, alike))


def accuracy_of_matches(matches: np.ndarray, answers: np.ndarray, formula: str) -> np.ndarray:
    """Accuracy of questions with `matches` of `answers` annotators in favour.

    Args:
        matches: Number of annotators who gave the predicted answer.
        answers: Number of annotators.
        formula: "leave-one-out": mean over the annotators of min(matches among the others / 3, 1). "min3":
            min(matches / 3, 1). "exact": 1 for any match.

    >>> accuracy_of_matches(np.arange(6), np.full(6, 10), "leave-one-out").round(3).tolist()
    [0.0, 0.3, 0.6, 0.9, 1.0, 1.0]
    """
    if formula == "exact":
        return (matches > 0).astype(float)
    by_all = np.minimum(matches / ENOUGH, 1.0)
    if formula == "min3":
        return by_all
    # Of those who agree, each is left out once; for the others nothing changes.
    by_the_rest = np.minimum(np.maximum(matches - 1, 0) / ENOUGH, 1.0)
    return (matches * by_the_rest + (answers - matches) * by_all) / answers
