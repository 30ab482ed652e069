"""Score files with one or more metrics."""

import argparse
import csv
import json
import sys
from collections.abc import Callable

from metrics.cli import captions, entity, reports, vqa

FAMILIES = (captions, vqa, entity)
METRICS = [name for family in FAMILIES for name in family.METRICS]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics score`."""
    parser.add_argument(
        "--predictions",
        "--pred_path",
        required=True,
        metavar="FILE",
        help="JSON: a list of {image_id, caption} (VQA: {question_id, answer}), or an annotation file",
    )
    reports.add_arguments(parser, METRICS, confidence_level=None)
    parser.add_argument("--per-sample", metavar="CSV", help="write the scores of every sample")
    parser.add_argument("--json", metavar="FILE", help="write all results and the signatures")
    for family in FAMILIES:
        family.add_arguments(parser)
    vqa.add_output_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Scores, prints a table and writes the files asked for; returns the exit code."""
    names = list(dict.fromkeys(options.metrics))
    family = reports.pick_family(FAMILIES, names)
    data, found = family.run(names, options)
    if data.left_out:
        print(f"left out {data.left_out} ids that only one file has", file=sys.stderr)
    print(f"{len(data.ids)} {family.ITEMS}")
    _print_table(found, family.shown_values(options))
    if options.per_sample:
        _write_samples(options.per_sample, family.ID, data, found)
    if options.json:
        content = {report.name: {**report.results, "signature": report.signature} for report in found}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"num_samples": len(data.ids), **content}, file, indent=2)
            file.write("\n")
    return 0


def _print_table(found: list[reports.Report], show: Callable[[str, object], str]) -> None:
    for report in found:
        print(f"\n{report.name}  {report.signature}")
        intervals = report.results.get("confidence_interval", {})
        for key, value in report.results.items():
            if value is intervals:
                continue
            bounds = intervals.get(key, []) if not isinstance(value, list) else []
            interval = f"  [{', '.join(show(key, bound) for bound in bounds)}]" if bounds else ""
            print(f"  {key:<20} {show(key, value)}{interval}")
        if report.last_line:
            print(report.last_line)


def _write_samples(path: str, id_name: str, data, found: list[reports.Report]) -> None:
    columns = {id_name: data.ids, "prediction": data.predictions}
    for report in found:
        columns.update(report.samples)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
