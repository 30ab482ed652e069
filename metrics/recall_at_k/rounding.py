"""Which similarities tie: those that float64 cannot tell apart; and how far products may be from float64.

All bounds are worst cases of n dimensions, in units of |x| |y| (1 under "cosine"), with u = 2**-53 in float64. However
it is summed, a dot product is wrong by at most n u; norms and divisions add (n + 6) u to a cosine. So two numbers for
one similarity differ by at most (2 n + 8) 2 u, and so do those of two similarities that tie on paper. Multiples of one
vector, rounded to float32 twice (scaled and normalised), have cosines of 1 - 128 * 2 u at least. Closer than
(n + 48) * 8 u is a tie, then: wide enough that a product in float64 decides all such ties in any order of summation,
and for 512 dimensions 5e-13, a hundred thousandth of what products in float32 may be wrong by.
"""

from typing import NamedTuple

import numpy as np


class Thresholds(NamedTuple):
    """Similarities that others are compared with, and by how much these may differ and tie; arrays of one shape."""

    values: np.ndarray
    slacks: np.ndarray


def tie_slack(scales: np.ndarray, dimensions: int) -> np.ndarray:
    """By how much two similarities of such scales (|x| |y|) may differ and tie; of two scales, the larger counts.

    >>> tie_slack(np.array([1.0]), 16).tolist() == [2.0**-44]
    True
    """
    return (dimensions + 48) * 2.0**-50 * scales + underflow(np.float64, dimensions)


def error_in_slacks(dtype: np.dtype, dimensions: int) -> float:
    """How many times its tie slack a product in this type may lie from the float64 dot product of the same pair."""
    if dtype.itemsize > 4:
        return (2 * dimensions + 8) / (4 * (dimensions + 48))
    # Four roundings make unit vectors of both sides, one the limits that products are compared with.
    roundings = (dimensions + 8) * 2.0**-24
    return roundings / (1 - roundings) / ((dimensions + 48) * 2.0**-50) if roundings < 0.5 else np.inf


def underflow(dtype: np.dtype, dimensions: int) -> float:
    """What a dot product may lose where its terms are too small for the type."""
    return 4 * dimensions * float(np.finfo(dtype).tiny)


def compare(values: np.ndarray, thresholds: Thresholds, slacks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which similarities are above, and which tie with, their thresholds.

    Args:
        values, slacks: The similarities and their slacks.
        thresholds: One for each.

    >>> compare(np.array([1.0, 0.5]), Thresholds(np.array([0.5, 0.5]), np.zeros(2)), np.zeros(2))
    (array([ True, False]), array([False,  True]))
    """
    gaps = np.maximum(slacks, thresholds.slacks)
    # Infinities of a matrix: equal ones tie, and their difference is NaN.
    with np.errstate(invalid="ignore", over="ignore"):
        differences = values - thresholds.values
    return differences > gaps, (values == thresholds.values) | (np.abs(differences) <= gaps)
