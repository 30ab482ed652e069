"""Metrics on Ray: over shards as files, or over a `ray.data.Dataset`. Needs `pip install "ray[data]"`.

The function goes into Ray's object store once, and each worker, an actor, opens it from there: the arrays in it
(cider's table) are in the shared memory of a node once, however many workers the node has. A worker that dies is
started anew, and what it was at is done again. Ray is imported where it is used.
"""

import atexit
import os
import pickle
import shutil
import signal
import threading
from collections.abc import Callable, Iterator, Sequence

from . import pools
from .batches import BATCH_ROWS, BatchStatistics, join
from .frequencies import BatchFrequencies, from_bytes, merge_corpus
from .pools import WorkerDied
from .stops import shielded

# Seconds that an actor is given to end.
_PATIENCE = 5


def start(num_workers: int) -> str | None:
    """Connects to the cluster that RAY_ADDRESS names, or starts one here; does nothing where one is there already.

    Returns:
        The folder of the cluster that it has started, which ends with the program; else None.
    """
    import ray.data  # Optional: an engine that was asked for.

    if ray.is_initialized():
        return None
    # Ray puts a handler of its own there, which leaves what a run has begun.
    handler = signal.getsignal(signal.SIGTERM)
    folder = None
    if not os.environ.get("RAY_ADDRESS"):
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Where Ray's own manager dies: the minute that is usual is waited for on clusters, which restart it.
        os.environ.setdefault("RAY_gcs_rpc_server_reconnect_timeout_s", "15")
        made = ray.init(num_cpus=max(num_workers, os.cpu_count() or 1), include_dashboard=False)
        folder = made.address_info["session_dir"]
        # Ray ends its processes with the program, and leaves the folder.
        atexit.register(_stop, folder)
    else:
        ray.init()
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, handler)
    return folder


def _stop(folder: str) -> None:
    """Ends the cluster that was started here, and removes its folder of sockets and logs."""
    import ray  # Optional: an engine that was asked for.

    with shielded():
        ray.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


def run(work: Callable, items: Sequence, num_workers: int = 1, num_gpus: float = 0) -> Iterator[tuple[int, object]]:
    """The engine (see `engines`): calls a picklable function on picklable items in actors.

    Ray Data is not used for it: it begins an item that kills its worker again without end.

    Args:
        work: The function.
        items: What it is called on, one by one.
        num_workers: Actors, with one CPU each.
        num_gpus: GPUs of each actor, or a part of one.

    Raises:
        ItemsLost: See `pools.run`.
    """
    own = start(num_workers)
    import ray  # Optional: an engine that was asked for.

    actor = ray.remote(_Worker).options(num_cpus=1, num_gpus=num_gpus)
    stored = ray.put(work)
    try:
        yield from pools.run(lambda: RayWorker(actor.remote(stored)), items, num_workers)
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        if own:
            # Here, as signals are held back; at the end of the program a second one would interrupt it.
            atexit.unregister(_stop)
            _stop(own)
        raise


class RayWorker:
    """An actor; see `pools.Worker`."""

    def __init__(self, actor):
        self._actor, self._last = actor, None

    def ready(self) -> None:
        """Waits for a place on the cluster; see `pools.Worker`."""
        self._get(self._actor.ready.remote())

    def call(self, item):
        """The result of an item; see `pools.Worker`."""
        result, error = pickle.loads(self._get(self._actor.run.remote(pickle.dumps(item))))
        if error is not None:
            raise error
        return result

    def close(self) -> None:
        """Ends the actor, whatever it is at."""
        import ray  # Optional: an engine that was asked for.

        if ray.is_initialized():
            ray.kill(self._actor)
            if self._last is not None:
                # Ray kills when it gets to it; what the actor was at is an error when it has.
                ray.wait([self._last], timeout=_PATIENCE)

    def _get(self, reference):
        import ray  # Optional: an engine that was asked for.

        self._last = reference
        try:
            return ray.get(reference)
        except ray.exceptions.RayTaskError:
            raise
        except ray.exceptions.RayError as error:
            raise WorkerDied(str(error).partition("\n")[0]) from error


class _Worker:
    """An actor: keeps the function, and so an encoder's model, for all items that it gets."""

    def __init__(self, work):
        self._work = work

    def ready(self) -> None:
        """Nothing: who waits for it knows that the actor is there."""

    def run(self, item: bytes) -> bytes:
        """The result and the error of an item."""
        try:
            return pickle.dumps((self._work(pickle.loads(item)), None))
        except Exception as error:
            return pickle.dumps((None, error))


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


class _Batches:
    """A worker of Ray Data: keeps the function, and so an encoder's model, for all batches that it gets."""

    def __init__(self, stored):
        import ray  # Optional: an engine that was asked for.

        # The name holds the reference: an actor that is started anew opens it again.
        self._work = ray.get(stored)

    def __call__(self, batch: dict) -> dict:
        return self._work(batch)
