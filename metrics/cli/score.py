"""Score files with one or more metrics."""

import argparse
import csv
import json
import sys
from collections.abc import Callable

from metrics.cli import captions, retrieval, vqa

_FAMILIES = (captions, vqa, retrieval)
_METRICS = [name for family in _FAMILIES for name in family.METRICS]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics score`."""
    parser.add_argument(
        "metrics",
        nargs="+",
        choices=_METRICS,
        metavar="METRIC",
        help=f"one or more of: {', '.join(_METRICS)}",
    )
    parser.add_argument(
        "--predictions",
        "--pred_path",
        metavar="FILE",
        help="JSON: a list of {image_id, caption} (VQA: {question_id, answer}), or an annotation file",
    )
    parser.add_argument(
        "--references",
        "--refe_path",
        metavar="FILE",
        help="JSON: the same formats (VQA: an annotation file; retrieval: per image, its list of texts)",
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="leave out ids that only one file has, and say how many"
    )
    parser.add_argument("--per-sample", metavar="CSV", help="write the scores of every sample")
    parser.add_argument("--json", metavar="FILE", help="write all results and the signatures")
    for family in _FAMILIES:
        family.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Scores, prints a table and writes the files asked for; returns the exit code."""
    names = list(dict.fromkeys(options.metrics))
    families = [family for family in _FAMILIES if set(names) & set(family.METRICS)]
    if len(families) > 1:
        kinds = " or ".join(", ".join(family.METRICS) for family in families)
        raise ValueError(f"metrics are {', '.join(names)}, expected all of one kind: {kinds}")
    (family,) = families
    missing = [f"--{name}" for name in family.REQUIRED if getattr(options, name) is None]
    if missing:
        raise ValueError(f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing, expected for "
                         f"{', '.join(names)}")  # fmt: skip
    data, reports = family.run(names, options)
    if data.left_out:
        print(f"left out {data.left_out} ids that only one file has", file=sys.stderr)
    print(f"{len(data.ids)} {family.ITEMS}")
    _print_table(reports, family.shown_values(options))
    if options.per_sample:
        _write_samples(options.per_sample, family.ID, data, reports)
    if options.json:
        content = {report.name: {**report.results, "signature": report.signature} for report in reports}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"num_samples": len(data.ids), **content}, file, indent=2)
            file.write("\n")
    return 0


def _print_table(reports: list[captions.Report], show: Callable[[str, object], str]) -> None:
    for report in reports:
        print(f"\n{report.name}  {report.signature}")
        for key, value in report.results.items():
            print(f"  {key:<20} {show(key, value)}")


def _write_samples(path: str, id_name: str, data, reports: list[captions.Report]) -> None:
    columns = {id_name: data.ids}
    if data.predictions is not None:
        columns["prediction"] = data.predictions
    for report in reports:
        columns.update(report.samples)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
