"""Scores the entities of captions on files, without importing evaluate (which takes seconds)."""

import argparse
from collections.abc import Callable
from dataclasses import replace

from ..entity_score import scoring
from ..files.captions import CaptionSet
from ..utils.t5 import DTYPES
from . import captions
from .reports import Report, make_report

METRICS = ("entity_score",)
# The files are those of all caption metrics.
ITEMS, ID, REQUIRED = captions.ITEMS, captions.ID, captions.REQUIRED
# Why a sample has no score, and what gives it one.
UNSCORED = "a side has no entity; --no-entities zero scores them 0"
read, clusters = captions.read, captions.clusters


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of entity_score."""
    group = parser.add_argument_group("entities (entity_score)")
    group.add_argument(
        "--model-path", "--model_path", default="t5-base", metavar="NAME", help="a T5 model on the Hub or a folder"
    )
    group.add_argument("--entity-formula", default="favdbench", choices=list(scoring.FORMULAS))
    group.add_argument(
        "--no-entities",
        default="skip",
        choices=list(scoring.NO_ENTITIES),
        help="what a pair scores where one side has no entity",
    )
    group.add_argument("--device", help="such as cpu or cuda:0; default: a GPU where there is one")
    group.add_argument("--dtype", default="float32", choices=DTYPES)
    group.add_argument("--batch-size", type=int, default=128, help="entities encoded at once")


def shown_values(options: argparse.Namespace) -> Callable[[str, object], str]:
    """How a value of the results is printed."""
    return lambda key, value: f"{value:.6f}" if isinstance(value, float) else str(value)


def run(names: list[str], options: argparse.Namespace) -> tuple[CaptionSet, list[Report]]:
    """Reads the files and scores them."""
    data = read(options.predictions, options)
    return data, measure(names, data, options)


def measure(names: list[str], data: CaptionSet, options: argparse.Namespace) -> list[Report]:
    """Scores captions with the one metric there is.

    Raises:
        ValueError, OSError: The model or NLTK's data are not as they must be, or a package is missing.
    """
    (name,) = names
    own = scorer(name, options)
    try:
        found = own.find(data.predictions, data.references, details=True)
    except ImportError as error:
        raise OSError(str(error)) from error
    samples = {key: [" ".join(stems) for stems in lists] for key, lists in found.samples.items()}
    report = make_report(own, replace(found, samples=samples), options, clusters(data))
    return [report._replace(last_line=_published_line(report.results))]


def scorer(name: str, options: argparse.Namespace) -> scoring.Scorer:
    """The metric with the options of the command line."""
    names = ("model_path", "device", "dtype", "batch_size")
    own = {key: getattr(options, key) for key in names}
    return scoring.Scorer(options.entity_formula, options.no_entities, **own)


def _published_line(results: dict) -> str:
    """What FAVDBench's script prints, for programs that read it."""
    mean, low, high = (results[f"entity_score{end}"] for end in ("", "_min", "_max"))
    return f"Average: {mean:.2f}, Range: ({low:.2f} - {high:.2f})"
