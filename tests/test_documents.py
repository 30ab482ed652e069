"""Every example of the README and the cards runs, and the files that say the same thing agree."""

import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
CARDS = sorted(ROOT.glob("metrics/*/README.md"))
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples/README.md", *sorted(ROOT.glob("docs/*.md"))]
DOCUMENTS = [*PAGES, *CARDS]
WITH_EXAMPLES = [path for path in DOCUMENTS if ">>> " in path.read_text(encoding="utf-8")]
# A block of Python without prompts is a program, which runs as it stands.
PROGRAMS = [
    pytest.param(program, id=f"{path.relative_to(ROOT)}-{number}")
    for path in DOCUMENTS
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL))
    if not program.startswith(">>> ")
]


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=name_of)
def test_examples_run(path, tmp_path, monkeypatch, request):
    # Examples load "metrics/NAME" by relative path, and write their files where they stand.
    (tmp_path / "metrics").symlink_to(ROOT / "metrics")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    if path.parent.name == "entity_score":
        # A folder of that name comes before the Hub: a tiny model, on which no figure that is printed depends.
        (tmp_path / "t5-base").symlink_to(request.getfixturevalue("t5_folder"))
        request.getfixturevalue("nltk_data")
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8").replace("```", "")
    example = doctest.DocTestParser().get_doctest(text, {}, path.parent.name, str(path), 0)
    report = []
    failed, attempted = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=report.append)
    assert attempted > 0
    assert not failed, "".join(report)


def test_the_pages_have_examples():
    assert {"README.md", "docs/training.md", "docs/scale.md", "docs/comparing.md"} <= set(map(name_of, WITH_EXAMPLES))
    assert {name_of(path) for path in CARDS} <= set(map(name_of, WITH_EXAMPLES)) and PROGRAMS


@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_run(program, tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    (tmp_path / "metrics").symlink_to(ROOT / "metrics")
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "a program of the documents", "exec"), {"__name__": "__main__"})


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", path.read_text(encoding="utf-8")):
        assert (path.parent / target).exists(), target


@pytest.mark.parametrize("path", CARDS, ids=lambda path: path.parent.name)
def test_card_has_every_section(path):
    headings = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    wanted = [
        "Metric Description",
        "How to Use",
        "Inputs",
        "Output Values",
        "Values from Popular Papers",
        "Examples",
        "Limitations and Bias",
        "Citation",
        "Further References",
    ]
    assert [heading for heading in headings if heading in wanted] == wanted
    assert headings[0].startswith("Metric Card for ")


def _ranges(lines):
    return {line.strip() for line in lines if line.strip() and not line.startswith("#")}


def test_requirements_agree_with_pyproject():
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = set(project["dependencies"]) | set(project["optional-dependencies"]["entity"])
    assert _ranges((ROOT / "requirements.txt").read_text().splitlines()) == declared
