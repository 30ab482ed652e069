"""Answers as numbers: each distinct text is looked at once, and questions are compared by array operations.

A validation set has two million answers and few distinct ones. What a protocol does to a text (`change`) is done to
each text once; what it does to a question is a reduction over the numbers of its answers.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, count, islice
from typing import NamedTuple

import numpy as np

from .inputs import check_answers, flat_answers, group_answers

# Questions per block: large enough that a text is seldom in many blocks, small enough for a few MB of numbers.
BLOCK = 1 << 16


class Answers(NamedTuple):
    """Predictions and references of questions, as numbers of texts.

    Attributes:
        texts: The texts (or ids).
        predictions: (questions,) number of the predicted text.
        references: (answers,) numbers of the annotators' texts, question after question.
        sizes: (questions,) how many annotators answered, at least 1.
    """

    texts: list
    predictions: np.ndarray
    references: np.ndarray
    sizes: np.ndarray

    @property
    def are_ids(self) -> bool:
        """Whether they are integer ids."""
        return not isinstance(self.texts[0], str)


def answer_blocks(predictions, references, size: int = BLOCK) -> Iterator[Answers]:
    """Checks predictions and references and numbers their texts, a block of questions at a time, to bound the memory.

    Args:
        predictions, references: See `inputs.check_answers`, whose errors are raised.
        size: Questions per block.

    >>> [block.texts for block in answer_blocks(["a", "b"], [["a", "c"], ["b"]], size=1)]
    [['a', 'c'], ['b']]
    """
    predictions, references = group_answers(predictions, references)
    number = _number_texts
    for start in range(0, len(predictions), size):
        block = slice(start, start + size)
        answers = number(predictions[block], references[block])
        if answers is None:
            predictions, references = check_answers(predictions, references)
            number = _number_items
            answers = number(predictions[block], references[block])
        yield answers


def number_answers(predictions, references) -> Answers:
    """The same as one block.

    >>> number_answers(["a", "b"], [["a", "b"], ["b"]]).references.tolist()
    [0, 1, 1]
    """
    predictions, references = group_answers(predictions, references)
    return next(answer_blocks(predictions, references, len(predictions)))


def _number_texts(predictions: list, references: list[list]) -> Answers | None:
    """Numbers items that turn out to be texts.

    Two million are not looked at one by one where the few distinct ones tell their type.
    """
    try:
        answers = _number_items(predictions, references)
    except (KeyError, TypeError):
        return None
    return answers if set(map(type, answers.texts)) == {str} else None


def _number_items(predictions: list, references: list[list]) -> Answers:
    sizes = np.fromiter(map(len, references), np.int32, len(references))
    texts, numbers = _number(chain(predictions, flat_answers(references)), len(sizes) + sizes.sum())
    return Answers(texts, numbers[: len(sizes)], numbers[len(sizes) :], sizes)


def _number(texts: Iterable, count_of_texts: int) -> tuple[list, np.ndarray]:
    numbers = defaultdict(count().__next__)
    of_text = np.fromiter(map(numbers.__getitem__, texts), np.int32, count_of_texts)
    return list(numbers), of_text


def questions(answers: Answers) -> Iterator[tuple[str, list[str]]]:
    """The texts again: prediction and references of each question.

    >>> list(questions(number_answers(["a", "b"], [["a", "b"], ["b"]])))
    [('a', ['a', 'b']), ('b', ['b'])]
    """
    texts = answers.texts
    references = iter(answers.references.tolist())
    for prediction, size in zip(answers.predictions.tolist(), answers.sizes.tolist()):
        yield texts[prediction], [texts[i] for i in islice(references, size)]


def same(answer):
    """Nothing is done.

    >>> same("Yes.")
    'Yes.'
    """
    return answer


def change(
    answers: Answers, prediction_side: Callable[[str], str], answer_side: Callable[[str], str] | None = None
) -> Answers:
    """Changes every text: predictions by one function, the annotators' by another (by default the same).

    >>> list(questions(change(number_answers(["A", "b"], [["a", "B"], ["b"]]), str.lower)))
    [('a', ['a', 'b']), ('b', ['b'])]
    """
    if prediction_side is same and answer_side in (None, same):
        return answers
    if answer_side in (None, prediction_side):
        texts, numbers = _number(map(prediction_side, answers.texts), len(answers.texts))
        return answers._replace(
            texts=texts, predictions=numbers[answers.predictions], references=numbers[answers.references]
        )
    predicted, of_question = _used(answers.predictions, len(answers.texts))
    both = chain((prediction_side(answers.texts[i]) for i in predicted.tolist()), map(answer_side, answers.texts))
    texts, numbers = _number(both, len(predicted) + len(answers.texts))
    return answers._replace(
        texts=texts, predictions=numbers[of_question], references=numbers[len(predicted) :][answers.references]
    )


def change_texts(texts: list[str], *sides: Callable[[str], str]) -> list[np.ndarray]:
    """Numbers what each function makes of each text: one array per function, equal texts have equal numbers.

    >>> change_texts(["a", "B"], str.upper, str.lower)
    [array([0, 1], dtype=int32), array([2, 3], dtype=int32)]
    """
    _, numbers = _number(chain.from_iterable(map(side, texts) for side in sides), len(sides) * len(texts))
    return np.split(numbers, len(sides))


def _used(numbers: np.ndarray, count_of_texts: int) -> tuple[np.ndarray, np.ndarray]:
    """The numbers that occur, ascending, and each number's place among them (as np.unique, without its sort)."""
    is_used = np.zeros(count_of_texts, bool)
    is_used[numbers] = True
    return np.flatnonzero(is_used), (np.cumsum(is_used, dtype=np.int32) - 1)[numbers]


def take(answers: Answers, questions: np.ndarray) -> Answers:
    """Some of the questions, with the texts that they have.

    Args:
        questions: Their numbers, ascending.

    >>> list(questions(take(number_answers(["a", "b"], [["a", "b"], ["b"]]), np.array([1]))))
    [('b', ['b'])]
    """
    is_taken = np.zeros(len(answers.sizes), bool)
    is_taken[questions] = True
    references = answers.references[np.repeat(is_taken, answers.sizes)]
    used, numbers = _used(np.concatenate([answers.predictions[questions], references]), len(answers.texts))
    texts = [answers.texts[i] for i in used.tolist()]
    return Answers(texts, numbers[: len(questions)], numbers[len(questions) :], answers.sizes[questions])


def agrees(answers: Answers) -> np.ndarray:
    """Which annotators gave the predicted answer: (answers,) bool.

    >>> agrees(number_answers(["a", "b"], [["a", "b"], ["b"]]))
    array([ True, False,  True])
    """
    return answers.references == np.repeat(answers.predictions, answers.sizes)


def is_unanimous(answers: Answers) -> np.ndarray:
    """The questions whose annotators all gave the same text: (questions,) bool.

    >>> is_unanimous(number_answers(["a", "b"], [["a", "b"], ["b"]]))
    array([False,  True])
    """
    first = answers.references[_starts(answers.sizes)]
    return per_question(answers.references == np.repeat(first, answers.sizes), answers.sizes) == answers.sizes


def per_question(flags: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """How many of each question's flags are set.

    >>> per_question(np.array([True, False, True]), np.array([2, 1]))
    array([1, 1])
    """
    return np.add.reduceat(flags, _starts(sizes), dtype=np.intp)


def _starts(sizes: np.ndarray) -> np.ndarray:
    return np.cumsum(sizes) - sizes
