"""recall_at_k as users of evaluate have it: three ways in, batches, folds, signature, errors, nothing left behind."""

import glob
import os
import pickle

import numpy as np
import pytest

RNG = np.random.default_rng(0)
OWN = np.array([0, 0, 1, 2, 2, 2, 3, 4, 5, 5])
IMAGES = RNG.standard_normal((6, 8)).astype(np.float32)
TEXTS = IMAGES[OWN] + RNG.standard_normal((10, 8)).astype(np.float32)
REFERENCES = [np.flatnonzero(OWN == i).tolist() for i in range(6)]


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("recall_at_k")


def scores(results):
    return {key: value for key, value in results.items() if not key.startswith(("num_", "per_"))}


def test_results_and_signature(metric):
    results = metric.compute(image_embeddings=IMAGES, text_embeddings=TEXTS, references=REFERENCES, per_sample=True)
    kinds = ["r@1", "r@5", "r@10", "mrr", "median_rank", "mean_rank"]
    keys = [
        "rsum",
        *(f"{way}_{kind}" for way in ("i2t", "t2i") for kind in kinds),
        "num_i",
        "num_t",
        "num_skipped",
        "num_zero_vectors",
        "per_sample",
    ]
    assert list(results) == keys
    assert (results["num_i"], results["num_t"], results["num_skipped"], results["num_zero_vectors"]) == (6, 10, 0, 0)
    samples = results["per_sample"]
    assert samples["direction"] == ["i2t"] * 6 + ["t2i"] * 10
    assert np.mean(samples["r@1"][:6]) == pytest.approx(results["i2t_r@1"])
    assert metric.signature() == (
        "recall_at_k|k:1,5,10|ties:expected|sim:cosine|dir:both|no_correct:skip|refs:1-3|v:0.1.0"
    )
    assert metric.signature(ties="optimistic", similarity=None, folds=5, k=3) == (
        "recall_at_k|k:3|ties:optimistic|sim:matrix|dir:both|no_correct:skip|folds:5|v:0.1.0"
    )
    pickle.dumps(results)


@pytest.mark.parametrize("ids", [np.arange, lambda size: [f"id {i}" for i in range(size)]], ids=["ints", "texts"])
def test_paired_batches_in_any_order(metric, ids):
    expected = metric.compute(image_embeddings=IMAGES, text_embeddings=TEXTS, references=REFERENCES)
    image_ids, text_ids = np.array(ids(6))[OWN], np.array(ids(10))
    for part in np.array_split(np.random.default_rng(1).permutation(10), 3):
        metric.add_batch(
            image_embeddings=IMAGES[OWN[part]],
            text_embeddings=TEXTS[part],
            image_ids=image_ids[part].tolist(),
            text_ids=text_ids[part].tolist(),
        )
    results = metric.compute(per_sample=True)
    assert results["per_sample"].pop("query") == [*ids(6), *ids(10)]
    results.pop("per_sample")
    assert results == expected


def test_batches_of_tensors(metric):
    torch = pytest.importorskip("torch")
    images, texts = (torch.tensor(side).bfloat16().requires_grad_() for side in (IMAGES, TEXTS))
    expected = metric.compute(image_embeddings=images, text_embeddings=texts, references=REFERENCES)
    metric.add_batch(
        image_embeddings=images[OWN], text_embeddings=texts, image_ids=torch.tensor(OWN), text_ids=torch.arange(10)
    )
    assert metric.compute() == expected


def test_the_first_vector_of_an_id_is_kept_and_another_one_refused(metric):
    ids = {"image_ids": [0, 1, 0], "text_ids": [0, 1, 0]}
    near = np.array([[1, 0], [0, 1], [1, 0.0005]])
    metric.add_batch(image_embeddings=near, text_embeddings=near, **ids)
    assert metric.compute(k=1)["num_i"] == 2
    far = np.array([[1, 0], [0, 1], [1, 0.01]])
    metric.add_batch(image_embeddings=far, text_embeddings=near, **ids)
    with pytest.raises(ValueError, match="1 rows repeat one of image_ids .* the first image id is 0"):
        metric.compute()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_rows_of_similarities_in_batches(metric, dtype):
    matrix = (IMAGES @ TEXTS.T).astype(dtype)
    expected = metric.compute(predictions=matrix, references=REFERENCES)
    metric.add_batch(predictions=matrix[:2], references=REFERENCES[:2])
    metric.add(prediction=matrix[2], reference=REFERENCES[2])
    metric.add_batch(predictions=matrix[3:], references=REFERENCES[3:])
    assert metric.compute() == expected


def test_folds_are_consecutive(metric):
    results = metric.compute(image_embeddings=IMAGES, text_embeddings=TEXTS, references=REFERENCES, folds=2, k=[1, 3])
    halves = []
    for rows in (slice(0, 3), slice(3, 6)):
        own = np.flatnonzero((OWN >= rows.start) & (OWN < rows.stop))
        references = [np.flatnonzero(OWN[own] == i).tolist() for i in range(6)[rows]]
        halves.append(
            metric.compute(image_embeddings=IMAGES[rows], text_embeddings=TEXTS[own], references=references, k=[1, 3])
        )
    assert results["folds"] == pytest.approx({key: (halves[0][key] + halves[1][key]) / 2 for key in results["folds"]})
    matrix = metric.compute(predictions=IMAGES @ TEXTS.T, references=REFERENCES, folds=2, k=[1, 3])
    dot = metric.compute(
        image_embeddings=IMAGES, text_embeddings=TEXTS, references=REFERENCES, folds=2, k=[1, 3], similarity="dot"
    )
    assert matrix["folds"] == pytest.approx(dot["folds"])
    with pytest.raises(ValueError, match="folds is 4 for 6 items"):
        metric.compute(predictions=np.eye(6), folds=4)


def test_options(metric):
    inputs = {"predictions": [[1, 0, 0], [0, 0, 1]], "references": [[0, 1], []]}
    results = metric.compute(
        **inputs,
        k=2,
        recall_fraction=True,
        query_name="v",
        gallery_name="a",
        directions="forward",
        no_correct="zero",
        ties="pessimistic",
    )
    assert scores(results) == {
        "rsum": 0.5,
        "v2a_r@2": 0.5,
        "v2a_mrr": 0.5,
        "v2a_recall_fraction@2": 0.25,
        "v2a_median_rank": 1.0,
        "v2a_mean_rank": 1.0,
    }
    assert (results["num_v"], results["num_a"]) == (2, 3)
    assert metric.compute(**inputs)["num_skipped"] == 2
    sides = {"image_embeddings": [[0.0, 0], [1, 0]], "text_embeddings": [[0.0, 0], [0, 1]]}
    assert metric.compute(**sides)["num_zero_vectors"] == 2


def leftovers(metric):
    return glob.glob(os.path.join(metric.data_dir, "**", "*.arrow"), recursive=True)


def test_errors_leave_nothing_behind(metric):
    expected = metric.compute(predictions=np.eye(3))
    with pytest.raises(ValueError, match="there are batches already"):
        metric.add_batch(predictions=np.eye(3), references=[0, 1, 2])
        metric.compute(predictions=np.eye(3))
    metric.reset()
    with pytest.raises(ValueError, match="nothing to score"):
        metric.compute()
    metric.add_batch(predictions=np.eye(3), references=[0, 1, 2])
    with pytest.raises(ValueError, match="backward_references are passed after add_batch"):
        metric.compute(backward_references=[0, 1, 2])
    for wrong, message in (
        ({"predictions": np.eye(3)}, "references is None"),
        ({"image_embeddings": np.eye(3), "text_embeddings": np.eye(3)}, "all four of them"),
        (
            {"image_embeddings": np.eye(3), "text_embeddings": np.eye(3), "image_ids": [0, 1, 2], "text_ids": [0, 1]},
            "and text_ids 2, expected one of each per pair",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            metric.add_batch(**wrong)
    ids = {"image_ids": [0, 1, 2], "text_ids": ["a", "b", "c"]}
    with pytest.raises(TypeError, match="image_ids are int and text_ids str"):
        metric.add_batch(image_embeddings=np.eye(3), text_embeddings=np.eye(3), **ids)
    ids = {"image_ids": [0, True, 2], "text_ids": [0, 1, 2]}
    with pytest.raises(TypeError, match=r"image_ids\[1\] is bool True"):
        metric.add_batch(image_embeddings=np.eye(3), text_embeddings=np.eye(3), **ids)
    assert leftovers(metric) == []
    metric.add_batch(predictions=np.eye(3), references=[0, 1, 2])
    with pytest.raises(ValueError, match="a batch holds list<item: float> .* as in the first batch"):
        metric.add_batch(predictions=np.eye(3, dtype=np.float32), references=[0, 1, 2])
    metric.add_batch(predictions=np.eye(1, 4), references=[0])
    with pytest.raises(ValueError, match="batches hold rows of 3 and 4 numbers"):
        metric.compute()
    assert leftovers(metric) == []
    assert metric.compute(predictions=np.eye(3)) == expected


def test_data_passed_to_one_of_several_processes_is_refused(load_metric):
    metric = load_metric("recall_at_k", num_process=2, process_id=1, experiment_id="retrieval")
    with pytest.raises(ValueError, match="num_process is 2, expected 1 for data passed to compute"):
        metric.compute(predictions=np.eye(3))


def test_combine(load_metric, metric):
    import evaluate

    both = evaluate.combine([load_metric("recall_at_k"), load_metric("recall_at_k")])
    results = both.compute(predictions=np.eye(3), references=[0, 1, 2])
    assert [value for key, value in results.items() if "rsum" in key] == [6.0, 6.0]


def test_a_matrix_does_not_become_python_objects(metric):
    # Through evaluate's own encoding and back this takes two minutes' worth of objects; as arrays, a moment.
    import time

    matrix = np.random.default_rng(0).random((500, 10_000), dtype=np.float32)
    references = (np.arange(500) * 20).tolist()
    start = time.perf_counter()
    metric.add_batch(predictions=matrix, references=references)
    found = metric.compute()
    assert time.perf_counter() - start < 5
    assert found == metric.compute(predictions=matrix, references=references)


@pytest.mark.parametrize(
    "ids, message",
    [
        ({"image_ids": [5, 1 << 63], "text_ids": [0, 1]}, r"image_ids\[1\] is int 9223372036854775808, expected"),
        ({"image_ids": [5, 6], "text_ids": [-(10**20), 1]}, r"text_ids\[0\] is int -1000.*, expected an integer of"),
        (
            {"image_ids": ["a", "b"], "text_ids": ["a", "\udfff"]},
            r"text_ids\[1\] is str '\\udfff', expected Unicode text",
        ),
    ],
)
def test_ids_that_arrow_cannot_hold_are_named(metric, ids, message):
    with pytest.raises(ValueError, match=message):
        metric.add_batch(image_embeddings=np.eye(2), text_embeddings=np.eye(2), **ids)
    assert metric.writer is None
