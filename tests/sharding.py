"""Rows for the tests of shards, and ways to cut them."""

import json
import os
import random
import signal
import sys
import threading
import time
from pathlib import Path

from metrics.scale.batches import BatchStatistics

WORDS = "a the cat dog man woman red two on in park street sits runs plays with ball café 一".split()
ANSWERS = ["yes", "no", "Yes.", "two", "2", "a dog", "the dog", "it's red", "red"]


def captions(number: int, seed: int = 0) -> list[dict]:
    """Rows of one prediction and one to five references; some are empty texts, some are equal."""
    rng = random.Random(seed)
    return [
        {
            "id": number - i,
            "prediction": _text(rng) if i % 7 else "",
            "references": [_text(rng) for _ in range(rng.randint(1, 5))],
        }
        for i in range(number)
    ]


def answers(number: int, seed: int = 0) -> list[dict]:
    """Rows of one answer and the answers of ten annotators, of which some questions have fewer."""
    rng = random.Random(seed)
    return [
        {"id": i, "prediction": rng.choice(ANSWERS), "references": rng.choices(ANSWERS, k=10 if i % 5 else 4)}
        for i in range(number)
    ]


def _text(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randint(1, 12))) + rng.choice(["", ".", " !"])


def cut(rows: list, number: int, seed: int = 0) -> list[list]:
    """Consecutive shards of uneven sizes, in a random order."""
    rng = random.Random(seed)
    edges = [0, *sorted(rng.sample(range(1, len(rows)), number - 1)), len(rows)]
    shards = [rows[start:stop] for start, stop in zip(edges, edges[1:])]
    rng.shuffle(shards)
    return shards


def columns(rows: list[dict]) -> dict[str, list]:
    """Rows as a batch."""
    return {name: [row[name] for row in rows] for name in rows[0]}


ROW = {"id": 0, "prediction": "", "references": [""]}


def write_parquet(rows: list[dict], path: Path, row_group_size: int | None = None, like: dict = ROW) -> str:
    """Writes a shard; one without rows has the columns of `like`."""
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.table(columns(rows or [like]))
    pyarrow.parquet.write_table(table if rows else table.slice(0, 0), path, row_group_size=row_group_size)
    return str(path)


def write_jsonl(rows: list[dict], path: Path) -> str:
    """Writes a shard of JSON Lines."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def assert_same_scores(found: dict, expected: dict, tolerance: float = 1e-12) -> None:
    """Compares scores key by key, lists number by number."""
    import pytest

    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == pytest.approx(value, abs=tolerance), name


def whole_scores(metric: str, rows: list[dict], encoder=None, **options) -> dict:
    """The scores of all rows in one call of the metric, without evaluate."""
    from importlib import import_module

    scoring = import_module(f"metrics.{metric}.scoring")
    batch = columns(rows)
    statistics = scoring.sample_statistics(batch["prediction"], batch["references"], encoder=encoder, **options)
    return scoring.Scorer(**options).score(statistics)


class DiesOnce:
    """Work that ends its process on one item, the first time; a file says that it has."""

    def __init__(self, work, item: str, marker: Path):
        self._work, self._item, self._marker = work, item, str(marker)

    def __call__(self, item: str):
        if item == self._item and not Path(self._marker).exists():
            Path(self._marker).touch()
            os._exit(1)
        return self._work(item)


class DiesAlways:
    """Work that ends its process on one item, every time."""

    def __init__(self, work, item):
        self._work, self._item = work, item

    def __call__(self, item):
        if item == self._item:
            os._exit(7)
        return self._work(item)


class Prints:
    """Work that says something, asks something, and raises an error on one item."""

    def __call__(self, item):
        print("text on the way of results", flush=True)
        sys.stdin.read()
        if item == "wrong":
            raise LookupError("what the work says")
        return item * 2


class Slow(BatchStatistics):
    """Takes its time, so that there is a moment to be killed in."""

    def __call__(self, batch):
        time.sleep(0.02)
        return super().__call__(batch)


def processes_below(pid: int, word: str = "") -> list[int]:
    """The processes below one whose command line has a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            line = (folder / "cmdline").read_text(errors="replace")
        except OSError:
            continue  # It has ended meanwhile.
        found.append((int(folder.name), parent, line))
    below = {pid}
    while more := {child for child, parent, _ in found if parent in below} - below:
        below |= more
    return [child for child, _, line in found if child in below - {pid} and word in line]


class KillsOne:
    """A context in which one of some processes is killed, once a folder has some number of files and a moment more."""

    def __init__(self, pids, folder: Path, seed: int, most: int):
        self._pids, self._folder, self._rng, self._most = pids, folder, random.Random(seed), most
        self.killed: list[int] = []
        self._over = threading.Event()

    def __enter__(self):
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self._thread.join()

    def _run(self):
        enough = self._rng.randrange(self._most)
        while len(os.listdir(self._folder)) < enough and not self._over.is_set():
            time.sleep(0.001)
        time.sleep(self._rng.random() / 20)
        while not self.killed and not self._over.is_set():
            for pid in self._rng.sample(pids := self._pids(), len(pids))[:1]:
                try:
                    os.kill(pid, signal.SIGKILL)
                    self.killed.append(pid)
                except ProcessLookupError:
                    pass  # It has ended meanwhile.
