"""What transformers' Trainer calls as `compute_metrics`: decodes, binds references to rows, scores all rows at once.

A Trainer hands over padded ids with one label per row, but a caption has five references, a question ten answers, and
an embedding belongs to a gallery. So the references are those of the evaluation dataset, bound by the order of its
rows; which of several datasets was evaluated, evaluation_sets.py finds. Arrays of NumPy and tensors are told apart by
what they can do; neither torch nor transformers is imported.
"""

import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping

import numpy as np

from .checks import as_list, describe
from .evaluation_labels import IGNORED, Evaluation, array_of, first_of, plain
from .evaluation_sets import PER_ROW, choose, read_sets, set_of
from .portable import Portable
from .watched_trainer import watch


def token_ids(logits, labels=None, shift: bool = False):
    """The likeliest token at each place, for Trainer's `preprocess_logits_for_metrics`: logits never pile up.

    Args:
        logits: (rows, length, vocabulary), or a tuple or list that begins with them. Ids (rows, length), as from
            `predict_with_generate`, pass unchanged.
        labels: (rows, length); where they are -100 (padding, a prompt), so is the result. None leaves nothing out.
        shift: For causal language models, whose place t predicts label t + 1. Of more places than labels the last
            ones are those of the labels: such models (GIT) put the image's places before the text's.

    Returns:
        Ids (rows, length), or (rows, length - 1) when shifted; a tensor when the logits are one.

    Raises:
        ValueError: Labels and logits differ in shape, with more places than labels where not shifted.

    >>> token_ids(np.eye(3)[None], np.array([[5, 6, -100]])).tolist()
    [[0, 1, -100]]
    """
    logits = first_of(logits)
    if logits.ndim == 2:
        return logits
    labels = first_of(labels)
    before = logits.shape[1] - labels.shape[1] if shift and labels is not None else 0
    ids = logits[:, max(0, before) :].argmax(-1)
    if shift:
        ids, labels = ids[:, :-1], None if labels is None else labels[:, 1:]
    if labels is not None:
        if tuple(ids.shape) != tuple(labels.shape):
            raise ValueError(
                f"logits give ids of shape {tuple(ids.shape)} and labels are {tuple(labels.shape)}, "
                "expected one label per place (of a model that puts an image's places before the text, "
                "shift=True leaves these out)"
            )
        ids[labels == IGNORED] = IGNORED
    return ids


class TokenIds(Portable):
    """`token_ids` as an object: a function of a metric that evaluate loaded could not be pickled for a new process."""

    def __call__(self, logits, labels=None, shift: bool = False):
        """See `token_ids`."""
        return token_ids(logits, labels, shift)


class ComputeMetrics(Portable):
    """A callable for Trainer and Seq2SeqTrainer, whole or with `batch_eval_metrics=True`.

    `metric.compute_metrics(...)` makes one and says what the arguments are. A copy, or what is pickled, begins
    without the rows of an evaluation.
    """

    def __init__(
        self,
        metric,
        tokenizer,
        references,
        column=None,
        also=(),
        strip_prompt=False,
        postprocess=None,
        check_labels=None,
        options=None,
    ):
        self._metrics = [(metric, dict(options or {})), *map(_with_options, as_list(also, "also"))]
        self._embeddings = getattr(metric, "_trainer_rows", "texts") == "embeddings"
        for one, settings in self._metrics:
            _check_metric(one, settings, self._embeddings)
        if not self._embeddings and not hasattr(tokenizer, "batch_decode"):
            raise TypeError(f"tokenizer is {describe(tokenizer)}, expected a tokenizer or processor with batch_decode")
        if check_labels not in (None, False, True):
            raise ValueError(f"check_labels is {check_labels!r}, expected None, True or False")
        self._tokenizer, self._strip_prompt, self._postprocess = tokenizer, strip_prompt, postprocess
        self._check_labels = check_labels
        # What a watched Trainer evaluates at the moment.
        self._evaluated = None
        self._set_sets(references, column)

    def bind(self, references, column=None, **labels) -> None:
        """Binds the references of another dataset, such as the test set before `trainer.predict(test)`.

        Args:
            references: One entry per row, or a dataset (or mapping, DataFrame) together with `column`; or a mapping
                of names to several of either.
            column: The name of the column that holds them; several names for pairs of ids.
            labels: The options with one label per row (`by`, `clusters` and the like), where there were such.

        Raises:
            ValueError, TypeError: A row has no reference, or one of another kind (the message names the row), or
                the labels of the rows that were bound before have none in their place.
        """
        unknown = [name for name in labels if name not in PER_ROW]
        if unknown:
            raise TypeError(f"bind has no option {unknown[0]!r}, expected some of {list(PER_ROW)}: others stay")
        before = self._metrics
        self._metrics = [(metric, _rebound(settings, labels, metric is before[0][0])) for metric, settings in before]
        try:
            for metric, settings in self._metrics:
                _check_metric(metric, settings, self._embeddings)
            self._set_sets(references, column)
        except BaseException:
            self._metrics = before
            raise

    def watch(self, trainer):
        """Lets a Trainer say which dataset it evaluates: then each is scored by its own references, or not at all.

        A dataset is known by being one that was bound, by its name in `eval_dataset`, or by holding the column of the
        references itself, so that `trainer.predict(test)` needs no `bind`.

        Args:
            trainer: The Trainer that has this object as `compute_metrics`; three of its methods are wrapped.

        Returns:
            The Trainer.

        Raises:
            TypeError: It is none.
        """
        watch(trainer, self._begin, self._end)
        return trainer

    def reset(self) -> None:
        """Forgets the rows of an evaluation that did not come to its end."""
        self._rows = Evaluation(None if self._embeddings else self._read, self._check_labels is not False)

    def __getstate__(self):
        # What a Trainer evaluates means nothing in another process.
        state = {**self.__dict__, "_evaluated": None}
        del state["_rows"]
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)
        self.reset()

    def __call__(self, eval_prediction, compute_result: bool = True) -> dict[str, float]:
        """Takes the rows of a batch, or of all; scores all of them once, after the last.

        Args:
            eval_prediction: With `predictions`, `label_ids` and, for `strip_prompt`, `inputs`.
            compute_result: False while batches follow; then nothing is scored and the result is empty.

        Raises:
            ValueError: There are more or fewer predictions than rows of references, logits in place of ids, or rows
                that are (or may be) those of another dataset.
        """
        try:
            for predictions, labels, inputs in _batches(eval_prediction):
                self._add(predictions, labels, inputs)
            return self._score(self._chosen()) if compute_result else {}
        except BaseException:
            self.reset()
            raise

    def _set_sets(self, references, column) -> None:
        metric, settings = self._metrics[0][0], [settings for _, settings in self._metrics]
        self._sets = read_sets(references, column, settings, metric._bind)
        self._column, self._warned = column, False
        self.reset()

    def _begin(self, evaluated) -> None:
        self.reset()
        self._evaluated = evaluated

    def _end(self) -> None:
        self.reset()
        self._evaluated = None

    def _add(self, predictions, labels, inputs) -> None:
        if self._embeddings:
            rows = _embeddings(predictions)
            size = len(rows[0])
        else:
            start = self._rows.count
            ids = _rows_of_ids(predictions, start)
            rows = self._decode(_without_prompts(ids, inputs, start) if self._strip_prompt else ids)
            size = len(rows)
        self._rows.add(rows, size, labels)

    def _read(self, rows: list[list[int]]) -> list[str]:
        return self._tokenizer.batch_decode(rows, skip_special_tokens=True)

    def _decode(self, rows: list[list[int]]) -> list[str]:
        texts = [text.strip() for text in self._read(rows)]
        return texts if self._postprocess is None else [self._postprocess(text) for text in texts]

    def _chosen(self):
        """The set that was evaluated; warns once where that is likely alone."""
        told = set_of(self._evaluated, self._sets, self._column, self._metrics[0][0]._bind)
        dataset = None if self._evaluated is None else self._evaluated.dataset
        strict = self._check_labels and not self._embeddings
        found, doubt = choose(self._sets, told, self._rows, num_processes(), dataset, not strict)
        if strict:
            self._compare_labels(found.references)
        elif doubt is not None and not self._warned:
            warnings.warn(doubt, stacklevel=3)
            self._warned = True
        found.accept(self._rows, dataset)
        return found

    def _compare_labels(self, references: list) -> None:
        """Whether each label is among its row's references: rows that came in another order score nonsense."""
        if self._rows.labels is None:
            raise ValueError("label_ids is None, expected labels where check_labels is True")
        for row, (text, group) in enumerate(zip(self._read(self._rows.label_ids()), references)):
            # A label may have been cut off at its greatest length.
            if not any(plain(reference).startswith(plain(text)) for reference in _group(group)):
                raise ValueError(
                    f"label_ids[{row}] reads {text!r}, which is none of its references "
                    f"{describe(group)}: are the rows in the order of the dataset "
                    "(train_sampling_strategy='group_by_length' changes it)?"
                )

    def _score(self, chosen) -> dict[str, float]:
        size, batches = len(chosen.references), self._rows.batches
        if self._embeddings:
            predictions = tuple(np.concatenate(side)[:size] for side in zip(*batches))
        else:
            predictions = [text for rows in batches for text in rows][:size]
        self.reset()
        results = {}
        for (metric, _), options in zip(self._metrics, chosen.options):
            compute = getattr(metric, "_score_rows", metric.compute)
            found = compute(predictions=predictions, references=chosen.references, **options)
            found = plain_floats(found)
            taken = set(found) & set(results)
            results.update({f"{_name(metric)}_{key}" if key in taken else key: found[key] for key in found})
        return results


def plain_floats(results: Mapping, prefix: str = "") -> dict[str, float]:
    """Results as floats that a Trainer logs: nested ones are named by their path.

    {"value", "count"} becomes its value, the two ends of an interval are called low and high, other lists are numbered
    from 1.

    Raises:
        TypeError: A value is no number.

    >>> plain_floats({"bleu4": 0.5, "per_answer_type": {"number": {"value": 1, "count": 3}}, "precisions": [1, 0.5]})
    {'bleu4': 0.5, 'per_answer_type/number': 1.0, 'precisions/1': 1.0, 'precisions/2': 0.5}
    """
    found = {}
    for key, value in results.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping) and set(value) == {"value", "count"}:
            value = value["value"]
        if isinstance(value, list | tuple):
            interval = path.startswith("confidence_interval/") and len(value) == 2
            value = dict(zip(("low", "high"), value)) if interval else dict(enumerate(value, start=1))
        if isinstance(value, Mapping):
            found.update(plain_floats(value, f"{path}/"))
            continue
        try:
            found[path] = float(value)
        except (TypeError, ValueError) as error:
            raise TypeError(f"{path} is {describe(value)}, expected a number that a Trainer can log") from error
    return found


def num_processes() -> int:
    """How many processes take part in torch's process group; 1 where there is none."""
    torch = sys.modules.get("torch")
    distributed = torch.distributed if torch else None
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_world_size()
    return 1


def _with_options(item) -> tuple:
    metric, options = item if isinstance(item, tuple) else (item, {})
    return metric, dict(options)


def _rebound(settings: dict, labels: dict, first: bool) -> dict:
    """A metric's options with the labels of other rows: those of the rows before would group them silently."""
    for key in PER_ROW:
        if settings.get(key) is not None and key not in labels:
            raise ValueError(
                f"{key} has one label per row of the dataset that was bound before, expected "
                f"bind(..., {key}=...) for the rows of this one"
            )
    return {**settings, **{key: value for key, value in labels.items() if first or key in settings}}


def _name(metric) -> str:
    return getattr(metric, "name", type(metric).__name__)


def _check_metric(metric, options: Mapping, embeddings: bool) -> None:
    """Says before training what would fail after the first evaluation."""
    if not hasattr(metric, "compute"):
        raise TypeError(f"also holds {describe(metric)}, expected loaded metrics, or pairs of one and its options")
    if (getattr(metric, "_trainer_rows", "texts") == "embeddings") != embeddings:
        raise ValueError(f"{_name(metric)} stands beside one of the other kind, expected texts in all or embeddings")
    if getattr(metric, "num_process", 1) > 1:
        raise ValueError(
            f"{_name(metric)} was loaded with num_process={metric.num_process}, expected 1: a Trainer "
            "gathers the rows of all processes itself"
        )
    if options.get("per_sample"):
        raise ValueError("per_sample is True, which gives lists, expected what a Trainer can log")
    known = inspect.signature(getattr(metric, "_compute", metric.compute)).parameters
    unknown = [name for name in options if name not in known]
    if unknown and not any(one.kind is one.VAR_KEYWORD for one in known.values()):
        raise TypeError(f"{_name(metric)} has no option {unknown[0]!r}, expected some of {list(known)[2:]}")


def _batches(eval_prediction) -> Iterator[tuple]:
    """(predictions, labels, inputs) of all rows, or of each batch where `eval_do_concat_batches` is False."""
    predictions, labels = eval_prediction.predictions, eval_prediction.label_ids
    inputs = getattr(eval_prediction, "inputs", None)
    if not isinstance(predictions, list):
        yield predictions, labels, inputs
        return
    nothing = [None] * len(predictions)
    yield from zip(predictions, nothing if labels is None else labels, nothing if inputs is None else inputs)


def _rows_of_ids(predictions, start: int, place: str = "predictions") -> list[list[int]]:
    """Rows of token ids, without what pads them."""
    ids = array_of(first_of(predictions))
    if ids.ndim != 2 or ids.dtype.kind not in "iu":
        raise ValueError(
            f"{place} have shape {ids.shape} and type {ids.dtype}, expected token ids (rows, length): "
            "pass the metric's preprocess_logits_for_metrics to the Trainer, or "
            "predict_with_generate=True to its arguments"
        )
    negative = np.argwhere((ids < 0) & (ids != IGNORED))
    if len(negative):
        row, column = negative[0]
        raise ValueError(f"{place}[{start + row}][{column}] is {ids[row, column]}, expected a token id or {IGNORED}")
    return [row[kept].tolist() for row, kept in zip(ids, ids != IGNORED)]


def _without_prompts(rows: list[list[int]], inputs, start: int) -> list[list[int]]:
    """The rows behind their prompts, with which what a decoder alone generates begins."""
    if inputs is None:
        raise ValueError("strip_prompt found no prompts, expected include_for_metrics=['inputs'] in the arguments")
    prompts = _rows_of_ids(inputs["input_ids"] if hasattr(inputs, "keys") else inputs, start, "inputs")
    if len(prompts) != len(rows):
        raise ValueError(
            f"{len(prompts)} prompts came with {len(rows)} predictions (batch_eval_metrics on several "
            "processes passes those of one), expected as many: use postprocess"
        )
    for number, (row, prompt) in enumerate(zip(rows, prompts), start=start):
        if row[: len(prompt)] != prompt:
            raise ValueError(
                f"predictions[{number}] does not begin with its prompt, expected strip_prompt=False for "
                "a model that does not repeat it"
            )
    return [row[len(prompt) :] for row, prompt in zip(rows, prompts)]


def _embeddings(predictions) -> list[np.ndarray]:
    """The two sides of paired rows."""
    if not isinstance(predictions, tuple) or len(predictions) != 2:
        found = f"a tuple of {len(predictions)}" if isinstance(predictions, tuple) else type(predictions).__name__
        raise ValueError(
            f"predictions are {found}, expected (image embeddings, text embeddings): choose them of the "
            "model's outputs with Trainer's preprocess_logits_for_metrics"
        )
    sides = [array_of(side) for side in predictions]
    shapes = [side.shape for side in sides]
    if shapes[0] != shapes[1] or len(shapes[0]) != 2:
        raise ValueError(
            f"image embeddings have shape {shapes[0]}, text embeddings {shapes[1]}, expected both (rows, dimensions)"
        )
    return sides


def _group(references) -> list:
    return [references] if isinstance(references, str) else references
