"""What differs between the pages of the metrics: their options, inputs and explanations, described by a subclass."""

import atexit
import importlib
import inspect
import shutil
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import gradio as gr

from .bounds import OF_TEXTS, Bound, check_draws, check_option, check_texts
from .results import histogram

# Between several references in one cell of the table.
SEPARATOR = "|"


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
        bounds: The most that the page takes of everything, one of the tables in bounds.py.
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
    bounds: Mapping[str, Bound] = OF_TEXTS
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

    def orders(self, options: dict) -> int:
        """The highest order of n-grams; 1 where a metric has none."""
        return 1

    def check(self, inputs: Inputs, options: dict) -> None:
        """Refuses what is beyond the bounds, before any work is done.

        Raises:
            ValueError, TypeError: The message says what there is too much of.
        """
        for name, value in options.items():
            check_option(self.bounds, name, value)
        full = {option.name: self.default(option) for option in all_options(self)} | options
        self.check_size(inputs.arguments, full)

    def check_size(self, arguments: dict, options: dict) -> None:
        """Checks how much there is to score; `options` has all of them."""
        check_texts(self.bounds, arguments, self.orders(options))
        check_draws(self.bounds, len(arguments.get("predictions") or ()), options)

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
        self.check(inputs, options)
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


def all_options(page: Page) -> tuple[Option, ...]:
    """The metric's options and those of the intervals."""
    return (*page.options, *OF_INTERVALS)
