"""Metrics on `datasets`: over a Dataset with several processes, over the ranks of torchrun, or over shards as files.

The name under which `map` caches a result is made here of the metric's code and options: by default it is made of the
function as pickled, that is of its name, and goes stale when imported code changes.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from datasets import Dataset, IterableDataset
from datasets.distributed import split_dataset_by_node
from datasets.fingerprint import Hasher

from ..files.statistics import from_table
from ..utils.containers import unformatted
from . import pools
from .batches import BATCH_ROWS, BatchStatistics, join
from .frequencies import BatchFrequencies, from_bytes, merge, merge_corpus
from .processes import ProcessWorker, dumps


def map_statistics(
    dataset: Dataset,
    function: BatchStatistics | BatchFrequencies,
    num_proc: int | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Dataset:
    """`dataset.map` of a metric's statistics, cached under a name made of its code and options.

    Args:
        dataset: Rows with the columns that the function reads; its format and its transform are left out.
        function: What makes columns of a batch.
        num_proc: Processes; None is this one.
        batch_rows: Rows at one time.

    Returns:
        A dataset of the statistics, one row per row (of `BatchFrequencies`, one per batch).

    Raises:
        ValueError, TypeError: An item is wrong; the message names it.
    """
    dataset = unformatted(dataset)
    name = Hasher.hash([dataset._fingerprint, function.fingerprint(), batch_rows])
    return dataset.map(
        function,
        batched=True,
        batch_size=batch_rows,
        num_proc=num_proc,
        remove_columns=dataset.column_names,
        new_fingerprint=name,
        desc="statistics",
    )


def score_dataset(
    dataset: Dataset | IterableDataset,
    statistics_of: BatchStatistics,
    num_proc: int | None = None,
    batch_rows: int = BATCH_ROWS,
) -> dict:
    """Scores all rows; under torchrun each rank maps its own part, and all get the score of the whole.

    Args:
        dataset: Rows; all ranks have the same dataset. A streamed one is read batch by batch, for cider twice. Its
            format and its transform are left out.
        statistics_of: The metric.
        num_proc, batch_rows: As for `map_statistics`.

    Raises:
        ValueError, TypeError: There is no row, or an item is wrong.
    """
    ranks = _ranks()
    dataset = _own_part(dataset, ranks)
    if statistics_of.needs_frequencies:
        first_pass = BatchFrequencies.of(statistics_of)
        tables = _gather(lambda: _table(_columns(dataset, first_pass, num_proc, batch_rows)), ranks)
        table = merge_corpus(table for table in tables if table is not None)
        statistics_of = statistics_of.with_options(document_frequencies=table)
    parts = _gather(lambda: _statistics(_columns(dataset, statistics_of, num_proc, batch_rows)), ranks)
    return statistics_of.score(join(parts))


def _own_part(dataset: Dataset | IterableDataset, ranks):
    if ranks is None:
        return dataset
    rank, number = ranks.get_rank(), ranks.get_world_size()
    if isinstance(dataset, Dataset) and len(dataset) < number:
        # datasets does not split a set into more parts than it has rows.
        return dataset.select([rank] if rank < len(dataset) else [])
    return split_dataset_by_node(dataset, rank=rank, world_size=number)


def _table(parts: Iterator[dict]):
    return merge(from_bytes(content) for part in parts for content in part.get("table", ()))


def _statistics(parts: Iterator[dict]) -> dict[str, np.ndarray]:
    parts = list(parts)
    return join(parts) if any(parts) else {}


def _columns(dataset, function: Callable, num_proc, batch_rows: int) -> Iterator[dict[str, np.ndarray]]:
    if isinstance(dataset, IterableDataset):
        return map(function, unformatted(dataset).iter(batch_rows))
    if not len(dataset):
        return iter(())  # map would return its columns as they are.
    mapped = map_statistics(dataset, function, num_proc, batch_rows)
    # Not NumPy's format, which makes float32 of floats.
    return iter([from_table(mapped.with_format("arrow")[:])])


def _ranks():
    """torch.distributed, where a process group is there; torch is not imported for it."""
    distributed = sys.modules.get("torch.distributed")
    return distributed if distributed and distributed.is_available() and distributed.is_initialized() else None


def _gather(make: Callable, ranks) -> list:
    """What all ranks make; an error of one is raised by all, as the others would wait for it."""
    if ranks is None:
        return [make()]
    try:
        own = make()
    except (ValueError, TypeError) as error:
        own = error
    parts = [None] * ranks.get_world_size()
    ranks.all_gather_object(parts, own)
    for part in parts:
        if isinstance(part, Exception):
            raise part
    return parts


def run(work: Callable, items: Sequence, num_workers: int = 1) -> Iterator[tuple[int, object]]:
    """The engine (see `engines`): calls a picklable function on picklable items in processes of this machine.

    `Dataset.map` is not used for it: of its processes none may die, and its queues are in one process more.

    Raises:
        ItemsLost: See `pools.run`.
    """
    return pools.run(partial(ProcessWorker, dumps(work)), items, num_workers)
