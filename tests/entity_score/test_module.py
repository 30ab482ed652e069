"""entity_score as users of evaluate have it: keys, batches, signature, errors, and nothing left behind."""

import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

PREDICTIONS = ["a man plays a guitar.", "he runs quickly.", "the woman speaks and a dog runs in the park."]
REFERENCES = [
    "a man with a red guitar stands on a stage.",
    "two dogs run on green grass.",
    "the woman speaks and a dog runs in the park.",
]


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("entity_score")


@pytest.fixture(scope="module")
def options(nltk_data, t5_folder):
    return {"model_path": str(t5_folder), "device": "cpu"}


def test_results(metric, options):
    results = metric.compute(predictions=PREDICTIONS, references=REFERENCES, per_sample=True, **options)
    assert list(results) == [
        "entity_score",
        "entity_recall",
        "entity_similarity",
        "entity_score_min",
        "entity_score_max",
        "num_skipped",
        "per_sample",
    ]
    assert results["num_skipped"] == 1 and results["entity_recall"] == pytest.approx(5 / 6)
    assert results["entity_similarity"] == pytest.approx(1)
    samples = results["per_sample"]
    assert samples["predicted_entities"] == [["guitar", "man"], [], ["dog", "park", "woman"]]
    assert samples["reference_entities"] == [["guitar", "man", "stage"], ["dog", "grass"], ["dog", "park", "woman"]]
    assert samples["entity_score"][2] == results["entity_score_max"] == pytest.approx(1.00005, abs=1e-8)
    assert samples["entity_score"][1] != samples["entity_score"][1]
    pickle.dumps(results)


def test_loads_from_another_folder_with_an_empty_cache(tmp_path):
    """Every sibling is copied, and neither torch nor NLTK is needed before the first score."""
    code = "import sys, evaluate; print(evaluate.load(sys.argv[1]).signature())"
    folder = Path(__file__).resolve().parents[2] / "metrics" / "entity_score"
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_MODULES_CACHE": str(tmp_path / "modules")}
    result = subprocess.run(
        [sys.executable, "-I", "-c", code, str(folder)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.stdout.startswith("entity_score|formula:favdbench|"), result.stderr


def test_signature(metric, options):
    metric.compute(predictions=PREDICTIONS, references=[[text, text] for text in REFERENCES], **options)
    start, version = metric.signature().split("|nltk:")
    assert start == f"entity_score|formula:favdbench|model:{options['model_path']}|dtype:float32|no_entities:skip"
    assert version.endswith("|refs:2|v:0.1.0")
    assert metric.signature(formula="readme").startswith("entity_score|formula:readme|model:t5-base|dtype:float32|")


def test_batches_and_several_references_give_the_same(metric, options):
    expected = metric.compute(predictions=PREDICTIONS, references=REFERENCES, **options)
    metric.add_batch(predictions=PREDICTIONS[:2], references=REFERENCES[:2])
    metric.add(prediction=PREDICTIONS[2], reference=REFERENCES[2])
    assert metric.compute(**options) == pytest.approx(expected, abs=1e-6)
    several = [[text, "it is raining."] for text in REFERENCES]
    assert metric.compute(predictions=PREDICTIONS, references=several, **options) == pytest.approx(expected, abs=1e-6)


def test_options_reach_the_score(metric, options):
    one = {"predictions": PREDICTIONS[:1], "references": ["a man with a kite near a river."], **options}
    favdbench, readme = metric.compute(**one), metric.compute(**one, formula="readme")
    assert favdbench["entity_recall"] == readme["entity_recall"] == pytest.approx(1 / 3)
    assert favdbench["entity_similarity"] != pytest.approx(readme["entity_similarity"], abs=1e-4)
    results = metric.compute(predictions=PREDICTIONS, references=REFERENCES, no_entities="zero", **options)
    assert results["num_skipped"] == 0 and results["entity_score_min"] == 0


@pytest.mark.parametrize(
    "arguments, error, message",
    [
        ({"predictions": ["a", 2]}, TypeError, r"predictions\[1\] is int 2, expected str"),
        ({"predictions": [[1]], "references": [[3]]}, TypeError, r"predictions\[0\] is list \[1\], expected str"),
        ({"formula": "x"}, ValueError, "formula is 'x', expected one of"),
        ({"dtype": "float16"}, ValueError, "dtype is 'float16', expected one of"),
    ],
)
def test_errors_leave_nothing_behind(metric, options, arguments, error, message):
    with pytest.raises(error, match=message):
        metric.compute(**{"predictions": PREDICTIONS[:2], "references": REFERENCES[:2], **options, **arguments})
    assert metric.compute(predictions=PREDICTIONS[2:], references=REFERENCES[2:], **options)["entity_recall"] == 1
