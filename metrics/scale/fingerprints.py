"""What statistics depend on, as a hash: the code that makes them, the columns read, the options, NLTK where used.

NumPy's version is no part of it: integers, sorts and sums of float64 are the same in all.
"""

import ast
import hashlib
import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from ..publish.bundles import SOURCES, defined_names
from ..utils.stamps import stamp
from .kept_files import file_hash

_PACKAGE = Path(__file__).resolve().parents[1]
# Options that name files; a tokenizer "char" has nothing to do with a file of that name.
_PATHS = ("document_frequencies", "model_path")


def fingerprint(metric: str, columns: Sequence[str], options: Mapping, module: str = "batches") -> str:
    """A hash of all that a metric's statistics depend on; it does not depend on where files lie.

    Args:
        metric: Its name.
        columns: Those read.
        options: Of the statistics. Files and folders are hashed by what they hold.
        module: The module of metrics/scale that makes the statistics.

    >>> fingerprint("cider", ["a"], {"n": 4}) == fingerprint("cider", ["a"], {"n": 3})
    False
    """
    parts = [metric, repr(tuple(columns)), code_of(f"{metric}/scoring", f"scale/{module}")]
    parts += [f"{name} {_identity(name, value)}" for name, value in sorted(options.items())]
    parts += [f"{package} {_version(package)}" for package in _packages(metric, options)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _packages(metric: str, options: Mapping) -> list[str]:
    """Those whose versions tokenize or stem differently."""
    if metric == "entity_score":
        return ["nltk", "transformers"]
    return ["nltk"] if options.get("stem") else []


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


# Code


@lru_cache
def code_of(*modules: str) -> str:
    """A hash of the sources of modules and of all modules of this package that they import.

    Args:
        modules: Such as "cider/scoring".
    """
    found = sources(_PACKAGE, *modules)
    content = b"".join(f"{path.relative_to(_PACKAGE)}\n".encode() + path.read_bytes() for path in found)
    return hashlib.sha256(content).hexdigest()


def sources(package: Path, *modules: str) -> list[Path]:
    """The files of modules and of all that they import inside the package, also inside functions.

    A name from a metric's `_shared.py` stands for the module that defines it: the file as a whole has callbacks too,
    and all that the metric's other modules need.

    The folders of metrics whose modules are not among those named are left out: what is for all metrics imports each
    of them, and none of them has a part in another's statistics.
    """
    own = {module.split("/")[0] for module in modules}
    others = [path.parent for path in package.glob("*/scoring.py") if path.parent.name not in own]
    found, waiting = set(), [package / f"{module}.py" for module in modules]
    while waiting:
        path = waiting.pop()
        if path not in found and path.parent not in others:
            found.add(path)
            waiting += _imported(path, package)
    return sorted(found)


def _imported(path: Path, package: Path) -> Iterator[Path]:
    for level, module, names in _imports_in(path.read_bytes()):
        if module == "_shared":
            yield from (file for name in names for file in _defining(name, package))
            continue
        start = (path.parents[level - 1] if level else package.parent).joinpath(*module.split("."))
        for found in (start, *(start / name for name in names)):
            files = found.with_suffix(".py"), found / "__init__.py"
            yield from (file for file in files if package in file.parents and file.is_file())


def _defining(name: str, package: Path) -> list[Path]:
    """The modules, one, that define a name of `_shared.py`."""
    files = [file for folder in SOURCES["_shared"] for file in sorted((package / folder).glob("*.py"))]
    return [file for file in files if name in defined_names(file.read_text(encoding="utf-8"))]


@lru_cache(maxsize=256)
def _imports_in(source: bytes) -> list[tuple[int, str, list[str]]]:
    """Level, module and names of each import."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found.append((node.level, node.module or "", [alias.name for alias in node.names]))
        elif isinstance(node, ast.Import):
            found += [(0, alias.name, []) for alias in node.names]
    return found


# Options


def _identity(name: str, value) -> str:
    """What an option is, so that two are equal where the statistics are."""
    if callable(value) and not hasattr(value, "to_dict"):
        from datasets.fingerprint import Hasher  # Takes a second, which the scores alone do not need.

        return Hasher.hash([value, _source(value)])
    if name in _PATHS and isinstance(value, str | os.PathLike) and os.path.exists(value):
        return _content(os.path.abspath(value), stamp(value))
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, Mapping):
        return hashlib.sha256(b"".join(_bytes(k) + _bytes(v) for k, v in sorted(value.items()))).hexdigest()
    return repr(value)


@lru_cache
def _content(path: str, stamped: tuple) -> str:
    """A hash of a file, or of the names and contents of a folder's files; read once in a process while unchanged."""
    if not os.path.isdir(path):
        return file_hash(path)
    lines = [f"{name} {file_hash(os.path.join(path, name))}\n" for name, *_ in stamped]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _source(function: Callable) -> str | None:
    """The file of a function or of a callable object's class: what can be imported is pickled by name alone."""
    try:
        path = inspect.getsourcefile(function if inspect.isroutine(function) else type(function))
        return None if path is None else Path(path).read_text(encoding="utf-8")
    except (TypeError, OSError):
        return None  # Of C, or typed into a prompt.


def _bytes(value) -> bytes:
    """A value with its type and length, so that no two lists of values are the same bytes."""
    content = value.tobytes() if isinstance(value, np.ndarray) else repr(value).encode()
    kind = f"{value.dtype} {value.shape}" if isinstance(value, np.ndarray) else type(value).__name__
    return f"{kind} {len(content)}\n".encode() + content
