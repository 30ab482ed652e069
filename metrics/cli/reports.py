"""What the commands share: their arguments, and what one metric says of one set of samples."""

import argparse
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..utils.resampling import confidence_interval, count_units, few_note


class Report(NamedTuple):
    """What one metric says of one set of samples.

    Attributes:
        name: Of the metric.
        results: As `compute` returns them; the main value stands first.
        samples: key -> one value per sample.
        signature: How the score was made.
        statistics: Of the samples, as the metric's scoring.py makes them.
        score: The metric's formula over statistics, `score(statistics, weights=None)`.
        last_line: Is printed as it is.
        note: What is to be known of the intervals, one sentence; empty where there is nothing, or there are none.
    """

    name: str
    results: dict
    samples: dict[str, list]
    signature: str
    statistics: dict
    score: Callable[..., dict]
    last_line: str = ""
    note: str = ""


def make_report(
    name: str,
    statistics: dict,
    score: Callable[..., dict],
    sample_scores: Callable[[dict], dict],
    signature: str,
    options: argparse.Namespace,
    clusters: Sequence | None = None,
) -> Report:
    """Scores statistics and their samples, with intervals where the options ask for them."""
    results = results_of(statistics, score, options, clusters)
    samples = {key: values.tolist() for key, values in sample_scores(statistics).items()}
    note = interval_note(statistics, options, clusters)
    return Report(name, results, samples, signature, statistics, score, note=note)


def interval_note(statistics: dict, options: argparse.Namespace, clusters: Sequence | None = None) -> str:
    """A sentence where intervals are asked for and there are too few samples (whole images) for them."""
    if options.confidence_level is None:
        return ""
    rows = len(next(iter(statistics.values())))
    return few_note(count_units(rows, clusters), "samples" if clusters is None else "whole images")


def results_of(
    statistics: dict, score: Callable[..., dict], options: argparse.Namespace, clusters: Sequence | None = None
) -> dict:
    """Scores statistics, with intervals where the options ask for them."""
    results = score(statistics)
    if options.confidence_level is not None:
        results["confidence_interval"] = confidence_interval(
            score, statistics, options.confidence_level, options.n_resamples, options.seed, clusters
        )
    return results


def add_arguments(parser: argparse.ArgumentParser, metrics: Sequence[str], confidence_level: float | None) -> None:
    """Adds what every command on files has: metrics, references, and the options of the bootstrap."""
    parser.add_argument(
        "metrics", nargs="+", choices=metrics, metavar="METRIC", help=f"one or more of: {', '.join(metrics)}"
    )
    parser.add_argument(
        "--references",
        "--refe_path",
        metavar="FILE",
        help="JSON: the same formats (VQA: an annotation file; retrieval: per image, its list of texts)",
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="leave out ids that only some files have, and say how many"
    )
    parser.add_argument(
        "--confidence-level",
        type=float,
        default=confidence_level,
        metavar="LEVEL",
        help="of bootstrap intervals, such as 0.95; VQA resamples whole images where annotations name them",
    )
    parser.add_argument("--n-resamples", type=int, default=1000, metavar="N", help="of the bootstrap; 1000")
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap; 0")


def pick_family(families: Sequence, names: Sequence[str]):
    """The one module of `families` that has all the metrics named.

    Raises:
        ValueError: They are of several kinds.
    """
    chosen = [family for family in families if set(names) & set(family.METRICS)]
    if len(chosen) > 1:
        kinds = " or ".join(", ".join(family.METRICS) for family in chosen)
        raise ValueError(f"metrics are {', '.join(names)}, expected all of one kind: {kinds}")
    return chosen[0]


def check_required(family, options: argparse.Namespace) -> None:
    """Refuses to start without the files that these metrics need.

    Raises:
        ValueError: One is missing.
    """
    missing = [f"--{name}" for name in family.REQUIRED if not getattr(options, name)]
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise ValueError(f"{' and '.join(missing)} {verb} missing, expected for {', '.join(family.METRICS)}")
