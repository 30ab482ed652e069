"""What a query scores when items tie: the mean over all orders of the tied items, or the worst or the best of them.

A query has `better` wrong items strictly above its best correct item, `tied` wrong items equal to it, and `correct`
correct items of that same similarity (at least one). All arrays have the shape (queries,).
"""

import numpy as np

TIES = ("expected", "pessimistic", "optimistic")


def hits(k: int, better: np.ndarray, tied: np.ndarray, correct: np.ndarray, ties: str = "expected") -> np.ndarray:
    """The chance that a correct item is among the first k.

    With s places left for the tied group, the chance that none of its correct items gets one is C(tied + correct - s,
    correct) / C(tied + correct, correct).

    >>> hits(1, np.array([0, 0, 1]), np.array([0, 3, 0]), np.array([1, 1, 1]))
    array([1.  , 0.25, 0.  ])
    """
    if ties != "expected":
        return (k > better + (tied if ties == "pessimistic" else 0)).astype(float)
    chance = (k > better).astype(float)
    open_ = np.flatnonzero((k > better) & (tied > 0))
    places = (k - better)[open_]
    tied, correct = tied[open_], correct[open_]
    missed = np.ones(len(open_))
    for i in range(int(correct.max(initial=0))):
        left = np.maximum(tied + correct - places - i, 0)
        missed = np.where(i < correct, missed * left / np.maximum(tied + correct - i, 1), missed)
    chance[open_] = np.where(correct == 1, np.minimum(places / (tied + 1), 1.0), 1 - missed)
    return chance


def first_ranks(better: np.ndarray, tied: np.ndarray, correct: np.ndarray, ties: str = "expected") -> np.ndarray:
    """The rank of the first correct item, from 1; under "expected" the mean, which may lie between two ranks.

    >>> first_ranks(np.array([2]), np.array([3]), np.array([1]))
    array([4.5])
    """
    if ties == "expected":
        return better + (tied + correct + 1) / (correct + 1)
    return better + (tied if ties == "pessimistic" else 0) + 1.0


def reciprocal_ranks(better: np.ndarray, tied: np.ndarray, correct: np.ndarray, ties: str = "expected") -> np.ndarray:
    """The reciprocal of that rank; under "expected" its mean, which is not the reciprocal of the mean.

    >>> reciprocal_ranks(np.array([0]), np.array([2]), np.array([1])).round(4)
    array([0.6111])
    """
    if ties != "expected":
        return 1 / first_ranks(better, tied, correct, ties)
    values = 1 / (better + 1.0)
    open_ = np.flatnonzero(tied)
    if len(open_):
        # Few kinds of ties, or all of one kind: each kind is added up once.
        kinds, kind = np.unique(np.stack([better, tied, correct])[:, open_], axis=1, return_inverse=True)
        values[open_] = _mean_reciprocals(*kinds)[kind.reshape(-1)]
    return values


def _mean_reciprocals(better: np.ndarray, tied: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """Sum over j = 0..tied of 1 / (better + j + 1), times the chance that the first correct item has j before it."""
    order = np.argsort(-tied, kind="stable")
    better, tied, correct = better[order], tied[order], correct[order]
    # How many kinds have at least j tied items: a loop over j, all these kinds at once.
    reaching = np.searchsorted(-tied, -np.arange(tied[0] + 1), side="right")
    total, none_before = np.zeros(len(tied)), np.ones(len(tied))
    for j, some in enumerate(reaching.tolist()):
        left = tied[:some] + correct[:some] - j
        total[:some] += none_before[:some] * correct[:some] / left / (better[:some] + j + 1)
        none_before[:some] *= (left - correct[:some]) / left
    values = np.empty(len(tied))
    values[order] = total
    return values


def found(k: int, better: np.ndarray, equal: np.ndarray, correct: np.ndarray) -> np.ndarray:
    """The share of a correct item that is among the first k, under each tie rule.

    Args:
        k: How many items count.
        better, equal: Items of any kind above a correct item, and equal to it, itself included.
        correct: Correct ones among the equal.

    Returns:
        (items, 3), in the order of `TIES`; correct items of one tied group share what is found of the group.

    >>> found(2, np.array([1]), np.array([4]), np.array([2]))
    array([[0.25, 0.  , 0.5 ]])
    """
    places = k - better
    expected = np.clip(places, 0, equal) / equal
    pessimistic, optimistic = (np.clip(free, 0, correct) / correct for free in (places - (equal - correct), places))
    return np.stack([expected, pessimistic, optimistic], axis=1)
