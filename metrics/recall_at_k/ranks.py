"""How many items are better than, and how many tie with, the correct ones: counted in one pass over the similarities.

No sort and no top-k: for each query the items above its best correct item are counted, in both directions on the same
block, while it is in the cache. The similarity of a correct pair is formed first, for these comparisons, and put into
its block in place of the product's: a matrix product gives the same pair other last bits in a block of another shape,
and two numbers for one pair let a correct item beat itself.
"""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from typing import NamedTuple

import numpy as np

from .vectors import Vectors

# Blocks of 17 MB of float32: of the sizes tried, the smallest at which the product keeps its speed.
HEIGHT, WIDTH = 512, 8400
# Rows that are compared at a time, at most 255: both comparisons read them from the core's own cache.
SLAB = 32


class Pairs(NamedTuple):
    """Correct pairs: row and column of each, (pairs,) int64."""

    rows: np.ndarray
    columns: np.ndarray


class Counts(NamedTuple):
    """Items strictly above, and equal to, each threshold; (layers, queries) int64. Of shards of items, they add up."""

    better: np.ndarray
    equal: np.ndarray


def _parts(size: int, most: int) -> list[slice]:
    """Cuts into as few parts as may be, of about the same length; nothing is one empty part."""
    number = max(1, -(-size // most))
    edges = [size * i // number for i in range(number + 1)]
    return [slice(start, stop) for start, stop in zip(edges, edges[1:])]


class MatrixBlocks:
    """Blocks of a similarity matrix that is there.

    Args:
        matrix: (rows, columns), without NaN; what `arrays.as_matrix` returned.
        dtype: float32 or float64.
    """

    def __init__(self, matrix, dtype: np.dtype):
        self._matrix, self._dtype, self.shape = matrix, dtype, matrix.shape
        self.count = Arithmetic().count

    def define(self, pairs: Pairs) -> np.ndarray:
        """The similarities of pairs."""
        return np.asarray(self._matrix[pairs.rows, pairs.columns], dtype=self._dtype)

    def __len__(self) -> int:
        return len(_parts(self.shape[0], HEIGHT)) * len(_parts(self.shape[1], WIDTH))

    def __iter__(self) -> Iterator[list[tuple]]:
        """Yields lists of (rows, columns, block), which together hold each pair once."""
        for columns, rows in product(_parts(self.shape[1], WIDTH), _parts(self.shape[0], HEIGHT)):
            yield [(rows, columns, np.asarray(self._matrix[rows, columns], dtype=self._dtype))]


class ProductBlocks:
    """Blocks of the product of two sides, each pair of distinct vectors multiplied once.

    Args:
        row_vectors, column_vectors: The two sides.
        arithmetic: What multiplies and counts; by default NumPy.
    """

    def __init__(self, row_vectors: Vectors, column_vectors: Vectors, arithmetic=None):
        self._sides = (row_vectors, column_vectors)
        self._distinct = (row_vectors.distinct(), column_vectors.distinct())
        self._parts = tuple(_parts(len(side.items), most) for side, most in zip(self._distinct, (HEIGHT, WIDTH)))
        self._arithmetic = arithmetic or Arithmetic()
        self.count = self._arithmetic.count
        self.shape = (row_vectors.shape[0], column_vectors.shape[0])

    def define(self, pairs: Pairs) -> np.ndarray:
        """Forms the similarities of pairs and keeps them for the blocks.

        Returns:
            (pairs,): equal for pairs of equal vectors.
        """
        width = len(self._distinct[1].items)
        keys = self._distinct[0].number[pairs.rows] * width + self._distinct[1].number[pairs.columns]
        keys, place = np.unique(keys, return_inverse=True)
        self._defined = Pairs(keys // width, keys % width)
        self._values = np.concatenate([self._dots(part) for part in _parts(len(keys), HEIGHT * 16)])
        return self._values[place.reshape(-1)]

    def _dots(self, part: slice) -> np.ndarray:
        sides = zip(self._sides, self._distinct, self._defined)
        rows, columns = (side.block(distinct.items[numbers[part]]) for side, distinct, numbers in sides)
        return np.einsum("ij,ij->i", rows, columns)

    def __len__(self) -> int:
        return len(self._parts[0]) * len(self._parts[1])

    def __iter__(self) -> Iterator[Iterable[tuple]]:
        """Yields, for each block of distinct vectors, (rows, columns, block) of all items that have them."""
        for columns in self._parts[1]:
            column_vectors = self._block(1, columns)
            for rows in self._parts[0]:
                block = self._arithmetic.multiply(self._block(0, rows), column_vectors)
                self._put_defined(block, rows, columns)
                yield self._expanded(block, rows, columns)

    def _block(self, axis: int, part: slice) -> np.ndarray:
        distinct = self._distinct[axis].items
        # Without repeats a slice reads the rows where they are.
        return self._sides[axis].block(part if len(distinct) == self.shape[axis] else distinct[part])

    def _put_defined(self, block, rows: slice, columns: slice) -> None:
        start, stop = np.searchsorted(self._defined.rows, [rows.start, rows.stop])
        row, column = self._defined.rows[start:stop], self._defined.columns[start:stop]
        inside = (column >= columns.start) & (column < columns.stop)
        places = (row[inside] - rows.start, column[inside] - columns.start)
        self._arithmetic.put(block, places, self._values[start:stop][inside])

    def _expanded(self, block, rows: slice, columns: slice) -> Iterable[tuple]:
        for row_items, row_places in self._copies(0, rows, HEIGHT):
            part = block if row_places is None else block[row_places]
            for column_items, column_places in self._copies(1, columns, WIDTH):
                yield row_items, column_items, part if column_places is None else part[:, column_places]

    def _copies(self, axis: int, part: slice, most: int) -> Iterator[tuple]:
        """The items of a block's vectors: the first of each, and then its repeats with their places in the block."""
        items, number = self._distinct[axis]
        if len(items) == len(number):
            yield part, None
            return
        yield items[part], None
        inside = (number >= part.start) & (number < part.stop)
        repeats = np.flatnonzero(inside & (items[number] != np.arange(len(number))))
        for some in _parts(len(repeats), most) if len(repeats) else ():
            yield repeats[some], number[repeats[some]] - part.start


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

    def multiply(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """rows @ columns.T, until the next call."""
        return np.matmul(rows, columns.T, out=self._buffer("product", (len(rows), len(columns)), rows.dtype))

    def put(self, block: np.ndarray, places: tuple, values: np.ndarray) -> None:
        """Sets single numbers of a block."""
        block[places] = values

    def count(self, block: np.ndarray, thresholds: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts, for each row (axis 0) or column (axis 1), the numbers above and those equal to its threshold.

        >>> Arithmetic().count(np.array([[1, 2, 2], [0, 4, 5]]), np.array([2, 4]), 0)
        (array([0, 1]), array([2, 1]))
        """
        # Directions are counted in threads of their own, so each has its buffer.
        mask = self._buffer(axis, (SLAB, block.shape[1]), np.dtype(bool))
        counts = np.zeros((2, block.shape[axis]), np.int64)
        for start in range(0, len(block), SLAB):
            slab = block[start : start + SLAB]
            part = slice(start, start + len(slab)) if axis == 0 else slice(None)
            values = thresholds[part, None] if axis == 0 else thresholds
            for total, compare in zip(counts, (np.greater, np.greater_equal)):
                total[part] += _true_values(compare(slab, values, out=mask[: len(slab)]), axis)
        above, at_least = counts
        return above, at_least - above


def _true_values(mask: np.ndarray, axis: int) -> np.ndarray:
    # Both are several times as fast as mask.sum(axis): a call per long row, and bytes added up, of at most 255 rows.
    if axis == 0:
        return np.array([np.count_nonzero(row) for row in mask], np.int64)
    return np.add.reduce(mask.view(np.uint8), axis=0, dtype=np.uint8)


def count(
    blocks: MatrixBlocks | ProductBlocks,
    row_thresholds: np.ndarray | None,
    column_thresholds: np.ndarray | None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[Counts | None, Counts | None]:
    """Counts, for each row among the columns and for each column among the rows, what is above and at its thresholds.

    Args:
        blocks: Where the similarities come from.
        row_thresholds: (layers, rows): of each row, as many thresholds as wanted; NaN counts nothing. None leaves the
            direction out.
        column_thresholds: (layers, columns), likewise.
        progress: Wraps the blocks, as tqdm does.

    Returns:
        The counts of rows and of columns, None where left out.
    """
    directions = [None if t is None else (axis, t, Counts(*np.zeros((2, *t.shape), np.int64)))
                  for axis, t in enumerate((row_thresholds, column_thresholds))]  # fmt: skip

    def add(direction: tuple, items, block) -> None:
        axis, thresholds, counts = direction
        for layer, values in enumerate(thresholds):
            better, equal = blocks.count(block, values[items], axis)
            counts.better[layer, items] += better
            counts.equal[layer, items] += equal

    with ThreadPoolExecutor(2) as pool:
        for pieces in progress(blocks):
            for *sides, block in pieces:
                tasks = [pool.submit(add, each, items, block) for each, items in zip(directions, sides) if each]
                for task in tasks:
                    task.result()
    return tuple(direction and direction[2] for direction in directions)
