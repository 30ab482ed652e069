"""Scores VQA results in the official file formats, without importing evaluate (which takes seconds)."""

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from decimal import ROUND_HALF_UP, Decimal
from functools import reduce
from itertools import islice
from operator import add

from ..files.answers import VqaSet, pair_answers
from ..files.json_text import json_text
from ..utils.scorers import Found, counts_of
from ..utils.shown_text import visible
from ..utils.whole_files import write_text
from ..vqa_accuracy import scoring
from ..vqa_accuracy.answers import agrees, answer_blocks
from ..vqa_accuracy.inputs import group_answers
from ..vqa_accuracy.protocols import (
    ENOUGH,
    FORMULAS,
    MEASURES,
    NORMALIZATIONS,
    PRESETS,
    Protocol,
    compared,
)
from .reports import Report, make_report

METRICS = ("vqa_accuracy",)
ITEMS, ID = "questions", "question_id"
REQUIRED = ("predictions", "references")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of vqa_accuracy."""
    group = parser.add_argument_group("VQA (vqa_accuracy)")
    group.add_argument("--questions", metavar="FILE", help="JSON: the questions file, checked against the others")
    group.add_argument("--preset", choices=list(PRESETS))
    group.add_argument("--normalization", choices=NORMALIZATIONS)
    group.add_argument("--formula", choices=FORMULAS)
    group.add_argument("--measure", default="vqa_accuracy", choices=MEASURES)


def add_output_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds what only `score` has: the official form of the results."""
    group = parser.add_argument_group("VQA, output of score")
    group.add_argument("--percent", action="store_true", help="percent with the official two decimals, not fractions")
    group.add_argument("--official-output", metavar="DIR", help="write the four files of the official evaluation")


def read(path: str, options: argparse.Namespace) -> VqaSet:
    """Reads and checks one file of results, and the annotations."""
    return pair_answers(path, options.references, options.questions, options.allow_missing)


def run(names: list[str], options: argparse.Namespace) -> tuple[VqaSet, list[Report]]:
    """Reads, checks and scores the files, by type too, and writes the official files where asked for."""
    data = read(options.predictions, options)
    own = scorer(names[0], options)
    types = {"answer_types": data.answer_types, "question_types": data.question_types}
    found = own.find(*group_answers(data.predictions, data.references), details=True, **types)
    # The column `prediction` is what was given.
    found = replace(found, samples={"normalized": found.samples["prediction"]})
    report = make_report(own, found, options, clusters(data))
    if options.percent or options.official_output:
        (accuracy,) = found.statistics.values()
        protocol = own.protocol()
        if protocol.formula == "leave-one-out":
            accuracy = _official_sums(data.predictions, data.references, protocol)
        official = official_numbers(data, list(accuracy))
        if options.percent:
            _put_percent(report.results, options.measure, official["accuracy"])
        if options.official_output:
            write_official(options.official_output, official)
    return data, [report]


def measure(names: list[str], data: VqaSet, options: argparse.Namespace) -> list[Report]:
    """Scores answers with the one metric there is."""
    predictions, references = group_answers(data.predictions, data.references)
    own = scorer(names[0], options)
    found = Found(own.statistics(predictions, references), counts_of(references))
    return [make_report(own, found, options, clusters(data))]


def clusters(data: VqaSet) -> list[str] | None:
    """What is resampled as one: the questions of an image, where the annotations name it."""
    return None if data.image_ids is None else list(map(str, data.image_ids))


def scorer(name: str, options: argparse.Namespace) -> scoring.Scorer:
    """The metric with the options of the command line."""
    return scoring.Scorer(**{key: getattr(options, key) for key in scoring.Scorer.options()})


def shown_values(options: argparse.Namespace) -> Callable[[str, object], str]:
    """How a value of the results is printed: as a fraction, or in percent."""

    def number(value) -> str:
        if not isinstance(value, float):
            return str(value)
        return f"{value:.2f}" if options.percent else f"{value:.6f}"

    def show(key: str, value) -> str:
        if not isinstance(value, dict):
            return number(value)
        rows = (
            f"{visible(label)}: "
            + (f"{number(item['value'])} ({item['count']})" if isinstance(item, dict) else str(item))
            for label, item in value.items()
        )
        return "".join(f"\n    {row}" for row in rows)

    return show


def official_numbers(data: VqaSet, accuracy: list[float]) -> dict[str, dict]:
    """What the four files of the official evaluation hold: percent with two decimals, types and ids sorted.

    Returns:
        `accuracy`, `evalQA`, `evalQuesType` and `evalAnsType`; types that the annotations lack are left out.
    """
    by_type: dict[str, dict] = {}
    for kind, labels in (("QuesType", data.question_types), ("AnsType", data.answer_types)):
        for label, question_id, value in zip(labels or (), data.ids, accuracy):
            by_type.setdefault(kind, {}).setdefault(label, {})[question_id] = value
    means = {
        kind: {label: _mean_percent(groups[label].values()) for label in sorted(groups)}
        for kind, groups in by_type.items()
    }
    overall = {"overall": _mean_percent(accuracy)}
    named = {f"per{long}": means[short] for short, long in _LONG.items() if short in means}
    types = {f"eval{kind}": {k: _percents(groups[k]) for k in sorted(groups)} for kind, groups in by_type.items()}
    return {"accuracy": {**overall, **named}, "evalQA": _percents(dict(zip(data.ids, accuracy))), **types}


_HUNDREDTH = Decimal("0.01")
_LONG = {"AnsType": "AnswerType", "QuesType": "QuestionType"}


def _official_sums(predictions: list, references: list[list], protocol: Protocol) -> Iterator[float]:
    """The accuracies under leave-one-out, added up annotator by annotator.

    The official evaluation adds thirds in this order, and where a mean lies between two hundredths, the last bit
    decides how it is rounded.
    """
    for answers in answer_blocks(predictions, references):
        flags = iter(agrees(compared(answers, protocol)).tolist())
        for size in answers.sizes.tolist():
            agree = list(islice(flags, size))
            matches = sum(agree)
            yield _sum(min(1.0, (matches - one) / ENOUGH) for one in agree) / size


def _sum(values: Iterable[float]) -> float:
    # From Python 3.12 on, sum() of floats is compensated: other last bits.
    return reduce(add, values, 0.0)


def _mean_percent(values: Iterable[float]) -> float:
    values = list(values)
    return _two_decimals(100 * _sum(values) / len(values))


def _two_decimals(value: float) -> float:
    """Rounds halves up, as Python 2 does, in which the official files are written: 52.625 is 52.63."""
    return float(Decimal(value).quantize(_HUNDREDTH, ROUND_HALF_UP))


def _percents(values: dict) -> dict:
    # Ids of one file may be of two types.
    ordered = sorted(values, key=lambda question_id: (isinstance(question_id, str), question_id))
    return {question_id: _two_decimals(100 * values[question_id]) for question_id in ordered}


def _put_percent(results: dict, measure: str, accuracy: dict) -> None:
    results[measure] = accuracy["overall"]
    for key, bounds in results.get("confidence_interval", {}).items():
        results["confidence_interval"][key] = [100 * bound for bound in bounds]
    for key, official in (("per_answer_type", "perAnswerType"), ("per_question_type", "perQuestionType")):
        for label, value in accuracy.get(official, {}).items():
            results[key][label]["value"] = value


def write_official(folder: str, numbers: dict[str, dict]) -> None:
    """Writes accuracy.json, evalQA.json, evalQuesType.json and evalAnsType.json.

    Raises:
        ValueError: The annotations lack question_type or answer_type.
    """
    missing = [
        name
        for kind, name in (("QuesType", "question_type"), ("AnsType", "answer_type"))
        if f"eval{kind}" not in numbers
    ]
    if missing:
        raise ValueError(f"annotations lack {' and '.join(missing)}, expected in every entry for --official-output")
    os.makedirs(folder, exist_ok=True)
    for name, content in numbers.items():
        write_text(os.path.join(folder, f"{name}.json"), json_text(content, indent=None))
