"""Why answers scored 0: those that one change of style alone would have lifted above it.

A change is made to prediction and answers as they were given, then the protocol runs as before; the first change that
brings a match gets the count. So the counts are exclusive, and an answer that needs two changes has none, except where
the unanimity rule is all that kept the official normaliser from making them.
"""

import re
import unicodedata
from collections.abc import Callable
from itertools import product

import numpy as np

from .answers import Answers, agrees, change, change_texts, per_question, questions, same, take
from .normalizer import ARTICLES, NUMBER_WORDS, official, stemmed_words
from .protocols import Protocol, compared, stems, unanimous

# <|im_end|>, </s>, <eos>, <end_of_utterance>, [SEP]: what a decoder leaves in place.
_SPECIAL_TOKEN = re.compile(r"<\|[^<>|]{1,64}\|>|</?[A-Za-z_]{1,64}>|\[(?:SEP|CLS|PAD|EOS|BOS|UNK|INST|/INST)\]")
_LEAST_SENTENCE = 3


def lost_to_style(answers: Answers, accuracy: np.ndarray, protocol: Protocol) -> dict[str, int]:
    """Counts the predictions with accuracy 0 that one change of style alone would lift above 0.

    Args:
        answers: Predictions and references, numbered.
        accuracy: (questions,) of `Scorer.statistics`.
        protocol: How it was found.

    Returns:
        Style -> count, in the order in which the changes are tried.

    >>> from .answers import number_answers
    >>> from .protocols import resolve_protocol
    >>> answers = number_answers(["Yes", "Yes."], [["yes"] * 10] * 2)
    >>> lost_to_style(answers, np.zeros(2), resolve_protocol())["case"]
    1
    """
    return {style: len(found) for style, found in questions_lost_to_style(answers, accuracy, protocol).items()}


def questions_lost_to_style(answers: Answers, accuracy: np.ndarray, protocol: Protocol) -> dict[str, np.ndarray]:
    """The questions that `lost_to_style` counts: style -> their numbers."""
    # With one annotator leave-one-out gives 0 whatever the style.
    can_score = (answers.sizes > 1) | (protocol.formula != "leave-one-out")
    numbers = np.flatnonzero((accuracy == 0) & can_score)
    zeros = take(answers, numbers)
    near = np.flatnonzero(_look_alike(zeros, protocol))
    is_raw = unanimous(zeros, protocol.normalization)
    left = np.arange(len(zeros.sizes))
    lost = {}
    for style, (lifts, needs_near) in _LIFTS.items():
        tried = np.intersect1d(left, near, assume_unique=True) if needs_near else left
        lifted = tried[lifts(take(zeros, tried), is_raw[tried], protocol)]
        lost[style] = numbers[lifted]
        left = np.setdiff1d(left, lifted, assume_unique=True)
    return lost


def _has_match(answers: Answers) -> np.ndarray:
    return per_question(agrees(answers), answers.sizes) > 0


def _look_alike(answers: Answers, protocol: Protocol) -> np.ndarray:
    """The questions whose prediction and some answer are the same after all changes at once.

    Marks are read as blanks, or as nothing. Only these can be made equal by one change, which spares most wrong
    answers the changes one by one.
    """
    last = stemmed_words if protocol.stem is True else same
    sides = (lambda text, look=look: last(look(text)).replace(" ", "") for look in (_spaced_look, _joined_look))
    spaced, joined = change_texts(answers.texts, *sides)
    found = np.zeros(len(answers.sizes), bool)
    for predicted, given in product((spaced, joined), repeat=2):
        looks = answers._replace(predictions=predicted[answers.predictions], references=given[answers.references])
        found |= _has_match(looks)
    return found


def _lifted_by(edit: Callable[[str], str]) -> Callable:
    """Tells which questions an edit brings a match, made to the prediction, or to the annotators' answers too."""

    def lifts(answers: Answers, is_raw: np.ndarray, protocol: Protocol) -> np.ndarray:
        edited = change(answers, edit, same), change(answers, edit)
        return np.any([_has_match(compared(item, protocol, is_raw)) for item in edited], axis=0)

    return lifts


def _lifted_without_token(answers: Answers, is_raw: np.ndarray, protocol: Protocol) -> np.ndarray:
    edited = change(answers, lambda text: _SPECIAL_TOKEN.sub(" ", text).strip(), same)
    return _has_match(compared(edited, protocol, is_raw))


def _is_sentence_around(answers: Answers, is_raw: np.ndarray, protocol: Protocol) -> np.ndarray:
    """Tells where the words of an answer stand in a row among more words of the prediction."""
    is_long = np.array([len(text.split()) >= _LEAST_SENTENCE for text in answers.texts], bool)
    found = is_long[answers.predictions]
    candidates = np.flatnonzero(found)
    words = stems(change(take(answers, candidates), official), protocol)
    for i, (sentence, shorter) in zip(candidates, questions(words)):
        found[i] = any(f" {short} " in f" {sentence} " for short in set(shorter) - {"", sentence})
    return found


def _is_raw_alone(answers: Answers, is_raw: np.ndarray, protocol: Protocol) -> np.ndarray:
    return is_raw & _has_match(stems(change(answers, official), protocol))


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


def _spaced_look(text: str) -> str:
    return _with_digits(_without_articles(_without_punctuation(text).lower()))


def _joined_look(text: str) -> str:
    joined = text if text.isalnum() else "".join(c for c in text if unicodedata.category(c)[0] not in "PS")
    return _with_digits(_without_articles(joined.lower()))


# Style -> which questions it alone has cost their match, and whether prediction and answer must look alike for it.
_LIFTS = {
    "case": (_lifted_by(str.lower), True),
    "punctuation": (_lifted_by(_without_punctuation), True),
    "article": (_lifted_by(_without_articles), True),
    "number_word": (_lifted_by(_with_digits), True),
    "special_token": (_lifted_without_token, False),
    "sentence": (_is_sentence_around, False),
    "unanimity": (_is_raw_alone, True),
}
STYLES = tuple(_LIFTS)
