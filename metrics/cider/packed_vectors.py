"""TF-IDF vectors of captions whose n-grams are packed into one integer each, and the cosines between them.

A packed n-gram holds 16 bits for each of its tokens, which are numbered from 1, so that no two n-grams of any order
share an integer.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from .scoring import length_penalty

BITS = 16
NO_GRAM = np.uint64((1 << 64) - 1)


class Group(NamedTuple):
    """The vectors of one sample's references; an entry is an n-gram in one of them."""

    key: np.ndarray  # The packed n-grams, ascending, and one behind them that is none (n-grams + 1,).
    start: np.ndarray  # Where the entries of each begin (n-grams + 1,).
    row: np.ndarray  # Reference times n, plus order from 0 (entries,).
    weight: np.ndarray  # Count times idf (entries,).
    norm: np.ndarray  # (references, n)
    length: np.ndarray  # In tokens (references,).


class Vectors(NamedTuple):
    """TF-IDF vectors of captions; an entry is an n-gram in one of them. They are sorted by sample, then n-gram."""

    key: np.ndarray  # The packed n-gram (entries,).
    sample: np.ndarray  # (entries,)
    row: np.ndarray  # Caption times n, plus order from 0 (entries,).
    weight: np.ndarray  # Count times idf (entries,).
    norm: np.ndarray  # (captions, n)
    length: np.ndarray  # In tokens (captions,).


def pack_ngrams(tokens: np.ndarray, lengths: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The packed n-gram of every order at every place, and its caption."""
    caption_at = np.repeat(np.arange(len(lengths)), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(tokens))
    numbers = tokens.astype(np.uint64) + np.uint64(1)
    packed, keys, captions = numbers, [], []
    for order in range(n):
        if order:
            packed = (packed[:-1] << np.uint64(BITS)) | numbers[order:]
        inside = left[: len(packed)] > order
        keys.append(packed[inside])
        captions.append(caption_at[: len(packed)][inside])
    return np.concatenate(keys), np.concatenate(captions)


def order_of(keys: np.ndarray) -> np.ndarray:
    """The order of packed n-grams, from 0."""
    return sum((keys >= np.uint64(1 << shift)).astype(np.int64) for shift in range(BITS, 64, BITS))


def split_groups(vectors: Vectors, captions: np.ndarray) -> list[Group]:
    """The groups of all samples; those of sample i are the captions from `captions[i]` on."""
    key, sample = vectors.key, vectors.sample
    is_first = np.ones(len(key), bool)
    is_first[1:] = (key[1:] != key[:-1]) | (sample[1:] != sample[:-1])
    first = np.flatnonzero(is_first)
    numbers = np.arange(len(captions))
    entries, grams = np.searchsorted(sample, numbers), np.searchsorted(sample[first], numbers)
    keys = np.insert(key[first], grams[1:], NO_GRAM)
    starts = np.insert(first - entries[sample[first]], grams[1:], np.diff(entries))
    bounds = zip((grams + numbers).tolist(), entries.tolist(), captions.tolist())
    return [
        Group(keys[i:k], starts[i:k], vectors.row[j:m], vectors.weight[j:m], vectors.norm[c:d], vectors.length[c:d])
        for (i, j, c), (k, m, d) in pairwise(bounds)
    ]


def cosines(candidates: Vectors, groups: Sequence[Group], variant: str, sigma: float) -> np.ndarray:
    """Similarity of each candidate to its group of references (candidates, n)."""
    n = candidates.norm.shape[1]
    num_references = np.array([len(group.length) for group in groups])
    first = np.cumsum(num_references) - num_references
    weight, weight_beside, row = _shared(candidates, groups, first * n)
    products = weight_beside * (weight if variant == "cider" else np.minimum(weight, weight_beside))
    dot = np.bincount(row, products, num_references.sum() * n).reshape(-1, n)

    sample = np.repeat(np.arange(len(groups)), num_references)
    norms = np.concatenate([group.norm for group in groups]) * candidates.norm[sample]
    cosine = np.divide(dot, norms, where=norms > 0, out=np.zeros(dot.shape))
    if variant == "cider_d":
        difference = candidates.length[sample] - np.concatenate([group.length for group in groups])
        cosine *= length_penalty(difference, sigma)[:, None]
    return np.add.reduceat(cosine, first, axis=0) / num_references[:, None]


def _shared(candidates: Vectors, groups: Sequence[Group], first_row: np.ndarray) -> tuple:
    """The n-grams that a candidate has in common with one of its references.

    Returns:
        Their weights in the candidate and in the reference, and the row of the reference among those of all groups.
    """
    keys, starts, rows, weights = (np.concatenate(parts) for parts in list(zip(*groups))[:4])
    sizes = np.array([len(group.key) for group in groups])
    first_key = np.cumsum(sizes) - sizes
    num_entries = np.array([len(group.row) for group in groups])
    first_entry = np.cumsum(num_entries) - num_entries

    cuts = np.searchsorted(candidates.sample, np.arange(len(groups) + 1)).tolist()
    parts = [group.key.searchsorted(candidates.key[i:j]) for group, i, j in zip(groups, cuts, cuts[1:])]
    place = np.concatenate(parts) + first_key[candidates.sample]
    found = np.flatnonzero(keys[place] == candidates.key)
    place, sample = place[found], candidates.sample[found]
    counts = starts[place + 1] - starts[place]
    before = np.cumsum(counts) - counts
    entry = np.repeat(starts[place] + first_entry[sample] - before, counts) + np.arange(counts.sum())
    row = rows[entry] + np.repeat(first_row[sample], counts)
    return np.repeat(candidates.weight[found], counts), weights[entry], row
