"""Named protocols of VQA accuracy: what is normalised before answers are compared, and what the matches are worth."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from .answers import Answers, change, is_unanimous, same
from .normalizer import clean, evalai, official, punctuation_only, stemmed_words

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
        stem: True maps the words of both sides to Porter stems once they are normalised; a callable changes
            predictions before that; False does neither.
    """

    normalization: str | None
    formula: str | None
    measure: str
    is_named: bool
    stem: bool | Callable[[str], str] = False


def resolve_protocol(
    normalization: str | None = None,
    formula: str | None = None,
    preset: str | None = None,
    measure: str = "vqa_accuracy",
    ids: bool = False,
    stem: bool | Callable[[str], str] | None = False,
) -> Protocol:
    """Finds normalisation and formula: an explicit option wins over the preset, the preset over the default.

    Args:
        normalization: One of NORMALIZATIONS.
        formula: One of FORMULAS.
        preset: One of PRESETS.
        measure: One of MEASURES; "anls" and "relaxed_accuracy" take none of the three options above.
        ids: Answers are integer ids: compared as they are, by default with formula "exact".
        stem: True, a callable, or neither (False, None); see `Protocol`.

    Raises:
        ValueError: A name is unknown, or an option does not go with the measure or with ids.
        TypeError: `stem` is something else.

    >>> resolve_protocol(preset="textvqa")[:2]
    ('evalai', 'leave-one-out')
    """
    _check_name("measure", measure, MEASURES)
    stem = _checked_stem(stem, measure, ids)
    named = {"normalization": normalization, "formula": formula, "preset": preset}
    for (name, value), known in zip(named.items(), (NORMALIZATIONS, FORMULAS, PRESETS)):
        if value is not None:
            _check_name(name, value, known)
            if measure != "vqa_accuracy":
                raise ValueError(f"{name} is {value!r}, expected None: {measure} has its own way to compare")
    if measure != "vqa_accuracy":
        if ids:
            raise ValueError(f"predictions[0] is an int, expected str: {measure} compares texts")
        return Protocol(None, None, measure, True, stem)
    default = PRESETS[preset] if preset else ("none", "exact") if ids else PRESETS["vqav2"]
    protocol = Protocol(normalization or default[0], formula or default[1], measure, formula is not None, stem)
    if ids and protocol.normalization != "none":
        name = "normalization" if normalization else "preset"
        raise ValueError(f"{name} is {named[name]!r}, expected None: integer ids are compared as they are")
    return protocol


def _check_name(option: str, value, known: Iterable[str]) -> None:
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{option} is {value!r}, expected one of {list(known)}")


def _checked_stem(stem, measure: str, ids: bool) -> bool | Callable[[str], str]:
    if stem is not None and not isinstance(stem, bool) and not callable(stem):
        raise TypeError(f"stem is {type(stem).__name__}, expected a bool or a callable str -> str")
    if stem and ids:
        raise ValueError("stem is set, expected False: integer ids have no stem")
    if stem is True and measure != "vqa_accuracy":
        raise ValueError(f"stem is True, expected False or a callable: {measure} has its own way to compare")
    return stem or False


# What is done to the prediction, and to the annotators' answers.
_SIDES = {
    "always": (official, official),
    "evalai": (evalai, evalai),
    "prediction-only": (official, same),
    "none": (same, same),
}
# The official evaluation leaves a question raw where all annotators typed the same (the unanimity rule): what is done
# to all texts first, then the sides of such questions, and the sides of the others.
_RULES = {
    "official": (clean, (same, same), (official, official)),
    "official-2017": (same, (official, same), (official, punctuation_only)),
}


def unanimous(answers: Answers, normalization: str) -> np.ndarray:
    """The questions that the unanimity rule leaves raw: (questions,) bool, all False where there is no such rule.

    >>> from .answers import number_answers
    >>> unanimous(number_answers(["Yes.", "Yes."], [["yes", "no"], ["yes", "yes "]]), "official")
    array([False,  True])
    """
    if normalization not in _RULES:
        return np.zeros(len(answers.sizes), bool)
    return is_unanimous(change(answers, _RULES[normalization][0]))


def normalize(answers: Answers, normalization: str, is_raw: np.ndarray | None = None) -> Answers:
    """Predictions and references as they are compared.

    Args:
        answers: As they were given.
        normalization: One of NORMALIZATIONS.
        is_raw: What `unanimous` found, where it is known.

    >>> from .answers import number_answers
    >>> compared = normalize(number_answers(["Yes.", "Yes."], [["yes", "no"], ["yes", "yes"]]), "official")
    >>> [compared.texts[i] for i in compared.predictions]
    ['yes', 'Yes.']
    """
    if normalization in _SIDES:
        return change(answers, *_SIDES[normalization])
    first, raw_sides, other_sides = _RULES[normalization]
    answers = change(answers, first)
    if is_raw is None:
        is_raw = is_unanimous(answers)
    return _choose(is_raw, change(answers, *raw_sides), change(answers, *other_sides))


def compared(answers: Answers, protocol: Protocol, is_raw: np.ndarray | None = None) -> Answers:
    """Predictions and references as a protocol compares them: normalised, and then stemmed where it says so.

    Both sides are stemmed, so that answers which were equal stay equal: no accuracy falls. A callable's work is not
    done here, see `scoring.stemmed`.

    >>> from .answers import number_answers
    >>> protocol = resolve_protocol(preset="okvqa", stem=True)
    >>> compared(number_answers(["Riding horses."], [["ride horse"]]), protocol).texts
    ['ride hors']
    """
    if protocol.normalization:
        answers = normalize(answers, protocol.normalization, is_raw)
    return stems(answers, protocol)


def stems(answers: Answers, protocol: Protocol) -> Answers:
    """Both sides as Porter stems, where the protocol compares stems.

    >>> from .answers import number_answers
    >>> stems(number_answers(["horses"], [["horse"]]), resolve_protocol(stem=True)).texts
    ['hors']
    """
    return change(answers, stemmed_words) if protocol.stem is True else answers


def _choose(is_first: np.ndarray, first: Answers, second: Answers) -> Answers:
    """Questions of one table where the flag is set, of the other elsewhere; texts of the two never meet."""
    shift = len(first.texts)
    references = np.where(np.repeat(is_first, first.sizes), first.references, second.references + shift)
    predictions = np.where(is_first, first.predictions, second.predictions + shift)
    return Answers(first.texts + second.texts, predictions, references, first.sizes)


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
