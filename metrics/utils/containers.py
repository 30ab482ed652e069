"""Containers of other packages read as lists, and datasets without their format: one place for all that is passed.

Lists, tuples, arrays of NumPy, torch and Arrow, Series of pandas and polars, columns of datasets. What is read is what
is stored: the format of a dataset ("torch", "numpy", a transform) serves a model's input and is left out. What shows
less than it holds, or holds what cannot be read, is an error. No other package is imported here: whoever has its
container has imported it.
"""

import sys
from collections.abc import Mapping
from reprlib import Repr

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
