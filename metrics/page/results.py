"""How the pages show results: numbers with intervals, marked texts, histograms, tables, and the call in Python."""

import os
from collections.abc import Iterable, Sequence
from pprint import pformat

import gradio as gr
import pandas as pd

from .escaping import as_html, as_sentence

_BINS = 10
# The least number of samples on the histogram's axis, so that it counts in whole ones.
_LEAST_HEIGHT = 5
# Marked pieces of a text in an explanation and in a cell of the table, characters of a cell; numbers beside a score.
_MOST_PIECES, _PIECES_OF_CELL, _LONGEST_CELL, _MOST_NUMBERS = 1000, 100, 500, 200

CSS = """
.gradio-container { max-width: 1100px !important; width: 100% !important; margin: 0 auto !important; }
.scores { display: flex; flex-wrap: wrap; gap: 12px 28px; align-items: center; }
.scores .main { min-width: 9rem; }
.scores .main b { display: block; font-size: 2.6rem; line-height: 1.1; font-variant-numeric: tabular-nums; }
.scores small, .why small { opacity: .72; }
.scores table, .why table { border: 0 !important; border-collapse: collapse; margin: 0; }
.scores table { flex: 1 1 300px; font-variant-numeric: tabular-nums; font-size: .9rem; }
.why table { width: 100%; }
.scores tr, .why tr { border: 0 !important; border-bottom: 1px solid var(--border-color-primary) !important; }
.scores td, .why td, .why th { padding: 3px 10px 3px 0; text-align: left; vertical-align: top; border: 0 !important; }
.why { line-height: 1.9; overflow-wrap: anywhere; }
.why th { white-space: nowrap; font-weight: 600; }
.mark { padding: 1px 5px; border-radius: 5px; margin-right: 1px; display: inline-block; line-height: 1.45; }
.mark.miss { background: rgba(220, 60, 50, .16); text-decoration: underline dotted rgb(220, 60, 50); }
.mark.hit, .mark.hit1 { background: rgba(20, 150, 90, .14); }
.mark.hit2 { background: rgba(20, 150, 90, .27); }
.mark.hit3 { background: rgba(20, 150, 90, .42); }
.mark.hit4 { background: rgba(20, 150, 90, .60); }
@media (max-width: 640px) { [role=gridcell] *, [role=columnheader] * { font-size: 12px !important; } }
"""


class Marked(list):
    """A text as (piece, mark) pairs; a mark is "", "miss", "hit", or "hit1" ... "hit4" by the order of the n-gram.

    >>> str(Marked([("a", "hit"), ("cat", "miss")]))
    'a ✗cat'
    """

    def html(self, most: int = _MOST_PIECES) -> str:
        """Coloured; what is missed is underlined too, since not everybody sees colours. Says how many are left out."""
        more = [f"<small>and {len(self) - most} more</small>"] if len(self) > most else []
        return " ".join([*(mark_html(text, mark) for text, mark in self[:most]), *more])

    def __str__(self):
        return " ".join(f"✗{text}" if mark == "miss" else text for text, mark in self)


def mark_html(text: str, mark: str, note: str = "") -> str:
    """One marked piece, with a note in small print."""
    small = f" <small>{as_html(note)}</small>" if note else ""
    return f'<span class="mark {mark}">{as_html(text)}{small}</span>'


def why_html(title: str, note: str, rows: dict[str, str]) -> str:
    """An explanation: a heading with a note, and a row per name. Note and rows are HTML already."""
    cells = "".join(f"<tr><th>{as_html(name)}</th><td>{value}</td></tr>" for name, value in rows.items())
    head = f"<b>Why: {as_html(title)}</b> <small>{note}</small>"
    return f'<div class="why">{head}<table>{cells}</table></div>'


def scores_html(results: dict, of_what: str, notes: Iterable[str]) -> str:
    """The score in large digits, all other numbers beside it, and the metric's warnings below."""
    rows = {name: (value, interval) for name, value, interval in flat(results)}
    main = next(iter(rows))
    value, interval = rows.pop(main)
    cells = "".join(
        f"<tr><td>{as_html(name)}</td><td>{number(value)}</td><td><small>{_interval(interval)}</small></td></tr>"
        for name, (value, interval) in list(rows.items())[:_MOST_NUMBERS]
    )
    if len(rows) > _MOST_NUMBERS:
        cells += f"<tr><td>and {len(rows) - _MOST_NUMBERS} more, in the results below</td><td></td><td></td></tr>"
    large = f"<small>{as_html(main)} of {of_what}</small><b>{number(value)}</b><small>{_interval(interval)}</small>"
    told = "".join(f"<p>⚠ {as_html(as_sentence(note))}</p>" for note in dict.fromkeys(notes))
    return f'<div class="scores"><div class="main">{large}</div><table>{cells}</table></div>{told}'


def flat(results: dict) -> Iterable[tuple[str, object, object]]:
    """Names, values and intervals of all numbers in results; nested names are joined by blanks, counts in brackets.

    >>> list(flat({"a": 1.0, "confidence_interval": {"a": [0.5, 2.0]}, "b": {"c": 3}}))
    [('a', 1.0, [0.5, 2.0]), ('b c', 3, None)]
    >>> list(flat({"per_type": {"other": {"value": 0.5, "count": 7}}}))
    [('per_type other (7)', 0.5, None)]
    """
    intervals = results.get("confidence_interval", {})
    for key, value in results.items():
        if key in ("confidence_interval", "per_sample"):
            continue
        if isinstance(value, dict) and value.keys() == {"value", "count"}:
            yield f"{key} ({value['count']})", value["value"], None
        elif isinstance(value, dict):
            yield from ((f"{key} {name}", inner, None) for name, inner, _ in flat(value))
        else:
            yield key, value, intervals.get(key)


def number(value) -> str:
    """Four digits of a float, or of all in a list.

    >>> number([0.25, 1 / 3])
    '0.2500 0.3333'
    """
    if isinstance(value, list):
        return " ".join(map(number, value))
    return f"{value:.4f}" if isinstance(value, float) else as_html(value)


def _interval(interval) -> str:
    if not interval:
        return ""
    if isinstance(interval[0], list):
        return " ".join(map(_interval, interval))
    return f"[{number(interval[0])}, {number(interval[1])}]"


def histogram(scores: Sequence[float], x: str, y: str) -> gr.BarPlot:
    """How many samples score in each tenth of the range; NaN is left out."""
    scores = pd.Series(scores, dtype=float).dropna()
    low, high = (scores.min(), scores.max()) if len(scores) else (0.0, 1.0)
    if low == high:
        low, high = low - 0.05, high + 0.05
    edges = [low + (high - low) * place / _BINS for place in range(_BINS + 1)]
    # Rounding must not leave the largest score outside.
    edges[-1] = high + 1e-9
    counts = pd.cut(scores, edges, right=False).value_counts(sort=False).to_numpy()
    frame = pd.DataFrame({x: _short(edges[:-1]), y: counts})
    return gr.BarPlot(frame, y_lim=[0, max(_LEAST_HEIGHT, int(counts.max()))])


def _short(values: Sequence[float]) -> list[str]:
    """Numbers with as few digits as tell them apart."""
    texts = ([f"{value:.{digits}g}" for value in values] for digits in range(2, 18))
    return next(shown for shown in texts if len(set(shown)) == len(values))


def results_table(columns: dict[str, list], label: str) -> gr.Dataframe:
    """A table of columns of numbers, texts and `Marked` texts; numbers sort as such, long cells are cut."""
    rows = [[_cell(value) for value in row] for row in zip(*columns.values())]
    kinds = [_kind(values[0]) for values in columns.values()]
    # Few columns share the width; many are scrolled.
    others = len(columns) - 2
    widths = ["16%", "19%", *[f"{65 // others}%"] * others] if others in (1, 2) else None
    return gr.Dataframe({"headers": list(columns), "data": rows}, datatype=kinds, column_widths=widths, label=label)


def _cell(value):
    if isinstance(value, Marked):
        return value.html(_PIECES_OF_CELL)
    if isinstance(value, str) and len(value) > _LONGEST_CELL:
        return f"{value[:_LONGEST_CELL]} ..."
    return round(value, 4) if isinstance(value, float) else value


def _kind(value) -> str:
    return "html" if isinstance(value, Marked) else "number" if isinstance(value, int | float) else "str"


def python_call(name: str, arguments: dict, options: dict, code: dict[str, str], from_file: bool) -> str:
    """Python that gives the page's results.

    Args:
        name: The metric.
        arguments, options: Of `compute`.
        code: Argument -> the expression that reads it, instead of its value.
        from_file: Whether the other arguments are read from inputs.json, and not written out.
    """
    written = {key: value for key, value in arguments.items() if key not in code}
    lines = [f"{key}={expression}" for key, expression in code.items()]
    lines += ["**inputs"] if from_file else [_written(key, value) for key, value in written.items()]
    lines += [*(_written(key, value) for key, value in options.items()), "per_sample=True"]
    # In a Space this is the name that it has on the Hub.
    body = [f'{name} = evaluate.load("{os.environ.get("SPACE_ID", f"metrics/{name}")}")']
    if from_file:
        body += ['with open("inputs.json", encoding="utf-8") as file:', "    inputs = json.load(file)"]
    body += [f"results = {name}.compute(", *(f"    {line}," for line in lines), ")"]
    imports = ["import json"] * any("json." in line for line in [*body, *lines])
    imports += ["import evaluate", *["import numpy as np"] * ("np." in " ".join(code.values()))]
    return "\n".join([*imports, "", *body])


def _written(key: str, value) -> str:
    text = pformat(value, width=100, sort_dicts=False)
    if "\n" not in text:
        return f"{key}={text}"
    inner = text[1:-1].replace("\n", "\n       ")
    return f"{key}=[\n        {inner},\n    ]"
