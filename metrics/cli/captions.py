"""Scores caption metrics on files, without importing evaluate (which takes seconds)."""

import argparse
import importlib
from collections.abc import Callable
from typing import NamedTuple

from metrics.utils.base import reference_counts, signature
from metrics.utils.files import CaptionSet, pair_captions
from metrics.utils.ngrams import Encoder, caption_counts

METRICS = ("cider", "bleu4")
ITEMS, ID = "images", "image_id"
_SMOOTHINGS = {"true": True, "false": False, **{name: name for name in ("epsilon", "add-k", "exp", "coco")}}


class Report(NamedTuple):
    """What one metric says of one set of captions: results, one list per sample and key, and the signature; perhaps a
    last line that is printed as it is."""

    name: str
    results: dict
    samples: dict
    signature: str
    last_line: str = ""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of cider and bleu4."""
    group = parser.add_argument_group("captions (cider, bleu4)")
    group.add_argument("--tokenizer", default="ptb", choices=["ptb", "13a", "whitespace", "char"])
    group.add_argument("--stem", action="store_true", help="cider: map words to Porter stems")
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


def run(names: list[str], options: argparse.Namespace) -> tuple[CaptionSet, list[Report]]:
    """Reads the files and scores them with every metric named; captions are tokenized and counted once."""
    captions = pair_captions(options.predictions, options.references, options.allow_missing)
    stemmed = {name: name == "cider" and options.stem for name in names}
    counts = {
        stem: caption_counts(captions.predictions, captions.references, 4, Encoder(options.tokenizer, stem))
        for stem in set(stemmed.values())
    }
    return captions, [_report(name, counts[stemmed[name]], captions, options) for name in names]


def _report(name: str, counts: dict, captions: CaptionSet, options: argparse.Namespace) -> Report:
    scoring = importlib.import_module(f"metrics.{name}.scoring")
    if name == "cider":
        table = scoring.open_table(options.document_frequencies)
        counting = {"variant": options.variant, "stem": options.stem, "document_frequencies": table}
        formula = {}
    else:
        counting = {}
        formula = {"smoothing": _SMOOTHINGS[options.smoothing], "effective_order": options.effective_order}
    statistics = scoring.sample_statistics(counts=counts, tokenizer=options.tokenizer, **counting)
    kind, settings = scoring.signature_settings(tokenizer=options.tokenizer, **counting, **formula)
    settings["refs"] = reference_counts(captions.references)
    samples = {key: values.tolist() for key, values in scoring.sample_scores(statistics, **formula).items()}
    return Report(name, scoring.score(statistics, **formula), samples, signature(kind, settings))
