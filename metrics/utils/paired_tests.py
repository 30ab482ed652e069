"""Paired tests of two systems over the statistics of the same samples, the same for every metric.

The bootstrap is paired as in Koehn (2004): both systems meet the same resamples. Approximate randomization swaps
samples between the systems (Noreen, 1989; Riezler and Maxwell, 2005).
"""

from collections.abc import Iterable, Sequence

import numpy as np

from .resampling import (
    Drawing,
    Score,
    Statistics,
    bootstrap,
    check_resampling,
    joined,
    percentiles,
    same_rows,
    units,
    weight_blocks,
)

# Differences that are equal on paper differ in the last bits, since sums over resamples run in other orders.
_ROUNDING = 1e-10


def paired_bootstrap(
    score: Score, first: Statistics, second: Statistics, confidence_level: float = 0.95, *drawing, **named
) -> dict[str, dict]:
    """The difference between two systems on the same samples, its interval and its p-value.

    The p-value is two-sided: how often a resampled difference lies as far from the mean of all resampled ones as the
    difference found lies from 0, (count + 1) / (n_resamples + 1). sacrebleu counts one side, so that its p-value is
    about half of this one.

    Args:
        first, second: Statistics of the two systems, row by row of the same samples.
        confidence_level: Of the interval of the difference, between 0 and 1.
        score, drawing, named: See `bootstrap`.

    Returns:
        key -> {"difference": second - first, "confidence_interval": [low, high], "p_value"}.

    Raises:
        ValueError, TypeError: As `confidence_interval`.

    >>> from .resampling import mean
    >>> score = lambda statistics, weights=None: {"mean": mean(statistics["x"], weights)}
    >>> paired_bootstrap(score, {"x": np.zeros(20)}, {"x": np.ones(20)}, n_resamples=99)["mean"]
    {'difference': 1.0, 'confidence_interval': [1.0, 1.0], 'p_value': 0.01}
    """
    how = Drawing(*drawing, **named)
    check_resampling(same_rows([first, second]), confidence_level, *how)
    one, other = bootstrap(score, [first, second], *how)
    report = {}
    for key, (difference, tolerance) in _differences(score(first), score(second), one).items():
        resampled = other[key] - one[key]
        report[key] = {
            "difference": difference.tolist(),
            "confidence_interval": percentiles(resampled, confidence_level),
            "p_value": _p_value(resampled - resampled.mean(axis=0), difference, tolerance),
        }
    return report


def approximate_randomization(
    score: Score, first: Statistics, second: Statistics, *drawing, **named
) -> dict[str, dict]:
    """The difference between two systems, and how often chance alone makes one as large.

    In each trial every sample (every cluster) changes sides with probability 1/2; the two-sided p-value is
    (count of differences at least as large as the one found + 1) / (n_resamples + 1). Where all ways to change sides
    are no more than n_resamples (9 samples of 1000), each is tried once: the p-value is their share, and exact. It
    cannot fall below 2 / 2^samples, so that of five samples or fewer no difference reaches 0.05.

    Args:
        first, second: Statistics of the two systems, row by row of the same samples.
        score, drawing, named: See `bootstrap`.

    Returns:
        key -> {"difference": second - first, "p_value"}.

    Raises:
        ValueError, TypeError: As `bootstrap`.

    >>> from .resampling import mean
    >>> score = lambda statistics, weights=None: {"mean": mean(statistics["x"], weights)}
    >>> approximate_randomization(score, {"x": np.zeros(20)}, {"x": np.ones(20)}, n_resamples=99)["mean"]
    {'difference': 1.0, 'p_value': 0.01}
    """
    rows, how = same_rows([first, second]), Drawing(*drawing, **named)
    how.check(rows)
    num_units, unit = units(rows, how.clusters)
    both = {key: np.concatenate([first[key], second[key]]) for key in first}
    is_exact = tries_all_swaps(num_units, how.n_resamples)
    number = 2**num_units if is_exact else how.n_resamples
    generator = np.random.default_rng(how.seed)
    bits = np.arange(num_units)
    swaps = (
        trial >> bits & 1 if is_exact else generator.integers(2, size=num_units, dtype=np.int8)
        for trial in range(number)
    )
    blocks = weight_blocks(swaps, number, num_units, unit, rows)
    # A system of a trial is a choice of rows of both, and the other system has the rest.
    choices = (np.hstack([1 - swapped, swapped]) for swapped in blocks)
    one, other = joined([score(both, weights=chosen), score(both, weights=1 - chosen)] for chosen in choices)
    # Among all ways to change sides is the one of the difference found.
    found = 0 if is_exact else 1
    return {
        key: {
            "difference": difference.tolist(),
            "p_value": _p_value(other[key] - one[key], difference, tolerance, found),
        }
        for key, (difference, tolerance) in _differences(score(first), score(second), one).items()
    }


def tries_all_swaps(num_units: int, n_resamples: int) -> bool:
    """Whether `approximate_randomization` of so many samples (clusters) tries every way to change sides, once each.

    >>> tries_all_swaps(9, 1000), tries_all_swaps(10, 1000)
    (True, False)
    """
    return num_units < int(n_resamples).bit_length()


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction (1979) of the p-values of several tests, in their order.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(order), 0, -1)
    corrected = np.empty(len(order))
    corrected[order] = np.minimum(np.maximum.accumulate(np.asarray(p_values, float)[order] * factors), 1.0)
    return corrected.tolist()


def _differences(first: dict, second: dict, keys: Iterable[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """key -> second - first, and how far equal differences may lie apart; only of what can be resampled."""
    pairs = {key: (np.asarray(first[key], float), np.asarray(second[key], float)) for key in keys}
    return {key: (two - one, _ROUNDING * np.maximum(np.abs(one), np.abs(two))) for key, (one, two) in pairs.items()}


def _p_value(chance: np.ndarray, difference: np.ndarray, tolerance: np.ndarray, found: int = 1):
    """The share of differences at least as large; `found` is 1 where the one found counts as one more of them."""
    # A resample without a value (NaN) is no evidence of a difference: it counts as one at least as large.
    count = (~(np.abs(chance) < np.abs(difference) - tolerance)).sum(axis=0)
    return ((count + found) / (len(chance) + found)).tolist()
