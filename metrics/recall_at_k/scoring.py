"""Image-text retrieval: R@K as every paper prints it (hit rate), reciprocal and mean ranks, with ties counted fairly.

A statistic row is one query of one direction: how many wrong items are better than its best correct one, and how many
tie with it. All scores are closed forms of these (ties.py), and their means. Counting stands in ranks.py.
"""

import numbers
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ._shared import as_list, check_options
from .arrays import compute_type
from .device import DeviceArithmetic
from .inputs import Embeddings, check_embeddings, check_pairs, check_similarity
from .products import ProductBlocks
from .queries import DIRECTIONS, queries_of, statistics_of
from .ranks import ItemPairs, MatrixBlocks, Pairs, count
from .ties import TIES, first_ranks, hits, reciprocal_ranks
from .vectors import Vectors, check_range

SIMILARITIES = ("cosine", "dot")
NO_CORRECT = ("skip", "zero", "error")
# Of a gallery; counts up to here are exact in floats, and far from the end of int64.
MOST_ITEMS = 1 << 53


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
        (how many items it was compared with), `correct` (correct ones among them), `better` and `tied` (wrong items
        above and equal to the best correct one), `correct_tied` (correct items equal to that one, itself included);
        and for each K of fraction_at, `found@K` (rows, 3): the fraction found, under "expected", "pessimistic" and
        "optimistic".

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


def score(
    statistics: dict[str, np.ndarray],
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    no_correct: str = "skip",
    query_name: str = "i",
    gallery_name: str = "t",
    recall_fraction: bool = False,
    weights: np.ndarray | None = None,
) -> dict[str, float]:
    """The scores of all queries, per direction.

    Args:
        statistics: What `sample_statistics` returned; of several shards of queries, joined row by row.
        k: Numbers of items, at least 1; beyond the gallery every query with a correct item scores 1.
        ties: "expected" (the mean over all orders of tied items), "pessimistic" or "optimistic".
        no_correct: Queries without a correct item are left out ("skip"), or score 0 ("zero"; no rank is made of
            them), or are an "error".
        query_name, gallery_name: Names of the two sides in the keys.
        recall_fraction: Also the fraction of correct items found; needs `fraction_at` in `sample_statistics`.
        weights: How often each row counts, (resamples, rows); every score becomes an array (resamples,).

    Returns:
        `rsum`, the sum of all R@K; and for both directions (`i2t`, `t2i`) `i2t_r@K` (0..1), `i2t_mrr`,
        `i2t_median_rank` and `i2t_mean_rank` (from 1), and where wanted `i2t_recall_fraction@K`.

    Raises:
        ValueError: An option is wrong, or no query of a direction has a correct item.

    >>> scores = score(sample_statistics([[3, 4], [1, 5]]), k=1)
    >>> scores["rsum"], scores["i2t_r@1"], scores["t2i_r@1"], scores["i2t_median_rank"]
    (1.5, 0.5, 1.0, 1.5)
    """
    weights = None if weights is None else np.asarray(weights, float)
    if weights is not None and (weights.ndim != 2 or weights.shape[1] != len(statistics["query"])):
        raise ValueError(f"weights have the shape {weights.shape}, expected (resamples, {len(statistics['query'])})")
    samples = _sample_scores(statistics, k, ties, no_correct, recall_fraction)
    columns, medians = {}, {}
    for direction in np.unique(statistics["direction"]).tolist():
        name = direction_name(direction, query_name, gallery_name)
        here = statistics["direction"] == direction
        if not statistics["correct"][here].any():
            raise ValueError(f"no query of {name} has a correct item, expected at least one")
        for key, values in samples.items():
            for shown in _SCORE_NAMES.get(key, (key,)):
                columns[f"{name}_{shown}"] = np.where(here, values, np.nan)
        medians[f"{name}_median_rank"] = _median(columns[f"{name}_mean_rank"], weights)
    scores = {**_means(columns, weights), **medians}
    return {"rsum": sum(value for key, value in scores.items() if "_r@" in key), **scores}


_SCORE_NAMES = {"reciprocal_rank": ("mrr",), "rank": ("median_rank", "mean_rank")}


def _sample_scores(statistics, k, ties: str, no_correct: str, recall_fraction: bool) -> dict[str, np.ndarray]:
    """One value per row; NaN where a query does not count."""
    check_choice(ties, TIES, "ties")
    check_choice(no_correct, NO_CORRECT, "no_correct")
    without = statistics["correct"] == 0
    if no_correct == "error" and without.any():
        first = statistics["query"][without][0]
        raise ValueError(f"{without.sum()} queries have no correct item, the first is {first}, expected one in each")
    # Any number of correct items will do in the formulas where there is none: the value is replaced.
    ranks = (statistics["better"], statistics["tied"], np.maximum(statistics["correct_tied"], 1), ties)
    k = check_k(k)
    scores = {f"r@{number}": hits(number, *ranks) for number in k}
    scores["reciprocal_rank"] = reciprocal_ranks(*ranks)
    if recall_fraction:
        scores.update({f"recall_fraction@{number}": _found_column(statistics, number, ties) for number in k})
    scores = {key: np.where(without, 0.0 if no_correct == "zero" else np.nan, v) for key, v in scores.items()}
    return {**scores, "rank": np.where(without, np.nan, first_ranks(*ranks))}


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


def sample_scores(
    statistics: dict[str, np.ndarray],
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    no_correct: str = "skip",
    query_name: str = "i",
    gallery_name: str = "t",
    recall_fraction: bool = False,
) -> dict[str, np.ndarray]:
    """The scores of every query: `direction` ("i2t" or "t2i"), `query`, `r@K`, `reciprocal_rank`, `rank`.

    Under ties="expected", r@K is the chance of a hit, and the rank may lie between two. Where a query has no correct
    item, values are NaN (R@K and reciprocal rank 0 under no_correct="zero").

    >>> sample_scores(sample_statistics([[3, 4], [1, 5]]), k=1)["r@1"].tolist()
    [0.0, 1.0, 1.0, 1.0]
    """
    names = np.array([direction_name(direction, query_name, gallery_name) for direction in (0, 1)])
    scores = _sample_scores(statistics, k, ties, no_correct, recall_fraction)
    return {"direction": names[statistics["direction"]], "query": statistics["query"], **scores}


def direction_name(direction: int, query_name: str, gallery_name: str) -> str:
    """`i2t` of direction 0, `t2i` of direction 1.

    Raises:
        ValueError: The two names are the same, or one is no text or empty.
    """
    names = (query_name, gallery_name)
    if query_name == gallery_name or not all(isinstance(name, str) and name for name in names):
        raise ValueError(f"query_name and gallery_name are {query_name!r} and {gallery_name!r}, expected two names")
    return "2".join(names if direction == 0 else names[::-1])


def signature_settings(
    k: int | Sequence[int] = (1, 5, 10),
    ties: str = "expected",
    similarity: str | None = "cosine",
    directions: str = "both",
    no_correct: str = "skip",
    folds: int | None = None,
    exclude_self: bool = False,
) -> tuple[str, dict]:
    """Name and settings for a signature; similarity None is a ready matrix.

    >>> signature_settings()[1]["k"]
    '1,5,10'
    """
    check_choice(ties, TIES, "ties")
    check_choice(directions, DIRECTIONS, "directions")
    check_choice(no_correct, NO_CORRECT, "no_correct")
    check_options(orders={} if folds is None else {"folds": folds}, flags={"exclude_self": exclude_self})
    return "recall_at_k", {
        "k": ",".join(map(str, check_k(k))),
        "ties": ties,
        "sim": similarity or "matrix",
        "dir": directions,
        "no_correct": no_correct,
        "folds": folds,
        "exclude_self": exclude_self or None,
    }


def check_k(k) -> list[int]:
    """Checks numbers of items: one or a list of them, at least 1; each is kept once, sorted.

    Raises:
        ValueError: One is no integer, below 1 or beyond `MOST_ITEMS`, or there is none.

    >>> check_k((10, 1, 1)), check_k(3)
    ([1, 10], [3])
    """
    k = tuple(k) if isinstance(k, range) else k
    numbers_ = [k] if isinstance(k, numbers.Number | str | None) else as_list(k, "k")
    if not numbers_:
        raise ValueError("k is empty, expected at least one number of items")
    for number in numbers_:
        check_options(orders={"k": number})
        if number > MOST_ITEMS:
            raise ValueError(f"k is {number}, expected at most 2**53: no gallery is larger")
    return sorted(set(map(int, numbers_)))


def check_choice(value, choices: Sequence[str], name: str) -> None:
    """Refuses what is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name} is {value!r}, expected one of {', '.join(choices)}")


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
    scores = score(count_pairs(items, check_pairs(None, None, rows, columns)), k=number)
    return scores[f"i2t_r@{number}"], scores[f"t2i_r@{number}"]
