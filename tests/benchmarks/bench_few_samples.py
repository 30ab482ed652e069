"""What the bootstrap and randomization keep of their promises on few samples, by simulation.

`python -m tests.benchmarks.bench_few_samples [--sets 20000]` prints the table of docs/comparing.md in about a minute.
"""

import argparse
from functools import partial

import numpy as np

from metrics.utils.paired_tests import approximate_randomization, paired_bootstrap
from metrics.utils.resampling import confidence_interval, mean

SIZES = (5, 8, 10, 20, 30, 50, 100, 200)
_SETS_AT_ONCE = 1000


def right_answers(rate: float, generator: np.random.Generator, shape: tuple) -> np.ndarray:
    """Answers that are right (1.0) at a rate, else 0.0."""
    return (generator.random(shape) < rate).astype(float)


def scores(generator: np.random.Generator, shape: tuple) -> np.ndarray:
    """Normal scores."""
    return generator.normal(size=shape)


def skewed_scores(generator: np.random.Generator, shape: tuple) -> np.ndarray:
    """Lognormal scores: most are small and a few large."""
    return generator.lognormal(size=shape)


# Kind of scores, and their mean.
SCORES = (scores, 0.0)
RARE = (partial(right_answers, 0.1), 0.1)
SKEWED = (skewed_scores, np.exp(0.5))
HALF = (partial(right_answers, 0.5), 0.5)


def score(statistics: dict, weights: np.ndarray | None = None) -> dict:
    """The mean of each set: statistics have one column per set, so that all sets are resampled at once."""
    return {"mean": mean(statistics["x"], weights)}


def called_different(test, kind, samples: int, sets: int, seed: int = 0, n_resamples: int = 1000) -> float:
    """The share of pairs of equal systems that a test at 5 % calls different.

    Args:
        test: `paired_bootstrap` or `approximate_randomization`.
        kind: What scores are drawn from, and its mean.
        samples: Of each set.
        sets: Number of pairs.
        seed: Of the pairs; resamples are those of everybody, since the seed of a test is 0 by default.
        n_resamples: Of each test.
    """
    generator = np.random.default_rng([seed, samples])
    found = 0
    for start in range(0, sets, _SETS_AT_ONCE):
        shape = samples, min(_SETS_AT_ONCE, sets - start)
        first, second = ({"x": kind[0](generator, shape)} for _ in range(2))
        p_values = test(score, first, second, n_resamples=n_resamples)["mean"]["p_value"]
        found += np.sum(np.asarray(p_values) <= 0.05)
    return float(found / sets)


def covered(kind, samples: int, sets: int, seed: int = 0, n_resamples: int = 1000) -> float:
    """The share of sets whose 95 % interval holds the mean that the samples were drawn from."""
    generator = np.random.default_rng([seed, samples])
    found = 0
    for start in range(0, sets, _SETS_AT_ONCE):
        shape = samples, min(_SETS_AT_ONCE, sets - start)
        intervals = confidence_interval(score, {"x": kind[0](generator, shape)}, n_resamples=n_resamples)["mean"]
        low, high = np.transpose(intervals)
        found += np.sum((low <= kind[1] + 1e-12) & (high >= kind[1] - 1e-12))
    return float(found / sets)


def row(samples: int, sets: int) -> list[float]:
    """A row of the table, in percent."""
    different = [
        called_different(test, kind, samples, sets)
        for test in (paired_bootstrap, approximate_randomization)
        for kind in (SCORES, HALF)
    ]
    return [100 * value for value in (*different, *(covered(kind, samples, sets) for kind in (SCORES, RARE, SKEWED)))]


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20_000)
    sets = parser.parse_args().sets
    print(
        "| samples | bootstrap: scores | answers | randomization: scores | answers | "
        "interval: scores | rate of 10 % | skewed scores |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for samples in SIZES:
        print(f"| {samples} | {' | '.join(f'{value:.0f}' for value in row(samples, sets))} |", flush=True)


if __name__ == "__main__":
    main()
