"""The installed package: one top-level name, a command, `load`, no clash with the metrics.py of a training folder."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import metrics

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "examples" / "data"
FILES = [
    "--predictions",
    str(DATA / "caption_predictions.json"),
    "--references",
    str(DATA / "caption_references.json"),
]
PYTHON = """
import multimodal_metrics as mm, metrics
assert metrics.mine and mm.__version__ == {version!r}
print(mm.load("cider").compute(predictions=["a b c d", "e f g h"], references=[["a b c d"], ["e f g h"]])["cider"])
from multimodal_metrics.cider.scoring import Encoder
from multimodal_metrics.scale.batches import BatchStatistics
print(BatchStatistics("bleu4").score(BatchStatistics("bleu4")(dict(prediction=["a b c d"], references=[["a b c d"]]))))
"""


def run(command, folder, **variables):
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    result = subprocess.run(
        command, cwd=folder, env={**environment, **variables}, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built beside what an older build left behind."""
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("source")
    files = run(["git", "ls-files", "metrics", "pyproject.toml", "README.md", "LICENSE"], ROOT).split()
    for file in files:
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / file).read_bytes())
    (folder / "build" / "lib" / "metrics").mkdir(parents=True)
    (folder / "build" / "lib" / "metrics" / "stale.py").touch()
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "-w", "dist", "."]
    run([sys.executable, *command], folder)
    (found,) = (folder / "dist").glob("*.whl")
    return found


def test_wheel_has_one_top_level_name_and_all_files(wheel):
    with zipfile.ZipFile(wheel) as archive:
        inside = archive.namelist()
        (entry,) = (name for name in inside if name.endswith("entry_points.txt"))
        assert b"multimodal-metrics = multimodal_metrics.__main__:main" in archive.read(entry)
    packed = {name for name in inside if ".dist-info/" not in name}
    assert {name.partition("/")[0] for name in packed} == {"multimodal_metrics"}
    tracked = run(["git", "ls-files", "metrics"], ROOT).split()
    assert packed == {name.replace("metrics/", "multimodal_metrics/", 1) for name in tracked}


def test_package_list_is_that_of_the_folders():
    tomllib = pytest.importorskip("tomllib", reason="tomllib comes with Python 3.11")
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    folders = sorted(path.parent.relative_to(ROOT) for path in (ROOT / "metrics").rglob("__init__.py"))
    assert listed == [".".join(("multimodal_metrics", *folder.parts[1:])) for folder in folders]


def test_installed_beside_another_metrics(wheel, tmp_path):
    # The packages that it needs are those of this environment.
    run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], tmp_path)
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "needed.pth").write_text("\n".join(path for path in sys.path if path.endswith("site-packages")))
    run(
        [
            sys.executable,
            "-m",
            "pip",
            "--python",
            str(tmp_path / "venv"),
            "install",
            "--quiet",
            "--no-deps",
            "--no-index",
            str(wheel),
        ],
        tmp_path,
    )
    work = tmp_path / "work"
    (work / "metrics").mkdir(parents=True)
    (work / "metrics.py").write_text("mine = True\n")
    (work / "metrics" / "__init__.py").write_text("mine = True\n")
    bin_ = tmp_path / "venv" / "bin"
    assert run([str(bin_ / "multimodal-metrics"), "--version"], work) == f"multimodal-metrics {metrics.__version__}\n"
    assert "cider                1.967026" in run([str(bin_ / "multimodal-metrics"), "score", "cider", *FILES], work)
    variables = {"HF_HOME": str(tmp_path / "hf"), "HF_MODULES_CACHE": str(tmp_path / "modules")}
    printed = run([str(bin_ / "python"), "-c", PYTHON.format(version=metrics.__version__)], work, **variables)
    assert float(printed.split()[0]) == pytest.approx(10) and "'bleu4': 1.0" in printed


def test_load_in_a_checkout(load_metric):
    loaded = metrics.load("cider")
    assert type(loaded).__name__ == type(load_metric("cider")).__name__
    with pytest.raises(ValueError, match="name is 'meteors', expected one of bleu4, cider"):
        metrics.load("meteors")
