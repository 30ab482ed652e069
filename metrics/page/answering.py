"""What a page answers to a click, and its endpoint to a program; whatever is refused is refused in one sentence."""

import csv
import math
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import gradio as gr

from ..files.csv_cells import csv_row
from ..files.json_text import json_text
from ..utils.checks import describe
from .bounds import few_enough, sample_sizes
from .escaping import as_html, as_sentence
from .metric_page import Inputs, Option, Page, all_options
from .results import python_call, results_table, scores_html

# Samples, and characters, that the Python call writes out; of more, it reads the file with the inputs.
WRITTEN_OUT, WRITTEN_CHARACTERS = 20, 50_000
_KEPT_DOWNLOADS = 20
# What metrics and readers raise of input that they refuse; the last two come of numbers and lists beyond all measure.
_REFUSALS = (ValueError, TypeError, OSError, ImportError, OverflowError, RecursionError)


def answer(page: Page, source: str, rows: list, paths: list, allow_missing: bool, values: Sequence) -> list:
    """All that the page shows of one click, and what its explanations need.

    Raises:
        gr.Error: The message of the metric or of a reader, which names the place.
    """
    inputs = None
    files = [value for option, value in zip(all_options(page), values) if option.is_file]
    try:
        # A file that is not there leaves the default.
        options = {
            option.name: _value(option, value)
            for option, value in zip(all_options(page), values)
            if not (option.is_file and value is None)
        }
        typed = source == "table"
        inputs = page.read_table(_cell_texts(rows, page)) if typed else page.read_files(paths, allow_missing)
        results, signature, notes = page.measure(inputs, options)
        return [*_shown(page, inputs, options, results, signature, notes), (inputs, options, results)]
    except _REFUSALS as error:
        raise _refusal(_located(str(error) or type(error).__name__, inputs, [*paths, *files]), "Not scored") from None


def _refusal(message: str, title: str) -> gr.Error:
    """An error that the browser shows as HTML, and the log leaves out: whoever sent the input is told."""
    return gr.Error(as_html(as_sentence(message)), duration=None, title=title, print_exception=False)


def _cell_texts(rows: list[list], page: Page) -> list[list[str]]:
    """Cells as texts, and no row shorter than the table was; nothing is read of objects that are no cells."""
    strange = [cell for row in rows for cell in row if isinstance(cell, list | dict)]
    if strange:
        raise TypeError(f"the table holds {describe(strange[0])}, expected texts and numbers")
    return [
        [*("" if cell is None else str(cell) for cell in row), *[""] * (len(page.headers) - len(row))] for row in rows
    ]


def explained_row(page: Page, state: tuple | None, row: Sequence) -> str:
    """Why the row that was clicked scores as it does.

    Raises:
        gr.Error: Its results are not kept any more.
    """
    if state is None:
        raise _refusal("these results are not kept any more, compute them once more", "Not explained")
    inputs, _, results = state
    names = page.names(inputs, results)
    if not row or str(row[0]) not in names:
        raise _refusal(f"{describe(row)} is no row of the last results", "Not explained")
    return page.explain(*state, names.index(str(row[0])))


def _value(option: Option, raw):
    if option.choices is not None:
        return {str(choice): choice for choice in option.choices}[raw]
    return option.parse(raw) if option.parse else raw


def _located(message: str, inputs: Inputs | None, paths: Iterable[str | None]) -> str:
    """Calls files by their names instead of their places on the server, and says which row an index means."""
    for path in filter(None, paths):
        message = message.replace(path, os.path.basename(path))
    found = re.search(r"(?:predictions|references)\[(\d+)\]", message)
    if inputs and found and int(found[1]) < len(inputs.names):
        message = f"{message} ({inputs.names[int(found[1])]})"
    return message


def _shown(page: Page, inputs: Inputs, options: dict, results: dict, signature: str, notes: list[str]) -> list:
    names, scores = page.names(inputs, results), results["per_sample"][page.score_key(results)]
    explained = range(few_enough(page.bounds, inputs.arguments, len(names)))
    some = range(min(len(explained), page.bounds["shown"].most))
    columns = page.columns(inputs, options, results, explained)
    shown = {page.sample: names, page.score_key(results): scores, **columns}
    shown = {name: values[: len(some)] for name, values in shown.items()}
    left = [""] * (len(names) - len(explained))
    sign = -1 if page.lower_is_better else 1
    worst = min(some, key=lambda row: (math.isnan(scores[row]), sign * scores[row], row))
    return [
        scores_html(results, f"{len(names):,} {page.plural}", notes),
        page.plot_value(results),
        signature,
        results_table(shown, table_label(page, len(some), len(names))),
        page.explain(inputs, options, results, worst),
        _python_call(page, inputs, options),
        *_downloads(
            page,
            inputs,
            {
                page.sample: names,
                **results["per_sample"],
                **{name: [*values, *left] for name, values in columns.items()},
            },
        ),
        {key: value for key, value in results.items() if key != "per_sample"},
    ]


def table_label(page: Page, shown: int = 0, samples: int = 0) -> str:
    """What stands above the table, with how much of it is shown."""
    which = f"The first {shown:,} of {samples:,} {page.plural}" if shown < samples else f"Every {page.sample}"
    return f"{which}: click a heading to sort, a row to see why"


def _python_call(page: Page, inputs: Inputs, options: dict) -> str:
    names = {option.name: option for option in all_options(page)}
    changed = {key: value for key, value in options.items() if value != page.default(names[key])}
    changed |= {key: os.path.basename(value) for key, value in changed.items() if names[key].is_file}
    written = {key: value for key, value in inputs.arguments.items() if key not in inputs.code}
    is_long = len(inputs.names) > WRITTEN_OUT or sum(sample_sizes(written)) > WRITTEN_CHARACTERS
    from_file = is_long and bool(written)
    return python_call(page.metric.name, inputs.arguments, changed, inputs.code, from_file)


def _downloads(page: Page, inputs: Inputs, columns: dict[str, list]) -> list[str]:
    """Writes the results of every sample as CSV and the inputs as JSON; returns their paths."""
    # Gradio serves copies of its own.
    for old in sorted(page.downloads.iterdir(), key=os.path.getmtime)[:-_KEPT_DOWNLOADS]:
        shutil.rmtree(old, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(dir=page.downloads))
    table, written = folder / f"{page.metric.name}.csv", folder / "inputs.json"
    with table.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(csv_row(columns))
        writer.writerows(csv_row(map(_csv_cell, row)) for row in zip(*columns.values()))
    arguments = {key: value for key, value in inputs.arguments.items() if key not in inputs.code}
    written.write_text(json_text(arguments), encoding="utf-8")
    return [str(table), str(written)]


def _csv_cell(value):
    """What stands in a cell of CSV: numbers as they are, all else as text."""
    return value if value is None or isinstance(value, int | float) else str(value)


def answer_call(page: Page, inputs: dict, options: dict) -> dict:
    """`compute` over the network: only the options that the page has, and no paths."""
    try:
        _check_call(page, inputs, options)
        results, signature, _ = page.measure(Inputs(inputs, []), options)
    except _REFUSALS as error:
        # Programs read it, as text.
        raise gr.Error(as_sentence(str(error) or type(error).__name__), print_exception=False) from None
    return {**results, "signature": signature}


def _check_call(page: Page, inputs, options) -> None:
    """Checks what may be any JSON.

    Raises:
        ValueError: A name or a choice is unknown.
        TypeError: Inputs or options are no object.
    """
    known = {option.name: option for option in all_options(page) if not option.is_file}
    for kind, given, expected in (("inputs", inputs, page.keys), ("options", options, known)):
        if not isinstance(given, dict):
            raise TypeError(f"{kind} is {describe(given)}, expected an object with names")
        unknown = [name for name in given if name not in expected]
        if unknown:
            raise ValueError(f"{kind} has {', '.join(unknown)}, expected {', '.join(expected)}")
    for name, value in options.items():
        choices = known[name].choices
        # 1 is no True, and 4.0 no 4.
        if choices is not None and (type(value), value) not in [(type(choice), choice) for choice in choices]:
            raise ValueError(f"{name} is {describe(value)}, expected one of {list(choices)}")
