"""Shards as files: their scores are those of the whole, in one process, and nothing done is done again or lost."""

import os
import random
import zlib
from pathlib import Path

import numpy as np
import pytest

from metrics.files.rows import expand, read_batches
from metrics.files.statistics import from_table, read_statistics, to_table, write_rows
from metrics.scale.batches import BatchStatistics
from metrics.scale.engines import pick, serial
from metrics.scale.frequencies import BatchFrequencies
from metrics.scale.shards import ShardsFailed, ShardWork, score_shards, shard_folder
from tests.sharding import answers, assert_same_scores, captions, cut, whole_scores, write_jsonl, write_parquet

pytest.importorskip("pyarrow")


def write(shards, folder, writer=write_parquet, ending="parquet", **options):
    folder.mkdir(exist_ok=True)
    return [writer(shard, folder / f"{i}.{ending}", **options) for i, shard in enumerate(shards)]


@pytest.mark.parametrize("number", [1, 2, 7])
@pytest.mark.parametrize(
    "metric, options",
    [
        ("bleu4", {"smoothing": "coco"}),
        ("cider", {}),
        ("cider", {"variant": "cider", "stem": True}),
        ("vqa_accuracy", {}),
    ],
)
def test_scores_and_signature_of_the_whole(metric, options, number, tmp_path):
    rows = (answers if metric == "vqa_accuracy" else captions)(60)
    shards = [*cut(rows, number, seed=number), []]
    paths = write(shards, tmp_path / "in", row_group_size=11)
    found = score_shards(BatchStatistics(metric, **options), paths, str(tmp_path), batch_rows=4)
    assert_same_scores(found.score(), whole_scores(metric, rows, **options))
    assert "df:table" not in found.signature
    assert found.signature.endswith("refs:1-5|v:0.1.0" if metric != "vqa_accuracy" else "refs:4-10|v:0.1.0")


def test_json_lines_are_the_same_as_parquet(tmp_path):
    shards = cut(captions(30), 3)
    parquet = write(shards, tmp_path / "p")
    lines = write(shards, tmp_path / "l", write_jsonl, "jsonl")
    statistics_of = BatchStatistics("cider", keep=["id"])
    found = [score_shards(statistics_of, paths, str(tmp_path), batch_rows=7).statistics for paths in (parquet, lines)]
    assert all(np.array_equal(found[0][name], found[1][name]) for name in ("id", "similarity", "num_references"))
    assert found[0]["id"].tolist() == [row["id"] for shard in shards for row in shard]


def test_finished_shards_are_not_made_again(tmp_path):
    paths = write(cut(captions(30), 3), tmp_path / "in")
    statistics_of, kept = BatchStatistics("cider"), tmp_path / "kept"
    kept.mkdir()
    first = score_shards(statistics_of, paths, str(kept))
    times = {file: os.stat(file).st_mtime_ns for file in first.files}
    assert len(list(kept.iterdir())) == 6
    again = score_shards(statistics_of, paths, str(kept))
    assert {file: os.stat(file).st_mtime_ns for file in again.files} == times
    assert again.score() == first.score()
    # Another option of the formula needs no new statistics, another of the counting does.
    assert score_shards(statistics_of.with_options(scale=1.0), paths, str(kept)).files == first.files
    assert score_shards(statistics_of.with_options(sigma=1.0), paths, str(kept)).files != first.files


def test_a_changed_shard_is_counted_anew(tmp_path):
    shards = cut(captions(30), 3)
    paths = write(shards, tmp_path)
    statistics_of = BatchStatistics("cider")
    score_shards(statistics_of, paths, str(tmp_path))
    shards[1] = captions(25, seed=5)
    write_parquet(shards[1], Path(paths[1]))
    found = score_shards(statistics_of, paths, str(tmp_path)).score()
    assert_same_scores(found, whole_scores("cider", [row for shard in shards for row in shard]))


def test_a_corrupt_shard_is_named_and_the_others_are_kept(tmp_path):
    paths = write(cut(captions(40), 5), tmp_path / "in")
    content = Path(paths[2]).read_bytes()
    Path(paths[2]).write_bytes(content[: len(content) // 2])
    statistics_of, kept = BatchStatistics("bleu4"), tmp_path / "kept"
    kept.mkdir()
    with pytest.raises(ValueError, match=r"2.parquet is no readable Parquet file.*\(4 of 5 shards are done\)"):
        score_shards(statistics_of, paths, str(kept))
    made = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert len(made) == 4
    Path(paths[2]).write_bytes(content)
    found = score_shards(statistics_of, paths, str(kept))
    assert_same_scores(found.score(), whole_scores("bleu4", captions(40)))
    assert {file: file.stat().st_mtime_ns for file in made} == made
    assert len(list(kept.iterdir())) == 5


def test_damaged_pages_and_cut_lines(tmp_path):
    (path,) = write([captions(2000)], tmp_path)
    content = bytearray(Path(path).read_bytes())
    rng = random.Random(0)
    for place in range(40, len(content) // 2, 10):
        content[place] = rng.randrange(256)
    Path(path).write_bytes(content)
    with pytest.raises(ValueError, match="0.parquet"):
        score_shards(BatchStatistics("bleu4"), [path], str(tmp_path))
    lines = write_jsonl(captions(3), tmp_path / "cut.jsonl")
    Path(lines).write_bytes(Path(lines).read_bytes()[:-5])
    with pytest.raises(ValueError, match=r"cut.jsonl, line 3 is no JSON"):
        score_shards(BatchStatistics("bleu4"), [lines], str(tmp_path))
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    "row, message",
    [
        ({"prediction": None, "references": ["a"]}, r"rows from 4: predictions\[1\] is None, expected str"),
        ({"prediction": "a", "references": []}, r"rows from 4: references\[1\] is an empty list"),
        ({"prediction": "a"}, r"line 6 has no column 'references', expected one of prediction"),
        ([], r"line 6 is list \[\], expected an object"),
    ],
)
def test_wrong_rows_are_named_with_their_shard(row, message, tmp_path):
    path = write_jsonl([*captions(5), row], tmp_path / "x.jsonl")
    with pytest.raises(ValueError, match="x.jsonl.*" + message):
        score_shards(BatchStatistics("bleu4"), [path], str(tmp_path), batch_rows=4)


def test_missing_files_and_columns(tmp_path):
    (path,) = write([captions(3)], tmp_path)
    with pytest.raises(ValueError, match="none.parquet.*0 of 1 shards"):
        score_shards(BatchStatistics("bleu4"), [str(tmp_path / "none.parquet")], str(tmp_path))
    with pytest.raises(ValueError, match="0.parquet has no column 'caption', expected one of id, prediction"):
        score_shards(BatchStatistics("bleu4", predictions="caption"), [path], str(tmp_path))
    with pytest.raises(ValueError, match="unknown kind"):
        read_batches("x.csv", [], 1)


def test_shards_without_any_row(tmp_path):
    paths = write([[], []], tmp_path)
    for metric in ("bleu4", "cider"):
        with pytest.raises(ValueError, match="there is no row"):
            score_shards(BatchStatistics(metric), paths, str(tmp_path))


def test_one_image_is_no_corpus(tmp_path):
    with pytest.raises(ValueError, match="single image"):
        score_shards(BatchStatistics("cider"), write([captions(1), []], tmp_path), str(tmp_path))


class Panic(BaseException):
    """As Rust's panics reach Python."""


ERRORS = (
    RecursionError("too deep"),
    MemoryError(),
    KeyError("row"),
    OverflowError("too large"),
    zlib.error("Error -3"),
    UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
    AssertionError(),
    StopIteration("over"),
    ImportError("no module named x"),
    ArithmeticError("two\nlines"),
    Panic("in Rust"),
    RuntimeError("CUDA"),
)


class Wrong(BatchStatistics):
    """Meets an error in each shard but the last, and an error of another place in each."""

    def __call__(self, batch):
        number = batch["id"][0].as_py() if hasattr(batch["id"][0], "as_py") else batch["id"][0]
        if number < len(ERRORS):
            raise ERRORS[number]
        return super().__call__(batch)


def test_any_error_of_a_shard_is_a_sentence_and_the_others_are_kept(tmp_path):
    paths = write([[{**row, "id": number}] for number, row in enumerate(captions(len(ERRORS) + 2))], tmp_path / "in")
    statistics_of, kept = Wrong("bleu4", keep=["id"]), tmp_path / "kept"
    kept.mkdir()
    work = ShardWork(statistics_of, str(kept))
    for number, error in enumerate(ERRORS):
        text = work(paths[number]).error
        assert "\n" not in text and text.startswith(paths[number])
        assert type(error).__name__ in text or isinstance(error, UnicodeDecodeError)
    with pytest.raises(ShardsFailed, match=rf"\(2 of {len(paths)} shards are done\)"):
        score_shards(statistics_of, paths, str(kept))
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_stops_a_run_is_no_error_of_a_shard(stop, tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "ERRORS", (stop,))
    (path,) = write([[{**captions(1)[0], "id": 0}]], tmp_path / "in")
    with pytest.raises(stop):
        score_shards(Wrong("bleu4", keep=["id"]), [path], str(tmp_path))
    assert [child.name for child in tmp_path.iterdir()] == ["in"]


def test_hostile_lines_stop_no_other_shard(tmp_path):
    row = '{"prediction": "a cat", "references": %s}\n'
    lines = [row % ("[" * 100000), row % '["a"], "references": ["b"]', "\udcff\0\n", row % '["a cat"]']
    paths = [str(tmp_path / f"{number}.jsonl") for number in range(len(lines))]
    for path, line in zip(paths, lines):
        Path(path).write_bytes(line.encode(errors="surrogateescape" if "\udcff" in line else "strict"))
    work = ShardWork(BatchFrequencies(), str(tmp_path))
    found = [work(path).error for path in paths]
    assert found[-1] is None
    assert all(path in error and "\n" not in error for path, error in zip(paths, found[:-1])), found
    assert len(list(tmp_path.glob("*.npz"))) == 1 and not list(tmp_path.glob("*.part"))


def test_patterns(tmp_path):
    paths = write([[]] * 3, tmp_path)
    assert expand([str(tmp_path / "*.parquet")]) == paths
    with pytest.raises(ValueError, match="there is no file"):
        expand([str(tmp_path / "*.jsonl")])
    with pytest.raises(ValueError, match="0.parquet is named twice"):
        expand([paths[0], str(tmp_path / "*.parquet")])


def test_folders_that_stay_and_that_go(tmp_path):
    with shard_folder(None) as folder:
        assert os.path.isdir(folder)
    assert not os.path.exists(folder)
    with shard_folder(str(tmp_path / "a" / "b")) as folder:
        assert folder == str(tmp_path / "a" / "b")
    assert os.path.isdir(folder)


def test_tables_keep_every_bit(tmp_path):
    rng = np.random.default_rng(0)
    columns = {
        "a": rng.normal(size=(5, 3)),
        "b": rng.integers(0, 9, 5),
        "c": np.array([True, False] * 2 + [True]),
        "d": np.array([0.1, np.nan, 1, 2, 3]),
        "e": np.array(list("abcdé")),
    }
    parts = [{name: values[rows] for name, values in columns.items()} for rows in (slice(2), slice(2, None))]
    write_rows(str(tmp_path / "x.parquet"), parts)
    for found in (from_table(to_table(columns)), read_statistics(str(tmp_path / "x.parquet"))):
        for name, values in columns.items():
            np.testing.assert_array_equal(found[name], values.astype(object) if name == "e" else values)
            assert name == "e" or found[name].dtype == values.dtype


def test_rows_as_lines_and_csv(tmp_path):
    batches = [{"id": np.array([1]), "x": np.array([0.5])}, {"id": np.array([2]), "x": np.array([1.0])}]
    for name, text in (("o.jsonl", '{"id": 1, "x": 0.5}\n{"id": 2, "x": 1.0}\n'), ("o.csv", "id,x\n1,0.5\n2,1.0\n")):
        write_rows(str(tmp_path / name), batches)
        assert (tmp_path / name).read_text() == text


def test_engines_by_name():
    assert pick() is serial
    with pytest.raises(ValueError, match="num_workers is 2 without an engine"):
        pick(None, 2)
    with pytest.raises(ValueError, match="engine is 'spark', expected one of datasets, ray"):
        pick("spark")
    with pytest.raises(ValueError, match="only workers of Ray are given GPUs"):
        pick("datasets", 2, num_gpus=1)
