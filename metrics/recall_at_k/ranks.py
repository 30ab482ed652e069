"""How many items are better than, and how many tie with, the correct ones: counted in one pass over the similarities.

No sort and no top-k: for each query the items above its best correct item are counted, in both directions on the same
block, while it is in the cache.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np

from .rounding import Thresholds

# Blocks of 17 MB of float32: of the sizes tried, the smallest at which the product keeps its speed.
HEIGHT, WIDTH = 512, 8400
# Rows that are compared at a time, at most 255: both comparisons read them from the core's own cache.
SLAB = 32


class Pairs(NamedTuple):
    """Correct pairs: row and column of each, (pairs,) int64."""

    rows: np.ndarray
    columns: np.ndarray


class ItemPairs(NamedTuple):
    """The correct pairs of rows as queries, those of columns as queries, and the pairs that are one and the same item.

    A pair of `own` is in no ranking: neither a hit, nor better, nor tied. Each row and column stands in one at most.
    """

    forward: Pairs
    backward: Pairs
    own: Pairs


class Counts(NamedTuple):
    """Items strictly above, and equal to, each threshold; (layers, queries) int64. Of shards of items, they add up."""

    better: np.ndarray
    equal: np.ndarray


def cut(size: int, most: int) -> list[slice]:
    """Cuts into as few parts as may be, of about the same length; nothing is one empty part."""
    number = max(1, -(-size // most))
    edges = [size * i // number for i in range(number + 1)]
    return [slice(start, stop) for start, stop in zip(edges, edges[1:])]


class MatrixBlocks:
    """Blocks of a similarity matrix that is there; its numbers are compared as they are.

    Args:
        matrix: (rows, columns), without NaN; what `arrays.as_matrix` returned.
        dtype: float32 or float64.
    """

    def __init__(self, matrix, dtype: np.dtype):
        self._matrix, self.dtype, self.shape = matrix, dtype, matrix.shape
        self._arithmetic = Arithmetic()

    def define(self, pairs: Pairs) -> Thresholds:
        """The similarities of pairs, (pairs,)."""
        values = np.asarray(self._matrix[pairs.rows, pairs.columns], dtype=self.dtype)
        return Thresholds(values, np.zeros(len(values)))

    def __len__(self) -> int:
        return len(cut(self.shape[0], HEIGHT)) * len(cut(self.shape[1], WIDTH))

    def __iter__(self) -> Iterator["MatrixPiece"]:
        """Yields pieces, which together hold each pair once."""
        for columns, rows in product(cut(self.shape[1], WIDTH), cut(self.shape[0], HEIGHT)):
            block = np.asarray(self._matrix[rows, columns], dtype=self.dtype)
            yield MatrixPiece((rows, columns), block, self._arithmetic)


class MatrixPiece(NamedTuple):
    """One block of a matrix, and which rows and columns it holds."""

    parts: tuple[slice, slice]
    block: np.ndarray
    arithmetic: "Arithmetic"

    def count(self, thresholds: Thresholds, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts, for each row (axis 0) or column (axis 1), the numbers above and those equal to its threshold."""
        return self.arithmetic.count(self.block, thresholds.values, thresholds.values, axis)[:2]


class Arithmetic:
    """The work on blocks, in NumPy. device.py has the same three methods for a GPU.

    Results go into buffers: fresh memory for every block would cost as much as the counting.
    """

    def __init__(self):
        self._buffers = {}

    def _buffer(self, name, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
        size = shape[0] * shape[1]
        if name not in self._buffers or self._buffers[name].size < size:
            self._buffers[name] = np.empty(size, dtype)
        return self._buffers[name][:size].reshape(shape)

    def product_type(self, dtype: np.dtype) -> np.dtype:
        """The type in which vectors are multiplied so exactly as this type can."""
        return dtype

    def multiply(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """rows @ columns.T, until the next call with numbers of this type."""
        return np.matmul(rows, columns.T, out=self._buffer(rows.dtype, (len(rows), len(columns)), rows.dtype))

    def count(
        self, block: np.ndarray, lower: np.ndarray, upper: np.ndarray, axis: int, most: int | None = None
    ) -> tuple[np.ndarray, np.ndarray, Pairs | None]:
        """Counts, for each row (axis 0) or column (axis 1), the numbers above its upper limit, and those within both.

        Args:
            block: (rows, columns).
            lower, upper: The limits of each row or column, which belong to what is within; NaN counts nothing.
            axis: 0 or 1.
            most: Of how many numbers within limits the places are wanted; None asks for no places.

        Returns:
            Both counts, and the places in the block of what is within; None where these are more than wanted, and then
            the counts may be unfinished.

        >>> block = np.array([[1, 2, 2], [0, 4, 5]])
        >>> Arithmetic().count(block, np.array([2, 3]), np.array([2, 4]), 0, most=9)
        (array([0, 1]), array([2, 1]), Pairs(rows=array([0, 0, 1]), columns=array([1, 2, 1])))
        """
        # Directions are counted in threads of their own, so each has its buffers.
        masks = [self._buffer((axis, i), (SLAB, block.shape[1]), np.dtype(bool)) for i in range(2)]
        above, within = np.zeros((2, block.shape[axis]), np.int64)
        places, left = [Pairs(*np.zeros((2, 0), np.int64))], most
        for start in range(0, len(block), SLAB):
            slab = block[start : start + SLAB]
            part = slice(start, start + len(slab)) if axis == 0 else slice(None)
            limits = [each[part, None] if axis == 0 else each for each in (upper, lower)]
            beyond = np.greater(slab, limits[0], out=masks[0][: len(slab)])
            reaching = np.greater_equal(slab, limits[1], out=masks[1][: len(slab)])
            over = _true_values(beyond, axis)
            near = _true_values(reaching, axis) - over
            above[part] += over
            within[part] += near
            if most is not None and (number := int(near.sum())):
                left -= number
                if left < 0:
                    return above, within, None
                places.append(_differing(beyond, reaching, np.flatnonzero(near), axis, start))
        return above, within, None if most is None else Pairs(*map(np.concatenate, zip(*places)))


def _true_values(mask: np.ndarray, axis: int) -> np.ndarray:
    # Both are several times as fast as mask.sum(axis): a call per long row, and bytes added up, of at most 255 rows.
    if axis == 0:
        return np.array([np.count_nonzero(row) for row in mask], np.int64)
    return np.add.reduce(mask.view(np.uint8), axis=0, dtype=np.uint8)


def _differing(one: np.ndarray, other: np.ndarray, some: np.ndarray, axis: int, start: int) -> Pairs:
    """Where two masks differ, of which it is known in which rows or columns they do."""
    lines = [mask[some] if axis == 0 else mask[:, some] for mask in (one, other)]
    row, column = np.divmod(np.flatnonzero(lines[0] != lines[1]), lines[0].shape[1])
    return Pairs((some[row] if axis == 0 else row) + start, column if axis == 0 else some[column])


def count(
    blocks,
    row_thresholds: Thresholds | None,
    column_thresholds: Thresholds | None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[Counts | None, Counts | None]:
    """Counts, for each row among the columns and for each column among the rows, what is above and at its thresholds.

    Args:
        blocks: Where the similarities come from: `MatrixBlocks`, or `products.ProductBlocks`.
        row_thresholds: (layers, rows): of each row, as many thresholds as wanted; NaN counts nothing. None leaves the
            direction out.
        column_thresholds: (layers, columns), likewise.
        progress: Wraps the blocks, as tqdm does.

    Returns:
        The counts of rows and of columns, None where left out.
    """
    directions = [
        None if t is None else (axis, t, Counts(*np.zeros((2, *t.values.shape), np.int64)))
        for axis, t in enumerate((row_thresholds, column_thresholds))
    ]

    def add(direction: tuple, piece) -> None:
        axis, thresholds, counts = direction
        items = piece.parts[axis]
        for layer in range(len(thresholds.values)):
            own = Thresholds(*(each[layer, items] for each in thresholds))
            better, equal = piece.count(own, axis)
            counts.better[layer, items] += better
            counts.equal[layer, items] += equal

    with ThreadPoolExecutor(2) as pool:
        for piece in progress(blocks):
            for task in [pool.submit(add, direction, piece) for direction in directions if direction]:
                task.result()
    return tuple(direction and direction[2] for direction in directions)
