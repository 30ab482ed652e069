"""Similarities and embeddings of any kind as arrays that are read in blocks: NumPy, memory-mapped files, torch, lists.

torch is used where a tensor is passed, and never imported for it: whoever has a tensor has imported it.
"""

import sys

import numpy as np

from ._shared import as_items, as_list, check_readable, describe, is_column, is_tensor, stored_column

_BLOCK = 1 << 20


class BFloat16:
    """A matrix of bfloat16, which NumPy does not know: its bits, read as float32 (exactly) where it is indexed.

    >>> BFloat16(np.array([[0x3F80, 0xC000]], np.uint16))[:]
    array([[ 1., -2.]], dtype=float32)
    """

    dtype = np.dtype(np.float32)
    ndim = 2

    def __init__(self, bits: np.ndarray):
        self._bits = bits
        self.shape = bits.shape

    def __getitem__(self, key) -> np.ndarray:
        return (self._bits[key].astype(np.uint32) << 16).view(np.float32)


def as_matrix(values, place: str):
    """Reads a matrix of numbers without copying it where it is an array already.

    Args:
        values: NumPy array, memory-mapped or not; torch tensor; another array or data frame; or rows in a list, a
            Series of pandas or polars, an array of Arrow or a column of a dataset.
        place: Its name in an error.

    Returns:
        A NumPy array of floats or integers, or a `BFloat16`; (rows, columns), at least one of each.

    Raises:
        TypeError: It holds something else than numbers, or see `check_readable`.
        ValueError: It is not two-dimensional, or empty, or its rows differ in length.

    >>> as_matrix([[1, 2], [3]], "predictions")
    Traceback (most recent call last):
        ...
    ValueError: predictions[1] has 1 numbers, expected 2 as in predictions[0]
    """
    check_readable(values, place)
    matrix = _from_tensor(values) if is_tensor(values) else values
    if not isinstance(matrix, np.ndarray | BFloat16) and len(getattr(matrix, "shape", ())) == 2:
        # Arrays of other packages and data frames.
        matrix = np.asarray(matrix)
    if not isinstance(matrix, np.ndarray | BFloat16) or matrix.dtype.kind == "O":
        matrix = _from_rows(matrix, place)
    if len(matrix.shape) != 2 or 0 in matrix.shape:
        raise ValueError(f"{place} has the shape {tuple(matrix.shape)}, expected two dimensions, none of them empty")
    if matrix.dtype.kind not in "fiu":
        raise TypeError(f"{place} has the type {matrix.dtype}, expected floats or integers")
    return matrix


def device_of(values):
    """The device of a torch tensor that is not in main memory; None of everything else."""
    return values.device if is_tensor(values) and values.device.type != "cpu" else None


def _from_tensor(tensor):
    torch = sys.modules["torch"]
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg()
    if tensor.dtype == torch.bfloat16 and tensor.ndim == 2:
        return BFloat16(tensor.view(torch.int16).numpy().view(np.uint16))
    return tensor.numpy()


def _from_rows(values, place: str) -> np.ndarray:
    matrix = _from_arrow(stored_column(values, "arrow") if is_column(values) else values)
    if matrix is not None:
        return matrix
    rows = [_row(row, f"{place}[{i}]") for i, row in enumerate(as_list(values, place))]
    if not rows:
        raise ValueError(f"{place} is empty, expected at least one row")
    for i, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise ValueError(f"{place}[{i}] has {len(row)} numbers, expected {len(rows[0])} as in {place}[0]")
    return np.stack(rows)


def _from_arrow(values) -> np.ndarray | None:
    """Rows of numbers of one length in an Arrow array, or in a Series of polars, at once; None of all else."""
    if not isinstance(values, list | np.ndarray) and hasattr(values, "to_arrow"):
        values = values.to_arrow()
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(values, pyarrow.Array | pyarrow.ChunkedArray):
        return None
    types = pyarrow.types
    is_list = types.is_list(values.type) or types.is_large_list(values.type) or types.is_fixed_size_list(values.type)
    if not is_list or values.null_count or not types.is_primitive(values.type.value_type):
        return None
    chunks = values.chunks if isinstance(values, pyarrow.ChunkedArray) else [values]
    flat = [chunk.flatten() for chunk in chunks]
    sizes = np.unique(np.concatenate([chunk.value_lengths() for chunk in chunks] or [[]]))
    if len(sizes) != 1 or any(part.null_count for part in flat):
        return None
    parts = [part.to_numpy(zero_copy_only=False) for part in flat]
    if any(part.dtype.kind not in "fiu" for part in parts):
        return None
    return np.concatenate(parts).reshape(len(values), int(sizes[0]))


def _row(row, place: str) -> np.ndarray:
    check_readable(row, place)
    if not isinstance(row, np.ndarray) or row.dtype.kind == "O":
        row = as_items(row, place)
        for j, number in enumerate(row):
            if isinstance(number, bool) or not isinstance(number, int | float | np.integer | np.floating):
                raise TypeError(f"{place}[{j}] is {describe(number)}, expected a number")
        row = np.array(row, None if row else float)
    if row.ndim != 1 or row.dtype.kind not in "fiu":
        raise TypeError(f"{place} is an array of {row.dtype} of the shape {row.shape}, expected a row of numbers")
    return row


def compute_type(*matrices) -> np.dtype:
    """The type that numbers are compared in: float64 where one is float64 or integer, else float32.

    >>> compute_type(np.zeros((1, 1), np.float16))
    dtype('float32')
    """
    wide = any(matrix.dtype.kind in "iu" or matrix.dtype.itemsize > 4 for matrix in matrices)
    return np.dtype(np.float64 if wide else np.float32)


def row_blocks(matrix, numbers: int = _BLOCK):
    """Slices of rows that hold about so many numbers each, a million by default."""
    rows, columns = matrix.shape
    step = max(1, numbers // columns)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def check_numbers(matrix, place: str, finite: bool = False) -> None:
    """Refuses NaN, integers that float64 cannot hold and, where asked for, infinities.

    Raises:
        ValueError: The message says how many there are, and where the first is.

    >>> check_numbers(np.array([[0, np.nan]]), "predictions")
    Traceback (most recent call last):
        ...
    ValueError: predictions has 1 NaN, the first at [0][1]
    """
    if matrix.dtype.kind in "iu":
        _refuse(matrix, lambda block: (block > 1 << 53) | (block < -(1 << 53)), "integers beyond 2**53", place)
    else:
        _refuse(matrix, np.isnan, "NaN", place)
        if finite:
            _refuse(matrix, np.isinf, "infinities", place)


def _refuse(matrix, is_wrong, what: str, place: str) -> None:
    count, first = 0, None
    for rows in row_blocks(matrix):
        wrong = is_wrong(matrix[rows])
        if wrong.any():
            count += int(wrong.sum())
            if first is None:
                row, column = np.argwhere(wrong)[0].tolist()
                first = (rows.start + row, column)
    if count:
        raise ValueError(f"{place} has {count} {what}, the first at [{first[0]}][{first[1]}]")
