"""Pickles of document frequencies as other CIDEr-D code writes them, read without running anything in them."""

import math
import os
from collections.abc import Mapping
from itertools import chain

from ._shared import describe, read_plain_pickle

# Tables of a million captions have some hundred megabytes.
_MOST_BYTES = 1 << 30


def read_pickle(path: str, num_images: int | None) -> tuple[Mapping, int]:
    """Reads {"document_frequency": {n-gram: df}, "ref_len": N}, or the bare {n-gram: df} of coco-val-df.p.

    Args:
        path: The file.
        num_images: N, which the bare form does not hold.

    Returns:
        {n-gram: df}, where an n-gram is a tuple of tokens, and N.

    Raises:
        ValueError: The file is no such pickle, asks for anything but plain containers, strings and numbers, or its N
            is missing, impossible or another one than `num_images`; the message names the file.
        OSError: It cannot be opened.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > _MOST_BYTES:
            raise ValueError(
                f"{path} has {size} bytes, expected a pickle of document frequencies of at most {_MOST_BYTES}"
            )
        content = file.read()
    try:
        content = read_plain_pickle(content)
    except ValueError as error:
        raise ValueError(f"{path} is no pickle of document frequencies: {error}") from error
    if not isinstance(content, dict):
        raise ValueError(f"{path} holds {type(content).__name__}, expected a dict of document frequencies")
    frequencies, stored = content, None
    if "document_frequency" in content:
        frequencies, stored = content["document_frequency"], content.get("ref_len")
    if not isinstance(frequencies, dict):
        raise ValueError(f"{path}: document_frequency is {type(frequencies).__name__}, expected a dict")
    _check_grams(frequencies, path)
    return dict(zip(frequencies, _counts(frequencies, path))), _number(stored, num_images, path)


def _check_grams(frequencies: dict, path: str) -> None:
    if set(map(type, frequencies)) <= {tuple} and all(frequencies):
        if set(map(type, chain.from_iterable(frequencies))) <= {str, int}:
            return
    for gram in frequencies:
        if not isinstance(gram, tuple) or not gram or not all(isinstance(token, str | int) for token in gram):
            found = describe(gram) if isinstance(gram, str) else f"of {type(gram).__name__}"
            raise ValueError(f"{path} holds the n-gram {found}, expected a tuple of tokens")


def _counts(frequencies: dict, path: str) -> list[int]:
    """The frequencies as integers."""
    try:
        counts = list(map(int, frequencies.values()))
        if set(map(type, frequencies.values())) <= {int, float} and counts == list(frequencies.values()):
            return counts
    except (TypeError, ValueError, OverflowError):
        pass
    for gram, frequency in frequencies.items():
        is_number = type(frequency) in (int, float)
        if not is_number or not math.isfinite(frequency) or int(frequency) != frequency:
            found = repr(frequency) if is_number else type(frequency).__name__
            raise ValueError(f"{path}: the document frequency of {_shown(gram)} is {found}, expected a whole number")
    return counts


def _shown(gram: tuple) -> str:
    text = repr(gram)
    return text if len(text) <= 200 else text[:197] + "..."


def _number(stored, num_images, path: str) -> int:
    if stored is None and num_images is None:
        raise ValueError(f"{path} does not hold N; pass num_images (coco-val-df was made of 40504 images)")
    if stored is not None and type(stored) not in (int, float):
        raise ValueError(f"{path}: ref_len (N) is {type(stored).__name__}, expected a positive integer")
    if stored is not None and num_images not in (None, stored):
        raise ValueError(f"num_images is {num_images}, but {path} was made of {stored} images")
    number = num_images if stored is None else stored
    if not isinstance(number, int | float) or not 0 < number < math.inf or int(number) != number:
        raise ValueError(f"{path}: num_images (N) is {number!r}, expected a positive integer")
    return int(number)
