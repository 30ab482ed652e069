"""Rows for the tests of shards, and ways to cut them."""

import json
import os
import random
from pathlib import Path

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
