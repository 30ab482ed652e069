"""The header of a .npy array, by itself or in a .npz archive: what it holds, before a byte of it is read.

NumPy evaluates the header as Python and believes it. Here it is matched against the one form that arrays of numbers
have, and compared with the bytes that are there; no header can ask for code, nesting or memory.
"""

import math
import re
from typing import BinaryIO, NamedTuple

import numpy as np

from ..utils.checks import describe

_MAGIC = b"\x93NUMPY"
# Of NumPy itself.
_LONGEST_HEADER, _MOST_AXES = 10_000, 32
_ENTRY = re.compile(
    r"""\s*(['"])(descr|fortran_order|shape)\1\s*:\s*(\([^()]*\)|'[^']*'|"[^"]*"|True|False)\s*(,|(?=}))"""
)
_AT_END = re.compile(r"\s*}\s*")
# Bytes in an order that is named, or single; numbers of these kinds and widths.
_NUMBERS = re.compile(r"[<>=|]?(b1|[iu][1248]|f(2|4|8|16)|c(8|16|32))")
# Python 2 wrote long integers with an L.
_SHAPE = re.compile(r"\(\s*(\d{1,19}L?\s*,\s*)*(\d{1,19}L?\s*)?\)")


class NpyHeader(NamedTuple):
    """What a .npy array holds.

    Attributes:
        dtype: Of its numbers.
        shape: Its dimensions.
        order: "C", or "F" where the first dimension runs fastest.
        start: Where its numbers begin, in bytes.
    """

    dtype: np.dtype
    shape: tuple[int, ...]
    order: str
    start: int

    @property
    def nbytes(self) -> int:
        """What its numbers take, which no overflow makes smaller."""
        return math.prod(self.shape) * self.dtype.itemsize

    def check_size(self, size: int) -> None:
        """Compares the header with the bytes of the whole.

        Raises:
            ValueError: There are more or fewer.
        """
        if self.start + self.nbytes != size:
            raise ValueError(
                f"it has {size} bytes, and its header of {self.dtype.str} in the shape "
                f"{self.shape} tells of {self.start + self.nbytes}"
            )


def read_npy_header(file: BinaryIO) -> NpyHeader:
    """Reads the header of a .npy array from the beginning of a binary file.

    Raises:
        ValueError: It is none, or of an array of anything but numbers.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3), np.float32))
    >>> read_npy_header(io.BytesIO(file.getvalue()))
    NpyHeader(dtype=dtype('float32'), shape=(2, 3), order='C', start=128)
    """
    begin = file.read(len(_MAGIC) + 2)
    if begin[: len(_MAGIC)] != _MAGIC:
        raise ValueError(f"it begins with {begin!r}, expected {_MAGIC!r}")
    width = {b"\1\0": 2, b"\2\0": 4, b"\3\0": 4}.get(begin[len(_MAGIC) :])
    if width is None:
        raise ValueError(f"its version is {tuple(begin[len(_MAGIC) :])}, expected (1, 0), (2, 0) or (3, 0)")
    length = int.from_bytes(file.read(width), "little")
    if length > _LONGEST_HEADER:
        raise ValueError(f"its header has {length} bytes, expected at most {_LONGEST_HEADER}")
    text = file.read(length)
    if len(text) < length:
        raise ValueError(f"it ends in its header, which has {length} bytes")
    dtype, order, shape = _content(text.decode("latin1"))
    return NpyHeader(dtype, shape, order, len(begin) + width + length)


def _content(text: str) -> tuple[np.dtype, str, tuple[int, ...]]:
    entries, place = {}, 1
    while text.startswith("{") and (match := _ENTRY.match(text, place)) and match[2] not in entries:
        entries[match[2]], place = match[3], match.end()
    if len(entries) < 3 or not _AT_END.fullmatch(text, place) or entries["fortran_order"] not in ("True", "False"):
        raise ValueError(f"its header is {describe(text)}, expected descr, fortran_order and shape of numbers")
    kind = entries["descr"][1:-1]
    if entries["descr"][0] not in "'\"" or not _NUMBERS.fullmatch(kind):
        raise ValueError(f"it holds the type {describe(kind)}, expected numbers")
    return np.dtype(kind), "F" if entries["fortran_order"] == "True" else "C", _shape(entries["shape"])


def _shape(text: str) -> tuple[int, ...]:
    numbers = tuple(map(int, re.findall(r"\d+", text))) if _SHAPE.fullmatch(text) else None
    # (3) is a number in Python.
    if numbers is None or len(numbers) > _MOST_AXES or (numbers and "," not in text):
        raise ValueError(f"its shape is {describe(text)}, expected up to {_MOST_AXES} whole numbers")
    return numbers
