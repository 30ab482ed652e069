"""Opens files that hold arrays, memory-mapped: .npy, and .safetensors without the package of that name.

Neither can run code: a .npy file of Python objects is refused.
"""

import json
import os

import numpy as np

from .json_text import DoubledKey, unique_keys

_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1"}


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
        try:
            return np.load(file, mmap_mode="r", allow_pickle=False)
        except (ValueError, EOFError) as error:
            raise ValueError(f"{file} is no readable .npy file: {error}") from None
    if file.endswith(".safetensors"):
        return _tensor(file, name)
    raise ValueError(f"{path} is of an unknown kind, expected .npy or .safetensors")


def _tensor(path: str, name: str) -> np.ndarray:
    header, start = _header(path)
    names = sorted(set(header) - {"__metadata__"})
    if not name and len(names) == 1:
        (name,) = names
    if name not in names:
        raise ValueError(f"{path} holds {', '.join(names)}, expected one of them: {path}:NAME")
    try:
        kind, shape, (begin, end) = (header[name][key] for key in ("dtype", "shape", "data_offsets"))
        dtype = np.dtype("<u2" if kind == "BF16" else _TYPES[kind])
        if end - begin != dtype.itemsize * int(np.prod(shape)) or start + end > os.path.getsize(path):
            raise ValueError(f"{path}: the size of {name} is not that of its shape {shape}")
    except (KeyError, TypeError):
        raise ValueError(f"{path}: {name} is {header[name]}, expected a tensor of numbers") from None
    array = np.memmap(path, dtype, "r", start + begin, tuple(shape))
    return (array.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else array


def _header(path: str) -> tuple[dict, int]:
    """The description of the tensors, and where their data begin: a length in 8 bytes, then JSON, then data."""
    with open(path, "rb") as file:
        size = int.from_bytes(file.read(8), "little")
        text = file.read(size) if size <= os.path.getsize(path) else b""
    try:
        header = json.loads(text, object_pairs_hook=unique_keys)
    except DoubledKey as error:
        raise ValueError(f"{path}: {error}") from error
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise ValueError(f"{path} is no safetensors file: it does not begin with a description of its tensors")
    return header, 8 + size
