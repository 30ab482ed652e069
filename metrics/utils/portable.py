"""Objects that another process can unpickle, also those of a script that evaluate loaded.

evaluate copies a metric's script into a package, evaluate_modules, which a new process cannot import before it has
asked evaluate for a metric; and pickle names a class by its module alone. So such classes are named by calls that any
process with evaluate can make: its loader is asked for the script by its file in evaluate's cache, in the folder that
is called by the hash of the code, and only then the module is imported, by a name that holds the hash too.
"""

import sys
from functools import lru_cache
from importlib import import_module
from pathlib import Path

# The package of evaluate's loader: evaluate_modules.metrics.NAME.HASH.MODULE.
_LOADED_BY_EVALUATE = "evaluate_modules"


class Portable:
    """Mixin of what is pickled, copied or sent to another process.

    Its state is that of `__getstate__`, as ever; its class is found again as it was loaded.
    """

    def __reduce_ex__(self, protocol):
        made = super().__reduce_ex__(max(2, protocol))
        return (blank_of(type(self)), (), *made[2:])

    @classmethod
    def _blank(cls):
        """An object without state, which `__setstate__` gives it."""
        return cls.__new__(cls)


class _Call:
    """Pickled, the value of a function, which is called where the pickle is read."""

    def __init__(self, function, *arguments):
        self._function, self._arguments = function, arguments

    def __reduce__(self):
        return self._function, self._arguments


class _Blank(_Call):
    """Makes an object without state: here of the class itself, elsewhere of that with its name."""

    def __init__(self, kind: type):
        super().__init__(getattr, _named(kind), "_blank")
        self._kind = kind

    def __call__(self):
        return self._kind._blank()


# Kept, so that a pickle holds each class once and its reader asks the loader once.
@lru_cache(maxsize=256)
def blank_of(kind: type) -> _Blank:
    """What makes objects without state of a class with `_blank`, here and wherever it was pickled to."""
    return _Blank(kind)


def _named(kind: type):
    """A class as pickle has to name it."""
    if kind.__module__.partition(".")[0] != _LOADED_BY_EVALUATE:
        return kind
    return _Call(getattr, _module(kind.__module__), kind.__name__)


@lru_cache(maxsize=256)
def _module(name: str) -> _Call:
    """A module of a script that evaluate loaded."""
    from evaluate.loading import evaluation_module_factory  # Loaded already: it has made the module.

    # The folder's name is that of the Space, behind its owner's.
    script = name.split(".")[2].rpartition("--")[2]
    path = Path(sys.modules[name].__file__).with_name(f"{script}.py")
    # A full name is imported whatever stands beside it: there the loader is asked first.
    return _Call(import_module, name, _Call(getattr, _Call(evaluation_module_factory, str(path)), "module_path"))
