"""Scores caption metrics on files, without importing evaluate (which takes seconds)."""

import argparse
from collections.abc import Callable

from ..bleu4 import scoring as bleu4
from ..cider import scoring as cider
from ..files.captions import CaptionSet, pair_captions
from ..utils.ngrams import Encoder, caption_counts
from ..utils.scorers import BaseScorer, Found, counts_of
from .reports import Report, make_report

ITEMS, ID = "images", "image_id"
REQUIRED = ("predictions", "references")
_SMOOTHINGS = {"true": True, "false": False, **{name: name for name in ("epsilon", "add-k", "exp", "coco")}}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of cider and bleu4."""
    group = parser.add_argument_group("captions (cider, bleu4)")
    group.add_argument("--tokenizer", default="ptb", choices=["ptb", "13a", "whitespace", "char"])
    group.add_argument("--stem", action="store_true", help="cider, vqa_accuracy: map words to Porter stems")
    group.add_argument("--variant", default="cider_d", choices=["cider_d", "cider", "cider_r"])
    group.add_argument(
        "--document-frequencies",
        default="corpus",
        metavar="FILE",
        help="cider: a saved table instead of the references of this set",
    )
    group.add_argument("--smoothing", default="true", choices=list(_SMOOTHINGS), help="bleu4")
    group.add_argument("--effective-order", action="store_true", help="bleu4: a short exact match is 1")


def shown_values(options: argparse.Namespace) -> Callable[[str, object], str]:
    """How a value of the results is printed."""
    return _shown


def _shown(key: str, value) -> str:
    values = value if isinstance(value, list) else [value]
    return "  ".join(f"{item:.6f}" if isinstance(item, float) else str(item) for item in values)


def read(path: str, options: argparse.Namespace) -> CaptionSet:
    """Reads one file of predictions, and the references."""
    return pair_captions(path, options.references, options.allow_missing)


def run(names: list[str], options: argparse.Namespace) -> tuple[CaptionSet, list[Report]]:
    """Reads the files and scores them with every metric named."""
    data = read(options.predictions, options)
    return data, measure(names, data, options)


def measure(names: list[str], data: CaptionSet, options: argparse.Namespace) -> list[Report]:
    """Scores captions with every metric named; they are tokenized and counted once."""
    scorers = [scorer(name, options).opened() for name in names]
    stems = {_stems(one) for one in scorers}
    counts = {
        stem: caption_counts(data.predictions, data.references, 4, Encoder(options.tokenizer, stem)) for stem in stems
    }
    found = [one.statistics_of_counts(counts[_stems(one)]) for one in scorers]
    num_references = counts_of(data.references)
    return [
        make_report(one, Found(statistics, num_references), options, clusters(data))
        for one, statistics in zip(scorers, found)
    ]


def scorer(name: str, options: argparse.Namespace) -> BaseScorer:
    """A metric with the options of the command line."""
    return _SCORERS[name](options)


def _stems(one: BaseScorer) -> bool:
    return getattr(one, "stem", False)


def _cider(options: argparse.Namespace) -> cider.Scorer:
    names = ("variant", "tokenizer", "stem", "document_frequencies")
    return cider.Scorer(**{key: getattr(options, key) for key in names})


def _bleu4(options: argparse.Namespace) -> bleu4.Scorer:
    formula = {"smoothing": _SMOOTHINGS[options.smoothing], "effective_order": options.effective_order}
    return bleu4.Scorer(tokenizer=options.tokenizer, **formula)


# Metrics of n-grams, which share their counts.
_SCORERS = {"cider": _cider, "bleu4": _bleu4}
METRICS = tuple(_SCORERS)


def clusters(data: CaptionSet) -> None:
    """What is resampled as one: an image has one caption, so there are none."""
