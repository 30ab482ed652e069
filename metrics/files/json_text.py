"""JSON as a text that nobody checked before: UTF-8 with or without a mark, and no key twice."""

import json
from collections import Counter


class DoubledKey(ValueError):
    """An object of a JSON file has a key twice, so that one of two values would be lost."""


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
        raise DoubledKey(f"the key {twice!r} stands twice in one object, expected once")
    return found


def read_json(path: str):
    """Reads a JSON file.

    Raises:
        ValueError: It is not JSON, or not UTF-8, or an object in it has a key twice.
        OSError: It cannot be opened.
    """
    with open(path, encoding="utf-8-sig") as file:
        try:
            return json.load(file, object_pairs_hook=unique_keys)
        except DoubledKey as error:
            raise ValueError(f"{path}: {error}") from error
        except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError(f"{path} is not a JSON file: {error}") from error
