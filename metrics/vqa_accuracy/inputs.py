"""Checks predictions and answers of questions: strings or integer ids, annotation dicts unpacked, every item named."""

import numbers
from collections.abc import Iterator, Sequence
from itertools import chain
from operator import itemgetter

from ._shared import as_item, as_items, as_list, as_lists, describe, looks_swapped


def group_answers(predictions, references) -> tuple[list, list[list]]:
    """Turns what was passed into lists, the answers of each question into a list; items are not looked at.

    Raises:
        ValueError: There is no question, the two differ in number, or a question has no answer.
        TypeError: Something is no container.

    >>> group_answers(("yes",), ["no"])
    (['yes'], [['no']])
    """
    predictions, references = as_lists(predictions, references, "question")
    if set(map(type, references)) != {list}:
        references = [_group(group, f"references[{i}]") for i, group in enumerate(references)]
    if not all(references):
        place = next(i for i, group in enumerate(references) if not group)
        raise ValueError(f"references[{place}] is an empty list, expected at least one answer")
    return predictions, references


def check_answers(predictions, references) -> tuple[list, list[list]]:
    """Checks predictions and answers, every item. What was passed is not changed.

    Args:
        predictions: One answer per question, str or int (an answer's id).
        references: The answers of each question: a list of any length, or one answer. An answer is a str, an
            annotation dict {answer, answer_confidence, answer_id}, or an int where predictions are ints.

    Returns:
        Predictions as a list of str or of int, references as a list of lists of them.

    Raises:
        ValueError: There is no question, the two differ in number, or a question has no answer.
        TypeError: An item is of another type (the message names it), or strings and ints are mixed.

    >>> check_answers(["yes"], [[{"answer": "yes", "answer_confidence": "maybe", "answer_id": 1}]])
    (['yes'], [['yes']])
    >>> check_answers([3, 4], [3, [4, 5]])
    ([3, 4], [[3], [4, 5]])
    """
    predictions, references = group_answers(predictions, references)
    kind = int if is_id(predictions[0]) else str
    if isinstance(predictions[0], list | tuple):
        single = [group[0] if len(group) == 1 else group for group in references]
        raise TypeError(
            f"predictions[0] is {describe(predictions[0])}, expected str or int, one answer per "
            f"question{looks_swapped(single)}"
        )
    predictions = _items(predictions, kind, "predictions[{}]")
    groups = [_items(_answers(group, i), kind, f"references[{i}][{{}}]") for i, group in enumerate(references)]
    return predictions, groups


def flat_answers(groups: list[list]) -> Iterator:
    """The answers of all questions in a row, taken out of their annotation dicts where all are in some.

    Raises:
        KeyError, TypeError: Not all are in such dicts.

    >>> list(flat_answers([[{"answer": "yes"}, {"answer": "no"}], [{"answer": "two"}]]))
    ['yes', 'no', 'two']
    """
    answers = chain.from_iterable(groups)
    return map(itemgetter("answer"), answers) if isinstance(groups[0][0], dict) else answers


def check_labels(labels, count: int, place: str) -> list[str] | None:
    """Checks the optional question or answer types: one str per question.

    Raises:
        ValueError: They are not as many as the questions.
        TypeError: One is not a str.

    >>> check_labels(["yes/no"], 2, "answer_types")
    Traceback (most recent call last):
        ...
    ValueError: answer_types has 1 items, expected 2 (one per prediction)
    """
    if labels is None:
        return None
    labels = as_items(labels, place)
    if len(labels) != count:
        raise ValueError(f"{place} has {len(labels)} items, expected {count} (one per prediction)")
    return _items(labels, str, place + "[{}]")


def is_id(item) -> bool:
    """Whether an item is an integer, and not a bool.

    >>> is_id(3), is_id(True), is_id("3")
    (True, False, False)
    """
    return isinstance(item, numbers.Integral) and not isinstance(item, bool)


def _items(items: Sequence, kind: type, place: str) -> list:
    # The set of types is found at C speed; only where it is not {kind} does a Python loop look for the place.
    if set(map(type, items)) == {kind}:
        return list(items)
    return [_item(item, kind, place.format(i)) for i, item in enumerate(items)]


def _item(item, kind: type, place: str):
    item = as_item(item, place)
    if isinstance(item, str) if kind is str else is_id(item):
        return kind(item)
    mixed = " (answers are all strings or all ids)" if is_id(item) or isinstance(item, str) else ""
    raise TypeError(f"{place} is {describe(item)}, expected {kind.__name__}{mixed}")


def _group(group, place: str) -> list:
    if type(group) is list:
        return group
    if isinstance(group, str | dict) or is_id(group):
        return [group]
    return as_list(group, place)


def _answers(group: list, number: int) -> list:
    """Answers of one question, taken out of their annotation dicts where they are in some."""
    for i, item in enumerate(group):
        if isinstance(item, dict) and "answer" not in item:
            raise TypeError(
                f"references[{number}][{i}] is a dict with the keys {list(item)}, expected 'answer' among them"
            )
    return [item["answer"] if isinstance(item, dict) else item for item in group]
