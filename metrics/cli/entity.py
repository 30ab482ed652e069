"""Scores the entities of captions on files, without importing evaluate (which takes seconds)."""

import argparse
from collections.abc import Callable

from ..entity_score import scoring
from ..files.captions import CaptionSet
from ..utils.checks import reference_counts, signature
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
    how = _how(options)
    try:
        encoder = scoring.T5Encoder(options.model_path, options.device, options.dtype, options.batch_size)
        found = scoring.find_entities(data.predictions, data.references)
    except ImportError as error:
        raise OSError(str(error)) from error
    statistics = scoring.sample_statistics(**how, encoder=encoder, found=found)
    name, settings = scoring.signature_settings(**how, model_path=options.model_path, dtype=options.dtype)
    line = signature(name, {**settings, "refs": reference_counts(data.references)})
    report = make_report(name, statistics, scoring.score, scoring.sample_scores, line, options, clusters(data))
    for key, lists in scoring.sample_entities(statistics, found).items():
        report.samples[key] = [" ".join(stems) for stems in lists]
    return [report._replace(last_line=_published_line(report.results))]


def metric_options(name: str, options: argparse.Namespace) -> dict:
    """The options of the metric's `compute`."""
    encoding = {key: getattr(options, key) for key in ("model_path", "device", "dtype", "batch_size")}
    return {**_how(options), **encoding}


def _how(options: argparse.Namespace) -> dict:
    return {"formula": options.entity_formula, "no_entities": options.no_entities}


def _published_line(results: dict) -> str:
    """What FAVDBench's script prints, for programs that read it."""
    mean, low, high = (results[f"entity_score{end}"] for end in ("", "_min", "_max"))
    return f"Average: {mean:.2f}, Range: ({low:.2f} - {high:.2f})"
