"""The values of a pickle of plain data, made without a class that the file could call or alter."""

from ..utils.checks import describe

# No caption has such n-grams. So few tokens, none of them a number with a fraction or a tuple, leave no room for
# thousands of tuples of one hash, nor for tuples that share others until one hash takes for ever.
_LONGEST_TUPLE = 10
# Keys that are set before doubled ones are looked for.
_KEYS_AT_ONCE = 2000
_TOKENS, _KEYS = {str, int}, {str, tuple}
_CONTAINERS = {("collections", name) for name in ("defaultdict", "OrderedDict", "Counter")}
# What a defaultdict makes of a missing key: needed by nobody who reads it.
_FACTORIES = {
    (module, name)
    for module in ("builtins", "__builtin__")
    for name in ("int", "long", "float", "str", "unicode", "list", "tuple", "dict", "set")
}


class _Name:
    """Stands for a class that a pickle asks for, and is none."""

    __slots__ = ("name",)

    def __init__(self, name: str):
        self.name = name


_NAMES = {key: _Name(key[1]) for key in _CONTAINERS | _FACTORIES}


def plain_name(module, name) -> _Name:
    """What stands for a class; raises a ValueError where it is none of the plain ones."""
    if type(module) is not str or type(name) is not str:
        raise ValueError("the pickle asks for something without a name, expected plain containers and numbers only")
    if (module, name) not in _NAMES:
        shown = f"{module}.{name}"
        shown = shown if shown.isprintable() and len(shown) <= 80 else ascii(shown[:80])
        raise ValueError(f"the pickle asks for {shown}, expected plain containers and numbers only")
    return _NAMES[module, name]


def filled_container(name, arguments) -> dict:
    """What a call of a container of collections makes, as a dict; raises a ValueError for other calls."""
    made, kind = {}, name.name if type(name) is _Name else None
    content = arguments[0] if type(arguments) is tuple and len(arguments) == 1 else ()
    if kind == "defaultdict" and (arguments == () or type(content) is _Name):
        return made
    if kind == "Counter" and (arguments == () or type(content) is dict):
        return content or made
    if kind == "OrderedDict" and (arguments == () or type(content) is list):
        if any(type(pair) is not list or len(pair) != 2 for pair in content):
            raise ValueError("the pickle fills an OrderedDict from anything but pairs")
        set_items(made, [part for pair in content for part in pair])
        # Filled from one list again and again, a short file would hold as many as it has calls.
        if content:
            content.clear()
        return made
    raise ValueError(f"the pickle calls {kind or kind_of(name)}, expected empty or filled containers")


def token_tuple(items: list) -> tuple:
    """A tuple of tokens, or of the one argument of a call; raises a ValueError where it is neither."""
    kinds = set(map(type, items))
    is_gram = kinds <= _TOKENS and len(items) <= _LONGEST_TUPLE
    is_argument = len(items) == 1 and kinds <= {_Name, dict, list}
    if not is_gram and not is_argument:
        found = ", ".join(sorted({kind_of(item) for item in items}))
        raise ValueError(
            f"the pickle holds a tuple of {len(items)} of {found}, expected a tuple of tokens: at most "
            f"{_LONGEST_TUPLE} texts or integers"
        )
    return tuple(items)


def set_items(made: dict, items: list) -> None:
    """Sets keys and values that follow each other; raises a ValueError for a doubled key, or one of another kind."""
    keys, values = items[::2], items[1::2]
    if len(keys) != len(values):
        raise ValueError("the pickle has a key without a value")
    if not set(map(type, keys)) <= _KEYS:
        wrong = next(key for key in keys if type(key) not in _KEYS)
        raise ValueError(f"the pickle has the key {kind_of(wrong)}, expected a tuple of tokens or a text")
    for start in range(0, len(keys), _KEYS_AT_ONCE):
        part = keys[start : start + _KEYS_AT_ONCE]
        size = len(made) + len(part)
        made.update(zip(part, values[start : start + _KEYS_AT_ONCE]))
        if len(made) < size:
            raise ValueError("the pickle has a key twice in one dict")


def kind_of(value) -> str:
    """A value of a file, in few words: one that holds others is not written out, since they may be endless."""
    is_short = value is None or isinstance(value, str | int | float)
    return describe(value) if is_short else type(value).__name__.lstrip("_")
