"""One side's embeddings, ready for products: widened, normalised, and with equal vectors recognised.

Equal vectors must tie, yet a matrix product gives the same pair of vectors other last bits in other places (measured
with OpenBLAS: in the first columns of each thread's part). So each pair of distinct vectors is multiplied once.
"""

from typing import NamedTuple

import numpy as np

from .arrays import row_blocks


class Vectors:
    """Embeddings of one side.

    Args:
        matrix: (items, dimensions), finite; what `arrays.as_matrix` returned.
        dtype: float32 or float64, what products are formed in.
        cosine: Whether each vector is divided by its norm; a zero vector stays as it is, so its similarity is 0.
    """

    def __init__(self, matrix, dtype: np.dtype, cosine: bool):
        self._matrix, self._dtype, self._cosine = matrix, dtype, cosine
        self.shape = matrix.shape

    def block(self, items) -> np.ndarray:
        """The vectors of a slice or an index array, (items, dimensions)."""
        block = np.asarray(self._matrix[items], dtype=self._dtype)
        return _normalized(block) if self._cosine else block

    def largest_norm(self) -> float:
        """The largest Euclidean norm."""
        blocks = (np.asarray(self._matrix[rows], dtype=np.float64) for rows in row_blocks(self._matrix))
        return max(float(np.linalg.norm(block, axis=1).max()) for block in blocks)

    def distinct(self) -> "Distinct":
        """Finds equal vectors: by a hash of their bits, and then by comparison."""
        hashes = np.concatenate([_hashes(self.block(rows)) for rows in row_blocks(self._matrix)])
        _, first, group = np.unique(hashes, return_index=True, return_inverse=True)
        first_of = first[group.reshape(-1)]
        repeats = np.flatnonzero(first_of != np.arange(len(first_of)))
        for part in np.array_split(repeats, max(1, len(repeats) * self.shape[1] >> 22)):
            equal = (self.block(part) == self.block(first_of[part])).all(axis=1)
            first_of[part[~equal]] = part[~equal]
        items, number = np.unique(first_of, return_inverse=True)
        return Distinct(items, number.reshape(-1))


def check_range(norms: list[float], dtype: np.dtype) -> None:
    """Refuses two sides whose dot products could leave the range of their type.

    Args:
        norms: The largest norm of each side.

    Raises:
        ValueError: Their product is too large.
    """
    with np.errstate(over="ignore"):
        if not np.prod(norms) < np.finfo(dtype).max:
            reach = " and ".join(f"{norm:.3g}" for norm in norms)
            raise ValueError(f"norms of the embeddings reach {reach}: their dot products could overflow {dtype}; "
                             'expected smaller embeddings, or similarity="cosine"')  # fmt: skip


class Distinct(NamedTuple):
    """Which vectors of a side are the same: item of each distinct one (its first), and each item's distinct one."""

    items: np.ndarray
    number: np.ndarray


def _normalized(block: np.ndarray) -> np.ndarray:
    squares = np.einsum("ij,ij->i", block, block)
    # Squares of very large or small numbers leave the range: such rows are divided by their largest number before.
    extreme = ~((squares > 1e-30) & (squares < 1e30))
    if extreme.any():
        block = block.copy()
        largest = np.abs(block[extreme]).max(axis=1, keepdims=True)
        block[extreme] /= np.where(largest == 0, 1, largest)
        squares[extreme] = np.einsum("ij,ij->i", block[extreme], block[extreme])
    return block / np.sqrt(np.where(squares == 0, 1, squares))[:, None]


def _hashes(block: np.ndarray) -> np.ndarray:
    bits = np.ascontiguousarray(block).view(np.uint32)
    weights = np.random.default_rng(0).integers(1, 1 << 63, bits.shape[1], dtype=np.uint64)
    return bits.astype(np.uint64) @ (weights | np.uint64(1))
