"""The page that the five Spaces share: inputs, options, scores with intervals, a table that says why, and the card.

An app.py describes its metric by a subclass of `Page` and hands it to `launch`. This module knows no metric: it gets
one loaded, and asks `Page` for whatever differs.
"""

import atexit
import csv
import importlib
import inspect
import json
import math
import os
import re
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import gradio as gr

from .results import CSS, histogram, python_call, results_table, scores_html

# Between several references in one cell of the table.
SEPARATOR = "|"
# Rows that the table of results shows; the file to download has those of all samples.
SHOWN_ROWS = 1000
# Samples up to which the file also says why, at about a millisecond each; of more it has the scores alone.
EXPLAINED = 20_000
# Samples that the Python call writes out; of more, it reads the file with the inputs.
WRITTEN_OUT = 20
_KEPT_DOWNLOADS = 20


class Option(NamedTuple):
    """A control of the page.

    Attributes:
        name: The argument of `compute`, whose default is the control's.
        about: What it does, in a few words.
        choices: The values to choose from; None leaves it open.
        parse: Makes the value of what stands in a text field.
        is_file: The value is a file to upload.
        shown_default: What the control shows first where that is not the default of `compute`.
    """

    name: str
    about: str = ""
    choices: Sequence | None = None
    parse: Callable | None = None
    is_file: bool = False
    shown_default: object = None


# The last options of all five.
OF_INTERVALS = (
    Option("confidence_level", "of the intervals, by bootstrap", (None, 0.9, 0.95, 0.99), shown_default=0.95),
    Option("n_resamples", "of the bootstrap"),
    Option("seed", "of the bootstrap"),
)


class Inputs(NamedTuple):
    """What is scored.

    Attributes:
        arguments: Of `compute`.
        names: What every sample is called in the table and in errors.
        code: Argument -> the Python expression that reads it; of those without one, the value is written out.
    """

    arguments: dict
    names: list[str]
    code: dict = {}


class Upload(NamedTuple):
    """A file that the page takes: its label and its endings."""

    label: str
    endings: tuple[str, ...]


class Page:
    """What differs between the pages of the metrics; a subclass fills it in.

    Attributes:
        metric: The metric, loaded.
        title, lead: The heading and the sentence below it.
        sample_score: The key of a sample's score in `per_sample`; None is the key of the whole score, the first.
        sample, plural: What one sample is called, and several.
        lower_is_better: Whether a sample's score is a rank; the worst sample is explained first.
        options: The metric's controls, without those of the intervals.
        headers, widths, rows: The columns of the table to type in, and the example that it holds at first.
        hint: How the table is filled in.
        uploads: The files that may stand in its place.
        keys: Arguments of `compute` that hold the samples.
        at_once: Whether the example is scored when the page opens.
    """

    title = lead = hint = ""
    sample_score = None
    sample, plural = "sample", "samples"
    lower_is_better = False
    options: Sequence[Option] = ()
    headers: Sequence[str] = ("prediction", "references")
    widths: Sequence[str] | None = ("36%", "64%")
    rows: Sequence[Sequence] = ()
    uploads: Sequence[Upload] = ()
    keys = ("predictions", "references")
    at_once = True

    def __init__(self, metric):
        self.metric = metric
        self.downloads = Path(tempfile.mkdtemp(prefix=f"{metric.name}-"))
        atexit.register(shutil.rmtree, self.downloads, ignore_errors=True)
        self._lock = threading.Lock()

    def part(self, module: str):
        """A module that the metric's script brought with it, as the loader keeps it."""
        package = type(self.metric).__module__.rpartition(".")[0]
        return importlib.import_module(f"{package}.{module}")

    def read_table(self, rows: list[list[str]]) -> Inputs:
        """Makes inputs of what was typed in. Rows without anything are left out."""
        rows = [(f"row {number}", row) for number, row in enumerate(rows, 1) if any(str(cell).strip() for cell in row)]
        references = [split(row[1], f"{name}, {self.headers[1]}") for name, row in rows]
        return Inputs({"predictions": [row[0] for _, row in rows], "references": references}, [n for n, _ in rows])

    def read_files(self, paths: list[str | None], allow_missing: bool) -> Inputs:
        """Makes inputs of the files in the order of `uploads`."""
        raise NotImplementedError

    def columns(self, inputs: Inputs, options: dict, results: dict, rows: range) -> dict[str, list]:
        """Further columns of the table of results for some rows: numbers, texts, or `Marked` texts."""
        return {}

    def explain(self, inputs: Inputs, options: dict, results: dict, row: int) -> str:
        """Why one sample scores as it does, as HTML."""
        raise NotImplementedError

    def names(self, inputs: Inputs, results: dict) -> list[str]:
        """What the samples of `per_sample` are called."""
        return inputs.names

    def score_key(self, results: dict) -> str:
        """The key of a sample's score."""
        return self.sample_score or next(iter(results))

    def plot(self) -> gr.components.Component:
        """The plot, without data."""
        return gr.BarPlot(x="score", y=self.plural, title="How they score", height=260, x_label_angle=0)

    def plot_value(self, results: dict) -> gr.components.Component:
        """What the plot is updated with."""
        return histogram(results["per_sample"][self.score_key(results)], "score", self.plural)

    def default(self, option: Option):
        """The default of `compute`."""
        return inspect.signature(self.metric._compute).parameters[option.name].default

    def measure(self, inputs: Inputs, options: dict) -> tuple[dict, str, list[str]]:
        """Results, signature and warnings; one score at a time, since the metric remembers its last signature."""
        with self._lock, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            results = self.metric.compute(**inputs.arguments, **options, per_sample=True)
            told = [str(warning.message) for warning in caught if issubclass(warning.category, UserWarning)]
            return results, self.metric.signature(), told


def split(cell, place: str) -> list[str]:
    """Several references of one cell.

    Raises:
        ValueError: The cell is empty.
    """
    if not str(cell).strip():
        raise ValueError(f"{place} is empty, expected at least one (several are separated by {SEPARATOR})")
    return [part.strip() for part in str(cell).split(SEPARATOR)]


def launch(page: Page, **options) -> None:
    """Serves the page; `options` are those of Gradio's launch."""
    # Fonts that every system has: nothing is fetched for them.
    theme = gr.themes.Default(font=("system-ui", "sans-serif"), font_mono=("ui-monospace", "monospace"))
    build(page).launch(css=CSS, theme=theme, ssr_mode=False, footer_links=["api", "settings"], **options)


def build(page: Page) -> gr.Blocks:
    """Lays the page out and connects it."""
    with gr.Blocks(title=page.title, analytics_enabled=False, delete_cache=(3600, 3600)) as blocks:
        gr.Markdown(f"{page.title}\n===\n\n{page.lead}")
        source, table, files, allow_missing = _inputs(page)
        with gr.Accordion("Options", open=False):
            with gr.Row():
                controls = [_control(page, option) for option in _all_options(page)]
        button = gr.Button("Compute", variant="primary")
        shown, state = _results(page)
        _card(page)

        def show(source, rows, allow_missing, *raw):
            values, paths = raw[: len(controls)], list(raw[len(controls) :])
            return _answer(page, source, rows, paths, allow_missing, values)

        def explain(state, event: gr.SelectData):
            inputs, _, results = state
            return page.explain(*state, page.names(inputs, results).index(str(event.row_value[0])))

        def api(inputs: dict, options: dict) -> dict:
            return _api(page, inputs, options)

        event = {"inputs": [source, table, allow_missing, *controls, *files], "outputs": [*shown.values(), state],
                 "api_visibility": "private"}  # fmt: skip
        button.click(show, **event)
        if page.at_once:
            blocks.load(show, **event)
        shown["table"].select(explain, state, shown["why"], api_visibility="private")
        gr.api(api, api_name="compute", api_description=_API.format(keys=", ".join(page.keys)))
    return blocks


_API = "metric.compute(**inputs, **options, per_sample=True) and the signature. inputs: {keys}; options: see the page."


def _all_options(page: Page) -> tuple[Option, ...]:
    return (*page.options, *OF_INTERVALS)


def _inputs(page: Page):
    source = gr.State("table")
    with gr.Tabs():
        with gr.Tab("Type") as typed:
            table = gr.Dataframe(
                [list(row) for row in page.rows], headers=list(page.headers), column_widths=page.widths, type="array",
                wrap=True, interactive=True, show_label=False, max_height=320,
            )  # fmt: skip
            gr.Markdown(page.hint)
        with gr.Tab("Upload files") as uploaded:
            with gr.Row():
                files = [gr.File(label=upload.label, file_types=list(upload.endings), height=130)
                         for upload in page.uploads]  # fmt: skip
            allow_missing = gr.Checkbox(False, label="--allow-missing: score what both files have")
    typed.select(lambda: "table", None, source, api_visibility="private")
    uploaded.select(lambda: "files", None, source, api_visibility="private")
    return source, table, files, allow_missing


def _control(page: Page, option: Option):
    default = page.default(option) if option.shown_default is None else option.shown_default
    about = {"label": option.name, "info": option.about, "min_width": 210}
    if option.is_file:
        return gr.File(label=f"{option.name}: {option.about}", height=110, min_width=210)
    if option.choices is not None:
        return gr.Dropdown([str(choice) for choice in option.choices], value=str(default), **about)
    if isinstance(default, bool):
        return gr.Checkbox(default, **about)
    if isinstance(default, int | float) and not option.parse:
        return gr.Number(default, precision=0 if isinstance(default, int) else None, **about)
    return gr.Textbox("" if default is None else re.sub(r"[()]", "", str(default)), **about)


def _value(option: Option, raw):
    if option.choices is not None:
        return {str(choice): choice for choice in option.choices}[raw]
    return option.parse(raw) if option.parse else raw


def _results(page: Page) -> tuple[dict, gr.State]:
    with gr.Row(equal_height=False):
        with gr.Column(min_width=320):
            scores = gr.HTML()
        with gr.Column(min_width=320):
            plot = page.plot()
    label = f"Every {page.sample}: click a heading to sort, a row to see why"
    shown = {
        "scores": scores,
        "plot": plot,
        "signature": gr.Textbox(label="Signature", interactive=False, buttons=["copy"]),
        "table": gr.Dataframe(interactive=False, wrap=True, max_height=420, label=label, buttons=["fullscreen"]),
        "why": gr.HTML(container=True, padding=True),
        "call": gr.Code(label="The same in Python", language="python", interactive=False),
    }
    with gr.Row():
        shown["csv"] = gr.DownloadButton("Results per sample (CSV)", size="sm")
        shown["inputs"] = gr.DownloadButton("Inputs (JSON)", size="sm")
    with gr.Accordion("All results (JSON)", open=False):
        shown["json"] = gr.JSON(show_label=False)
    return shown, gr.State()


def _card(page: Page) -> None:
    card = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    gr.Markdown(re.sub(r"\A---\n.*?\n---\n", "", card, flags=re.DOTALL), container=True, padding=True)


def _answer(page: Page, source: str, rows: list, paths: list, allow_missing: bool, values: Sequence) -> list:
    """All that the page shows of one click, and what its explanations need.

    Raises:
        gr.Error: The message of the metric or of a reader, which names the place.
    """
    inputs = None
    try:
        # A file that is not there leaves the default.
        options = {option.name: _value(option, value) for option, value in zip(_all_options(page), values)
                   if not (option.is_file and value is None)}  # fmt: skip
        inputs = page.read_table(rows) if source == "table" else page.read_files(paths, allow_missing)
        results, signature, notes = page.measure(inputs, options)
        return [*_shown(page, inputs, options, results, signature, notes), (inputs, options, results)]
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise gr.Error(_located(str(error), inputs, paths), duration=None, title="Not scored") from None


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
    some = range(min(len(names), SHOWN_ROWS))
    columns = page.columns(inputs, options, results, some)
    shown = {page.sample: names[: len(some)], page.score_key(results): scores[: len(some)], **columns}
    sign = -1 if page.lower_is_better else 1
    worst = min(some, key=lambda row: (math.isnan(scores[row]), sign * scores[row], row))
    all_columns = page.columns(inputs, options, results, range(len(names))) if len(names) <= EXPLAINED else {}
    return [
        scores_html(results, f"{len(names):,} {page.plural}", notes),
        page.plot_value(results),
        signature,
        results_table(shown),
        page.explain(inputs, options, results, worst),
        _python_call(page, inputs, options),
        *_downloads(page, inputs, {page.sample: names, **results["per_sample"], **all_columns}),
        {key: value for key, value in results.items() if key != "per_sample"},
    ]


def _python_call(page: Page, inputs: Inputs, options: dict) -> str:
    names = {option.name: option for option in _all_options(page)}
    changed = {key: value for key, value in options.items() if value != page.default(names[key])}
    changed |= {key: os.path.basename(value) for key, value in changed.items() if names[key].is_file}
    from_file = len(inputs.names) > WRITTEN_OUT and bool(inputs.arguments.keys() - inputs.code)
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
        writer.writerow(columns)
        writer.writerows(zip(*columns.values()))
    arguments = {key: value for key, value in inputs.arguments.items() if key not in inputs.code}
    written.write_text(json.dumps(arguments, ensure_ascii=False, indent=1), encoding="utf-8")
    return [str(table), str(written)]


def _api(page: Page, inputs: dict, options: dict) -> dict:
    """`compute` over the network: only the options that the page has, and no paths."""
    known = {option.name: option for option in _all_options(page) if not option.is_file}
    for kind, given, expected in (("inputs", inputs, page.keys), ("options", options, known)):
        unknown = [name for name in given if name not in expected]
        if unknown:
            raise gr.Error(f"{kind} has {', '.join(unknown)}, expected {', '.join(expected)}")
    for name, value in options.items():
        if known[name].choices is not None and value not in known[name].choices:
            raise gr.Error(f"{name} is {value!r}, expected one of {list(known[name].choices)}")
    try:
        results, signature, _ = page.measure(Inputs(inputs, []), options)
    except (ValueError, TypeError, OSError, ImportError) as error:
        raise gr.Error(str(error)) from None
    return {**results, "signature": signature}
