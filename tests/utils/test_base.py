"""What every metric refuses and takes, and its contract with evaluate: add, compute, reset, files, signature."""

import datasets
import evaluate
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from metrics.utils.checks import (
    VERSION,
    as_list,
    check_captions,
    check_references,
    describe,
    reference_counts,
    signature,
)

NAN = float("nan")
PREDICTIONS = ["a red kite flies high", "two boys play chess", "an old clock"]
REFERENCES = [["a red kite in the sky", "the kite flies"], ["two boys play a game"], ["the old clock", "an old clock"]]
IDS = [[1, 2, 3, 4, 5], [6, 7, 8, 9], [10, 11]]
ID_REFERENCES = [[[1, 2, 3, 4], [2, 3]], [[6, 7, 8, 9, 5]], [[10], [11, 10, 11]]]


@pytest.fixture(scope="module", params=["cider", "bleu4"])
def metric(request, load_metric):
    return load_metric(request.param)


@pytest.fixture(params=["cider", "bleu4"])
def fresh(request, load_metric, tmp_path):
    """A metric with a cache folder of its own, empty before."""
    return load_metric(request.param, cache_dir=str(tmp_path))


def leftovers(metric):
    from pathlib import Path

    return [path.name for path in Path(metric.data_dir).rglob("*") if path.suffix in {".arrow", ".lock"}]


WRONG_ITEMS = {
    "None": (["a", None], [["a"], ["b"]], r"predictions\[1\] is None, expected str"),
    "NaN": (["a", NAN], [["a"], ["b"]], r"predictions\[1\] is float nan, expected str"),
    "int": (["a", 5], [["a"], ["b"]], r"predictions\[1\] is int 5, expected str"),
    "bytes": (["a", b"b"], [["a"], ["b"]], r"predictions\[1\] is bytes b'b', expected str"),
    "nested": (["a", ["b"]], [["a"], ["b"]], r"predictions\[1\] is list \['b'\], expected str"),
    "first-None": ([None, "a"], [["a"], ["b"]], r"predictions\[0\] is None, expected str in all items, or"),
    "first-int": ([5, "a"], [["a"], ["b"]], r"predictions\[0\] is int 5, expected str in all items, or"),
    "first-bytes": ([b"a", "a"], [["a"], ["b"]], r"predictions\[0\] is bytes b'a', expected str in all items, or"),
    "reference-None": (["a", "b"], [["a"], ["b", None]], r"references\[1\]\[1\] is None, expected str"),
    "reference-NaN": (["a", "b"], [["a", NAN], ["b"]], r"references\[0\]\[1\] is float nan, expected str"),
    "reference-int": (["a", "b"], [["a"], ["b", 3]], r"references\[1\]\[1\] is int 3, expected str"),
    "reference-bytes": (["a", "b"], [["a"], [b"b"]], r"references\[1\]\[0\] is bytes b'b', expected str"),
    "reference-nested": (["a", "b"], [["a"], [["b"]]], r"references\[1\]\[0\] is list \['b'\], expected str"),
    "group-None": (["a", "b"], [["a"], None], r"references\[1\] is None, expected a list"),
    "group-int": (["a", "b"], [["a"], 7], r"references\[1\] is int 7, expected a list"),
    "group-set": (["a", "b"], [["a"], {"b"}], r"references\[1\] is set \{'b'\}, expected a list"),
    "group-dict": (["a", "b"], [["a"], {"b": 1}], r"references\[1\] is dict"),
    "group-generator": (["a", "b"], [["a"], (c for c in "b")], r"references\[1\] is generator"),
    "id-references": (["a", "b"], [[[1]], [[2]]], r"references\[0\]\[0\] is list \[1\], expected str"),
    "text-references": ([[1], [2]], [["a"], ["b"]], r"references\[0\]\[0\] is str 'a', expected str in all items, or"),
    "text-then-ids": (["a", [1]], [["a"], ["b"]], r"predictions\[1\] is list \[1\], expected str"),
    "ids-then-text": ([[1], "a"], [[[1]], [[2]]], r"predictions\[1\] is str 'a', expected str in all items, or"),
    "ids-flat-text": ([[1], [2]], ["a", "b"], r"references\[0\] is str 'a', expected a list"),
    "bool-id": ([[1, True], [2]], [[[1]], [[2]]], r"predictions\[0\]\[1\] is bool True, expected int \(a token id\)"),
    "numpy-bool-id": ([[np.True_], [2]], [[[1]], [[2]]], r"predictions\[0\]\[0\] is bool"),
    "float-id": ([[1], [2, 2.0]], [[[1]], [[2]]], r"predictions\[1\]\[1\] is float 2.0, expected int \(a token id\)"),
    "float-array": ([np.array([1.0]), [2]], [[[1]], [[2]]], r"predictions\[0\]\[0\] is float 1.0, expected int"),
    "reference-float-id": ([[1], [2]], [[[1]], [[2, 0.5]]], r"references\[1\]\[0\]\[1\] is float 0.5, expected int"),
    "reference-bool-id": ([[1], [2]], [[[1]], [2, False]], r"references\[1\]\[0\]\[1\] is bool False, expected int"),
    "None-id": ([[1], [None]], [[[1]], [[2]]], r"predictions\[1\]\[0\] is None, expected int \(a token id\)"),
    "nested-ids": (
        [[[1]], [[2]]],
        [[[1]], [[2]]],
        r"predictions\[0\]\[0\] is list \[1\], expected one caption per prediction, not a list of them$",
    ),
    "nested-texts": (
        [["a"], ["b"]],
        [["a"], ["b"]],
        r"predictions\[0\]\[0\] is str 'a', expected one caption per prediction, not a list of them$",
    ),
    "nested-later": ([[], ["b"]], [[[1]], [[2]]], r"predictions\[1\]\[0\] is str 'b', expected one caption per"),
    "swapped": ([["a", "c"], ["b"]], ["a", "b"], r"not a list of them \(references are single ones: are the two"),
    "swapped-ids": ([[[1], [3]], [[2]]], [[1], [2]], r"\(references are single ones: are the two swapped\?\)"),
    "reference-nested-ids": ([[1], [2]], [[[[1]]], [[2]]], r"references\[0\]\[0\]\[0\] is list \[1\], expected int"),
}


@pytest.mark.parametrize("predictions, references, message", WRONG_ITEMS.values(), ids=WRONG_ITEMS)
@pytest.mark.parametrize("way", ["compute", "add_batch"])
def test_a_wrong_item_is_a_type_error_that_names_it(metric, way, predictions, references, message):
    with pytest.raises(TypeError, match=message.replace("is bool", "is (?:numpy.bool_?|bool_?)")):
        getattr(metric, way)(predictions=predictions, references=references)
    metric.reset()


@pytest.mark.parametrize("container", [{"a", "b"}, (c for c in "ab"), {"a": 1, "b": 2}, "ab", 5, b"ab", iter(["a"])])
@pytest.mark.parametrize("place", ["predictions", "references"])
def test_what_is_no_list_of_items_is_a_type_error(metric, container, place):
    arguments = {"predictions": ["a", "b"], "references": ["a", "b"], place: container}
    with pytest.raises(TypeError, match=f"^{place} is {type(container).__name__} .*expected a list"):
        metric.compute(**arguments)


@pytest.mark.parametrize(
    "predictions, references, message",
    [
        (["a", "b"], [["a"], []], r"references\[1\] is an empty list"),
        ([[1], [2]], [[[1]], []], r"references\[1\] is an empty list"),
        (["a", "b"], [["a"]], "2 predictions and 1 references"),
        (["a"], [["a"], ["b"]], "1 predictions and 2 references"),
        ([], [], "predictions is empty"),
        (None, [["a"]], "predictions is None, expected both"),
        (["a"], None, "references is None, expected both"),
        (None, None, "there is nothing to score"),
    ],
)
def test_missing_items_are_a_value_error(metric, predictions, references, message):
    with pytest.raises(ValueError, match=message):
        metric.compute(predictions=predictions, references=references)


@pytest.mark.parametrize("row", [0, 1000, 1999])
def test_one_wrong_item_of_two_thousand_is_found(metric, row):
    predictions, references = ["a dog"] * 2000, [["a dog", "the dog"] for _ in range(2000)]
    references[row][1] = 1
    with pytest.raises(TypeError, match=rf"references\[{row}\]\[1\] is int 1"):
        metric.compute(predictions=predictions, references=references)
    references[row][1], predictions[row] = "a dog", None
    with pytest.raises(TypeError, match=rf"predictions\[{row}\] is None"):
        metric.compute(predictions=predictions, references=references)


def as_column(values):
    return datasets.Dataset.from_dict({"values": list(values)})["values"]


CONTAINERS = {
    "tuple": tuple,
    "numpy-object": lambda values: pd.Series(list(values)).to_numpy(),
    "pandas": lambda values: pd.Series(list(values), index=range(5, 5 + len(values))),
    "pandas-strings": lambda values: pd.Series(list(values), index=["z", "y", "x"]),
    "arrow": lambda values: pa.array([list(v) if isinstance(v, list | tuple) else v for v in values]),
    "arrow-chunked": lambda values: pa.chunked_array([pa.array(values[:1]), pa.array(values[1:])]),
    "column": as_column,
}


@pytest.mark.parametrize("convert", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("data", [(PREDICTIONS, REFERENCES), (IDS, ID_REFERENCES)], ids=["texts", "ids"])
def test_every_container_gives_the_score_of_lists(metric, convert, data):
    expected = metric.compute(predictions=data[0], references=data[1])
    assert metric.compute(predictions=convert(data[0]), references=convert(data[1])) == expected


@pytest.mark.parametrize("inner", [tuple, np.array, pa.array, pd.Series], ids=["tuple", "numpy", "arrow", "pandas"])
@pytest.mark.parametrize("references", [REFERENCES, ID_REFERENCES], ids=["texts", "ids"])
def test_every_container_of_one_samples_references_gives_the_score_of_lists(metric, inner, references):
    predictions = PREDICTIONS if references is REFERENCES else IDS
    # A ragged group of id lists is no array: there the lists inside are converted.
    if references is REFERENCES:
        converted = [inner(group) for group in references]
    else:
        converted = [[inner(ids) for ids in group] for group in references]
    expected = metric.compute(predictions=predictions, references=references)
    assert metric.compute(predictions=predictions, references=converted) == expected


def test_numpy_array_of_texts_and_of_ids(metric):
    texts = np.array(PREDICTIONS), np.array([group[0] for group in REFERENCES])
    assert metric.compute(predictions=texts[0], references=texts[1]) == metric.compute(
        predictions=PREDICTIONS, references=[group[:1] for group in REFERENCES]
    )
    ids = np.array([[1, 2, 3, 4], [5, 6, 7, 8]])
    expected = metric.compute(predictions=ids.tolist(), references=[[row] for row in ids.tolist()])
    assert metric.compute(predictions=ids, references=ids) == expected
    assert metric.compute(predictions=ids, references=ids[:, None]) == expected


def test_numpy_scalars_are_texts_and_ids(metric):
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    texts = list(map(np.str_, PREDICTIONS))
    groups = [[np.str_(text) for text in group] for group in REFERENCES]
    assert metric.compute(predictions=texts, references=groups) == expected
    expected = metric.compute(predictions=IDS, references=ID_REFERENCES)
    ids = [[np.int64(token) for token in item] for item in IDS]
    groups = [[[np.int32(token) for token in item] for item in group] for group in ID_REFERENCES]
    assert metric.compute(predictions=ids, references=groups) == expected


def test_one_text_is_one_reference(metric):
    single, nested = PREDICTIONS[::-1], [[text] for text in PREDICTIONS[::-1]]
    assert metric.compute(predictions=PREDICTIONS, references=single) == metric.compute(
        predictions=PREDICTIONS, references=nested
    )


def test_one_list_of_ids_is_one_reference(metric):
    nested = [[item] for item in IDS[::-1]]
    assert metric.compute(predictions=IDS, references=IDS[::-1]) == metric.compute(predictions=IDS, references=nested)


def test_inputs_are_left_as_they_were(metric):
    predictions, references = list(PREDICTIONS), [list(group) for group in REFERENCES]
    metric.compute(predictions=predictions, references=references)
    assert (predictions, references) == (PREDICTIONS, REFERENCES)


DATA = {"texts": (PREDICTIONS, REFERENCES), "ids": (IDS, ID_REFERENCES), "single": (PREDICTIONS, PREDICTIONS[::-1])}


@pytest.mark.parametrize("predictions, references", DATA.values(), ids=DATA)
def test_add_and_add_batch_equal_compute(metric, predictions, references):
    expected = metric.compute(predictions=predictions, references=references, per_sample=True)
    for prediction, reference in zip(predictions, references):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute(per_sample=True) == expected
    metric.add_batch(predictions=predictions[:2], references=references[:2])
    metric.add_batch(predictions=predictions[2:], references=references[2:])
    assert metric.compute(per_sample=True) == expected
    metric.add_batch(predictions=predictions[:1], references=references[:1])
    metric.add(prediction=predictions[1], reference=references[1])
    assert metric.compute(predictions=predictions[2:], references=references[2:], per_sample=True) == expected


def test_add_batch_with_empty_captions_and_empty_id_lists(metric):
    for predictions, references in [(["", "a b"], [[""], ["a b", ""]]), ([[], [1, 2]], [[[]], [[1, 2], []]])]:
        expected = metric.compute(predictions=predictions, references=references)
        metric.add_batch(predictions=predictions, references=references)
        assert metric.compute() == expected


def test_reset_forgets_what_was_added(metric):
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    metric.add_batch(predictions=["x y z"], references=[["y z"]])
    metric.reset()
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES) == expected
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()


def test_reset_allows_another_kind_of_input(metric):
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    metric.reset()
    metric.add_batch(predictions=IDS, references=ID_REFERENCES)
    assert metric.compute() == metric.compute(predictions=IDS, references=ID_REFERENCES)


def test_compute_forgets_what_it_scored(metric):
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    first = metric.compute()
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert metric.compute() == first


def test_no_file_is_left_after_any_compute(fresh):
    fresh.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert leftovers(fresh) == []
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert leftovers(fresh)
    fresh.compute()
    assert [name for name in leftovers(fresh) if name.endswith(".arrow")] == []


FAILURES = {
    "wrong item": {"predictions": ["a", 1], "references": [["a"], ["b"]]},
    "wrong option": {"predictions": ["a", "b"], "references": [["a"], ["b"]], "tokenizer": "unknown"},
    "unknown option": {"predictions": ["a", "b"], "references": [["a"], ["b"]], "colour": "red"},
}


@pytest.mark.parametrize("arguments", FAILURES.values(), ids=FAILURES)
def test_a_failing_compute_leaves_no_file_and_the_next_one_works(fresh, arguments):
    expected = fresh.compute(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises((TypeError, ValueError)):
        fresh.compute(**arguments)
    assert leftovers(fresh) == []
    assert fresh.compute(predictions=PREDICTIONS, references=REFERENCES) == expected


@pytest.mark.parametrize("options", [{"tokenizer": "unknown"}, {"colour": "red"}, {"tokenizer": 5}])
def test_a_failing_buffered_compute_leaves_no_file_and_the_next_one_works(fresh, options):
    expected = fresh.compute(predictions=PREDICTIONS, references=REFERENCES)
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises((TypeError, ValueError)):
        fresh.compute(**options)
    assert leftovers(fresh) == []
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    assert fresh.compute() == expected


def test_a_wrong_item_beside_a_buffer_leaves_no_file(fresh):
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(TypeError):
        fresh.compute(predictions=["a", None], references=[["a"], ["b"]])
    assert leftovers(fresh) == []
    with pytest.raises(ValueError, match="nothing to score"):
        fresh.compute()


def test_a_failing_tokenizer_leaves_no_file(fresh):
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(ZeroDivisionError):
        fresh.compute(tokenizer=lambda text: 1 / 0)
    assert leftovers(fresh) == []


@pytest.mark.parametrize(
    "predictions, references",
    [(["a \ud800 b", "c"], [["a"], ["c"]]), ([[1 << 70], [2]], [[[1]], [[2]]])],
    ids=["lone-surrogate", "id-above-int64"],
)
def test_a_batch_that_arrow_refuses_leaves_nothing_behind(fresh, predictions, references):
    expected = fresh.compute(predictions=PREDICTIONS, references=REFERENCES)
    try:
        fresh.add_batch(predictions=predictions, references=references)
        fresh.compute()
    except (ValueError, OverflowError):
        pass
    assert [name for name in leftovers(fresh) if name.endswith(".arrow")] == []
    assert fresh.compute(predictions=PREDICTIONS, references=REFERENCES) == expected


def test_a_refused_batch_leaves_those_before(fresh):
    expected = fresh.compute(predictions=PREDICTIONS, references=REFERENCES)
    fresh.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    with pytest.raises(TypeError):
        fresh.add_batch(predictions=["a", 5], references=[["a"], ["b"]])
    assert fresh.compute() == expected


def test_two_of_the_same_metric_do_not_meet(load_metric, metric):
    other = load_metric(metric.name)
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES)
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    other.add_batch(predictions=["x", "y"], references=[["x"], ["z"]])
    assert metric.compute() == expected
    assert other.compute() == other.compute(predictions=["x", "y"], references=[["x"], ["z"]])


def test_cider_signature_before_after_and_with_options(load_metric):
    cider = load_metric("cider")
    plain = f"cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no|v:{VERSION}"
    assert cider.signature() == plain
    assert cider.signature(variant="cider", n=2, stem=True, scale=100, end_token="<eos>", tokenizer="13a") == (
        f"cider|n:2|scale:100|df:corpus|tok:13a|stem:yes|end:<eos>|v:{VERSION}"
    )
    cider.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert cider.signature() == plain.replace("|v:", "|refs:1-2|v:")
    assert cider.signature(n=4) == plain
    cider.compute(predictions=IDS, references=[group[:1] for group in ID_REFERENCES], n=2, sigma=2.5)
    assert cider.signature() == f"cider_d|n:2|sigma:2.5|df:corpus|tok:ids|stem:no|refs:1|v:{VERSION}"
    table = cider.document_frequencies(REFERENCES)
    cider.compute(predictions=PREDICTIONS[:1], references=REFERENCES[:1], document_frequencies=table)
    assert cider.signature() == plain.replace("df:corpus", "df:table-of-3").replace("|v:", "|refs:2|v:")


def test_bleu_signature_before_after_and_with_options(load_metric):
    bleu = load_metric("bleu4")
    plain = f"bleu4|smooth:capped|eff:no|tok:ptb|len:closest|v:{VERSION}"
    assert bleu.signature() == plain
    assert bleu.signature(smoothing="coco", max_order=2, effective_order=True, tokenizer=str.split) == (
        f"bleu2|smooth:coco|eff:yes|tok:callable:str.split|len:closest|v:{VERSION}"
    )
    bleu.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert bleu.signature() == plain.replace("|v:", "|refs:1-2|v:")
    bleu.compute(predictions=IDS, references=ID_REFERENCES, smoothing=False)
    assert bleu.signature() == f"bleu4|smooth:no|eff:no|tok:ids|len:closest|refs:1-2|v:{VERSION}"


def test_signature_of_settings():
    settings = {"n": 4, "b": True, "c": False, "d": None, "e": 0, "f": 1}
    assert signature("x", settings) == f"x|n:4|b:yes|c:no|e:0|f:1|v:{VERSION}"


def test_reference_counts_is_one_number_or_a_range():
    assert reference_counts([1, 1]) == "1"
    assert reference_counts([1, 3]) == "1-3"


def test_combine_gives_both_scores(load_metric):
    both = evaluate.combine([load_metric("cider"), load_metric("bleu4")])
    results = both.compute(predictions=PREDICTIONS, references=REFERENCES)
    cider = load_metric("cider").compute(predictions=PREDICTIONS, references=REFERENCES)
    bleu = load_metric("bleu4").compute(predictions=PREDICTIONS, references=REFERENCES)
    assert results["cider"] == cider["cider"]
    assert results["bleu4"] == bleu["bleu4"]


def test_combine_takes_batches(load_metric):
    both = evaluate.combine([load_metric("cider"), load_metric("bleu4")])
    expected = both.compute(predictions=PREDICTIONS, references=REFERENCES)
    both.add_batch(predictions=PREDICTIONS[:1], references=REFERENCES[:1])
    both.add_batch(predictions=PREDICTIONS[1:], references=REFERENCES[1:])
    assert both.compute() == expected


SAMPLES = {
    "cider": ("a cat", ["a cat", "the cat"]),
    "bleu4": ("a cat", ["a cat", "the cat"]),
    "vqa_accuracy": ("two", ["two"] * 10),
    "entity_score": ("a cat", "the cat"),
    "recall_at_k": ([0.9, 0.1], [0]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_one_sample_under_both_of_evaluates_names(name, load_metric):
    metric, (prediction, references) = load_metric(name), SAMPLES[name]
    metric.add(references=references, predictions=prediction)
    metric.add(prediction=prediction, reference=references)
    evaluate.combine([metric]).add(prediction=prediction, reference=references)
    evaluate.combine([metric]).add(predictions=prediction, references=references)
    assert len(metric) == 4
    if name != "entity_score":
        found = metric.compute()
        metric.add_batch(predictions=[prediction] * 4, references=[references] * 4)
        assert found == metric.compute()
    for wrong, message in [
        ({"prediction": prediction}, "reference is missing, expected one reference"),
        ({"references": references}, "prediction is missing"),
        ({}, "prediction is missing"),
        (
            {"prediction": prediction, "predictions": prediction, "reference": references},
            "prediction and predictions are both given, expected one prediction",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            metric.add(**wrong)
    metric.reset()


def test_one_pair_of_embeddings(load_metric):
    metric = load_metric("recall_at_k")
    for number in (0, 1):
        metric.add(
            image_embeddings=np.eye(2)[number], text_embeddings=np.eye(2)[number], image_ids=number, text_ids=number
        )
    assert metric.compute()["rsum"] == 6.0
    with pytest.raises(ValueError, match="image_ids stands beside a row of similarities, expected one of both"):
        metric.add(prediction=[0.5], reference=0, image_ids=3)
    with pytest.raises(ValueError, match="all four of them"):
        metric.add(image_embeddings=[0.5, 1], image_ids=3)


@pytest.mark.parametrize("value, text", [(None, "None"), (5, "int 5"), ("x" * 50, "str '" + "x" * 36 + "...")])
def test_describe_is_short(value, text):
    assert describe(value) == text


def test_as_list_keeps_a_list_and_copies_others():
    values = ["a"]
    assert as_list(values, "x") is values
    assert as_list(("a", "b"), "x") == ["a", "b"]


def test_check_captions_gives_plain_items():
    predictions, references = check_captions(np.array(["a"]), pd.Series([np.array(["b", "c"])]))
    assert (predictions, references) == (["a"], [["b", "c"]])
    assert type(predictions[0]) is type(references[0][0]) is str
    predictions, references = check_captions([np.array([1, 2])], [np.array([[3], [4]])])
    assert (predictions, references) == ([[1, 2]], [[[3], [4]]])
    assert type(predictions[0][0]) is type(references[0][0][0]) is int


@pytest.mark.parametrize(
    "references, expected",
    [
        (["a", ["b", "c"]], [["a"], ["b", "c"]]),
        ([[1, 2], [3]], [[[1, 2]], [[3]]]),
        ([[[1, 2], []], [[3]]], [[[1, 2], []], [[3]]]),
        (np.array([["a", "b"]]), [["a", "b"]]),
    ],
)
def test_check_references_tells_texts_from_ids(references, expected):
    assert check_references(references) == expected


@pytest.mark.parametrize(
    "references, error",
    [
        ([], ValueError),
        ([[]], ValueError),
        ([["a"], []], ValueError),
        ([["a"], [1]], TypeError),
        ([[1], ["a"]], TypeError),
        ("ab", TypeError),
        ([None], TypeError),
        (None, TypeError),
        ([5], TypeError),
    ],
)
def test_check_references_refuses_what_check_captions_refuses(references, error):
    with pytest.raises(error, match="references"):
        check_references(references)


ARROW = {
    "ids": ([[1], [2, 1 << 63]], [[[1]], [[2]]], r"predictions\[1\]\[1\] is int 9223372036854775808, expected"),
    "reference-ids": ([[1], [2]], [[[1]], [[2], [-(10**20)]]], r"references\[1\]\[1\]\[0\] is int -10000000000"),
    "half-a-pair": (["a", "b \ud800"], [["a"], ["b"]], r"predictions\[1\] is str 'b \\ud800', expected Unicode text"),
}


@pytest.mark.parametrize("predictions, references, message", ARROW.values(), ids=ARROW)
def test_what_arrow_cannot_hold_is_a_value_error_that_names_it(metric, predictions, references, message):
    with pytest.raises(ValueError, match=message):
        metric.add_batch(predictions=predictions, references=references)
    assert metric.writer is None
    metric.add_batch(predictions=[[1], [(1 << 63) - 1]], references=[[[1]], [[-(1 << 63)]]])
    metric.reset()
