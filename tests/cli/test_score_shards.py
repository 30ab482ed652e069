"""The command line on shards: the numbers of the whole, per sample too, in one process and on engines."""

import csv
import json

import pytest

from metrics.__main__ import main
from tests.sharding import answers, captions, cut, whole_scores, write_jsonl, write_parquet
from tests.tiny_models import TEXTS

pytest.importorskip("pyarrow")


@pytest.fixture
def folder(tmp_path):
    for number, rows in enumerate([*cut(captions(40), 3), []]):
        renamed = [{"id": row["id"], "caption": row["prediction"], "refs": row["references"]} for row in rows]
        like = {"id": 0, "caption": "", "refs": [""]}
        write_parquet(renamed, tmp_path / f"{number}.parquet", like=like)
    return tmp_path


COLUMNS = ("--prediction-column", "caption", "--references-column", "refs")


def score(folder, *options, metrics=("cider", "bleu4"), pattern="*.parquet"):
    return main(["score", *metrics, "--predictions", str(folder / pattern), *options])


def results_of(folder, *options, **how):
    assert score(folder, *options, "--json", str(folder / "out.json"), **how) == 0
    return json.loads((folder / "out.json").read_text())


def test_scores_of_the_whole(folder, capsys):
    results = results_of(folder, *COLUMNS, "--smoothing", "coco", "--confidence-level", "0.9", "--batch-rows", "9")
    assert results["num_samples"] == 40
    for name, options in (("cider", {}), ("bleu4", {"smoothing": "coco"})):
        assert results[name][name] == pytest.approx(whole_scores(name, captions(40), **options)[name], abs=1e-12)
        low, high = results[name]["confidence_interval"][name]
        assert low < results[name][name] < high
    assert results["cider"]["signature"] == "cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no|refs:1-5|v:0.1.0"
    assert capsys.readouterr().out.startswith("40 images")


@pytest.mark.parametrize("ending", ["parquet", "jsonl", "csv"])
def test_samples_by_id(folder, ending, tmp_path_factory):
    path = tmp_path_factory.mktemp("out") / f"samples.{ending}"
    assert score(folder, *COLUMNS, "--id-column", "id", "--per-sample", str(path)) == 0
    if ending == "parquet":
        rows = pytest.importorskip("pyarrow.parquet").read_table(path).to_pylist()
    elif ending == "jsonl":
        rows = [json.loads(line) for line in path.read_text().splitlines()]
    else:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    assert list(rows[0])[:2] == ["id", "cider"]
    assert sorted(int(row["id"]) for row in rows) == list(range(1, 41))
    mean = sum(float(row["cider"]) for row in rows) / 40
    assert mean == pytest.approx(whole_scores("cider", captions(40))["cider"], abs=1e-12)


def test_samples_without_id_are_named_by_shard_and_row(folder):
    assert score(folder, *COLUMNS, "--per-sample", str(folder / "o.jsonl"), metrics=["bleu4"]) == 0
    rows = [json.loads(line) for line in (folder / "o.jsonl").read_text().splitlines()]
    assert (rows[0]["shard"], rows[0]["row"]) == ("0.parquet", 0)
    assert {row["shard"] for row in rows} == {"0.parquet", "1.parquet", "2.parquet"}


def test_samples_of_json_files_as_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [{"image_id": i, "caption": text} for i, text in enumerate(["a cat", "a dog"])]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    path = tmp_path / "o.parquet"
    files = ["--predictions", str(tmp_path / "p.json"), "--references", str(tmp_path / "p.json")]
    assert main(["score", "bleu4", *files, "--per-sample", str(path)]) == 0
    assert parquet.read_table(path).to_pydict()["image_id"] == ["0", "1"]


def test_vqa_in_json_lines(tmp_path):
    for number, rows in enumerate(cut(answers(30), 2)):
        write_jsonl(rows, tmp_path / f"{number}.jsonl")
    results = results_of(tmp_path, "--preset", "vizwiz", metrics=["vqa_accuracy"], pattern="*.jsonl")
    expected = whole_scores("vqa_accuracy", answers(30), preset="vizwiz")["vqa_accuracy"]
    assert results["vqa_accuracy"]["vqa_accuracy"] == pytest.approx(expected, abs=1e-12)


def test_entity_score(tmp_path, t5_folder, nltk_data):
    rows = [{"id": i, "prediction": text, "references": [text]} for i, text in enumerate(TEXTS)]
    write_parquet(rows[:5], tmp_path / "0.parquet")
    write_parquet(rows[5:], tmp_path / "1.parquet")
    results = results_of(tmp_path, "--model-path", str(t5_folder), metrics=["entity_score"])["entity_score"]
    assert results["entity_score"] == pytest.approx(1.00005, abs=1e-5)


def test_results_of_shards_are_kept_and_used_by_another_engine(folder, tmp_path_factory):
    pytest.importorskip("datasets")
    kept = tmp_path_factory.mktemp("kept")
    first = results_of(folder, *COLUMNS, "--shard-results", str(kept))
    times = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert len(times) == 12
    engine = ("--engine", "datasets", "--num-workers", "2")
    assert results_of(folder, *COLUMNS, "--shard-results", str(kept), *engine) == first
    assert {file: file.stat().st_mtime_ns for file in kept.iterdir()} == times


@pytest.mark.parametrize("options, message", [
    ([], "has no column 'references', expected one of id, caption, refs"),
    ([*COLUMNS, "--references", "x.json"], "--references does not go with shards"),
    ([*COLUMNS, "--num-workers", "2"], "num_workers is 2 without an engine"),
    ([*COLUMNS, "--num-workers", "0"], "at least 1"),
])  # fmt: skip
def test_wrong_options_are_named(folder, options, message, capsys):
    assert score(folder, *options) == 2
    assert message in capsys.readouterr().err


def test_other_files_and_metrics(folder, tmp_path, capsys):
    assert main(["score", "cider", "--predictions", "x.json", "--references", "y.json", "--engine", "ray"]) == 2
    assert "--engine is for shards" in capsys.readouterr().err
    assert score(folder, metrics=["recall_at_k"]) == 2
    assert "recall_at_k takes no shards of rows" in capsys.readouterr().err
    assert score(folder, pattern="*.jsonl") == 2
    assert "there is no file" in capsys.readouterr().err


def test_without_ray(folder, monkeypatch, capsys):
    from metrics.utils import engines

    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert score(folder, *COLUMNS, "--engine", "ray") == 2
    assert "pip install 'ray[data]'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["similarity", "embeddings"])
def test_retrieval_from_shards_of_arrays(kind, tmp_path):
    numpy = pytest.importorskip("numpy")
    rng = numpy.random.default_rng(0)
    images, texts = rng.integers(-2, 3, (12, 4)), rng.integers(-2, 3, (12, 4))
    sides = {"similarity": images @ texts.T} if kind == "similarity" else {"image-embeddings": images,
                                                                          "text-embeddings": texts}  # fmt: skip
    whole, parts = [], []
    for name, values in sides.items():
        numpy.save(tmp_path / f"{name}.npy", values)
        for number, part in enumerate(numpy.split(values, [5, 6])):
            numpy.save(tmp_path / f"{name}-{number}.npy", part)
        whole += [f"--{name}", str(tmp_path / f"{name}.npy")]
        parts += [f"--{name}", str(tmp_path / f"{name}-*.npy")]
    results = []
    for files in (whole, parts):
        path = tmp_path / "out.json"
        options = ["--product", "dot", "--confidence-level", "0.9", "--recall-fraction", "--json", str(path)]
        assert main(["score", "recall_at_k", *files, *options]) == 0
        results.append(json.loads(path.read_text())["recall_at_k"])
    expected, found = results
    assert {key: expected[key] for key in found} == found
    assert found["rsum"] > 0


def test_folds_do_not_go_with_shards(capsys):
    assert main(["score", "recall_at_k", "--similarity", "*.npy", "--folds", "2"]) == 2
    assert "--folds does not go with shards" in capsys.readouterr().err
