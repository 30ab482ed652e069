"""One side's embeddings, ready for products: widened, and normalised under "cosine"."""

import numpy as np

from .arrays import row_blocks

# Numbers that are widened to float64 at a time, a megabyte: four times as fast as ten of them, which leave the cache.
CACHED = 1 << 17


class Vectors:
    """Embeddings of one side.

    Args:
        matrix: (items, dimensions), finite; what `arrays.as_matrix` returned.
        dtype: float32 or float64, what products are formed in.
        cosine: Whether each vector is divided by its norm; a zero vector stays as it is, so its similarity is 0.
    """

    def __init__(self, matrix, dtype: np.dtype, cosine: bool):
        self._matrix, self._cosine = matrix, cosine
        self.dtype, self.shape = dtype, matrix.shape
        self._norms = np.concatenate([_norms(self._rows(rows, np.float64)) for rows in row_blocks(matrix, CACHED)])
        # Norms that could leave the range of float32, or numbers divided by them; zeros are among them.
        self._extreme = ~((self._norms > 1e-30) & (self._norms < 1e30)) & cosine
        ones = np.ones(len(self._norms))
        self.scales = ones if cosine else self._norms
        self._divisors = np.where(self._extreme, 1, self._norms) if cosine else ones

    def block(self, items, dtype: np.dtype | None = None) -> np.ndarray:
        """The vectors of a slice or an index array, (items, dimensions); in another type where one is given."""
        block = self._rows(items, dtype or self.dtype)
        if not self._cosine:
            return block
        return self._with_units(block / self._divisors[items, None].astype(block.dtype), block, items)

    def as_given(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The vectors of an index array before they are divided, a copy in float64, and what to divide them by."""
        block = self._rows(items, np.float64)
        return self._with_units(block, block, items), self._divisors[items]

    def _with_units(self, target: np.ndarray, block: np.ndarray, items) -> np.ndarray:
        """Puts the unit vectors of those in a block that have an extreme norm."""
        extreme = np.flatnonzero(self._extreme[items])
        if len(extreme):
            target[extreme] = _units(block[extreme])
        return target

    def _rows(self, items, dtype: np.dtype) -> np.ndarray:
        return np.asarray(self._matrix[items], dtype=dtype, order="C")

    def largest_norm(self) -> float:
        """The largest Euclidean norm."""
        return float(self._norms.max())


def row_dots(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The dot product of each row of one with the same row of the other.

    NumPy adds up a contiguous row in an order that depends on its length alone: neither on other rows nor on threads.
    """
    return np.add.reduce(rows * columns, axis=1)


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
            raise ValueError(
                f"norms of the embeddings reach {reach}: their dot products could overflow {dtype}; "
                'expected smaller embeddings, or similarity="cosine"'
            )


def _norms(block: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        norms = np.sqrt(row_dots(block, block))
        # Squares of very large or small numbers leave the range.
        extreme = ~((norms > 1e-100) & (norms < 1e100))
        if extreme.any():
            scaled, largest = _scaled(block[extreme])
            norms[extreme] = largest * np.sqrt(row_dots(scaled, scaled))
    return norms


def _units(block: np.ndarray) -> np.ndarray:
    scaled, _ = _scaled(block.astype(np.float64))
    # The largest number is 1: only the norm of a zero vector is smaller.
    return scaled / np.maximum(_norms(scaled), 1)[:, None]


def _scaled(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows divided by their largest number, and these numbers; a row of zeros stays as it is."""
    largest = np.abs(block).max(axis=1, initial=0)
    return block / np.where(largest == 0, 1, largest)[:, None], largest
