"""Statistics and scores on Ray: a cluster of two workers on this machine."""

import os
import time

import numpy as np
import pytest

from metrics.entity_score import scoring as entity_score
from metrics.recall_at_k import scoring as recall_at_k
from metrics.scale import retrieval
from metrics.scale.batches import BatchStatistics, join
from metrics.scale.engines import pick
from metrics.scale.pools import DEATHS, ItemsLost
from metrics.scale.shards import ShardWork, score_shards
from tests.scale.test_retrieval import same, shards, texts_of_images
from tests.sharding import (
    DiesAlways,
    DiesOnce,
    KillsOne,
    Prints,
    Slow,
    answers,
    assert_same_scores,
    captions,
    columns,
    cut,
    processes_below,
    whole_scores,
    write_jsonl,
    write_parquet,
)
from tests.stress import rounds
from tests.tiny_models import TEXTS

pytest.importorskip("ray.data")
# One cluster serves all: `--dist loadgroup` sends all to one process of xdist.
pytestmark = pytest.mark.xdist_group("ray")


@pytest.fixture(scope="module", autouse=True)
def cluster(nltk_data):
    # Workers inherit the environment, so the folder of NLTK's data comes first.
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=10**8)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield
        ray.shutdown()


def write(parts, folder):
    folder.mkdir(exist_ok=True)
    return [write_parquet(rows, folder / f"{i}.parquet") for i, rows in enumerate([*parts, []])]


def apply(work_and_item):
    work, item = work_and_item
    return work(item)


def test_one_two_and_seven_shards_of_every_metric(tmp_path):
    # In one pool, as starting one takes seconds.
    cases = [
        (metric, rows, number)
        for metric, rows in (("bleu4", captions(50)), ("vqa_accuracy", answers(50)))
        for number in (1, 2, 7)
    ]
    items, numbers = [], []
    for case, (metric, rows, number) in enumerate(cases):
        work = ShardWork(BatchStatistics(metric), str(tmp_path))
        paths = write(cut(rows, number), tmp_path / str(case))
        items += [(work, path) for path in paths]
        numbers += [case] * len(paths)
    outcomes = dict(pick("ray", 2)(apply, items))
    assert not any(outcome.error for outcome in outcomes.values())
    for case, (metric, rows, _) in enumerate(cases):
        files = [outcomes[i] for i in range(len(items)) if numbers[i] == case]
        work = ShardWork(BatchStatistics(metric), str(tmp_path))
        found = BatchStatistics(metric).score(join(map(work.read, files)))
        assert_same_scores(found, whole_scores(metric, rows))


def test_cider_with_a_worker_that_dies_and_a_corrupt_shard(tmp_path):
    rows = captions(50)
    paths = write(cut(rows, 7), tmp_path / "in")
    kept = tmp_path / "kept"
    kept.mkdir()

    def dying(work, items):
        return pick("ray", 2)(DiesOnce(work, paths[3], tmp_path / "died"), items)

    with open(paths[5], "r+b") as file:
        content = file.read()
        file.truncate(len(content) // 2)
    with pytest.raises(ValueError, match=r"5.parquet is no readable Parquet file.*7 of 8 shards are done"):
        score_shards(BatchStatistics("cider"), paths, str(kept), dying)
    assert (tmp_path / "died").exists()
    made = {file: file.stat().st_mtime_ns for file in kept.iterdir()}
    assert len(made) == 7
    with open(paths[5], "wb") as file:
        file.write(content)
    found = score_shards(BatchStatistics("cider"), paths, str(kept), pick("ray", 2))
    assert_same_scores(found.score(), whole_scores("cider", rows))
    assert {file: file.stat().st_mtime_ns for file in made} == made


@pytest.mark.stress
def test_random_kills_of_actors(tmp_path):
    paths = [write_jsonl(rows, tmp_path / f"{i:02}.jsonl") for i, rows in enumerate(cut(captions(60), 12))]
    statistics_of = Slow("bleu4", keep=["id"])
    kept = [tmp_path / str(seed) for seed in range(-1, rounds(2, 25))]
    for folder in kept:
        folder.mkdir()
    expected = score_shards(statistics_of, paths, str(kept[0]), batch_rows=4)
    for seed, folder in enumerate(kept[1:]):
        started = time.monotonic()
        with KillsOne(lambda: processes_below(os.getpid(), "ray::_Worker"), folder, seed, len(paths) - 2) as kills:
            found = score_shards(statistics_of, paths, str(folder), pick("ray", 2), batch_rows=4)
        assert kills.killed and time.monotonic() - started < 60
        assert found.score() == expected.score()
        assert found.statistics["id"].tolist() == expected.statistics["id"].tolist()
        assert sorted(os.listdir(folder)) == sorted(os.listdir(kept[0]))


def test_an_item_that_kills_its_workers_and_an_error_of_the_work():
    with pytest.raises(ItemsLost, match=f"item 1: the worker that was at it died {DEATHS} times") as lost:
        list(pick("ray", 1)(DiesAlways(str.upper, "b"), ["a", "b", "c"]))
    assert list(lost.value.reasons) == [1]
    with pytest.raises(LookupError, match="what the work says"):
        list(pick("ray", 1)(Prints(), ["wrong"]))


def test_a_ray_dataset(tmp_path):
    import ray

    from metrics.scale.on_ray import score_dataset

    rows = captions(40)
    dataset = ray.data.from_huggingface(pytest.importorskip("datasets").Dataset.from_dict(columns(rows)))
    found = score_dataset(dataset, BatchStatistics("cider"), num_workers=2, batch_rows=11)
    assert_same_scores(found, whole_scores("cider", rows))


def test_map_batches_as_it_is(tmp_path):
    # The function alone, without the driver, as a user would pass it.
    import ray

    rows = captions(40)
    parts = cut(rows, 3)
    dataset = ray.data.read_parquet(write(parts, tmp_path)[:-1])
    statistics_of = BatchStatistics("bleu4")
    mapped = dataset.map_batches(statistics_of, batch_size=7)
    statistics = join(mapped.iter_batches(batch_size=None, batch_format="numpy"))
    assert_same_scores(statistics_of.score(statistics), whole_scores("bleu4", rows))


def test_retrieval():
    rng = np.random.default_rng(6)
    images, texts = rng.integers(-2, 3, (30, 4)), rng.integers(-2, 3, (50, 4))
    options = {"references": texts_of_images(30, 50), "similarity": "dot"}
    sides = {"image_embeddings": shards(images, 2), "text_embeddings": shards(texts, 3)}
    found = retrieval.sample_statistics(**sides, **options, engine=pick("ray", 2))
    same(found, recall_at_k.sample_statistics(image_embeddings=images, text_embeddings=texts, **options))


def test_entity_score(tmp_path, t5_folder):
    rows = [{"prediction": p, "references": [r, p[:9]]} for p, r in zip(TEXTS, reversed(TEXTS))]
    paths = write(cut(rows, 4), tmp_path / "in")[:-1]
    statistics_of = BatchStatistics("entity_score", model_path=str(t5_folder))
    found = score_shards(statistics_of, paths, str(tmp_path), pick("ray", 2))
    encoder = entity_score.T5Encoder(str(t5_folder))
    assert_same_scores(found.score(), whole_scores("entity_score", rows, encoder=encoder), 1e-6)
