"""Input checked item by item, options by kind, and settings as a signature: what all metrics begin with.

`evaluate` looks at the first item only and lets the rest be cast: an int among captions quotes all of them, a NaN
becomes the word "nan". Here every item is looked at before anything is stored or scored. Importing this module
imports neither evaluate nor NumPy.
"""

import numbers
from collections.abc import Iterable
from itertools import chain

from .shown_text import brief

VERSION = "0.1.0"


def as_list(values, place: str) -> list:
    """Turns a container of items into a list: list, tuple, NumPy array, pandas Series, Arrow array, datasets Column.

    Args:
        values: The container.
        place: Its name in an error.

    Raises:
        TypeError: It is a single text, a mapping, a set, a generator or no container at all.

    >>> as_list(("a", "b"), "predictions")
    ['a', 'b']
    """
    if isinstance(values, list):
        return values
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    # A datasets Column is read whole by a full slice.
    if hasattr(values, "source") and hasattr(values, "column_name"):
        values = values[:]
    if isinstance(values, list | tuple):
        return list(values)
    raise TypeError(f"{place} is {describe(values)}, expected a list (or tuple, array, Series, Column) of items")


def describe(value) -> str:
    """Names what was found, shortly.

    >>> describe(5), describe(None), describe(float("nan"))
    ('int 5', 'None', 'float nan')
    """
    return "None" if value is None else f"{type(value).__name__} {brief(value, 40)}"


def as_lists(predictions, references, item: str = "sample") -> tuple[list, list]:
    """Turns both containers into lists of the same length, at least one long.

    Args:
        predictions, references: The containers, see `as_list`.
        item: What one of them is called in an error.

    Raises:
        ValueError: They differ in number, or there is none.
        TypeError: One is no container.

    >>> as_lists(("a",), ["b"])
    (['a'], ['b'])
    """
    predictions, references = as_list(predictions, "predictions"), as_list(references, "references")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions and {len(references)} references, expected as many of both")
    if not predictions:
        raise ValueError(f"predictions is empty, expected at least one {item}")
    return predictions, references


def check_captions(predictions, references) -> tuple[list, list[list]]:
    """Checks candidates and references, texts or token ids.

    Args:
        predictions: One text, or one list of token ids, per sample.
        references: Per sample, one reference or a list of them. A list of texts is always a list of captions; among
            token ids a flat list of ints is one reference.

    Returns:
        Predictions as a list of str or of lists of int; references as a list of lists of them.

    Raises:
        ValueError: There is no sample, the two differ in number, or a sample has no reference.
        TypeError: An item is of another type (the message names it), or texts and ids are mixed.

    >>> check_captions(["a cat"], ["the cat"])
    (['a cat'], [['the cat']])
    """
    predictions, references = as_lists(predictions, references)
    if isinstance(predictions[0], str):
        return _texts(predictions, "predictions[{}]"), _text_groups(references)
    return [_ids(item, f"predictions[{i}]") for i, item in enumerate(predictions)], _id_groups(references)


def check_references(references) -> list[list]:
    """Checks references alone, as `check_captions` does, for a table of document frequencies.

    >>> check_references(["a cat", ["a dog", "the dog"]])
    [['a cat'], ['a dog', 'the dog']]
    """
    references = as_list(references, "references")
    if not references:
        raise ValueError("references is empty, expected at least one image")
    first = references[0]
    if not isinstance(first, str):
        first = next(iter(as_list(first, "references[0]")), None)
    return _text_groups(references) if isinstance(first, str) else _id_groups(references)


def _texts(items: list, place: str) -> list[str]:
    # The set of types is found at C speed; only where it is not {str} does a Python loop look for the place.
    if set(map(type, items)) == {str}:
        return items
    return [_text(item, place.format(i)) for i, item in enumerate(items)]


def _text(item, place: str) -> str:
    if not isinstance(item, str):
        raise TypeError(f"{place} is {describe(item)}, expected str")
    return str(item)


def _text_groups(references: list) -> list[list[str]]:
    groups = [
        group if type(group) is list else [group] if isinstance(group, str) else as_list(group, f"references[{i}]")
        for i, group in enumerate(references)
    ]
    if not all(groups):
        _no_reference(groups)
    if set(map(type, chain.from_iterable(groups))) == {str}:
        return groups
    return [_texts(group, f"references[{i}][{{}}]") for i, group in enumerate(groups)]


def _no_reference(groups: list) -> None:
    place = next(i for i, group in enumerate(groups) if not group)
    raise ValueError(f"references[{place}] is an empty list, expected at least one reference")


def _id_groups(references: list) -> list[list[list[int]]]:
    groups = []
    for i, group in enumerate(references):
        group = as_list(group, f"references[{i}]")
        if group and isinstance(group[0], numbers.Integral):
            group = [group]
        groups.append([_ids(item, f"references[{i}][{j}]") for j, item in enumerate(group)])
    if not all(groups):
        _no_reference(groups)
    return groups


def _ids(item, place: str) -> list[int]:
    if isinstance(item, str) or not (isinstance(item, list | tuple) or hasattr(item, "tolist")):
        raise TypeError(f"{place} is {describe(item)}, expected str in all items, or a list of token ids in all items")
    item = as_list(item, place)
    for k, token in enumerate(item):
        if isinstance(token, bool) or not isinstance(token, numbers.Integral):
            raise TypeError(f"{place}[{k}] is {describe(token)}, expected int (a token id)")
    return [int(token) for token in item]


def check_options(orders: dict | None = None, positive: dict | None = None, flags: dict | None = None) -> None:
    """Checks options by kind, each given as name -> value.

    Args:
        orders: Integers of at least 1.
        positive: Finite numbers above 0.
        flags: True or False.

    Raises:
        ValueError: One is of another kind; the message names it.

    >>> check_options(orders={"n": 0})
    Traceback (most recent call last):
        ...
    ValueError: n is 0, expected an integer of at least 1
    """
    for name, value in (orders or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} is {value!r}, expected an integer of at least 1")
    for name, value in (positive or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}, expected a positive number")
    for name, value in (flags or {}).items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}, expected True or False")


def signature(name: str, settings: dict) -> str:
    """Joins settings to one line that says how a score was made; None values are left out.

    >>> signature("cider_d", {"n": 4, "stem": False, "refs": None})
    'cider_d|n:4|stem:no|v:0.1.0'
    """
    shown = {
        key: {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        for key, value in {**settings, "v": VERSION}.items()
    }
    return "|".join([name, *(f"{key}:{value}" for key, value in shown.items() if value is not None)])


def reference_counts(references: Iterable) -> str:
    """The number of references per sample: "5", or "1-5" where it varies."""
    sizes = set(map(len, references))
    return str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)}-{max(sizes)}"
