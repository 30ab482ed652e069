"""Cells of CSV files: texts that no spreadsheet takes for a formula."""

import re
from collections.abc import Iterable

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
