"""Scores a metric over shards: statistics of each shard as a file, then one formula over all of them.

A file of statistics is named after its shard, what the shard holds, and the metric's code and options. What is there
already is not made again; so a run that was stopped goes on where it was, on any engine, and a shard that has changed
is counted anew. What was damaged since it was made is made again, with a warning.
"""

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from glob import escape, glob
from typing import NamedTuple
from uuid import uuid4

import numpy as np

from ..files.rows import read_batches
from ..files.statistics import StatisticsWriter, read_statistics
from ..utils.stamps import stamp
from .batches import ARE_IDS, BATCH_ROWS, BatchStatistics, join
from .engines import Engine, serial
from .fingerprints import code_of
from .frequencies import BatchFrequencies, from_bytes, merge, merge_corpus
from .kept_files import Misfit, file_hash, read_kept, write_kept
from .pools import ItemsLost
from .stops import shielded, stoppable


class ShardsFailed(ValueError):
    """Some shards have no result; the message names each, and those of all others are kept."""


class Outcome(NamedTuple):
    """What became of a shard.

    Attributes:
        file: What was made of it.
        error: What is wrong with the shard; there is no file then.
        key: What the file is made of.
        content: A hash of the shard.
        note: Why a file that was there was made again.
    """

    file: str
    error: str | None = None
    key: str = ""
    content: str = ""
    note: str | None = None


class ShardWork:
    """Makes a file of one shard, once: a picklable function of the shard's path.

    Args:
        function: `BatchStatistics` or `BatchFrequencies`.
        folder: Where the files are kept; all workers see it under this path.
        batch_rows: Rows in memory at one time.
    """

    def __init__(self, function: Callable, folder: str, batch_rows: int = BATCH_ROWS):
        self._function, self._folder, self._batch_rows = function, os.path.abspath(folder), batch_rows
        self._fingerprint = f"{function.fingerprint()} {code_of('files/rows')}"
        self._run = uuid4().hex

    def __call__(self, shard: str) -> Outcome:
        """Makes the file, or finds it. Any error is returned as a sentence, so that it stops no other shard."""
        try:
            return self._find_or_make(shard)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # Whatever one file brings about is that file's, also panics of Rust code, which are no Exception.
            return Outcome("", _about(shard, _sentence(error)))

    def remove_parts(self) -> None:
        """Removes what workers that were killed have begun; none of them is at work any more."""
        for part in glob(f"{escape(os.path.join(self._folder, self._run))}-*.part"):
            os.remove(part)

    def _find_or_make(self, shard: str) -> Outcome:
        before = stamp(shard)
        # A hash of the content, as sizes and times can be equal where rows are not. It reads the shard once more, at
        # some hundred times the speed at which captions are counted, and lets shards be copied and moved.
        content = file_hash(shard)
        key = hashlib.sha256(f"{content} {self._fingerprint}".encode()).hexdigest()
        name = os.path.splitext(os.path.basename(shard))[0]
        file = os.path.join(self._folder, f"{name}-{key[:24]}.{'npz' if self._of_tables else 'parquet'}")
        found = Outcome(file, key=key, content=content)
        try:
            self.read(found)
            return found
        except FileNotFoundError:
            pass
        except (Misfit, OSError) as error:
            found = found._replace(note=str(error) if file in str(error) else f"{file}: {error}")

        def write(part: str) -> int:
            rows = self._make(shard, part)
            if stamp(shard) != before:
                raise ValueError(f"{shard} changed while it was read")
            return rows

        # Under a name of this run, so that `remove_parts` finds it, and not what other runs in the folder are at.
        part = os.path.join(self._folder, f"{self._run}-{uuid4().hex}.part")
        write_kept(part, key, write)
        os.replace(part, file)
        return found

    @property
    def _of_tables(self) -> bool:
        return isinstance(self._function, BatchFrequencies)

    def _make(self, shard: str, file: str) -> int:
        """Writes the file and returns the number of rows."""
        function = self._function.with_encoder()
        if self._of_tables:
            table = merge(self._batches(shard, [function.references], function.table))
            with open(file, "wb") as opened:
                if table is not None:
                    table.save(opened)
            return 0 if table is None else table.num_images
        columns = [function.predictions, function.references, *function.keep]
        with StatisticsWriter(file, as_json=function.keep) as writer:
            for statistics in self._batches(shard, columns, function):
                writer.write(statistics)
        return writer.rows

    def read(self, outcome: Outcome):
        """What a shard's file holds: its statistics (none of a shard without rows), or its table (None then).

        Raises:
            Misfit: The file is not what was made of the shard; the message names it.
            OSError: It cannot be opened.
        """
        try:
            content, rows = read_kept(outcome.file, outcome.key)
            found, number = (_table_in if self._of_tables else _statistics_in)(content)
        except FileNotFoundError:
            raise
        except (ValueError, KeyError) as error:
            raise Misfit(f"{outcome.file} does not fit: {error}") from error
        if number != rows:
            raise Misfit(f"{outcome.file} does not fit: it holds {number} rows, expected {rows}")
        return found

    def _batches(self, shard: str, columns: Sequence[str], function: Callable) -> Iterator:
        row = 0
        for batch in read_batches(shard, list(dict.fromkeys(columns)), self._batch_rows):
            size = len(batch[columns[0]])
            try:
                found = function(batch)
            except Exception as error:
                # Of one type: some, such as UnicodeEncodeError, are not made of a text.
                raise ValueError(f"{shard}, rows from {row}: {_sentence(error)}") from error
            yield found
            row += size


def _about(shard: str, text: str) -> str:
    return text if shard in text else f"{shard}: {text}"


def _sentence(error: BaseException) -> str:
    """An error as one line, with its type where that is not one of those whose text is meant for the reader."""
    text = " ".join(str(error).split("\n")).strip()
    name = type(error).__name__
    if isinstance(error, ValueError | TypeError | OSError) and text:
        return text
    return f"{name}: {text}" if text else name


class ShardScores(NamedTuple):
    """What is known of a set of shards.

    Attributes:
        statistics_of: The metric with its options, and for cider the table.
        statistics: Of all rows, the shards in the order given.
        sizes: The number of rows of each shard.
        files: The file of statistics of each shard.
        contents: A hash of each shard.
        signature: How the score is made.
    """

    statistics_of: BatchStatistics
    statistics: dict[str, np.ndarray]
    sizes: list[int]
    files: list[str]
    contents: list[str]
    signature: str

    def score(self) -> dict:
        """The scores of the whole set."""
        return self.statistics_of.score(self.statistics)


@contextmanager
def shard_folder(folder: str | None) -> Iterator[str]:
    """A context with the folder for the files of shards: the one named, which is kept, or one that goes away."""
    if folder is not None:
        os.makedirs(folder, exist_ok=True)
        yield folder
        return
    made = tempfile.TemporaryDirectory(prefix="shards-")
    try:
        yield made.name
    finally:
        with shielded():
            made.cleanup()


def score_shards(
    statistics_of: BatchStatistics,
    shards: Sequence[str],
    folder: str,
    engine: Engine = serial,
    batch_rows: int = BATCH_ROWS,
) -> ShardScores:
    """Makes the statistics of all shards, in two passes where document frequencies are needed.

    Args:
        statistics_of: The metric.
        shards: Parquet or JSON Lines files; all references of a sample are in its row.
        folder: Where the files of shards are kept, see `shard_folder`. With workers on other machines: a folder that
            all of them see, as the shards are.
        engine: Where shards are worked on, see `engines`.
        batch_rows: Rows that a worker holds at one time.

    Returns:
        What is known of them. A kept file that is damaged, or that another program put there, is made again, with a
        warning that names it.

    Raises:
        ShardsFailed: Shards cannot be read, hold wrong items, or kill the workers that are at them; the message, a
            ValueError's, names each. The files of the others stay.
        ValueError: One has changed between the passes.
        TypeError: Some rows are texts and some are ids.
        SystemExit, KeyboardInterrupt: SIGTERM or Ctrl-C came, see `stops`; no worker and no half file is left.
    """
    with stoppable():
        return _score_shards(statistics_of, shards, folder, engine, batch_rows)


def _score_shards(
    statistics_of: BatchStatistics, shards: Sequence[str], folder: str, engine: Engine, batch_rows: int
) -> ShardScores:
    first, corpus = None, statistics_of.needs_frequencies
    if corpus:
        work = ShardWork(BatchFrequencies.of(statistics_of), folder, batch_rows)
        first = _run(work, shards, engine)
        # In the order of the shards: the table, and so the names of the second pass, are the same in every run.
        tables = (table for table in map(work.read, first) if table is not None)
        statistics_of = statistics_of.with_options(document_frequencies=merge_corpus(tables))
    work = ShardWork(statistics_of, folder, batch_rows)
    outcomes = _run(work, shards, engine)
    contents = [outcome.content for outcome in outcomes]
    if first is not None:
        check_unchanged(shards, [outcome.content for outcome in first], contents)
    parts = list(map(work.read, outcomes))
    _check_kinds(shards, parts)
    statistics, sizes = join(parts), list(map(_size, parts))
    files = [outcome.file for outcome in outcomes]
    signature = statistics_of.signature(statistics, corpus)
    return ShardScores(statistics_of, statistics, sizes, files, contents, signature)


def check_unchanged(shards: Sequence[str], before: Sequence[str], after: Sequence[str]) -> None:
    """Compares what shards held in two passes.

    Raises:
        ValueError: One has changed in between; the message names it.
    """
    for shard, one, other in zip(shards, before, after):
        if one != other:
            raise ValueError(f"{shard} changed while it was scored: what was made of it is of two contents")


def _check_kinds(shards: Sequence[str], parts: Sequence[dict[str, np.ndarray]]) -> None:
    first: dict[bool, str] = {}
    for shard, part in zip(shards, parts):
        for are_ids in np.unique(part.get(ARE_IDS, ())).tolist():
            first.setdefault(bool(are_ids), shard)
    if len(first) > 1:
        raise TypeError(f"{first[True]} holds ids and {first[False]} holds texts, expected all of one kind")


def _size(columns: dict[str, np.ndarray]) -> int:
    return len(next(iter(columns.values()), ()))


def _statistics_in(content: memoryview) -> tuple[dict[str, np.ndarray], int]:
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    try:
        found = read_statistics(pyarrow.BufferReader(content))
    except (pyarrow.ArrowException, OSError) as error:
        # OSError also: what pyarrow raises where pages are damaged.
        raise ValueError(str(error)) from error
    return found, _size(found)


def _table_in(content: memoryview) -> tuple:
    # A shard without rows has an empty table.
    table = from_bytes(bytes(content)) if len(content) else None
    return table, 0 if table is None else table.num_images


def _run(work: ShardWork, shards: Sequence[str], engine: Engine) -> list[Outcome]:
    """What became of each shard; says of which files that were there are made again."""
    try:
        found = _outcomes(work, shards, engine)
    finally:
        with shielded():
            work.remove_parts()
    outcomes = [found[number] for number in range(len(shards))]
    for outcome in outcomes:
        if outcome.note:
            warnings.warn(f"{outcome.note}; it was made anew", stacklevel=4)
    wrong = [outcome.error for outcome in outcomes if outcome.error]
    if wrong:
        done = len(shards) - len(wrong)
        raise ShardsFailed(
            "; ".join(wrong[:5])
            + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
            + f" ({done} of {len(shards)} shards are done)"
        )
    return outcomes


def _outcomes(work: ShardWork, shards: Sequence[str], engine: Engine) -> dict[int, Outcome]:
    found = {}
    try:
        # Closed at once when a signal comes, so that no worker writes behind what is cleaned up.
        with closing(engine(work, shards)) as results:
            for number, outcome in results:
                found[number] = outcome
    except ItemsLost as lost:
        found.update({number: Outcome("", _about(shards[number], text)) for number, text in lost.reasons.items()})
    return found
