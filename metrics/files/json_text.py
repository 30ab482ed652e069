"""JSON as a text that nobody checked before: UTF-8 with or without a mark, and no key twice; and JSON that is written.

What is no JSON by the standard is refused although Python reads it: NaN and Infinity, and halves of surrogate pairs,
which no text in UTF-8 can hold. What is written has null in their place.
"""

import json
import math
import re
from collections import Counter
from functools import lru_cache

from ..utils.containers import brief
from .text_files import decode_text, read_text


class DoubledKey(ValueError):
    """An object of a JSON file has a key twice, so that one of two values would be lost."""


class NoJsonNumber(ValueError):
    """NaN or Infinity, which Python reads and JSON does not have."""


# Escapes in the order in which they stand, so that the second of two backslashes begins none: a pair of surrogates, a
# lone one (in the group), any other.
_ESCAPES = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_MAY_BE_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def unique_keys(pairs: list[tuple[str, object]]) -> dict:
    """An object of a JSON file, for `object_pairs_hook`.

    Raises:
        DoubledKey: A key stands in it twice; the message names it.

    >>> json.loads('{"1": "a cat", "2": "a dog"}', object_pairs_hook=unique_keys)
    {'1': 'a cat', '2': 'a dog'}
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = Counter(key for key, _ in pairs)
        twice = next(key for key, count in counts.items() if count > 1)
        raise DoubledKey(f"the key {brief(twice)} stands twice in one object, expected once")
    return found


def read_json(path: str):
    """Reads a JSON file.

    Raises:
        ValueError: It is no file, or not JSON, or not UTF-8, or an object in it has a key twice.
        OSError: It cannot be opened.
    """
    return _parse(read_text(path), path, "is not a JSON file")


def read_json_line(content: bytes, path: str, number: int):
    """Reads a line of a JSON Lines file.

    Args:
        content: The line.
        path: Of the file, for messages.
        number: Of the line, from 1.

    Raises:
        ValueError: As `read_json`; the message names the path and the line.
    """
    place = f"{path}, line {number}"
    return _parse(decode_text(content, path, number).rstrip("\r\n"), place, "is no JSON")


def _parse(text: str, place: str, no_json: str):
    try:
        content = json.loads(text, object_pairs_hook=unique_keys, parse_constant=_refuse)
    except (DoubledKey, NoJsonNumber) as error:
        raise ValueError(f"{place}: {error}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in text else f"column {error.colno}"
        raise ValueError(f"{place} {no_json}: {error.msg} at {where}") from None
    except RecursionError:
        raise ValueError(f"{place} {no_json}: it is nested too deeply") from None
    except ValueError:
        # Python reads none of more digits, as that takes time that grows with their square.
        raise ValueError(f"{place} holds an integer of thousands of digits, expected fewer") from None
    _check_surrogates(text, place)
    return content


def _refuse(name: str):
    raise NoJsonNumber(f"{name} stands in it, expected a number that JSON has, or null")


def _check_surrogates(text: str, place: str) -> None:
    if not _MAY_BE_SURROGATE.search(text):
        return
    for found in _ESCAPES.finditer(text):
        if found[1] is not None:
            line = f", line {text.count(chr(10), 0, found.start()) + 1}" if "\n" in text.rstrip() else ""
            raise ValueError(f"{place}{line}: \\{found[1]} is half of a character, expected both halves")


def json_text(content, indent: int | None = 2) -> str:
    """JSON of what is written: null where there is no number, since JSON has neither NaN nor infinity.

    >>> print(json_text({"score": float("nan")}, indent=None))
    {"score": null}
    """
    try:
        return _encoder(indent).encode(content)
    except ValueError:
        # To look first would take longer than to write.
        return _encoder(indent).encode(without_nan(content))


@lru_cache(maxsize=4)
def _encoder(indent: int | None) -> json.JSONEncoder:
    # To make one for each line of a file would take as long again.
    return json.JSONEncoder(indent=indent, allow_nan=False)


def without_nan(content):
    """The same dicts and lists with None for each NaN and infinity.

    >>> without_nan({"interval": [float("nan"), 1.0]})
    {'interval': [None, 1.0]}
    """
    if isinstance(content, dict):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
