"""NewMetric: which part of the words of a reference a caption has, with the best of its references.

A sample's statistic is its recall; the score is the mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._shared import BaseScorer, check_captions, check_options, mean


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """NewMetric with its options.

    Attributes:
        lower: Whether "Cat" and "cat" are one word.
    """

    lower: bool = True

    NAME = "new_metric"

    def check(self):
        check_options(flags={"lower": self.lower})

    def read(self, predictions, references):
        return check_captions(predictions, references)

    def of(self, are_ids):
        if are_ids:
            raise TypeError("predictions are token ids, expected texts")
        return self

    def statistics(self, predictions, references, encoder=None):
        """The recall of each sample.

        Args:
            predictions: One caption per sample.
            references: The references of each sample.
            encoder: None.

        Returns:
            `recall` (samples,), 0..1.
        """
        self.check()
        return {"recall": np.array([self._best(*sample) for sample in zip(predictions, references)])}

    def score(self, statistics, weights=None):
        value = mean(statistics["recall"], weights)
        return {self.NAME: float(value) if weights is None else value}

    def samples(self, statistics):
        return {self.NAME: statistics["recall"]}

    def settings(self):
        self.check()
        return self.NAME, {"lower": self.lower}

    def _best(self, prediction: str, references: Sequence[str]) -> float:
        words = self._words(prediction)
        wanted = [self._words(reference) for reference in references]
        return max((len(words & group) / len(group) for group in wanted if group), default=0.0)

    def _words(self, text: str) -> set[str]:
        return set((text.lower() if self.lower else text).split())
