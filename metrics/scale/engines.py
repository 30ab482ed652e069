"""Where work on shards runs: in this process, in several processes of this machine, or on Ray.

An engine maps a picklable function over picklable items and yields (number of the item, result) as results come, in
any order. The function must return the same when it is called twice: an engine may repeat what a dead worker began.
An item that kills one worker after the other is named in `pools.ItemsLost`, when all others are done.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from importlib.util import find_spec

from ..utils.options import check_options

ENGINES = ("datasets", "ray")

Engine = Callable[[Callable, Sequence], Iterator[tuple[int, object]]]


def serial(work: Callable, items: Sequence) -> Iterator[tuple[int, object]]:
    """Runs everything here, one item after the other.

    >>> list(serial(len, ["a", "bb"]))
    [(0, 1), (1, 2)]
    """
    for number, item in enumerate(items):
        yield number, work(item)


def pick(name: str | None = None, num_workers: int = 1, num_gpus: float = 0) -> Engine:
    """The engine of a name; None is this process.

    Args:
        name: None, "datasets" or "ray".
        num_workers: Processes, or workers of Ray.
        num_gpus: GPUs of each worker of Ray, or a part of one.

    Raises:
        ValueError: The name is unknown, a number is out of range, there are several workers without an engine, or
            GPUs without Ray.
        ImportError: A package is missing.
    """
    check_options(orders={"num_workers": num_workers})
    if not 0 <= num_gpus < float("inf"):
        raise ValueError(f"num_gpus is {num_gpus}, expected a number of at least 0")
    if num_gpus and name != "ray":
        raise ValueError(f"num_gpus is {num_gpus}, expected 0: only workers of Ray are given GPUs")
    if name is None:
        if num_workers != 1:
            raise ValueError(f"num_workers is {num_workers} without an engine, expected one of {', '.join(ENGINES)}")
        return serial
    if name == "datasets":
        from .on_datasets import run  # Optional: an engine that was asked for.

        return partial(run, num_workers=num_workers)
    if name == "ray":
        if find_spec("ray") is None:
            raise ImportError("engine='ray' needs Ray: pip install 'ray[data]'")
        from .on_ray import run  # Optional: an engine that was asked for.

        return partial(run, num_workers=num_workers, num_gpus=num_gpus)
    raise ValueError(f"engine is {name!r}, expected one of {', '.join(ENGINES)}")
