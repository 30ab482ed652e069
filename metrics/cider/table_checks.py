"""What a table of document frequencies must be, before any of it is believed: its settings, tokens and arrays."""

import json
from collections.abc import Mapping, Sequence
from numbers import Integral

import numpy as np

from ._shared import describe, unique_keys

FORMAT = 1
# Those of CIDEr's options on which a table depends.
TABLE_OPTIONS = ("n", "tokenizer", "stem", "end_token")
SETTINGS = ("num_images", *TABLE_OPTIONS, "final")


def settings_in(content: dict) -> dict:
    """The settings and tokens of a file, which `DocumentFrequencies.save` wrote as JSON into an array of bytes.

    Takes that array out of the content. Raises a ValueError where it is none.
    """
    if "table" not in content:
        raise ValueError(f"it holds {describe(sorted(content))}, expected an array named table")
    try:
        settings = json.loads(content.pop("table").tobytes(), object_pairs_hook=unique_keys)
    except RecursionError:
        settings = None
    if not isinstance(settings, dict):
        raise ValueError("its array named table is no JSON of settings")
    return settings


def check_table(table: Mapping) -> None:
    """Raises a ValueError where a mapping is not what `to_dict` gives."""
    # An n that has no arrays is not counted up to.
    n = table.get("n")
    orders = range(1, n + 1) if isinstance(n, int) and n <= len(table) else ()
    arrays = [f"{kind}_{k}" for k in orders for kind in ("keys", "frequencies")]
    missing = [key for key in ("format", "vocabulary", *SETTINGS, *arrays) if key not in table]
    if missing or table["format"] != FORMAT:
        lack = f"it lacks {', '.join(missing)}" if missing else f"its format is {describe(table['format'])}"
        raise ValueError(f"no table of document frequencies of format {FORMAT}: {lack}")
    _check_settings(table, orders)
    parents = 1
    for k in orders:
        keys, frequencies = np.asarray(table[f"keys_{k}"]), np.asarray(table[f"frequencies_{k}"])
        kinds = {array.dtype.kind for array in (keys, frequencies) if array.size}
        if kinds - {"i"} or keys.shape != frequencies.shape or keys.ndim != 1 or (np.diff(keys) <= 0).any():
            raise ValueError(f"keys_{k} and frequencies_{k} are not ascending integers and as many integers")
        if len(keys) and not 0 <= int(keys[0]) <= int(keys[-1]) < parents * len(table["vocabulary"]):
            raise ValueError(
                f"keys_{k} are {keys[0]} to {keys[-1]}, expected 0 to {parents} * "
                f"{len(table['vocabulary'])} - 1, of the n-grams before them and the tokens"
            )
        # Before they are made narrower.
        check_frequencies(frequencies, k, table["num_images"])
        parents = len(keys)


def _check_settings(table: Mapping, orders: Sequence[int]) -> None:
    if not orders or isinstance(table["n"], bool):
        raise ValueError(f"n is {describe(table['n'])}, expected the number of its orders")
    number = table["num_images"]
    if not isinstance(number, int) or isinstance(number, bool) or number < 1:
        raise ValueError(f"num_images is {describe(number)}, expected a positive integer")
    vocabulary = table["vocabulary"]
    kinds = set(map(type, vocabulary)) if isinstance(vocabulary, list) else {object}
    if not all(issubclass(kind, str | Integral) and kind is not bool for kind in kinds):
        raise ValueError("vocabulary holds something else than texts or ids, expected a list of tokens")
    if len(set(vocabulary)) < len(vocabulary):
        raise ValueError("vocabulary holds a token twice")
    for name, kind in (("stem", bool), ("final", bool), ("tokenizer", str)):
        if not isinstance(table[name], kind):
            raise ValueError(f"{name} is {describe(table[name])}, expected {kind.__name__}")


def check_frequencies(frequencies: np.ndarray, order: int, num_images: int) -> None:
    """Raises a ValueError where an n-gram is in fewer images than none or in more than there are."""
    low, high = frequencies.min(initial=0), frequencies.max(initial=0)
    if low < 0 or high > num_images:
        # As large as a float can be it has 300 digits.
        wrong = str(low if low < 0 else high)[:30]
        raise ValueError(
            f"the document frequency of an n-gram of order {order} is {wrong}, expected 0 to num_images={num_images}: "
            "is the number of images right?"
        )
