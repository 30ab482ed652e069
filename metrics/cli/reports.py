"""What the commands share: their arguments, and what one metric says of one set of samples."""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

from ..utils.resampling import count_units, few_note
from ..utils.scorers import Asked, BaseScorer, Found, results_of, samples_of


class Report(NamedTuple):
    """What one metric says of one set of samples.

    Attributes:
        scorer: The metric with its options.
        found: What it found in the samples.
        results: As `compute` returns them; the main value stands first.
        samples: key -> one value per sample; empty where there are too many to be held.
        signature: How the score was made.
        last_line: Is printed as it is.
        note: What is to be known of the intervals, one sentence; empty where there is nothing, or there are none.
    """

    scorer: BaseScorer
    found: Found
    results: dict
    samples: dict[str, list]
    signature: str
    last_line: str = ""
    note: str = ""

    @property
    def name(self) -> str:
        """The metric's."""
        return self.scorer.NAME


def make_report(
    scorer: BaseScorer,
    found: Found,
    options: argparse.Namespace,
    clusters: Sequence | None = None,
    with_samples: bool = True,
) -> Report:
    """Scores what was found, and the samples, with intervals where the options ask for them."""
    asked = Asked(False, options.confidence_level, options.n_resamples, options.seed, clusters)
    results = results_of(scorer, found, asked)
    samples = samples_of(scorer, found) if with_samples else {}
    note = "" if asked.confidence_level is None else _few(found, scorer.clusters(found, asked))
    return Report(scorer, found, results, samples, scorer.signature(found.num_references), note=note)


def _few(found: Found, clusters: Sequence | None) -> str:
    """A sentence where there are too few samples (whole images) for intervals."""
    return few_note(count_units(found.rows, clusters), "samples" if clusters is None else "whole images")


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
