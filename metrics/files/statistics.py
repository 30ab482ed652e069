"""Columns of numbers as files: statistics as Parquet and back, the scores of samples as Parquet, JSON Lines or CSV."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from ..utils.whole_files import written_whole
from .csv_cells import csv_row
from .json_text import json_text

# Of a field of Arrow: its texts are JSON, one value each.
_JSON = {b"holds": b"json"}


class StatisticsWriter:
    """Writes batches of statistics behind each other into a Parquet file, which is whole when closed.

    Args:
        path: The file.
        as_json: Columns that come from the rows, such as an id, and may hold anything: one batch 1, the next "a" or
            2**64. They are written as JSON where JSON has their values, else as Arrow takes them.

    Attributes:
        rows: Number of rows written.
    """

    def __init__(self, path: str, as_json: Sequence[str] = ()):
        self._path, self._as_json, self._writer, self.rows = path, as_json, None, 0

    def write(self, columns: Mapping[str, np.ndarray]) -> None:
        """Writes a batch; all have the same columns.

        Raises:
            ValueError: A column has values of several types, or of one that Parquet does not have.
        """
        import pyarrow.parquet  # Takes time, for Parquet and Arrow alone.

        table = to_table(columns, self._as_json)
        if self._writer is None:
            self._writer = pyarrow.parquet.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)
        self.rows += table.num_rows

    def __enter__(self) -> "StatisticsWriter":
        return self

    def __exit__(self, *error) -> None:
        if self._writer is None and error[0] is None:
            self.write({})
        if self._writer is not None:
            self._writer.close()


def to_table(columns: Mapping[str, np.ndarray], as_json: Sequence[str] = ()):
    """Columns as an Arrow table; an array of two dimensions becomes lists of a fixed size.

    Raises:
        ValueError: As `StatisticsWriter.write`.

    >>> to_table({"similarity": np.zeros((2, 4))}).schema.field("similarity").type.list_size
    4
    """
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    arrays, fields = [], []
    for name, values in columns.items():
        texts = _json_texts(values) if name in as_json else None
        array = to_arrow(values, name) if texts is None else pyarrow.array(texts, pyarrow.string())
        arrays.append(array)
        fields.append(pyarrow.field(name, array.type, metadata=None if texts is None else _JSON))
    return pyarrow.table(arrays, pyarrow.schema(fields))


def _json_texts(values: np.ndarray) -> list[str] | None:
    try:
        return [json.dumps(value) for value in values.tolist()]
    except TypeError:
        return None  # Times, decimals, bytes: columns of Parquet that have one type throughout.


def to_arrow(values, name: str):
    """One column as an Arrow array, of the type that all its values have; nothing is cast.

    Raises:
        ValueError: The values are of several types, or of one that Arrow does not have; the message names the column.

    >>> to_arrow(np.array([1, 2**64 - 1], object), "id").type
    DataType(uint64)
    """
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    if isinstance(values, pyarrow.Array):
        return values
    if values.ndim == 2:
        return pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(values.reshape(-1)), values.shape[1])
    if values.dtype != object:
        return pyarrow.array(values)
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1:
        found = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise ValueError(
            f"column {name!r} holds {found}, and a column of Parquet has one type; JSON Lines and CSV "
            "take them as they are"
        )
    unsigned = kinds == {int} and max(value for value in values if value is not None) >= 2**63
    try:
        return pyarrow.array(values.tolist(), pyarrow.uint64() if unsigned else None)
    except (pyarrow.ArrowException, OverflowError) as error:
        raise ValueError(f"column {name!r} has no type of Parquet: {error}; JSON Lines and CSV take it") from error


def from_table(table) -> dict[str, np.ndarray]:
    """The arrays of a table of statistics, which `to_table` made or datasets stored: lists of one size are rows.

    >>> from_table(to_table({"matches": np.arange(6).reshape(3, 2)}))["matches"].tolist()
    [[0, 1], [2, 3], [4, 5]]
    """
    if not table.num_rows:
        return {}
    return {
        field.name: (_from_json if _holds_json(field) else _to_array)(table.column(field.name))
        for field in table.schema
    }


def _holds_json(field) -> bool:
    return (field.metadata or {}).items() >= _JSON.items()


def _from_json(column) -> np.ndarray:
    values = np.empty(len(column), object)
    values[:] = [json.loads(text) for text in column.to_pylist()]
    return values


def _to_array(column) -> np.ndarray:
    import pyarrow.types  # Takes time, for Parquet and Arrow alone.

    chunks = [chunk for chunk in column.chunks if len(chunk)]
    kind = column.type
    if pyarrow.types.is_list(kind) or pyarrow.types.is_large_list(kind) or pyarrow.types.is_fixed_size_list(kind):
        return np.concatenate([_numbers(chunk.flatten()).reshape(len(chunk), -1) for chunk in chunks])
    return np.concatenate([_numbers(chunk) for chunk in chunks])


def _numbers(array) -> np.ndarray:
    return array.to_numpy(zero_copy_only=False)


def read_statistics(source) -> dict[str, np.ndarray]:
    """Reads what a `StatisticsWriter` wrote, from its path or an Arrow buffer; of a shard without rows, no column.

    Raises:
        ValueError: It is damaged, or another file.
        OSError: It cannot be opened.
    """
    import pyarrow.parquet  # Takes time, for Parquet and Arrow alone.

    place = source if isinstance(source, str) else "the content"
    try:
        return from_table(pyarrow.parquet.read_table(source))
    except (pyarrow.ArrowException, ValueError, TypeError, KeyError, RecursionError, MemoryError, OSError) as error:
        # Arrow tells of a damaged file as of one that cannot be read, but without a number of the system.
        if isinstance(error, OSError) and error.errno is not None:
            raise
        first = (str(error).splitlines() or [type(error).__name__])[0]
        first = first if first.isprintable() else ascii(first)
        raise ValueError(f"{place} is no readable file of statistics: {first}") from error


def write_rows(path: str, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
    """Writes batches of columns as Parquet or JSON Lines where the path ends so, else as CSV.

    JSON Lines have null where there is no number; cells of CSV are those of `csv_row`. A file that is there stays as
    it was until all is written.

    Raises:
        ValueError: The columns of a batch differ in length, or Parquet does not have their type.
        OSError: It cannot be written.
    """
    with written_whole(path) as part:
        if path.endswith(".parquet"):
            with StatisticsWriter(part) as writer:
                for batch in batches:
                    writer.write(batch)
        elif path.endswith(".jsonl"):
            _write_lines(part, batches)
        else:
            _write_csv(part, batches)


def _write_lines(path: str, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
    with open(path, "w", encoding="utf-8", newline="") as file:
        for batch in batches:
            file.writelines(json_text(dict(zip(batch, row)), indent=None) + "\n" for row in _rows(batch))


def _rows(batch: Mapping[str, np.ndarray]) -> Iterator[tuple]:
    return zip(*(np.asarray(values).tolist() for values in batch.values()), strict=True)


def _write_csv(path: str, batches: Iterable[Mapping[str, np.ndarray]]) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        writer = csv.writer(file)
        for number, batch in enumerate(batches):
            if number == 0:
                writer.writerow(csv_row(batch))
            writer.writerows(map(csv_row, _rows(batch)))
