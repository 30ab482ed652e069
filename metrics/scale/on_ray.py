"""Metrics on Ray Data: over shards as files, or over a `ray.data.Dataset`. Needs `pip install "ray[data]"`.

The function goes into Ray's object store once, and each worker, an actor, opens it from there: the arrays in it
(cider's table) are in the shared memory of a node once, however many workers the node has. A worker that dies is
started anew, and what it was at is done again. Ray is imported where it is used.
"""

import os
import pickle
from collections.abc import Callable, Iterator, Sequence

from .batches import BATCH_ROWS, BatchStatistics, join
from .frequencies import BatchFrequencies, from_bytes, merge_corpus


def start(num_workers: int) -> None:
    """Connects to the cluster that RAY_ADDRESS names, or starts one here; does nothing where one is there already."""
    import ray.data  # Optional: an engine that was asked for.

    if ray.is_initialized():
        return
    if os.environ.get("RAY_ADDRESS"):
        ray.init()
        return
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(num_cpus=max(num_workers, os.cpu_count() or 1), include_dashboard=False)


def run(work: Callable, items: Sequence, num_workers: int = 1, num_gpus: float = 0) -> Iterator[tuple[int, object]]:
    """The engine (see `engines`): calls a picklable function on picklable items in a pool of actors.

    Args:
        work: The function.
        items: What it is called on, one by one.
        num_workers: Actors, with one CPU each.
        num_gpus: GPUs of each actor, or a part of one.
    """
    start(num_workers)
    import ray  # Optional: an engine that was asked for.

    rows = [{"number": number, "item": pickle.dumps(item)} for number, item in enumerate(items)]
    # The name holds the reference: an actor that is started anew opens it again.
    stored = ray.put(work)
    done = ray.data.from_items(rows, override_num_blocks=len(rows)).map(
        _Worker,
        fn_constructor_args=(stored,),
        compute=ray.data.ActorPoolStrategy(size=min(num_workers, len(rows))),
        num_cpus=1,
        num_gpus=num_gpus,
    )
    for row in done.iter_rows():
        yield int(row["number"]), pickle.loads(row["result"])


class _Worker:
    """An actor: keeps the function, and so an encoder's model, for all items that it gets."""

    def __init__(self, work):
        import ray  # Optional: an engine that was asked for.

        self._work = ray.get(work)

    def __call__(self, row: dict) -> dict:
        return {"number": row["number"], "result": pickle.dumps(self._work(pickle.loads(row["item"])))}


def score_dataset(
    dataset,
    statistics_of: BatchStatistics,
    num_workers: int = 1,
    batch_rows: int = BATCH_ROWS,
    num_gpus: float = 0,
) -> dict:
    """Scores the rows of a Ray dataset, streaming; for cider it is read twice. Only statistics come back.

    Args:
        dataset: A `ray.data.Dataset` of rows, as `ray.data.read_parquet` or `from_huggingface` gives them.
        statistics_of: The metric.
        num_workers, num_gpus: As for `run`.
        batch_rows: Rows that a worker is given at one time.

    Raises:
        ValueError: There is no row.
    """
    import ray  # Optional: an engine that was asked for.

    pool = ray.data.ActorPoolStrategy(size=num_workers)
    how = {"batch_size": batch_rows, "compute": pool, "num_cpus": 1, "num_gpus": num_gpus}

    def batches(function: Callable) -> Iterator[dict]:
        stored = ray.put(function)
        mapped = dataset.map_batches(_Batches, fn_constructor_args=(stored,), **how)
        yield from mapped.iter_batches(batch_size=None, batch_format="numpy")

    if statistics_of.needs_frequencies:
        found = batches(BatchFrequencies.of(statistics_of))
        table = merge_corpus(from_bytes(content) for batch in found for content in batch.get("table", ()))
        statistics_of = statistics_of.with_options(document_frequencies=table)
    return statistics_of.score(join(batches(statistics_of)))


class _Batches(_Worker):
    def __call__(self, batch: dict) -> dict:
        return self._work(batch)
