"""One side's embeddings, ready for products: widened, and normalised under "cosine"."""

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
        self._matrix, self._cosine = matrix, cosine
        self.dtype, self.shape = dtype, matrix.shape
        blocks = (np.asarray(matrix[rows], dtype=np.float64, order="C") for rows in row_blocks(matrix))
        self._norms = np.concatenate([_norms(block) for block in blocks])
        self.scales = np.ones(len(self._norms)) if cosine else self._norms

    def block(self, items, dtype: np.dtype | None = None) -> np.ndarray:
        """The vectors of a slice or an index array, (items, dimensions); in another type where one is given."""
        dtype = dtype or self.dtype
        block = np.asarray(self._matrix[items], dtype=dtype, order="C")
        if not self._cosine:
            return block
        norms = self._norms[items]
        # The norm itself, or numbers divided by it, would leave the range of float32.
        extreme = np.flatnonzero(~((norms > 1e-30) & (norms < 1e30)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            units = block / norms.astype(dtype)[:, None]
        if len(extreme):
            scaled = _scaled(block[extreme].astype(np.float64))[0]
            units[extreme] = scaled / np.maximum(_norms(scaled), 1)[:, None]
        return units

    def largest_norm(self) -> float:
        """The largest Euclidean norm."""
        return float(self._norms.max())


def row_dots(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The dot product of each row of one with the same row of the other.

    NumPy adds up a contiguous row in an order that depends on its length alone: neither on other rows nor on threads.
    """
    return np.add.reduce(np.multiply(rows, columns, order="C"), axis=1)


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


def _norms(block: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        norms = np.sqrt(row_dots(block, block))
        # Squares of very large or small numbers leave the range.
        extreme = np.flatnonzero(~((norms > 1e-100) & (norms < 1e100)))
        if len(extreme):
            scaled, largest = _scaled(block[extreme])
            norms[extreme] = largest * np.sqrt(row_dots(scaled, scaled))
    return norms


def _scaled(block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows divided by their largest number, and these numbers; a row of zeros stays as it is."""
    largest = np.abs(block).max(axis=1)
    return block / np.where(largest == 0, 1, largest)[:, None], largest
