"""What a page takes on for one visitor, so that no other waits long: all bounds, and the checks by them.

A page of the largest allowed input is answered in seconds. In Python and on the command line there are no bounds.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate, chain
from typing import NamedTuple

from ..utils.checks import describe


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
