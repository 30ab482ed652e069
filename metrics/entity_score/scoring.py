"""EntityScore (FAVDBench, Shen et al., 2023): how completely a description names the entities of the reference.

The statistics of a pair are its entity recall R, the similarity C of its entities, and the score made of both; the
score of a set is the mean. What an entity is stands in nouns.py, what C is in similarity.py.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._shared import (
    BaseScorer,
    Found,
    T5Encoder,
    check_captions,
    check_options,
    counts_of,
    describe,
    entities,
    nltk_version,
)
from .similarity import favdbench_similarity, readme_similarity

# Added to R by the published code, so that its scores reach 1.00005.
SMOOTHING = 1e-4
FORMULAS = {"favdbench": (favdbench_similarity, SMOOTHING), "readme": (readme_similarity, 0.0)}
NO_ENTITIES = {"skip": np.nan, "zero": 0.0}


class Entities(NamedTuple):
    """Sorted entities of every prediction, and of every reference of every sample."""

    predictions: list[list[str]]
    references: list[list[list[str]]]


def find_entities(predictions: Sequence[str], references: Sequence) -> Entities:
    """Finds the noun stems of both sides.

    Args:
        predictions: One text per sample.
        references: Per sample, one text or a list of them.

    Raises:
        ValueError: There is no sample, the two differ in number, or a sample has no reference.
        TypeError: An item is no str.
        ImportError, OSError: NLTK or its data cannot be had.
    """
    return _find(*check_texts(predictions, references))


def _find(predictions: list[str], references: list[list[str]]) -> Entities:
    counts = [len(group) for group in references]
    found = [sorted(stems) for stems in entities([*predictions, *(text for group in references for text in group)])]
    ends = np.cumsum([len(predictions), *counts]).tolist()
    return Entities(found[: len(predictions)], [found[start:end] for start, end in zip(ends, ends[1:])])


def check_texts(predictions, references) -> tuple[list[str], list[list[str]]]:
    """Checks candidates and references as `check_captions` does, and refuses token ids.

    >>> check_texts(["a cat"], ["the cat"])
    (['a cat'], [['the cat']])
    """
    predictions, references = check_captions(predictions, references)
    if not isinstance(predictions[0], str):
        raise TypeError(f"predictions[0] is {describe(predictions[0])}, expected str")
    return predictions, references


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """EntityScore with its options.

    Attributes:
        formula: "favdbench" (the published code) or "readme" (the formulas of its README).
        no_entities: What a pair scores where one side has no entity: "skip" leaves it out, "zero" is 0.
        model_path: The T5 encoder, a name on the Hub or a folder.
        device: Such as "cuda:0"; None takes a GPU where there is one.
        dtype: Of the encoder, see `t5.DTYPES`.
        batch_size: Entities encoded at once.
    """

    formula: str = "favdbench"
    no_entities: str = "skip"
    model_path: str = "t5-base"
    device: str | None = None
    dtype: str = "float32"
    batch_size: int = 128

    NAME = "entity_score"

    def check(self):
        named = (("formula", self.formula, FORMULAS), ("no_entities", self.no_entities, NO_ENTITIES))
        for name, value, known in named:
            if value not in known:
                raise ValueError(f"{name} is {value!r}, expected one of {list(known)}")
        check_options(orders={"batch_size": self.batch_size})

    def read(self, predictions, references):
        return check_texts(predictions, references)

    def encoder(self):
        return T5Encoder(self.model_path, self.device, self.dtype, self.batch_size)

    def find(self, predictions, references, encoder=None, details=False):
        """Statistics and, with details, the entities of every pair, see `sample_entities`."""
        self.check()
        encoder = self.encoder() if encoder is None else encoder
        entities_ = _find(predictions, references)
        statistics = self.statistics_of_entities(entities_, encoder)
        samples = sample_entities(statistics, entities_) if details else {}
        return Found(statistics, counts_of(references), samples=samples)

    def statistics(self, predictions, references, encoder=None):
        """Recall, similarity and score of each pair; of several references, those of the one that scores highest.

        Args:
            predictions: One text per sample.
            references: The reference texts of each sample.
            encoder: One with the same options, or anything with its `lengths` and `states`; None makes one.

        Returns:
            `entity_score`, `recall` and `similarity` (samples,), 0..1 and NaN where a pair is left out (favdbench's
            score reaches 1.00005); `has_entities` (samples,), bool; `reference` (samples,), the place of the
            reference.

        Raises:
            ValueError: An option is unknown, or as `find_entities`.
            TypeError, ImportError, OSError: As `find_entities` and `T5Encoder`.
        """
        self.check()
        encoder = self.encoder() if encoder is None else encoder
        return self.statistics_of_entities(_find(predictions, references), encoder)

    def statistics_of_entities(self, found: Entities, encoder) -> dict[str, np.ndarray]:
        """`statistics` of texts whose entities are found already."""
        self.check()
        similarity_of, smoothing = FORMULAS[self.formula]
        places = [
            (row, place)
            for row, group in enumerate(found.references)
            for place, reference in enumerate(group)
            if reference and found.predictions[row]
        ]
        pairs = [(found.predictions[row], found.references[row][place]) for row, place in places]
        recall, similarity = np.array([_recall(*pair) for pair in pairs]), similarity_of(pairs, encoder)
        scores = harmonic_mean(recall + smoothing, similarity)
        values = {"entity_score": scores, "recall": recall, "similarity": similarity}
        return _of_best_reference(values, places, len(found.predictions), NO_ENTITIES[self.no_entities])

    def score(self, statistics, weights=None):
        return score(statistics, weights)

    def samples(self, statistics):
        return sample_scores(statistics)

    def settings(self):
        """Device and batch size change no score and are not named."""
        self.check()
        settings = {"formula": self.formula, "model": self.model_path, "dtype": self.dtype}
        return self.NAME, {**settings, "no_entities": self.no_entities, "nltk": nltk_version()}


def sample_statistics(
    predictions: Sequence[str] | None = None,
    references: Sequence | None = None,
    found: Entities | None = None,
    encoder: T5Encoder | None = None,
    **options,
) -> dict[str, np.ndarray]:
    """What `Scorer(**options)` finds: recall, similarity and score of each pair.

    Args:
        predictions, references, encoder: See `Scorer.statistics`.
        found: What `find_entities` returned, instead of predictions and references.
        options: See `Scorer`.

    Raises:
        ValueError, TypeError, ImportError, OSError: As `Scorer.statistics`.
    """
    scorer = Scorer(**options)
    if found is None:
        return scorer.statistics(*scorer.read(predictions, references), encoder)
    return scorer.statistics_of_entities(found, scorer.encoder() if encoder is None else encoder)


def _recall(predicted: list[str], reference: list[str]) -> float:
    return len(set(predicted) & set(reference)) / len(reference)


def harmonic_mean(recall: np.ndarray, similarity: np.ndarray) -> np.ndarray:
    """2CR / (C + R), and 0 where both are 0.

    >>> harmonic_mean(np.array([0.5, 0.0]), np.array([1.0, 0.0])).round(6).tolist()
    [0.666667, 0.0]
    """
    total = recall + similarity
    return 2 * recall * similarity / np.where(total == 0, 1, total)


def _of_best_reference(values: dict, places: list[tuple[int, int]], samples: int, missing: float) -> dict:
    """Keeps each sample's pair of the highest score, the first of several; `missing` where there is no pair."""
    rows, references = np.array(places, np.int64).reshape(-1, 2).T
    order = np.lexsort((references, -values["entity_score"], rows))
    rows, first = np.unique(rows[order], return_index=True)
    best = order[first]
    statistics = {key: np.full(samples, missing) for key in values}
    for key, value in values.items():
        statistics[key][rows] = value[best]
    has_entities, reference = np.zeros(samples, bool), np.zeros(samples, np.int64)
    has_entities[rows], reference[rows] = True, references[best]
    return {**statistics, "has_entities": has_entities, "reference": reference}


def score(statistics: dict[str, np.ndarray], weights: np.ndarray | None = None) -> dict:
    """Means over the pairs that are not left out.

    Args:
        statistics: What `sample_statistics` returned; of several shards, joined sample by sample.
        weights: (resamples, samples), how often each sample counts; the means are then arrays (resamples,), and the
            extremes and the number of pairs left out are not given.

    Returns:
        `entity_score`, `entity_recall`, `entity_similarity`, `entity_score_min`, `entity_score_max` and `num_skipped`;
        NaN, with a warning, where every pair is left out.

    >>> values = np.array([0.5, np.nan])
    >>> score({"entity_score": values, "recall": values, "similarity": values})["num_skipped"]
    1
    """
    counted = ~np.isnan(statistics["entity_score"])
    values = {f"entity_{key.removeprefix('entity_')}": statistics[key][counted] for key in _MEANS}
    if weights is not None:
        filled = np.stack([np.where(counted, statistics[key], 0.0) for key in _MEANS] + [counted], axis=1)
        *sums, totals = (np.asarray(weights) @ filled).T
        with np.errstate(invalid="ignore", divide="ignore"):
            return {key: total / totals for key, total in zip(values, sums)}
    if not counted.any():
        warnings.warn("no pair has entities on both sides: the score is NaN", stacklevel=2)
        values = {key: np.array([np.nan]) for key in values}
    means = {key: float(value.mean()) for key, value in values.items()}
    low, high = float(values["entity_score"].min()), float(values["entity_score"].max())
    return {**means, "entity_score_min": low, "entity_score_max": high, "num_skipped": int((~counted).sum())}


_MEANS = ("entity_score", "recall", "similarity")


def sample_scores(statistics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The scores of every pair on its own, named as in `score`; NaN where it is left out.

    >>> values = np.array([0.5])
    >>> sorted(sample_scores({"entity_score": values, "recall": values, "similarity": values}))
    ['entity_recall', 'entity_score', 'entity_similarity']
    """
    return {f"entity_{key.removeprefix('entity_')}": statistics[key] for key in _MEANS}


def sample_entities(statistics: dict[str, np.ndarray], found: Entities) -> dict[str, list[list[str]]]:
    """The entities of every prediction and of the reference that it was scored with, sorted.

    >>> found = Entities([["dog"]], [[["cat"], ["dog", "park"]]])
    >>> sample_entities({"reference": np.array([1])}, found)
    {'predicted_entities': [['dog']], 'reference_entities': [['dog', 'park']]}
    """
    chosen = [group[place] for group, place in zip(found.references, statistics["reference"].tolist())]
    return {"predicted_entities": found.predictions, "reference_entities": chosen}


def compute_entity_score(prediction: str, reference: str, key: str, tokenizer, model) -> float:
    """The score of one pair, with the arguments and the result of FAVDBench's function of this name.

    Args:
        prediction, reference: Two texts.
        key: What the pair is called in the warning.
        tokenizer, model: A T5 tokenizer and a T5 model of transformers, loaded.

    Returns:
        The score; -1, with a warning, where a side has no entity.

    Raises:
        ValueError, TypeError, ImportError, OSError: As `sample_statistics`.
    """
    encoder = T5Encoder.of(tokenizer, model)
    value = float(sample_statistics([prediction], [reference], encoder=encoder)["entity_score"][0])
    if np.isnan(value):
        warnings.warn(f"no entities on one side of {key!r}: -1", stacklevel=2)
        return -1
    return value
