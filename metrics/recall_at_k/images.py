"""Which image each query belongs to: for labels, for whole images as clusters, and for parts of the images."""

import numbers
from collections.abc import Callable

import numpy as np

from ._shared import as_items, describe, score_by
from .inputs import Embeddings, Ranked
from .ranks import ItemPairs, Pairs


def image_of_rows(statistics: dict[str, np.ndarray], pairs: ItemPairs, shape: tuple[int, int]) -> np.ndarray:
    """The image of each row of the statistics: of a text, itself where it is one, or the first of its correct ones.

    Args:
        statistics: Of `Scorer.statistics`.
        pairs: The correct pairs.
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
    score: Callable, statistics: dict[str, np.ndarray], by, image: np.ndarray, images: int, *drawing
) -> dict:
    """The scores of each label's images and of their texts; a text without a correct image has no label.

    Args:
        score, statistics: As in `resampling.score_by`.
        drawing: Level, number of resamples, seed and clusters of the rows, as there.
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
            raise ValueError(
                f"by has {describe(min(without, key=str))}, of which no "
                f"{('image', 'text')[direction]} has a correct item, expected one at least"
            )
    *how, clusters = drawing
    own = None if clusters is None else [clusters[row] for row in rows.tolist()]
    return score_by(score, chosen, labels, *how, own)


def _labels(labels, images: int, place: str) -> list:
    labels = as_items(labels, place)
    if len(labels) != images:
        raise ValueError(f"{place} has {len(labels)} labels, expected {images} (one per image)")
    kind = str if isinstance(labels[0], str) else numbers.Integral
    for i, label in enumerate(labels):
        if isinstance(label, bool) or not isinstance(label, kind):
            raise TypeError(f"{place}[{i}] is {describe(label)}, expected str for all images, or int for all images")
    return labels


def folds_of(ranked: Ranked, number: int | None) -> list[Ranked]:
    """Consecutive equal parts of the images, each with the texts that are correct for one of them; none for None.

    Raises:
        ValueError: The images are no multiple of the number.
    """
    if number is None:
        return []
    rows = ranked.shape[0]
    if rows % number:
        raise ValueError(f"folds is {number} for {rows} items, expected a divisor: folds are consecutive and equal")
    parts = (slice(start, start + rows // number) for start in range(0, rows, rows // number))
    return [_part_of(*ranked[:2], part) for part in parts]


def _part_of(items, pairs: ItemPairs, part: slice) -> Ranked:
    """Items and pairs of a part of the rows, with the columns that are correct for one of them."""
    own = np.unique(pairs.forward.columns[_inside(pairs.forward.rows, part)])
    place = np.full(items.shape[1], -1)
    place[own] = np.arange(len(own))
    if isinstance(items, Embeddings):
        items = items._replace(images=items.images[part], texts=items.texts[own])
    else:
        items = items[part][:, own]
    return Ranked(items, ItemPairs(*(_part_of_pairs(each, part, place) for each in pairs)))


def _inside(values: np.ndarray, part: slice) -> np.ndarray:
    return (values >= part.start) & (values < part.stop)


def _part_of_pairs(pairs: Pairs, rows: slice, place: np.ndarray) -> Pairs:
    some = _inside(pairs.rows, rows) & (place[pairs.columns] >= 0)
    return Pairs(pairs.rows[some] - rows.start, place[pairs.columns[some]])
