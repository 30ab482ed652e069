"""One function per metric that turns a batch of rows into the rows' statistics, for any engine that maps batches.

A batch is a mapping of columns (lists, arrays, Series), a table or a data frame, such as `map(batched=True)` of
`datasets`, Ray Data's `map_batches` and a DataLoader's collation make. The object pickles and does not import
evaluate. Joined in any order, the statistics of all batches score as the whole set does, since all references of a
sample are in its row.
"""

import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from functools import lru_cache

import numpy as np

from ..bleu4 import scoring as bleu4
from ..cider import scoring as cider
from ..cider.document_frequencies import DocumentFrequencies
from ..entity_score import scoring as entity_score
from ..utils.checks import check_captions, reference_counts, signature
from ..utils.containers import as_items, as_list, column_names, describe, unformatted
from ..utils.ngrams import Encoder
from ..utils.stamps import stamp
from ..vqa_accuracy import scoring as vqa_accuracy
from ..vqa_accuracy.inputs import check_answers, is_id
from ..vqa_accuracy.protocols import resolve_protocol
from .fingerprints import fingerprint

# Rows of a batch where nobody says how many.
BATCH_ROWS = 4096

_SCORING = {"bleu4": bleu4, "cider": cider, "entity_score": entity_score, "vqa_accuracy": vqa_accuracy}
METRICS = tuple(_SCORING)

# Columns beside the metric's own: what a signature and the check of a whole set need to know of the rows.
NUM_REFERENCES, ARE_IDS = "num_references", "are_ids"

_NOT_OPTIONS = {"predictions", "references", "statistics", "weights", "counts", "encoder", "found", "ids"}
_ENCODER_OPTIONS = ("model_path", "device", "dtype", "batch_size")


class BatchStatistics:
    """Statistics of a batch under one metric and its options.

    Args:
        metric: One of METRICS. recall_at_k compares each row with all others: see `retrieval`.
        predictions, references: The columns that hold them.
        keep: Columns that are passed on, such as an id.
        options: Of the metric's `compute`. cider needs `document_frequencies` (a table, or its path) before it can
            be called, as a batch is no corpus: see `frequencies`.

    Raises:
        ValueError: The metric or an option is unknown or out of range.

    >>> statistics_of = BatchStatistics("bleu4", smoothing=False)
    >>> parts = [statistics_of({"prediction": [t], "references": [[t]]}) for t in ("a cat sits down", "a dog")]
    >>> statistics_of.score(join(parts))["bleu4"]
    1.0
    """

    def __init__(
        self,
        metric: str,
        predictions: str = "prediction",
        references: str = "references",
        keep: Sequence[str] = (),
        **options,
    ):
        if metric not in METRICS:
            raise ValueError(f"metric is {metric!r}, expected one of {list(METRICS)}")
        self.metric, self.predictions, self.references, self.keep = metric, predictions, references, tuple(keep)
        self.options, self._encoder = options, None
        known = {name for function in _FUNCTIONS for name in self._parameters(function)}
        unknown = sorted(set(options) - known)
        if unknown:
            raise ValueError(f"{metric} has no option {', '.join(unknown)}, expected among {', '.join(sorted(known))}")
        self.signature()

    def __call__(self, batch: Mapping) -> dict[str, np.ndarray]:
        """The statistics of a batch.

        Returns:
            Columns, first axis = row: those of the metric, `num_references`, the columns kept, and except for
            entity_score `are_ids`. Of a batch without a row, no column.

        Raises:
            ValueError, TypeError: A column is missing, an item is wrong, or a column to be kept has the name of one
                that the metric makes; the message names it.
        """
        predictions, references = column(batch, self.predictions), column(batch, self.references)
        if not predictions and not references:
            return {}
        options = self._options_of("sample_statistics")
        if self._encoder is not None:
            options["encoder"] = self._encoder
        statistics = _STATISTICS[self.metric](predictions, references, options)
        if self.keep:
            self._check_kept(statistics)
        return {**statistics, **{name: as_column(as_items(column(batch, name), name)) for name in self.keep}}

    @property
    def needs_frequencies(self) -> bool:
        """Whether a first pass has to make the table of document frequencies."""
        table = self.options.get("document_frequencies", "corpus")
        return self.metric == "cider" and isinstance(table, str) and table == "corpus"

    def with_options(self, **options) -> "BatchStatistics":
        """The same with other options."""
        return BatchStatistics(
            self.metric, self.predictions, self.references, self.keep, **{**self.options, **options}
        )

    def with_encoder(self) -> "BatchStatistics":
        """The same for the batches of one shard in their order: words that a batch has had cost less in the next."""
        return keep_encoder(self) if self.metric in _OF_NGRAMS else self

    def score(self, statistics: Mapping[str, np.ndarray], weights: np.ndarray | None = None) -> dict:
        """The scores of joined statistics, as the metric's `score` makes them.

        Raises:
            ValueError: The whole set is one that the metric does not score.
            TypeError: Some rows are texts and some are ids.
        """
        if weights is None:
            check_kind(statistics)
            if self.metric == "vqa_accuracy":
                _check_answers(statistics, self._options_of("sample_statistics"))
        return self._scoring.score(self._own(statistics), weights=weights, **self._options_of("score"))

    def sample_scores(self, statistics: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The scores of every row, as the metric's `sample_scores` makes them.

        Raises:
            TypeError: Some rows are texts and some are ids.
        """
        check_kind(statistics)
        return self._scoring.sample_scores(self._own(statistics), **self._options_of("sample_scores"))

    def signature(self, statistics: Mapping[str, np.ndarray] | None = None, corpus: bool = False) -> str:
        """Says how scores are made.

        Args:
            statistics: Joined, for the number of references, and for whether they are of texts or of ids.
            corpus: Whether cider's table was made of these references and not of others.
        """
        options = self._options_of("signature_settings")
        if corpus:
            options["document_frequencies"] = "corpus"
        if statistics is not None and ARE_IDS in statistics and statistics[ARE_IDS][0]:
            options.update({"ids": True} if self.metric == "vqa_accuracy" else {"tokenizer": "none"})
        name, settings = self._scoring.signature_settings(**options)
        if statistics is not None:
            settings["refs"] = reference_counts(map(range, np.unique(statistics[NUM_REFERENCES]).tolist()))
        return signature(name, settings)

    def fingerprint(self) -> str:
        """A hash of the metric's code and of all that the statistics depend on: options, and the columns read."""
        known = self._parameters("sample_statistics")
        used = {name: value for name, value in self.options.items() if name in known}
        return fingerprint(self.metric, (self.predictions, self.references, *self.keep), used)

    def _own(self, statistics: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        others = {NUM_REFERENCES, ARE_IDS, *self.keep}
        return {name: values for name, values in statistics.items() if name not in others}

    def _check_kept(self, statistics: Mapping[str, np.ndarray]) -> None:
        """Refuses columns that would stand in the place of statistics, or of scores in a file of samples."""
        first = {name: values[:1] for name, values in statistics.items() if name not in (NUM_REFERENCES, ARE_IDS)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            scores = self._scoring.sample_scores(first, **self._options_of("sample_scores"))
        made = {*statistics, *scores}
        for name in self.keep:
            if name in made:
                raise ValueError(
                    f"the column {name!r}, which is to be kept, has the name of a column that {self.metric} makes "
                    f"({', '.join(sorted(made))}): rename it, or keep another"
                )

    @property
    def _scoring(self):
        return _SCORING[self.metric]

    def _parameters(self, function: str) -> set[str]:
        known = set(inspect.signature(getattr(self._scoring, function)).parameters) - _NOT_OPTIONS
        encodes = self.metric == "entity_score" and function == "sample_statistics"
        return known | set(_ENCODER_OPTIONS) if encodes else known

    def _options_of(self, function: str) -> dict:
        known = self._parameters(function)
        return {name: value for name, value in self.options.items() if name in known}


_FUNCTIONS = ("sample_statistics", "score", "signature_settings")


def keep_encoder(function):
    """A copy of what counts n-grams in batches, with an encoder of its own."""
    settings = {name: value for name, value in function.options.items() if name in _ENCODER_SETTINGS}
    copied = copy(function)
    copied._encoder = Encoder(**settings)
    return copied


_OF_NGRAMS = ("bleu4", "cider")
_ENCODER_SETTINGS = ("tokenizer", "stem", "end_token")


def join(parts: Iterable[Mapping[str, np.ndarray]]) -> dict[str, np.ndarray]:
    """Puts statistics of batches or shards one behind the other; those without a row add nothing.

    Raises:
        ValueError: No part has a row.

    >>> join([{"accuracy": np.array([1.0])}, {}, {"accuracy": np.array([0.5])}])["accuracy"].tolist()
    [1.0, 0.5]
    """
    parts = [part for part in parts if part and len(next(iter(part.values())))]
    if not parts:
        raise ValueError("there is no row, expected at least one")
    return {name: _concatenate([part[name] for part in parts]) for name in parts[0]}


def _concatenate(arrays: list[np.ndarray]) -> np.ndarray:
    """Joins arrays; where NumPy would cast values (int64 and uint64 to float64, numbers to text), as objects."""
    dtypes = {array.dtype for array in arrays}
    if len(dtypes) > 1 and not all(dtype.kind == "f" for dtype in dtypes):
        return as_column([value for array in arrays for value in array.tolist()])
    return np.concatenate(arrays)


def check_kind(statistics: Mapping[str, np.ndarray]) -> None:
    """Refuses statistics of texts joined with those of ids: they have nothing in common.

    Raises:
        TypeError: There are both; the message names a row of each.
    """
    are_ids = statistics.get(ARE_IDS)
    if are_ids is not None and are_ids.any() and not are_ids.all():
        raise TypeError(f"some rows are texts (row {int(np.argmin(are_ids))}) and some are ids (row "
                        f"{int(np.argmax(are_ids))}), expected all of one kind")  # fmt: skip


def column(batch: Mapping, name: str) -> list:
    """A column of a batch as a list.

    Raises:
        ValueError: There is no such column.

    >>> column({"caption": np.array(["a cat"])}, "prediction")
    Traceback (most recent call last):
        ...
    ValueError: there is no column 'prediction', expected one of caption
    """
    names = column_names(batch)
    if names is None:
        raise TypeError(f"a batch is {describe(batch)}, expected a mapping (or table, data frame) of columns")
    if name not in names:
        raise ValueError(f"there is no column {name!r}, expected one of {', '.join(names)}")
    return as_list(unformatted(batch)[name], name)


def as_column(values: list) -> np.ndarray:
    """Values as an array that casts none of them: integers that fit one type as such, all else as objects.

    >>> as_column([1, 2**63]).dtype, as_column([1, 2**64]).dtype, as_column([-1, 2**63]).tolist()
    (dtype('uint64'), dtype('O'), [-1, 9223372036854775808])
    """
    if values and set(map(type, values)) == {int}:
        low, high = min(values), max(values)
        for dtype in (np.int64, np.uint64):
            if np.iinfo(dtype).min <= low and high <= np.iinfo(dtype).max:
                return np.array(values, dtype)
    array = np.empty(len(values), object)
    array[:] = values
    return array


# The statistics of each metric


def _bleu4(predictions: list, references: list, options: dict) -> dict[str, np.ndarray]:
    predictions, references = check_captions(predictions, references)
    statistics = bleu4.sample_statistics(predictions, references, **options)
    return {**_counted(statistics, references), ARE_IDS: _kinds(predictions)}


def _kinds(predictions: list) -> np.ndarray:
    return np.full(len(predictions), not isinstance(predictions[0], str))


def _cider(predictions: list, references: list, options: dict) -> dict[str, np.ndarray]:
    table = open_table(options.get("document_frequencies", "corpus"))
    predictions, references = check_captions(predictions, references)
    # Named, as a batch of empty captions has no token that would tell ids from texts.
    named = {} if isinstance(predictions[0], str) else {"tokenizer": "none"}
    options = {**options, **named, "document_frequencies": table}
    statistics = cider.sample_statistics(predictions, references, **options)
    return {**_counted(statistics, references), ARE_IDS: _kinds(predictions)}


def open_table(document_frequencies):
    """The table of cider's option, of a file opened once in a process.

    Raises:
        ValueError: It is "corpus", or no table.
    """
    if not isinstance(document_frequencies, str):
        return DocumentFrequencies.of(document_frequencies)
    if document_frequencies == "corpus":
        raise ValueError("document_frequencies is 'corpus', expected a table: a batch is no corpus (a first pass over "
                         "all references makes the table, see scale.frequencies)")  # fmt: skip
    return _load_table(document_frequencies, stamp(document_frequencies))


@lru_cache(maxsize=2)
def _load_table(path: str, stamped: tuple):
    return DocumentFrequencies.load(path)


def _entity_score(predictions: list, references: list, options: dict) -> dict[str, np.ndarray]:
    predictions, references = entity_score.check_texts(predictions, references)
    encoding = {name: options[name] for name in _ENCODER_OPTIONS if name in options}
    others = {name: value for name, value in options.items() if name not in encoding}
    # The encoder keeps its model and the states of entities for the whole life of the process.
    encoder = entity_score.T5Encoder(**encoding)
    return _counted(entity_score.sample_statistics(predictions, references, **others, encoder=encoder), references)


def _vqa_accuracy(predictions: list, references: list, options: dict) -> dict[str, np.ndarray]:
    predictions, references = check_answers(predictions, references)
    ids = is_id(predictions[0])
    formula = _protocol(options, ids).formula
    with warnings.catch_warnings():
        # Too few annotators for a full score is a matter of the whole set: `score` looks at that.
        warnings.simplefilter("ignore")
        statistics = vqa_accuracy.sample_statistics(predictions, references, **{**options, "formula": formula})
    return {**_counted(statistics, references), ARE_IDS: np.full(len(predictions), ids)}


def _protocol(options: Mapping, ids: bool):
    return resolve_protocol(ids=ids, **{name: value for name, value in options.items() if name != "stem"})


def _check_answers(statistics: Mapping[str, np.ndarray], options: Mapping) -> None:
    vqa_accuracy.check_ceiling(statistics[NUM_REFERENCES], _protocol(options, bool(statistics[ARE_IDS][0])))


def _counted(statistics: dict[str, np.ndarray], references: list) -> dict[str, np.ndarray]:
    return {**statistics, NUM_REFERENCES: np.fromiter(map(len, references), np.int64, len(references))}


_STATISTICS: dict[str, Callable[[list, list, dict], dict[str, np.ndarray]]] = {
    "bleu4": _bleu4,
    "cider": _cider,
    "entity_score": _entity_score,
    "vqa_accuracy": _vqa_accuracy,
}
