"""Checks what is compared, and which items are correct for which."""

import numbers
from itertools import chain
from typing import NamedTuple

import numpy as np

from ._shared import as_items, as_list, describe, is_container
from .arrays import as_matrix, check_numbers, device_of, row_blocks
from .ranks import Pairs


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
        return sum(
            int((~np.any(side[rows], axis=1)).sum()) for side in (self.images, self.texts) for rows in row_blocks(side)
        )


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
        raise ValueError(f"image_embeddings have {images.shape[1]} dimensions and text_embeddings {texts.shape[1]}, "
                         "expected as many")  # fmt: skip
    return Embeddings(images, texts, device)


def check_pairs(references, backward_references, rows: int, columns: int) -> tuple[Pairs, Pairs]:
    """Checks the correct pairs of rows as queries, and of columns as queries.

    Args:
        references: The correct columns of each row, see `check_references`.
        backward_references: The correct rows of each column; None where these are the same pairs.
    """
    forward = check_references(references, rows, columns)
    if backward_references is None:
        return forward, forward
    turned = check_references(backward_references, columns, rows, "backward_references")
    return forward, Pairs(turned.columns, turned.rows)


def check_references(references, rows: int, columns: int, place: str = "references") -> Pairs:
    """Checks which columns are correct for each row.

    Args:
        references: Per row an int or a list of ints, 0 .. columns - 1; an empty list is a row without any. None is the
            diagonal of a square.
        rows, columns: The numbers of items.
        place: The name in an error.

    Returns:
        The correct pairs, sorted by row and column.

    Raises:
        ValueError: They are not as many as the rows, one is no column, or stands twice in its row; or there are none
            and the two sides differ in number.
        TypeError: One is something else than an int.

    >>> check_references([[0, 1], 2], 2, 3)
    Pairs(rows=array([0, 0, 1]), columns=array([0, 1, 2]))
    """
    if references is None:
        if rows != columns:
            raise ValueError(f"{place} is None and the sides have {rows} and {columns} items, expected the correct "
                             "columns of each row (only a square has a diagonal)")  # fmt: skip
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
    order = np.lexsort((column, row))
    twice = order[1:][(np.diff(row[order]) == 0) & (np.diff(column[order]) == 0)]
    for wrong, problem in ((outside, f"expected a column, 0 to {columns - 1}"), (twice, "which its row has already")):
        if len(wrong):
            i = wrong.min()
            where = f"{place}[{row[i]}][{i - starts[row[i]]}]"
            found = f"is {column[i]}, " if -1 < column[i] < columns else "is out of range, "
            raise ValueError(f"{where} {found}{problem}")
    return Pairs(row[order], column[order])
