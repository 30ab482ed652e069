"""The datasets that a Trainer evaluates: the references and options of each, and which of them an evaluation was of.

The worst that can happen is a number from the references of another dataset, which looks like any number. So a set is
chosen by what is known: the dataset where the Trainer says it, the number of rows, and the labels; where these leave
two sets, or contradict the one, there is an error.
"""

from collections.abc import Callable, Mapping

import numpy as np

from .containers import as_list, column_names, describe, unformatted
from .evaluation_labels import Evaluation, column_labels, fits_column, fits_references, numbers_of

# Options of the metrics with one label per row, which belong to a dataset as its references do.
PER_ROW = ("answer_types", "backward_references", "by", "clusters", "question_types")

# So many of a dataset's rows have labels that fit: a tokenizer may not know a sign in one of them.
SHARE = 0.95

_REMEDY = (
    "call callback.watch(trainer) once the Trainer is made, pass the dataset itself with its column in place of a "
    "list, or call callback.bind(...) before another dataset is evaluated (check_labels=False where labels change at "
    "random)"
)


class EvaluationSet:
    """What belongs to the rows of one dataset.

    Args:
        name: Its name among several, or None.
        references: One entry per row, checked.
        options: The options of each metric.
        dataset: Where the references come from a dataset, this.
    """

    def __init__(self, name: str | None, references: list, options: list[dict], dataset=None):
        self.name, self.references, self.options, self.dataset = name, references, options, dataset
        self.column_labels = _labels_of(dataset, len(references))
        # Of the last evaluation.
        self.last_labels = self.last_dataset = None

    def __getstate__(self):
        # In another process the datasets would be other objects: nothing could be told by them.
        return {**self.__dict__, "dataset": None, "last_dataset": None}

    def fits(self, evaluation: Evaluation) -> np.ndarray:
        """For each row whether its label is that of the dataset, or the one before, or among its references."""
        size = len(self.references)
        labels = evaluation.labels[:size]
        fits = [
            (self.last_labels is not None and label == self.last_labels[row])
            or (self.column_labels is not None and fits_column(label, self.column_labels[row]))
            for row, label in enumerate(labels)
        ]
        rest = [row for row in range(size) if not fits[row]]
        for row, text in zip(rest, evaluation.texts([labels[row] for row in rest])):
            fits[row] = fits_references(text, self.references[row])
        # The first rows come again where several processes fill up the last batch.
        return np.resize(fits, evaluation.count)

    def accept(self, evaluation: Evaluation, dataset=None) -> None:
        """Keeps what tells whether the next evaluation is of the same rows."""
        self.last_dataset = dataset
        if evaluation.comparable:
            self.last_labels = evaluation.labels[: len(self.references)]

    def scores_as(self, other: "EvaluationSet") -> bool:
        """Whether both have the same references and options."""
        same = all(
            mine.keys() == theirs.keys() and all(mine[key] is theirs[key] for key in mine)
            for mine, theirs in zip(self.options, other.options)
        )
        return same and self.references == other.references


def column_of(references, column=None, place: str = "references") -> list:
    """The references of each row: a list as it is, or the column of a dataset; of several columns the tuples.

    Raises:
        ValueError: A dataset comes without the name of a column, or lacks it.
        TypeError: There is no list of rows.

    >>> column_of({"a": [1, 2], "b": [3, 4]}, ("a", "b"))
    [(1, 3), (2, 4)]
    """
    names = column_names(references)
    if names is None:
        if column is not None:
            raise ValueError(f"column is {column!r} and {place} are {describe(references)}, expected a dataset")
        return as_list(references, place)
    wanted = [column] if isinstance(column, str) else as_list(column or [], "column")
    missing = [name for name in wanted if name not in names]
    if missing or not wanted:
        raise ValueError(f"column is {column!r}, expected one of {names}")
    # What a transform makes of the rows is for the model.
    dataset = unformatted(references)
    columns = [as_list(dataset[name], f"{place}[{name!r}]") for name in wanted]
    return columns[0] if isinstance(column, str) else list(zip(*columns))


def read_sets(references, column, options: list[dict], bind: Callable) -> list[EvaluationSet]:
    """The sets of what was passed as references.

    Args:
        references: Those of one dataset, or a mapping of names to those of several.
        column: The name of the column that holds them, or several.
        options: Those of each metric; a mapping with the same names gives each set its own.
        bind: Checks the references of each row.

    Raises:
        ValueError, TypeError: References are missing or of another kind; of several sets the message names which.
    """
    if not _holds_sets(references, column):
        return [_read(None, references, column, options, bind)]
    if not references:
        raise ValueError("references is an empty mapping, expected those of at least one dataset")
    sets = []
    for name in references:
        own = [_own_options(settings, name, list(references)) for settings in options]
        try:
            sets.append(_read(name, references[name], column, own, bind))
        except (TypeError, ValueError) as error:
            raise type(error)(f"in the set {name!r}: {error}") from error
    return sets


def set_of(evaluated, sets: list[EvaluationSet], column, bind: Callable) -> EvaluationSet | None:
    """The set that a watched Trainer evaluates, None where what it says does not tell.

    Its dataset is one that was bound, or holds the references itself, or has the name of a set.

    Raises:
        ValueError: It holds references that are not bound, and options have one label per row of those that are.
    """
    if evaluated is None:
        return None
    named = sorted(sets, key=lambda one: one.name is None or one.name != evaluated.name)
    for one in named:
        if one.dataset is not None and one.dataset is evaluated.dataset:
            return one
    references = _held(evaluated.dataset, column, bind)
    if references is None:
        return named[0] if named[0].name is not None and named[0].name == evaluated.name else None
    for one in named:
        if one.references == references:
            return one
    for key in (key for settings in sets[0].options for key in PER_ROW if settings.get(key) is not None):
        raise ValueError(
            f"{key} has one label per row of the dataset that is bound, and another is evaluated: "
            f"expected callback.bind(dataset, column, {key}=...) before"
        )
    return EvaluationSet(None, references, sets[0].options, evaluated.dataset)


def choose(
    sets, told, evaluation: Evaluation, processes: int = 1, dataset=None, doubt: bool = True
) -> tuple[EvaluationSet, str | None]:
    """The set whose rows were evaluated.

    Args:
        sets: Those that are bound.
        told: The one that the Trainer names, or None.
        evaluation: Its rows and labels.
        processes: How many fill up the last batch with the first rows.
        dataset: What the Trainer evaluates, where it is watched.
        doubt: False where the labels of the one set that is left are compared afterwards.

    Returns:
        The set, and a sentence to warn with where nothing contradicts it and not all confirms it, else None.

    Raises:
        ValueError: No set has as many rows, several may be meant, or the labels are those of other rows.
    """
    sets = [told] if told is not None else sets
    fitting = [one for one in sets if evaluation.may_have(len(one.references), processes)]
    if not fitting:
        raise ValueError(_wrong_number(sets, evaluation.count))
    if told is not None and told.column_labels is None:
        return told, None
    different = [one for i, one in enumerate(fitting) if not any(map(one.scores_as, fitting[:i]))]
    fits = [one.fits(evaluation) if evaluation.comparable else None for one in different]
    if len(different) > 1:
        return _best(different, fits, evaluation)
    if not doubt:
        return different[0], None
    return different[0], _doubt(different[0], fits[0], evaluation, told is not None, dataset)


def _best(sets, fits, evaluation: Evaluation) -> tuple[EvaluationSet, str | None]:
    """The set that the labels fit where they fit another, and elsewhere too."""
    for one, own in zip(sets, fits):
        others = [other for other in fits if other is not own]
        if own is None or not evaluation.informative(len(one.references)) or own.mean() < SHARE:
            continue
        if all((own & ~other).any() and not (other & ~own).any() for other in others):
            return one, _partly(own, one)
    names = " and ".join(f"{one.name!r} ({len(one.references)})" for one in sets)
    raise ValueError(
        f"{evaluation.count} rows were evaluated that may be those of {names}, and their labels do not "
        f"tell which: {_REMEDY}"
    )


def _doubt(one: EvaluationSet, fits, evaluation: Evaluation, told: bool, dataset) -> str | None:
    """A sentence where nothing tells that these are the set's rows; an error where something tells the contrary."""
    if fits is not None:
        known = one.column_labels is not None or not told and one.last_labels is not None
        if known and fits.mean() < SHARE:
            raise ValueError(_contradiction(one, fits, evaluation))
        if not told and fits.mean() >= SHARE and evaluation.informative(len(one.references)):
            return _partly(fits, one)
    if told:
        return None
    if one.last_dataset is not None and dataset is not one.last_dataset:
        raise ValueError(
            "another dataset is evaluated than before, and no label tells that its rows are those of "
            f"the references{_of(one)}: {_REMEDY}"
        )
    if fits is None:
        return None
    return (
        f"nothing tells whether the rows that are evaluated are those of the references{_of(one)}: their labels "
        f"are none of these, and no labels of the dataset are known. To be sure, {_REMEDY}"
    )


def _partly(fits: np.ndarray, one: EvaluationSet) -> str | None:
    if fits.all():
        return None
    row = int(np.argmin(fits))
    return (
        f"{np.count_nonzero(~fits)} of {len(fits)} labels (the first is label_ids[{row}]) are not those of the "
        f"dataset of the references{_of(one)}, nor among these: are they of the same rows?"
    )


def _contradiction(one: EvaluationSet, fits: np.ndarray, evaluation: Evaluation) -> str:
    row = int(np.argmin(fits))
    found = numbers_of(evaluation.labels[row % len(one.references)]).tolist()
    known = numbers_of((one.column_labels or one.last_labels)[row % len(one.references)]).tolist()
    source = "the dataset has" if one.column_labels is not None else "the evaluation before had"
    return (
        f"label_ids[{row}] holds {describe(found)} where {source} {describe(known)}, so "
        f"{np.count_nonzero(~fits)} of {len(fits)} rows are not those of the references{_of(one)}: they are of "
        "another dataset, or in another order (train_sampling_strategy='group_by_length' changes it). Expected "
        f"the rows of the references; {_REMEDY}"
    )


def _of(one: EvaluationSet) -> str:
    return "" if one.name is None else f" of {one.name!r}"


def _wrong_number(sets: list[EvaluationSet], count: int) -> str:
    if len(sets) > 1:
        sizes = ", ".join(f"{len(one.references)} of {one.name!r}" for one in sets)
        return (
            f"{count} predictions came, expected as many as one set has rows of references: {sizes}. "
            "Likely causes: dataloader_drop_last=True leaves rows out, DataParallel or a DistributedSampler gives "
            "some twice"
        )
    size = len(sets[0].references)
    if count < size:
        return (
            f"references[{count}] has no prediction: {count} predictions came for {size} rows of references"
            f"{_of(sets[0])}. Likely causes: dataloader_drop_last=True leaves out the rows of the last batch, or "
            "the dataset was filtered after the references were taken"
        )
    return (
        f"predictions[{size}] has no reference: {count} predictions came for {size} rows of references"
        f"{_of(sets[0])}. Bind those of the dataset that is evaluated; or rows came twice, with which "
        "DataParallel or the DistributedSampler of several processes fills up the last batch"
    )


def _read(name, references, column, options: list[dict], bind: Callable) -> EvaluationSet:
    rows = column_of(references, column)
    if not rows:
        raise ValueError("references is empty, expected those of at least one row")
    dataset = None if column_names(references) is None else references
    return EvaluationSet(name, bind(rows), options, dataset)


def _own_options(settings: dict, name: str, names: list) -> dict:
    """The options of one of several sets."""
    own = {}
    for key, value in settings.items():
        if isinstance(value, Mapping) and set(value) == set(names):
            value = value[name]
        elif key in PER_ROW and value is not None:
            raise ValueError(f"{key} is {describe(value)}, expected a mapping of the labels of each set: {names}")
        own[key] = value
    return own


def _holds_sets(references, column) -> bool:
    """Whether a mapping is one of datasets, not of columns: without a column's name, or with datasets in it."""
    if not isinstance(references, Mapping):
        return False
    return column is None or any(column_names(value) is not None for value in references.values())


def _held(dataset, column, bind: Callable) -> list | None:
    """The references in the columns of that name, None where it has none."""
    wanted = [column] if isinstance(column, str) else column or []
    names = column_names(dataset) or []
    if not wanted or any(name not in names for name in wanted):
        return None
    try:
        return bind(column_of(dataset, column))
    except TypeError:
        # A column of the same name that was tokenized, or one that cannot be read twice.
        return None


def _labels_of(dataset, size: int) -> list[bytes] | None:
    """The labels in a dataset's own column, as they are stored."""
    name = next((name for name in ("labels", "label_ids") if name in (column_names(dataset) or [])), None)
    if name is None:
        return None
    try:
        # What a transform makes of them may change from one reading to the next.
        labels = column_labels(as_list(unformatted(dataset)[name], name))
    except TypeError:
        return None
    return labels if labels is not None and len(labels) == size else None
