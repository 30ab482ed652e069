"""All that is said of one set of images and texts: scores, sizes, and the mean over folds of COCO's 1K protocol."""

import numbers
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ._shared import as_items, check_options, describe, reference_counts, score_by, signature
from .inputs import Embeddings
from .ranks import ItemPairs, Pairs
from .scoring import check_k, count_pairs, direction_name, score, signature_settings


def report(
    items,
    pairs: ItemPairs,
    similarity: str = "cosine",
    directions: str = "both",
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    no_correct: str = "skip",
    query_name: str = "i",
    gallery_name: str = "t",
    recall_fraction: bool = False,
    folds: int | None = None,
    progress: Callable[[Iterable], Iterable] = iter,
) -> tuple[dict[str, np.ndarray], dict, str]:
    """Counts, scores and signs.

    Args:
        items, pairs: What `scoring.check_items` and `inputs.check_pairs` returned; items that are left out of their
            own gallery are in the pairs.
        similarity, directions, progress: As in `scoring.sample_statistics`.
        k, ties, no_correct, query_name, gallery_name, recall_fraction: As in `scoring.score`.
        folds: Number of consecutive parts of the images for the mean over folds; None leaves it out.

    Returns:
        The statistics, and the results: the scores, the numbers of items (`num_i`, `num_t`), of queries left out
        (`num_skipped`) and of zero vectors, whose similarity is 0 (`num_zero_vectors`, of embeddings under "cosine"),
        and `folds`, the mean scores; and the signature, with the number of correct texts per image.

    Raises:
        ValueError: An option is wrong, or the images are no multiple of the folds.
    """
    embeddings = isinstance(items, Embeddings)
    # Before the long work, these check the options too.
    check_options(flags={"recall_fraction": recall_fraction})
    direction_name(0, query_name, gallery_name)
    compared = similarity if embeddings else None
    own = len(pairs.own.rows) > 0
    name, settings = signature_settings(k, ties, compared, directions, no_correct, folds, own)
    parts = _folds(items.shape[0], folds)
    scoring = (k, ties, no_correct, query_name, gallery_name, recall_fraction)
    counting = (similarity, directions, check_k(k) if recall_fraction else ())

    statistics = count_pairs(items, pairs, *counting, progress)
    results = score(statistics, *scoring)
    results.update({f"num_{query_name}": items.shape[0], f"num_{gallery_name}": items.shape[1]})
    results["num_skipped"] = int((statistics["correct"] == 0).sum()) if no_correct == "skip" else 0
    if embeddings and similarity == "cosine":
        results["num_zero_vectors"] = items.num_zero()
    if parts:
        scores = [score(count_pairs(*_part_of(items, pairs, part), *counting), *scoring) for part in parts]
        results["folds"] = {key: float(np.mean([part[key] for part in scores])) for key in scores[0]}
    correct = np.unique(np.bincount(pairs.forward.rows, minlength=items.shape[0]))
    settings["refs"] = reference_counts(map(range, correct.tolist()))
    return statistics, results, signature(name, settings)


def image_of_rows(statistics: dict[str, np.ndarray], pairs: ItemPairs, shape: tuple[int, int]) -> np.ndarray:
    """The image of each row of the statistics: of a text, itself where it is one, or the first of its correct ones.

    Args:
        statistics, pairs: Of `report`.
        shape: (images, texts).

    Returns:
        (rows,) numbers of images; a text without a correct image has a number of its own, behind them.

    >>> correct, none = Pairs(np.array([0, 0, 1]), np.array([0, 1, 2])), Pairs(*np.zeros((2, 0), int))
    >>> pairs = ItemPairs(correct, correct, none)
    >>> statistics = {"direction": np.array([0, 0, 1, 1, 1, 1]), "query": np.array([0, 1, 0, 1, 2, 3])}
    >>> image_of_rows(statistics, pairs, (2, 4)).tolist()
    [0, 1, 0, 0, 1, 5]
    """
    images, texts = shape
    image_of_text = images + np.arange(texts)
    np.minimum.at(image_of_text, pairs.backward.columns, pairs.backward.rows)
    image_of_text[pairs.own.columns] = pairs.own.rows
    query = statistics["query"]
    image = query.copy()
    backward = statistics["direction"] == 1
    image[backward] = image_of_text[query[backward]]
    return image


def clusters_of_rows(clusters, image: np.ndarray, images: int) -> list[int] | None:
    """One cluster per image as one per row; each text without a correct image is a cluster of its own.

    Raises:
        ValueError: They are not one per image.
        TypeError: They are no list, or their labels are neither str nor int.

    >>> clusters_of_rows(["near", "far", "near"], np.array([0, 1, 2, 2, 4]), 3)
    [1, 0, 1, 1, 4]
    """
    if clusters is None:
        return None
    labels = _labels(clusters, images, "clusters")
    place_of = {label: place for place, label in enumerate(sorted(set(labels)))}
    # Numbers of texts without an image begin behind those of all images, of which there are as many as labels or more.
    return [place_of[labels[i]] if i < images else i for i in image.tolist()]


def scores_by_label(
    score_: Callable,
    statistics: dict[str, np.ndarray],
    by,
    image: np.ndarray,
    images: int,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    seed: int = 0,
    clusters: list | None = None,
) -> dict:
    """The scores of each label's images and of their texts; a text without a correct image has no label.

    Args:
        score_, statistics, confidence_level, n_resamples, seed, clusters: As in `resampling.score_by`.
        by: One label per image, str or int.
        image, images: What `image_of_rows` returned, and how many there are.

    Raises:
        ValueError: They are not one per image, or no query of a label and a direction has a correct item.
        TypeError: They are no list, or neither str nor int.
    """
    labels = _labels(by, images, "by")
    rows = np.flatnonzero(image < images)
    chosen = {key: values[rows] for key, values in statistics.items()}
    labels = [labels[i] for i in image[rows].tolist()]
    for direction in np.unique(chosen["direction"]).tolist():
        scored = (chosen["direction"] == direction) & (chosen["correct"] > 0)
        without = set(labels) - {label for label, some in zip(labels, scored.tolist()) if some}
        if without:
            raise ValueError(f"by has {describe(min(without, key=str))}, of which no "
                             f"{('image', 'text')[direction]} has a correct item, expected one at least")  # fmt: skip
    own = None if clusters is None else [clusters[row] for row in rows.tolist()]
    return score_by(score_, chosen, labels, confidence_level, n_resamples, seed, own)


def _labels(labels, images: int, place: str) -> list:
    labels = as_items(labels, place)
    if len(labels) != images:
        raise ValueError(f"{place} has {len(labels)} labels, expected {images} (one per image)")
    kind = str if isinstance(labels[0], str) else numbers.Integral
    for i, label in enumerate(labels):
        if isinstance(label, bool) or not isinstance(label, kind):
            raise TypeError(f"{place}[{i}] is {describe(label)}, expected str for all images, or int for all images")
    return labels


def _folds(rows: int, number: int | None) -> list[slice]:
    """Consecutive equal parts."""
    if number is None:
        return []
    if rows % number:
        raise ValueError(f"folds is {number} for {rows} items, expected a divisor: folds are consecutive and equal")
    return [slice(start, start + rows // number) for start in range(0, rows, rows // number)]


def _part_of(items, pairs: ItemPairs, part: slice) -> tuple:
    """Items and pairs of a part of the rows, with the columns that are correct for one of them."""
    own = np.unique(pairs.forward.columns[_inside(pairs.forward.rows, part)])
    place = np.full(items.shape[1], -1)
    place[own] = np.arange(len(own))
    if isinstance(items, Embeddings):
        items = items._replace(images=items.images[part], texts=items.texts[own])
    else:
        items = items[part][:, own]
    return items, ItemPairs(*(_part_of_pairs(each, part, place) for each in pairs))


def _inside(values: np.ndarray, part: slice) -> np.ndarray:
    return (values >= part.start) & (values < part.stop)


def _part_of_pairs(pairs: Pairs, rows: slice, place: np.ndarray) -> Pairs:
    some = _inside(pairs.rows, rows) & (place[pairs.columns] >= 0)
    return Pairs(pairs.rows[some] - rows.start, place[pairs.columns[some]])
