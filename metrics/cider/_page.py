# Generated from metrics/page and metrics/files and metrics/utils by `make bundles`: edit it there.

import atexit
import csv
import gradio as gr
import html
import importlib
import inspect
import json
import math
import numbers
import numpy as np
import os
import pandas as pd
import re
import shutil
import stat
import struct
import sys
import tempfile
import threading
import time
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, chain
from pathlib import Path
from pprint import pformat
from reprlib import Repr
from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse
from typing import BinaryIO, NamedTuple


# ---- metrics/utils/containers.py

"""Containers of other packages read as lists, and datasets without their format: one place for all that is passed.

Lists, tuples, arrays of NumPy, torch and Arrow, Series of pandas and polars, columns of datasets. What is read is what
is stored: the format of a dataset ("torch", "numpy", a transform) serves a model's input and is left out. What shows
less than it holds, or holds what cannot be read, is an error. No other package is imported here: whoever has its
container has imported it.
"""


# Read by one call, as Python's own items: of Arrow; of NumPy, torch and pandas; of polars; of Arrow's scalars.
_METHODS = ("to_pylist", "tolist", "to_list", "as_py")

# What NumPy has too, and bfloat16, whose bits are those of a float32.
_WHOLE = "uint8 int8 uint16 int16 uint32 int32 uint64 int64"
_TENSOR_TYPES = frozenset(f"bool {_WHOLE} float16 bfloat16 float32 float64 complex64 complex128".split())

_OWN_TYPES = frozenset({str, int, float, bool, list, tuple, dict, type(None)})


def as_list(values, place: str) -> list:
    """Turns a container of items into a list; a list is returned as it is.

    Args:
        values: A list, tuple, NumPy array, torch tensor, pandas or polars Series, Arrow array, or a column of a
            datasets.Dataset, which is read without the dataset's format.
        place: Its name in an error.

    Raises:
        TypeError: It is a single text, a mapping, a set, a generator or no container at all; or see `check_readable`.

    >>> as_list(("a", "b"), "predictions")
    ['a', 'b']
    """
    if isinstance(values, list):
        return values
    check_readable(values, place)
    found = stored_column(values) if is_column(values) else values
    for method in _METHODS:
        if hasattr(found, method):
            found = getattr(found, method)()
            break
    if isinstance(found, list | tuple):
        return list(found)
    raise TypeError(f"{place} is {describe(values)}, expected a list (or tuple, array, Series, Column) of items")


def as_items(values, place: str) -> list:
    """`as_list`, its items as `as_item` makes them; a list of Python's own items is returned as it is.

    >>> import numpy as np
    >>> as_items([np.str_("a"), "b"], "by"), as_items([np.int64(1), np.array(2)], "by")
    (['a', 'b'], [1, 2])
    """
    values = as_list(values, place)
    # The set of types is found at C speed.
    if set(map(type, values)) <= _OWN_TYPES:
        return values
    return [as_item(value, f"{place}[{i}]") for i, value in enumerate(values)]


def as_item(value, place: str):
    """A scalar of NumPy, torch or Arrow as Python's own: such are the items of a list made of an array.

    Raises:
        TypeError: See `check_readable`.
    """
    if type(value) in _OWN_TYPES:
        return value
    check_readable(value, place)
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def is_container(value) -> bool:
    """Whether it is a list, or something that `as_list` may read; a text, a mapping and a scalar are not.

    >>> is_container([1]), is_container("a"), is_container({"a": 1}), is_container(1)
    (True, False, False, False)
    """
    if isinstance(value, list | tuple) or is_column(value):
        return True
    return getattr(value, "shape", None) != () and any(hasattr(value, method) for method in _METHODS)


def check_readable(values, place: str) -> None:
    """Refuses arrays and tensors whose numbers are hidden, elsewhere, or of a type that NumPy does not know.

    A masked array is refused with or without a masked number in it: else a run would end at the first batch that has
    one. An np.matrix has two dimensions whatever is taken out of it.

    Raises:
        TypeError: It is one; the message says what was expected.

    >>> import numpy as np
    >>> check_readable(np.ma.masked_array([1, 2]), "predictions")
    Traceback (most recent call last):
        ...
    TypeError: predictions is a masked array, expected an array without a mask (its .filled(...), or .data to take all)
    """
    problem = _unreadable(values)
    if problem:
        found, expected = problem
        raise TypeError(f"{place} is {found}, expected {expected}")


def _unreadable(values) -> tuple[str, str] | None:
    if is_tensor(values):
        return _unreadable_tensor(values)
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(values, numpy.ndarray):
        if isinstance(values, numpy.ma.MaskedArray):
            return "a masked array", "an array without a mask (its .filled(...), or .data to take all)"
        if isinstance(values, numpy.matrix):
            return "an np.matrix", "an array (np.asarray of it)"
        return None
    if type(values).__module__.startswith("scipy.sparse"):
        return f"a sparse {type(values).__name__} of SciPy", "an array (its .toarray())"
    return None


def _unreadable_tensor(tensor) -> tuple[str, str] | None:
    dtype, layout = (str(kind).removeprefix("torch.") for kind in (tensor.dtype, tensor.layout))
    if tensor.is_nested:
        return "a nested tensor", "a padded tensor, or a list of tensors (its .unbind())"
    if tensor.is_quantized:
        return f"a quantized tensor ({dtype})", "one of floats (its .dequantize())"
    if layout != "strided":
        return f"a tensor of the layout {layout}", "a dense one (its .to_dense())"
    if tensor.is_meta:
        return "a meta tensor, which has a shape and no numbers", "one with numbers"
    if dtype not in _TENSOR_TYPES:
        return f"a tensor of {dtype}", "a type that NumPy has, or bfloat16 (its .float())"
    return None


def is_tensor(values) -> bool:
    """Whether it is a torch tensor."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(values, torch.Tensor)


def is_column(values) -> bool:
    """Whether it is a column of a datasets.Dataset, which is read when it is asked for its rows.

    That of a streamed dataset is none: it has no length, and reading it would be a pass over the whole stream.
    """
    return hasattr(values, "source") and hasattr(values, "column_name") and hasattr(values, "__len__")


def stored_column(column, format_=None):
    """What a column of a datasets.Dataset holds, without the format of its dataset.

    Args:
        column: Of a dataset, or of such a column (a field of its rows).
        format_: Another format to read it in, such as "arrow".

    Returns:
        A list, or what the format gives.
    """
    if is_column(column.source):
        return [row[column.column_name] for row in stored_column(column.source)]
    found = unformatted(column.source, format_)[column.column_name]
    return found[:] if is_column(found) else found


def unformatted(dataset, format_=None):
    """A dataset of `datasets`, streamed or not, that gives its rows as they are stored; all else as it is.

    A transform may leave columns out or change them, and a format turns texts and ids into arrays of its own.

    Args:
        dataset: The dataset; it is not changed.
        format_: Another format to read it in.
    """
    if not hasattr(dataset, "with_format"):
        return dataset
    own = getattr(dataset, "format", None)
    plain_already = isinstance(own, Mapping) and own["type"] is None and own["columns"] == dataset.column_names
    # A copy has a fingerprint of its own, by which results are cached.
    return dataset if plain_already and format_ is None else dataset.with_format(format_)


def column_names(dataset) -> list | None:
    """The names of the columns of a dataset, data frame or mapping; None where it is none.

    >>> column_names({"a": [1]}), column_names([1])
    (['a'], None)
    """
    names = getattr(dataset, "column_names", None)
    if names is None and isinstance(dataset, Mapping):
        names = dataset
    if names is None:
        names = getattr(dataset, "columns", None)
    return None if names is None or callable(names) else list(names)


def describe(value) -> str:
    """Names what was found, shortly.

    >>> describe(5), describe(None), describe(float("nan"))
    ('int 5', 'None', 'float nan')
    """
    return "None" if value is None else f"{type(value).__name__} {brief(value, 40)}"


_LONGEST_INT_BITS = 512


class _Brief(Repr):
    """`repr` that looks at no more of a value than it shows, and goes no deeper than a few levels."""

    def __init__(self, most: int):
        super().__init__()
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxarray = most
        self.maxother = self.maxlong = 4 * most
        self.most = most

    def repr_str(self, text: str, level: int) -> str:
        return repr(text[: self.most])

    def repr_bytes(self, text: bytes, level: int) -> str:
        return repr(text[: self.most])

    def repr_int(self, number: int, level: int) -> str:
        # Python refuses to write thousands of digits.
        bits = number.bit_length()
        return repr(number) if bits <= _LONGEST_INT_BITS else f"<an integer of {bits} bits>"

    def repr_dict(self, values: dict, level: int) -> str:
        if level <= 0:
            return "{...}" if values else "{}"
        pairs = [
            f"{self.repr1(key, level - 1)}: {self.repr1(value, level - 1)}"
            for key, value, _ in zip(values, values.values(), range(self.most))
        ]
        return "{" + ", ".join(pairs + ["..."] * (len(values) > self.most)) + "}"


def brief(value, most: int = 60) -> str:
    """`repr` of a value, cut off: of any size, and nested as deep as it may be.

    Args:
        value: What was found.
        most: Length of the result.

    >>> brief(["a cat"]), brief({"caption": "a" * 100}, 20)
    ("['a cat']", "{'caption': 'aaaa...")
    """
    text = _Brief(most).repr(value)
    return text if len(text) <= most else text[: most - 3] + "..."


# ---- metrics/utils/checks.py

"""Input checked item by item, options by kind, and settings as a signature: what all metrics begin with.

`evaluate` looks at the first item only and lets the rest be cast: an int among captions quotes all of them, a NaN
becomes the word "nan". Here every item is looked at before anything is stored or scored. Importing this module
imports neither evaluate nor NumPy.
"""


VERSION = "0.1.0"


def as_lists(predictions, references, item: str = "sample") -> tuple[list, list]:
    """Turns both containers into lists of the same length, at least one long.

    Args:
        predictions, references: The containers, see `containers.as_list`.
        item: What one of them is called in an error.

    Raises:
        ValueError: They differ in number, or there is none.
        TypeError: One is no container.

    >>> as_lists(("a",), ["b"])
    (['a'], ['b'])
    """
    predictions, references = as_items(predictions, "predictions"), as_items(references, "references")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions and {len(references)} references, expected as many of both")
    if not predictions:
        raise ValueError(f"predictions is empty, expected at least one {item}")
    return predictions, references


def check_captions(predictions, references) -> tuple[list, list[list]]:
    """Checks candidates and references, texts or token ids.

    Args:
        predictions: One text, or one list of token ids, per sample.
        references: Per sample, one reference or a list of them. A list of texts is always a list of captions; among
            token ids a flat list of ints is one reference.

    Returns:
        Predictions as a list of str or of lists of int; references as a list of lists of them.

    Raises:
        ValueError: There is no sample, the two differ in number, or a sample has no reference.
        TypeError: An item is of another type (the message names it), or texts and ids are mixed.

    >>> check_captions(["a cat"], ["the cat"])
    (['a cat'], [['the cat']])
    """
    predictions, references = as_lists(predictions, references)
    if isinstance(predictions[0], str):
        return _texts(predictions, "predictions[{}]"), _text_groups(references)
    whole = f"one caption per prediction, not a list of them{looks_swapped(references)}"
    return [_ids(item, f"predictions[{i}]", whole) for i, item in enumerate(predictions)], _id_groups(references)


def looks_swapped(references: Iterable) -> str:
    """What to add where predictions are lists: whether the references are single items, as predictions should be.

    >>> looks_swapped(["a cat", "a dog"]), looks_swapped([["a cat"]])
    (' (references are single ones: are the two swapped?)', '')
    """
    single = all(isinstance(item, str | numbers.Integral) or _starts_with_id(item) for item in references)
    return " (references are single ones: are the two swapped?)" if single else ""


def _starts_with_id(item) -> bool:
    return isinstance(item, list | tuple) and bool(item) and isinstance(item[0], numbers.Integral)


def check_references(references) -> list[list]:
    """Checks references alone, as `check_captions` does, for a table of document frequencies.

    >>> check_references(["a cat", ["a dog", "the dog"]])
    [['a cat'], ['a dog', 'the dog']]
    """
    references = as_items(references, "references")
    if not references:
        raise ValueError("references is empty, expected at least one image")
    first = references[0]
    if not isinstance(first, str):
        first = next(iter(as_list(first, "references[0]")), None)
    return _text_groups(references) if isinstance(first, str) else _id_groups(references)


def _texts(items: list, place: str) -> list[str]:
    # The set of types is found at C speed; only where it is not {str} does a Python loop look for the place.
    if set(map(type, items)) == {str}:
        return items
    return [_text(item, place.format(i)) for i, item in enumerate(items)]


def _text(item, place: str) -> str:
    item = as_item(item, place)
    if not isinstance(item, str):
        raise TypeError(f"{place} is {describe(item)}, expected str")
    return str(item)


def _text_groups(references: list) -> list[list[str]]:
    groups = [
        group if type(group) is list else [group] if isinstance(group, str) else as_list(group, f"references[{i}]")
        for i, group in enumerate(references)
    ]
    if not all(groups):
        _no_reference(groups)
    if set(map(type, chain.from_iterable(groups))) == {str}:
        return groups
    return [_texts(group, f"references[{i}][{{}}]") for i, group in enumerate(groups)]


def _no_reference(groups: list) -> None:
    place = next(i for i, group in enumerate(groups) if not group)
    raise ValueError(f"references[{place}] is an empty list, expected at least one reference")


def _id_groups(references: list) -> list[list[list[int]]]:
    groups = []
    for i, group in enumerate(references):
        group = as_items(group, f"references[{i}]")
        if group and isinstance(group[0], numbers.Integral):
            group = [group]
        groups.append([_ids(item, f"references[{i}][{j}]") for j, item in enumerate(group)])
    if not all(groups):
        _no_reference(groups)
    return groups


def _ids(item, place: str, whole: str = "") -> list[int]:
    if not is_container(item):
        raise TypeError(f"{place} is {describe(item)}, expected str in all items, or a list of token ids in all items")
    item = as_items(item, place)
    for k, token in enumerate(item):
        if isinstance(token, bool) or not isinstance(token, numbers.Integral):
            caption = whole and isinstance(token, str | list | tuple)
            raise TypeError(f"{place}[{k}] is {describe(token)}, expected {whole if caption else 'int (a token id)'}")
    return [int(token) for token in item]


def not_stored(columns: dict[str, list]) -> str:
    """A sentence on the first item that Arrow cannot hold: an integer beyond 64 bits, half of a surrogate pair.

    >>> not_stored({"predictions": [[1, 2], [3, 1 << 63]]})
    'predictions[1][1] is int 9223372036854775808, expected an integer of 64 bits (-2**63 to 2**63 - 1)'
    """
    found = chain.from_iterable(_not_stored(values, place) for place, values in columns.items())
    return next(found, f"Arrow cannot hold an item of {' or '.join(columns)}, expected text or integers of 64 bits")


def _not_stored(values, place: str) -> Iterator[str]:
    if isinstance(values, list):
        yield from chain.from_iterable(_not_stored(item, f"{place}[{i}]") for i, item in enumerate(values))
    elif isinstance(values, numbers.Integral) and not -(1 << 63) <= values < 1 << 63:
        yield f"{place} is {describe(values)}, expected an integer of 64 bits (-2**63 to 2**63 - 1)"
    elif isinstance(values, str) and any("\ud800" <= letter <= "\udfff" for letter in values):
        yield f"{place} is {describe(values)}, expected Unicode text: it holds half of a surrogate pair"


def signature(name: str, settings: dict) -> str:
    """Joins settings to one line that says how a score was made; None values are left out.

    >>> signature("cider_d", {"n": 4, "stem": False, "refs": None})
    'cider_d|n:4|stem:no|v:0.1.0'
    """
    shown = {
        key: {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        for key, value in {**settings, "v": VERSION}.items()
    }
    return "|".join([name, *(f"{key}:{value}" for key, value in shown.items() if value is not None)])


def reference_counts(counts: Iterable[int]) -> str:
    """The number of references per sample: "5", or "1-5" where it varies.

    >>> reference_counts([1, 5, 2]), reference_counts([5, 5])
    ('1-5', '5')
    """
    sizes = set(counts)
    return str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)}-{max(sizes)}"


# ---- metrics/page/bounds.py

"""What a page takes on for one visitor, so that no other waits long: all bounds, and the checks by them.

A page of the largest allowed input is answered in seconds. In Python and on the command line there are no bounds.
"""


class Bound(NamedTuple):
    """The most that a page takes of something, and what that is."""

    most: int
    about: str


# Of every page; the sizes in bytes.
_OF_ALL = {
    "file": Bound(50_000_000, "bytes of an uploaded file"),
    "request": Bound(20_000_000, "bytes of a request without a file"),
    "n_resamples": Bound(10_000, "`n_resamples`"),
    "draws": Bound(50_000_000, "samples times `n_resamples`, with intervals"),
    "shown": Bound(1_000, "rows of the table of results"),
    "explained": Bound(5_000, "rows that say why, in the CSV"),
    "option": Bound(100, "characters, or numbers, of an option"),
}
OF_TEXTS = {
    "samples": Bound(10_000, "samples"),
    "text": Bound(10_000, "characters of one text"),
    "sample": Bound(100_000, "characters of one sample with its references"),
    "characters": Bound(3_000_000, "characters in all; a token id counts as one"),
    **_OF_ALL,
}
OF_NGRAMS = {**OF_TEXTS, "ngrams": Bound(12_000_000, "characters in all times the highest order of n-grams")}
# Of n-grams weighted by a table.
OF_WEIGHTED = {
    **OF_NGRAMS,
    "n": Bound(10, "`n`"),
    "unpacked": Bound(64_000_000, "bytes that an uploaded .npz unpacks to"),
}
# Answers are compared letter by letter.
OF_ANSWERS = {**OF_TEXTS, "text": Bound(500, "characters of one answer")}
# A model reads them.
OF_DESCRIPTIONS = {
    **OF_TEXTS,
    "samples": Bound(500, "samples"),
    "characters": Bound(200_000, "characters in all"),
    "batch_size": Bound(256, "`batch_size`"),
}
OF_SIMILARITIES = {
    "samples": Bound(20_000, "rows, and columns"),
    "cells": Bound(30_000_000, "similarities (rows times columns)"),
    "products": Bound(20_000_000_000, "similarities times the width of embeddings"),
    "k": Bound(1_000_000, "a number in `k`"),
    "folds": Bound(100, "`folds`"),
    **_OF_ALL,
}
# How deep lists may stand in each other: those of the references, of texts, of a text's tokens, and one to spare.
_DEEPEST = 4


def bounds_table(bounds: Mapping[str, Bound]) -> str:
    """The bounds as a table in Markdown, for the page and the card.

    >>> print(bounds_table({"n": Bound(10, "`n`")}))
    | the page takes at most | |
    |---|---|
    | `n` | 10 |
    """
    rows = [f"| {bound.about} | {bound.most:,} |" for bound in bounds.values()]
    return "\n".join(["| the page takes at most | |", "|---|---|", *rows])


def check_most(bounds: Mapping[str, Bound], name: str, found: int, place: str = "") -> None:
    """Checks one number by the bound of that name, where there is one.

    Raises:
        ValueError: It is larger.
    """
    if name in bounds and found > bounds[name].most:
        what = bounds[name].about
        raise ValueError(
            f"{place and place + ': '}{what}: {found:,}, expected at most {bounds[name].most:,} on this "
            "page; evaluate in Python takes more"
        )


def check_option(bounds: Mapping[str, Bound], name: str, value) -> None:
    """Checks the value of an option, which may be anything that JSON has.

    Raises:
        ValueError: It is too long, or a number is out of bounds.
        TypeError: Something that has a bound is no integer, or it is an object.
    """
    if isinstance(value, Mapping):
        raise TypeError(f"{name} is {describe(value)}, expected one value")
    if isinstance(value, str | list | tuple):
        check_most(bounds, "option", len(value), name)
    for number in value if isinstance(value, list | tuple) else (value,):
        if isinstance(number, list | tuple | Mapping):
            raise TypeError(f"{name} holds {describe(number)}, expected values")
        if name in bounds and number is not None:
            _check_integer(bounds[name].most, name, number)


def _check_integer(most: int, name: str, number) -> None:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{name} is {describe(number)}, expected an integer")
    if not 0 <= number <= most:
        shown = number if abs(number) < 10**15 else "a number of many digits"
        raise ValueError(f"{name} is {shown}, expected at least 1 and at most {most:,} on this page")


def check_texts(bounds: Mapping[str, Bound], arguments: Mapping, order: int = 1) -> None:
    """Checks how much text there is, whatever else is wrong with it.

    Args:
        bounds: The page's.
        arguments: Of `compute`: lists with a text, a list of token ids, or a list of these, per sample.
        order: The highest order of n-grams.

    Raises:
        ValueError: There is too much of something.
    """
    for name, values in arguments.items():
        check_most(bounds, "samples", len(values) if isinstance(values, list | tuple | str) else 0, name)
    longest = max((len(leaf) for leaf in _leaves(arguments.values()) if isinstance(leaf, str)), default=0)
    check_most(bounds, "text", longest)
    sizes = sample_sizes(arguments)
    check_most(bounds, "sample", max(sizes, default=0))
    check_most(bounds, "characters", sum(sizes))
    check_most(bounds, "ngrams", sum(sizes) * order)


def check_draws(bounds: Mapping[str, Bound], samples: int, options: Mapping) -> None:
    """Checks the work of the bootstrap.

    Raises:
        ValueError: It is too much.
    """
    if options.get("confidence_level") is not None:
        check_most(bounds, "draws", samples * options.get("n_resamples", 1000))


def sample_sizes(arguments: Mapping) -> list[int]:
    """The characters of each sample, over all arguments.

    >>> sample_sizes({"predictions": ["a cat", ""], "references": [["a dog", "dogs"], ["a"]]})
    [14, 1]
    """
    columns = [value for value in arguments.values() if isinstance(value, list | tuple)]
    sizes = [0] * max(map(len, columns), default=0)
    for column in columns:
        for row, value in enumerate(column):
            sizes[row] += sum(len(leaf) if isinstance(leaf, str) else 1 for leaf in _leaves([value]))
    return sizes


def few_enough(bounds: Mapping[str, Bound], arguments: Mapping, samples: int) -> int:
    """How many samples, from the first on, are explained: rows and their characters both have a bound."""
    most = min(samples, bounds["explained"].most)
    if "ngrams" not in bounds:
        return most
    work = accumulate(sample_sizes(arguments)[:most])
    return sum(done <= bounds["characters"].most for done in work)


def _leaves(values: Iterable) -> Iterator:
    """All that stands in lists and objects, however deep, without recursion."""
    level = list(values)
    for _ in range(_DEEPEST + 1):
        nested = [value for value in level if isinstance(value, list | tuple | Mapping)]
        if len(nested) < len(level):
            yield from (value for value in level if not isinstance(value, list | tuple | Mapping))
        if not nested:
            return
        level = list(chain.from_iterable(value.values() if isinstance(value, Mapping) else value for value in nested))
    raise ValueError(f"lists stand in lists more than {_DEEPEST} deep, expected samples with their texts")


# ---- metrics/utils/shown_text.py

"""Text of files and of users where people read it: what a terminal would obey stands there as a visible escape."""


# Controls (C0, C1), lone surrogates, line and paragraph separators, what turns the direction of writing, and invisible
# tags. Joiners stay: emoji and several scripts are written with them.
_OBEYED = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    "\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""Text in one line, with nothing in it that a terminal would obey or could not show.

    Args:
        text: Any text, such as an id, a caption, a label, a path or a message with them.

    Returns:
        The text; control characters, also those that turn the direction of writing, as their Python escapes.

    >>> print(visible("a cat\x1b[2J, un café\n"))
    a cat\x1b[2J, un café\n
    """
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


# ---- metrics/files/text_files.py

"""Text files that nobody checked before: UTF-8, with or without a mark, and whatever else stands under the name."""


# How long a pipe without a writer is waited for.
_PIPE_SECONDS = 3.0
_CHUNK_BYTES = 1 << 20
# UTF-32 first, since its mark begins with that of UTF-16.
_OTHER_KINDS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "compressed (gzip)",
    b"PK\x03\x04": "compressed (zip)",
    b"BZh": "compressed (bzip2)",
    b"\xfd7zXZ\x00": "compressed (xz)",
    b"\x28\xb5\x2f\xfd": "compressed (zstd)",
    b"PAR1": "Parquet",
    b"\x93NUMPY": "a NumPy array",
}
_MARK = b"\xef\xbb\xbf"


def read_text(path: str) -> str:
    """Reads a text file, or a pipe that somebody writes to.

    Args:
        path: The file.

    Returns:
        Its text, without a byte-order mark.

    Raises:
        ValueError: It is no file, or its content is no UTF-8 text; the message names the path, and the line.
        OSError: It cannot be opened.
    """
    check_is_file(path, pipes=True)
    content = _read_bytes(path)
    if not content.strip():
        raise ValueError(f"{path} is empty, expected a text")
    return decode_text(content, path)


def check_is_file(path: str, pipes: bool = False) -> None:
    """Checks that a path leads to a file, which ends: a device may not.

    Args:
        path: The path.
        pipes: Whether a pipe will do.

    Raises:
        ValueError: It leads to something else.
        OSError: There is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
    raise ValueError(f"{path} is {kind}, expected a file")


def decode_text(content: bytes, path: str, line: int | None = None) -> str:
    """Decodes a text, or a line of one.

    Args:
        content: The bytes.
        path: Where they stand, for messages.
        line: Number of the line that they are; None of a whole file.

    Raises:
        ValueError: They are no UTF-8 text; the message names the path and the line.
    """
    is_start = line is None or line == 1
    if is_start:
        kind = next((kind for start, kind in _OTHER_KINDS.items() if content.startswith(start)), None)
        if kind is not None:
            raise ValueError(f"{path} is {kind}, expected a text in UTF-8")
        content = content.removeprefix(_MARK)
    place = content.find(b"\0")
    if place >= 0:
        raise ValueError(
            f"{path}, line {_line(content, place, line)} holds a NUL byte, as UTF-16 does, expected a text in UTF-8"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        where = _line(content, error.start, line)
        found = f"byte 0x{content[error.start]:02x} ({error.reason})"
        raise ValueError(f"{path}, line {where} is not UTF-8: {found}") from None


def _line(content: bytes, place: int, first: int | None) -> int:
    return content.count(b"\n", 0, place) + (first or 1)


def _read_bytes(path: str) -> bytes:
    # Without O_NONBLOCK to open a pipe waits until somebody writes, perhaps for ever.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            start = _first_of_pipe(descriptor)
            os.set_blocking(descriptor, True)
            return start + file.readall()
        return file.readall()


def _first_of_pipe(descriptor: int) -> bytes:
    """The first bytes of a pipe: none where nobody writes, or where a writer takes its time."""
    until = time.monotonic() + _PIPE_SECONDS
    while time.monotonic() < until:
        try:
            found = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return b""  # There is a writer: it is waited for as long as it takes.
        if found:
            return found
        time.sleep(0.02)
    return b""


# ---- metrics/files/json_text.py

"""JSON as a text that nobody checked before: UTF-8 with or without a mark, and no key twice; and JSON that is written.

What is no JSON by the standard is refused although Python reads it: NaN and Infinity, and halves of surrogate pairs,
which no text in UTF-8 can hold. What is written has null in their place.
"""


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


# ---- metrics/files/captions.py

"""Files of the field -> predictions and references.

Captions come as COCO's annotation file (a dict whose `annotations` list holds image_id and caption), as a results list
of {image_id, caption}, or as pycocoevalcap takes them, {image id: [caption, ...]}. Ids are compared as text, so that
42 and "42" are the same image.
"""


# Of ids in messages.
_LONGEST_ID = 200


class CaptionSet(NamedTuple):
    """Candidates and references of the same images, in the order of the predictions file.

    Attributes:
        ids: Image ids, as text.
        predictions: One caption per image.
        references: The captions of each image.
        left_out: Number of ids that only one of the two files has, and that were left out on request.
    """

    ids: list[str]
    predictions: list[str]
    references: list[list[str]]
    left_out: int


def read_captions(path: str) -> list[tuple[str, str]]:
    """Reads (image id, caption) pairs from one of the three formats.

    Raises:
        ValueError: The file has another shape; the message names the place.
    """
    content = read_json(path)
    place = path
    if isinstance(content, dict):
        if "annotations" not in content:
            return _captions_by_id(content, path)
        content, place = content["annotations"], f"{path}: annotations"
    if not isinstance(content, list):
        raise ValueError(f"{place} is {type(content).__name__}, expected a list of {{image_id, caption}}")
    return [_caption(row, f"{place}[{number}]") for number, row in enumerate(content)]


def _captions_by_id(content: dict, path: str) -> list[tuple[str, str]]:
    groups = {image_id: [group] if isinstance(group, str) else group for image_id, group in content.items()}
    for image_id, group in groups.items():
        if not isinstance(group, list) or not group or not all(isinstance(caption, str) for caption in group):
            raise ValueError(
                f"{path} is a dict with the key {brief(image_id)}, expected annotations among the keys, or a list of "
                "captions under every image id"
            )
    return [(image_id, caption) for image_id, group in groups.items() for caption in group]


def _caption(row, place: str) -> tuple[str, str]:
    if not isinstance(row, dict) or not {"image_id", "caption"} <= row.keys():
        raise ValueError(f"{place} {what_row(row)}, expected a dict with image_id and caption")
    image_id, caption = row["image_id"], row["caption"]
    if isinstance(image_id, bool) or not isinstance(image_id, int | str):
        raise ValueError(f"{place}: image_id is {brief(image_id)}, expected int or str")
    if not isinstance(caption, str):
        raise ValueError(f"{place}: caption is {brief(caption)}, expected str")
    return str(image_id), caption


def captions_by_image(path: str) -> dict[str, list[str]]:
    """Reads the captions of each image, in the order of the file.

    Raises:
        ValueError: see `read_captions`.
    """
    groups: dict[str, list[str]] = {}
    for image_id, caption in read_captions(path):
        groups.setdefault(image_id, []).append(caption)
    return groups


def pair_captions(predictions_path: str, references_path: str, allow_missing: bool = False) -> CaptionSet:
    """Brings the captions of two files together by image id.

    Args:
        predictions_path: One caption per image.
        references_path: Any number of captions per image.
        allow_missing: Leaves out ids that only one of the files has, instead of an error.

    Raises:
        ValueError: An id has two predictions, or ids are missing or unknown; a few of them are named.
    """
    references = captions_by_image(references_path)
    pairs = read_captions(predictions_path)
    predictions = dict(pairs)
    if len(predictions) < len(pairs):
        seen: set[str] = set()
        twice = [image_id for image_id, _ in pairs if image_id in seen or seen.add(image_id)]
        raise ValueError(f"{predictions_path} has more than one caption for {name_some(dict.fromkeys(twice))}")
    missing = [image_id for image_id in references if image_id not in predictions]
    unknown = [image_id for image_id in predictions if image_id not in references]
    ids = [image_id for image_id in predictions if image_id in references]
    if ids or not missing or not unknown:
        _check_ids(missing, unknown, predictions_path, references_path, allow_missing)
    if not ids:
        raise ValueError(never_meet({predictions_path: predictions, references_path: references}, "image id"))
    return CaptionSet(ids, [predictions[i] for i in ids], [references[i] for i in ids], len(missing) + len(unknown))


def _check_ids(missing, unknown, predictions_path, references_path, allow_missing) -> None:
    problems = []
    if missing:
        problems.append(f"{predictions_path} has no caption for {name_some(missing)} of {references_path}")
    if unknown:
        problems.append(f"{references_path} has no caption for {name_some(unknown)} of {predictions_path}")
    if problems and not allow_missing:
        raise ValueError("; ".join(problems) + " (--allow-missing scores the others)")


def what_row(row) -> str:
    """Says what stands in the place of a row: of a dict its keys, since a wrong one is what is looked for.

    >>> what_row({"image_id": 1, "text": "a cat"}), what_row("a cat")
    ("has the keys ['image_id', 'text']", "is 'a cat'")
    """
    return f"has the keys {brief(list(row), 200)}" if isinstance(row, dict) else f"is {brief(row)}"


def never_meet(sides: dict[str, Iterable], kind: str) -> str:
    """Says that files have no id in common, and shows the first two ids of each.

    >>> never_meet({"a.json": ["1", "2", "3"], "b.json": ["cat.jpg"]}, "image id")
    'a.json and b.json have no image id in common: a.json has 1, 2 and 1 more, b.json has cat.jpg'
    """
    shown = []
    for path, ids in sides.items():
        first = ", ".join(_short_id(one) for one in [*ids][:2]) or "none"
        shown.append(f"{path} has {first}" + (f" and {len(ids) - 2} more" if len(ids) > 2 else ""))
    return f"{' and '.join(sides)} have no {kind} in common: {', '.join(shown)}"


def name_some(ids: Iterable[str], kind: str = "image id", most: int = 5) -> str:
    """Counts ids and names the first few, as a terminal may show them.

    >>> name_some(["3", "4", "5"], most=2)
    '3 image ids (3, 4 and 1 more)'
    """
    ids = list(ids)
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return f"{len(ids)} {kind}{'s' * (len(ids) > 1)} ({', '.join(map(_short_id, ids[:most]))}{more})"


def _short_id(text: str) -> str:
    return visible(text if len(text) <= _LONGEST_ID else f"{text[:_LONGEST_ID]}...")


# ---- metrics/page/escaping.py

"""A visitor's text as HTML: the one way by which it comes into an error, a warning, a table's cell or a label."""


# Of an error or a warning, which a page shows in a corner.
_MOST_CHARACTERS = 600
# What Markdown reads in a line besides HTML, and what a page would make a link of.
# The hash sign by its number: the loader of evaluate cuts lines at one.
_MARKDOWN = re.compile(r"[\\`*_\[\]()\x23!|~$:]")


def as_html(text) -> str:
    """The text as HTML that shows it as it is, also where the HTML is read as Markdown first.

    >>> as_html("<unk>"), html.unescape(as_html("![x](y)"))
    ('&lt;unk&gt;', '![x](y)')
    """
    return _MARKDOWN.sub(lambda found: f"&\x23{ord(found[0])};", html.escape(str(text)))


def as_sentence(message: str) -> str:
    """A message in one line, of which a long middle is left out, marked by dots.

    >>> as_sentence("one\\n line")
    'one line'
    """
    line = " ".join(message.split())
    half = _MOST_CHARACTERS // 2
    return line if len(line) <= _MOST_CHARACTERS else f"{line[:half]} ... {line[-half:]}"


# ---- metrics/page/results.py

"""How the pages show results: numbers with intervals, marked texts, histograms, tables, and the call in Python."""


_BINS = 10
# The least number of samples on the histogram's axis, so that it counts in whole ones.
_LEAST_HEIGHT = 5
# Marked pieces of a text in an explanation and in a cell of the table, characters of a cell; numbers beside a score.
_MOST_PIECES, _PIECES_OF_CELL, _LONGEST_CELL, _MOST_NUMBERS = 1000, 100, 500, 200

CSS = """
.gradio-container { max-width: 1100px !important; width: 100% !important; margin: 0 auto !important; }
.scores { display: flex; flex-wrap: wrap; gap: 12px 28px; align-items: center; }
.scores .main { min-width: 9rem; }
.scores .main b { display: block; font-size: 2.6rem; line-height: 1.1; font-variant-numeric: tabular-nums; }
.scores small, .why small { opacity: .72; }
.scores table, .why table { border: 0 !important; border-collapse: collapse; margin: 0; }
.scores table { flex: 1 1 300px; font-variant-numeric: tabular-nums; font-size: .9rem; }
.why table { width: 100%; }
.scores tr, .why tr { border: 0 !important; border-bottom: 1px solid var(--border-color-primary) !important; }
.scores td, .why td, .why th { padding: 3px 10px 3px 0; text-align: left; vertical-align: top; border: 0 !important; }
.why { line-height: 1.9; overflow-wrap: anywhere; }
.why th { white-space: nowrap; font-weight: 600; }
.mark { padding: 1px 5px; border-radius: 5px; margin-right: 1px; display: inline-block; line-height: 1.45; }
.mark.miss { background: rgba(220, 60, 50, .16); text-decoration: underline dotted rgb(220, 60, 50); }
.mark.hit, .mark.hit1 { background: rgba(20, 150, 90, .14); }
.mark.hit2 { background: rgba(20, 150, 90, .27); }
.mark.hit3 { background: rgba(20, 150, 90, .42); }
.mark.hit4 { background: rgba(20, 150, 90, .60); }
@media (max-width: 640px) { [role=gridcell] *, [role=columnheader] * { font-size: 12px !important; } }
"""


class Marked(list):
    """A text as (piece, mark) pairs; a mark is "", "miss", "hit", or "hit1" ... "hit4" by the order of the n-gram.

    >>> str(Marked([("a", "hit"), ("cat", "miss")]))
    'a ✗cat'
    """

    def html(self, most: int = _MOST_PIECES) -> str:
        """Coloured; what is missed is underlined too, since not everybody sees colours. Says how many are left out."""
        more = [f"<small>and {len(self) - most} more</small>"] if len(self) > most else []
        return " ".join([*(mark_html(text, mark) for text, mark in self[:most]), *more])

    def __str__(self):
        return " ".join(f"✗{text}" if mark == "miss" else text for text, mark in self)


def mark_html(text: str, mark: str, note: str = "") -> str:
    """One marked piece, with a note in small print."""
    small = f" <small>{as_html(note)}</small>" if note else ""
    return f'<span class="mark {mark}">{as_html(text)}{small}</span>'


def why_html(title: str, note: str, rows: dict[str, str]) -> str:
    """An explanation: a heading with a note, and a row per name. Note and rows are HTML already."""
    cells = "".join(f"<tr><th>{as_html(name)}</th><td>{value}</td></tr>" for name, value in rows.items())
    head = f"<b>Why: {as_html(title)}</b> <small>{note}</small>"
    return f'<div class="why">{head}<table>{cells}</table></div>'


def scores_html(results: dict, of_what: str, notes: Iterable[str]) -> str:
    """The score in large digits, all other numbers beside it, and the metric's warnings below."""
    rows = {name: (value, interval) for name, value, interval in flat(results)}
    main = next(iter(rows))
    value, interval = rows.pop(main)
    cells = "".join(
        f"<tr><td>{as_html(name)}</td><td>{number(value)}</td><td><small>{_interval(interval)}</small></td></tr>"
        for name, (value, interval) in list(rows.items())[:_MOST_NUMBERS]
    )
    if len(rows) > _MOST_NUMBERS:
        cells += f"<tr><td>and {len(rows) - _MOST_NUMBERS} more, in the results below</td><td></td><td></td></tr>"
    large = f"<small>{as_html(main)} of {of_what}</small><b>{number(value)}</b><small>{_interval(interval)}</small>"
    told = "".join(f"<p>⚠ {as_html(as_sentence(note))}</p>" for note in dict.fromkeys(notes))
    return f'<div class="scores"><div class="main">{large}</div><table>{cells}</table></div>{told}'


def flat(results: dict) -> Iterable[tuple[str, object, object]]:
    """Names, values and intervals of all numbers in results; nested names are joined by blanks, counts in brackets.

    >>> list(flat({"a": 1.0, "confidence_interval": {"a": [0.5, 2.0]}, "b": {"c": 3}}))
    [('a', 1.0, [0.5, 2.0]), ('b c', 3, None)]
    >>> list(flat({"per_type": {"other": {"value": 0.5, "count": 7}}}))
    [('per_type other (7)', 0.5, None)]
    """
    intervals = results.get("confidence_interval", {})
    for key, value in results.items():
        if key in ("confidence_interval", "per_sample"):
            continue
        if isinstance(value, dict) and value.keys() == {"value", "count"}:
            yield f"{key} ({value['count']})", value["value"], None
        elif isinstance(value, dict):
            yield from ((f"{key} {name}", inner, None) for name, inner, _ in flat(value))
        else:
            yield key, value, intervals.get(key)


def number(value) -> str:
    """Four digits of a float, or of all in a list.

    >>> number([0.25, 1 / 3])
    '0.2500 0.3333'
    """
    if isinstance(value, list):
        return " ".join(map(number, value))
    return f"{value:.4f}" if isinstance(value, float) else as_html(value)


def _interval(interval) -> str:
    if not interval:
        return ""
    if isinstance(interval[0], list):
        return " ".join(map(_interval, interval))
    return f"[{number(interval[0])}, {number(interval[1])}]"


def histogram(scores: Sequence[float], x: str, y: str) -> gr.BarPlot:
    """How many samples score in each tenth of the range; NaN is left out."""
    scores = pd.Series(scores, dtype=float).dropna()
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.05, high + 0.05
    edges = [low + (high - low) * place / _BINS for place in range(_BINS + 1)]
    # Rounding must not leave the largest score outside.
    edges[-1] = high + 1e-9
    counts = pd.cut(scores, edges, right=False).value_counts(sort=False).to_numpy()
    frame = pd.DataFrame({x: _short(edges[:-1]), y: counts})
    return gr.BarPlot(frame, y_lim=[0, max(_LEAST_HEIGHT, int(counts.max()))])


def _short(values: Sequence[float]) -> list[str]:
    """Numbers with as few digits as tell them apart."""
    texts = ([f"{value:.{digits}g}" for value in values] for digits in range(2, 18))
    return next(shown for shown in texts if len(set(shown)) == len(values))


def results_table(columns: dict[str, list], label: str) -> gr.Dataframe:
    """A table of columns of numbers, texts and `Marked` texts; numbers sort as such, long cells are cut."""
    rows = [[_cell(value) for value in row] for row in zip(*columns.values())]
    kinds = [_kind(values[0]) for values in columns.values()]
    # Few columns share the width; many are scrolled.
    others = len(columns) - 2
    widths = ["16%", "19%", *[f"{65 // others}%"] * others] if others in (1, 2) else None
    return gr.Dataframe({"headers": list(columns), "data": rows}, datatype=kinds, column_widths=widths, label=label)


def _cell(value):
    if isinstance(value, Marked):
        return value.html(_PIECES_OF_CELL)
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return f"{value[:_LONGEST_CELL]} ..."
    return round(value, 4) if isinstance(value, float) else value


def _kind(value) -> str:
    return "html" if isinstance(value, Marked) else "number" if isinstance(value, int | float) else "str"


def python_call(name: str, arguments: dict, options: dict, code: dict[str, str], from_file: bool) -> str:
    """Python that gives the page's results.

    Args:
        name: The metric.
        arguments, options: Of `compute`.
        code: Argument -> the expression that reads it, instead of its value.
        from_file: Whether the other arguments are read from inputs.json, and not written out.
    """
    written = {key: value for key, value in arguments.items() if key not in code}
    lines = [f"{key}={expression}" for key, expression in code.items()]
    lines += ["**inputs"] if from_file else [_written(key, value) for key, value in written.items()]
    lines += [*(_written(key, value) for key, value in options.items()), "per_sample=True"]
    # In a Space this is the name that it has on the Hub.
    body = [f'{name} = evaluate.load("{os.environ.get("SPACE_ID", f"metrics/{name}")}")']
    if from_file:
        body += ['with open("inputs.json", encoding="utf-8") as file:', "    inputs = json.load(file)"]
    body += [f"results = {name}.compute(", *(f"    {line}," for line in lines), ")"]
    imports = ["import json"] * any("json." in line for line in [*body, *lines])
    imports += ["import evaluate", *["import numpy as np"] * ("np." in " ".join(code.values()))]
    return "\n".join([*imports, "", *body])


def _written(key: str, value) -> str:
    text = pformat(value, width=100, sort_dicts=False)
    if "\n" not in text:
        return f"{key}={text}"
    inner = text[1:-1].replace("\n", "\n       ")
    return f"{key}=[\n        {inner},\n    ]"


# ---- metrics/page/metric_page.py

"""What differs between the pages of the metrics: their options, inputs and explanations, described by a subclass."""


# Between several references in one cell of the table.
SEPARATOR = "|"


class Option(NamedTuple):
    """A control of the page.

    Attributes:
        name: The argument of `compute`, whose default is the control's.
        about: What it does, in a few words.
        choices: The values to choose from; None leaves it open.
        parse: Makes the value of what stands in a text field.
        is_file: The value is a file to upload.
        shown_default: What the control shows first where that is not the default of `compute`.
    """

    name: str
    about: str = ""
    choices: Sequence | None = None
    parse: Callable | None = None
    is_file: bool = False
    shown_default: object = None


# The last options of all five.
OF_INTERVALS = (
    Option("confidence_level", "of the intervals, by bootstrap", (None, 0.9, 0.95, 0.99), shown_default=0.95),
    Option("n_resamples", "of the bootstrap"),
    Option("seed", "of the bootstrap"),
)


class Inputs(NamedTuple):
    """What is scored.

    Attributes:
        arguments: Of `compute`.
        names: What every sample is called in the table and in errors.
        code: Argument -> the Python expression that reads it; of those without one, the value is written out.
    """

    arguments: dict
    names: list[str]
    code: dict = {}


class Upload(NamedTuple):
    """A file that the page takes: its label and its endings."""

    label: str
    endings: tuple[str, ...]


class Page:
    """What differs between the pages of the metrics; a subclass fills it in.

    Attributes:
        metric: The metric, loaded.
        title, lead: The heading and the sentence below it.
        sample_score: The key of a sample's score in `per_sample`; None is the key of the whole score, the first.
        sample, plural: What one sample is called, and several.
        lower_is_better: Whether a sample's score is a rank; the worst sample is explained first.
        options: The metric's controls, without those of the intervals.
        headers, widths, rows: The columns of the table to type in, and the example that it holds at first.
        hint: How the table is filled in.
        uploads: The files that may stand in its place.
        keys: Arguments of `compute` that hold the samples.
        bounds: The most that the page takes of everything, one of the tables in bounds.py.
        at_once: Whether the example is scored when the page opens.
    """

    title = lead = hint = ""
    sample_score = None
    sample, plural = "sample", "samples"
    lower_is_better = False
    options: Sequence[Option] = ()
    headers: Sequence[str] = ("prediction", "references")
    widths: Sequence[str] | None = ("36%", "64%")
    rows: Sequence[Sequence] = ()
    uploads: Sequence[Upload] = ()
    keys = ("predictions", "references")
    bounds: Mapping[str, Bound] = OF_TEXTS
    at_once = True

    def __init__(self, metric):
        self.metric = metric
        self.downloads = Path(tempfile.mkdtemp(prefix=f"{metric.name}-"))
        atexit.register(shutil.rmtree, self.downloads, ignore_errors=True)
        self._lock = threading.Lock()

    def part(self, module: str):
        """A module that the metric's script brought with it, as the loader keeps it."""
        package = type(self.metric).__module__.rpartition(".")[0]
        return importlib.import_module(f"{package}.{module}")

    def read_table(self, rows: list[list[str]]) -> Inputs:
        """Makes inputs of what was typed in. Rows without anything are left out."""
        rows = [(f"row {number}", row) for number, row in enumerate(rows, 1) if any(str(cell).strip() for cell in row)]
        references = [split(row[1], f"{name}, {self.headers[1]}") for name, row in rows]
        return Inputs({"predictions": [row[0] for _, row in rows], "references": references}, [n for n, _ in rows])

    def read_files(self, paths: list[str | None], allow_missing: bool) -> Inputs:
        """Makes inputs of the files in the order of `uploads`."""
        raise NotImplementedError

    def orders(self, options: dict) -> int:
        """The highest order of n-grams; 1 where a metric has none."""
        return 1

    def check(self, inputs: Inputs, options: dict) -> None:
        """Refuses what is beyond the bounds, before any work is done.

        Raises:
            ValueError, TypeError: The message says what there is too much of.
        """
        for name, value in options.items():
            check_option(self.bounds, name, value)
        full = {option.name: self.default(option) for option in all_options(self)} | options
        self.check_size(inputs.arguments, full)

    def check_size(self, arguments: dict, options: dict) -> None:
        """Checks how much there is to score; `options` has all of them."""
        check_texts(self.bounds, arguments, self.orders(options))
        check_draws(self.bounds, len(arguments.get("predictions") or ()), options)

    def columns(self, inputs: Inputs, options: dict, results: dict, rows: range) -> dict[str, list]:
        """Further columns of the table of results for some rows: numbers, texts, or `Marked` texts."""
        return {}

    def explain(self, inputs: Inputs, options: dict, results: dict, row: int) -> str:
        """Why one sample scores as it does, as HTML."""
        raise NotImplementedError

    def names(self, inputs: Inputs, results: dict) -> list[str]:
        """What the samples of `per_sample` are called."""
        return inputs.names

    def score_key(self, results: dict) -> str:
        """The key of a sample's score."""
        return self.sample_score or next(iter(results))

    def plot(self) -> gr.components.Component:
        """The plot, without data."""
        return gr.BarPlot(x="score", y=self.plural, title="How they score", height=260, x_label_angle=0)

    def plot_value(self, results: dict) -> gr.components.Component:
        """What the plot is updated with."""
        return histogram(results["per_sample"][self.score_key(results)], "score", self.plural)

    def default(self, option: Option):
        """The default of `compute`."""
        return inspect.signature(self.metric._compute).parameters[option.name].default

    def measure(self, inputs: Inputs, options: dict) -> tuple[dict, str, list[str]]:
        """Results, signature and warnings; one score at a time, since the metric remembers its last signature."""
        self.check(inputs, options)
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = self.metric.compute(**inputs.arguments, **options, per_sample=True)
            told = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
            return results, self.metric.signature(), told


def split(cell, place: str) -> list[str]:
    """Several references of one cell.

    Raises:
        ValueError: The cell is empty.
    """
    if not str(cell).strip():
        raise ValueError(f"{place} is empty, expected at least one (several are separated by {SEPARATOR})")
    return [part.strip() for part in str(cell).split(SEPARATOR)]


def all_options(page: Page) -> tuple[Option, ...]:
    """The metric's options and those of the intervals."""
    return (*page.options, *OF_INTERVALS)


# ---- metrics/page/captions.py

"""What the pages of the caption metrics share: COCO's files as inputs, and n-grams coloured where both sides agree."""


# Pieces of one kind that an explanation names.
_SHOWN = 12


class CaptionPage(Page):
    """Predictions and references are texts, typed in or of COCO's files."""

    sample, plural = "image", "images"
    hint = "One caption and its references per row; several references are separated by `|`. Rows can be added."
    rows = (
        [
            "a brown dog catches a red frisbee on the beach",
            "A dog jumping to catch a frisbee on a beach. | A brown dog leaps for a red frisbee near the sea. | "
            "The dog catches a red disc on the sand.",
        ],
        [
            "two children play with a kite in a green field",
            "Two kids are flying a kite in a grassy field. | Children running with a colorful kite. | "
            "A boy and a girl fly a kite on the grass.",
        ],
        [
            "a man rides a bicycle down a busy street",
            "A man is riding a bike on a busy city street. | A cyclist rides past cars in traffic. | "
            "A person on a bicycle in the middle of traffic.",
        ],
        [
            "a cat sleeps on a blue sofa",
            "A gray cat sleeping on a laptop computer. | A cat is taking a nap on top of a laptop. | "
            "The cat lies on the keyboard.",
        ],
    )
    uploads = (
        Upload("Results: [{image_id, caption}, ...]", (".json",)),
        Upload("References: COCO's annotations, or {image_id: [caption, ...]}", (".json",)),
    )

    def read_files(self, paths, allow_missing):
        if not all(paths):
            raise ValueError("a file is missing, expected results and references")
        found = pair_captions(*paths, allow_missing)
        return Inputs({"predictions": found.predictions, "references": found.references}, found.ids)


class NgramPage(CaptionPage):
    """The score is made of the n-grams of `options["tokenizer"]` that a caption shares with its references."""

    bounds = OF_NGRAMS

    def encoding(self, options: dict) -> tuple:
        """Arguments of `ngrams.Encoder`."""
        return (options["tokenizer"],)

    def weight(self, inputs: Inputs, options: dict) -> Callable[[tuple], str]:
        """n-gram -> what is said of it beside it."""
        return lambda gram: ""

    def tokens(self, texts: Sequence[str], options: dict) -> list[list[str]]:
        """The tokens that are scored."""
        encoder = self.part("_shared").Encoder(*self.encoding(options))
        numbers, lengths = encoder.encode(texts)
        words, numbers = encoder.vocabulary, iter(numbers.tolist())
        return [[str(words[next(numbers)]) for _ in range(length)] for length in lengths.tolist()]

    def columns(self, inputs, options, results, rows):
        n = self.orders(options)
        predictions, references = inputs.arguments["predictions"], inputs.arguments["references"]
        found = {"caption": [], "missed in it": []}
        for row in rows:
            caption, *others = self.tokens([predictions[row], *references[row]], options)
            found["caption"].append(marked(caption, others, n))
            found["missed in it"].append(Marked((word, "miss") for word in _missed(caption, others)))
        return found

    def explain(self, inputs, options, results, row):
        n, references = self.orders(options), inputs.arguments["references"][row]
        caption, *others = self.tokens([inputs.arguments["predictions"][row], *references], options)
        shown = {"caption": marked(caption, others, n).html()}
        for number, other in enumerate(others, 1):
            shown[f"reference {number}"] = marked(other, [caption], n).html()
        weight = self.weight(inputs, options)
        for order in range(1, n + 1):
            shown[f"{order}-grams"] = _grams_html(caption, others, order, weight)
        legend = Marked([("1", "hit1"), ("2", "hit2"), ("3", "hit3"), ("4", "hit4"), ("none", "miss")]).html()
        return why_html(inputs.names[row], f"words in an n-gram of the other side, by its order: {legend}", shown)


def grams(tokens: Sequence[str], order: int) -> list[tuple]:
    """All n-grams of one order.

    >>> grams(["a", "cat", "sat"], 2)
    [('a', 'cat'), ('cat', 'sat')]
    """
    return [tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1)]


def marked(tokens: Sequence[str], others: Sequence[Sequence[str]], n: int) -> Marked:
    """Marks every token with the highest order (four at most) of a shared n-gram that it stands in."""
    highest = [0] * len(tokens)
    for order in range(1, min(n, 4) + 1):
        known = {gram for other in others for gram in grams(other, order)}
        for start, gram in enumerate(grams(tokens, order)):
            if gram in known:
                highest[start : start + order] = [order] * order
    return Marked((token, f"hit{order}" if order else "miss") for token, order in zip(tokens, highest))


def _missed(caption: Sequence[str], others: Sequence[Sequence[str]]) -> list[str]:
    """Words of the references that the caption lacks, the most frequent first."""
    counts = Counter(word for other in others for word in dict.fromkeys(other) if word not in caption)
    return [word for word, _ in counts.most_common(_SHOWN)]


def _grams_html(caption: list[str], others: list[list[str]], order: int, weight: Callable[[tuple], str]) -> str:
    own, known = Counter(grams(caption, order)), Counter()
    for other in others:
        known |= Counter(grams(other, order))
    parts = [
        ("matched", "hit2", own & known),
        ("only in the caption", "miss", own - known),
        ("only in references", "", known - own),
    ]
    return "<br>".join(
        f"<small>{name} ({sum(counts.values())}):</small> " + _names(counts, mark, weight)
        for name, mark, counts in parts
        if counts
    )


def _names(counts: Counter, mark: str, weight: Callable[[tuple], str]) -> str:
    pieces = [
        mark_html(" ".join(gram) + (f" ×{count}" if count > 1 else ""), mark, weight(gram))
        for gram, count in counts.most_common(_SHOWN)
    ]
    more = [f"<small>and {len(counts) - _SHOWN} more</small>"] if len(counts) > _SHOWN else []
    return " ".join([*pieces, *more])


# ---- metrics/files/csv_cells.py

"""Cells of CSV files: texts that no spreadsheet takes for a formula."""


# A spreadsheet runs a cell that begins so. Quotes may stand before it in a text of its own, and one more tells them
# from the quote that is put there.
_FORMULA = re.compile("'*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def csv_row(values: Iterable) -> list:
    """The cells of a row: a text that a spreadsheet would run gets a quote in front; all else stays as it is.

    Numbers, and texts that are numbers, stay. Who reads such a file takes one `'` off a cell that begins with one or
    several of them and then one of `= + - @`, a tab or a line end (or the wide forms of the four): that is the text.

    >>> csv_row(["a cat", "=1+1", -0.5, "-0.5", "'-a", "it's"])
    ['a cat', "'=1+1", -0.5, '-0.5', "''-a", "it's"]
    """
    return [f"'{value}" if isinstance(value, str) and _is_formula(value) else value for value in values]


def _is_formula(text: str) -> bool:
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


# ---- metrics/page/answering.py

"""What a page answers to a click, and its endpoint to a program; whatever is refused is refused in one sentence."""


# Samples, and characters, that the Python call writes out; of more, it reads the file with the inputs.
WRITTEN_OUT, WRITTEN_CHARACTERS = 20, 50_000
_KEPT_DOWNLOADS = 20
# What metrics and readers raise of input that they refuse; the last two come of numbers and lists beyond all measure.
_REFUSALS = (ValueError, TypeError, OSError, ImportError, OverflowError, RecursionError)


def answer(page: Page, source: str, rows: list, paths: list, allow_missing: bool, values: Sequence) -> list:
    """All that the page shows of one click, and what its explanations need.

    Raises:
        gr.Error: The message of the metric or of a reader, which names the place.
    """
    inputs = None
    files = [value for option, value in zip(all_options(page), values) if option.is_file]
    try:
        # A file that is not there leaves the default.
        options = {
            option.name: _value(option, value)
            for option, value in zip(all_options(page), values)
            if not (option.is_file and value is None)
        }
        typed = source == "table"
        inputs = page.read_table(_cell_texts(rows, page)) if typed else page.read_files(paths, allow_missing)
        results, signature, notes = page.measure(inputs, options)
        return [*_shown(page, inputs, options, results, signature, notes), (inputs, options, results)]
    except _REFUSALS as error:
        raise _refusal(_located(str(error) or type(error).__name__, inputs, [*paths, *files]), "Not scored") from None


def _refusal(message: str, title: str) -> gr.Error:
    """An error that the browser shows as HTML, and the log leaves out: whoever sent the input is told."""
    return gr.Error(as_html(as_sentence(message)), duration=None, title=title, print_exception=False)


def _cell_texts(rows: list[list], page: Page) -> list[list[str]]:
    """Cells as texts, and no row shorter than the table was; nothing is read of objects that are no cells."""
    strange = [cell for row in rows for cell in row if isinstance(cell, list | dict)]
    if strange:
        raise TypeError(f"the table holds {describe(strange[0])}, expected texts and numbers")
    return [
        [*("" if cell is None else str(cell) for cell in row), *[""] * (len(page.headers) - len(row))] for row in rows
    ]


def explained_row(page: Page, state: tuple | None, row: Sequence) -> str:
    """Why the row that was clicked scores as it does.

    Raises:
        gr.Error: Its results are not kept any more.
    """
    if state is None:
        raise _refusal("these results are not kept any more, compute them once more", "Not explained")
    inputs, _, results = state
    names = page.names(inputs, results)
    if not row or str(row[0]) not in names:
        raise _refusal(f"{describe(row)} is no row of the last results", "Not explained")
    return page.explain(*state, names.index(str(row[0])))


def _value(option: Option, raw):
    if option.choices is not None:
        return {str(choice): choice for choice in option.choices}[raw]
    return option.parse(raw) if option.parse else raw


def _located(message: str, inputs: Inputs | None, paths: Iterable[str | None]) -> str:
    """Calls files by their names instead of their places on the server, and says which row an index means."""
    for path in filter(None, paths):
        message = message.replace(path, os.path.basename(path))
    found = re.search(r"(?:predictions|references)\[(\d+)\]", message)
    if inputs and found and int(found[1]) < len(inputs.names):
        message = f"{message} ({inputs.names[int(found[1])]})"
    return message


def _shown(page: Page, inputs: Inputs, options: dict, results: dict, signature: str, notes: list[str]) -> list:
    names, scores = page.names(inputs, results), results["per_sample"][page.score_key(results)]
    explained = range(few_enough(page.bounds, inputs.arguments, len(names)))
    some = range(min(len(explained), page.bounds["shown"].most))
    columns = page.columns(inputs, options, results, explained)
    shown = {page.sample: names, page.score_key(results): scores, **columns}
    shown = {name: values[: len(some)] for name, values in shown.items()}
    left = [""] * (len(names) - len(explained))
    sign = -1 if page.lower_is_better else 1
    worst = min(some, key=lambda row: (math.isnan(scores[row]), sign * scores[row], row))
    return [
        scores_html(results, f"{len(names):,} {page.plural}", notes),
        page.plot_value(results),
        signature,
        results_table(shown, table_label(page, len(some), len(names))),
        page.explain(inputs, options, results, worst),
        _python_call(page, inputs, options),
        *_downloads(
            page,
            inputs,
            {
                page.sample: names,
                **results["per_sample"],
                **{name: [*values, *left] for name, values in columns.items()},
            },
        ),
        {key: value for key, value in results.items() if key != "per_sample"},
    ]


def table_label(page: Page, shown: int = 0, samples: int = 0) -> str:
    """What stands above the table, with how much of it is shown."""
    which = f"The first {shown:,} of {samples:,} {page.plural}" if shown < samples else f"Every {page.sample}"
    return f"{which}: click a heading to sort, a row to see why"


def _python_call(page: Page, inputs: Inputs, options: dict) -> str:
    names = {option.name: option for option in all_options(page)}
    changed = {key: value for key, value in options.items() if value != page.default(names[key])}
    changed |= {key: os.path.basename(value) for key, value in changed.items() if names[key].is_file}
    written = {key: value for key, value in inputs.arguments.items() if key not in inputs.code}
    is_long = len(inputs.names) > WRITTEN_OUT or sum(sample_sizes(written)) > WRITTEN_CHARACTERS
    from_file = is_long and bool(written)
    return python_call(page.metric.name, inputs.arguments, changed, inputs.code, from_file)


def _downloads(page: Page, inputs: Inputs, columns: dict[str, list]) -> list[str]:
    """Writes the results of every sample as CSV and the inputs as JSON; returns their paths."""
    # Gradio serves copies of its own.
    for old in sorted(page.downloads.iterdir(), key=os.path.getmtime)[:-_KEPT_DOWNLOADS]:
        shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(dir=page.downloads))
    table, written = folder / f"{page.metric.name}.csv", folder / "inputs.json"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(csv_row(columns))
        writer.writerows(csv_row(map(_csv_cell, row)) for row in zip(*columns.values()))
    arguments = {key: value for key, value in inputs.arguments.items() if key not in inputs.code}
    written.write_text(json_text(arguments), encoding="utf-8")
    return [str(table), str(written)]


def _csv_cell(value):
    """What stands in a cell of CSV: numbers as they are, all else as text."""
    return value if value is None or isinstance(value, int | float) else str(value)


def answer_call(page: Page, inputs: dict, options: dict) -> dict:
    """`compute` over the network: only the options that the page has, and no paths."""
    try:
        _check_call(page, inputs, options)
        results, signature, _ = page.measure(Inputs(inputs, []), options)
    except _REFUSALS as error:
        # Programs read it, as text.
        raise gr.Error(as_sentence(str(error) or type(error).__name__), print_exception=False) from None
    return {**results, "signature": signature}


def _check_call(page: Page, inputs, options) -> None:
    """Checks what may be any JSON.

    Raises:
        ValueError: A name or a choice is unknown.
        TypeError: Inputs or options are no object.
    """
    known = {option.name: option for option in all_options(page) if not option.is_file}
    for kind, given, expected in (("inputs", inputs, page.keys), ("options", options, known)):
        if not isinstance(given, dict):
            raise TypeError(f"{kind} is {describe(given)}, expected an object with names")
        unknown = [name for name in given if name not in expected]
        if unknown:
            raise ValueError(f"{kind} has {', '.join(unknown)}, expected {', '.join(expected)}")
    for name, value in options.items():
        choices = known[name].choices
        # 1 is no True, and 4.0 no 4.
        if choices is not None and (type(value), value) not in [(type(choice), choice) for choice in choices]:
            raise ValueError(f"{name} is {describe(value)}, expected one of {list(choices)}")


# ---- metrics/page/serving.py

"""A bound on what a request may send, kept before anything of it is stored or parsed."""


# Of a form around its files.
_FORM = 1_000_000


class BodyBound:
    """Answers a request that sends too much with one sentence, by what it announces or else by what comes.

    Args:
        app: The application behind it.
        most: Bytes of a request.
        most_of_upload: Bytes of an upload.
    """

    def __init__(self, app, most: int, most_of_upload: int):
        self.app, self.most, self.most_of_upload = app, most, most_of_upload

    @classmethod
    def of(cls, bounds: Mapping[str, Bound], uploads: int) -> Middleware:
        """As the page's application takes it."""
        files = max(1, uploads) * bounds["file"].most
        return Middleware(cls, most=bounds["request"].most, most_of_upload=files + _FORM)

    async def __call__(self, scope, receive, send):
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = self.most_of_upload if scope["path"].rstrip("/").endswith("/upload") else self.most
        announced = dict(scope["headers"]).get(b"content-length", b"0")
        if not announced.isdigit() or len(announced) > 15 or int(announced) > most:
            told = f"The request has too many bytes, expected at most {most:,}."
            return await PlainTextResponse(told, status_code=413)(scope, receive, send)
        seen = 0

        async def bounded():
            nonlocal seen
            message = await receive()
            seen += len(message.get("body", b""))
            # Whoever announced nothing, or less, is not heard to the end.
            return message if seen <= most else {"type": "http.disconnect"}

        await self.app(scope, bounded, send)


# ---- metrics/page/layout.py

"""The page that the five Spaces share: inputs, options, scores with intervals, a table that says why, and the card.

An app.py describes its metric by a subclass of `Page` and hands it to `launch`. This module knows no metric: it gets
one loaded, and asks `Page` for whatever differs.
"""


# Visitors who wait for a score, and those whose last results are kept for explanations, an hour long.
_WAITING, _KEPT_SESSIONS, _KEPT_SECONDS = 30, 50, 3600


def launch(page: Page, **options) -> None:
    """Serves the page; `options` are those of Gradio's launch."""
    # Fonts that every system has: nothing is fetched for them.
    theme = gr.themes.Default(font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace"))
    options.setdefault("app_kwargs", {"middleware": [BodyBound.of(page.bounds, len(page.uploads))]})
    build(page).queue(max_size=_WAITING).launch(
        css=CSS,
        theme=theme,
        ssr_mode=False,
        footer_links=["api", "settings"],
        state_session_capacity=_KEPT_SESSIONS,
        max_file_size=page.bounds["file"].most,
        **options,
    )


def build(page: Page) -> gr.Blocks:
    """Lays the page out and connects it."""
    with gr.Blocks(title=page.title, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        gr.Markdown(f"{page.title}\n===\n\n{page.lead}")
        source, table, files, allow_missing = _inputs(page)
        with gr.Accordion("Options", open=False):
            with gr.Row():
                controls = [_control(page, option) for option in all_options(page)]
        with gr.Accordion("Bounds", open=False):
            gr.Markdown(bounds_table(page.bounds))
        button = gr.Button("Compute", variant="primary")
        shown, state = _results(page)
        _card(page)

        def show(source, rows, allow_missing, *raw):
            values, paths = raw[: len(controls)], list(raw[len(controls) :])
            return answer(page, source, rows, paths, allow_missing, values)

        def explain(state, event: gr.SelectData):
            return explained_row(page, state, event.row_value)

        def api(inputs: dict, options: dict) -> dict:
            return answer_call(page, inputs, options)

        event = {
            "inputs": [source, table, allow_missing, *controls, *files],
            "outputs": [*shown.values(), state],
            "api_visibility": "private",
        }
        button.click(show, **event)
        if page.at_once:
            blocks.load(show, **event)
        shown["table"].select(explain, state, shown["why"], api_visibility="private")
        gr.api(api, api_name="compute", api_description=_API.format(keys=", ".join(page.keys)))
    return blocks


_API = "metric.compute(**inputs, **options, per_sample=True) and the signature. inputs: {keys}; options: see the page."


def _inputs(page: Page):
    source = gr.State("table")
    with gr.Tabs():
        with gr.Tab("Type") as typed:
            table = gr.Dataframe(
                [list(row) for row in page.rows],
                headers=list(page.headers),
                column_widths=page.widths,
                type="array",
                wrap=True,
                interactive=True,
                show_label=False,
                max_height=320,
            )
            gr.Markdown(page.hint)
        with gr.Tab("Upload files") as uploaded:
            with gr.Row():
                files = [
                    gr.File(label=upload.label, file_types=list(upload.endings), height=130) for upload in page.uploads
                ]
            allow_missing = gr.Checkbox(False, label="--allow-missing: score what both files have")
    typed.select(lambda: "table", None, source, api_visibility="private")
    uploaded.select(lambda: "files", None, source, api_visibility="private")
    return source, table, files, allow_missing


def _control(page: Page, option: Option):
    default = page.default(option) if option.shown_default is None else option.shown_default
    about = {"label": option.name, "info": option.about, "min_width": 210}
    if option.is_file:
        return gr.File(label=f"{option.name}: {option.about}", height=110, min_width=210)
    if option.choices is not None:
        return gr.Dropdown([str(choice) for choice in option.choices], value=str(default), **about)
    if isinstance(default, bool):
        return gr.Checkbox(default, **about)
    if isinstance(default, int | float) and not option.parse:
        return gr.Number(default, precision=0 if isinstance(default, int) else None, **about)
    return gr.Textbox("" if default is None else re.sub(r"[()]", "", str(default)), **about)


def _results(page: Page) -> tuple[dict, gr.State]:
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            scores = gr.HTML()
        with gr.Column(min_width=320):
            plot = page.plot()
    shown = {
        "scores": scores,
        "plot": plot,
        "signature": gr.Textbox(label="Signature", interactive=False, buttons=["copy"]),
        "table": gr.Dataframe(
            interactive=False, wrap=True, max_height=420, label=table_label(page), buttons=["fullscreen"]
        ),
        "why": gr.HTML(container=True, padding=True),
        "call": gr.Code(label="The same in Python", language="python", interactive=False),
    }
    with gr.Row():
        shown["csv"] = gr.DownloadButton("Results per sample (CSV)", size="sm")
        shown["inputs"] = gr.DownloadButton("Inputs (JSON)", size="sm")
    with gr.Accordion("All results (JSON)", open=False):
        shown["json"] = gr.JSON(show_label=False)
    return shown, gr.State(time_to_live=_KEPT_SECONDS)


def _card(page: Page) -> None:
    card = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    gr.Markdown(re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL), container=True, padding=True)


# ---- metrics/files/npy_headers.py

"""The header of a .npy array, by itself or in a .npz archive: what it holds, before a byte of it is read.

NumPy evaluates the header as Python and believes it. Here it is matched against the one form that arrays of numbers
have, and compared with the bytes that are there; no header can ask for code, nesting or memory.
"""


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


# ---- metrics/files/arrays.py

"""Files that hold arrays of numbers: .npz, and memory-mapped .npy and .safetensors (without the package of that name).

None can run code: arrays of Python objects are refused. No header is believed before it is compared with the bytes
that are there.
"""


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
