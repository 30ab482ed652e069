"""Every place x every container: read as the plain list is; what hides its numbers is an error that names it."""

import json
from functools import cache
from types import SimpleNamespace

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse

from metrics.recall_at_k.arrays import as_matrix
from metrics.recall_at_k.buffered import paired_rows
from metrics.scale import retrieval
from metrics.scale.batches import BatchStatistics, join
from metrics.scale.frequencies import BatchFrequencies
from metrics.utils.containers import as_item, as_items, as_list, column_names, is_container, unformatted
from metrics.utils.evaluation_labels import label_rows
from tests.sharding import assert_same_scores
from tests.utils.echo_trainer import REFERENCES as CAPTIONS
from tests.utils.echo_trainer import WordTokenizer, padded

torch = pytest.importorskip("torch")

TEXTS = ["a red kite flies high", "two boys play chess", "an old clock"]
GROUPS = [["a red kite in the sky", "the kite flies"], ["two boys play a game"], ["the old clock", "an old clock"]]
IDS = [[1, 2, 3, 4, 5], [6, 7, 8, 9], [10, 11]]
ID_GROUPS = [[[1, 2, 3, 4], [2, 3]], [[6, 7, 8, 9, 5]], [[10], [11, 10, 11]]]
LABELS, NUMBERS = ["near", "far", "near"], [4, 2, 4]
ANSWERS = [["yes"] * 3, ["no", "yes", "no"], ["two"]]
ANNOTATIONS = [[{"answer": answer, "answer_id": i} for i, answer in enumerate(group)] for group in ANSWERS]
MATRIX = [[0.5, 2.0, 1.0], [3.0, -1.0, 0.25], [1.0, 1.5, 2.5]]
VECTORS = [[0.5, 1.0], [2.0, -1.0], [0.25, 4.0]]


class PolarsSeries:
    """What a Series of polars has to read it by, where polars is not there: no `tolist`, and a shape."""

    def __init__(self, values):
        self._values, self.shape = values, (len(values),)

    def __len__(self):
        return len(self._values)

    def __getitem__(self, key):
        return self._values[key]

    def to_list(self):
        return list(self._values)

    def to_arrow(self):
        kind = pa.infer_type(self._values)
        return pa.array(self._values, pa.large_list(kind.value_type) if pa.types.is_list(kind) else kind)


def table(values, name="v"):
    return _table(json.dumps({name: values}))


@cache
def _table(columns):
    # Half the time of these tests is that of making datasets.
    return datasets.Dataset.from_dict(json.loads(columns))


def polars_series(values):
    return pytest.importorskip("polars").Series("v", values)


def pixels(batch):
    """A transform that leaves every column out, as one that makes a model's input does."""
    return {"pixel_values": [0.0] * len(next(iter(batch.values())))}


CONTAINERS = {
    "column": lambda values: table(values)["v"],
    "numpy": lambda values: table(values).with_format("numpy")["v"],
    "numpy-rows": lambda values: table(values).with_format("numpy")[:]["v"],
    "torch": lambda values: table(values).with_format("torch")["v"],
    "torch-rows": lambda values: table(values).with_format("torch")[:]["v"],
    "torch-items": lambda values: list(table(values).with_format("torch")["v"]),
    "arrow": lambda values: table(values).with_format("arrow")["v"],
    "arrow-items": lambda values: list(pa.array(values)),
    "pandas": lambda values: table(values).with_format("pandas")["v"],
    "transform": lambda values: table(values).with_transform(pixels)["v"],
    "other-columns": lambda values: table(values).add_column("w", [1] * len(values)).with_format("torch", ["w"])["v"],
    "field": lambda values: table([{"v": value} for value in values], "row").with_format("numpy")["row"]["v"],
    "series-of-arrays": lambda values: pd.Series(
        [
            np.array(v) if isinstance(v, list) and np.ndim(v[0]) == 0 and not isinstance(v[0], dict) else v
            for v in values
        ]
    ),
    "stand-in": PolarsSeries,
    "polars": polars_series,
}


@pytest.fixture(params=CONTAINERS.values(), ids=CONTAINERS)
def convert(request):
    return request.param


@pytest.fixture(scope="module")
def metrics(load_metric):
    return {name: load_metric(name) for name in ("bleu4", "cider", "vqa_accuracy", "recall_at_k")}


def scored(name, **arguments):
    return lambda metrics, convert: metrics[name].compute(
        **{key: convert(value) if isinstance(value, list) else value for key, value in arguments.items()}
    )


def recalled(metrics, convert, **arguments):
    items = {"predictions": MATRIX} if "image_embeddings" not in arguments else {}
    return metrics["recall_at_k"].compute(**items, **{key: convert(value) for key, value in arguments.items()}, k=1)


def added(metrics, convert, ids):
    """What add_batch stores."""
    return paired_rows(convert(VECTORS), convert(VECTORS), convert(ids), convert(ids)).to_pydict()


def batched(metric, predictions, references):
    def score(metrics, convert):
        statistics_of = BatchStatistics(metric, keep=["id"])
        found = statistics_of(
            {"prediction": convert(predictions), "references": convert(references), "id": convert(NUMBERS)}
        )
        return {"id": found["id"].tolist(), "kind": found["id"].dtype, **statistics_of.score(join([found]))}

    return score


def frequencies(metrics, convert):
    return BatchFrequencies()({"references": convert(GROUPS)})["table"][0]


def sharded(metrics, convert):
    found = retrieval.sample_statistics([convert(MATRIX[:1]), convert(MATRIX[1:])], convert([0, 1, 2]))
    return {key: value.tolist() for key, value in found.items()}


PLACES = {
    "texts": scored("bleu4", predictions=TEXTS, references=GROUPS),
    "ids": scored("cider", predictions=IDS, references=ID_GROUPS),
    "one reference of ids": scored("cider", predictions=IDS, references=IDS),
    "by and clusters": scored(
        "bleu4", predictions=TEXTS, references=GROUPS, by=LABELS, clusters=NUMBERS, confidence_level=0.9, n_resamples=9
    ),
    "by numbers": scored("bleu4", predictions=TEXTS, references=GROUPS, by=NUMBERS),
    "answers": scored("vqa_accuracy", predictions=["yes", "no", "2"], references=ANSWERS, answer_types=LABELS),
    "annotations": scored("vqa_accuracy", predictions=["yes", "no", "2"], references=ANNOTATIONS),
    "answer ids": scored("vqa_accuracy", predictions=NUMBERS, references=[[4, 2], [1], [4]], question_types=LABELS),
    "answer id": scored("vqa_accuracy", predictions=NUMBERS, references=[4, 1, 4]),
    "similarity": scored("recall_at_k", predictions=MATRIX, references=[0, 1, 2], per_sample=True),
    "embeddings": lambda *how: recalled(*how, image_embeddings=VECTORS, text_embeddings=VECTORS),
    "pairs": lambda *how: recalled(*how, references=[[0, 1], [2], [1]], backward_references=[0, 1, 2]),
    "images": lambda *how: recalled(*how, by=["a", "b", "a"], clusters=[1, 1, 2]),
    "stored ids": lambda *how: added(*how, ids=[7, 9, 8]),
    "stored names": lambda *how: added(*how, ids=LABELS[:2] + ["off"]),
    "batch of texts": batched("bleu4", TEXTS, GROUPS),
    "batch of ids": batched("bleu4", IDS, ID_GROUPS),
    "batch of answers": batched("vqa_accuracy", ["yes", "no", "2"], ANSWERS),
    "frequencies": frequencies,
    "shards": sharded,
}


@pytest.fixture(scope="module")
def of_lists(metrics):
    """The results of a place's plain lists, which all containers share."""
    return cache(lambda place: place(metrics, lambda values: values))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
def test_every_container_is_read_as_the_list(metrics, place, convert, of_lists):
    found, expected = place(metrics, convert), of_lists(place)
    np.testing.assert_equal(found, expected)
    # Labels become keys: those of NumPy are equal, but no JSON.
    if isinstance(found, dict):
        assert [type(key) for key in found.get("by", ())] == [type(key) for key in expected.get("by", ())]


# Datasets


FORMATS = {
    "numpy": lambda dataset: dataset.with_format("numpy"),
    "torch": lambda dataset: dataset.with_format("torch"),
    "arrow": lambda dataset: dataset.with_format("arrow"),
    "pandas": lambda dataset: dataset.with_format("pandas"),
    "transform": lambda dataset: dataset.with_transform(pixels),
    "other columns": lambda dataset: dataset.with_format("torch", columns=["labels"]),
    "table": lambda dataset: dataset.data.table,
    "data frame": lambda dataset: dataset.to_pandas(),
}


@pytest.fixture(params=FORMATS.values(), ids=FORMATS)
def reformat(request):
    return request.param


def rows_of():
    tokenizer = WordTokenizer()
    texts = [group[0] for group in CAPTIONS]
    ids = [tokenizer.encode(text) for text in texts]
    groups = [i % 2 for i in range(len(texts))]
    columns = {"prediction": texts, "references": CAPTIONS, "labels": ids, "group": groups}
    return tokenizer, ids, datasets.Dataset.from_dict(columns)


@pytest.mark.filterwarnings("error")
def test_a_dataset_of_a_callback(metrics, reformat):
    tokenizer, ids, dataset = rows_of()
    rows = SimpleNamespace(predictions=np.array(padded(ids, -100)), label_ids=np.array(padded(ids, -100)))
    expected = metrics["cider"].compute_metrics(tokenizer, CAPTIONS)(rows)
    callback = metrics["cider"].compute_metrics(tokenizer, reformat(dataset), "references")
    assert callback(rows) == expected
    # The column of labels was read as it is stored too: rows of another dataset are found by it.
    with pytest.raises(ValueError, match="another dataset"):
        callback(SimpleNamespace(predictions=rows.predictions[::-1], label_ids=rows.label_ids[::-1]))


def test_pairs_of_ids_of_a_callback(metrics, convert):
    sides = np.eye(3), np.eye(3)
    rows = SimpleNamespace(predictions=sides, label_ids=np.arange(3))
    expected = metrics["recall_at_k"].compute_metrics(references=[7, 8, 9])(rows)
    assert metrics["recall_at_k"].compute_metrics(references=convert([7, 8, 9]))(rows) == expected
    pairs = metrics["recall_at_k"].compute_metrics(references=convert([[7, 1], [8, 2], [9, 3]]))(rows)
    assert pairs["rsum"] == expected["rsum"]


def test_a_set_of_a_callback_with_labels(metrics, reformat):
    tokenizer, ids, dataset = rows_of()
    rows = SimpleNamespace(predictions=np.array(padded(ids, -100)), label_ids=np.array(padded(ids, -100)))
    by = dataset["group"][:]
    expected = metrics["bleu4"].compute_metrics(tokenizer, {"a": CAPTIONS}, by={"a": by})(rows)
    bound = metrics["bleu4"].compute_metrics(
        tokenizer, {"a": reformat(dataset)}, "references", by={"a": dataset.with_format("torch")["group"]}
    )
    assert bound(rows) == expected


@pytest.fixture
def without_bars():
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


@pytest.mark.parametrize("metric, kind", [*(("bleu4", name) for name in list(FORMATS)[:5]), ("cider", "transform")])
def test_score_dataset(metric, kind, without_bars):
    from metrics.scale.on_datasets import score_dataset

    _, _, dataset = rows_of()
    found = score_dataset(FORMATS[kind](dataset), BatchStatistics(metric), batch_rows=7)
    assert_same_scores(found, BatchStatistics(metric).score(whole(metric, dataset)))


@pytest.mark.parametrize("kind", ["numpy", "torch", "arrow", "pandas"])
def test_score_dataset_of_a_stream(kind):
    from metrics.scale.on_datasets import score_dataset

    _, _, dataset = rows_of()
    streamed = dataset.to_iterable_dataset().with_format(kind)
    found = score_dataset(streamed, BatchStatistics("bleu4"), batch_rows=7)
    assert_same_scores(found, BatchStatistics("bleu4").score(whole("bleu4", dataset)))


def whole(metric, dataset):
    batch = dataset.to_dict()
    tables = BatchFrequencies().table(batch) if metric == "cider" else None
    statistics_of = BatchStatistics(metric)
    return (statistics_of if tables is None else statistics_of.with_options(document_frequencies=tables))(batch)


def test_a_whole_dataset_as_one_batch(reformat):
    _, _, dataset = rows_of()
    statistics_of = BatchStatistics("bleu4", keep=["group"])
    found, expected = statistics_of(reformat(dataset)), statistics_of(dataset.to_dict())
    np.testing.assert_equal(found, expected)
    with pytest.raises(ValueError, match="no column 'caption', expected one of prediction, references, labels, group"):
        BatchStatistics("bleu4", predictions="caption")(reformat(dataset))


def test_a_dataset_without_format_stays_the_same():
    dataset = table(TEXTS)
    # Else the name under which datasets caches would be another.
    assert unformatted(dataset) is dataset and unformatted(TEXTS) is TEXTS
    assert unformatted(dataset.with_transform(pixels))["v"][:] == TEXTS
    assert dataset.with_transform(pixels).format["type"] == "custom"


def test_columns_of_frames_and_of_what_is_none():
    frame = pd.DataFrame({"a": [1], "b": [2]})
    polars = SimpleNamespace(columns=["a", "b"])
    assert column_names(frame) == column_names(polars) == column_names(pa.table(frame)) == ["a", "b"]
    # Ray's datasets have a method of that name.
    assert column_names(SimpleNamespace(columns=lambda: ["a"])) is None


# Numbers


def test_rows_of_numbers_of_arrow_are_read_at_once(monkeypatch):
    from metrics.recall_at_k import arrays

    monkeypatch.setattr(arrays, "_row", None)
    wide = [[1.5, 2.0], [3.0, 4.0], [5.0, 6.0]]
    for kind in (pa.list_(pa.float32()), pa.large_list(pa.float64()), pa.list_(pa.float32(), 2), pa.list_(pa.int64())):
        rows = [list(map(int, row)) for row in wide] if kind.value_type == pa.int64() else wide
        array = pa.array(rows, kind)
        for given in (array, array[1:], pa.chunked_array([array[:1], array[1:]])):
            found = as_matrix(given, "x")
            np.testing.assert_array_equal(found, given.to_pylist())
            assert found.dtype == kind.value_type.to_pandas_dtype()
    np.testing.assert_array_equal(as_matrix(table(wide).select([2, 0]).with_format("torch")["v"], "x"), wide[::-2])


@pytest.mark.parametrize(
    "rows, message",
    [
        ([[1.0, 2.0], [None, 1.0]], r"x\[1\]\[0\] is None, expected a number"),
        ([[1.0, 2.0], None], r"x\[1\] is None, expected a list"),
        ([[1.0, 2.0], [1.0]], r"x\[1\] has 1 numbers, expected 2"),
        ([["a"]], r"x\[0\]\[0\] is str 'a'"),
        ([[True]], r"x\[0\]\[0\] is bool True"),
        ([[[1.0]]], r"x\[0\]\[0\] is list"),
    ],
)
@pytest.mark.parametrize(
    "make", [pa.array, lambda rows: table(rows)["v"], PolarsSeries, list], ids=["arrow", "column", "stand-in", "list"]
)
def test_wrong_rows_are_named_whatever_they_came_in(rows, message, make):
    with pytest.raises((TypeError, ValueError), match=message):
        as_matrix(make(rows), "x")


def test_an_array_of_numbers_is_not_copied():
    matrix, tensor = np.eye(3, dtype=np.float32), torch.eye(3)
    assert as_matrix(matrix, "x") is matrix
    assert np.shares_memory(as_matrix(tensor, "x"), tensor.numpy())
    assert as_list(TEXTS, "x") is TEXTS and as_items(TEXTS, "x") is TEXTS


def test_frames_of_numbers_that_know_missing_ones():
    frame = pd.DataFrame(MATRIX).convert_dtypes()
    np.testing.assert_array_equal(as_matrix(frame, "x"), MATRIX)
    with pytest.raises(TypeError, match=r"x\[1\]\[0\] is"):
        as_matrix(frame.mask(frame > 2.7), "x")


def test_scalars_and_what_is_none():
    for scalar in (np.int64(3), np.array(3), torch.tensor(3), pa.scalar(3)):
        assert type(as_item(scalar, "x")) is int
    assert type(as_item(np.str_("a"), "x")) is str and type(as_item(pa.scalar("a"), "x")) is str
    for other in (torch.tensor([3]), {"a": 1}, object):
        assert as_item(other, "x") is other
    assert not any(map(is_container, ("a", {"a": 1}, 3, np.int64(3), torch.tensor(3), np.str_("a"), None)))
    assert all(map(is_container, ([], (), np.array([1]), torch.tensor([1]), PolarsSeries([1]), pd.Series([1]))))


def test_a_column_of_a_stream_is_none():
    with pytest.raises(TypeError, match="^predictions is IterableColumn .* expected a list"):
        as_list(table(TEXTS).to_iterable_dataset()["v"], "predictions")


# What is refused


def masked(rows, mask=True):
    return np.ma.masked_array(rows, np.arange(np.size(rows)).reshape(np.shape(rows)) == (0 if mask else -1))


OPAQUE = {
    "masked": masked,
    "masked-nothing": lambda rows: masked(rows, False),
    "np.matrix": np.matrix,
    "scipy": lambda rows: scipy.sparse.csr_array(np.array(rows)),
    "sparse": lambda rows: torch.tensor(rows).to_sparse(),
    "meta": lambda rows: torch.tensor(rows, device="meta"),
    "float8": lambda rows: torch.tensor(rows, dtype=torch.float32).to(torch.float8_e4m3fn),
    "nested": lambda rows: torch.nested.nested_tensor([torch.tensor(row) for row in rows], dtype=torch.float32),
    "jagged": lambda rows: torch.nested.nested_tensor(
        [torch.tensor(row) for row in rows], layout=torch.jagged, dtype=torch.float32
    ),
    "quantized": lambda rows: torch.quantize_per_tensor(torch.tensor(rows, dtype=torch.float32), 0.5, 0, torch.qint8),
}
SQUARE = [[1, 0], [0, 1]]
PAIR = {"image_embeddings": SQUARE, "text_embeddings": SQUARE, "image_ids": [1, 2], "text_ids": [1, 2]}
TWO = {"predictions": TEXTS[:2], "references": GROUPS[:2]}

# The place that is named -> a call with what is refused there.
REFUSING = {
    "predictions": lambda metrics, bad: metrics["cider"].compute(predictions=bad, references=SQUARE),
    "references": lambda metrics, bad: metrics["cider"].compute(predictions=SQUARE, references=bad),
    "predictions[1]": lambda metrics, bad: metrics["cider"].compute(predictions=[[1], bad], references=SQUARE),
    "references[1]": lambda metrics, bad: metrics["cider"].compute(predictions=SQUARE, references=[[1], bad]),
    "references[1][0]": lambda metrics, bad: metrics["cider"].compute(predictions=SQUARE, references=[[1], [bad]]),
    "by": lambda metrics, bad: metrics["bleu4"].compute(**TWO, by=bad),
    "clusters": lambda metrics, bad: metrics["bleu4"].compute(**TWO, clusters=bad),
    "clusters[1]": lambda metrics, bad: metrics["bleu4"].compute(**TWO, clusters=[1, bad]),
    "answer_types": lambda metrics, bad: metrics["vqa_accuracy"].compute(**TWO, answer_types=bad),
    "references[0]": lambda metrics, bad: metrics["vqa_accuracy"].compute(predictions=[1, 2], references=[bad, [1]]),
    "predictions ": lambda metrics, bad: metrics["recall_at_k"].compute(predictions=bad, references=[0, 1]),
    "predictions[0]": lambda metrics, bad: metrics["recall_at_k"].compute(predictions=[bad, bad], references=[0, 1]),
    "references ": lambda metrics, bad: metrics["recall_at_k"].compute(predictions=SQUARE, references=bad),
    "references[0] ": lambda metrics, bad: metrics["recall_at_k"].compute(predictions=SQUARE, references=[bad, 1]),
    "by ": lambda metrics, bad: metrics["recall_at_k"].compute(predictions=SQUARE, by=bad),
    "image_embeddings": lambda metrics, bad: metrics["recall_at_k"].compute(
        image_embeddings=bad, text_embeddings=SQUARE
    ),
    "text_embeddings": lambda metrics, bad: metrics["recall_at_k"].add_batch(**{**PAIR, "text_embeddings": bad}),
    "image_ids": lambda metrics, bad: metrics["recall_at_k"].add_batch(**{**PAIR, "image_ids": bad}),
    "image_embeddings[0]": lambda metrics, bad: retrieval.sample_statistics(None, [0, 1], [bad], [SQUARE]),
    "text_embeddings ": lambda metrics, bad: retrieval.sample_statistics(None, [0, 1], [SQUARE], bad),
    "prediction": lambda metrics, bad: BatchStatistics("bleu4")({"prediction": bad, "references": GROUPS[:2]}),
    "label_ids": lambda metrics, bad: label_rows(bad),
    "references['a']": lambda metrics, bad: metrics["recall_at_k"].compute_metrics(references={"a": bad}, column="a"),
}


@pytest.mark.parametrize("place", REFUSING)
def test_what_hides_its_numbers_is_an_error(metrics, place):
    for kind, make in OPAQUE.items():
        with pytest.raises(TypeError) as caught:
            REFUSING[place](metrics, make(SQUARE))
        assert str(caught.value).startswith(f"{place.strip()} is a"), (kind, str(caught.value))


@pytest.mark.parametrize(
    "change",
    [
        lambda tensor: tensor.bfloat16(),
        lambda tensor: tensor.requires_grad_(),
        torch.nn.Parameter,
        lambda tensor: torch._neg_view(-tensor),
        lambda tensor: tensor.T.contiguous().T,
        lambda tensor: tensor.half(),
    ],
    ids=["bfloat16", "requires_grad", "parameter", "negated", "transposed", "half"],
)
def test_tensors_with_numbers_stay_readable(change):
    rows = change(torch.tensor(MATRIX))
    found = retrieval.sample_statistics([rows], [0, 1, 2])
    np.testing.assert_equal(found, retrieval.sample_statistics([MATRIX], [0, 1, 2]))
    np.testing.assert_array_equal(as_matrix(list(change(torch.tensor(MATRIX))), "x"), MATRIX)
