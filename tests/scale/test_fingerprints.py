"""What kept results depend on: all that makes statistics, and nothing else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metrics.publish.bundles import modules_of
from metrics.scale import fingerprints
from metrics.scale.batches import METRICS, BatchStatistics
from metrics.scale.fingerprints import code_of, sources
from metrics.scale.frequencies import BatchFrequencies
from metrics.utils.stamps import stamp

PACKAGE = Path(fingerprints.__file__).resolve().parents[1]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package's sources, whose code is hashed instead."""
    copied = tmp_path / "metrics"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "*.md"))
    monkeypatch.setattr(fingerprints, "_PACKAGE", copied)
    code_of.cache_clear()
    yield copied
    code_of.cache_clear()


def edited(path):
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    code_of.cache_clear()


def prints():
    made = {metric: BatchStatistics(metric).fingerprint() for metric in METRICS}
    return {**made, "frequencies": BatchFrequencies().fingerprint()}


@pytest.mark.parametrize(
    "edit",
    [
        "page/layout.py",
        "page/captions.py",
        "cider/_page.py",
        "cider/_shared.py",
        "cider/app.py",
        "cider/cider.py",
        "publish/hub.py",
        "scale/on_ray.py",
        "scale/retrieval.py",
        "cli/report_page.css",
        "cli/score.py",
        "utils/base.py",
        "files/answers.py",
        "utils/trainer.py",
        "cider/reward.py",
        "__main__.py",
        "scale/kept_files.py.txt",
    ],
)
def test_what_does_not_matter(edit, package):
    before = prints()
    (package / edit).touch()
    edited(package / edit)
    assert prints() == before


@pytest.mark.parametrize(
    "edit, other",
    [
        ("cider/scoring.py", {"cider", "frequencies"}),
        ("cider/repetition.py", {"cider", "frequencies"}),
        ("bleu4/scoring.py", {"bleu4"}),
        ("vqa_accuracy/normalizer.py", {"vqa_accuracy"}),
        ("utils/perceptron_tagger.py", {"entity_score"}),
        ("utils/t5.py", {"entity_score"}),
        ("scale/frequencies.py", {"frequencies"}),
        ("scale/batches.py", {*METRICS, "frequencies"}),
        ("utils/ngrams.py", {"bleu4", "cider", "frequencies"}),
        ("utils/ptb.py", {"bleu4", "cider", "frequencies"}),
        ("utils/checks.py", {*METRICS, "frequencies"}),
    ],
)
def test_what_matters(edit, other, package):
    before = prints()
    edited(package / edit)
    after = prints()
    assert {name for name in before if before[name] != after[name]} == other


ROWS = {"prediction": ["A cat's toy.", "a dog"], "references": [["the cat"], ["the dog"]]}
PROGRAM = """
import json, sys
from metrics.scale.frequencies import BatchFrequencies
from metrics.scale.batches import BatchStatistics
metric, rows = sys.argv[1], json.loads(sys.argv[2])
if metric == "cider":
    BatchStatistics("cider", document_frequencies=BatchFrequencies().table(rows), stem=False)(rows)
else:
    BatchStatistics(metric)(rows)
print(json.dumps([m.__file__ for name, m in sys.modules.items() if name.startswith("metrics.")]))
"""


@pytest.mark.parametrize("metric", ["bleu4", "cider", "vqa_accuracy"])
def test_every_module_that_a_batch_loads_is_among_the_sources(metric):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, metric, json.dumps(ROWS)],
        capture_output=True,
        timeout=60,
        cwd=PACKAGE.parent,
        check=True,
    )
    # The program imports scale/frequencies, which imports cider, for all. The names of _shared.py are followed alone.
    own = ("utils", metric)
    loaded = {Path(path) for path in json.loads(done.stdout)}
    loaded = {path for path in loaded if path.parent.name in own and path.name not in ("__init__.py", "_shared.py")}
    found = set(sources(PACKAGE, f"{metric}/scoring", "scale/frequencies"))
    assert PACKAGE / metric / "scoring.py" in loaded
    assert loaded <= found


@pytest.mark.parametrize("metric", METRICS)
def test_names_of_the_joined_file_lead_to_their_modules(metric):
    folder = PACKAGE / metric
    wanted = {module.path for module in modules_of(folder, "_shared")}
    found = {path for path in sources(PACKAGE, f"{metric}/scoring") if path.parent.name == "utils"}
    assert found <= wanted and PACKAGE / "utils" / "checks.py" in found
    assert not {path.name for path in found} & {"base.py", "trainer.py"}


def test_imports_of_every_form(tmp_path):
    (tmp_path / "p" / "a").mkdir(parents=True)
    texts = {
        "a/scoring.py": "def f():\n    from .one import x\n    from . import two\n    import p.a.three, json\n",
        "a/one.py": "from ..top import y",
        "a/two.py": "from p.a import four",
        "a/three.py": "import p.none",
        "a/four.py": "from p.other.scoring import z",
        "top.py": "",
        "a/five.py": "",
    }
    (tmp_path / "p" / "other").mkdir()
    (tmp_path / "p" / "other" / "scoring.py").write_text("")
    for name, text in texts.items():
        (tmp_path / "p" / name).write_text(text)
    found = {str(path.relative_to(tmp_path / "p")) for path in sources(tmp_path / "p", "a/scoring")}
    assert found == {"a/scoring.py", "a/one.py", "a/two.py", "a/three.py", "a/four.py", "top.py"}


@pytest.mark.parametrize(
    "statistics_of, sees",
    [
        (lambda: BatchStatistics("entity_score"), True),
        (lambda: BatchStatistics("cider", stem=True), True),
        (lambda: BatchFrequencies(stem=True), True),
        (lambda: BatchStatistics("cider"), False),
        (lambda: BatchStatistics("bleu4"), False),
    ],
)
def test_version_of_nltk(statistics_of, sees, monkeypatch):
    before = statistics_of().fingerprint()
    monkeypatch.setattr(fingerprints, "version", lambda package: "0.0")
    assert (statistics_of().fingerprint() != before) is sees


def test_content_of_a_folder(tmp_path, monkeypatch):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "weights").write_bytes(b"1234")

    def of(path):
        return BatchStatistics("entity_score", model_path=path).fingerprint()

    first = of(str(tmp_path / "one"))
    assert of(tmp_path / "one") == first == of(str(tmp_path / "two")) != of(str(tmp_path / "none"))
    status = os.stat(tmp_path / "one" / "weights")
    (tmp_path / "one" / "weights").write_bytes(b"1235")
    os.utime(tmp_path / "one" / "weights", ns=(status.st_atime_ns, status.st_mtime_ns))
    assert of(str(tmp_path / "one")) != first
    (tmp_path / "two" / "weights").rename(tmp_path / "two" / "renamed")
    assert of(str(tmp_path / "two")) not in (first, of(str(tmp_path / "one")))
    # Read once, while nothing changes.
    monkeypatch.setattr(fingerprints, "file_hash", None)
    of(str(tmp_path / "one"))


def test_a_file_with_the_name_of_an_option(tmp_path, monkeypatch):
    before = BatchStatistics("bleu4", tokenizer="char").fingerprint()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "char").write_text("no tokenizer")
    assert BatchStatistics("bleu4", tokenizer="char").fingerprint() == before


def test_a_table_written_anew(tmp_path):
    path = tmp_path / "table.npz"
    tables = [BatchFrequencies().table({"references": [["a cat"], [text]]}) for text in ("a dog", "a cow")]
    found = []
    for table in tables:
        status = os.stat(path) if found else None
        table.save(str(path))
        if status:
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
        statistics_of = BatchStatistics("cider", document_frequencies=str(path))
        values = statistics_of({"prediction": ["a dog"], "references": [["a dog"]]})["similarity"]
        found.append((statistics_of.fingerprint(), values.tolist()))
    assert found[0][0] != found[1][0] and found[0][1] == found[1][1]
    in_memory = [BatchStatistics("cider", document_frequencies=table).fingerprint() for table in tables]
    assert in_memory[0] != in_memory[1]


def test_stamps(tmp_path):
    path = tmp_path / "a"
    path.write_text("1")
    first = stamp(path), stamp(tmp_path)
    assert first == (stamp(path), stamp(tmp_path))
    other = tmp_path / "b"
    other.write_text("2")
    assert stamp(tmp_path) != first[1]
    os.utime(other, ns=(os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns))
    os.replace(other, path)
    assert stamp(path) != first[0] and stamp(tmp_path) != first[1]
    with pytest.raises(FileNotFoundError):
        stamp(other)
