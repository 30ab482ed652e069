"""Score files with one or more metrics."""

import argparse
import sys
from collections.abc import Callable
from functools import partial

import numpy as np

from ..files.json_text import json_text
from ..files.statistics import write_rows
from ..utils.shown_text import visible
from ..utils.whole_files import write_text
from . import captions, entity, reports, retrieval, shards, vqa

FAMILIES = (captions, vqa, retrieval, entity)
METRICS = [name for family in FAMILIES for name in family.METRICS]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics score`."""
    parser.add_argument(
        "--predictions",
        "--pred_path",
        metavar="FILE",
        help="JSON: a list of {image_id, caption} (VQA: {question_id, answer}), or an annotation file; or shards, "
        "'DIR/*.parquet' or 'DIR/*.jsonl'",
    )
    reports.add_arguments(parser, METRICS, confidence_level=None)
    parser.add_argument(
        "--per-sample", metavar="FILE", help="write the scores of every sample: .parquet, .jsonl, or else CSV"
    )
    parser.add_argument("--json", metavar="FILE", help="write all results and the signatures")
    for family in FAMILIES:
        family.add_arguments(parser)
    vqa.add_output_arguments(parser)
    shards.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Scores, prints a table and writes the files asked for; returns the exit code."""
    names = list(dict.fromkeys(options.metrics))
    family = reports.pick_family(FAMILIES, names)
    in_shards = shards.check(family, options)
    if not in_shards:
        reports.check_required(family, options)
    data, found = (partial(shards.run, family) if in_shards else family.run)(names, options)
    if data.left_out:
        print(f"left out {data.left_out} ids that only one file has", file=sys.stderr)
    print(f"{len(data.ids)} {family.ITEMS}")
    _print_table(found, family.shown_values(options))
    if options.per_sample and not in_shards:
        _write_samples(options.per_sample, family.ID, data, found)
    if options.json:
        content = {report.name: {**report.results, "signature": report.signature} for report in found}
        write_text(options.json, json_text({"num_samples": len(data.ids), **content}) + "\n")
    return 0


def _print_table(found: list[reports.Report], show: Callable[[str, object], str]) -> None:
    for report in found:
        print(f"\n{report.name}  {visible(report.signature)}")
        intervals = report.results.get("confidence_interval", {})
        for key, value in report.results.items():
            if value is intervals:
                continue
            bounds = intervals.get(key, []) if not isinstance(value, list) else []
            interval = f"  [{', '.join(show(key, bound) for bound in bounds)}]" if bounds else ""
            print(f"  {key:<20} {show(key, value)}{interval}")
        if report.note:
            print(report.note)
        if report.last_line:
            print(report.last_line)


def _write_samples(path: str, id_name: str, data, found: list[reports.Report]) -> None:
    columns = {id_name: data.ids}
    if data.predictions is not None:
        columns["prediction"] = data.predictions
    for report in found:
        columns.update(report.samples)
    # As objects, numbers are written as they are and texts take no more room than their own.
    write_rows(path, [{name: np.array(values, object) for name, values in columns.items()}])
