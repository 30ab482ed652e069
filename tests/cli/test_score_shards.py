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


IDS = {
    "unsigned": [[1, 2], [9223372036854775809, 3], [2**64 - 1, 0]],
    "beyond 64 bits": [[1, 2], [2**64, -5], [2**200, 0]],
    "texts": [["1", "a"], ["b\0", ""], ["01", "é"]],
    "mixed": [[1, "1x"], ["a", 2**63 + 1], [2, None]],
    "fractions": [[0.1, 2**53 + 1], [1e300, 3], [-0.5, 4]],
}


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
@pytest.mark.parametrize("ending", ["jsonl", "csv"])
def test_ids_of_json_lines_are_kept_as_they_are(ids, ending, tmp_path, capsys):
    rows = captions(6)
    for number, part in enumerate(ids):
        shard = [{**rows[2 * number + i], "id": value} for i, value in enumerate(part)]
        write_jsonl(shard, tmp_path / f"{number}.jsonl")
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / f"samples.{ending}"
    options = ["--id-column", "id", "--per-sample", str(path), "--batch-rows", "1"]
    assert score(tmp_path, *options, pattern="*.jsonl") == 0
    expected = [value for part in ids for value in part]
    if ending == "jsonl":
        found = [json.loads(line)["id"] for line in path.read_text().splitlines()]
        assert found == expected and list(map(type, found)) == list(map(type, expected))
    else:
        with open(path, encoding="utf-8", newline="") as file:
            found = [row["id"] for row in csv.DictReader(file)]
        assert found == ["" if value is None else str(value) for value in expected]
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    "kind, parts",
    [
        ("uint64", [[1, 2], [9223372036854775809, 3]]),
        ("int64", [[-1, 2], [None, 2**63 - 1]]),
        ("string", [[None, None], ["a", "b"]]),
        ("timestamp[us]", [[1, 2], [3, 4]]),
        ("binary", [[b"a", b"b"], [b"c", b""]]),
    ],
)
def test_ids_of_parquet_are_kept_as_they_are(kind, parts, tmp_path):
    import pyarrow
    import pyarrow.parquet

    for number, part in enumerate(parts):
        rows = {
            "prediction": ["a cat", "a dog"],
            "references": [["a cat"], ["the dog"]],
            "id": pyarrow.array(part, kind if "[" not in kind else pyarrow.timestamp("us")),
        }
        pyarrow.parquet.write_table(pyarrow.table(rows), tmp_path / f"{number}.parquet")
    (tmp_path / "out").mkdir()
    path = tmp_path / "out" / "samples.parquet"
    assert score(tmp_path, "--id-column", "id", "--per-sample", str(path), "--batch-rows", "1") == 0
    found = pyarrow.parquet.read_table(path).column("id")
    assert found.type == (kind if "[" not in kind else pyarrow.timestamp("us"))
    assert found.to_pylist() == pyarrow.array([i for part in parts for i in part], found.type).to_pylist()


def test_ids_that_parquet_cannot_hold_are_named(tmp_path, capsys):
    for ids, message in (([1, "a"], "column 'id' holds int and str"), ([1, 2**64], "column 'id' has no type")):
        write_jsonl([{**row, "id": i} for row, i in zip(captions(2), ids)], tmp_path / "0.jsonl")
        path = str(tmp_path / "samples.parquet")
        assert score(tmp_path, "--id-column", "id", "--per-sample", path, pattern="*.jsonl") == 2
        assert message in capsys.readouterr().err


def test_ids_of_several_rows_are_named(tmp_path, capsys):
    for number, ids in enumerate(([1, 2], ["1", 3])):
        write_jsonl([{**row, "id": i} for row, i in zip(captions(2), ids)], tmp_path / f"{number}.jsonl")
    path = str(tmp_path / "out.csv")
    assert score(tmp_path, "--id-column", "id", "--per-sample", path, pattern="*.jsonl") == 0
    assert "more than one row has 1 id (1) in column 'id'; all rows are scored" in capsys.readouterr().err


@pytest.mark.parametrize(
    "metric, name",
    [
        ("vqa_accuracy", "vqa_accuracy"),
        ("vqa_accuracy", "accuracy"),
        ("vqa_accuracy", "num_references"),
        ("vqa_accuracy", "are_ids"),
        ("cider", "similarity"),
        ("cider", "cider"),
        ("cider", "cider_2"),
        ("cider", "num_references"),
        ("bleu4", "matches"),
        ("bleu4", "bleu2"),
        ("bleu4", "are_ids"),
    ],
)
def test_an_id_column_with_the_name_of_another_column(metric, name, tmp_path, capsys):
    rows = (answers if metric == "vqa_accuracy" else captions)(6)
    write_jsonl([{**row, name: row["id"]} for row in rows], tmp_path / "0.jsonl")
    options = ["--id-column", name, "--per-sample", str(tmp_path / "out.csv")]
    code = score(tmp_path, *options, metrics=[metric], pattern="*.jsonl")
    error = capsys.readouterr().err
    assert code == 2 and f"the column {name!r}, which is to be kept, has the name of a column that {metric}" in error


def ids_of(text):
    return [len(word) for word in text.split()]


def as_ids(rows):
    return [
        {**row, "prediction": ids_of(row["prediction"]), "references": list(map(ids_of, row["references"]))}
        for row in rows
    ]


@pytest.mark.parametrize("ending", ["parquet", "jsonl"])
def test_token_ids_are_signed_as_such(ending, tmp_path, load_metric):
    rows = as_ids(captions(20))
    # A shard whose captions are all empty has no token, and is of ids all the same.
    for number, part in enumerate([rows[:9], [{**rows[0], "prediction": [], "references": [[]]}] * 2, rows[9:]]):
        writer = write_parquet if ending == "parquet" else write_jsonl
        writer(part, tmp_path / f"{number}.{ending}")
    results = results_of(tmp_path, pattern=f"*.{ending}")
    rows += [{**rows[0], "prediction": [], "references": [[]]}] * 2
    for name in ("cider", "bleu4"):
        assert "|tok:ids|" in results[name]["signature"]
        module = load_metric(name)
        batch = {key + "s": [row[key] for row in rows] for key in ("prediction",)}
        expected = module.compute(**batch, references=[row["references"] for row in rows])
        assert results[name][name] == pytest.approx(expected[name], abs=1e-12)
        assert module.signature() == results[name]["signature"]


@pytest.mark.parametrize(
    "metric, message",
    [
        ("cider", "some references are texts and some are token ids"),
        ("bleu4", "1.jsonl holds ids and "),
    ],
)
def test_shards_of_texts_and_of_ids(metric, message, tmp_path, capsys):
    write_jsonl(captions(5), tmp_path / "0.jsonl")
    write_jsonl(as_ids(captions(5)), tmp_path / "1.jsonl")
    assert score(tmp_path, metrics=[metric], pattern="*.jsonl") == 2
    assert message in capsys.readouterr().err


def test_doubled_keys_and_columns(tmp_path, capsys):
    import pyarrow
    import pyarrow.parquet

    (tmp_path / "0.jsonl").write_text('{"prediction": "a", "references": ["a"], "prediction": "b"}\n')
    assert score(tmp_path, metrics=["bleu4"], pattern="*.jsonl") == 2
    assert "0.jsonl, line 1: the key 'prediction' stands twice in one object" in capsys.readouterr().err
    columns = [pyarrow.array(["a"]), pyarrow.array(["b"]), pyarrow.array([["a"]])]
    table = pyarrow.Table.from_arrays(columns, ["prediction", "prediction", "references"])
    pyarrow.parquet.write_table(table, tmp_path / "0.parquet")
    assert score(tmp_path, metrics=["bleu4"]) == 2
    assert "0.parquet has 2 columns 'prediction', expected one" in capsys.readouterr().err


def test_a_damaged_result_of_a_shard_is_made_anew(folder, tmp_path_factory, recwarn):
    kept = tmp_path_factory.mktemp("kept")
    first = results_of(folder, *COLUMNS, "--shard-results", str(kept))
    damaged = sorted(kept.glob("1-*.npz"))[0]
    damaged.write_bytes(b"")
    recwarn.clear()
    assert results_of(folder, *COLUMNS, "--shard-results", str(kept)) == first
    assert [str(warning.message) for warning in recwarn] == [
        f"{damaged} does not fit: it has 0 bytes, expected a seal of 80 at its end; it was made anew"
    ]


def test_new_weights_of_t5_are_seen(tmp_path, t5_folder, nltk_data):
    import shutil

    from tests.tiny_models import write_t5

    rows = [{"prediction": text, "references": [other]} for text, other in zip(TEXTS, TEXTS[1:])]
    write_parquet(rows, tmp_path / "0.parquet")
    model, kept = shutil.copytree(t5_folder, tmp_path / "t5"), tmp_path / "kept"

    def found(*options):
        options = ["--model-path", str(model), *options]
        return results_of(tmp_path, *options, metrics=["entity_score"])["entity_score"]["entity_score"]

    before = found("--shard-results", str(kept))
    assert found("--shard-results", str(kept)) == before
    write_t5(model, t5_folder, seed=5)
    assert found("--shard-results", str(kept)) == found() != before


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


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "has no column 'references', expected one of id, caption, refs"),
        ([*COLUMNS, "--references", "x.json"], "--references does not go with shards"),
        ([*COLUMNS, "--num-workers", "2"], "num_workers is 2 without an engine"),
        ([*COLUMNS, "--num-workers", "0"], "at least 1"),
    ],
)
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
    from metrics.scale import engines

    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert score(folder, *COLUMNS, "--engine", "ray") == 2
    assert "pip install 'ray[data]'" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["similarity", "embeddings"])
def test_retrieval_from_shards_of_arrays(kind, tmp_path):
    numpy = pytest.importorskip("numpy")
    rng = numpy.random.default_rng(0)
    images, texts = rng.integers(-2, 3, (12, 4)), rng.integers(-2, 3, (12, 4))
    sides = (
        {"similarity": images @ texts.T}
        if kind == "similarity"
        else {"image-embeddings": images, "text-embeddings": texts}
    )
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
