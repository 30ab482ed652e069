"""The Space's page: similarities or embeddings, the rank and the best five items of every query, recall over K."""

import os
from pathlib import Path

import evaluate
import gradio as gr
import numpy as np
import pandas as pd

from _page import SEPARATOR, Inputs, Marked, Option, Page, Upload, launch, number, open_array, read_json, why_html

_BEST = 5
# Of the curve; more tell nothing and are slow to draw.
_MOST_K = 100


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

    def read_table(self, rows):
        rows = [row for row in rows if any(str(cell).strip() for cell in row)]
        filled = [c for c in range(1, max(map(len, rows), default=1)) if any(str(row[c]).strip() for row in rows)]
        matrix = [[_number(row[c], f"row {r}, text {c - 1}") for c in filled] for r, row in enumerate(rows, 1)]
        references = [_integers(row[0], f"row {r}, correct texts", SEPARATOR) for r, row in enumerate(rows, 1)]
        return Inputs({"predictions": matrix, "references": references}, [f"row {r + 1}" for r in range(len(rows))])

    def read_files(self, paths, allow_missing):
        keys = ("image_embeddings", "text_embeddings", "predictions")
        arrays = {key: open_array(path) for key, path in zip(keys, paths) if path}
        code = {key: f'np.load("{os.path.basename(path)}")' for key, path in zip(keys, paths) if path}
        arguments = dict(arrays)
        if paths[3]:
            arguments["references"] = read_json(paths[3])
            code["references"] = f'json.load(open("{os.path.basename(paths[3])}", encoding="utf-8"))'
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

    def columns(self, inputs, options, results, rows):
        found = [self._ranking(inputs, options, results, row) for row in rows]
        return {f"the best {_BEST}": [
            Marked((str(item), "hit2" if item in correct else "miss") for item in best[:_BEST].tolist())
            for best, _, correct in found
        ]}  # fmt: skip

    def _ranking(self, inputs, options, results, row) -> tuple[np.ndarray, np.ndarray, set[int]]:
        """The items from the most similar on, the similarities, and the correct items of one query."""
        backward = results["per_sample"]["direction"][row] != f"{options['query_name']}2{options['gallery_name']}"
        query = results["per_sample"]["query"][row]
        similarities = _similarities(inputs.arguments, options["similarity"], query, backward)
        best, correct = np.argsort(-similarities, kind="stable"), _correct(inputs.arguments, query, backward)
        if options["exclude_self"]:
            best, correct = best[best != query], correct - {query}
            # A similarity that ties with none.
            similarities = np.where(np.arange(len(similarities)) == query, np.nan, similarities)
        return best, similarities, correct

    def explain(self, inputs, options, results, row):
        best, similarities, correct = self._ranking(inputs, options, results, row)
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


def _similarities(arguments: dict, similarity: str, query: int, backward: bool) -> np.ndarray:
    if arguments.get("predictions") is not None:
        matrix = np.asarray(arguments["predictions"])
        return np.asarray(matrix[:, query] if backward else matrix[query], float)
    images, texts = arguments["image_embeddings"], arguments["text_embeddings"]
    queries, items = (texts, images) if backward else (images, texts)
    values = np.asarray(items, float) @ np.asarray(queries[query], float)
    if similarity == "cosine":
        norms = np.linalg.norm(np.asarray(items, float), axis=1) * np.linalg.norm(queries[query])
        values = np.divide(values, norms, where=norms > 0, out=np.zeros(len(values)))
    return values


def _correct(arguments: dict, query: int, backward: bool) -> set[int]:
    references = arguments.get("references")
    if references is None:
        return {query}
    groups = [group if isinstance(group, list) else [group] for group in references]
    return {i for i, group in enumerate(groups) if query in group} if backward else set(groups[query])


page = RecallAtKPage(evaluate.load(str(Path(__file__).with_name("recall_at_k.py"))))

if __name__ == "__main__":
    launch(page)
