"""Shards of rows as files, Parquet or JSON Lines, read batch by batch."""

import glob
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ..utils.checks import describe
from .json_text import read_json_line
from .text_files import check_is_file

KINDS = (".parquet", ".jsonl")


def is_shard(path: str) -> bool:
    """Whether a path or pattern names files of rows.

    >>> is_shard("shards/*.parquet"), is_shard("captions.json")
    (True, False)
    """
    return path.endswith(KINDS)


def expand(patterns: Sequence[str]) -> list[str]:
    """The files of patterns such as `shards/*.parquet`, those of one pattern in order of their names.

    Raises:
        ValueError: A pattern has no file, a path leads to no file but a folder or a pipe, or a file is named twice.
    """
    files = []
    for pattern in patterns:
        found = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]
        if not found:
            raise ValueError(f"there is no file {pattern}")
        files += found
    if len(set(files)) < len(files):
        twice = next(file for file, count in Counter(files).items() if count > 1)
        raise ValueError(f"{twice} is named twice, expected each shard once")
    for file in files:
        # Of several tensors in one file, FILE:NAME; and what is missing is told by whoever opens it.
        if os.path.exists(file):
            check_is_file(file)
    return files


def read_batches(path: str, columns: Sequence[str], batch_rows: int) -> Iterator[Mapping]:
    """Reads columns of a shard, some rows at a time.

    Yields:
        Batches: a pyarrow RecordBatch, or a dict of lists; a shard without rows has none.

    Raises:
        ValueError: The file is no such file, or lacks a column; the message names it.
        OSError: It cannot be opened.
    """
    if path.endswith(".parquet"):
        return _read_parquet(path, columns, batch_rows)
    if path.endswith(".jsonl"):
        return _read_lines(path, columns, batch_rows)
    raise ValueError(f"{path} is of an unknown kind, expected one of {', '.join(KINDS)}")


def _read_parquet(path: str, columns: Sequence[str], batch_rows: int) -> Iterator[Mapping]:
    import pyarrow  # Takes time, for Parquet and Arrow alone.
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            _check_columns(file.schema_arrow.names, columns, path)
            # A batch holds what its row group has left, so some are short; threads would read ahead.
            batches = file.iter_batches(batch_rows, columns=list(columns), use_threads=False)
            yield from (batch for batch in batches if batch.num_rows)
    except FileNotFoundError:
        raise
    except (pyarrow.ArrowException, OSError) as error:
        # OSError also: what pyarrow raises where pages are damaged.
        raise ValueError(f"{path} is no readable Parquet file: {error}") from error


def _check_columns(found: list[str], wanted: Sequence[str], place: str) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{place} has no column {missing[0]!r}, expected one of {', '.join(found)}")
    twice = [name for name in wanted if found.count(name) > 1]
    if twice:
        raise ValueError(f"{place} has {found.count(twice[0])} columns {twice[0]!r}, expected one")


def _read_lines(path: str, columns: Sequence[str], batch_rows: int) -> Iterator[Mapping]:
    batch: dict[str, list] = {name: [] for name in columns}
    size = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            row = _row(line, path, number)
            _check_columns(list(row), columns, f"{path}, line {number}")
            for name, values in batch.items():
                values.append(row[name])
            size += 1
            if size == batch_rows:
                yield batch
                batch, size = {name: [] for name in columns}, 0
    if size:
        yield batch


def _row(line: bytes, path: str, number: int) -> dict:
    row = read_json_line(line, path, number)
    if not isinstance(row, dict):
        raise ValueError(f"{path}, line {number} is {describe(row)}, expected an object with one value per column")
    return row
