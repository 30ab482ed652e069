"""Writes each metric folder's copies of the utils that its script imports: `python -m metrics.utils.copies`.

The loader of evaluate takes a metric's script and the siblings that this script imports by name, and nothing else; so
a metric that works alone needs copies. Here they are made, and with `--check` compared.
"""

import argparse
import re
import sys
from pathlib import Path

METRICS = Path(__file__).resolve().parents[1]
NAMES = ("bleu4", "cider", "entity_score", "vqa_accuracy")
# Also inside functions: the loader must bring these files too.
_SIBLING = re.compile(r"^ *from \.(\w+) import ", re.MULTILINE)


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
        source = METRICS / "utils" / f"{module}.py"
        needs = siblings(source if source.exists() else folder / f"{module}.py")
        if needs - imported:
            raise ValueError(f"{name}.py must import {sorted(needs - imported)} too, since {module}.py does")
        if source.exists():
            head = f"# Generated from metrics/utils/{module}.py by make fix-copies: edit it there.\n"
            wanted[folder / f"{module}.py"] = head + source.read_text(encoding="utf-8")
    return wanted


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
