"""The command line on COCO files: numbers, formats, and what it says of wrong files."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

from metrics.__main__ import main
from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider

ROOT = Path(__file__).resolve().parents[2]
REFERENCES = {1: ["a cat sits on a mat", "the cat sat on the mat"], 2: ["two dogs play in a park"], 3: ["a red bus"]}
PREDICTIONS = {3: "the red bus", 1: "a cat on a mat", 2: "dogs in a park"}


@pytest.fixture
def files(tmp_path):
    annotations = [{"image_id": i, "caption": c} for i, captions in REFERENCES.items() for c in captions]
    predictions = [{"image_id": str(i), "caption": caption} for i, caption in PREDICTIONS.items()]
    return write(tmp_path, predictions, {"annotations": annotations})


def write(folder, predictions, references):
    paths = folder / "predictions.json", folder / "references.json"
    for path, content in zip(paths, (predictions, references)):
        path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return [str(path) for path in paths]


def score(files, *options, metrics=("cider", "bleu4")):
    return main(["score", *metrics, "--predictions", files[0], "--references", files[1], *options])


def test_scores_equal_the_metrics(files, tmp_path, capsys):
    assert score(files, "--json", str(tmp_path / "out.json")) == 0
    results = json.loads((tmp_path / "out.json").read_text())
    inputs = list(PREDICTIONS.values()), [REFERENCES[i] for i in PREDICTIONS]
    assert results["num_samples"] == 3
    for name, scoring in (("cider", cider), ("bleu4", bleu4)):
        expected = scoring.score(scoring.sample_statistics(*inputs))[name]
        assert results[name][name] == pytest.approx(expected, abs=1e-12)
    assert results["cider"]["signature"] == "cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no|refs:1-2|v:0.1.0"
    assert results["bleu4"]["signature"] in capsys.readouterr().out


def test_per_sample_file_is_in_the_order_of_the_predictions(files, tmp_path):
    assert score(files, "--per-sample", str(tmp_path / "out.csv")) == 0
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["image_id"] for row in rows] == ["3", "1", "2"]
    inputs = list(PREDICTIONS.values()), [REFERENCES[i] for i in PREDICTIONS]
    expected = cider.sample_scores(cider.sample_statistics(*inputs))["cider"]
    assert [float(row["cider"]) for row in rows] == pytest.approx(expected.tolist(), abs=1e-12)


def test_aliases_and_lists_as_references(tmp_path):
    references = [{"image_id": i, "caption": c} for i, captions in REFERENCES.items() for c in captions]
    files = write(tmp_path, [{"image_id": i, "caption": c} for i, c in PREDICTIONS.items()], references)
    assert main(["score", "bleu4", "--pred_path", files[0], "--refe_path", files[1]]) == 0


@pytest.mark.parametrize(
    "options",
    [["--variant", "cider_r"], ["--stem"], ["--tokenizer", "char"], ["--smoothing", "coco", "--effective-order"]],
)
def test_options_reach_the_metrics(files, options, tmp_path):
    assert score(files, *options, "--json", str(tmp_path / "out.json")) == 0
    results = json.loads((tmp_path / "out.json").read_text())
    plain = "cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no", "bleu4|smooth:capped|eff:no|tok:ptb"
    assert not all(results[name]["signature"].startswith(start) for name, start in zip(("cider", "bleu4"), plain))


def test_saved_table(files, tmp_path):
    table = cider.DocumentFrequencies.from_references(REFERENCES.values())
    table.save(str(tmp_path / "table.npz"))
    assert score(files, "--document-frequencies", str(tmp_path / "table.npz"), metrics=["cider"]) == 0


GOOD = [{"image_id": 1, "caption": "a"}, {"image_id": 2, "caption": "b"}]
WRONG = {
    "missing": (GOOD[:1], GOOD, "no caption for 1 image id (2)"),
    "unknown": (GOOD, GOOD[:1], "no caption for 1 image id (2)"),
    "duplicate": (GOOD + [{"image_id": "1", "caption": "c"}], GOOD, "more than one caption for 1 image id (1)"),
    "no overlap": ([{"image_id": 9, "caption": "a"}], GOOD[:1], "no image id in common: "),
    "not json": ("{", GOOD, "is not a JSON file"),
    "no annotations": (GOOD, {"images": []}, "expected annotations among the keys"),
    "not a list": (GOOD, {"annotations": 5}, "expected a list"),
    "no captions": (GOOD, {"1": []}, "key '1', expected annotations among the keys, or a list of captions"),
    "a number": (5, GOOD, "expected a list"),
    "row": ([["a"]], GOOD, "predictions.json[0] is ['a'], expected a dict with image_id and caption"),
    "caption": ([{"image_id": 1, "caption": None}], GOOD, "predictions.json[0]: caption is None, expected str"),
    "bool id": ([{"image_id": True, "caption": "a"}], GOOD, "image_id is True, expected int or str"),
    "float id": ([{"image_id": 1.0, "caption": "a"}], GOOD, "image_id is 1.0, expected int or str"),
    "empty": ([], GOOD, "no caption for 2 image ids (1, 2)"),
    "doubled id": ('{"1": "x", "2": "b", "1": "a cat"}', GOOD, "predictions.json: the key '1' stands twice"),
    "doubled id, escaped": (r'{"1": "x", "2": "b", "\u0031": "a cat"}', GOOD, "the key '1' stands twice"),
    "doubled key": ('[{"image_id": 1, "image_id": 2, "caption": "a"}]', GOOD, "the key 'image_id' stands twice"),
    "doubled reference": (GOOD, '{"1": ["a"], "2": ["b"], "2": ["c"]}', "references.json: the key '2' stands twice"),
    "doubled list": (GOOD, '{"annotations": [], "annotations": []}', "the key 'annotations' stands twice"),
}


@pytest.mark.parametrize("predictions, references, message", WRONG.values(), ids=WRONG)
def test_wrong_files_are_named_with_exit_code_2(predictions, references, message, tmp_path, capsys):
    assert score(write(tmp_path, predictions, references)) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert not captured.out


def test_many_ids_are_named_shortly(tmp_path, capsys):
    references = [{"image_id": i, "caption": "a"} for i in range(100)]
    assert score(write(tmp_path, GOOD, references)) == 2
    assert "98 image ids (0, 3, 4, 5, 6 and 93 more)" in capsys.readouterr().err


def test_allow_missing_scores_the_others_and_says_so(tmp_path, capsys):
    files = write(tmp_path, GOOD + [{"image_id": 7, "caption": "x"}], GOOD + [{"image_id": 8, "caption": "y"}])
    assert score(files, "--allow-missing") == 0
    captured = capsys.readouterr()
    assert "left out 2 ids" in captured.err
    assert captured.out.startswith("2 images")


def test_missing_file_and_unknown_metric(tmp_path, capsys):
    assert score([str(tmp_path / "none.json")] * 2) == 2
    assert "none.json" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        main(["score", "meteor", "--predictions", "x", "--references", "x"])
    assert stop.value.code == 2


def test_one_image_under_corpus_frequencies(tmp_path, capsys):
    assert score(write(tmp_path, GOOD[:1], GOOD[:1])) == 2
    assert "single image" in capsys.readouterr().err


def test_module_runs_as_a_program_with_the_example_files():
    data = ROOT / "examples" / "data"
    result = subprocess.run(
        [
            sys.executable,
            "-m",
            "metrics",
            "score",
            "cider",
            "bleu4",
            "--predictions",
            str(data / "caption_predictions.json"),
            "--references",
            str(data / "caption_references.json"),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, result.stderr
    assert "cider                1.967026" in result.stdout
    assert "bleu4                0.275201" in result.stdout


def test_coco_demo_files(shared, tmp_path):
    folder = shared / "data" / "coco"
    files = folder / "demo_val2014_candidates.json", folder / "demo_val2014_references.json"
    assert score([str(path) for path in files], "--smoothing", "coco", "--json", str(tmp_path / "out.json")) == 0
    results = json.loads((tmp_path / "out.json").read_text())
    assert results["cider"]["cider"] == pytest.approx(0.5998952026835711, abs=1e-9)
    assert [results["bleu4"][f"bleu{n}"] for n in (1, 2, 3, 4)] == pytest.approx(
        [0.579400, 0.404391, 0.278536, 0.190829], abs=1e-6
    )


def test_ids_that_never_meet_show_two_of_each_file(tmp_path, capsys):
    predictions = [{"image_id": f"COCO_{i}.jpg", "caption": "a cat"} for i in range(4)]
    files = [tmp_path / "predictions.json", tmp_path / "references.json"]
    for path, content in zip(files, (predictions, {"1": ["a cat"], "2": ["a cat"]})):
        path.write_text(json.dumps(content))
    for more in ([], ["--allow-missing"]):
        assert main(["score", "cider", "--predictions", str(files[0]), "--references", str(files[1]), *more]) == 2
        assert (
            f"have no image id in common: {files[0]} has COCO_0.jpg, COCO_1.jpg and 2 more, {files[1]} has 1, 2\n"
            in capsys.readouterr().err
        )
    for path in files:
        path.write_text("[]")
    assert main(["score", "cider", "--predictions", str(files[0]), "--references", str(files[1])]) == 2
    assert f"in common: {files[0]} has none, {files[1]} has none" in capsys.readouterr().err
    files[0].write_text(json.dumps([{"id": 1, "caption": "a cat"}]))
    assert main(["score", "cider", "--predictions", str(files[0]), "--references", str(files[1])]) == 2
    assert "[0] has the keys ['id', 'caption'], expected a dict with image_id and caption" in capsys.readouterr().err
