"""VQA accuracy (Antol et al., 2015; Goyal et al., 2017) under every protocol that has a name, ANLS, relaxed accuracy.

The statistic of a question is its accuracy, and the score is the mean. What is normalised and what matches are worth
stands in protocols.py, the normalisers in normalizer.py, the other two measures in measures.py.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ._shared import BaseScorer, Found, counts_of, mean
from .answers import Answers, agrees, answer_blocks, change, per_question, questions, same
from .diagnosis import lost_to_style
from .inputs import check_answers, check_labels, group_answers, is_id
from .measures import ANLS_THRESHOLD, TOLERANCE, anls, collapsed, relaxed_accuracy
from .protocols import ENOUGH, Protocol, accuracy_of_matches, compared, resolve_protocol

_OTHER_MEASURES = {"anls": anls, "relaxed_accuracy": relaxed_accuracy}


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """VQA accuracy with its options.

    Attributes:
        normalization: "official" (default), "official-2017", "always", "evalai", "prediction-only" or "none".
        formula: "leave-one-out" (default), "min3" or "exact" (default of integer ids).
        preset: "vqav2", "textvqa", "vizwiz", "okvqa", "aokvqa" or "gqa": sets the two above where they are None.
        stem: True maps the words of predictions and answers, as they are compared, to Porter stems: for OK-VQA, whose
            answers are stems. A callable changes every prediction before it is normalised. False does neither.
        measure: "vqa_accuracy", "anls" or "relaxed_accuracy".
        ids: Answers are integer ids; `of` says it, and no caller of `compute`.
    """

    normalization: str | None = None
    formula: str | None = None
    preset: str | None = None
    stem: bool | Callable[[str], str] | None = False
    measure: str = "vqa_accuracy"
    ids: bool = False

    NAME = "vqa_accuracy"
    NOT_OPTIONS = ("ids",)

    def protocol(self) -> Protocol:
        """How a score is made.

        Raises:
            ValueError: A name is unknown, or options do not go together.
        """
        return resolve_protocol(self.normalization, self.formula, self.preset, self.measure, self.ids, self.stem)

    def check(self):
        self.protocol()

    def read(self, predictions, references):
        return check_answers(predictions, references)

    def of(self, are_ids):
        return self.replace(ids=are_ids)

    def find(self, predictions, references, encoder=None, details=False, answer_types=None, question_types=None):
        """Accuracies, the mean of each type and, of texts, why answers scored 0.

        Args:
            predictions, references: What `inputs.group_answers` returned.
            encoder: None; answers have nothing in common that is worth keeping.
            details: Adds `prediction` to the samples, as it was compared.
            answer_types, question_types: One str per question; None.
        """
        types = {"per_answer_type": answer_types, "per_question_type": question_types}
        types = {key: check_labels(labels, len(predictions), f"{key[4:]}s") for key, labels in types.items()}
        with_styles = self.measure == "vqa_accuracy" and not self.ids
        found = evaluate_answers(predictions, references, self.protocol(), with_styles, details)
        given = {key: labels for key, labels in types.items() if labels is not None}
        results = {key: score_by_label(found.statistics, labels) for key, labels in given.items()}
        if with_styles:
            results["lost_to_style"] = found.lost_to_style
        samples = {"prediction": found.compared} if details else {}
        return Found(found.statistics, counts_of(references), results, samples)

    def statistics(self, predictions, references, encoder=None):
        """The accuracy of each question.

        Args:
            predictions: One answer per question, str or int (an answer's id).
            references: The answers of each question, see `inputs.check_answers`.
            encoder: None.

        Returns:
            `accuracy` (questions,), or `anls` or `relaxed_accuracy`; 0..1.

        Raises:
            ValueError: A name is unknown, or options do not go together.
            TypeError: An item is of the wrong type.
        """
        return evaluate_answers(predictions, references, self.protocol()).statistics

    def score(self, statistics, weights=None):
        return score(statistics, weights)

    def samples(self, statistics):
        return sample_scores(statistics)

    def settings(self):
        """A preset is written as what it sets."""
        protocol, stem = self.protocol(), self.stem
        return self.measure, {
            "norm": "ids" if self.ids else protocol.normalization,
            "formula": protocol.formula,
            "threshold": ANLS_THRESHOLD if self.measure == "anls" else None,
            "tolerance": TOLERANCE if self.measure == "relaxed_accuracy" else None,
            "stem": _name_of(stem) if callable(stem) else bool(stem),
        }

    def check_set(self, found):
        check_ceiling(found.num_references, self.protocol())


def sample_statistics(
    predictions: Sequence, references: Sequence, *options, encoder=None, **named_options
) -> dict[str, np.ndarray]:
    """What `Scorer(...)` finds: the accuracy of each question.

    Args:
        predictions, references, encoder: See `Scorer.statistics`.
        options, named_options: See `Scorer`.

    Raises:
        ValueError: As `Scorer.statistics`; or every question has a single answer and no formula was named (all would
            score 0).
        TypeError: An item is of the wrong type.

    >>> sample_statistics(["yes", "no"], [["yes"] * 8 + ["no"] * 2] * 2)["accuracy"].round(6).tolist()
    [1.0, 0.6]
    """
    predictions, references = group_answers(predictions, references)
    scorer = Scorer(*options, **named_options).of(is_id(predictions[0]))
    found = Found(scorer.statistics(predictions, references), counts_of(references))
    scorer.check_set(found)
    return found.statistics


class Evaluation(NamedTuple):
    """What one pass over the questions finds.

    Attributes:
        statistics: What `sample_statistics` returns.
        lost_to_style: What `diagnosis.lost_to_style` returns; empty where it was not asked for.
        compared: The predictions as they are compared (under the official protocol this depends on the answers); empty
            where they were not asked for.
    """

    statistics: dict[str, np.ndarray]
    lost_to_style: dict[str, int]
    compared: list


def evaluate_answers(
    predictions: list,
    references: list[list],
    protocol: Protocol,
    with_styles: bool = False,
    with_compared: bool = False,
) -> Evaluation:
    """Statistics, and on request diagnosis and normalised predictions, in one pass over blocks of questions.

    Args:
        predictions, references: What `inputs.group_answers` returned.
        protocol: How to score.
        with_styles, with_compared: What else is to be found.

    Raises:
        ValueError, TypeError: As `sample_statistics`.

    >>> evaluate_answers(["Yes."], [["yes"] * 10], resolve_protocol(), with_compared=True).compared
    ['Yes.']
    """
    parts, styles, texts = [], Counter(), []
    for answers in answer_blocks(predictions, references):
        answers = stemmed(answers, protocol.stem)
        block = compared(answers, protocol)
        parts.append(_block_statistics(block, protocol))
        if with_styles:
            styles.update(lost_to_style(answers, parts[-1]["accuracy"], protocol))
        if with_compared:
            shown = list(map(collapsed, block.texts)) if protocol.measure == "anls" else block.texts
            texts += [shown[i] for i in block.predictions.tolist()]
    statistics = {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}
    return Evaluation(statistics, dict(styles), texts)


def _block_statistics(block: Answers, protocol: Protocol) -> dict[str, np.ndarray]:
    if protocol.measure in _OTHER_MEASURES:
        rate = _OTHER_MEASURES[protocol.measure]
        return {protocol.measure: np.array([rate(*question) for question in questions(block)], float)}
    matches = per_question(agrees(block), block.sizes)
    return {"accuracy": accuracy_of_matches(matches, block.sizes, protocol.formula)}


def stemmed(answers: Answers, stem: bool | Callable[[str], str]) -> Answers:
    """Applies a caller's own stemmer to every prediction; True and False do nothing here (see `protocols.compared`).

    Raises:
        TypeError: It returns no str.

    >>> from .answers import number_answers
    >>> list(questions(stemmed(number_answers(["riding"], ["ride"]), lambda text: text.removesuffix("ing"))))
    [('rid', ['ride'])]
    """
    if isinstance(stem, bool):
        return answers

    def checked_stem(text: str) -> str:
        result = stem(text)
        if not isinstance(result, str):
            raise TypeError(f"stem({text!r}) is {type(result).__name__}, expected str")
        return result

    return change(answers, checked_stem, same)


def check_ceiling(answers: np.ndarray, protocol: Protocol) -> None:
    """Warns, or raises, where leave-one-out leaves too few annotators for a full score.

    Args:
        answers: Number of annotators of each question of the whole set.
        protocol: How it is scored.

    Raises:
        ValueError: Every question has a single answer and no formula was named.
    """
    if protocol.formula != "leave-one-out" or answers.min() > ENOUGH:
        return
    if answers.max() == 1 and not protocol.is_named:
        raise ValueError(
            "every question has a single answer, expected at least 2: leave-one-out leaves each out in turn, so "
            'every score would be 0.0. Pass formula="exact" to compare with single answers.'
        )
    ceiling = accuracy_of_matches(answers, answers, "leave-one-out").mean()
    warnings.warn(
        f"{int((answers <= ENOUGH).sum())} of {len(answers)} questions have fewer than {ENOUGH + 1} answers: under "
        f"leave-one-out no predictions can score above {ceiling:.4f} here (formula='min3' needs three answers for a "
        "full score, 'exact' one)",
        stacklevel=3,
    )


def score(statistics: dict[str, np.ndarray], weights: np.ndarray | None = None) -> dict[str, float | np.ndarray]:
    """The mean over the questions, named after the measure.

    Args:
        statistics: What `sample_statistics` returned; of several shards, joined question by question.
        weights: (resamples, questions), how often each question counts in each resample; None counts all once.

    Returns:
        The measure's name -> 0..1; with weights an array (resamples,).

    >>> score({"accuracy": np.array([1.0, 0.5])})
    {'vqa_accuracy': 0.75}
    """
    means = {_MAIN.get(key, key): mean(values, weights) for key, values in statistics.items()}
    return means if weights is not None else {key: float(value) for key, value in means.items()}


_MAIN = {"accuracy": "vqa_accuracy"}


def sample_scores(statistics: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The score of every question on its own, named as in `score`.

    >>> sample_scores({"accuracy": np.array([1.0, 0.5])})["vqa_accuracy"].tolist()
    [1.0, 0.5]
    """
    return {_MAIN.get(key, key): values for key, values in statistics.items()}


def score_by_label(statistics: dict[str, np.ndarray], labels: Sequence[str]) -> dict[str, dict[str, float | int]]:
    """Mean and number of the questions of each label, labels sorted.

    >>> score_by_label({"accuracy": np.array([1.0, 0.5, 0.0])}, ["number", "other", "other"])["other"]
    {'value': 0.25, 'count': 2}
    """
    (values,) = statistics.values()
    names, of_label = np.unique(np.array(labels, dtype=object), return_inverse=True)
    sums, counts = np.bincount(of_label, values), np.bincount(of_label)
    rows = zip(names.tolist(), sums.tolist(), counts.tolist())
    return {name: {"value": total / count, "count": count} for name, total, count in rows}


def _name_of(stem: Callable) -> str:
    return f"callable:{getattr(stem, '__qualname__', type(stem).__qualname__)}"


def vqa_exact_match(predictions: Sequence, references: Sequence) -> float:
    """The fraction of predictions equal to their reference (or to any of several), answers or answer ids.

    Raises:
        ValueError: The two differ in number, or there is nothing to compare.
        TypeError: Strings and ints are mixed, or an item is neither.

    >>> vqa_exact_match([3, 1, 4], [3, 1, 5]) == 2 / 3
    True
    """
    return score(sample_statistics(predictions, references, normalization="none", formula="exact"))["vqa_accuracy"]
