"""Checks predictions and answers of questions: strings or integer ids, annotation dicts unpacked, every item named."""

import numbers
from collections.abc import Sequence
from itertools import chain
from operator import itemgetter

from .base import as_list, as_lists, describe


def check_answers(predictions, references) -> tuple[list, list[list]]:
    """Checks predictions and answers. What was passed is not changed.

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
    predictions, references = as_lists(predictions, references, "question")
    kind = int if _is_id(predictions[0]) else str
    predictions = _items(predictions, kind, "predictions[{}]")
    return predictions, _groups(references, kind)


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
    labels = as_list(labels, place)
    if len(labels) != count:
        raise ValueError(f"{place} has {len(labels)} items, expected {count} (one per prediction)")
    return _items(labels, str, place + "[{}]")


def _is_id(item) -> bool:
    return isinstance(item, numbers.Integral) and not isinstance(item, bool)


def _items(items: Sequence, kind: type, place: str) -> list:
    # The set of types is found at C speed; only where it is not {kind} does a Python loop look for the place.
    if set(map(type, items)) == {kind}:
        return list(items)
    return [_item(item, kind, place.format(i)) for i, item in enumerate(items)]


def _item(item, kind: type, place: str):
    if isinstance(item, str) if kind is str else _is_id(item):
        return kind(item)
    mixed = " (answers are all strings or all ids)" if _is_id(item) or isinstance(item, str) else ""
    raise TypeError(f"{place} is {describe(item)}, expected {kind.__name__}{mixed}")


def _groups(references: list, kind: type) -> list[list]:
    groups = [_group(group, f"references[{i}]") for i, group in enumerate(references)]
    if not all(groups):
        place = next(i for i, group in enumerate(groups) if not group)
        raise ValueError(f"references[{place}] is an empty list, expected at least one answer")
    kinds = set(map(type, chain.from_iterable(groups)))
    if kinds == {dict}:
        try:
            groups = [list(map(itemgetter("answer"), group)) for group in groups]
            kinds = set(map(type, chain.from_iterable(groups)))
        except KeyError:
            # The slow way names the place.
            pass
    if kinds == {kind}:
        return groups
    return [_items(_answers(group, i), kind, f"references[{i}][{{}}]") for i, group in enumerate(groups)]


def _group(group, place: str) -> list:
    if type(group) is list:
        return group
    if isinstance(group, str | dict) or _is_id(group):
        return [group]
    return as_list(group, place)


def _answers(group: list, number: int) -> list:
    """Answers of one question, taken out of their annotation dicts where they are in some."""
    if not any(isinstance(item, dict) for item in group):
        return group
    for i, item in enumerate(group):
        if isinstance(item, dict) and "answer" not in item:
            raise TypeError(f"references[{number}][{i}] is {describe(item)}, expected a dict with the key 'answer'")
    return [item["answer"] if isinstance(item, dict) else item for item in group]
