"""Scores image-text retrieval on files of embeddings or similarities, without importing evaluate."""

import argparse
import json
from collections.abc import Callable, Iterable
from typing import NamedTuple

from metrics.cli.captions import Report
from metrics.recall_at_k.inputs import check_pairs
from metrics.recall_at_k.reporting import report
from metrics.recall_at_k.scoring import DIRECTIONS, NO_CORRECT, SIMILARITIES, check_items, sample_scores
from metrics.recall_at_k.ties import TIES
from metrics.utils.array_files import open_array

METRICS = ("recall_at_k",)
ITEMS, ID = "queries", "query"
REQUIRED = ()


class RetrievalSet(NamedTuple):
    """The queries of both directions; none of them is left out, and they have no text."""

    ids: list[int]
    predictions: None = None
    left_out: int = 0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of recall_at_k."""
    group = parser.add_argument_group("retrieval (recall_at_k; files are .npy or .safetensors)")
    group.add_argument("--image-embeddings", metavar="FILE", help="(images, dimensions)")
    group.add_argument("--text-embeddings", metavar="FILE", help="(texts, dimensions)")
    group.add_argument("--similarity", metavar="FILE", help="(images, texts), instead of the two above")
    group.add_argument("--backward-references", metavar="FILE", help="JSON: the correct images of each text")
    group.add_argument("--product", default="cosine", choices=SIMILARITIES, help="what embeddings are compared by")
    group.add_argument("--k", nargs="+", type=int, default=[1, 5, 10])
    group.add_argument("--ties", default="expected", choices=TIES)
    group.add_argument("--directions", default="both", choices=DIRECTIONS)
    group.add_argument("--no-correct", default="skip", choices=NO_CORRECT, help="queries without a correct item")
    group.add_argument("--recall-fraction", action="store_true", help="also the fraction of correct items found")
    group.add_argument("--query-name", default="i")
    group.add_argument("--gallery-name", default="t")
    group.add_argument("--folds", type=int, help="also the mean over consecutive parts; 5 for COCO 1K")


def shown_values(options: argparse.Namespace) -> Callable[[str, object], str]:
    """How a value of the results is printed."""

    def show(key: str, value) -> str:
        if isinstance(value, dict):
            return "".join(f"\n    {name:<18} {show(name, item)}" for name, item in value.items())
        return f"{value:.6f}" if isinstance(value, float) else str(value)

    return show


def run(names: list[str], options: argparse.Namespace) -> tuple[RetrievalSet, list[Report]]:
    """Opens the files and scores them."""
    items = _items(options)
    references = [_references(path) for path in (options.references, options.backward_references)]
    pairs = check_pairs(*references, *items.shape)
    names = ("k", "ties", "no_correct", "query_name", "gallery_name", "recall_fraction")
    scoring = {name: getattr(options, name) for name in names}
    where = {name: getattr(options, name) for name in ("directions", "folds")}
    statistics, results, line = report(items, pairs, options.product, progress=_progress, **where, **scoring)
    samples = {key: values.tolist() for key, values in sample_scores(statistics, **scoring).items()}
    return RetrievalSet(samples.pop("query")), [Report("recall_at_k", results, samples, line)]


def _items(options: argparse.Namespace):
    if options.predictions:
        raise ValueError("--predictions is for captions and answers, expected --image-embeddings and "
                         "--text-embeddings, or --similarity")  # fmt: skip
    sides = (options.image_embeddings, options.text_embeddings)
    if options.similarity is not None and sides == (None, None):
        return check_items(open_array(options.similarity), None, None)
    if options.similarity is not None or None in sides:
        raise ValueError("expected --image-embeddings and --text-embeddings, or --similarity alone")
    return check_items(None, *map(open_array, sides))


def _references(path: str | None):
    if path is None:
        return None
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
        except ValueError as error:
            raise ValueError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, list):
        raise ValueError(f"{path} holds {type(content).__name__}, expected a list with one entry per item")
    return content


def _progress(blocks: Iterable) -> Iterable:
    """A bar on long work, where tqdm is there."""
    try:
        from tqdm import tqdm
    except ImportError:
        return blocks
    return tqdm(blocks, desc="blocks", delay=3, leave=False)
