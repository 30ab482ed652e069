"""Shards of rows as files, Parquet or JSON Lines, read and written batch by batch."""

import csv
import glob
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from metrics.utils.base import describe

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
        ValueError: A pattern has no file, or a file is named twice.
    """
    files = []
    for pattern in patterns:
        found = sorted(glob.glob(pattern, recursive=True)) if glob.has_magic(pattern) else [pattern]
        if not found:
            raise ValueError(f"there is no file {pattern}")
        files += found
    if len(set(files)) < len(files):
        twice = next(file for file in files if files.count(file) > 1)
        raise ValueError(f"{twice} is named twice, expected each shard once")
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
    import pyarrow
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


def _check_columns(found: Sequence[str], wanted: Sequence[str], place: str) -> None:
    missing = [name for name in wanted if name not in found]
    if missing:
        raise ValueError(f"{place} has no column {missing[0]!r}, expected one of {', '.join(found)}")


def _read_lines(path: str, columns: Sequence[str], batch_rows: int) -> Iterator[Mapping]:
    batch: dict[str, list] = {name: [] for name in columns}
    size = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            row = _row(line, f"{path}, line {number}")
            _check_columns(list(row), columns, f"{path}, line {number}")
            for name, values in batch.items():
                values.append(row[name])
            size += 1
            if size == batch_rows:
                yield batch
                batch, size = {name: [] for name in columns}, 0
    if size:
        yield batch


def _row(line: bytes, place: str) -> dict:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise ValueError(f"{place} is no JSON: {error}") from error
    if not isinstance(row, dict):
        raise ValueError(f"{place} is {describe(row)}, expected an object with one value per column")
    return row


class StatisticsWriter:
    """Writes batches of statistics behind each other into a Parquet file, which is whole when closed."""

    def __init__(self, path: str):
        self._path, self._writer = path, None

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        """Writes a batch; all have the same columns."""
        import pyarrow.parquet

        table = to_table(columns)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def __enter__(self) -> "StatisticsWriter":
        return self

    def __exit__(self, *error) -> None:
        if self._writer is None and error[0] is None:
            self.write({})
        if self._writer is not None:
            self._writer.close()


def to_table(columns: Mapping[str, np.ndarray]):
    """Columns as an Arrow table; an array of two dimensions becomes lists of a fixed size.

    >>> to_table({"similarity": np.zeros((2, 4))}).schema.field("similarity").type.list_size
    4
    """
    import pyarrow

    return pyarrow.table(
        {
            name: pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.reshape(-1)), values.shape[1])
            if values.ndim == 2
            else pyarrow.array(values)
            for name, values in columns.items()
        }
    )


def from_table(table) -> dict[str, np.ndarray]:
    """The arrays of a table of statistics, which `to_table` made or datasets stored: lists of one size are rows.

    >>> from_table(to_table({"matches": np.arange(6).reshape(3, 2)}))["matches"].tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    return {name: _to_array(table.column(name)) for name in table.column_names if table.num_rows}


def _to_array(column) -> np.ndarray:
    import pyarrow.types

    chunks = [chunk for chunk in column.chunks if len(chunk)]
    kind = column.type
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind):
        return np.concatenate([_numbers(chunk.flatten()).reshape(len(chunk), -1) for chunk in chunks])
    return np.concatenate([_numbers(chunk) for chunk in chunks])


def _numbers(array) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False)


def read_statistics(path: str) -> dict[str, np.ndarray]:
    """Reads what a `StatisticsWriter` wrote; of a shard without rows, no column."""
    import pyarrow.parquet

    return from_table(pyarrow.parquet.read_table(path))


def write_rows(path: str, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
    """Writes batches of columns as Parquet or JSON Lines where the path ends so, else as CSV."""
    if path.endswith(".parquet"):
        with StatisticsWriter(path) as writer:
            for batch in batches:
                writer.write(batch)
    elif path.endswith(".jsonl"):
        with open(path, "w", encoding="utf-8") as file:
            for batch in batches:
                file.writelines(json.dumps(dict(zip(batch, row))) + "\n" for row in _rows(batch))
    else:
        _write_csv(path, batches)


def _rows(batch: Mapping[str, np.ndarray]) -> Iterator[tuple]:
    return zip(*(np.asarray(values).tolist() for values in batch.values()))


def _write_csv(path: str, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        for number, batch in enumerate(batches):
            if number == 0:
                writer.writerow(batch)
            writer.writerows(_rows(batch))
