"""Scores shards, Parquet or JSON Lines whose rows hold prediction and references, in this process or on an engine."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from ..files.captions import name_some
from ..files.rows import expand, is_shard
from ..files.statistics import to_arrow, write_rows
from ..scale.batches import BATCH_ROWS, METRICS, BatchStatistics
from ..scale.engines import ENGINES, pick
from ..scale.shards import ShardScores, ShardsFailed, check_unchanged, score_shards, shard_folder
from ..scale.stops import stoppable
from .reports import Report, make_report

# Options of score that speak of files of another kind, or need more than statistics.
_OTHERS = ("references", "questions", "percent", "official_output", "allow_missing")


_OF_SHARDS = ("engine", "id_column", "shard_results")


class ShardSet(NamedTuple):
    """The rows of all shards, numbered."""

    ids: range
    left_out: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of shards."""
    group = parser.add_argument_group("shards (--predictions 'DIR/*.parquet' or 'DIR/*.jsonl')")
    group.add_argument("--prediction-column", default="prediction", metavar="NAME")
    group.add_argument("--references-column", default="references", metavar="NAME", help="a list in each row")
    group.add_argument("--id-column", metavar="NAME", help="is written to the file of --per-sample")
    group.add_argument("--engine", choices=ENGINES, help="default: one process, one shard after the other")
    group.add_argument("--num-workers", type=int, default=1, metavar="N", help="of the engine")
    group.add_argument("--num-gpus", type=float, default=0, metavar="N", help="of each worker of Ray; 0.5 is a half")
    group.add_argument("--batch-rows", type=int, default=BATCH_ROWS, metavar="N", help="rows in memory of a worker")
    group.add_argument(
        "--shard-results",
        metavar="DIR",
        help="keep what is made of each shard; a later run makes what is missing. Needed where workers are on other "
        "machines: all must see it",
    )


def check(family, options: argparse.Namespace) -> bool:
    """Whether the files are shards.

    Raises:
        ValueError: Options do not go together.
    """
    if not (options.predictions and is_shard(options.predictions)):
        # recall_at_k takes shards of its own kind.
        names = ("id_column", "shard_results") if "recall_at_k" in family.METRICS else _OF_SHARDS
        wrong = [name for name in names if getattr(options, name)]
        if wrong:
            raise ValueError(f"{_option(wrong[0])} is for shards, expected --predictions 'DIR/*.parquet' or *.jsonl")
        return False
    if not set(family.METRICS) <= set(METRICS):
        raise ValueError(f"{', '.join(family.METRICS)} takes no shards of rows, expected {', '.join(METRICS)}")
    wrong = [name for name in _OTHERS if getattr(options, name)]
    if wrong:
        raise ValueError(f"{_option(wrong[0])} does not go with shards, whose rows hold prediction and references")
    if options.num_workers < 1 or options.batch_rows < 1:
        raise ValueError("--num-workers and --batch-rows are at least 1")
    return True


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")


def run(family, names: Sequence[str], options: argparse.Namespace) -> tuple[ShardSet, list[Report]]:
    """Scores the shards with every metric named, and writes the scores of the samples where asked for.

    Raises:
        ValueError, TypeError, OSError: As `score_shards`; or a package is missing.
        SystemExit: A signal came: 130 after Ctrl-C, 143 after SIGTERM.
    """
    kept = options.shard_results
    further = f"the same command goes on from {kept}" if kept else "with --shard-results a later run would go on"
    try:
        with stoppable(for_good=True):
            return _run(family, names, options)
    except ShardsFailed as error:
        raise ShardsFailed(f"{error}; {further}") from error
    except (KeyboardInterrupt, SystemExit) as stop:
        print(f"stopped; {further}", file=sys.stderr)
        # Not a traceback of wherever it was.
        raise SystemExit(130 if isinstance(stop, KeyboardInterrupt) else stop.code) from None


def _run(family, names: Sequence[str], options: argparse.Namespace) -> tuple[ShardSet, list[Report]]:
    shards = expand([options.predictions])
    keep = [options.id_column] if options.id_column else []
    columns = {"predictions": options.prediction_column, "references": options.references_column, "keep": keep}
    try:
        engine = pick(options.engine, options.num_workers, options.num_gpus)
        with shard_folder(options.shard_results) as folder:
            score_one = partial(
                score_shards, shards=shards, folder=folder, engine=engine, batch_rows=options.batch_rows
            )
            found = [score_one(BatchStatistics(family.scorer(name, options), **columns)) for name in names]
        for scores in found[1:]:
            check_unchanged(shards, found[0].contents, scores.contents)
        if options.per_sample:
            _write_samples(options.per_sample, found, shards, options.id_column)
    except ImportError as error:
        raise OSError(str(error)) from error
    reports = [_report(scores, options) for scores in found]
    return ShardSet(range(len(next(iter(found[0].statistics.values()))))), reports


def _report(scores: ShardScores, options: argparse.Namespace) -> Report:
    report = make_report(*scores.statistics_of.of(scores.statistics), options, with_samples=False)
    return report._replace(signature=scores.signature)


def _write_samples(path: str, found: Sequence[ShardScores], shards: Sequence[str], id_column: str | None) -> None:
    ids = None
    if id_column:
        ids = found[0].statistics[id_column]
        _name_doubled(id_column, ids.tolist())
        # Of all shards at once, as one may hold 1 and the next 2**63, or none at all.
        ids = to_arrow(ids, id_column) if path.endswith(".parquet") else ids
    write_rows(path, sample_columns(found, shards, id_column, ids))


def _name_doubled(id_column: str, ids: list) -> None:
    """Says which ids stand in several rows: all of them are scored, as they may be meant."""
    doubled = [text for text, count in Counter(map(str, ids)).items() if count > 1]
    if doubled:
        print(
            f"more than one row has {name_some(doubled, 'id')} in column {id_column!r}; all rows are scored",
            file=sys.stderr,
        )


def sample_columns(
    found: Sequence[ShardScores], shards: Sequence[str], id_column: str | None, ids
) -> Iterator[dict[str, np.ndarray]]:
    """The scores of every row, shard by shard: behind the id, or behind the shard's name and the row in it."""
    stop = 0
    for shard, size in zip(shards, found[0].sizes):
        start, stop = stop, stop + size
        if not size:
            continue
        names = np.full(size, os.path.basename(shard), object)
        columns = {id_column: ids[start:stop]} if id_column else {"shard": names, "row": np.arange(size)}
        for scores in found:
            statistics = {name: values[start:stop] for name, values in scores.statistics.items()}
            columns.update(scores.statistics_of.sample_scores(statistics))
        yield columns
