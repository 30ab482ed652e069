"""Image-text retrieval: R@K as every paper prints it (hit rate), reciprocal and mean ranks, with ties counted fairly.

A statistic row is one query of one direction: how many wrong items are better than its best correct one, and how many
tie with it. All scores are closed forms of these (ties.py), and their means. Counting stands in ranks.py.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ._shared import BaseScorer, Found, check_options
from .arrays import compute_type
from .device import DeviceArithmetic
from .images import clusters_of_rows, folds_of, image_of_rows, scores_by_label
from .inputs import (
    Embeddings,
    Ranked,
    check_choice,
    check_embeddings,
    check_k,
    check_pairs,
    check_similarity,
)
from .products import ProductBlocks
from .queries import DIRECTIONS, queries_of, statistics_of
from .ranks import ItemPairs, MatrixBlocks, Pairs, count
from .ties import TIES, first_ranks, hits, reciprocal_ranks
from .vectors import Vectors, check_range

SIMILARITIES = ("cosine", "dot")
NO_CORRECT = ("skip", "zero", "error")


def sample_statistics(
    predictions=None,
    references=None,
    image_embeddings=None,
    text_embeddings=None,
    backward_references=None,
    similarity: str = "cosine",
    directions: str = "both",
    fraction_at: Sequence[int] = (),
    progress: Callable[[Iterable], Iterable] = iter,
    exclude_self: bool = False,
) -> dict[str, np.ndarray]:
    """Counts, for each query, the items that are better than and equal to its best correct item.

    Args:
        predictions: A similarity matrix (images, texts); or
        image_embeddings, text_embeddings: (images, dimensions) and (texts, dimensions), of any float type.
        references: The correct text (int) or texts (list of int) of each image; None is the diagonal of a square.
        backward_references: The correct images of each text, where they are not the same pairs; None.
        similarity: "cosine" or "dot", of embeddings.
        directions: "both", "forward" (images are queries) or "backward" (texts are).
        fraction_at: Numbers K for which the fraction of correct items found is wanted too.
        progress: Wraps the blocks, as tqdm does.
        exclude_self: Image i and text i are one item, as where texts are searched among the same texts: it is left
            out of its own gallery. Without that each item finds itself first.

    Returns:
        One row per query, forward ones first: `direction` (0 forward, 1 backward), `query` (its number), `gallery`
        (how many items it was compared with, itself left out), `correct` (correct ones among them), `better` and
        `tied` (wrong items above and equal to the best correct one), `correct_tied` (correct items equal to that one,
        itself included); and for each K of fraction_at, `found@K` (rows, 3): the fraction found, under "expected",
        "pessimistic" and "optimistic".

    Raises:
        ValueError, TypeError: An input is wrong; the message names it.

    >>> sample_statistics([[3, 4], [1, 5]])["better"].tolist()
    [1, 0, 0, 0]
    """
    items = check_items(predictions, image_embeddings, text_embeddings)
    pairs = check_pairs(references, backward_references, *items.shape, exclude_self)
    return count_pairs(items, pairs, similarity, directions, fraction_at, progress)


def check_items(predictions, image_embeddings, text_embeddings):
    """Checks what is compared.

    Returns:
        The similarity matrix, or `inputs.Embeddings`; both have a `shape` (images, texts).

    Raises:
        ValueError, TypeError: See `inputs.check_similarity` and `inputs.check_embeddings`; or both are there, or none.
    """
    embeddings = image_embeddings is not None or text_embeddings is not None
    if embeddings == (predictions is not None):
        raise ValueError("expected either predictions (a similarity matrix), or image_embeddings and text_embeddings")
    if embeddings:
        return check_embeddings(image_embeddings, text_embeddings)
    return check_similarity(predictions)


def count_pairs(
    items,
    pairs: ItemPairs,
    similarity: str = "cosine",
    directions: str = "both",
    fraction_at: Sequence[int] = (),
    progress: Callable[[Iterable], Iterable] = iter,
) -> dict[str, np.ndarray]:
    """`sample_statistics` of what `check_items` and `inputs.check_pairs` returned.

    Raises:
        ValueError: An option is wrong, or dot products could leave the range of their type.
    """
    check_choice(directions, DIRECTIONS, "directions")
    check_choice(similarity, SIMILARITIES, "similarity")
    fraction_at = check_k(fraction_at) if len(fraction_at) else ()
    blocks = _blocks(items, similarity)
    defined = blocks.define(Pairs(*map(np.concatenate, zip(*pairs))))
    queries = queries_of(pairs, defined, items.shape, directions, bool(len(fraction_at)))
    counts = count(blocks, *(side and side.thresholds for side in queries), progress)
    return statistics_of(queries, counts, items.shape, fraction_at)


def _blocks(items, similarity: str) -> MatrixBlocks | ProductBlocks:
    if not isinstance(items, Embeddings):
        return MatrixBlocks(items, compute_type(items))
    dtype = compute_type(items.images, items.texts)
    sides = [Vectors(side, dtype, similarity == "cosine") for side in (items.images, items.texts)]
    if similarity == "dot":
        check_range([side.largest_norm() for side in sides], dtype)
    return ProductBlocks(*sides, DeviceArithmetic(items.device) if items.device else None)


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """R@K with its options.

    Attributes:
        similarity: "cosine" or "dot", of embeddings; None of a ready matrix.
        k: Numbers of items, at least 1; beyond the gallery every query with a correct item scores 1.
        ties: "expected" (the mean over all orders of tied items), "pessimistic" or "optimistic".
        directions: "both", "forward" (images are queries) or "backward" (texts are).
        no_correct: Queries without a correct item are left out ("skip"), or score 0 ("zero"; no rank is made of
            them), or are an "error".
        recall_fraction: Also the fraction of correct items found.
        query_name, gallery_name: Names of the two sides in the keys.
        folds: Number of consecutive parts of the images for the mean over folds; None leaves it out.
        exclude_self: Row and column i, or items of the same id, are one item, which is no answer to itself.
    """

    similarity: str | None = "cosine"
    k: int | Sequence[int] = (1, 5, 10)
    ties: str = "expected"
    directions: str = "both"
    no_correct: str = "skip"
    recall_fraction: bool = False
    query_name: str = "i"
    gallery_name: str = "t"
    folds: int | None = None
    exclude_self: bool = False

    NAME = "recall_at_k"

    def check(self):
        for name, choices in _CHOICES.items():
            check_choice(getattr(self, name), choices, name)
        flags = {"recall_fraction": self.recall_fraction, "exclude_self": self.exclude_self}
        check_options(orders={} if self.folds is None else {"folds": self.folds}, flags=flags)
        check_k(self.k)
        self.direction_name(0)

    def of_items(self, items) -> "Scorer":
        """The same for a similarity matrix, or for embeddings.

        Raises:
            ValueError: `similarity` is neither "cosine" nor "dot".
        """
        check_choice(self.similarity, SIMILARITIES, "similarity")
        return self if isinstance(items, Embeddings) else self.replace(similarity=None)

    @property
    def fraction_at(self) -> Sequence[int]:
        """Numbers K for which the fraction of correct items found is wanted."""
        return check_k(self.k) if self.recall_fraction else ()

    def find(self, ranked: Ranked, progress: Callable[[Iterable], Iterable] = iter) -> Found:
        """Statistics, one row per query and direction, with how many items there are and the mean over folds.

        Args:
            ranked: What is compared.
            progress: Wraps the blocks, as tqdm does.

        Raises:
            ValueError: An option is wrong, or the images are no multiple of the folds.
        """
        self.check()
        parts = folds_of(ranked, self.folds)
        statistics = self.statistics(*ranked[:2], progress)
        found = self.found(statistics, ranked.pairs, ranked.shape, self._num_zero(ranked.items))
        if parts:
            scores = [self.score(self.statistics(*part[:2])) for part in parts]
            found.results["folds"] = {key: float(np.mean([part[key] for part in scores])) for key in scores[0]}
        if ranked.ids is not None:
            rows = zip(statistics["direction"].tolist(), statistics["query"].tolist())
            found.samples["query"] = [ranked.ids[direction][query] for direction, query in rows]
        return found

    def found(self, statistics: dict, pairs: ItemPairs, shape: tuple[int, int], num_zero: int | None) -> Found:
        """Statistics with the numbers of items (`num_i`, `num_t`), of queries left out and of zero vectors."""
        skipped = int((statistics["correct"] == 0).sum()) if self.no_correct == "skip" else 0
        names = (f"num_{self.query_name}", f"num_{self.gallery_name}")
        results = {**dict(zip(names, shape)), "num_skipped": skipped}
        if num_zero is not None:
            results["num_zero_vectors"] = num_zero
        num_correct = np.bincount(pairs.forward.rows, minlength=shape[0])
        return Found(statistics, num_correct, results, owner=image_of_rows(statistics, pairs, shape))

    def _num_zero(self, items) -> int | None:
        return items.num_zero() if isinstance(items, Embeddings) and self.similarity == "cosine" else None

    def statistics(self, items, pairs: ItemPairs, progress: Callable[[Iterable], Iterable] = iter):
        """The rows of `sample_statistics`, of what `check_items` and `inputs.check_pairs` returned."""
        return count_pairs(items, pairs, self.similarity or "cosine", self.directions, self.fraction_at, progress)

    def score(self, statistics, weights=None):
        """The scores of all queries, per direction.

        Args:
            statistics: What `sample_statistics` returned; of several shards of queries, joined row by row.
            weights: How often each row counts, (resamples, rows); every score becomes an array (resamples,).

        Returns:
            `rsum`, the sum of all R@K; and for both directions (`i2t`, `t2i`) `i2t_r@K` (0..1), `i2t_mrr`,
            `i2t_median_rank` and `i2t_mean_rank` (from 1), and where wanted `i2t_recall_fraction@K`.

        Raises:
            ValueError: An option is wrong, or no query of a direction has a correct item.
        """
        weights = None if weights is None else np.asarray(weights, float)
        rows = len(statistics["query"])
        if weights is not None and (weights.ndim != 2 or weights.shape[1] != rows):
            raise ValueError(f"weights have the shape {weights.shape}, expected (resamples, {rows})")
        samples = self._sample_scores(statistics)
        columns, medians = {}, {}
        for direction in np.unique(statistics["direction"]).tolist():
            name = self.direction_name(direction)
            here = statistics["direction"] == direction
            if not statistics["correct"][here].any():
                raise ValueError(f"no query of {name} has a correct item, expected at least one")
            for key, values in samples.items():
                for shown in _SCORE_NAMES.get(key, (key,)):
                    columns[f"{name}_{shown}"] = np.where(here, values, np.nan)
            medians[f"{name}_median_rank"] = _median(columns[f"{name}_mean_rank"], weights)
        scores = {**_means(columns, weights), **medians}
        return {"rsum": sum(value for key, value in scores.items() if "_r@" in key), **scores}

    def samples(self, statistics):
        """The scores of every query: `direction` ("i2t" or "t2i"), `query`, `r@K`, `reciprocal_rank`, `rank`.

        Under ties="expected", r@K is the chance of a hit, and the rank may lie between two. Where a query has no
        correct item, values are NaN (R@K and reciprocal rank 0 under no_correct="zero").
        """
        names = np.array([self.direction_name(direction) for direction in (0, 1)])
        scores = self._sample_scores(statistics)
        return {"direction": names[statistics["direction"]], "query": statistics["query"], **scores}

    def _sample_scores(self, statistics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """One value per row; NaN where a query does not count."""
        self.check()
        without = statistics["correct"] == 0
        if self.no_correct == "error" and without.any():
            first = statistics["query"][without][0]
            raise ValueError(
                f"{without.sum()} queries have no correct item, the first is {first}, expected one in each"
            )
        # Any number of correct items will do in the formulas where there is none: the value is replaced.
        ranks = (statistics["better"], statistics["tied"], np.maximum(statistics["correct_tied"], 1), self.ties)
        scores = {f"r@{number}": hits(number, *ranks) for number in check_k(self.k)}
        scores["reciprocal_rank"] = reciprocal_ranks(*ranks)
        for number in self.fraction_at:
            scores[f"recall_fraction@{number}"] = _found_column(statistics, number, self.ties)
        none = 0.0 if self.no_correct == "zero" else np.nan
        scores = {key: np.where(without, none, values) for key, values in scores.items()}
        return {**scores, "rank": np.where(without, np.nan, first_ranks(*ranks))}

    def direction_name(self, direction: int) -> str:
        """`i2t` of direction 0, `t2i` of direction 1.

        Raises:
            ValueError: The two names are the same, or one is no text or empty.
        """
        names = (self.query_name, self.gallery_name)
        if names[0] == names[1] or not all(isinstance(name, str) and name for name in names):
            raise ValueError(f"query_name and gallery_name are {names[0]!r} and {names[1]!r}, expected two names")
        return "2".join(names if direction == 0 else names[::-1])

    def settings(self):
        self.check()
        return self.NAME, {
            "k": ",".join(map(str, check_k(self.k))),
            "ties": self.ties,
            "sim": self.similarity or "matrix",
            "dir": self.directions,
            "no_correct": self.no_correct,
            "folds": self.folds,
            "exclude_self": self.exclude_self or None,
        }

    def clusters(self, found, asked):
        """Whole images with their texts, or the clusters of images that are given; None where nothing is drawn."""
        if asked.clusters is None:
            return None if asked.confidence_level is None else found.owner.tolist()
        return clusters_of_rows(asked.clusters, found.owner, len(found.num_references))

    def score_by(self, found, asked):
        images = len(found.num_references)
        return scores_by_label(self.score, found.statistics, asked.by, found.owner, images, *asked.drawing)


_CHOICES = {
    "similarity": (*SIMILARITIES, None),
    "ties": TIES,
    "directions": DIRECTIONS,
    "no_correct": NO_CORRECT,
}
_SCORE_NAMES = {"reciprocal_rank": ("mrr",), "rank": ("median_rank", "mean_rank")}


def score(
    statistics: dict[str, np.ndarray],
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    weights: np.ndarray | None = None,
    **options,
) -> dict[str, float]:
    """`Scorer(k, ties, ...).score`: the scores of all queries, per direction.

    Raises:
        ValueError: As `Scorer.score`.

    >>> scores = score(sample_statistics([[3, 4], [1, 5]]), k=1)
    >>> scores["rsum"], scores["i2t_r@1"], scores["t2i_r@1"], scores["i2t_median_rank"]
    (1.5, 0.5, 1.0, 1.5)
    """
    return Scorer(k=k, ties=ties, **options).score(statistics, weights)


def sample_scores(statistics: dict[str, np.ndarray], **options) -> dict[str, np.ndarray]:
    """`Scorer(...).samples`: the scores of every query.

    >>> sample_scores(sample_statistics([[3, 4], [1, 5]]), k=1)["r@1"].tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    return Scorer(**options).samples(statistics)


def _found_column(statistics: dict[str, np.ndarray], k: int, ties: str) -> np.ndarray:
    if f"found@{k}" not in statistics:
        raise ValueError(f"statistics have no found@{k}, expected sample_statistics(..., fraction_at=[..., {k}])")
    return statistics[f"found@{k}"][:, TIES.index(ties)]


def _means(columns: dict[str, np.ndarray], weights: np.ndarray | None) -> dict[str, float | np.ndarray]:
    """The mean of each column without its NaN; weighted, all columns take one product."""
    if weights is None:
        return {key: float(values[~np.isnan(values)].mean()) for key, values in columns.items()}
    values = np.stack(list(columns.values()), axis=1)
    counted = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        means = (weights @ np.where(counted, values, 0)) / (weights @ counted.astype(float))
    return dict(zip(columns, means.T))


def _median(values: np.ndarray, weights: np.ndarray | None) -> float | np.ndarray:
    """The median without NaN; weighted, that of the values repeated so often.

    Ranks repeat, so that there are far fewer sums per distinct rank than rows to sort.
    """
    counted = ~np.isnan(values)
    if weights is None:
        return float(np.median(values[counted]))
    values, place = np.unique(values[counted], return_inverse=True)
    of_row = np.full(len(counted), len(values))
    of_row[counted] = place
    sums = np.stack([np.bincount(of_row, row, len(values) + 1)[:-1] for row in weights])
    until = np.cumsum(sums, axis=1)
    half = until[:, -1:] / 2
    last = len(values) - 1
    lower, upper = (np.minimum(np.sum(below, axis=1), last) for below in (until < half, until <= half))
    return np.where(until[:, -1] > 0, (values[lower] + values[upper]) / 2, np.nan)


def recall_at_k(sim_matrix, k: int) -> tuple[float, float]:
    """R@K of a square similarity matrix whose diagonal holds the correct pairs.

    Args:
        sim_matrix: (N, N), rows are images.
        k: 1..N.

    Returns:
        Image to text and text to image, 0..1; ties as the mean over all orders.

    Raises:
        ValueError: The matrix is not square, or holds NaN, or k is not in 1..N.

    >>> recall_at_k([[3, 4], [1, 5]], 1)
    (0.5, 1.0)
    """
    items = check_items(sim_matrix, None, None)
    rows, columns = items.shape
    if rows != columns:
        raise ValueError(f"sim_matrix is {rows} x {columns}, expected a square")
    (number,) = check_k([k])
    if number > rows:
        raise ValueError(f"k is {k}, expected 1 to {rows}")
    scorer = Scorer(k=number)
    scores = scorer.score(scorer.statistics(items, check_pairs(None, None, rows, columns)))
    return scores[f"i2t_r@{number}"], scores[f"t2i_r@{number}"]
