"""The queries of both directions: the thresholds that items are compared with, and statistics of what was counted."""

from collections.abc import Sequence

import numpy as np

from .ranks import Counts, ItemPairs
from .rounding import Thresholds, compare
from .ties import found

DIRECTIONS = ("both", "forward", "backward")


def queries_of(
    pairs: ItemPairs, defined: Thresholds, shape: tuple[int, int], directions: str, each: bool
) -> "list[Queries | None]":
    """The queries of both directions, None for one that is left out.

    Args:
        pairs: As `inputs.check_pairs` returns them.
        defined: The similarities of all pairs: of the one direction, of the other, and of items with themselves.
        shape: (images, texts).
        directions: As in `sample_statistics`.
        each: Whether every correct item is a threshold, and not the best of each query alone.
    """
    edges = np.cumsum([len(each.rows) for each in pairs[:2]])
    parts = [Thresholds(*part) for part in zip(*(np.split(array, edges) for array in defined))]
    return [
        Queries(number, pairs[number][number], parts[number], shape[number], each, pairs.own[number], parts[2])
        if directions in ("both", name)
        else None
        for number, name in enumerate(DIRECTIONS[1:])
    ]


def statistics_of(
    queries: "Sequence[Queries | None]", counts: Sequence[Counts | None], shape: tuple[int, int], fraction_at
) -> dict[str, np.ndarray]:
    """The statistics of all queries, of the counts at their thresholds."""
    parts = [
        side.statistics(counted, shape[1 - side.direction], fraction_at)
        for side, counted in zip(queries, counts)
        if side
    ]
    return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}


class Queries:
    """The queries of one direction, and the thresholds that items are compared with.

    Args:
        direction: 0 forward, 1 backward.
        query, similarity: Query and similarity of each correct pair.
        number: How many queries there are.
        each: Whether every correct item is a threshold, and not the best of each query alone.
        own, own_similarity: The queries that are in the gallery themselves, and their similarity with themselves.
    """

    def __init__(
        self,
        direction: int,
        query: np.ndarray,
        similarity: Thresholds,
        number: int,
        each: bool,
        own: np.ndarray,
        own_similarity: Thresholds,
    ):
        self.direction, self._number = direction, number
        self._own, self._own_similarity = own, own_similarity
        # The best correct item of each query is its first.
        order = np.lexsort((-similarity.values, query))
        self._query, self._similarity = query[order], Thresholds(*(array[order] for array in similarity))
        self._correct = np.bincount(query, minlength=number)
        starts = np.cumsum(self._correct) - self._correct
        self._layer = np.arange(len(query)) - starts[self._query]
        self.thresholds = _layers(self._query, self._layer, self._similarity, number, each)

    def statistics(self, counts: Counts, gallery: int, fraction_at: Sequence[int]) -> dict[str, np.ndarray]:
        """The statistics, of the counts at the thresholds among all items."""
        counts = self._without_own(counts)
        best = Thresholds(*(array[0, self._query] for array in self.thresholds))
        _, tied = compare(self._similarity.values, best, self._similarity.slacks)
        correct_tied = np.bincount(self._query[tied], minlength=self._number)
        columns = {
            "direction": np.full(self._number, self.direction, np.int8),
            "query": np.arange(self._number),
            "gallery": gallery - np.bincount(self._own, minlength=self._number),
            "correct": self._correct,
            "better": counts.better[0],
            "tied": counts.equal[0] - correct_tied,
            "correct_tied": correct_tied,
        }
        return {**columns, **{f"found@{k}": self._found(counts, k) for k in fraction_at}}

    def _without_own(self, counts: Counts) -> Counts:
        """The counts less what each query added by itself: it was compared as `compare` does, like all others."""
        if not len(self._own):
            return counts
        thresholds = Thresholds(*(array[:, self._own] for array in self.thresholds))
        found = compare(self._own_similarity.values, thresholds, self._own_similarity.slacks)
        counts = Counts(*(array.copy() for array in counts))
        for array, own in zip(counts, found):
            array[:, self._own] -= own
        return counts

    def _found(self, counts: Counts, k: int) -> np.ndarray:
        better, equal = (values[self._layer, self._query] for values in counts)
        # Correct items of one query with the same similarity are one tied group.
        group = np.unique(np.stack([self._query, better]), axis=1, return_inverse=True)[1].reshape(-1)
        share = found(k, better, equal, np.bincount(group)[group])
        sums = np.stack([np.bincount(self._query, column, self._number) for column in share.T], axis=1)
        return sums / np.maximum(self._correct, 1)[:, None]


def _layers(query: np.ndarray, layer: np.ndarray, similarity: Thresholds, number: int, each: bool) -> Thresholds:
    """Thresholds (layers, queries): those of the best correct items first, NaN where a query has no more of them."""
    size = int(layer.max(initial=0)) + 1 if each else 1
    some = layer < size
    layers = Thresholds(np.full((size, number), np.nan, similarity.values.dtype), np.zeros((size, number)))
    for empty, array in zip(layers, similarity):
        empty[layer[some], query[some]] = array[some]
    # Correct items that tie with a better one share its threshold: a group has one number of items above it.
    best = Thresholds(*(array[0] for array in layers))
    for values, slacks in zip(layers.values[1:], layers.slacks[1:]):
        _, tied = compare(values, best, slacks)
        best = Thresholds(*(np.where(tied, held, own) for held, own in zip(best, (values, slacks))))
        values[:], slacks[:] = best
    return layers
