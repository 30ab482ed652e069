"""Scores a metric over shards: statistics of each shard as a file, then one formula over all of them.

A file of statistics is named after its shard, the shard's size and time, and the metric's code and options. What is
there already is not made again; so a run that was stopped goes on where it was, on any engine, and a shard that has
changed is counted anew.
"""

import hashlib
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import numpy as np

from metrics.utils.batch_frequencies import BatchFrequencies, merge, merge_corpus
from metrics.utils.batch_statistics import BatchStatistics, join
from metrics.utils.engines import Engine, serial
from metrics.utils.shard_files import StatisticsWriter, read_batches, read_statistics

BATCH_ROWS = 4096


class Outcome(NamedTuple):
    """What became of a shard: the file made of it, or what is wrong with it."""

    file: str
    error: str | None = None


class ShardWork:
    """Makes a file of one shard, once: a picklable function of the shard's path.

    Args:
        function: `BatchStatistics` or `BatchFrequencies`.
        folder: Where the files are kept; all workers see it under this path.
        batch_rows: Rows in memory at one time.
    """

    def __init__(self, function: Callable, folder: str, batch_rows: int = BATCH_ROWS):
        self._function, self._folder, self._batch_rows = function, os.path.abspath(folder), batch_rows
        self._fingerprint = function.fingerprint()

    def __call__(self, shard: str) -> Outcome:
        """Makes the file, or finds it. Errors of the input are returned, so that they stop no other shard."""
        try:
            file = self._file_of(shard)
            if not os.path.exists(file):
                part = f"{file}.{uuid.uuid4().hex}.part"
                try:
                    self._make(shard, part)
                    os.replace(part, file)
                finally:
                    if os.path.exists(part):
                        os.remove(part)
            return Outcome(file)
        except (ValueError, TypeError, OSError) as error:
            text = str(error)
            return Outcome("", text if shard in text else f"{shard}: {text}")

    def _file_of(self, shard: str) -> str:
        status = os.stat(shard)
        key = f"{os.path.abspath(shard)} {status.st_size} {status.st_mtime_ns} {self._fingerprint}"
        name = os.path.splitext(os.path.basename(shard))[0]
        ending = "npz" if isinstance(self._function, BatchFrequencies) else "parquet"
        return os.path.join(self._folder, f"{name}-{hashlib.sha256(key.encode()).hexdigest()[:24]}.{ending}")

    def _make(self, shard: str, file: str) -> None:
        function = self._function.with_encoder()
        if isinstance(function, BatchFrequencies):
            table = merge(self._batches(shard, [function.references], function.table))
            with open(file, "wb") as opened:
                if table is not None:
                    table.save(opened)
            return
        columns = [function.predictions, function.references, *function.keep]
        with StatisticsWriter(file) as writer:
            for statistics in self._batches(shard, columns, function):
                writer.write(statistics)

    def _batches(self, shard: str, columns: Sequence[str], function: Callable) -> Iterator:
        row = 0
        for batch in read_batches(shard, list(dict.fromkeys(columns)), self._batch_rows):
            size = len(batch[columns[0]])
            try:
                yield function(batch)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{shard}, rows from {row}: {error}") from error
            row += size


class ShardScores(NamedTuple):
    """What is known of a set of shards.

    Attributes:
        statistics_of: The metric with its options, and for cider the table.
        statistics: Of all rows, the shards in the order given.
        files: The file of statistics of each shard.
        signature: How the score is made.
    """

    statistics_of: BatchStatistics
    statistics: dict[str, np.ndarray]
    files: list[str]
    signature: str

    def score(self) -> dict:
        """The scores of the whole set."""
        return self.statistics_of.score(self.statistics)


def shard_folder(folder: str | None):
    """A context with the folder for the files of shards: the one named, which is kept, or one that goes away."""
    if folder is None:
        return tempfile.TemporaryDirectory(prefix="shards-")
    os.makedirs(folder, exist_ok=True)
    return nullcontext(folder)


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

    Raises:
        ValueError: Shards cannot be read or hold wrong items; the message names each. The files of the others stay.
    """
    corpus = statistics_of.needs_frequencies
    if corpus:
        files = _run(ShardWork(BatchFrequencies.of(statistics_of), folder, batch_rows), shards, engine)
        # In the order of the shards: the table, and so the names of the second pass, are the same in every run.
        statistics_of = statistics_of.with_options(document_frequencies=merge_corpus(_tables(files)))
    files = _run(ShardWork(statistics_of, folder, batch_rows), shards, engine)
    statistics = join(map(read_statistics, files))
    return ShardScores(statistics_of, statistics, files, statistics_of.signature(statistics, corpus))


def _tables(files: Sequence[str]) -> Iterator:
    from metrics.cider.document_frequencies import DocumentFrequencies

    # A shard without rows has an empty file.
    return (DocumentFrequencies.load(file) for file in files if os.path.getsize(file))


def _run(work: ShardWork, shards: Sequence[str], engine: Engine) -> list[str]:
    """The file of each shard."""
    outcomes = dict(engine(work, shards))
    wrong = [outcome.error for _, outcome in sorted(outcomes.items()) if outcome.error]
    if wrong:
        done = len(shards) - len(wrong)
        raise ValueError("; ".join(wrong[:5]) + (f"; and {len(wrong) - 5} more" if len(wrong) > 5 else "")
                         + f" ({done} of {len(shards)} shards are done)")  # fmt: skip
    return [outcomes[number].file for number in range(len(shards))]
