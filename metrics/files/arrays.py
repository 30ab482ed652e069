"""Files that hold arrays of numbers: .npz, and memory-mapped .npy and .safetensors (without the package of that name).

None can run code: arrays of Python objects are refused. No header is believed before it is compared with the bytes
that are there.
"""

import json
import math
import os
import struct
import zipfile
import zlib
from collections.abc import Iterable
from typing import BinaryIO

import numpy as np

from ..utils.checks import describe
from .json_text import DoubledKey, unique_keys
from .npy_headers import read_npy_header

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "i1",
    "U64": "<u8",
    "U32": "<u4",
    "U16": "<u2",
    "U8": "u1",
}
# Of the format of safetensors.
_LONGEST_DESCRIPTION = 100_000_000
_MOST_DIMENSIONS = 32
# A packed array may be so many times as long as its file, and any archive may unpack to so many bytes.
_MOST_PACKED, _ALWAYS_UNPACKED = 100, 1 << 26
_PORTION = 1 << 20
# What a damaged archive can raise while it is read; that it cannot be opened is another thing.
_ARCHIVE_ERRORS = (
    *(ValueError, TypeError, EOFError, OSError, RuntimeError, OverflowError, MemoryError, IndexError),
    *(struct.error, zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error),
)


def open_array(path: str) -> np.ndarray:
    """Opens an array without reading it.

    Args:
        path: A .npy or .safetensors file; of several tensors in one file, FILE:NAME.

    Returns:
        The array, memory-mapped; of bfloat16, which NumPy does not know, a float32 copy.

    Raises:
        ValueError: The file is no such file, or holds several tensors and none was named.
        OSError: It cannot be read.
    """
    file, _, name = path.rpartition(":") if not os.path.exists(path) and ".safetensors:" in path else (path, "", "")
    if file.endswith(".npy"):
        return _npy(file)
    if file.endswith(".safetensors"):
        return _tensor(file, name)
    raise ValueError(f"{path} is of an unknown kind, expected .npy or .safetensors")


def _npy(path: str) -> np.ndarray:
    with open(path, "rb") as file:
        try:
            header = read_npy_header(file)
            header.check_size(os.fstat(file.fileno()).st_size)
            return np.memmap(file, header.dtype, "r", header.start, header.shape, header.order)
        except (ValueError, TypeError, OverflowError) as error:
            raise ValueError(f"{path} is no readable .npy file: {error}") from None


def read_npz(source: str | BinaryIO, max_bytes: int | None = None) -> dict[str, np.ndarray]:
    """Reads all arrays of a .npz archive; how long they are is known before the first is unpacked.

    Args:
        source: Its path, or a binary file that is open.
        max_bytes: What the arrays may take in memory together. None takes 64 MiB, or 100 times what the archive takes
            where that is more: enough for arrays that anyone saved, and too little for a bomb.

    Returns:
        Name -> array.

    Raises:
        ValueError: It is no such archive, or holds anything but arrays of numbers, or more than that.
        OSError: It cannot be opened.

    >>> import io
    >>> file = io.BytesIO()
    >>> np.savez(file, x=np.arange(3))
    >>> read_npz(file)
    {'x': array([0, 1, 2])}
    >>> unpacked_bytes(file)
    152
    """
    return _with_archive(
        source,
        lambda archive: {name: _unpacked(archive, member) for name, member in _members(archive, max_bytes).items()},
    )


def unpacked_bytes(source: str | BinaryIO) -> int:
    """What the arrays of a .npz archive take once unpacked, as its directory says; `read_npz` holds it to that.

    Raises:
        ValueError, OSError: As `read_npz`.
    """
    return _with_archive(source, lambda archive: sum(m.file_size for m in _members(archive, math.inf).values()))


def _with_archive(source, use):
    if hasattr(source, "read"):
        return _use_archive(source, source, use)
    with open(source, "rb") as file:
        return _use_archive(file, source, use)


def _use_archive(file: BinaryIO, name, use):
    try:
        with zipfile.ZipFile(file) as archive:
            return use(archive)
    except _ARCHIVE_ERRORS as error:
        raise ValueError(f"{name} is no readable .npz file: {str(error) or type(error).__name__}") from None


def _members(archive: zipfile.ZipFile, max_bytes: float | None) -> dict[str, zipfile.ZipInfo]:
    """The arrays of an archive by name; raises a ValueError where they are anything that NumPy does not write."""
    members = {}
    for member in archive.infolist():
        name = member.orig_filename.removesuffix(".npy")
        if name == member.orig_filename or name in members or not name.isprintable() or set(name) & set("/\\:"):
            raise ValueError(f"it holds {describe(member.orig_filename)}, expected arrays NAME.npy, each once")
        stored = member.compress_type == zipfile.ZIP_STORED and member.compress_size == member.file_size
        if member.flag_bits & 1 or not (stored or member.compress_type == zipfile.ZIP_DEFLATED):
            raise ValueError(f"{describe(name)} is encrypted or packed by another way than NumPy's")
        members[name] = member
    size = archive.fp.seek(0, os.SEEK_END)
    if sum(member.compress_size for member in members.values()) > size:
        raise ValueError(f"its arrays overlap in its {size} bytes")
    most = max(_ALWAYS_UNPACKED, _MOST_PACKED * size) if max_bytes is None else max_bytes
    unpacked = sum(member.file_size for member in members.values())
    if unpacked > most:
        raise ValueError(f"it unpacks to {unpacked} bytes, expected at most {most}")
    return members


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        header = read_npy_header(file)
        header.check_size(member.file_size)
        numbers = np.empty(header.nbytes, np.uint8)
        for start in range(0, len(numbers), _PORTION):
            portion = numbers[start : start + _PORTION]
            if file.readinto(portion) != len(portion):
                raise ValueError(f"{describe(member.filename)} ends too early")
        # At the end of an array its checksum is looked at.
        file.read(1)
    return numbers.view(header.dtype).reshape(header.shape, order=header.order)


def _tensor(path: str, name: str) -> np.ndarray:
    tensors, start = _description(path)
    if not name and len(tensors) == 1:
        (name,) = tensors
    if name not in tensors:
        raise ValueError(f"{path} holds {_listed(tensors)}, expected one of them: {path}:NAME")
    kind, shape, (begin, end) = tensors[name]
    if kind not in _TYPES:
        raise ValueError(f"{path}: {_listed([name])} is of {describe(kind)}, expected a tensor of numbers")
    dtype, size = np.dtype(_TYPES[kind]), os.path.getsize(path) - start
    if end - begin != dtype.itemsize * math.prod(shape) or end > size:
        raise ValueError(f"{path}: the size of {_listed([name])} is not that of its shape {describe(shape)}")
    last = max(end for _, _, (_, end) in tensors.values())
    if last != size:
        raise ValueError(f"{path} has {size} bytes of tensors, and describes {last}")
    array = np.memmap(path, dtype, "r", start + begin, tuple(shape))
    return (array.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else array


def _listed(names: Iterable[str]) -> str:
    """Names from a file: as many as anyone reads, in one line."""
    names = sorted(names)
    shown = [name if name.isprintable() and len(name) <= 60 else ascii(name[:60]) for name in names[:10]]
    return ", ".join(shown) + (f" and {len(names) - 10} more" if len(names) > 10 else "")


def _description(path: str) -> tuple[dict[str, tuple], int]:
    """Type, shape and place of every tensor, and where their data begin: a length in 8 bytes, then JSON, then data."""
    with open(path, "rb") as file:
        size, left = int.from_bytes(file.read(8), "little"), os.fstat(file.fileno()).st_size - 8
        text = file.read(size) if size <= min(left, _LONGEST_DESCRIPTION) else b""
    try:
        header = json.loads(text.decode(), object_pairs_hook=unique_keys)
    except DoubledKey as error:
        raise ValueError(f"{path}: {error}") from error
    except (ValueError, RecursionError):
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is no safetensors file: it does not begin with a description of its tensors")
    tensors = {name: _entry(path, name, entry) for name, entry in header.items() if name != "__metadata__"}
    _check_places(path, tensors)
    return tensors, 8 + size


def _entry(path: str, name: str, entry) -> tuple[str, list[int], list[int]]:
    found = [entry.get(key) for key in ("dtype", "shape", "data_offsets")] if isinstance(entry, dict) else [None] * 3
    kind, shape, offsets = found
    whole = all(
        isinstance(part, list) and all(type(n) is int and 0 <= n < 1 << 63 for n in part) for part in (shape, offsets)
    )
    if not isinstance(kind, str) or not whole or len(shape) > _MOST_DIMENSIONS or len(offsets) != 2:
        raise ValueError(
            f"{path}: {_listed([name])} is described by {describe(list(found))}, expected a tensor of "
            "numbers: its type, shape and two offsets"
        )
    return kind, shape, offsets


def _check_places(path: str, tensors: dict[str, tuple]) -> None:
    """Raises a ValueError where tensors overlap or leave a hole, which the format allows nobody."""
    place = 0
    for (begin, end), name in sorted((offsets, name) for name, (_, _, offsets) in tensors.items()):
        if begin != place or end < begin:
            raise ValueError(
                f"{path}: {_listed([name])} lies at {[begin, end]}, expected it to begin at {place}, "
                "where the tensor before it ends"
            )
        place = end
