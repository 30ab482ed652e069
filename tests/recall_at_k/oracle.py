"""Retrieval scores the slow way, from the whole matrix: every order of the gallery in turn, and one sort per query."""

from itertools import permutations

import numpy as np


def orders_of(scores, correct):
    """Ranked galleries of one query, one per order of the gallery: rows of booleans, whether each place is correct."""
    size = len(scores)
    for order in permutations(range(size)):
        ranked = sorted(order, key=lambda item: -scores[item])
        yield np.array([item in correct for item in ranked])


def one_order(scores, correct, ties):
    """The ranked gallery with the correct items behind (pessimistic) or before the others that tie with them."""
    sign = 1 if ties == "pessimistic" else -1
    ranked = sorted(range(len(scores)), key=lambda item: (-scores[item], sign * (item in correct)))
    return [np.array([item in correct for item in ranked])]


def query_scores(scores, correct, k, ties="expected"):
    """r@K, recall_fraction@K, reciprocal_rank and rank of one query."""
    rankings = list(orders_of(scores, correct) if ties == "expected" else one_order(scores, correct, ties))
    first = np.array([np.argmax(ranking) for ranking in rankings]) + 1
    values = {"reciprocal_rank": np.mean(1 / first), "rank": np.mean(first)}
    for number in k:
        values[f"r@{number}"] = np.mean(first <= number)
        found = [ranking[:number].sum() / len(correct) for ranking in rankings]
        values[f"recall_fraction@{number}"] = np.mean(found)
    return values


def without_itself(query, scores, correct):
    """Gallery and correct items of a query that is an item of the gallery: that item is taken out of it."""
    others = [item for item in range(len(scores)) if item != query]
    return scores[others], {place for place, item in enumerate(others) if item in correct}


def scores_of(matrix, forward, backward, k, ties="expected", exclude_self=False):
    """All scores; forward and backward hold the correct items of each query, in any order and number of times; queries
    without any are left out."""
    scores = {}
    for name, rows, correct in (("i2t", matrix, forward), ("t2i", matrix.T, backward)):
        galleries = [(row, set(np.unique(list(items)))) for row, items in zip(rows, correct)]
        if exclude_self:
            galleries = [without_itself(query, *gallery) for query, gallery in enumerate(galleries)]
        queries = [query_scores(row, items, k, ties) for row, items in galleries if items]
        for key in queries[0]:
            values = [query[key] for query in queries]
            if key == "rank":
                scores[f"{name}_mean_rank"], scores[f"{name}_median_rank"] = np.mean(values), np.median(values)
            else:
                scores[f"{name}_{'mrr' if key == 'reciprocal_rank' else key}"] = np.mean(values)
    return scores


def transposed(forward, columns):
    """The correct rows of each column."""
    return [{row for row, items in enumerate(forward) if column in items} for column in range(columns)]
