"""CONTRIBUTING.md's steps to a new metric, followed on its template in a checkout of its own."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
USE = """
import sys, evaluate
metric = evaluate.load(sys.argv[1])
data = {"predictions": ["a cat", "a dog runs"], "references": [["the Cat"], ["dogs run", "a dog"]]}
found = metric.compute(**data, per_sample=True, by=["x", "y"])
print(found["word_recall"], found["per_sample"], found["by"]["y"], metric.signature())
metric.add_batch(**data)
print(metric.compute(lower=False)["word_recall"])
try:
    metric.compute(predictions=["a cat", 7], references=data["references"])
except TypeError as error:
    print(error)
"""
SHARDS = """
from metrics.scale.batches import BatchStatistics
from metrics.word_recall.scoring import Scorer
statistics_of = BatchStatistics(Scorer(lower=False))
statistics = statistics_of({"prediction": ["a cat"], "references": [["A cat"]]})
print(statistics_of.score(statistics), statistics_of.signature(statistics))
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the package with the template as metrics/word_recall, and its generated files made."""
    folder = tmp_path_factory.mktemp("checkout")
    shutil.copytree(ROOT / "metrics", folder / "metrics", ignore=shutil.ignore_patterns("__pycache__"))
    target = folder / "metrics" / "word_recall"
    target.mkdir()
    for file in (ROOT / "docs" / "new_metric").iterdir():
        if file.is_file():
            text = file.read_text(encoding="utf-8").replace("new_metric", "word_recall")
            text = text.replace("NewMetric", "WordRecall")
            (target / file.name.replace("new_metric", "word_recall")).write_text(text, encoding="utf-8")
    made = run(folder, "-m", "metrics.publish.bundles")
    assert made.split() == ["written:", "metrics/word_recall/_shared.py", "written:", "metrics/word_recall/_page.py"]
    return folder


def run(folder, *command):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


EXPECTED = """\
0.75 {'word_recall': [0.5, 1.0]} {'word_recall': 1.0, 'count': 1} word_recall|lower:yes|refs:1-2|v:0.1.0
0.5
predictions[1] is int 7, expected str
"""


def test_the_new_metric_loads_and_scores(checkout):
    assert run(checkout, "-c", USE, "metrics/word_recall") == EXPECTED


def test_the_new_metric_works_when_copied_alone(checkout, tmp_path):
    run(checkout, "-m", "metrics", "export", "word_recall", str(tmp_path))
    assert run(tmp_path, "-I", "-c", USE, str(tmp_path / "word_recall")) == EXPECTED


def test_the_new_metric_scores_batches(checkout):
    assert run(checkout, "-c", SHARDS) == "{'word_recall': 0.5} word_recall|lower:no|refs:1|v:0.1.0\n"


def test_the_new_card_has_every_section_and_runs(checkout):
    card = (checkout / "metrics" / "word_recall" / "README.md").read_text(encoding="utf-8")
    assert "## Limitations and Bias" in card and "new_metric" not in card
    code = "import doctest, sys; failed, tried = doctest.testfile(sys.argv[1], False); print(failed, tried)"
    assert run(checkout, "-c", code, "metrics/word_recall/README.md") == "0 3\n"
