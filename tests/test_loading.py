"""The metrics load as evaluate's users load them, and `metrics.load` finds them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from evaluate.loading import get_imports

from metrics import names
from metrics.publish import bundles

ROOT = Path(__file__).resolve().parents[1]
SCORE = """
import sys, evaluate
metric = evaluate.load(sys.argv[1])
texts = {"predictions": ["a b c d", "e f g h"], "references": [["a b c d"] * 4, ["e f g h"] * 4]}
print(metric.compute(**({"predictions": [[1, 0], [0, 1]]} if sys.argv[2] == "rsum" else texts))[sys.argv[2]])
"""
PERFECT = [
    ("cider", "cider", 10.0),
    ("bleu4", "bleu4", 1.0),
    ("vqa_accuracy", "vqa_accuracy", 1.0),
    ("recall_at_k", "rsum", 6.0),
]


def run_with_empty_cache(path, key, folder, cache):
    environment = {
        **os.environ,
        "HF_HOME": str(cache),
        "HF_MODULES_CACHE": str(cache / "modules"),
        "HF_METRICS_CACHE": str(cache / "metrics"),
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    environment.pop("PYTHONPATH", None)
    result = subprocess.run(
        [sys.executable, "-I", "-c", SCORE, path, key],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stderr
    return float(result.stdout.split()[-1])


@pytest.mark.parametrize("name, key, perfect", PERFECT)
def test_loads_by_relative_path(name, key, perfect, tmp_path):
    assert run_with_empty_cache(f"metrics/{name}", key, ROOT, tmp_path) == pytest.approx(perfect)


@pytest.mark.parametrize("name, key, perfect", PERFECT)
def test_loads_by_absolute_path_from_elsewhere(name, key, perfect, tmp_path):
    (tmp_path / "empty").mkdir()
    path = str(ROOT / "metrics" / name)
    assert run_with_empty_cache(path, key, tmp_path / "empty", tmp_path) == pytest.approx(perfect)


@pytest.mark.parametrize("name", names())
def test_script_imports_every_sibling_as_the_loader_reads_it(name):
    folder = ROOT / "metrics" / name
    seen = {path for kind, path, _, _ in get_imports(str(folder / f"{name}.py")) if kind == "internal"}
    assert seen == set(bundles.siblings(folder / f"{name}.py"))
    others = {name, "__init__", "app", "score", "_page"}
    assert seen == {path.stem for path in folder.glob("*.py")} - others


@pytest.mark.parametrize("path", sorted(ROOT.glob("metrics/*/*.py")), ids=lambda path: "/".join(path.parts[-2:]))
def test_no_hash_sign_in_a_string(path):
    # The loader's cache key ignores the rest of a line behind one, so that changed code would stay cached.
    import tokenize

    if path.parent.name in ("cli", "publish"):
        pytest.skip("not loaded by evaluate")
    with path.open("rb") as file:
        strings = [token for token in tokenize.tokenize(file.readline) if token.type == tokenize.STRING]
    assert not [token.start for token in strings if "#" in token.string]


def test_nothing_heavy_is_imported_by_the_pure_parts():
    code = (
        "import sys, metrics.cider.scoring, metrics.bleu4.scoring, metrics.utils.checks, metrics.__main__\n"
        "import metrics.vqa_accuracy.scoring, metrics.entity_score.scoring\n"
        "import metrics.recall_at_k.scoring, metrics.recall_at_k.buffered\n"
        "print([m for m in ('evaluate', 'datasets', 'torch', 'transformers', 'nltk') if m in sys.modules])"
    )
    result = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert result.stdout.strip() == "[]", result.stderr
