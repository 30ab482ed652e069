"""Compare systems on the same samples: intervals, paired tests, and where they differ most."""

import argparse
import json
import os
import sys
from collections import Counter
from collections.abc import Sequence

import numpy as np

from metrics.cli import captions, entity, reports, vqa
from metrics.cli.comparison_text import markdown, terminal
from metrics.cli.pictures import Pictures
from metrics.cli.report_page import page
from metrics.utils.resampling import approximate_randomization, holm, paired_bootstrap

FAMILIES = (captions, vqa, entity)
METRICS = [name for family in FAMILIES for name in family.METRICS]

# Scores of one sample that are equal on paper.
_TIE = 1e-12
_WORST_OF_PAGE = 20
_HALF_BINS = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics compare`."""
    parser.add_argument(
        "--predictions",
        nargs="+",
        required=True,
        metavar="FILE",
        help="one file per system, as in score; the others are compared with the first",
    )
    reports.add_arguments(parser, METRICS, confidence_level=0.95)
    parser.add_argument(
        "--test",
        default="bootstrap",
        choices=["bootstrap", "randomization"],
        help="what p-values are of: paired bootstrap (default) or approximate randomization",
    )
    parser.add_argument(
        "--worst", type=int, metavar="N", help="list the N samples with the largest differences (--html: 20)"
    )
    parser.add_argument("--markdown", metavar="FILE", help="write the tables")
    parser.add_argument("--json", metavar="FILE", help="write all numbers")
    parser.add_argument("--html", metavar="FILE", help="write one page with tables, plots and samples")
    parser.add_argument("--images", metavar="DIR", help="put the pictures of this folder into the page")
    for family in FAMILIES:
        family.add_arguments(parser)


def run(options: argparse.Namespace) -> int:
    """Compares, prints a table and writes the files asked for; returns the exit code."""
    _check(options)
    pictures = Pictures(options.images, options.references) if options.images else None
    names = list(dict.fromkeys(options.metrics))
    family = reports.pick_family(FAMILIES, names)
    reports.check_required(family, options)
    sets = _read(family, options)
    found = [family.measure(names, data, options) for data in sets]
    comparison = {
        "num_samples": len(sets[0].ids),
        "items": family.ITEMS,
        "id": family.ID,
        **{key: getattr(options, key) for key in ("confidence_level", "n_resamples", "seed", "test")},
        "clusters": _count(family.clusters(sets[0])),
        "metrics": {
            name: _compare([system[place] for system in found], family, sets, options)
            for place, name in enumerate(names)
        },
    }
    print(terminal(comparison, bool(options.worst)))
    _write(options, comparison, pictures)
    return 0


def _check(options: argparse.Namespace) -> None:
    if len(options.predictions) < 2:
        raise ValueError(f"--predictions has {len(options.predictions)} file, expected at least 2 to compare")
    if options.worst is not None and options.worst < 1:
        raise ValueError(f"--worst is {options.worst}, expected at least 1")
    if options.images and not options.html:
        raise ValueError("--images goes into a page, expected --html FILE too")


def _read(family, options: argparse.Namespace) -> list:
    """The samples that all files have, in the order of the first."""
    sets = [family.read(path, options) for path in options.predictions]
    for path, data in zip(options.predictions, sets):
        if data.left_out:
            print(f"{path}: left out {data.left_out} ids that only one file has", file=sys.stderr)
    shared = set(sets[0].ids).intersection(*(data.ids for data in sets[1:]))
    if not shared:
        raise ValueError(f"{', '.join(options.predictions)} have no {family.ID} in common")
    ids = [sample for sample in sets[0].ids if sample in shared]
    return [_select(data, ids) for data in sets]


def _select(data, ids: list):
    """The samples with these ids, in their order."""
    row_of = {sample: row for row, sample in enumerate(data.ids)}
    rows = [row_of[sample] for sample in ids]
    columns = {key: values for key, values in data._asdict().items() if isinstance(values, list)}
    return data._replace(**{key: [values[row] for row in rows] for key, values in columns.items()})


def _count(clusters: Sequence | None) -> int | None:
    return None if clusters is None else len(set(clusters))


def _compare(found: list[reports.Report], family, sets: list, options: argparse.Namespace) -> dict:
    """One metric: a row per system, and the samples where two systems differ most."""
    key = next(iter(found[0].results))
    systems = [
        {"name": name, "score": report.results[key], "confidence_interval": report.results["confidence_interval"][key]}
        for name, report in zip(_system_names(options.predictions), found)
    ]
    worst = options.worst or (_WORST_OF_PAGE if options.html else 0)
    for system, report, data in zip(systems[1:], found[1:], sets[1:]):
        differences = np.subtract(report.samples[key], found[0].samples[key])
        system.update(_test(found[0], report, key, family.clusters(data), options))
        system.update(_wins(differences), histogram=_histogram(differences))
        samples = [found[0].samples[key], report.samples[key]]
        system["worst"] = _largest(differences, samples, sets[0], data, worst)
    if len(systems) > 2:
        for system, p_value in zip(systems[1:], holm([system["p_value"] for system in systems[1:]])):
            system["p_value_holm"] = p_value
    return {"key": key, "signature": found[0].signature, "systems": systems}


def _system_names(paths: Sequence[str]) -> list[str]:
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    times = Counter(names)
    return [name if times[name] == 1 else path for name, path in zip(names, paths)]


def _test(first: reports.Report, second: reports.Report, key: str, clusters, options: argparse.Namespace) -> dict:
    pair, how = (first.statistics, second.statistics), (options.n_resamples, options.seed, clusters)
    result = paired_bootstrap(first.score, *pair, options.confidence_level, *how)[key]
    if options.test == "randomization":
        result["p_value"] = approximate_randomization(first.score, *pair, *how)[key]["p_value"]
    result["difference_interval"] = result.pop("confidence_interval")
    return result


def _wins(differences: np.ndarray) -> dict:
    wins, losses = int((differences > _TIE).sum()), int((differences < -_TIE).sum())
    return {"wins": wins, "ties": len(differences) - wins - losses, "losses": losses}


def _histogram(differences: np.ndarray) -> dict:
    """Counts of the differences that are no ties; 0 is an edge, so that no bin mixes wins and losses."""
    changed = differences[np.abs(differences) > _TIE]
    limit = np.abs(changed).max(initial=0) or 1.0
    counts, edges = np.histogram(changed, np.linspace(-limit, limit, 2 * _HALF_BINS + 1))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _largest(differences: np.ndarray, samples: list[list], first, second, most: int) -> list[dict]:
    """The samples that differ most, in either direction; equal ones in the order of the first file."""
    order = np.argsort(-np.abs(differences), kind="stable")[:most]
    return [
        {
            "id": first.ids[row],
            "image_id": first.image_ids[row] if getattr(first, "image_ids", None) else first.ids[row],
            "difference": float(differences[row]),
            "scores": [samples[0][row], samples[1][row]],
            "predictions": [first.predictions[row], second.predictions[row]],
            "references": first.references[row],
        }
        for row in order.tolist()
        if abs(differences[row]) > _TIE
    ]


def _write(options: argparse.Namespace, comparison: dict, pictures: Pictures | None) -> None:
    if options.markdown:
        _write_text(options.markdown, markdown(comparison, bool(options.worst)))
    if options.json:
        _write_text(options.json, json.dumps(comparison, indent=2))
    if options.html:
        _write_text(options.html, page(comparison, pictures))


def _write_text(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8", errors="backslashreplace") as file:
        file.write(text + "\n")
