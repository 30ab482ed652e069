"""Compare systems on the same samples: intervals, paired tests, and where they differ most."""

import argparse
import os
import sys
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..files.captions import never_meet
from ..files.json_text import json_text, without_nan
from ..utils.paired_tests import approximate_randomization, holm, paired_bootstrap, tries_all_swaps
from ..utils.resampling import FEW_UNITS, confidence_interval, count_units, few_note
from ..utils.shown_text import visible
from ..utils.whole_files import write_text
from . import captions, entity, reports, vqa
from .comparison_text import markdown, terminal
from .pictures import Pictures
from .report_page import page

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
        choices=["bootstrap", "randomization"],
        help="what p-values are of: paired bootstrap, or approximate randomization; default: the bootstrap, but "
        f"randomization where fewer than {FEW_UNITS} samples (VQA: images) are compared",
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
    if pictures:
        pictures.check_some(getattr(sets[0], "image_ids", None) or sets[0].ids)
    found = [family.measure(names, data, options) for data in sets]
    of_metrics = dict(zip(names, zip(*found)))
    clusters = family.clusters(sets[0])
    sizes = [_units(pair.rows, clusters) for group in of_metrics.values() for pair in _pairs(group)]
    fewest = min((size for size in sizes if size > 1), default=FEW_UNITS)
    test = options.test or ("randomization" if fewest < FEW_UNITS else "bootstrap")
    comparison = {
        "num_samples": len(sets[0].ids),
        "items": family.ITEMS,
        "id": family.ID,
        **{key: getattr(options, key) for key in ("confidence_level", "n_resamples", "seed")},
        "test": test,
        "note": _note(fewest, clusters, family, options.test),
        "unscored": getattr(family, "UNSCORED", ""),
        "clusters": None if clusters is None else count_units(len(clusters), clusters),
        "metrics": {name: _compare(group, family, sets, options, test) for name, group in of_metrics.items()},
    }
    comparison = without_nan(comparison)
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
            print(f"{visible(path)}: left out {data.left_out} ids that only one file has", file=sys.stderr)
    shared = set(sets[0].ids).intersection(*(data.ids for data in sets[1:]))
    if not shared:
        sides = {path: [*map(str, data.ids)] for path, data in zip(options.predictions, sets)}
        raise ValueError(never_meet(sides, family.ID))
    ids = [sample for sample in sets[0].ids if sample in shared]
    return [_select(data, ids) for data in sets]


def _select(data, ids: list):
    """The samples with these ids, in their order."""
    row_of = {sample: row for row, sample in enumerate(data.ids)}
    rows = [row_of[sample] for sample in ids]
    columns = {key: values for key, values in data._asdict().items() if isinstance(values, list)}
    return data._replace(**{key: [values[row] for row in rows] for key, values in columns.items()})


class Pair(NamedTuple):
    """A system beside the first: the rows that both score, and how many rows are left out, by whom."""

    first: reports.Report
    second: reports.Report
    rows: np.ndarray
    left_out: dict[str, int]


def _pairs(found: Sequence[reports.Report]) -> list[Pair]:
    """Every other system beside the first, each pair on what both of them score."""
    first, *others = found
    return [_pair(first, second) for second in others]


def _pair(first: reports.Report, second: reports.Report) -> Pair:
    one, other = (np.isnan(_samples(report)) for report in (first, second))
    counts = {"first": one & ~other, "second": other & ~one, "both": one & other}
    left_out = {who: int(rows.sum()) for who, rows in counts.items()}
    return Pair(first, second, np.flatnonzero(~(one | other)), left_out)


def _samples(report: reports.Report) -> np.ndarray:
    """The main score of every sample, NaN where the metric leaves it out."""
    return np.asarray(report.samples[_key(report)], float)


def _key(report: reports.Report) -> str:
    return next(iter(report.results))


def _units(rows: np.ndarray, clusters: Sequence | None) -> int:
    """How many samples (clusters) these rows are."""
    return count_units(len(rows), _chosen(clusters, rows)) if len(rows) else 0


def _chosen(clusters: Sequence | None, rows: np.ndarray) -> list | None:
    return None if clusters is None else [clusters[row] for row in rows.tolist()]


def _note(fewest: int, clusters: Sequence | None, family, test: str | None) -> str:
    """One sentence where few samples are compared: what that means for intervals and p-values."""
    note = few_note(fewest, family.ITEMS if clusters is None else "whole images")
    tests = {None: "p-values are of randomization", "randomization": "", "bootstrap": "p-values too small"}
    return ", and ".join(filter(None, [note, note and tests[test]]))


def _compare(found: Sequence[reports.Report], family, sets: list, options: argparse.Namespace, test: str) -> dict:
    """One metric: a row per system, and the samples where two systems differ most."""
    key = _key(found[0])
    clusters = family.clusters(sets[0])
    systems = [
        {"name": name, **_own(report, key, clusters, options)}
        for name, report in zip(_system_names(options.predictions), found)
    ]
    worst = options.worst or (_WORST_OF_PAGE if options.html else 0)
    for system, pair, data in zip(systems[1:], _pairs(found), sets[1:]):
        samples = [_samples(report)[pair.rows] for report in (pair.first, pair.second)]
        differences = samples[1] - samples[0]
        system.update(num_compared=len(pair.rows), left_out=pair.left_out)
        system.update(_test(pair, key, clusters, options, test))
        system.update(_wins(differences), histogram=_histogram(differences))
        system["worst"] = _largest(differences, samples, pair.rows, sets[0], data, worst)
    if len(systems) > 2:
        tested = [system for system in systems[1:] if system["p_value"] is not None]
        for system, p_value in zip(tested, holm([system["p_value"] for system in tested])):
            system["p_value_holm"] = p_value
    return {"key": key, "signature": found[0].signature, "systems": systems}


def _own(report: reports.Report, key: str, clusters: Sequence | None, options: argparse.Namespace) -> dict:
    """A system's score, the number of samples that it is over, and its interval on resamples of these."""
    scored = np.flatnonzero(~np.isnan(_samples(report)))
    result = {"score": report.results[key], "confidence_interval": None, "num_scored": len(scored)}
    if len(scored) == len(_samples(report)):
        result["confidence_interval"] = report.results["confidence_interval"][key]
    elif _units(scored, clusters) > 1:
        # Resamples of all samples may hold none that has a score.
        how = (options.confidence_level, options.n_resamples, options.seed, _chosen(clusters, scored))
        found = confidence_interval(report.scorer.score, _rows(report.found.statistics, scored), *how)
        result["confidence_interval"] = found[key]
    return result


def _system_names(paths: Sequence[str]) -> list[str]:
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    times = Counter(names)
    return [name if times[name] == 1 else path for name, path in zip(names, paths)]


def _test(pair: Pair, key: str, clusters: Sequence | None, options: argparse.Namespace, test: str) -> dict:
    """Both scores on what both systems score, their difference, its interval and p-value; None where too little is."""
    one, other = (_rows(report.found.statistics, pair.rows) for report in (pair.first, pair.second))
    result = {"compared_scores": None, "difference": None, "p_value": None, "difference_interval": None}
    if not len(pair.rows):
        return result
    scores = [float(report.scorer.score(chosen)[key]) for report, chosen in ((pair.first, one), (pair.second, other))]
    result.update(compared_scores=scores, difference=scores[1] - scores[0])
    units = _units(pair.rows, clusters)
    if units < 2:
        return result
    how = (options.n_resamples, options.seed, _chosen(clusters, pair.rows))
    found = paired_bootstrap(pair.first.scorer.score, one, other, options.confidence_level, *how)[key]
    if test == "randomization":
        found["p_value"] = approximate_randomization(pair.first.scorer.score, one, other, *how)[key]["p_value"]
        result["exact"] = tries_all_swaps(units, options.n_resamples)
    return {**result, "difference_interval": found.pop("confidence_interval"), **found}


def _rows(statistics: dict, rows: np.ndarray) -> dict:
    return {key: values[rows] for key, values in statistics.items()}


def _wins(differences: np.ndarray) -> dict:
    wins, losses = int((differences > _TIE).sum()), int((differences < -_TIE).sum())
    return {"wins": wins, "ties": len(differences) - wins - losses, "losses": losses}


def _histogram(differences: np.ndarray) -> dict:
    """Counts of the differences that are no ties; 0 is an edge, so that no bin mixes wins and losses."""
    changed = differences[np.abs(differences) > _TIE]
    limit = np.abs(changed).max(initial=0) or 1.0
    counts, edges = np.histogram(changed, np.linspace(-limit, limit, 2 * _HALF_BINS + 1))
    return {"edges": edges.tolist(), "counts": counts.tolist()}


def _largest(differences: np.ndarray, samples: list, rows: np.ndarray, first, second, most: int) -> list[dict]:
    """The samples that differ most, in either direction; equal ones in the order of the first file.

    Args:
        differences, samples: (compared,): second minus first, and the scores of each.
        rows: (compared,): the row of each in both sets.
        first, second: The two sets.
        most: How many are taken.
    """
    order = np.argsort(-np.abs(differences), kind="stable")[:most]
    return [
        {
            "id": first.ids[row],
            "image_id": first.image_ids[row] if getattr(first, "image_ids", None) else first.ids[row],
            "difference": float(differences[place]),
            "scores": [float(samples[0][place]), float(samples[1][place])],
            "predictions": [first.predictions[row], second.predictions[row]],
            "references": first.references[row],
        }
        for place, row in zip(order.tolist(), rows[order].tolist())
        if abs(differences[place]) > _TIE
    ]


def _write(options: argparse.Namespace, comparison: dict, pictures: Pictures | None) -> None:
    if options.markdown:
        write_text(options.markdown, markdown(comparison, bool(options.worst)) + "\n")
    if options.json:
        write_text(options.json, json_text(comparison) + "\n")
    if options.html:
        write_text(options.html, page(comparison, pictures) + "\n")
