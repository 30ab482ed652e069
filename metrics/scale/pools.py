"""A pool of workers that may die: each is asked for one result at a time, over a line of its own.

Workers share nothing (no queue, no lock, no manager), so one that is killed at any moment takes its own item with it
and nothing else. Another worker gets the item; one that has killed several workers is given up, after all others.
"""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from queue import SimpleQueue
from typing import Protocol

from .stops import shielded

# Workers that die at one item before it is given up: memory can be short once, and a machine can go away.
DEATHS = 3
# Workers of one place that die in a row before they are ready; then nothing can be started here.
_STARTS = 3
# Seconds that killed workers are waited for.
_PATIENCE = 20


class WorkerDied(Exception):
    """A worker is gone, and what it was at with it; the message says how it ended."""


class ItemsLost(RuntimeError, OSError):
    """Items whose workers died, again and again; all others are done. Also an OSError, as that is what happened.

    Attributes:
        reasons: Number of the item -> a sentence.
    """

    def __init__(self, reasons: Mapping[int, str]):
        super().__init__("; ".join(f"item {number}: {reason}" for number, reason in sorted(reasons.items())))
        self.reasons = dict(reasons)


class Worker(Protocol):
    """What does the work in another process."""

    def ready(self) -> None:
        """Waits until it can work. Raises WorkerDied, or what keeps it from working at all."""

    def call(self, item):
        """The result of an item. Raises WorkerDied, or the error of the work."""

    def close(self) -> None:
        """Ends it, whatever it is at, and returns when it has ended."""


def run(open_worker: Callable[[], Worker], items: Sequence, num_workers: int) -> Iterator[tuple[int, object]]:
    """Yields (number of the item, result) as results come; no worker is left when it ends, in whatever way.

    Args:
        open_worker: Starts a worker and returns at once.
        items: What workers are called on.
        num_workers: How many there are at one time.

    Raises:
        ItemsLost: Items killed DEATHS workers each; it is raised when all others are done.
        RuntimeError: Workers cannot be started.
        Exception: The work's own error.
    """
    pool = _Pool(open_worker, items)
    try:
        pool.start(min(num_workers, len(items)))
        yield from pool.results()
    finally:
        with shielded():
            pool.close()


class _Pool:
    """Threads, one for each worker: they wait for it, and start the next one when it dies."""

    def __init__(self, open_worker: Callable[[], Worker], items: Sequence):
        self._open_worker, self._items = open_worker, items
        self._waiting, self._found = SimpleQueue(), SimpleQueue()
        self._lock, self._closed = threading.Lock(), False
        self._workers: set[Worker] = set()
        self._threads: list[threading.Thread] = []
        for number in range(len(items)):
            self._waiting.put(number)

    def start(self, number: int) -> None:
        for _ in range(number):
            # A daemon, so that no worker that hangs keeps the program from ending.
            self._threads.append(threading.Thread(target=self._serve, daemon=True))
            self._threads[-1].start()

    def results(self) -> Iterator[tuple[int, object]]:
        left, deaths, lost = len(self._items), Counter(), {}
        while left:
            number, result, error = self._found.get()
            if isinstance(error, WorkerDied) and number is not None:
                deaths[number] += 1
                if deaths[number] < DEATHS:
                    self._waiting.put(number)
                    continue
                lost[number] = f"the worker that was at it died {DEATHS} times ({error})"
            elif error is not None:
                raise error
            left -= 1
            if number not in lost:
                yield number, result
        if lost:
            raise ItemsLost(lost)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            workers = list(self._workers)
        for worker in workers:
            worker.close()
        for _ in self._threads:
            self._waiting.put(None)
        for thread in self._threads:
            thread.join(_PATIENCE)

    def _serve(self) -> None:
        if hasattr(signal, "pthread_sigmask"):
            # Processes that are started here inherit it: Ctrl-C goes to all of a terminal, and is the parent's alone.
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            worker = self._open()
            while (number := self._waiting.get()) is not None:
                try:
                    self._found.put((number, worker.call(self._items[number]), None))
                except WorkerDied as error:
                    self._found.put((number, None, error))
                    self._drop(worker)
                    worker = self._open()
        except _Closed:
            pass
        except BaseException as error:
            # Raised by the thread that reads the results; the item's number would make a death of it.
            self._found.put((None, None, error))

    def _open(self) -> Worker:
        for _ in range(_STARTS):
            with self._lock:
                if self._closed:
                    raise _Closed
                worker = self._open_worker()
                self._workers.add(worker)
            try:
                worker.ready()
                return worker
            except WorkerDied as error:
                self._drop(worker)
                last = error
        raise RuntimeError(f"a worker died {_STARTS} times in a row before it could begin ({last})") from last

    def _drop(self, worker: Worker) -> None:
        worker.close()
        with self._lock:
            self._workers.discard(worker)


class _Closed(Exception):
    """The pool is closed."""
