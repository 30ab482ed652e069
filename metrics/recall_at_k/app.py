"""The Space's page: similarities or embeddings, the rank and the best five items of every query, recall over K."""

import os
from pathlib import Path

import evaluate
import gradio as gr
import numpy as np
import pandas as pd

from _page import (
    OF_SIMILARITIES,
    SEPARATOR,
    Inputs,
    Marked,
    Option,
    Page,
    Upload,
    check_draws,
    check_most,
    launch,
    number,
    open_array,
    read_json,
    why_html,
)

_BEST = 5
# Of the curve; more tell nothing and are slow to draw.
_MOST_K = 100
# Similarities that are held at one time while the best items are found.
_CELLS = 1 << 22


class RecallAtKPage(Page):
    title, sample_score = "Recall at K", "rank"
    sample, plural, lower_is_better = "query", "queries", True
    lead = (
        "R@K of image-text retrieval in both directions, with reciprocal, median and mean ranks. Tied items score as "
        "the mean over their orders."
    )
    headers = ("correct texts", *(f"text {column}" for column in range(6)))
    hint = (
        f"One image per row: the columns of its correct texts, separated by `{SEPARATOR}`, then its similarity with "
        "each text. Texts are numbered from 0. Rows and columns can be added."
    )
    widths = None
    rows = (
        ["0 | 1", 0.82, 0.44, 0.51, 0.12, 0.20, 0.31],
        ["2 | 3", 0.40, 0.22, 0.36, 0.36, 0.55, 0.18],
        ["4 | 5", 0.15, 0.48, 0.33, 0.41, 0.47, 0.62],
    )
    uploads = (
        Upload("Image embeddings", (".npy",)),
        Upload("Text embeddings", (".npy",)),
        Upload("Or: similarities, images x texts", (".npy",)),
        Upload("Correct texts of each image: [[0, 1], [2], ...]", (".json",)),
    )
    options = (
        Option("similarity", "of embeddings", ("cosine", "dot")),
        Option("k", "numbers of items", parse=lambda text: tuple(_integers(text, "k", ","))),
        Option("ties", "which order tied items score in", ("expected", "pessimistic", "optimistic")),
        Option("directions", "forward: images are queries", ("both", "forward", "backward")),
        Option("no_correct", "queries without a correct item", ("skip", "zero", "error")),
        Option("recall_fraction", "adds the fraction of correct items found"),
        Option("exclude_self", "both sides are the same items: none is in its own gallery"),
        Option("query_name", "of the rows, in the keys"),
        Option("gallery_name", "of the columns, in the keys"),
        Option("folds", "also the mean over parts; 5 is COCO 1K", parse=lambda text: _one(text, "folds")),
    )
    keys = ("predictions", "image_embeddings", "text_embeddings", "references", "backward_references")
    bounds = OF_SIMILARITIES

    def read_table(self, rows):
        rows = [row for row in rows if any(str(cell).strip() for cell in row)]
        filled = [c for c in range(1, max(map(len, rows), default=1)) if any(str(row[c]).strip() for row in rows)]
        matrix = [[_number(row[c], f"row {r}, text {c - 1}") for c in filled] for r, row in enumerate(rows, 1)]
        references = [_integers(row[0], f"row {r}, correct texts", SEPARATOR) for r, row in enumerate(rows, 1)]
        return Inputs({"predictions": matrix, "references": references}, [f"row {r + 1}" for r in range(len(rows))])

    def read_files(self, paths, allow_missing):
        keys = ("image_embeddings", "text_embeddings", "predictions")
        arrays = {key: open_array(path) for key, path in zip(keys, paths) if path}
        code = {key: f"np.load({os.path.basename(path)!r})" for key, path in zip(keys, paths) if path}
        arguments = dict(arrays)
        if paths[3]:
            arguments["references"] = read_json(paths[3])
            code["references"] = f'json.load(open({os.path.basename(paths[3])!r}, encoding="utf-8"))'
        first = next(iter(arrays.values()), ())
        return Inputs(arguments, [f"image {i}" for i in range(len(first))], code)

    def names(self, inputs, results):
        samples = results["per_sample"]
        return [f"{direction} {query}" for direction, query in zip(samples["direction"], samples["query"])]

    def plot(self):
        return gr.LinePlot(x="K", y="recall", color="direction", title="R@K over K", y_lim=[0, 1], height=260)

    def plot_value(self, results):
        samples = results["per_sample"]
        ranks = pd.DataFrame({"direction": samples["direction"], "rank": samples["rank"]}).dropna()
        most = min(int(np.ceil(ranks["rank"].max())) + 1, _MOST_K) if len(ranks) else 1
        rows = [
            {"K": k, "recall": float((group["rank"] <= k).mean()), "direction": direction}
            for direction, group in ranks.groupby("direction", sort=False)
            for k in range(1, most + 1)
        ]
        return gr.LinePlot(pd.DataFrame(rows), x_lim=[1, most])

    def check_size(self, arguments, options):
        sizes = {key: _size(arguments.get(key)) for key in self.keys}
        for key, (rows, width) in sizes.items():
            check_most(self.bounds, "samples", max(rows, width if key == "predictions" else 0), key)
            check_most(self.bounds, "cells", rows * width, key)
        (images, width), (texts, _) = sizes["image_embeddings"], sizes["text_embeddings"]
        check_most(self.bounds, "cells", images * texts)
        check_most(self.bounds, "products", images * texts * width)
        check_draws(self.bounds, max(images + texts, sum(sizes["predictions"])), options)

    def columns(self, inputs, options, results, rows):
        backward = self._is_backward(options, results)[rows.start : rows.stop]
        queries = np.array(results["per_sample"]["query"][rows.start : rows.stop])
        found = {}
        for is_backward in (False, True):
            places = np.flatnonzero(backward == is_backward)
            correct = _correct(inputs.arguments, is_backward, options["exclude_self"])
            best = _best(inputs.arguments, options, queries[places], is_backward)
            for place, query, items in zip(places.tolist(), queries[places].tolist(), best):
                right = correct.get(query, ())
                found[place] = Marked((str(item), "hit2" if item in right else "miss") for item in items)
        return {f"the best {_BEST}": [found[place] for place in range(len(rows))]}

    def _is_backward(self, options, results) -> np.ndarray:
        forward = f"{options['query_name']}2{options['gallery_name']}"
        return np.array([direction != forward for direction in results["per_sample"]["direction"]])

    def explain(self, inputs, options, results, row):
        backward, query = bool(self._is_backward(options, results)[row]), results["per_sample"]["query"][row]
        similarities = _similarities(inputs.arguments, options, np.array([query]), backward)[0]
        best = np.argsort(-similarities, kind="stable")
        if options["exclude_self"]:
            best = best[best != query]
        correct = _correct(inputs.arguments, backward, options["exclude_self"]).get(query, set())
        places = {int(item): place for place, item in enumerate(best.tolist(), 1)}
        shown = {
            str(place): Marked([(f"{item}", "hit2" if item in correct else "miss")]).html()
            + f" <small>similarity {number(float(similarities[item]))}</small>"
            for place, item in enumerate(best[:_BEST].tolist(), 1)
        }
        for item in sorted(correct, key=places.get)[:_BEST]:
            ties = int((similarities == similarities[item]).sum()) - 1
            tied = f", tied with {ties} others" if ties else ""
            shown[f"correct {item}"] = f"place {places[item]} of {len(best)}{tied}"
        rank = results["per_sample"]["rank"][row]
        return why_html(self.names(inputs, results)[row], f"rank {rank:g}; the best {_BEST} items", shown)


def _number(cell, place: str) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        raise ValueError(f"{place} is {cell!r}, expected a number") from None


def _integers(text, place: str, separator: str) -> list[int]:
    """The integers of a cell or a text field; an empty one has none."""
    parts = [part.strip() for part in str(text).split(separator) if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise ValueError(f"{place} is {text!r}, expected integers separated by {separator}")
    return [int(part) for part in parts]


def _one(text, place: str) -> int | None:
    numbers = _integers(text, place, ",")
    if len(numbers) > 1:
        raise ValueError(f"{place} is {text!r}, expected one integer, or nothing")
    return numbers[0] if numbers else None


def _size(value) -> tuple[int, int]:
    """Rows and columns of an array or of lists, whatever they hold."""
    if isinstance(value, np.ndarray):
        return (*value.shape, 0, 0)[:2]
    rows = value if isinstance(value, list) else []
    return len(rows), max((len(row) for row in rows if isinstance(row, list)), default=0)


def _best(arguments: dict, options: dict, queries: np.ndarray, backward: bool) -> list[list[int]]:
    """The best items of each query, of equal ones the first; time grows with the similarities, and memory does not."""
    found, step = [], max(1, _CELLS // max(map(sum, (_size(arguments.get(key)) for key in RecallAtKPage.keys))))
    for start in range(0, len(queries), step):
        some = queries[start : start + step]
        for query, row in zip(some.tolist(), _similarities(arguments, options, some, backward)):
            least = np.partition(row, -_BEST)[-_BEST] if len(row) > _BEST else row.min()
            items = np.flatnonzero(row >= least)
            if options["exclude_self"]:
                items = items[items != query]
            found.append(items[np.argsort(-row[items], kind="stable")[:_BEST]].tolist())
    return found


def _similarities(arguments: dict, options: dict, numbers: np.ndarray, backward: bool) -> np.ndarray:
    """(queries, items) of some queries; that of an item with itself is the least where it is left out."""
    values = _all_similarities(arguments, options["similarity"], numbers, backward)
    if options["exclude_self"]:
        values = values.copy()
        values[np.arange(len(numbers)), numbers] = -np.inf
    return values


def _all_similarities(arguments: dict, similarity: str, numbers: np.ndarray, backward: bool) -> np.ndarray:
    if arguments.get("predictions") is not None:
        matrix = np.asarray(arguments["predictions"])
        return np.asarray(matrix[:, numbers].T if backward else matrix[numbers], float)
    images, texts = arguments["image_embeddings"], arguments["text_embeddings"]
    queries, items = (texts, images) if backward else (images, texts)
    queries, items = np.asarray(queries)[numbers].astype(float), np.asarray(items, float)
    values = queries @ items.T
    if similarity == "cosine":
        norms = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(items, axis=1)
        values = np.divide(values, norms, where=norms > 0, out=np.zeros(values.shape))
    return values


def _correct(arguments: dict, backward: bool, exclude_self: bool) -> dict[int, set[int]]:
    """The correct items of every query that has one; itself is none where it is left out."""
    references = arguments.get("references")
    if references is None:
        rows = max(_size(arguments.get(key))[0] for key in RecallAtKPage.keys)
        return {query: {query} for query in range(rows)}
    found = {}
    for row, group in enumerate(references):
        for item in group if isinstance(group, list) else [group]:
            query, right = (item, row) if backward else (row, item)
            if not (exclude_self and query == right):
                found.setdefault(query, set()).add(right)
    return found


page = RecallAtKPage(evaluate.load(str(Path(__file__).with_name("recall_at_k.py"))))

if __name__ == "__main__":
    launch(page)
