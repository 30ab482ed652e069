"""Similarities of embeddings: products in blocks, and again in float64 what lies too near to a threshold for them.

A matrix product gives the same pair other last bits in another place or on other threads, and vectors of float32 are
rounded when they are normalised. So a product decides only what is farther from a threshold than it may be wrong by
(rounding.py). The others, a handful per query, are dot products in float64 of the vectors as they were given, formed
pair by pair in one order of summation; so are the thresholds. Where many are near, as with codes, duplicates or models
that collapse, a product in float64 decides all but those that lie at the very bound of a tie.
"""

from collections.abc import Iterator
from itertools import product
from threading import Lock

import numpy as np

from .ranks import HEIGHT, SLAB, WIDTH, Arithmetic, Pairs, cut
from .rounding import Thresholds, compare, error_in_slacks, tie_slack, underflow
from .vectors import CACHED, Vectors, row_dots

# Pairs formed one by one need about 200 times as long as in a product in float64.
NEAR_SHARE = 1 / 256


class ProductBlocks:
    """Blocks of the product of two sides.

    Args:
        row_vectors, column_vectors: The two sides.
        arithmetic: What multiplies and counts; by default NumPy.
    """

    def __init__(self, row_vectors: Vectors, column_vectors: Vectors, arithmetic=None):
        self._sides = Sides((row_vectors, column_vectors))
        self._arithmetic = arithmetic or Arithmetic()
        self.shape = (row_vectors.shape[0], column_vectors.shape[0])

    def define(self, pairs: Pairs) -> Thresholds:
        """The similarities of pairs, (pairs,)."""
        keys, place = np.unique(pairs.rows * self.shape[1] + pairs.columns, return_inverse=True)
        found = self._sides.similarities(Pairs(*np.divmod(keys, self.shape[1])))
        return Thresholds(*(each[place.reshape(-1)] for each in found))

    def __len__(self) -> int:
        return len(cut(self.shape[0], HEIGHT)) * len(cut(self.shape[1], WIDTH))

    def __iter__(self) -> Iterator["ProductPiece"]:
        """Yields pieces, which together hold each pair once; each can be counted until the next."""
        dtype = self._arithmetic.product_type(self._sides.vectors[0].dtype)
        rows, columns = (cut(size, most) for size, most in zip(self.shape, (HEIGHT, WIDTH)))
        held = None
        for parts in product(columns, rows):
            if held is not parts[0]:
                held, vectors = parts[0], self._sides.vectors[1].block(parts[0], dtype)
            block = self._arithmetic.multiply(self._sides.vectors[0].block(parts[1], dtype), vectors)
            yield ProductPiece(self._sides, parts[::-1], block, dtype, self._arithmetic)


class Sides:
    """Both sides' vectors, and their similarities in float64."""

    def __init__(self, vectors: tuple[Vectors, Vectors]):
        self.vectors = vectors
        self.dimensions = vectors[0].shape[1]
        self._lock, self._arithmetic = Lock(), Arithmetic()
        self._columns = self._made = (None, None)

    def similarities(self, pairs: Pairs) -> Thresholds:
        """Of pairs, in float64: of equal pairs equal, whatever stands beside them."""
        values = np.empty(len(pairs.rows))
        for part in cut(len(values), max(1, CACHED // self.dimensions)):
            gathered = (side.as_given(items[part]) for side, items in zip(self.vectors, pairs))
            (rows, row_norms), (columns, column_norms) = gathered
            values[part] = row_dots(rows, columns) / (row_norms * column_norms)
        scales = (side.scales[items] for side, items in zip(self.vectors, pairs))
        return Thresholds(values, self.slacks(*scales))

    def slacks(self, row_scales: np.ndarray, column_scales: np.ndarray) -> np.ndarray:
        """By how much similarities of vectors of such scales may differ and tie."""
        return tie_slack(row_scales * column_scales, self.dimensions)

    def product(self, parts: tuple[slice, slice]) -> np.ndarray:
        """A block in float64, until the next one; both directions ask for it."""
        with self._lock:
            if self._made[0] != parts:
                if self._columns[0] != parts[1]:
                    self._columns = (parts[1], self.vectors[1].block(parts[1], np.float64))
                block = self._arithmetic.multiply(self.vectors[0].block(parts[0], np.float64), self._columns[1])
                self._made = (parts, block)
            return self._made[1]


class ProductPiece:
    """One block of a product, and which rows and columns it holds.

    Args:
        sides: Of the product.
        parts: Rows and columns.
        block: Their product, in this type.
        dtype: float32 or float64.
        arithmetic: What made the block.
    """

    def __init__(self, sides: Sides, parts: tuple[slice, slice], block, dtype: np.dtype, arithmetic):
        self.parts = parts
        self._sides, self._block, self._dtype, self._arithmetic = sides, block, dtype, arithmetic
        self._scales = tuple(side.scales[part] for side, part in zip(sides.vectors, parts))

    def count(self, thresholds: Thresholds, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Counts, for each row (axis 0) or column (axis 1), the similarities above and those tied with its threshold.

        Args:
            thresholds: One of each row or column; NaN counts nothing.
            axis: 0 or 1.
        """
        limits = self._limits(thresholds, axis)
        most = int(NEAR_SHARE * len(self._scales[0]) * len(self._scales[1]))
        above, _, places = self._arithmetic.count(self._block, *limits, axis, most)
        if places is None:
            return self._count_in_float64(thresholds, axis)
        better, tied = self._decide(places, thresholds, axis)
        return above + better, tied

    def _limits(self, thresholds: Thresholds, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Beyond these the product is sure: less the farthest that a tie reaches, and what the product is wrong by."""
        dimensions = self._sides.dimensions
        slacks = self._sides.slacks(self._scales[axis], self._scales[1 - axis].max())
        margins = np.maximum(thresholds.slacks, slacks) * (1 + error_in_slacks(self._dtype, dimensions))
        margins += underflow(self._dtype, dimensions)
        with np.errstate(over="ignore"):
            return tuple((thresholds.values + sign * margins).astype(self._dtype) for sign in (-1, 1))

    def _decide(self, places: Pairs, thresholds: Thresholds, axis: int) -> tuple[np.ndarray, np.ndarray]:
        found = self._sides.similarities(Pairs(*(each + part.start for each, part in zip(places, self.parts))))
        items = places[axis]
        own = Thresholds(*(each[items] for each in thresholds))
        return tuple(
            np.bincount(items[chosen], minlength=len(thresholds.values))
            for chosen in compare(found.values, own, found.slacks)
        )

    def _count_in_float64(self, thresholds: Thresholds, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """The same counts from a product in float64; what lies at the very bound of a tie is decided pair by pair."""
        own = self._dtype.itemsize > 4 and isinstance(self._block, np.ndarray)
        block = self._block if own else self._sides.product(self.parts)
        error = error_in_slacks(block.dtype, self._sides.dimensions)
        counts = np.zeros((2, block.shape[axis]), np.int64)
        unsure = []
        for start in range(0, len(block), SLAB):
            rows = slice(start, start + SLAB)
            distances = self._distances(block[rows], rows, thresholds, axis)
            part = rows if axis == 0 else slice(None)
            counts[0, part] += (distances > 1 + error).sum(axis=1 - axis)
            np.abs(distances, out=distances)
            counts[1, part] += (distances < 1 - error).sum(axis=1 - axis)
            row, column = np.nonzero((distances >= 1 - error) & (distances <= 1 + error))
            unsure.append(Pairs(row + start, column))
        better, tied = self._decide(Pairs(*map(np.concatenate, zip(*unsure))), thresholds, axis)
        return counts[0] + better, counts[1] + tied

    def _distances(self, slab: np.ndarray, rows: slice, thresholds: Thresholds, axis: int) -> np.ndarray:
        """Of some rows, how many times the bound of a tie each similarity lies above its threshold."""
        values, slacks = (each[rows, None] if axis == 0 else each for each in thresholds)
        gaps = np.maximum(slacks, self._sides.slacks(self._scales[0][rows, None], self._scales[1]))
        with np.errstate(over="ignore"):
            return (slab - values) / gaps
