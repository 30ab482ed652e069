"""entity_score on the command line: COCO lists and dicts, the published flags and line, one sentence per problem."""

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metrics.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PREDICTIONS = [{"image_id": "b", "caption": "a man plays a guitar."}, {"image_id": "a", "caption": "she is talking."}]
REFERENCES = [
    {"image_id": "a", "caption": "two dogs run on green grass."},
    {"image_id": "b", "caption": "a man with a red guitar stands on a stage."},
]


def write(folder, predictions=PREDICTIONS, references=REFERENCES):
    paths = folder / "predictions.json", folder / "references.json"
    for path, content in zip(paths, (predictions, references)):
        path.write_text(json.dumps(content), encoding="utf-8")
    return ["--pred_path", str(paths[0]), "--refe_path", str(paths[1])]


@pytest.fixture
def model(nltk_data, t5_folder):
    return ["--model_path", str(t5_folder), "--device", "cpu"]


@pytest.mark.parametrize("as_dict", [False, True])
def test_lists_and_dicts(tmp_path, capsys, model, as_dict):
    files = [{"annotations": rows} if as_dict else rows for rows in (PREDICTIONS, REFERENCES)]
    out = tmp_path / "out"
    assert (
        main(
            [
                "score",
                "entity_score",
                *write(tmp_path, *files),
                *model,
                "--json",
                f"{out}.json",
                "--per-sample",
                f"{out}.csv",
            ]
        )
        == 0
    )
    printed = capsys.readouterr().out
    assert "2 images" in printed and re.search(r"num_skipped +1\n", printed)
    assert "\nAverage: 0.80, Range: (0.80 - 0.80)\n" in printed
    results = json.loads(Path(f"{out}.json").read_text())["entity_score"]
    assert results["entity_recall"] == pytest.approx(2 / 3) and results["num_skipped"] == 1
    with open(f"{out}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows[0]["predicted_entities"] == "guitar man" and rows[0]["reference_entities"] == "guitar man stage"
    assert rows[1]["entity_score"] == "nan"


def test_options(tmp_path, capsys, model):
    options = ["--entity-formula", "readme", "--no-entities", "zero", "--dtype", "bfloat16", "--batch-size", "2"]
    assert main(["score", "entity_score", *write(tmp_path), *model, *options]) == 0
    assert "|formula:readme|" in (printed := capsys.readouterr().out) and "|dtype:bfloat16|" in printed


@pytest.mark.parametrize("copied", [False, True])
def test_published_script(tmp_path, model, copied):
    folder = ROOT / "metrics" / "entity_score"
    if copied:
        folder = shutil.copytree(folder, tmp_path / "elsewhere")
    command = [sys.executable, str(folder / "score.py"), *write(tmp_path), *model[:2]]
    result = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, result.stderr
    assert "\nAverage: 0.80, Range: (0.80 - 0.80)\n" in result.stdout


def test_published_script_names_what_is_wrong(tmp_path, model):
    files = write(tmp_path, PREDICTIONS[:1])
    done = subprocess.run(
        [sys.executable, str(ROOT / "metrics" / "entity_score" / "score.py"), *files, *model[:2]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert "error: " in done.stderr and "no caption for 1 image id (a)" in done.stderr


def test_a_model_that_cannot_be_loaded(tmp_path, capsys):
    pytest.importorskip("transformers")
    assert main(["score", "entity_score", *write(tmp_path), "--model-path", str(tmp_path / "none")]) == 2
    error = capsys.readouterr().err
    assert "error: the T5 model" in error and "cannot be loaded" in error and "Traceback" not in error


def test_without_torch(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["score", "entity_score", *write(tmp_path)]) == 2
    assert "error: T5 states need torch and transformers: pip install torch transformers\n" in capsys.readouterr().err


def test_ids_that_do_not_meet(tmp_path, capsys):
    assert main(["score", "entity_score", *write(tmp_path, PREDICTIONS[:1])]) == 2
    assert "no caption for 1 image id (a)" in capsys.readouterr().err


def test_example_files(capsys, model):
    data = ROOT / "examples" / "data"
    files = [
        "--predictions",
        str(data / "caption_predictions.json"),
        "--references",
        str(data / "caption_references.json"),
    ]
    assert main(["score", "entity_score", *files, *model]) == 0
    assert "8 images" in capsys.readouterr().out
