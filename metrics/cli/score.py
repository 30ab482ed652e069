"""Score files with one or more metrics."""

import argparse
import csv
import json
import sys

from metrics.cli import captions


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics score`."""
    parser.add_argument(
        "metrics",
        nargs="+",
        choices=captions.METRICS,
        metavar="METRIC",
        help=f"one or more of: {', '.join(captions.METRICS)}",
    )
    parser.add_argument(
        "--predictions",
        "--pred_path",
        required=True,
        metavar="FILE",
        help="JSON: a list of {image_id, caption}, or a COCO annotation file",
    )
    parser.add_argument("--references", "--refe_path", required=True, metavar="FILE", help="JSON: the same formats")
    parser.add_argument(
        "--allow-missing", action="store_true", help="leave out ids that only one file has, and say how many"
    )
    parser.add_argument("--per-sample", metavar="CSV", help="write the scores of every sample")
    parser.add_argument("--json", metavar="FILE", help="write all results and the signatures")
    captions.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Scores, prints a table and writes the files asked for; returns the exit code."""
    names = list(dict.fromkeys(options.metrics))
    caption_set, reports = captions.run(names, options)
    if caption_set.left_out:
        print(f"left out {caption_set.left_out} ids that only one file has", file=sys.stderr)
    print(f"{len(caption_set.ids)} images")
    _print_table(reports)
    if options.per_sample:
        _write_samples(options.per_sample, caption_set, reports)
    if options.json:
        content = {report.name: {**report.results, "signature": report.signature} for report in reports}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"num_samples": len(caption_set.ids), **content}, file, indent=2)
            file.write("\n")
    return 0


def _print_table(reports: list[captions.Report]) -> None:
    for report in reports:
        print(f"\n{report.name}  {report.signature}")
        for key, value in report.results.items():
            values = value if isinstance(value, list) else [value]
            shown = "  ".join(f"{item:.6f}" if isinstance(item, float) else str(item) for item in values)
            print(f"  {key:<20} {shown}")


def _write_samples(path: str, caption_set, reports: list[captions.Report]) -> None:
    columns = {"image_id": caption_set.ids, "prediction": caption_set.predictions}
    for report in reports:
        columns.update(report.samples)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
