"""vqa_accuracy as users of evaluate have it: keys, batches, ids, types, signature, errors, and nothing left behind."""

import copy
import pickle

import pytest


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("vqa_accuracy")


PREDICTIONS = ["yes", "Yes.", "2 dogs", "It is red."]
REFERENCES = [["yes"] * 8 + ["no"] * 2, ["yes"] * 10, ["two dogs"] * 9 + ["dogs"], ["red"] * 10]
TYPES = ["yes/no", "yes/no", "number", "other"]


def test_results(metric):
    results = metric.compute(
        predictions=PREDICTIONS, references=REFERENCES, answer_types=TYPES, question_types=["is"] * 4, per_sample=True
    )
    assert set(results) == {"vqa_accuracy", "per_answer_type", "per_question_type", "lost_to_style", "per_sample"}
    assert results["vqa_accuracy"] == 0.5
    assert results["per_answer_type"] == {
        "number": {"value": 1.0, "count": 1},
        "other": {"value": 0.0, "count": 1},
        "yes/no": {"value": 0.5, "count": 2},
    }
    assert results["per_question_type"] == {"is": {"value": 0.5, "count": 4}}
    assert {k: v for k, v in results["lost_to_style"].items() if v} == {"sentence": 1, "unanimity": 1}
    assert results["per_sample"] == {
        "vqa_accuracy": [1.0, 0.0, 1.0, 0.0],
        "prediction": ["yes", "Yes.", "2 dogs", "It is red."],
    }
    assert metric.signature() == "vqa_accuracy|norm:official|formula:leave-one-out|stem:no|refs:10|v:0.1.0"
    pickle.dumps(results)


def test_batches_give_the_same(metric):
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES, answer_types=TYPES)
    metric.add_batch(predictions=PREDICTIONS[:2], references=REFERENCES[:2])
    metric.add(prediction=PREDICTIONS[2], reference=[{"answer": a, "answer_id": 1} for a in REFERENCES[2]])
    metric.add(prediction=PREDICTIONS[3], reference=REFERENCES[3])
    assert metric.compute(answer_types=TYPES) == expected


def test_ids(metric):
    results = metric.compute(predictions=[1, 2], references=[[1, 3], [4]])
    assert results == {"vqa_accuracy": 0.5}
    assert metric.signature() == "vqa_accuracy|norm:ids|formula:exact|stem:no|refs:1-2|v:0.1.0"
    metric.add_batch(predictions=[1, 2], references=[1, 4])
    assert metric.compute() == {"vqa_accuracy": 0.5}


def test_digits_stay_strings(metric):
    metric.add_batch(predictions=["02", "x"], references=[["02"], ["x"]])
    assert metric.compute(formula="exact", normalization="none")["vqa_accuracy"] == 1.0


@pytest.mark.parametrize(
    "measure, expected, signature",
    [
        ("anls", 0.75, "anls|threshold:0.5|stem:no|refs:1|v:0.1.0"),
        ("relaxed_accuracy", 0.0, "relaxed_accuracy|tolerance:0.05|stem:no|refs:1|v:0.1.0"),
    ],
)
def test_other_measures(metric, measure, expected, signature):
    results = metric.compute(predictions=["1400"], references=["1500"], measure=measure, answer_types=["number"])
    assert results == {measure: expected, "per_answer_type": {"number": {"value": expected, "count": 1}}}
    assert metric.signature() == signature


def test_signature_of_options(metric):
    assert metric.signature(preset="textvqa").startswith("vqa_accuracy|norm:evalai|formula:leave-one-out|")


def test_inputs_stay_and_a_second_call_says_the_same(metric):
    references = [
        [{"answer": a, "answer_confidence": "yes", "answer_id": i} for i, a in enumerate(group)]
        for group in REFERENCES
    ]
    before = copy.deepcopy(references)
    first = metric.compute(predictions=PREDICTIONS, references=references)
    assert references == before
    assert metric.compute(predictions=PREDICTIONS, references=references) == first


def test_errors_leave_nothing_behind(metric):
    with pytest.raises(TypeError, match=r"predictions\[1\] is int 2, expected str"):
        metric.compute(predictions=["a", 2], references=[["a"], ["b"]])
    with pytest.raises(ValueError, match="answer_types has 1 items, expected 4"):
        metric.compute(predictions=PREDICTIONS, references=REFERENCES, answer_types=["other"])
    with pytest.raises(ValueError, match='formula="exact"'):
        metric.compute(predictions=["yes"], references=["yes"])
    with pytest.raises(ValueError, match="preset is 'vqa', expected one of"):
        metric.compute(predictions=PREDICTIONS, references=REFERENCES, preset="vqa")
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES)["vqa_accuracy"] == 0.5
