"""Confidence intervals and paired tests over the statistics of samples, the same for every metric.

A metric's `score(statistics, weights=None)` is all that is needed: `weights` (resamples, samples) says how often each
sample counts in each resample, and every value becomes an array with one entry per resample. The bootstrap draws these
numbers with replacement (Efron, 1979; paired as in Koehn, 2004), approximate randomization swaps samples between two
systems (Noreen, 1989; Riezler and Maxwell, 2005). Resamples are made in blocks, so that memory does not grow with
their number; each is drawn on its own, so that the size of the blocks changes no draw.

A sample that a metric leaves out of its score (its own score is NaN) has to be left out of both systems before they
are compared: else each is a mean over other samples, and the difference is one of samples, not of systems.
"""

import numbers
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .containers import as_items, describe
from .options import check_options

# Weights held at one time: 8 MB of floats, about what a processor's cache holds.
_CELLS = 1 << 20

# Below so many samples (clusters) the bootstrap promises more than it keeps; tests/benchmarks/bench_few_samples.py
# measures it. From here on its test at 5 % calls at most 6 of 100 equal systems different (13 at 8 samples),
# and 95 % intervals hold the mean of scores in 94 of 100 sets (88), a rate of 10 % in 95 (54).
FEW_UNITS = 50

# So many resamples of a dozen scores take a gigabyte, and tell a p-value of 1e-6 from 2e-6.
MOST_RESAMPLES = 10**7


class Drawing(NamedTuple):
    """How resamples are drawn; the arguments of every function here that draws, by place or by name.

    Attributes:
        n_resamples: Number of resamples.
        seed: Of the draws.
        clusters: One label per row, str or int: whole clusters are drawn, such as all questions of one image.
    """

    n_resamples: int = 1000
    seed: int = 0
    clusters: Sequence | None = None

    def check(self, rows: int) -> None:
        """Refuses what is out of range for so many rows.

        Raises:
            ValueError: n_resamples or seed is out of range, or labels are not one per row.
            TypeError: A label is neither str nor int, or they are mixed.
        """
        check_options(orders={"n_resamples": self.n_resamples})
        if self.n_resamples > MOST_RESAMPLES:
            raise ValueError(
                f"n_resamples is {self.n_resamples}, expected at most {MOST_RESAMPLES}: more change no digit"
            )
        if isinstance(self.seed, bool) or not isinstance(self.seed, numbers.Integral) or self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}, expected an integer of at least 0")
        units(rows, self.clusters)


Statistics = dict[str, np.ndarray]
Resampled = dict[str, np.ndarray]
Score = Callable[..., dict]


def mean(values: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """The mean over samples, or with weights one mean per resample.

    Args:
        values: (samples, ...), numbers of each sample.
        weights: (resamples, samples), how often each sample counts.

    Returns:
        (...), or (resamples, ...) with weights.

    >>> mean(np.array([1.0, 0.0, 0.5]), np.array([[1, 1, 1], [3, 0, 0]])).tolist()
    [0.5, 1.0]
    """
    if weights is None:
        return values.mean(axis=0)
    sums, counts = weights @ values, weights.sum(axis=1)
    return sums / counts.reshape(-1, *[1] * (values.ndim - 1))


def bootstrap(score: Score, systems: Sequence[Statistics], *drawing, **named) -> list[Resampled]:
    """Scores of systems on resamples of the same samples, drawn with replacement; all systems meet the same draws.

    Args:
        score: A metric's `score(statistics, weights=...)`.
        systems: The statistics of each system, row by row of the same samples.
        drawing, named: n_resamples, seed and clusters, see `Drawing`.

    Returns:
        One dict per system, as `score` has it, with arrays (n_resamples, ...).

    Raises:
        ValueError: Systems or clusters differ in the number of rows, or n_resamples or seed is out of range.
        TypeError: A label is neither str nor int, or they are mixed.

    >>> score = lambda statistics, weights=None: {"mean": mean(statistics["x"], weights)}
    >>> bootstrap(score, [{"x": np.array([1.0, 1.0])}], n_resamples=3)[0]["mean"].tolist()
    [1.0, 1.0, 1.0]
    """
    rows, how = same_rows(systems), Drawing(*drawing, **named)
    how.check(rows)
    num_units, unit = units(rows, how.clusters)

    generator = np.random.default_rng(how.seed)
    draws = (generator.integers(num_units, size=num_units) for _ in range(how.n_resamples))
    counts = (np.bincount(drawn, minlength=num_units) for drawn in draws)
    blocks = weight_blocks(counts, how.n_resamples, num_units, unit, rows)
    return joined([score(statistics, weights=weights) for statistics in systems] for weights in blocks)


def confidence_interval(
    score: Score, statistics: Statistics, confidence_level: float = 0.95, *drawing, **named
) -> dict[str, list]:
    """Percentile bootstrap intervals of every value of a score.

    Args:
        confidence_level: Of the intervals, between 0 and 1.
        score, statistics, drawing, named: See `bootstrap`.

    Returns:
        key -> [low, high]; where the value is a list, one interval for each of its items. NaN where a resample has no
        value, as a mean over none has.

    Raises:
        ValueError: There is a single sample or cluster, whose resamples are all the same; or as `bootstrap`.
        TypeError: As `bootstrap`.

    >>> score = lambda statistics, weights=None: {"mean": mean(statistics["x"], weights)}
    >>> low, high = confidence_interval(score, {"x": np.arange(100.0)})["mean"]
    >>> round(low, 1), round(high, 1)
    (43.8, 55.0)
    """
    how = Drawing(*drawing, **named)
    check_resampling(same_rows([statistics]), confidence_level, *how)
    (resampled,) = bootstrap(score, [statistics], *how)
    return {key: percentiles(values, confidence_level) for key, values in resampled.items()}


def standard_error(resampled: Resampled) -> dict[str, np.ndarray]:
    """The bootstrap's standard error of every value: the deviation (divisor n - 1) over what `bootstrap` returned.

    >>> standard_error({"mean": np.array([1.0, 2.0, 3.0])})["mean"].item()
    1.0
    """
    return {key: values.std(axis=0, ddof=1) for key, values in resampled.items()}


def count_units(rows: int, clusters: Sequence | None = None) -> int:
    """The number of samples, or of clusters: of what is drawn, or changes sides, as one.

    Raises:
        ValueError, TypeError: As `bootstrap`.

    >>> count_units(3), count_units(3, ["a", "b", "a"])
    (3, 2)
    """
    return units(rows, clusters)[0]


def few_note(num_units: int, items: str = "samples") -> str:
    """One sentence where intervals of so many samples (clusters) are too narrow, else an empty text.

    >>> few_note(8, "images"), few_note(FEW_UNITS)
    ('8 images are fewer than 50: bootstrap intervals of so few are too narrow', '')
    """
    if num_units >= FEW_UNITS:
        return ""
    return f"{num_units} {items} are fewer than {FEW_UNITS}: bootstrap intervals of so few are too narrow"


def warn_few(rows: int, clusters: Sequence | None = None, by: Sequence | None = None) -> None:
    """Warns where there are too few samples (clusters) for intervals, in all or in some of the labels of `by`.

    Raises:
        ValueError, TypeError: As `score_by`.
    """
    items = "samples" if clusters is None else "clusters"
    num_units, unit = units(rows, clusters)
    note = few_note(num_units, items)
    if not note and by is not None:
        names, label = _label_index(by, rows, "by")
        pairs = np.unique(np.stack([label, np.arange(rows) if unit is None else unit]), axis=1)
        few = int((np.bincount(pairs[0]) < FEW_UNITS).sum())
        if few:
            note = f"{few} of {len(names)} labels have fewer than {FEW_UNITS} {items}: their intervals are too narrow"
    if note:
        warnings.warn(note, stacklevel=2)


def score_by(
    score: Score, statistics: Statistics, by: Sequence, confidence_level: float | None = None, *drawing, **named
) -> dict[str | int, dict]:
    """Scores of the rows of each label.

    Args:
        by: One label per row, str or int.
        confidence_level: Adds `confidence_interval` to labels with two samples (clusters) or more; None adds none.
        score, statistics, drawing, named: See `bootstrap`.

    Returns:
        label -> what `score` gives, and `count`, the number of its rows; labels sorted.

    Raises:
        ValueError, TypeError: As `confidence_interval`; `by` is checked as `clusters`.

    >>> score = lambda statistics, weights=None: {"mean": mean(statistics["x"], weights).item()}
    >>> score_by(score, {"x": np.array([1.0, 0.0, 0.5])}, ["near", "far", "near"])
    {'far': {'mean': 0.0, 'count': 1}, 'near': {'mean': 0.75, 'count': 2}}
    """
    rows, how = same_rows([statistics]), Drawing(*drawing, **named)
    names, label = _label_index(by, rows, "by")
    _, unit = units(rows, how.clusters)
    groups = np.split(np.argsort(label, kind="stable"), np.cumsum(np.bincount(label))[:-1])
    results = {}
    for name, group in zip(names, groups):
        chosen = {key: values[group] for key, values in statistics.items()}
        own = None if unit is None else unit[group]
        results[name] = {**score(chosen), "count": len(group)}
        if confidence_level is not None and units(len(group), own)[0] > 1:
            interval = confidence_interval(score, chosen, confidence_level, *how._replace(clusters=own))
            results[name]["confidence_interval"] = interval
    return results


def check_resampling(rows: int, confidence_level: float | None = None, *drawing, **named) -> None:
    """Checks the options of a bootstrap of so many rows; a confidence level of None asks for no interval.

    Raises:
        ValueError, TypeError: As `confidence_interval`.

    >>> check_resampling(2, confidence_level=95)
    Traceback (most recent call last):
        ...
    ValueError: confidence_level is 95, expected a number between 0 and 1, such as 0.95
    """
    how = Drawing(*drawing, **named)
    how.check(rows)
    if confidence_level is None:
        return
    is_number = isinstance(confidence_level, numbers.Real) and not isinstance(confidence_level, bool)
    if not is_number or not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level is {confidence_level!r}, expected a number between 0 and 1, such as 0.95")
    if count_units(rows, how.clusters) < 2:
        what = "sample" if how.clusters is None else "cluster"
        raise ValueError(f"there is a single {what}, expected at least 2 for a confidence interval")


def same_rows(systems: Sequence[Statistics]) -> int:
    """The number of rows, which is the same in all systems.

    Raises:
        ValueError: It is not.
    """
    rows = [len(values) for statistics in systems for values in statistics.values()]
    if len(set(rows)) != 1:
        raise ValueError(f"statistics have {sorted(set(rows))} rows, expected the same samples in all")
    return rows[0]


def units(rows: int, clusters: Sequence | None) -> tuple[int, np.ndarray | None]:
    """The number of things to draw, and of which one each row is a part (None: each row is one)."""
    if clusters is None:
        return rows, None
    names, unit = _label_index(clusters, rows, "clusters")
    return len(names), unit


def _label_index(labels, rows: int, place: str) -> tuple[list, np.ndarray]:
    labels = as_items(labels, place)
    if len(labels) != rows:
        raise ValueError(f"{place} has {len(labels)} labels, expected {rows} (one per row)")
    kind = str if isinstance(labels[0], str) else numbers.Integral
    for i, value in enumerate(labels):
        if isinstance(value, bool) or not isinstance(value, kind):
            raise TypeError(f"{place}[{i}] is {describe(value)}, expected str in all rows, or int in all rows")
    names = sorted(set(labels))
    place_of = {name: i for i, name in enumerate(names)}
    return names, np.fromiter(map(place_of.__getitem__, labels), np.int64, rows)


def weight_blocks(draws: Iterator[np.ndarray], number: int, num_units: int, unit, rows: int) -> Iterator[np.ndarray]:
    """What is drawn for the units in each of so many resamples, as weights of the rows (block, rows)."""
    size = max(1, _CELLS // rows)
    for start in range(0, number, size):
        # Floats, since only their matrix products run at full speed.
        block = np.empty((min(size, number - start), num_units))
        for row, drawn in zip(block, draws):
            row[:] = drawn
        yield block if unit is None else block[:, unit]


def joined(blocks: Iterator[list[dict]]) -> list[Resampled]:
    """Joins the blocks of each system."""
    of_systems = zip(*blocks)
    return [{key: np.concatenate([block[key] for block in blocks]) for key in blocks[0]} for blocks in of_systems]


def percentiles(values: np.ndarray, confidence_level: float) -> list:
    """The bounds of the middle part of resampled values (resamples, ...): [low, high], or one pair for each item."""
    tail = (1 - confidence_level) / 2
    return np.moveaxis(np.quantile(values, [tail, 1 - tail], axis=0), 0, -1).tolist()
