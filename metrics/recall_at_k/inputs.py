"""Checks what is compared, and which items are correct for which."""

import numbers
from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ._shared import as_items, as_list, check_options, describe, is_container
from .arrays import as_matrix, check_numbers, device_of, row_blocks
from .ranks import ItemPairs, Pairs

# Of a gallery; counts up to here are exact in floats, and far from the end of int64.
MOST_ITEMS = 1 << 53


class Embeddings(NamedTuple):
    """The embeddings of both sides, (items, dimensions) each, and the device (a GPU) that they came from, or None."""

    images: object
    texts: object
    device: object = None

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of their similarity matrix."""
        return self.images.shape[0], self.texts.shape[0]

    def num_zero(self) -> int:
        """How many vectors are zero, on both sides together."""
        return num_zero(self.images) + num_zero(self.texts)


def num_zero(vectors) -> int:
    """How many rows hold nothing but zeros."""
    return sum(int((~np.any(vectors[rows], axis=1)).sum()) for rows in row_blocks(vectors))


class Ranked(NamedTuple):
    """What is ranked and what is right, whether it came as a matrix, as embeddings or in batches.

    Attributes:
        items: A similarity matrix, or `Embeddings`; both have a shape (images, texts).
        pairs: The correct pairs.
        ids: Those of images and of texts, where they have some; else they are numbered.
    """

    items: object
    pairs: ItemPairs
    ids: tuple[list, list] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """The numbers of images and texts."""
        return self.items.shape


def check_similarity(matrix):
    """Checks a similarity matrix: numbers, at least one row and column, no NaN. Infinities are numbers like others.

    Raises:
        ValueError, TypeError: See `arrays.as_matrix` and `arrays.check_numbers`.
    """
    matrix = as_matrix(matrix, "predictions")
    check_numbers(matrix, "predictions")
    return matrix


def check_embeddings(images, texts) -> Embeddings:
    """Checks the embeddings of both sides: finite, and of as many dimensions.

    Raises:
        ValueError: They are not.
        TypeError: They hold something else than numbers.

    >>> check_embeddings([[1.0, 2.0]], [[1.0]])
    Traceback (most recent call last):
        ...
    ValueError: image_embeddings have 2 dimensions and text_embeddings 1, expected as many
    """
    sides = {"image_embeddings": images, "text_embeddings": texts}
    device = device_of(images) or device_of(texts)
    for place, side in sides.items():
        if side is None:
            raise ValueError(f"{place} is None, expected the embeddings of both sides")
        sides[place] = as_matrix(side, place)
        check_numbers(sides[place], place, finite=True)
    images, texts = sides.values()
    if images.shape[1] != texts.shape[1]:
        raise ValueError(
            f"image_embeddings have {images.shape[1]} dimensions and text_embeddings {texts.shape[1]}, "
            "expected as many"
        )
    return Embeddings(images, texts, device)


def check_pairs(references, backward_references, rows: int, columns: int, exclude_self: bool = False) -> ItemPairs:
    """Checks the correct pairs of rows as queries, and of columns as queries.

    Args:
        references: The correct columns of each row, see `check_references`.
        backward_references: The correct rows of each column; None where these are the same pairs.
        rows, columns: The numbers of items.
        exclude_self: Whether row and column i are one item, which is no answer to itself.

    Raises:
        ValueError, TypeError: See `check_references` and `own_pairs`.

    >>> check_pairs([[0, 1], [0]], None, 2, 2, exclude_self=True).forward
    Pairs(rows=array([0, 1]), columns=array([1, 0]))
    """
    check_options(flags={"exclude_self": exclude_self})
    own = own_pairs(rows, columns, exclude_self)
    if exclude_self and references is None:
        raise ValueError(
            "references is None and exclude_self True, expected the correct columns of each row: the "
            "diagonal is left out"
        )
    forward = backward = check_references(references, rows, columns)
    if backward_references is not None:
        turned = check_references(backward_references, columns, rows, "backward_references")
        backward = Pairs(turned.columns, turned.rows)
    return without_own(forward, backward, own)


def own_pairs(rows: int, columns: int, exclude_self: bool) -> Pairs:
    """The diagonal where row and column i are one item, else no pair.

    Raises:
        ValueError: They are to be one item, and are not as many.
    """
    if exclude_self and rows != columns:
        raise ValueError(
            f"exclude_self is True and the sides have {rows} and {columns} items, expected the same "
            "items on both sides, in the same order"
        )
    return Pairs(*np.tile(np.arange(rows if exclude_self else 0), (2, 1)))


def without_own(forward: Pairs, backward: Pairs, own: Pairs) -> ItemPairs:
    """Correct pairs without those that are one item; a query that had no other is one without a correct item."""
    if not len(own.rows):
        return ItemPairs(forward, backward, own)
    column_of = np.full(max(own.rows.max(), forward.rows.max(initial=0), backward.rows.max(initial=0)) + 1, -1)
    column_of[own.rows] = own.columns
    kept = [column_of[pairs.rows] != pairs.columns for pairs in (forward, backward)]
    return ItemPairs(*(Pairs(*(each[some] for each in pairs)) for pairs, some in zip((forward, backward), kept)), own)


def check_references(references, rows: int, columns: int, place: str = "references") -> Pairs:
    """Checks which columns are correct for each row.

    Args:
        references: Per row an int or a list of ints, 0 .. columns - 1; an empty list is a row without any. None is the
            diagonal of a square. A column that stands twice in its row counts once.
        rows, columns: The numbers of items.
        place: The name in an error.

    Returns:
        The correct pairs, each once, sorted by row and column.

    Raises:
        ValueError: They are not as many as the rows, one is no column; or there are none and the two sides differ
            in number.
        TypeError: One is something else than an int.

    >>> check_references([[0, 1, 1], 2], 2, 3)
    Pairs(rows=array([0, 0, 1]), columns=array([0, 1, 2]))
    """
    if references is None:
        if rows != columns:
            raise ValueError(
                f"{place} is None and the sides have {rows} and {columns} items, expected the correct "
                "columns of each row (only a square has a diagonal)"
            )
        return Pairs(np.arange(rows), np.arange(rows))
    groups = [_group(group, f"{place}[{i}]") for i, group in enumerate(as_items(references, place))]
    if len(groups) != rows:
        raise ValueError(f"{place} has {len(groups)} items, expected {rows} (one per row)")
    if set(map(type, chain.from_iterable(groups))) - {int}:
        groups = [_ints(group, f"{place}[{i}]") for i, group in enumerate(groups)]
    sizes = np.fromiter(map(len, groups), np.int64, rows)
    row = np.repeat(np.arange(rows), sizes)
    try:
        column = np.fromiter(chain.from_iterable(groups), np.int64, len(row))
    except OverflowError:
        column = np.array([min(max(i, -1), columns) for i in chain.from_iterable(groups)])
    return _sorted(row, column, sizes, columns, place)


def check_k(k) -> list[int]:
    """Checks numbers of items: one or a list of them, at least 1; each is kept once, sorted.

    Raises:
        ValueError: One is no integer, below 1 or beyond `MOST_ITEMS`, or there is none.

    >>> check_k((10, 1, 1)), check_k(3)
    ([1, 10], [3])
    """
    k = tuple(k) if isinstance(k, range) else k
    numbers_ = [k] if isinstance(k, numbers.Number | str | None) else as_list(k, "k")
    if not numbers_:
        raise ValueError("k is empty, expected at least one number of items")
    for number in numbers_:
        check_options(orders={"k": number})
        if number > MOST_ITEMS:
            raise ValueError(f"k is {number}, expected at most 2**53: no gallery is larger")
    return sorted(set(map(int, numbers_)))


def check_choice(value, choices: Sequence[str], name: str) -> None:
    """Refuses what is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(map(str, choices))}")


def _group(group, place: str) -> list:
    if type(group) is list:
        return group
    if isinstance(group, numbers.Integral) and not isinstance(group, bool):
        return [int(group)]
    if not is_container(group):
        raise TypeError(f"{place} is {describe(group)}, expected an int or a list of ints (the correct columns)")
    return as_list(group, place)


def _ints(group: list, place: str) -> list[int]:
    group = as_items(group, place)
    for j, item in enumerate(group):
        if isinstance(item, bool) or not isinstance(item, numbers.Integral):
            raise TypeError(f"{place}[{j}] is {describe(item)}, expected int (a column)")
    return [int(item) for item in group]


def _sorted(row: np.ndarray, column: np.ndarray, sizes: np.ndarray, columns: int, place: str) -> Pairs:
    starts = np.cumsum(sizes) - sizes
    outside = np.flatnonzero((column < 0) | (column >= columns))
    if len(outside):
        i = outside[0]
        raise ValueError(
            f"{place}[{row[i]}][{i - starts[row[i]]}] is out of range, expected a column, 0 to {columns - 1}"
        )
    order = np.lexsort((column, row))
    row, column = row[order], column[order]
    first = np.ones(len(row), bool)
    first[1:] = (np.diff(row) != 0) | (np.diff(column) != 0)
    return Pairs(row[first], column[first])
