"""All that is said of one set of images and texts: scores, sizes, and the mean over folds of COCO's 1K protocol."""

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from .base import check_options
from .inputs import Embeddings
from .ranks import Pairs
from .scoring import count_pairs, direction_name, score, signature_settings


def report(
    items,
    pairs: tuple[Pairs, Pairs],
    similarity: str = "cosine",
    directions: str = "both",
    folds: int | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
    **scoring,
) -> tuple[dict[str, np.ndarray], dict]:
    """Counts and scores.

    Args:
        items, pairs: What `scoring.check_items` and `inputs.check_pairs` returned.
        similarity, directions, progress: As in `scoring.sample_statistics`.
        folds: Number of consecutive parts of the images for the mean over folds; None leaves it out.
        scoring: Options of `scoring.score`.

    Returns:
        The statistics, and the results: the scores, the numbers of items (`num_i`, `num_t`), of queries left out
        (`num_skipped`) and of zero vectors, whose similarity is 0 (`num_zero_vectors`, of embeddings under "cosine"),
        and `folds`, the mean scores.

    Raises:
        ValueError: An option is wrong, or the images are no multiple of the folds.
    """
    options = {"similarity": similarity, "directions": directions}
    fraction = {"fraction_at": _check(folds, options, **scoring)}
    statistics = count_pairs(items, pairs, progress=progress, **options, **fraction)
    results = score(statistics, **scoring)
    results.update(_sizes(items, statistics, similarity, **scoring))
    if folds is not None:
        parts = [score(count_pairs(*part, **options, **fraction), **scoring) for part in _folds(items, pairs, folds)]
        results["folds"] = {key: float(np.mean([part[key] for part in parts])) for key in parts[0]}
    return statistics, results


def _check(folds, options, query_name="i", gallery_name="t", recall_fraction=False, **scoring) -> Sequence[int]:
    """Checks the options before the long work, and returns the K that fractions are wanted at."""
    check_options(flags={"recall_fraction": recall_fraction}, orders={} if folds is None else {"folds": folds})
    direction_name(0, query_name, gallery_name)
    k = signature_settings(**options, **scoring)[1]["k"]
    return [int(number) for number in k.split(",")] if recall_fraction else []


def _sizes(items, statistics, similarity, query_name="i", gallery_name="t", no_correct="skip", **_) -> dict[str, int]:
    skipped = int((statistics["correct"] == 0).sum()) if no_correct == "skip" else 0
    sizes = {f"num_{query_name}": items.shape[0], f"num_{gallery_name}": items.shape[1], "num_skipped": skipped}
    if isinstance(items, Embeddings) and similarity == "cosine":
        sizes["num_zero_vectors"] = items.num_zero()
    return sizes


def _folds(items, pairs: tuple[Pairs, Pairs], number: int) -> Iterable[tuple]:
    """Consecutive equal parts of the rows, each with the columns that are correct for one of them."""
    rows, columns = items.shape
    if rows % number:
        raise ValueError(f"folds is {number} for {rows} items, expected a divisor: folds are consecutive and equal")
    for start in range(0, rows, rows // number):
        part = slice(start, start + rows // number)
        own = np.unique(pairs[0].columns[_inside(pairs[0].rows, part)])
        place = np.full(columns, -1)
        place[own] = np.arange(len(own))
        yield _part_of(items, part, own), tuple(_part_of_pairs(each, part, place) for each in pairs)


def _inside(values: np.ndarray, part: slice) -> np.ndarray:
    return (values >= part.start) & (values < part.stop)


def _part_of(items, rows: slice, columns: np.ndarray):
    if isinstance(items, Embeddings):
        return items._replace(images=items.images[rows], texts=items.texts[columns])
    return items[rows][:, columns]


def _part_of_pairs(pairs: Pairs, rows: slice, place: np.ndarray) -> Pairs:
    some = _inside(pairs.rows, rows) & (place[pairs.columns] >= 0)
    return Pairs(pairs.rows[some] - rows.start, place[pairs.columns[some]])
