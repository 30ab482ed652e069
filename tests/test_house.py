"""The house keeps its order: layers go one way, no import runs in a circle, two files of a metric are generated."""

import ast
import re
from collections import defaultdict

import pytest

from metrics import names
from metrics.publish.bundles import METRICS, SOURCES, bundles, defined_names, hand_written

PACKAGES = sorted(path.parent for path in METRICS.rglob("__init__.py"))
# Scripts that are run from their folder, or copied with it, and stand in no package then.
TOP_LEVEL = ("app.py", "entity_score/score.py")
KINDS = {"metrics": names()}


def modules():
    """All modules but the generated ones and the top-level scripts: their place in the package -> path."""
    paths = [path for path in sorted(METRICS.rglob("*.py")) if path.stem not in SOURCES]
    paths = [path for path in paths if not path.as_posix().endswith(TOP_LEVEL)]
    return {path.relative_to(METRICS).with_suffix("").parts: path for path in paths}


def imported(place, path):
    """Where each relative import of a module leads, as places, with the line; a package stands for its __init__."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = (*place[: len(place) - node.level], *(node.module or "").split("."))
            base = tuple(filter(None, base))
            for alias in node.names:
                found = METRICS.joinpath(*base, f"{alias.name}.py")
                yield ((*base, alias.name) if found.exists() else base), node.lineno


def may_import(package):
    """The packages that a package's docstring allows, itself included; of those of metrics, all five."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))
    (allowed,) = re.findall(r"^May import: (.+)\.$", text, re.MULTILINE)
    listed = [] if allowed == "nothing else of this package" else allowed.split(", ")
    return {package.name, *(name for item in listed for name in KINDS.get(item, [item]))}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_layers_go_one_way(package):
    allowed = may_import(package)
    for place, path in modules().items():
        if path.parent != package or place == ("__main__",):
            continue
        for target, line in imported(place, path):
            # The root's own names are for all: `names()` and the version.
            assert not target or target[0] in allowed, f"{path}:{line} imports {'.'.join(target)}, not {allowed}"


def edges():
    known = modules()
    found = defaultdict(set)
    for place, path in known.items():
        found[place] |= {target for target, _ in imported(place, path) if target in known and target != place}
    return found


def test_no_import_runs_in_a_circle():
    found = edges()
    height = {}

    def climb(place, below=()):
        assert place not in below, " -> ".join(".".join(part) for part in (*below, place))
        if place not in height:
            height[place] = 1 + max((climb(other, (*below, place)) for other in found[place]), default=0)
        return height[place]

    for place in list(found):
        climb(place)
    # Words, rules, ptb, tokenizers, n-grams.
    assert max(height[place] for place in height if place[0] == "utils") == 5


def test_a_broken_layer_is_seen(tmp_path):
    module = tmp_path / "low.py"
    module.write_text("def f():\n    from ..cider.scoring import score\n    from ..cider import scoring\n")
    assert {target for target, _ in imported(("utils", "low"), module)} == {("cider", "scoring")}


def test_imports_inside_metrics_are_relative():
    for path in METRICS.rglob("*.py"):
        assert not re.findall(
            r"^ *(?:from|import) (?:metrics|multimodal_metrics)\b", path.read_text(encoding="utf-8"), re.MULTILINE
        ), path


@pytest.mark.parametrize("name", names())
def test_two_generated_files_and_all_others_by_hand(name):
    folder = METRICS / name
    files = [path for path in folder.iterdir() if path.is_file()]
    made = {path for path in files if "enerated" in path.read_text("utf-8").partition("\n")[0]}
    assert made == {folder / "_shared.py", folder / "_page.py"} == set(bundles(name))
    for path, text in bundles(name).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} has drifted: run make bundles"
    hand = {path.name for path in hand_written(folder)} | {"README.md", "requirements.txt"}
    assert {path.name for path in files} == hand | {path.name for path in made}


@pytest.mark.parametrize("name", names())
def test_what_a_page_asks_of_the_metric_is_there(name):
    folder = METRICS / name
    pages = (folder / "app.py").read_text(encoding="utf-8")
    # What _page.py asks for, pages of n-grams ask for.
    pages += (folder / "_page.py").read_text(encoding="utf-8") if "NgramPage" in pages else ""
    for module, wanted in re.findall(r'part\("(\w+)"\)\.(\w+)', pages):
        assert wanted in defined_names((folder / f"{module}.py").read_text(encoding="utf-8"))


def function_imports(path):
    """Imports inside functions without a comment beside them or above."""
    lines = path.read_text(encoding="utf-8").splitlines()
    for function in ast.walk(ast.parse("\n".join(lines))):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        nodes = [node for node in ast.walk(function) if isinstance(node, ast.Import | ast.ImportFrom)]
        for node in nodes:
            # One reason serves the imports that stand together.
            line = node.lineno - 1
            while re.match(r" *(from|import) ", lines[line]) and "  # " not in lines[line]:
                line -= 1
            if not ("  # " in lines[line] or lines[line].lstrip().startswith("# ")):
                yield node.lineno


def test_an_import_inside_a_function_has_its_reason_beside_it():
    without = [f"{path.relative_to(METRICS)}:{line}" for path in modules().values() for line in function_imports(path)]
    assert not without


def test_generated_files_are_marked():
    attributes = (METRICS.parent / ".gitattributes").read_text(encoding="utf-8")
    assert re.findall(r"^(\S+) linguist-generated$", attributes, re.M) == [f"metrics/*/{name}.py" for name in SOURCES]
