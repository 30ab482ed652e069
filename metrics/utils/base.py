"""The part that all metrics share: input checked item by item, one contract for `compute`, settings as a signature.

`evaluate` looks at the first item only and lets the rest be cast: an int among captions quotes all of them, a NaN
becomes the word "nan". Here every item is looked at before anything is stored or scored. Importing this module
imports neither evaluate nor NumPy, and `Checked` is a plain mixin, because the loader takes the first metric class
that it meets.
"""

import numbers
import os
from collections.abc import Iterable
from itertools import chain

VERSION = "0.1.0"


def as_list(values, place: str) -> list:
    """Turns a container of items into a list: list, tuple, NumPy array, pandas Series, Arrow array, datasets Column.

    Args:
        values: The container.
        place: Its name in an error.

    Raises:
        TypeError: It is a single text, a mapping, a set, a generator or no container at all.

    >>> as_list(("a", "b"), "predictions")
    ['a', 'b']
    """
    if isinstance(values, list):
        return values
    for method in ("to_pylist", "tolist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    # A datasets Column is read whole by a full slice.
    if hasattr(values, "source") and hasattr(values, "column_name"):
        values = values[:]
    if isinstance(values, list | tuple):
        return list(values)
    raise TypeError(f"{place} is {describe(values)}, expected a list (or tuple, array, Series, Column) of items")


def describe(value) -> str:
    """Names what was found, shortly.

    >>> describe(5), describe(None), describe(float("nan"))
    ('int 5', 'None', 'float nan')
    """
    if value is None:
        return "None"
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 40 else text[:37] + '...'}"


def as_lists(predictions, references, item: str = "sample") -> tuple[list, list]:
    """Turns both containers into lists of the same length, at least one long.

    Args:
        predictions, references: The containers, see `as_list`.
        item: What one of them is called in an error.

    Raises:
        ValueError: They differ in number, or there is none.
        TypeError: One is no container.

    >>> as_lists(("a",), ["b"])
    (['a'], ['b'])
    """
    predictions, references = as_list(predictions, "predictions"), as_list(references, "references")
    if len(predictions) != len(references):
        raise ValueError(f"{len(predictions)} predictions and {len(references)} references, expected as many of both")
    if not predictions:
        raise ValueError(f"predictions is empty, expected at least one {item}")
    return predictions, references


def features_of(*items) -> list:
    """The schemas of a metric: for each kind of item (a feature of datasets), several references per sample or one."""
    import datasets

    return [
        datasets.Features({"predictions": item, "references": reference})
        for item in items
        for reference in (datasets.Sequence(item), item)
    ]


def check_captions(predictions, references) -> tuple[list, list[list]]:
    """Checks candidates and references, texts or token ids.

    Args:
        predictions: One text, or one list of token ids, per sample.
        references: Per sample, one reference or a list of them. A list of texts is always a list of captions; among
            token ids a flat list of ints is one reference.

    Returns:
        Predictions as a list of str or of lists of int; references as a list of lists of them.

    Raises:
        ValueError: There is no sample, the two differ in number, or a sample has no reference.
        TypeError: An item is of another type (the message names it), or texts and ids are mixed.

    >>> check_captions(["a cat"], ["the cat"])
    (['a cat'], [['the cat']])
    """
    predictions, references = as_lists(predictions, references)
    if isinstance(predictions[0], str):
        return _texts(predictions, "predictions[{}]"), _text_groups(references)
    return [_ids(item, f"predictions[{i}]") for i, item in enumerate(predictions)], _id_groups(references)


def check_references(references) -> list[list]:
    """Checks references alone, as `check_captions` does, for a table of document frequencies.

    >>> check_references(["a cat", ["a dog", "the dog"]])
    [['a cat'], ['a dog', 'the dog']]
    """
    references = as_list(references, "references")
    if not references:
        raise ValueError("references is empty, expected at least one image")
    first = references[0]
    if not isinstance(first, str):
        first = next(iter(as_list(first, "references[0]")), None)
    return _text_groups(references) if isinstance(first, str) else _id_groups(references)


def _texts(items: list, place: str) -> list[str]:
    # The set of types is found at C speed; only where it is not {str} does a Python loop look for the place.
    if set(map(type, items)) == {str}:
        return items
    return [_text(item, place.format(i)) for i, item in enumerate(items)]


def _text(item, place: str) -> str:
    if not isinstance(item, str):
        raise TypeError(f"{place} is {describe(item)}, expected str")
    return str(item)


def _text_groups(references: list) -> list[list[str]]:
    groups = [
        group if type(group) is list else [group] if isinstance(group, str) else as_list(group, f"references[{i}]")
        for i, group in enumerate(references)
    ]
    if not all(groups):
        _no_reference(groups)
    if set(map(type, chain.from_iterable(groups))) == {str}:
        return groups
    return [_texts(group, f"references[{i}][{{}}]") for i, group in enumerate(groups)]


def _no_reference(groups: list) -> None:
    place = next(i for i, group in enumerate(groups) if not group)
    raise ValueError(f"references[{place}] is an empty list, expected at least one reference")


def _id_groups(references: list) -> list[list[list[int]]]:
    groups = []
    for i, group in enumerate(references):
        group = as_list(group, f"references[{i}]")
        if group and isinstance(group[0], numbers.Integral):
            group = [group]
        groups.append([_ids(item, f"references[{i}][{j}]") for j, item in enumerate(group)])
    if not all(groups):
        _no_reference(groups)
    return groups


def _ids(item, place: str) -> list[int]:
    if isinstance(item, str) or not (isinstance(item, list | tuple) or hasattr(item, "tolist")):
        raise TypeError(f"{place} is {describe(item)}, expected str in all items, or a list of token ids in all items")
    item = as_list(item, place)
    for k, token in enumerate(item):
        if isinstance(token, bool) or not isinstance(token, numbers.Integral):
            raise TypeError(f"{place}[{k}] is {describe(token)}, expected int (a token id)")
    return [int(token) for token in item]


def check_options(orders: dict | None = None, positive: dict | None = None, flags: dict | None = None) -> None:
    """Checks options by kind, each given as name -> value.

    Args:
        orders: Integers of at least 1.
        positive: Finite numbers above 0.
        flags: True or False.

    Raises:
        ValueError: One is of another kind; the message names it.

    >>> check_options(orders={"n": 0})
    Traceback (most recent call last):
        ...
    ValueError: n is 0, expected an integer of at least 1
    """
    for name, value in (orders or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(f"{name} is {value!r}, expected an integer of at least 1")
    for name, value in (positive or {}).items():
        if isinstance(value, bool) or not isinstance(value, numbers.Real) or not 0 < value < float("inf"):
            raise ValueError(f"{name} is {value!r}, expected a positive number")
    for name, value in (flags or {}).items():
        if not isinstance(value, bool):
            raise ValueError(f"{name} is {value!r}, expected True or False")


def signature(name: str, settings: dict) -> str:
    """Joins settings to one line that says how a score was made; None values are left out.

    >>> signature("cider_d", {"n": 4, "stem": False, "refs": None})
    'cider_d|n:4|stem:no|v:0.1.0'
    """
    shown = {
        key: {True: "yes", False: "no"}[value] if isinstance(value, bool) else value
        for key, value in {**settings, "v": VERSION}.items()
    }
    return "|".join([name, *(f"{key}:{value}" for key, value in shown.items() if value is not None)])


def reference_counts(references: Iterable) -> str:
    """The number of references per sample: "5", or "1-5" where it varies."""
    sizes = set(map(len, references))
    return str(min(sizes)) if len(sizes) == 1 else f"{min(sizes)}-{max(sizes)}"


class Checked:
    """Mixin in front of `evaluate.Metric`: checks every item, scores without an Arrow round trip, leaves no lock.

    A metric defines `_info`, `_compute` and `_signature(**options) -> (name, settings)`; `_check` where its inputs
    are not captions.
    """

    _last_signature = None

    def _check(self, predictions, references) -> tuple[list, list]:
        return check_captions(predictions, references)

    def _stored(self, predictions, references) -> tuple[list, list]:
        """What evaluate stores of checked input."""
        return predictions, references

    def compute(self, *, predictions=None, references=None, **kwargs):
        """Checks and scores what is passed, or what was added before."""
        self._last_signature = None
        if (predictions is None) != (references is None):
            missing = "predictions" if predictions is None else "references"
            raise ValueError(f"{missing} is None, expected both predictions and references (or neither, after add)")
        if predictions is None and self.writer is None:
            raise ValueError("there is nothing to score: pass predictions and references, or call add_batch before")
        try:
            if predictions is not None:
                predictions, references = self._check(predictions, references)
                if self.num_process == 1 and self.writer is None:
                    return self._compute(predictions=predictions, references=references, **kwargs)
                predictions, references = self._stored(predictions, references)
            return super().compute(predictions=predictions, references=references, **kwargs)
        except BaseException:
            self.reset()
            raise

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Checks and stores a batch; a batch that Arrow cannot store forgets those before it too."""
        predictions, references = self._stored(*self._check(predictions, references))
        try:
            super().add_batch(predictions=predictions, references=references, **kwargs)
        except BaseException:
            self.reset()
            raise

    def add(self, *, prediction=None, reference=None, **kwargs):
        """Checks and stores one sample."""
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def compute_metrics(
        self,
        tokenizer=None,
        references=None,
        column=None,
        also=(),
        strip_prompt=False,
        postprocess=None,
        check_labels=None,
        **options,
    ):
        """The callable that transformers' Trainer and Seq2SeqTrainer take as `compute_metrics`.

        It works with `batch_eval_metrics=True` (all rows are scored together after the last batch) and on several
        processes. A Trainer calls it where the evaluation dataset has labels.

        A Trainer does not say which dataset the rows are of. `callback.watch(trainer)` makes it say so: then each
        dataset is scored by its own references. Without it the rows are told by their number and by their labels,
        which are compared with the dataset's column of labels, with those of the evaluation before, and, decoded,
        with the references. Where these leave two sets or contradict the one, there is an error and no number; where
        a single set is neither confirmed nor contradicted, a warning.

        Args:
            tokenizer: A tokenizer or processor with `batch_decode`; None for embeddings.
            references: Those of each row of the evaluation dataset in its order, or the dataset itself. For
                embeddings the image's id, or the ids of image and text; int or str. For several evaluation datasets
                a mapping of their names in `eval_dataset` to either. A mapping of names of columns to lists is a
                dataset where `column` is given.
            column: The dataset's column that holds them; two names for pairs of ids.
            also: Other loaded metrics that score the same rows, or pairs (metric, dict of its options).
            strip_prompt: Takes off the prompt with which a decoder's generated rows begin; needs
                `include_for_metrics=["inputs"]`.
            postprocess: str -> str, applied to each decoded text.
            check_labels: None compares labels as above. True also raises where a decoded label begins none of its
                row's references, so that rows in another order than the dataset's are found. False looks at no
                label: for those that change at random from one evaluation to the next and are no references.
            options: Of `compute`, those with one label per row included. With several sets a mapping of their names
                gives each its own, which one label per row needs.

        Returns:
            A `trainer.ComputeMetrics`; its `bind(references, column)` turns it to another dataset, its
            `watch(trainer)` lets the Trainer say which one it evaluates. It returns floats: what is nested is named
            such as `per_answer_type/number`.

        Raises:
            ValueError, TypeError: A row has no reference, or an option is unknown.
        """
        # Not above: whoever builds the package reads VERSION without NumPy.
        from .trainer import ComputeMetrics

        asked = (also, strip_prompt, postprocess, check_labels)
        return ComputeMetrics(self, tokenizer, references, column, *asked, options)

    @staticmethod
    def preprocess_logits_for_metrics(logits, labels=None, shift=False):
        """For the Trainer's argument of that name: keeps the likeliest tokens alone, see `trainer.token_ids`."""
        from .trainer import token_ids

        return token_ids(logits, labels, shift)

    def _bind(self, references) -> list:
        """The references of a Trainer's evaluation dataset, checked."""
        return self._stored(*self._check([""] * len(references), references))[1]

    def reset(self) -> None:
        """Forgets what was added, and removes its file and lock."""
        if self.writer is not None:
            self.writer.close()
        locks = [self.filelock, *(getattr(self, "filelocks", None) or [])]
        paths = [self.cache_file_name, *(getattr(self, "file_paths", None) or [])]
        self.writer = self.buf_writer = self.data = None
        self.filelock = self.cache_file_name = self.selected_feature_format = None
        self.filelocks = self.file_paths = None
        for lock in filter(None, locks):
            lock.release()
        for path in filter(None, paths):
            for file in (path, f"{path}.lock"):
                if os.path.exists(file):
                    os.remove(file)

    def _report(
        self,
        statistics,
        score,
        sample_scores,
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ) -> dict:
        """What `compute` returns.

        Args:
            statistics: Of the samples (rows), name -> array.
            score: The metric's formula, `score(statistics, weights=None)`.
            sample_scores: statistics -> name -> array of one entry per sample, for `per_sample`.
            per_sample: Adds these, as lists.
            confidence_level, n_resamples, seed, clusters: Of the intervals, see `resampling.confidence_interval`;
                a metric whose rows belong together passes clusters of its own.
            by: One label per row; adds the scores of each label, see `resampling.score_by`.

        Intervals of few samples come with a warning.

        Raises:
            ValueError, TypeError: An option is out of range, or labels are not one per row.
        """
        # Not above: whoever builds the package reads VERSION without NumPy, and resampling checks with this module.
        from .resampling import check_resampling, confidence_interval, score_by, warn_few

        check_options(flags={"per_sample": per_sample})
        how = (confidence_level, n_resamples, seed, clusters)
        rows = len(next(iter(statistics.values())))
        check_resampling(rows, *how)
        results = score(statistics)
        if confidence_level is not None:
            warn_few(rows, clusters, by)
            results["confidence_interval"] = confidence_interval(score, statistics, *how)
        if by is not None:
            results["by"] = score_by(score, statistics, by, *how)
        if per_sample:
            results["per_sample"] = {key: values.tolist() for key, values in sample_scores(statistics).items()}
        return results

    def signature(self, **options) -> str:
        """Says how the last score was made, the number of references included; with options, or before any score,
        how one would be made with these options."""
        if self._last_signature and not options:
            return self._last_signature
        return signature(*self._signature(**options))

    def _sign(self, references, **options) -> None:
        name, settings = self._signature(**options)
        self._last_signature = signature(name, {**settings, "refs": reference_counts(references)})
