"""One function per metric that turns a batch of rows into the rows' statistics, for any engine that maps batches.

A batch is a mapping of columns (lists, arrays, Series), a table or a data frame, such as `map(batched=True)` of
`datasets`, Ray Data's `map_batches` and a DataLoader's collation make. The object pickles and does not import
evaluate. Joined in any order, the statistics of all batches score as the whole set does, since all references of a
sample are in its row.
"""

from collections.abc import Iterable, Mapping, Sequence
from copy import copy

import numpy as np

from ..bleu4 import scoring as bleu4
from ..cider import scoring as cider
from ..entity_score import scoring as entity_score
from ..utils.containers import as_items, as_list, column_names, describe, unformatted
from ..utils.scorers import BaseScorer, Found, counts_of
from ..vqa_accuracy import scoring as vqa_accuracy
from .fingerprints import fingerprint

# Rows of a batch where nobody says how many.
BATCH_ROWS = 4096

_SCORERS = {module.Scorer.NAME: module.Scorer for module in (bleu4, cider, entity_score, vqa_accuracy)}
METRICS = tuple(_SCORERS)

# Columns beside the metric's own: what a signature and the check of a whole set need to know of the rows.
NUM_REFERENCES, ARE_IDS = "num_references", "are_ids"


class BatchStatistics:
    """Statistics of a batch under one metric and its options.

    Args:
        metric: One of METRICS, or a Scorer of one. recall_at_k compares each row with all others: see `retrieval`.
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
        metric: str | BaseScorer,
        predictions: str = "prediction",
        references: str = "references",
        keep: Sequence[str] = (),
        **options,
    ):
        self.scorer = make_scorer(metric, options) if isinstance(metric, str) else metric.replace(**options)
        # Checks the options, and reads what they name.
        self.scorer.settings()
        self._encoder = None
        self.predictions, self.references, self.keep = predictions, references, tuple(keep)

    def __call__(self, batch: Mapping) -> dict[str, np.ndarray]:
        """The statistics of a batch.

        Returns:
            Columns, first axis = row: those of the metric, `num_references`, `are_ids` and the columns kept. Of a
            batch without a row, no column.

        Raises:
            ValueError, TypeError: A column is missing, an item is wrong, or a column to be kept has the name of one
                that the metric makes; the message names it.
        """
        if self.needs_frequencies:
            raise ValueError(
                "document_frequencies is 'corpus', expected a table: a batch is no corpus (a first pass "
                "over all references makes the table, see scale.frequencies)"
            )
        predictions, references = column(batch, self.predictions), column(batch, self.references)
        if not predictions and not references:
            return {}
        predictions, references = self.scorer.read(predictions, references)
        are_ids = not isinstance(predictions[0], str)
        statistics = self.scorer.opened().of(are_ids).statistics(predictions, references, self._encoder)
        if self.keep:
            self._check_kept(statistics)
        rows = {NUM_REFERENCES: counts_of(references), ARE_IDS: np.full(len(references), are_ids)}
        kept = {name: as_column(as_items(column(batch, name), name)) for name in self.keep}
        return {**statistics, **rows, **kept}

    @property
    def needs_frequencies(self) -> bool:
        """Whether a first pass has to make the table of document frequencies."""
        table = getattr(self.scorer, "document_frequencies", None)
        return isinstance(table, str) and table == "corpus"

    def with_options(self, **options) -> "BatchStatistics":
        """The same with other options."""
        copied = copy(self)
        copied.scorer = self.scorer.replace(**options)
        return copied

    def with_encoder(self) -> "BatchStatistics":
        """The same for the batches of one shard in their order: words that a batch has had cost less in the next."""
        return keep_encoder(self)

    def of(self, statistics: Mapping[str, np.ndarray]) -> tuple[BaseScorer, Found]:
        """The Scorer for joined statistics, and what it found.

        Raises:
            TypeError: Some rows are texts and some are ids.
        """
        check_kind(statistics)
        others = {NUM_REFERENCES, ARE_IDS, *self.keep}
        own = {name: values for name, values in statistics.items() if name not in others}
        return self.scorer.of(bool(statistics[ARE_IDS][0])), Found(own, statistics[NUM_REFERENCES])

    def score(self, statistics: Mapping[str, np.ndarray]) -> dict:
        """The scores of joined statistics, as the metric's `score` makes them.

        Raises:
            ValueError: The whole set is one that the metric does not score.
            TypeError: Some rows are texts and some are ids.
        """
        scorer, found = self.of(statistics)
        scorer.check_set(found)
        return scorer.score(found.statistics)

    def sample_scores(self, statistics: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The scores of every row.

        Raises:
            TypeError: Some rows are texts and some are ids.
        """
        scorer, found = self.of(statistics)
        return scorer.samples(found.statistics)

    def signature(self, statistics: Mapping[str, np.ndarray] | None = None, corpus: bool = False) -> str:
        """Says how scores are made.

        Args:
            statistics: Joined, for the number of references, and for whether they are of texts or of ids.
            corpus: Whether cider's table was made of these references and not of others.
        """
        scorer, found = (self.scorer, None) if statistics is None else self.of(statistics)
        if corpus:
            scorer = scorer.replace(document_frequencies="corpus")
        return scorer.signature(None if found is None else found.num_references)

    def fingerprint(self) -> str:
        """A hash of the metric's code and of all that the statistics depend on: options, and the columns read."""
        used = {name: value for name, value in vars(self.scorer).items() if name not in self.scorer.OF_SCORE}
        return fingerprint(self.scorer.NAME, (self.predictions, self.references, *self.keep), used)

    def _check_kept(self, statistics: Mapping[str, np.ndarray]) -> None:
        """Refuses columns that would stand in the place of statistics, or of scores in a file of samples."""
        scores = self.scorer.samples({name: values[:1] for name, values in statistics.items()})
        made = {*statistics, *scores, NUM_REFERENCES, ARE_IDS}
        for name in self.keep:
            if name in made:
                raise ValueError(
                    f"the column {name!r}, which is to be kept, has the name of a column that {self.scorer.NAME} "
                    f"makes ({', '.join(sorted(made))}): rename it, or keep another"
                )


def make_scorer(metric: str, options: Mapping) -> BaseScorer:
    """The Scorer of a metric of METRICS.

    Raises:
        ValueError: The metric or an option is unknown.
    """
    if metric not in METRICS:
        raise ValueError(f"metric is {metric!r}, expected one of {list(METRICS)}")
    known = _SCORERS[metric].options()
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise ValueError(f"{metric} has no option {', '.join(unknown)}, expected among {', '.join(sorted(known))}")
    return _SCORERS[metric](**options)


def keep_encoder(function):
    """A copy of what works on batches, with an encoder of its own."""
    copied = copy(function)
    copied._encoder = function.scorer.encoder()
    return copied


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
        raise TypeError(
            f"some rows are texts (row {int(np.argmin(are_ids))}) and some are ids (row "
            f"{int(np.argmax(are_ids))}), expected all of one kind"
        )


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
