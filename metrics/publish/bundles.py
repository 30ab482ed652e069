"""Writes `_shared.py` and `_page.py` of each metric's folder: `python -m metrics.publish.bundles`, or `make bundles`.

The loader of evaluate takes a metric's script and the sibling files that it names, and nothing else; so what several
metrics share comes into each folder as one file, `_shared.py`, made of the modules of utils that the folder uses.
`_page.py` is the same for app.py, which the metric itself must not need (it wants gradio).

Which modules are wanted follows from the names that are imported: a name from `._shared` is looked up in utils, one
from `_page` in page, files and utils, and the modules that these import come along, the lower ones first.
"""

import argparse
import ast
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from .. import names

METRICS = Path(__file__).resolve().parents[1]
# Generated file -> the packages whose modules it may be made of.
SOURCES = {"_shared": ("files", "utils"), "_page": ("page", "files", "utils")}


class Module(NamedTuple):
    """A module that bundles are made of.

    Attributes:
        path: Where it stands.
        text: Its source.
        defined: The names that it defines at its top level.
        needs: Paths of the modules of this package that it imports.
        imports: All other imports at its top level: (module, None) for `import module`, or (module, name); both with
            the name that is bound.
    """

    path: Path
    text: str
    defined: list[str]
    needs: list[Path]
    imports: list[tuple[str, str | None, str]]


def bundles(name: str) -> dict[Path, str]:
    """The generated files that a metric's folder should hold: path -> text.

    Raises:
        ValueError: A name is defined in no module or in two, or a sibling is missing in the metric's script.
    """
    folder = METRICS / name
    check_siblings(folder)
    return {folder / f"{bundle}.py": _joined(modules_of(folder, bundle), SOURCES[bundle]) for bundle in SOURCES}


def hand_written(folder: Path) -> list[Path]:
    """The modules of a metric's folder that are not generated."""
    return [path for path in sorted(folder.glob("*.py")) if path.stem not in SOURCES]


def siblings(script: Path) -> list[str]:
    """Names of the modules that a script imports from its own folder."""
    nodes = ast.walk(ast.parse(script.read_text(encoding="utf-8")))
    return sorted({node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 1})


def check_siblings(folder: Path) -> None:
    """Checks that the script imports what its siblings import: the loader would not find it.

    Raises:
        ValueError: It does not.
    """
    script = folder / f"{folder.name}.py"
    imported = siblings(script)
    for sibling in imported:
        missing = set(siblings(folder / f"{sibling}.py")) - set(imported) if sibling not in SOURCES else ()
        if missing:
            raise ValueError(f"{script.name} must import {sorted(missing)} too, since {sibling}.py does")


def modules_of(folder: Path, bundle: str) -> list[Module]:
    """The modules that a bundle is made of, each behind those that it imports.

    Args:
        folder: The metric's.
        bundle: "_shared" or "_page".

    Raises:
        ValueError: A script of the folder imports a name that no module defines.
    """
    found = [read_module(path) for package in SOURCES[bundle] for path in sorted((METRICS / package).glob("[!_]*.py"))]
    home = {name: module.path for module in reversed(found) for name in module.defined}
    by_path, order = {module.path: module for module in found}, []

    def take(path: Path) -> None:
        if path not in order:
            for need in by_path[path].needs:
                take(need)
            order.append(path)

    for script in hand_written(folder):
        for name in imported_names(script, bundle):
            if name not in home:
                raise ValueError(
                    f"{script} imports {name} from {bundle}, expected a name that one of the modules of "
                    f"{' and '.join(SOURCES[bundle])} defines"
                )
            take(home[name])
    return [by_path[path] for path in order]


def imported_names(script: Path, bundle: str) -> list[str]:
    """The names that a script imports from a generated file."""
    nodes = ast.walk(ast.parse(script.read_text(encoding="utf-8")))
    return [
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == bundle
        for alias in node.names
    ]


def read_module(path: Path) -> Module:
    """Reads a module, and what it defines and imports.

    Raises:
        ValueError: It imports from this package in a way that a bundle cannot follow.
    """
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    needs, imports, top = [], [], {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            if id(node) not in top or not node.module or any(alias.asname for alias in node.names):
                raise ValueError(f"{path}:{node.lineno}: expected `from .module import name` at the top level")
            needs.append(path.parents[node.level - 1].joinpath(*node.module.split(".")).with_suffix(".py"))
        elif id(node) in top and isinstance(node, ast.Import):
            imports += [(alias.name, None, alias.asname or alias.name) for alias in node.names]
        elif id(node) in top and isinstance(node, ast.ImportFrom):
            imports += [(node.module, alias.name, alias.asname or alias.name) for alias in node.names]
    return Module(path, text, defined_names(text), needs, imports)


@lru_cache(maxsize=256)
def defined_names(text: str) -> list[str]:
    """The names that a module binds at its top level, imports left out.

    >>> defined_names("import os\\nA, B = 1, 2\\ndef f():\\n    c = 3")
    ['A', 'B', 'f']
    """
    names = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names += [name.id for target in targets for name in ast.walk(target) if isinstance(name, ast.Name)]
    return names


def _joined(modules: list[Module], packages: Iterable[str]) -> str:
    """One module made of several: a banner, all imports, and then each without its imports."""
    _check_names(modules)
    origin = " and ".join(f"metrics/{package}" for package in packages)
    parts = [f"# Generated from {origin} by `make bundles`: edit it there.\n\n{_import_lines(modules)}\n"]
    for module in modules:
        parts.append(f"\n\n# ---- {module.path.relative_to(METRICS.parent).as_posix()}\n\n{_body(module.text)}\n")
    return "".join(parts)


def _check_names(modules: list[Module]) -> None:
    bound = {}
    for module in modules:
        own = [(name, module.path.name) for name in dict.fromkeys(module.defined)]
        brought = [(name, ".".join(filter(None, (where, what)))) for where, what, name in module.imports]
        for name, origin in own + brought:
            if bound.setdefault(name, origin) != origin:
                raise ValueError(f"{name} stands for {bound[name]} and for {origin}, expected one of them in a bundle")


def _import_lines(modules: list[Module]) -> str:
    plain, named = set(), {}
    for where, what, name in (found for module in modules for found in module.imports):
        if what is None:
            plain.add(f"import {where}" + (f" as {name}" if name != where else ""))
        else:
            named.setdefault(where, set()).add(what + (f" as {name}" if name != what else ""))
    of_names = [f"from {where} import {', '.join(sorted(names))}" for where, names in sorted(named.items())]
    return "\n".join(sorted(plain) + of_names)


def _body(text: str) -> str:
    lines = text.splitlines()
    for node in ast.parse(text).body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines[node.lineno - 1 : node.end_lineno] = [None] * (node.end_lineno - node.lineno + 1)
    kept = "\n".join(line for line in lines if line is not None)
    # The blank lines around imports.
    return "\n\n\n".join(part.strip("\n") for part in kept.split("\n\n\n") if part.strip("\n"))


def main() -> int:
    """Writes the generated files, or with --check names those that differ and returns 1."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    different = [
        (path, text)
        for name in names()
        for path, text in bundles(name).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in different:
        print(("differs: " if check else "written: ") + str(path.relative_to(METRICS.parent)))
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
