"""Pickles of document frequencies as other CIDEr-D code writes them, read without running anything in them."""

import math
import pickle
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Mapping

# What a damaged or hostile pickle can make the unpickler raise, beyond its own error.
_UNPICKLING_ERRORS = (pickle.UnpicklingError, AttributeError, EOFError, IndexError, KeyError, TypeError, ValueError)


def read_pickle(path: str, num_images: int | None) -> tuple[Mapping, int]:
    """Reads {"document_frequency": {n-gram: df}, "ref_len": N}, or the bare {n-gram: df} of coco-val-df.p.

    Args:
        path: The file.
        num_images: N, which the bare form does not hold.

    Returns:
        {n-gram: df}, where an n-gram is a tuple of tokens, and N.

    Raises:
        ValueError: The file is no such pickle, asks for anything but plain containers, strings and numbers, or its N
            is missing, impossible or another one than `num_images`.
        OSError: It cannot be opened.
    """
    with open(path, "rb") as file:
        try:
            content = _PlainUnpickler(file, encoding="utf-8").load()
        except _UNPICKLING_ERRORS as error:
            raise ValueError(f"{path} is no pickle of document frequencies: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds {type(content).__name__}, expected a dict of document frequencies")
    frequencies, stored = content, None
    if "document_frequency" in content:
        frequencies, stored = content["document_frequency"], content.get("ref_len")
    if not isinstance(frequencies, dict):
        raise ValueError(f"{path}: document_frequency is {type(frequencies).__name__}, expected a dict")
    return {_gram(gram): _count(df, gram) for gram, df in frequencies.items()}, _number(stored, num_images, path)


def _gram(gram) -> tuple:
    if not isinstance(gram, tuple) or not gram or not all(isinstance(token, str | int) for token in gram):
        raise ValueError(f"n-gram {gram!r}, expected a tuple of tokens")
    return gram


def _count(frequency, gram) -> int:
    if not isinstance(frequency, int | float) or not math.isfinite(frequency) or int(frequency) != frequency:
        raise ValueError(f"the document frequency of {gram!r} is {frequency!r}, expected a whole number")
    return int(frequency)


def _number(stored, num_images, path: str) -> int:
    if stored is None and num_images is None:
        raise ValueError(f"{path} does not hold N; pass num_images (coco-val-df was made of 40504 images)")
    if stored is not None and num_images not in (None, stored):
        raise ValueError(f"num_images is {num_images}, but {path} was made of {stored} images")
    number = num_images if stored is None else stored
    if not isinstance(number, int | float) or not number > 0 or int(number) != number:
        raise ValueError(f"num_images (N) is {number!r}, expected a positive integer")
    return int(number)


class _PlainUnpickler(pickle.Unpickler):
    """Unpickles plain containers, strings and numbers; refuses every other class or function."""

    _ALLOWED = {
        **{("collections", kind.__name__): kind for kind in (defaultdict, OrderedDict, Counter)},
        **{
            (module, kind.__name__): kind
            for module in ("builtins", "__builtin__")
            for kind in (int, float, str, list, tuple, dict, set)
        },
        ("__builtin__", "long"): int,
        ("__builtin__", "unicode"): str,
    }

    def find_class(self, module, name):
        if (module, name) not in self._ALLOWED:
            raise ValueError(f"the pickle asks for {module}.{name}, expected plain containers and numbers only")
        return self._ALLOWED[module, name]
