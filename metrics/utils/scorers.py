"""What a metric is to all that is built on it: a Scorer, whose fields are the metric's options, and what it finds.

`compute`, a batch of a shard, a file on the command line and a reward hold the same Scorer, so that an option is
stated once. Everything else (intervals, subgroups, results of samples, the signature) is made here, for all metrics.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, NamedTuple

import numpy as np

from .checks import reference_counts, signature
from .options import check_options
from .resampling import check_resampling, confidence_interval, score_by


class Asked(NamedTuple):
    """What is wanted beside the score; the same for every metric.

    Attributes:
        per_sample: The scores of every sample, as lists.
        confidence_level, n_resamples, seed, clusters: Of the intervals, see `resampling.confidence_interval`; a
            level of None wants none.
        by: One label per sample, to score the samples of each label too; see `resampling.score_by`.
    """

    per_sample: bool = False
    confidence_level: float | None = None
    n_resamples: int = 1000
    seed: int = 0
    clusters: Sequence | None = None
    by: Sequence | None = None

    @property
    def drawing(self) -> tuple:
        """The arguments of `resampling.confidence_interval` behind score and statistics."""
        return self.confidence_level, self.n_resamples, self.seed, self.clusters


@dataclass(frozen=True, eq=False)
class Found:
    """What a Scorer finds in samples.

    Attributes:
        statistics: name -> array, first axis = row. A row is a sample, but for recall_at_k (a query).
        num_references: How many references each sample has.
        results: What stands beside the scores of the set.
        samples: What stands beside the scores of each row: name -> list.
        owner: (rows,): where rows are no samples, the sample of each.
    """

    statistics: Mapping[str, np.ndarray]
    num_references: np.ndarray
    results: Mapping = field(default_factory=dict)
    samples: Mapping[str, list] = field(default_factory=dict)
    owner: np.ndarray | None = None

    @property
    def rows(self) -> int:
        """How many there are."""
        return len(next(iter(self.statistics.values())))


@dataclass(frozen=True)
class BaseScorer:
    """A metric with its options. A metric's Scorer adds the options as fields, and says what is not the same for all.

    Its first steps are `of`, which fits the options to texts or ids, and `check`.
    """

    # The metric's name and its folder.
    NAME: ClassVar[str]
    # Options on which no statistic depends: they change the score that is made of statistics.
    OF_SCORE: ClassVar[tuple[str, ...]] = ()
    # Fields that no caller of `compute` sets.
    NOT_OPTIONS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def options(cls) -> list[str]:
        """The names of the options of `compute`."""
        return [one.name for one in fields(cls) if one.name not in cls.NOT_OPTIONS]

    def check(self) -> None:
        """Refuses options that are out of range.

        Raises:
            ValueError, TypeError: One is.
        """
        raise NotImplementedError

    def read(self, predictions, references) -> tuple[list, list]:
        """Checks every item of samples and gives them as lists.

        Raises:
            ValueError, TypeError: One is wrong; the message names it.
        """
        raise NotImplementedError

    def of(self, are_ids: bool) -> "BaseScorer":
        """The same for samples that are ids, or texts."""
        return self

    def opened(self) -> "BaseScorer":
        """The same with the files read that it names."""
        return self

    def encoder(self):
        """What keeps what samples have in common, for the batches of one worker; None where there is no such thing."""
        return None

    def statistics(self, predictions: list, references: list, encoder=None) -> dict[str, np.ndarray]:
        """The statistics of checked samples, name -> array, first axis = sample."""
        raise NotImplementedError

    def find(self, predictions: list, references: list, encoder=None, details: bool = False) -> Found:
        """The statistics of checked samples, what else the metric says of the set and, with details, of each."""
        return Found(self.statistics(predictions, references, encoder), counts_of(references))

    def score(self, statistics: Mapping[str, np.ndarray], weights: np.ndarray | None = None) -> dict:
        """The scores of a set; with weights (resamples, rows) every value is an array (resamples,)."""
        raise NotImplementedError

    def samples(self, statistics: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The scores of every row."""
        raise NotImplementedError

    def settings(self) -> tuple[str, dict]:
        """Name and settings of the signature."""
        raise NotImplementedError

    def check_set(self, found: Found) -> None:
        """Says, or refuses, what makes the score of a whole set mean little; of parts of it nothing is said."""

    def clusters(self, found: Found, asked: Asked) -> Sequence | None:
        """One label per row, of rows that are drawn as one; None where each is on its own."""
        return asked.clusters

    def score_by(self, found: Found, asked: Asked) -> dict:
        """The scores of the samples of each label of `asked.by`."""
        return score_by(self.score, found.statistics, asked.by, *asked.drawing)

    def replace(self, **options) -> "BaseScorer":
        """The same with other options."""
        return replace(self, **options)

    def signature(self, num_references: np.ndarray | None = None) -> str:
        """The line that says how a score is made; with the numbers of references, where they are known."""
        name, settings = self.settings()
        refs = {} if num_references is None else {"refs": reference_counts(np.unique(num_references).tolist())}
        return signature(name, {**settings, **refs})


def results_of(scorer: BaseScorer, found: Found, asked: Asked) -> dict:
    """What `compute` returns, wherever samples come from.

    Args:
        scorer: The metric.
        found: What it found in the samples.
        asked: What is wanted beside the score.

    Returns:
        The scores, what the metric says of the set beside them, and on request `confidence_interval`, `by` and
        `per_sample`.

    Raises:
        ValueError, TypeError: Something asked for is out of range, or labels are not one per sample.
    """
    check_options(flags={"per_sample": asked.per_sample})
    asked = asked._replace(clusters=scorer.clusters(found, asked))
    check_resampling(found.rows, *asked.drawing)
    results = {**scorer.score(found.statistics), **found.results}
    if asked.confidence_level is not None:
        results["confidence_interval"] = confidence_interval(scorer.score, found.statistics, *asked.drawing)
    if asked.by is not None:
        results["by"] = scorer.score_by(found, asked)
    if asked.per_sample:
        results["per_sample"] = samples_of(scorer, found)
    # Once, and not for each label of `by`.
    scorer.check_set(found)
    return results


def samples_of(scorer: BaseScorer, found: Found) -> dict[str, list]:
    """The scores of every row, and what stands beside them, as lists."""
    return {**{key: values.tolist() for key, values in scorer.samples(found.statistics).items()}, **found.samples}


def counts_of(references: Sequence[Sequence]) -> np.ndarray:
    """How many references each sample has.

    >>> counts_of([["a cat"], ["a dog", "the dog"]]).tolist()
    [1, 2]
    """
    return np.fromiter(map(len, references), np.int64, len(references))
