"""The contract of `compute` that all metrics share: checked input, one dictionary of results, a signature.

`Checked` is a plain mixin, because evaluate's loader takes the first metric class that it meets.
"""

import os

from .checks import describe, not_stored
from .portable import Portable
from .resampling import warn_few
from .scorers import Asked, BaseScorer, Found, results_of
from .trainer import ComputeMetrics, TokenIds

# What an instance of evaluate has that means nothing in another: its bound methods, and the rows it writes.
_OF_ONE_INSTANCE = (
    *("compute", "add", "add_batch", "writer", "buf_writer", "data", "cache_file_name"),
    *("filelock", "rendez_vous_lock", "filelocks", "file_paths"),
)


def features_of(*items) -> list:
    """The schemas of a metric: for each kind of item (a feature of datasets), several references per sample or one."""
    import datasets  # Takes a second, which the scores alone do not need.

    return [
        datasets.Features({"predictions": item, "references": reference})
        for item in items
        for reference in (datasets.Sequence(item), item)
    ]


class Checked(Portable):
    """Mixin in front of `evaluate.Metric`: checks every item, scores without an Arrow round trip, leaves no lock.

    A metric can be pickled and copied; the rows that were added go along, under a file and lock of the copy's own.

    A metric defines `_info`, `_compute` and `_scorer`, the class of its Scorer.
    """

    _scorer: type[BaseScorer]
    _last_signature = None
    # For the Trainer's argument of that name: keeps the likeliest tokens alone, see `trainer.token_ids`.
    preprocess_logits_for_metrics = TokenIds()

    def _check(self, predictions, references) -> tuple[list, list]:
        return self._scorer().read(predictions, references)

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
        except (OverflowError, UnicodeEncodeError) as error:
            self.reset()
            raise ValueError(not_stored({"predictions": predictions, "references": references})) from error
        except BaseException:
            self.reset()
            raise

    def add(self, *, prediction=None, reference=None, predictions=None, references=None, **kwargs):
        """Checks and stores one sample; `predictions` and `references`, as evaluate writes it, mean the same here."""
        prediction = _one_of("prediction", prediction, predictions)
        reference = _one_of("reference", reference, references)
        self.add_batch(predictions=[prediction], references=[reference], **kwargs)

    def compute_metrics(
        self,
        tokenizer=None,
        /,
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
            tokenizer: The model's tokenizer or processor, with `batch_decode`; None for embeddings. Passed first, it
                leaves `tokenizer="char"` for the option of `compute` with that name; `tokenizer=` with `batch_decode`
                is the model's too.
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
        if hasattr(options.get("tokenizer"), "batch_decode"):
            if tokenizer is not None:
                raise TypeError(
                    f"tokenizer={describe(options['tokenizer'])} stands beside {describe(tokenizer)}, "
                    "expected one model's tokenizer, and as tokenizer= the option of compute"
                )
            tokenizer = options.pop("tokenizer")
        asked = (also, strip_prompt, postprocess, check_labels)
        return ComputeMetrics(self, tokenizer, references, column, *asked, options)

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

    @classmethod
    def _blank(cls):
        # evaluate binds methods to an instance where it is made.
        return cls()

    def __getstate__(self):
        import evaluate  # Takes seconds; this instance is one of its classes.

        state = {name: value for name, value in vars(self).items() if name not in _OF_ONE_INSTANCE}
        # The default folder is another one on another machine.
        if self._data_dir_root == os.path.expanduser(evaluate.config.HF_METRICS_CACHE):
            del state["_data_dir_root"], state["data_dir"]
        return {**state, "rows": self._added_rows()}

    def __setstate__(self, state):
        rows = state.pop("rows")
        vars(self).update(state)
        os.makedirs(self.data_dir, exist_ok=True)
        if rows is not None:
            self._write(rows)

    def _added_rows(self):
        """The rows that were added as an Arrow table, None where there are none.

        Raises:
            ValueError: They are a part of what several processes add.
        """
        import pyarrow  # Takes time, for Parquet and Arrow alone.

        if self.writer is None:
            return None
        if self.num_process > 1:
            raise ValueError(
                f"{len(self)} rows were added in process {self.process_id} of {self.num_process}, which "
                "the others wait for: expected compute() or reset() before the metric is pickled or "
                "copied"
            )
        try:
            # A stream can be read once it is closed, and then is written anew.
            self.writer.finalize()
            written = self.buf_writer.getvalue() if self.keep_in_memory else self.cache_file_name
            with pyarrow.input_stream(written) as stream:
                rows = pyarrow.ipc.open_stream(stream).read_all()
            self._write(rows)
        except BaseException:
            self.reset()
            raise
        return rows

    def _write(self, rows) -> None:
        """Begins to write with rows that were read."""
        if self.cache_file_name is None and not self.keep_in_memory:
            # The original has locked the usual file, for which evaluate would wait a second.
            self.cache_file_name, self.filelock = self._create_cache_file(timeout=0)
        self._init_writer()
        self.writer.write_table(rows)

    def _scored(self, scorer: BaseScorer, found: Found, asked: Asked) -> dict:
        """What `compute` returns; notes how it was made. Intervals of few samples come with a warning."""
        if asked.confidence_level is not None:
            warn_few(found.rows, scorer.clusters(found, asked), asked.by if found.owner is None else None)
        results = results_of(scorer, found, asked)
        self._last_signature = scorer.signature(found.num_references)
        return results

    def signature(self, **options) -> str:
        """Says how the last score was made, the number of references included; with options, or before any score,
        how one would be made with these options."""
        if self._last_signature and not options:
            return self._last_signature
        return self._scorer(**options).signature()


def _one_of(name: str, value, other):
    """What was passed under one of two names, `name` and its plural."""
    if (value is None) == (other is None):
        found = f"{name} is missing" if value is None else f"{name} and {name}s are both given"
        raise ValueError(f"{found}, expected one {name} (as {name}= or {name}s=)")
    return other if value is None else value
