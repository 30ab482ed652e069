"""Statistics and scores on `datasets`: several processes, caches that follow the code, ranks of torchrun."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from metrics.scale import fingerprints, retrieval
from metrics.scale.batches import BatchStatistics
from metrics.scale.engines import pick
from metrics.scale.shards import score_shards
from tests.scale.test_retrieval import same, shards, texts_of_images
from tests.sharding import answers, assert_same_scores, captions, columns, cut, whole_scores, write_parquet

datasets = pytest.importorskip("datasets")
ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True, scope="module")
def without_bars():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.mark.parametrize("num_proc", [None, 2])
@pytest.mark.parametrize("metric", ["bleu4", "cider", "vqa_accuracy"])
def test_scores_of_a_dataset(metric, num_proc):
    from metrics.scale.on_datasets import score_dataset

    rows = (answers if metric == "vqa_accuracy" else captions)(60)
    dataset = datasets.Dataset.from_dict(columns(rows))
    found = score_dataset(dataset, BatchStatistics(metric), num_proc, batch_rows=13)
    assert_same_scores(found, whole_scores(metric, rows))


def test_equal_to_compute_of_the_module(load_metric):
    from metrics.scale.on_datasets import score_dataset

    rows = captions(40)
    batch = columns(rows)
    expected = load_metric("cider").compute(predictions=batch["prediction"], references=batch["references"])
    found = score_dataset(datasets.Dataset.from_dict(batch), BatchStatistics("cider"), batch_rows=9)
    assert_same_scores(found, expected)


def test_a_streamed_dataset():
    from metrics.scale.on_datasets import score_dataset

    rows = captions(40)
    dataset = datasets.Dataset.from_dict(columns(rows)).to_iterable_dataset(num_shards=3)
    assert_same_scores(score_dataset(dataset, BatchStatistics("cider"), batch_rows=7), whole_scores("cider", rows))


def test_map_as_it_is():
    # The function alone, without the driver, as a user would pass it.
    from metrics.files.statistics import from_table

    rows = captions(20)
    statistics_of = BatchStatistics("bleu4", keep=["id"])
    dataset = datasets.Dataset.from_dict(columns(rows))
    mapped = dataset.map(statistics_of, batched=True, batch_size=6, num_proc=2, remove_columns=dataset.column_names)
    statistics = from_table(mapped.with_format("arrow")[:])
    assert statistics["id"].tolist() == [row["id"] for row in rows]
    assert_same_scores(statistics_of.score(statistics), whole_scores("bleu4", rows))


def test_cache_follows_options_and_code(monkeypatch, tmp_path):
    from metrics.scale.on_datasets import map_statistics

    path = write_parquet(captions(10), tmp_path / "rows.parquet")
    dataset = datasets.load_dataset("parquet", data_files=path, split="train", cache_dir=str(tmp_path / "cache"))

    def file_of(**options):
        (file,) = map_statistics(dataset, BatchStatistics("bleu4", **options)).cache_files
        return file["filename"], os.stat(file["filename"]).st_mtime_ns

    first = file_of()
    assert file_of() == first == file_of(smoothing=False)
    assert file_of(max_order=2)[0] != first[0]
    monkeypatch.setattr(fingerprints, "code_of", lambda *modules: "changed")
    assert file_of()[0] != first[0]


def test_no_row():
    from metrics.scale.on_datasets import score_dataset

    dataset = datasets.Dataset.from_dict(columns(captions(1))).select([])
    for metric in ("bleu4", "cider"):
        with pytest.raises(ValueError, match="there is no row"):
            score_dataset(dataset, BatchStatistics(metric))


@pytest.mark.parametrize("number", [1, 2, 7])
def test_shards_in_two_processes(number, tmp_path):
    rows = captions(50)
    paths = [write_parquet(shard, tmp_path / f"{i}.parquet") for i, shard in enumerate([*cut(rows, number), []])]
    found = score_shards(BatchStatistics("cider"), paths, str(tmp_path), pick("datasets", 2))
    assert_same_scores(found.score(), whole_scores("cider", rows))


def test_retrieval_in_two_processes():
    import numpy as np

    from metrics.recall_at_k import scoring

    rng = np.random.default_rng(6)
    images, texts = rng.integers(-2, 3, (30, 4)), rng.integers(-2, 3, (50, 4))
    options = {"references": texts_of_images(30, 50), "similarity": "dot"}
    sides = {"image_embeddings": shards(images, 2), "text_embeddings": shards(texts, 3)}
    found = retrieval.sample_statistics(**sides, **options, engine=pick("datasets", 2))
    same(found, scoring.sample_statistics(image_embeddings=images, text_embeddings=texts, **options))


PROGRAM = """
import json, sys, torch.distributed
from datasets import Dataset
from metrics.scale.batches import BatchStatistics
from metrics.scale.on_datasets import score_dataset
rows = json.load(open(sys.argv[1]))
torch.distributed.init_process_group("gloo")
dataset = Dataset.from_dict(rows)
found = score_dataset(dataset, BatchStatistics("cider"), batch_rows=5)
few = score_dataset(dataset.select([0]), BatchStatistics("bleu4"))
try:
    score_dataset(Dataset.from_dict({"prediction": ["a", "b"], "references": [["a"], []]}), BatchStatistics("bleu4"))
except ValueError as error:
    wrong = str(error)
with open(f"{sys.argv[1]}.{torch.distributed.get_rank()}", "w") as file:
    json.dump([found, few, wrong], file)
torch.distributed.destroy_process_group()
"""


def test_two_ranks_of_torchrun(tmp_path):
    import json

    pytest.importorskip("torch")
    rows = captions(31)
    (tmp_path / "rows.json").write_text(json.dumps(columns(rows)))
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [
        sys.executable,
        "-m",
        "torch.distributed.run",
        "--nproc-per-node",
        "2",
        "--standalone",
        str(tmp_path / "program.py"),
        str(tmp_path / "rows.json"),
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-9000:]
    for rank in (0, 1):
        found, few, wrong = json.loads((tmp_path / f"rows.json.{rank}").read_text())
        assert_same_scores(found, whole_scores("cider", rows))
        # One of the two ranks has no row.
        assert_same_scores(few, whole_scores("bleu4", rows[:1]))
        assert "references[0] is an empty list" in wrong
