"""Input checked item by item, options by kind, and settings as a signature: what all metrics begin with.

`evaluate` looks at the first item only and lets the rest be cast: an int among captions quotes all of them, a NaN
becomes the word "nan". Here every item is looked at before anything is stored or scored. Importing this module
imports neither evaluate nor NumPy.
"""

import numbers
from collections.abc import Iterable, Iterator
from itertools import chain

from .containers import as_item, as_items, as_list, describe, is_container

VERSION = "0.1.0"


def as_lists(predictions, references, item: str = "sample") -> tuple[list, list]:
    """Turns both containers into lists of the same length, at least one long.

    Args:
        predictions, references: The containers, see `containers.as_list`.
        item: What one of them is called in an error.

    Raises:
        ValueError: They differ in number, or there is none.
        TypeError: One is no container.

    >>> as_lists(("a",), ["b"])
    (['a'], ['b'])
    """
    predictions, references = as_items(predictions, "predictions"), as_items(references, "references")
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
    whole = f"one caption per prediction, not a list of them{looks_swapped(references)}"
    return [_ids(item, f"predictions[{i}]", whole) for i, item in enumerate(predictions)], _id_groups(references)


def looks_swapped(references: Iterable) -> str:
    """What to add where predictions are lists: whether the references are single items, as predictions should be.

    >>> looks_swapped(["a cat", "a dog"]), looks_swapped([["a cat"]])
    (' (references are single ones: are the two swapped?)', '')
    """
    single = all(isinstance(item, str | numbers.Integral) or _starts_with_id(item) for item in references)
    return " (references are single ones: are the two swapped?)" if single else ""


def _starts_with_id(item) -> bool:
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], numbers.Integral)


def check_references(references) -> list[list]:
    """Checks references alone, as `check_captions` does, for a table of document frequencies.

    >>> check_references(["a cat", ["a dog", "the dog"]])
    [['a cat'], ['a dog', 'the dog']]
    """
    references = as_items(references, "references")
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
    item = as_item(item, place)
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
        group = as_items(group, f"references[{i}]")
        if group and isinstance(group[0], numbers.Integral):
            group = [group]
        groups.append([_ids(item, f"references[{i}][{j}]") for j, item in enumerate(group)])
    if not all(groups):
        _no_reference(groups)
    return groups


def _ids(item, place: str, whole: str = "") -> list[int]:
    if not is_container(item):
        raise TypeError(f"{place} is {describe(item)}, expected str in all items, or a list of token ids in all items")
    item = as_items(item, place)
    for k, token in enumerate(item):
        if isinstance(token, bool) or not isinstance(token, numbers.Integral):
            caption = whole and isinstance(token, str | list | tuple)
            raise TypeError(f"{place}[{k}] is {describe(token)}, expected {whole if caption else 'int (a token id)'}")
    return [int(token) for token in item]


def not_stored(columns: dict[str, list]) -> str:
    """A sentence on the first item that Arrow cannot hold: an integer beyond 64 bits, half of a surrogate pair.

    >>> not_stored({"predictions": [[1, 2], [3, 1 << 63]]})
    'predictions[1][1] is int 9223372036854775808, expected an integer of 64 bits (-2**63 to 2**63 - 1)'
    """
    found = chain.from_iterable(_not_stored(values, place) for place, values in columns.items())
    return next(found, f"Arrow cannot hold an item of {' or '.join(columns)}, expected text or integers of 64 bits")


def _not_stored(values, place: str) -> Iterator[str]:
    if isinstance(values, list):
        yield from chain.from_iterable(_not_stored(item, f"{place}[{i}]") for i, item in enumerate(values))
    elif isinstance(values, numbers.Integral) and not -(1 << 63) <= values < 1 << 63:
        yield f"{place} is {describe(values)}, expected an integer of 64 bits (-2**63 to 2**63 - 1)"
    elif isinstance(values, str) and any("\ud800" <= letter <= "\udfff" for letter in values):
        yield f"{place} is {describe(values)}, expected Unicode text: it holds half of a surrogate pair"


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


def reference_counts(counts: Iterable[int]) -> str:
    """The number of references per sample: "5", or "1-5" where it varies.

    >>> reference_counts([1, 5, 2]), reference_counts([5, 5])
    ('1-5', '5')
    """
    sizes = set(counts)
    return str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)}-{max(sizes)}"
