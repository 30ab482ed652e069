"""Writes each metric folder's copies of the utils that it uses: `python -m metrics.utils.copies`.

The loader of evaluate takes a metric's script and the siblings that this script imports by name, and nothing else; so
a metric that works alone needs copies. Here they are made, and with `--check` compared. There are two kinds: siblings
that the script imports relatively, and modules of the page, which app.py imports as any script does and the metric
itself must not need (they want gradio).
"""

import argparse
import re
import sys
from pathlib import Path

METRICS = Path(__file__).resolve().parents[1]
NAMES = ("bleu4", "cider", "entity_score", "recall_at_k", "vqa_accuracy")
# Also inside functions: the loader must bring these files too.
_SIBLING = re.compile(r"^ *from \.(\w+) import ", re.MULTILINE)
_OF_PAGE = re.compile(r"^from (\w+) import ", re.MULTILINE)
_OF_UTILS = re.compile(r"^from metrics\.utils\.(\w+) import ", re.MULTILINE)


def siblings(script: Path) -> set[str]:
    """Names of the modules that a script imports from its own folder."""
    return set(_SIBLING.findall(script.read_text(encoding="utf-8")))


def copies(name: str) -> dict[Path, str]:
    """The copies that a metric's folder should hold: path -> text.

    Raises:
        ValueError: A sibling imports a module that the metric's script does not import itself, so that the loader
            would not find it.
    """
    folder = METRICS / name
    imported = siblings(folder / f"{name}.py")
    wanted = {}
    for module in sorted(imported):
        source = _source(module)
        needs = siblings(source if source.exists() else folder / f"{module}.py")
        if needs - imported:
            raise ValueError(f"{name}.py must import {sorted(needs - imported)} too, since {module}.py does")
        if source.exists():
            wanted[folder / f"{module}.py"] = _head(module) + source.read_text(encoding="utf-8")
    return {**wanted, **_page_copies(folder)}


def page_modules(folder: Path) -> list[str]:
    """Names of the utils that a folder's app.py uses, directly or by another of them."""
    found = [module for module in _imports(folder / "app.py", _OF_PAGE) if _source(module).exists()]
    for module in found:
        found += [other for other in _imports(_source(module), _OF_UTILS) if other not in found]
    return sorted(found)


def _page_copies(folder: Path) -> dict[Path, str]:
    # Beside app.py there is no package: a copy finds the others by their names alone.
    return {
        folder / f"{module}.py": _head(module) + _OF_UTILS.sub(r"from \1 import ", _source(module).read_text("utf-8"))
        for module in page_modules(folder)
    }


def _imports(script: Path, pattern: re.Pattern) -> list[str]:
    return pattern.findall(script.read_text(encoding="utf-8")) if script.exists() else []


def _source(module: str) -> Path:
    return METRICS / "utils" / f"{module}.py"


def _head(module: str) -> str:
    return f"# Generated from metrics/utils/{module}.py by make fix-copies: edit it there.\n"


def main() -> int:
    """Writes the copies, or with --check names those that differ and returns 1."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--check", action="store_true", help="only compare")
    check = parser.parse_args().check
    different = [
        (path, text)
        for name in NAMES
        for path, text in copies(name).items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]
    for path, text in different:
        print(("differs: " if check else "written: ") + str(path.relative_to(METRICS.parent)))
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
    return int(check and bool(different))


if __name__ == "__main__":
    sys.exit(main())
