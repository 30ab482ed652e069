"""Scores image-text retrieval on files of embeddings or similarities, without importing evaluate."""

import argparse
from collections.abc import Callable, Iterable
from glob import has_magic
from typing import NamedTuple

from ..files.arrays import open_array
from ..files.json_text import read_json
from ..files.rows import expand
from ..recall_at_k.inputs import Ranked, check_pairs
from ..recall_at_k.scoring import DIRECTIONS, NO_CORRECT, SIMILARITIES, Scorer, check_items
from ..recall_at_k.ties import TIES
from ..scale import retrieval as shards
from ..scale.engines import pick
from ..utils.scorers import Found
from .reports import Report, make_report

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
    group = parser.add_argument_group(
        "retrieval (recall_at_k; files are .npy or .safetensors; 'DIR/*.npy' are shards, --engine goes with them)"
    )
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
    group.add_argument(
        "--exclude-self", action="store_true", help="both sides are the same items: none is in its own gallery"
    )
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
    """Opens the files and scores them; patterns of several files are shards."""
    _check_sides(options)
    references = [_references(path) for path in (options.references, options.backward_references)]
    own = scorer(names[0], options)
    if options.engine or any(path and has_magic(path) for path in _sides(options)):
        if own.folds is not None:
            raise ValueError("--folds does not go with shards: folds are parts of one file")
        found = _find_in_shards(own, references, options)
    else:
        items = _items(options)
        found = own.find(Ranked(items, check_pairs(*references, *items.shape, own.exclude_self)), _progress)
    report = make_report(own, found, options)
    return RetrievalSet(report.samples.pop("query")), [report]


def scorer(name: str, options: argparse.Namespace) -> Scorer:
    """The metric with the options of the command line."""
    names = [one for one in Scorer.options() if one != "similarity"]
    product = options.product if options.similarity is None else None
    return Scorer(similarity=product, **{one: getattr(options, one) for one in names})


def _find_in_shards(own: Scorer, references: list, options: argparse.Namespace) -> Found:
    similarity, *embeddings = (path and expand([path]) for path in (options.similarity, *_sides(options)[:2]))
    try:
        engine = pick(options.engine, options.num_workers, options.num_gpus)
        return shards.find(own, similarity, references[0], *embeddings, references[1], engine)
    except ImportError as error:
        raise OSError(str(error)) from error


def _sides(options: argparse.Namespace) -> tuple:
    return options.image_embeddings, options.text_embeddings, options.similarity


def _items(options: argparse.Namespace):
    if options.similarity is not None:
        return check_items(open_array(options.similarity), None, None)
    return check_items(None, open_array(options.image_embeddings), open_array(options.text_embeddings))


def _check_sides(options: argparse.Namespace) -> None:
    if options.predictions:
        raise ValueError(
            "--predictions is for captions and answers, expected --image-embeddings and "
            "--text-embeddings, or --similarity"
        )
    given = [path is not None for path in _sides(options)]
    if given not in ([True, True, False], [False, False, True]):
        raise ValueError("expected --image-embeddings and --text-embeddings, or --similarity alone")


def _references(path: str | None):
    if path is None:
        return None
    content = read_json(path)
    if not isinstance(content, list):
        raise ValueError(f"{path} holds {type(content).__name__}, expected a list with one entry per item")
    return content


def _progress(blocks: Iterable) -> Iterable:
    """A bar on long work, where tqdm is there."""
    try:
        from tqdm import tqdm  # Only where something is shown.
    except ImportError:
        return blocks
    return tqdm(blocks, desc="blocks", delay=3, leave=False)
