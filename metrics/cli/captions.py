"""Scores caption metrics on files, without importing evaluate (which takes seconds)."""

import argparse
from collections.abc import Callable
from functools import partial

from ..bleu4 import scoring as bleu4
from ..cider import scoring as cider
from ..files.captions import CaptionSet, pair_captions
from ..utils.checks import reference_counts, signature
from ..utils.ngrams import Encoder, caption_counts
from .reports import Report, make_report

_SCORING = {"cider": cider, "bleu4": bleu4}
METRICS = tuple(_SCORING)
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
    stemmed = {name: name == "cider" and options.stem for name in names}
    counts = {
        stem: caption_counts(data.predictions, data.references, 4, Encoder(options.tokenizer, stem))
        for stem in set(stemmed.values())
    }
    return [_report(name, counts[stemmed[name]], data, options) for name in names]


def metric_options(name: str, options: argparse.Namespace) -> dict:
    """The options of a metric's `compute`."""
    return {"tokenizer": options.tokenizer, **_counting(name, options), **_formula(name, options)}


def _counting(name: str, options: argparse.Namespace) -> dict:
    keys = ("variant", "stem", "document_frequencies") if name == "cider" else ()
    return {key: getattr(options, key) for key in keys}


def _formula(name: str, options: argparse.Namespace) -> dict:
    if name == "cider":
        return {}
    return {"smoothing": _SMOOTHINGS[options.smoothing], "effective_order": options.effective_order}


def clusters(data: CaptionSet) -> None:
    """What is resampled as one: an image has one caption, so there are none."""


def _report(name: str, counts: dict, data: CaptionSet, options: argparse.Namespace) -> Report:
    scoring = _SCORING[name]
    counting, formula = _counting(name, options), _formula(name, options)
    if name == "cider":
        counting["document_frequencies"] = scoring.open_table(options.document_frequencies)
    statistics = scoring.sample_statistics(counts=counts, tokenizer=options.tokenizer, **counting)
    kind, settings = scoring.signature_settings(tokenizer=options.tokenizer, **counting, **formula)
    settings["refs"] = reference_counts(data.references)
    functions = partial(scoring.score, **formula), partial(scoring.sample_scores, **formula)
    return make_report(name, statistics, *functions, signature(kind, settings), options, clusters(data))
