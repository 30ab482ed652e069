"""Scores VQA results in the official file formats, without importing evaluate (which takes seconds)."""

import argparse
import json
import os
from collections.abc import Callable

from metrics.cli.captions import Report
from metrics.utils.base import reference_counts, signature
from metrics.utils.vqa_files import VqaSet, pair_answers
from metrics.vqa_accuracy import scoring
from metrics.vqa_accuracy.diagnosis import lost_to_style
from metrics.vqa_accuracy.inputs import check_answers, check_labels
from metrics.vqa_accuracy.protocols import FORMULAS, MEASURES, NORMALIZATIONS, PRESETS, resolve_protocol

METRICS = ("vqa_accuracy",)
ITEMS, ID = "questions", "question_id"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of vqa_accuracy."""
    group = parser.add_argument_group("VQA (vqa_accuracy)")
    group.add_argument("--questions", metavar="FILE", help="JSON: the questions file, checked against the others")
    group.add_argument("--preset", choices=list(PRESETS))
    group.add_argument("--normalization", choices=NORMALIZATIONS)
    group.add_argument("--formula", choices=FORMULAS)
    group.add_argument("--measure", default="vqa_accuracy", choices=MEASURES)
    group.add_argument("--percent", action="store_true", help="print percent with the official two decimals")
    group.add_argument("--official-output", metavar="DIR", help="write the four files of the official evaluation")


def run(names: list[str], options: argparse.Namespace) -> tuple[VqaSet, list[Report]]:
    """Reads, checks and scores the files, and writes the official ones where asked for."""
    data = pair_answers(options.predictions, options.references, options.questions, options.allow_missing)
    predictions, references = check_answers(data.predictions, data.references)
    how = {key: getattr(options, key) for key in ("normalization", "formula", "preset", "measure")}
    statistics = scoring.sample_statistics(predictions, references, **how)
    protocol = resolve_protocol(**how)
    results = scoring.score(statistics)
    for key, labels in (("answer_type", data.answer_types), ("question_type", data.question_types)):
        if labels is not None:
            labels = check_labels(labels, len(predictions), f"{key}s")
            results[f"per_{key}"] = scoring.score_by_label(statistics, labels)
    (accuracy,) = statistics.values()
    if options.measure == "vqa_accuracy":
        results["lost_to_style"] = lost_to_style(predictions, references, accuracy, protocol)
    samples = {key: values.tolist() for key, values in scoring.sample_scores(statistics).items()}
    samples["normalized"] = scoring.normalized_predictions(predictions, references, protocol)
    if options.official_output:
        write_official(options.official_output, data, accuracy.tolist())
    name, settings = scoring.signature_settings(**how)
    settings["refs"] = reference_counts(references)
    return data, [Report("vqa_accuracy", results, samples, signature(name, settings))]


def shown_values(options: argparse.Namespace) -> Callable[[str, object], str]:
    """How a value of the results is printed: as a fraction, or in percent."""

    def number(value) -> str:
        if not isinstance(value, float):
            return str(value)
        return f"{round(100 * value, 2):.2f}" if options.percent else f"{value:.6f}"

    def show(key: str, value) -> str:
        if not isinstance(value, dict):
            return number(value)
        rows = (
            f"{label}: {number(item['value'])} ({item['count']})" if isinstance(item, dict) else f"{label}: {item}"
            for label, item in value.items()
        )
        return "".join(f"\n    {row}" for row in rows)

    return show


def write_official(folder: str, data: VqaSet, accuracy: list[float]) -> None:
    """Writes accuracy.json, evalQA.json, evalQuesType.json and evalAnsType.json: percent with two decimals.

    Raises:
        ValueError: The annotations lack question_type or answer_type.
    """
    by_type = {}
    for kind, labels in (("question_type", data.question_types), ("answer_type", data.answer_types)):
        if labels is None:
            raise ValueError(f"the annotations lack {kind} (in some entry), expected it in all for --official-output")
        groups: dict[str, dict] = {}
        for label, question_id, value in zip(labels, data.ids, accuracy):
            groups.setdefault(label, {})[question_id] = value
        by_type[kind] = dict(sorted(groups.items()))
    means = {kind: {k: _percent(_mean(v.values())) for k, v in groups.items()} for kind, groups in by_type.items()}
    files = {
        "accuracy": {
            "overall": _percent(_mean(accuracy)),
            "perAnswerType": means["answer_type"],
            "perQuestionType": means["question_type"],
        },
        "evalQA": _percents(dict(zip(data.ids, accuracy))),
        "evalQuesType": {label: _percents(group) for label, group in by_type["question_type"].items()},
        "evalAnsType": {label: _percents(group) for label, group in by_type["answer_type"].items()},
    }
    os.makedirs(folder, exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(folder, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(content, file)


def _mean(values) -> float:
    values = list(values)
    return sum(values) / len(values)


def _percent(value: float) -> float:
    return round(100 * value, 2)


def _percents(values: dict) -> dict:
    # Sorted as the official files are; ids of one file may be of two types.
    ordered = sorted(values, key=lambda question_id: (isinstance(question_id, str), question_id))
    return {question_id: _percent(values[question_id]) for question_id in ordered}
