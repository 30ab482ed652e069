"""Why answers scored 0: those that one change of style alone would have lifted above it.

A change is made to prediction and answers as they were given, then the protocol runs as before; the first change that
brings a match gets the count. So the counts are exclusive, and an answer that needs two changes has none, except where
the unanimity rule is all that kept the official normaliser from making them.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

import numpy as np

from .normalizer import ARTICLES, NUMBER_WORDS, official
from .protocols import Protocol, is_unanimous, sides

STYLES = ("case", "punctuation", "article", "number_word", "special_token", "sentence", "unanimity")

# <|im_end|>, </s>, <eos>, <end_of_utterance>, [SEP]: what a decoder leaves in place.
_SPECIAL_TOKEN = re.compile(r"<\|[^<>|]{1,64}\|>|</?[A-Za-z_]{1,64}>|\[(?:SEP|CLS|PAD|EOS|BOS|UNK|INST|/INST)\]")
_LEAST_SENTENCE = 3
_CACHE_SIZE = 1 << 15


def lost_to_style(
    predictions: Sequence[str], references: Sequence[list[str]], accuracy: np.ndarray, protocol: Protocol
) -> dict[str, int]:
    """Counts the predictions with accuracy 0 that one change of style alone would lift above 0.

    Args:
        predictions: One answer per question.
        references: The answers of each question.
        accuracy: What `scoring.sample_statistics` found.
        protocol: How it was found.

    Returns:
        Style -> count, in the order in which the changes are tried.

    >>> from .protocols import resolve_protocol
    >>> lost_to_style(["Yes", "Yes."], [["yes"] * 10] * 2, np.zeros(2), resolve_protocol())["case"]
    1
    """
    counts = dict.fromkeys(STYLES, 0)
    for i in np.flatnonzero(accuracy == 0).tolist():
        answers = references[i]
        # With one annotator leave-one-out gives 0 whatever the style.
        if len(answers) > 1 or protocol.formula != "leave-one-out":
            style = _first_style(predictions[i], answers, protocol.normalization)
            if style is not None:
                counts[style] += 1
    return counts


def _first_style(prediction: str, answers: list[str], normalization: str) -> str | None:
    distinct = set(answers)
    differs = _looks(prediction).isdisjoint
    may_look_alike = not all(map(differs, map(_looks, distinct)))
    if may_look_alike:
        prediction_side, answer_side = sides(normalization, answers)
        for style, change in _CHANGES.items():
            wanted = prediction_side(change(prediction))
            if any(wanted in (answer_side(change(answer)), answer_side(answer)) for answer in distinct):
                return style
    if _lifts_without_special_token(prediction, answers, normalization):
        return "special_token"
    if len(prediction.split()) >= _LEAST_SENTENCE and _is_sentence_around(prediction, distinct):
        return "sentence"
    if may_look_alike and normalization in ("official", "official-2017") and is_unanimous(answers):
        return "unanimity" if official(prediction) in map(official, distinct) else None
    return None


def _lifts_without_special_token(prediction: str, answers: list[str], normalization: str) -> bool:
    if not _SPECIAL_TOKEN.search(prediction):
        return False
    prediction_side, answer_side = sides(normalization, answers)
    return prediction_side(_SPECIAL_TOKEN.sub(" ", prediction).strip()) in map(answer_side, answers)


def _is_sentence_around(prediction: str, answers: Iterable[str]) -> bool:
    """Tells whether the words of an answer stand in a row among more words of the prediction."""
    sentence = official(prediction)
    shorter = (short for short in map(official, answers) if short and short != sentence)
    return any(f" {short} " in f" {sentence} " for short in shorter)


@lru_cache(maxsize=_CACHE_SIZE)
def _without_punctuation(text: str) -> str:
    """Marks and symbols become blanks, apostrophes go."""
    if text.isalnum():
        return text
    kept = (" " if unicodedata.category(character)[0] in "PS" else character for character in _unquoted(text))
    return " ".join("".join(kept).split())


def _unquoted(text: str) -> str:
    return text.replace("'", "").replace("\u2019", "")


def _without_articles(text: str) -> str:
    return " ".join(word for word in text.split() if word.lower() not in ARTICLES)


def _with_digits(text: str) -> str:
    return " ".join(NUMBER_WORDS.get(word.lower(), word) for word in text.split())


_CHANGES: dict[str, Callable[[str], str]] = {
    "case": str.lower,
    "punctuation": _without_punctuation,
    "article": _without_articles,
    "number_word": _with_digits,
}


@lru_cache(maxsize=_CACHE_SIZE)
def _looks(text: str) -> frozenset[str]:
    """What is left of a text after all changes at once, marks read as blanks or as nothing: two texts that differ here
    cannot be made equal by one change. It spares most wrong answers the changes one by one."""
    spaced = _without_punctuation(text)
    joined = "".join(c for c in text if unicodedata.category(c)[0] not in "PS")
    return frozenset(_with_digits(_without_articles(look.lower())).replace(" ", "") for look in (spaced, joined))
