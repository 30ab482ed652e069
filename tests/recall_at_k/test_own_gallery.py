"""Items that are searched among themselves: each is left out of its own gallery; and correct items named twice."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.recall_at_k import scoring
from metrics.recall_at_k.device import DeviceArithmetic
from metrics.recall_at_k.images import image_of_rows
from metrics.recall_at_k.inputs import Ranked, check_pairs
from metrics.recall_at_k.scoring import Scorer, check_items, sample_statistics, score
from metrics.scale.retrieval import sample_statistics as statistics_of_shards
from tests.recall_at_k.oracle import query_scores, scores_of, transposed
from tests.recall_at_k.test_near_ties import KINDS, WAYS, exact_statistics, noisy, same, sides_of, with_blocks
from tests.stress import rounds

K = (1, 2, 4)
SIZE = 31
# Of the ways in blocks, the two that cut a square of this size.
SOME_WAYS = WAYS[-rounds(2, len(WAYS)) :]
CLASSES = [[j for j in range(SIZE) if j % 7 == i % 7] for i in range(SIZE)]


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("recall_at_k")


def square_case(seed):
    """A small square of few levels; correct items in any order, some twice, some of them the query itself."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(2, 7))
    matrix = rng.integers(0, rng.integers(1, 5), (size, size)).astype(rng.choice(["f4", "f8", "f2", "i4"]))
    if matrix.dtype.kind == "f":
        np.fill_diagonal(matrix, rng.choice([0, 1, 9, np.inf, -np.inf], size))
    references = [rng.integers(0, size, rng.integers(0, 2 * size)).tolist() for _ in range(size)]
    references[0] = [0, 1, 1]
    return matrix, references


def same_scores(found, expected):
    rsum = found.pop("rsum")
    assert rsum == pytest.approx(sum(value for key, value in found.items() if "_r@" in key))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ties", scoring.TIES)
@pytest.mark.parametrize("seed", range(25))
def test_equals_every_order_of_the_gallery_without_the_query(seed, ties):
    matrix, references = square_case(seed)
    expected = scores_of(matrix, references, transposed(references, len(matrix)), K, ties, exclude_self=True)
    statistics = sample_statistics(matrix, references, fraction_at=K, exclude_self=True)
    same_scores(score(statistics, K, ties, recall_fraction=True), expected)
    assert set(statistics["gallery"]) == {len(matrix) - 1}


@pytest.mark.parametrize("seed", range(10))
def test_backward_references_without_the_query(seed):
    matrix, references = square_case(seed)
    _, backward = square_case(seed + 100)
    backward = [[*group, i, (i + 1) % len(matrix)] for i, group in enumerate((backward * 3)[: len(matrix)])]
    backward = [[item % len(matrix) for item in group] for group in backward]
    statistics = sample_statistics(matrix, references, backward_references=backward, fraction_at=K, exclude_self=True)
    expected = scores_of(matrix, references, backward, K, exclude_self=True)
    same_scores(score(statistics, K, recall_fraction=True), expected)


@given(st.integers(0, 10**6))
@settings(max_examples=30, deadline=None)
def test_the_diagonal_changes_nothing(seed):
    matrix, references = square_case(seed)
    expected = sample_statistics(matrix, references, fraction_at=K, exclude_self=True)
    other = matrix.copy()
    np.fill_diagonal(other, np.random.default_rng(seed).integers(-9, 9, len(matrix)))
    without = [[item for item in group if item != i] for i, group in enumerate(references)]
    same(sample_statistics(other, without, fraction_at=K, exclude_self=True), expected)


@pytest.mark.stress
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("similarity", ["cosine", "dot"])
def test_embeddings_exactly_in_any_blocks_and_shards(monkeypatch, kind, similarity):
    # The first side is searched among itself; then other vectors of the same items.
    first, second = sides_of(kind, (SIZE, SIZE))
    options = {"references": CLASSES, "fraction_at": (1, 5), "exclude_self": True}
    named = {**options, "similarity": similarity}
    for sides in ((first, first), (first, second)):
        expected = exact_statistics(*sides, similarity, **options)
        assert expected["tied"].any()
        for dtype in ("float32", "float64")[: rounds(1, 2)]:
            typed = [side.astype(dtype) for side in sides]
            for way in SOME_WAYS:
                with_blocks(monkeypatch, *way)
                same(sample_statistics(image_embeddings=typed[0], text_embeddings=typed[1], **named), expected)
            shards = {"image_embeddings": np.array_split(typed[0], 3), "text_embeddings": np.array_split(typed[1], 2)}
            same(statistics_of_shards(**shards, **named), expected)


def test_shards_of_a_matrix():
    rng = np.random.default_rng(2)
    matrix = rng.integers(0, 9, (SIZE, SIZE)).astype(np.float32)
    for directions in scoring.DIRECTIONS:
        options = {"references": CLASSES, "directions": directions, "exclude_self": True}
        same(statistics_of_shards(np.array_split(matrix, 4), **options), sample_statistics(matrix, **options))


@pytest.mark.stress
def test_on_a_device(monkeypatch):
    torch = pytest.importorskip("torch")
    monkeypatch.setattr(scoring, "DeviceArithmetic", lambda device: DeviceArithmetic(torch.device(device)))
    for kind in KINDS[: rounds(1, len(KINDS))]:
        first, _ = sides_of(kind, (SIZE, SIZE))
        expected = exact_statistics(first, first, "cosine", references=CLASSES, exclude_self=True)
        items = check_items(None, first.astype("float32"), first.astype("float32"))._replace(device="cpu")
        for way in SOME_WAYS:
            with_blocks(monkeypatch, *way)
            same(scoring.count_pairs(items, check_pairs(CLASSES, None, SIZE, SIZE, True)), expected)


def test_real_numbers_as_of_a_matrix_without_its_diagonal():
    images = noisy(3)[0][:SIZE]
    unit = images.astype(float) / np.linalg.norm(images.astype(float), axis=1, keepdims=True)
    found = sample_statistics(None, CLASSES, images, images, exclude_self=True, fraction_at=(1, 5))
    matrix = unit @ unit.T
    np.fill_diagonal(matrix, -9)
    without = [[item for item in group if item != i] for i, group in enumerate(CLASSES)]
    expected = sample_statistics(matrix, without, fraction_at=(1, 5))
    expected["gallery"] -= 1
    same(found, expected)


@pytest.mark.parametrize("size", [2, 3, 40])
def test_a_constant_model_is_at_the_chance_of_one_item_less(size):
    references = [(i + 1) % size for i in range(size)]
    sides = np.ones((size, 4), np.float32)
    for items in ({"predictions": np.ones((size, size))}, {"image_embeddings": sides, "text_embeddings": sides}):
        statistics = sample_statistics(references=references, **items, exclude_self=True)
        assert set(statistics["tied"]) == {size - 2}
        assert score(statistics, 1)["i2t_r@1"] == pytest.approx(1 / (size - 1))
        assert score(statistics)["t2i_mean_rank"] == size / 2


def test_an_item_that_is_its_only_correct_one_is_a_query_without_any():
    statistics = sample_statistics(np.eye(3), [[0], [1, 2], []], exclude_self=True)
    assert statistics["correct"].tolist() == [0, 1, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="4 queries have no correct item, the first is 0"):
        score(statistics, no_correct="error")
    with pytest.raises(ValueError, match="no query of i2t has a correct item"):
        score(sample_statistics([[1.0]], [0], exclude_self=True))


@pytest.mark.parametrize("ties", scoring.TIES)
def test_folds(ties):
    rng = np.random.default_rng(4)
    matrix = rng.integers(0, 4, (8, 8)).astype(float)
    references = [[i ^ 1, i] if i % 3 else [(i + 2) % 8, i ^ 1] for i in range(8)]
    scorer = Scorer(k=K, ties=ties, folds=2, exclude_self=True, similarity=None)
    found = scorer.find(Ranked(matrix, check_pairs(references, None, 8, 8, True)))
    results, line = found.results, scorer.signature(found.num_references)
    assert line.endswith("|folds:2|exclude_self:yes|refs:1-2|v:0.1.0")
    halves = []
    for rows in (range(4), range(4, 8)):
        # The gallery of a part is made of its correct items.
        columns = sorted({item for row in rows for item in references[row] if item != row})
        part = matrix[np.ix_(rows, columns)]
        scores = []
        for queries, gallery, turned in ((rows, columns, part), (columns, rows, part.T)):
            for query, row in zip(queries, turned):
                kept = [place for place, item in enumerate(gallery) if item != query]
                pairs = [(query, gallery[p]) if turned is part else (gallery[p], query) for p in kept]
                correct = {p for p, (i, j) in enumerate(pairs) if j in references[i]}
                scores.append((row[kept], correct))
        halves.append([scores[: len(rows)], scores[len(rows) :]])
    for number, name in enumerate(("i2t", "t2i")):
        means = [
            np.mean([query_scores(*query, (2,), ties)["r@2"] for query in half[number] if query[1]]) for half in halves
        ]
        assert results["folds"][f"{name}_r@2"] == pytest.approx(np.mean(means))


def test_both_queries_of_an_item_are_drawn_and_labelled_as_one():
    pairs = check_pairs([[1, 2], [0], [0]], None, 3, 3, True)
    statistics = sample_statistics(np.eye(3), [[1, 2], [0], [0]], exclude_self=True)
    assert image_of_rows(statistics, pairs, (3, 3)).tolist() == [0, 1, 2, 0, 1, 2]


def test_the_module(metric):
    matrix, references = np.array([[9, 1, 2, 2], [1, 9, 0, 3], [2, 0, 9, 1], [2, 3, 1, 9.0]]), [1, 0, [3, 3], [2, 3]]
    results = metric.compute(
        predictions=matrix,
        references=references,
        exclude_self=True,
        k=[1, 3],
        per_sample=True,
        by=["a", "a", "b", "b"],
        confidence_level=0.9,
        n_resamples=20,
    )
    assert results["per_sample"]["rank"] == [3.0, 2.0, 2.0, 3.0] * 2
    assert (results["i2t_r@1"], results["i2t_r@3"], results["num_t"]) == (0.0, 1.0, 4)
    assert results["by"]["b"]["t2i_mean_rank"] == 2.5
    assert metric.signature() == (
        "recall_at_k|k:1,3|ties:expected|sim:matrix|dir:both|no_correct:skip|exclude_self:yes|refs:1|v:0.1.0"
    )
    expected = metric.compute(predictions=matrix, references=references, exclude_self=True)
    metric.add_batch(predictions=matrix[:3], references=references[:3])
    metric.add_batch(predictions=matrix[3:], references=references[3:])
    assert metric.compute(exclude_self=True) == expected
    # Without the option every item finds itself first.
    assert metric.compute(predictions=matrix, references=[0, 1, 2, 3])["rsum"] == 6.0


@pytest.mark.parametrize("name", [int, "item {}".format], ids=["ints", "texts"])
def test_batches_of_pairs_know_an_item_by_its_id(metric, name):
    vectors = np.random.default_rng(5).standard_normal((6, 4))
    references = [[1, 2], [0, 2], [0, 1], [4], [3, 5], [4]]
    pairs = [(i, j) for i, group in enumerate(references) for j in group]
    rows, columns = map(list, zip(*pairs))
    ids = {key: [name(i) for i in items] for key, items in (("image_ids", rows), ("text_ids", columns))}
    sides = {"image_embeddings": vectors[rows], "text_embeddings": vectors[columns]}
    metric.add_batch(**sides, **ids)
    expected = metric.compute(exclude_self=True)
    assert expected == metric.compute(
        image_embeddings=vectors, text_embeddings=vectors, references=references, exclude_self=True
    )
    # An item that is on one side alone has nothing to leave out: the last is no text any more.
    some = [row for row, (_, j) in enumerate(pairs) if j < 5]
    metric.add_batch(
        **{key: side[some] for key, side in sides.items()},
        **{key: [values[row] for row in some] for key, values in ids.items()},
    )
    samples = metric.compute(exclude_self=True, per_sample=True)["per_sample"]
    matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = [1 + sum((matrix @ matrix.T)[5, [0, 1, 2, 3]] > (matrix @ matrix.T)[5, 4])]
    assert [
        rank
        for rank, query, way in zip(*(samples[key] for key in ("rank", "query", "direction")))
        if query == name(5) and way == "i2t"
    ] == expected


def test_a_trainers_rows(metric):
    vectors = np.random.default_rng(6).standard_normal((4, 3))
    pairs = [(0, 1), (1, 0), (2, 3), (3, 2)]
    sides = (vectors[[i for i, _ in pairs]], vectors[[j for _, j in pairs]])
    rows = SimpleNamespace(predictions=sides, label_ids=None, inputs=None)
    found = metric.compute_metrics(references=pairs, exclude_self=True)(rows)
    expected = metric.compute(
        image_embeddings=vectors, text_embeddings=vectors, references=[1, 0, 3, 2], exclude_self=True
    )
    assert found == expected
    with pytest.raises(ValueError, match="a Trainer's rows have the image's id alone, expected the ids of both sides"):
        metric.compute_metrics(references=[3, 2, 1, 0], exclude_self=True)(rows)


@pytest.mark.parametrize(
    "shape, options, message",
    [
        (
            (2, 3),
            {"references": [0, 1]},
            "exclude_self is True and the sides have 2 and 3 items, expected the same items",
        ),
        ((2, 2), {}, "references is None and exclude_self True, expected the correct columns of each row"),
        ((2, 2), {"references": [0, 1], "exclude_self": "yes"}, "exclude_self is 'yes', expected True or False"),
    ],
)
def test_wrong_use_is_named(metric, shape, options, message):
    options = {"exclude_self": True, **options}
    for function in (sample_statistics, metric.compute):
        with pytest.raises(ValueError, match=message):
            function(predictions=np.eye(*shape), **options)


def test_ids_that_never_meet_are_shown(metric):
    metric.add_batch(
        image_embeddings=np.eye(3), text_embeddings=np.eye(3), image_ids=["a", "b", "c"], text_ids=["1", "2", "3"]
    )
    with pytest.raises(ValueError, match="image_ids begin with 'a', 'b' and text_ids with '1', '2', expected one id"):
        metric.compute(exclude_self=True)
    metric.reset()


@pytest.mark.parametrize("ties", scoring.TIES)
@pytest.mark.parametrize("seed", range(5))
def test_a_correct_item_named_twice_counts_once(metric, seed, ties):
    matrix, references = square_case(seed)
    once = [np.unique(group).tolist() for group in references]
    assert once != references
    options = {"k": list(K), "ties": ties, "recall_fraction": True}
    expected = metric.compute(predictions=matrix, references=once, **options)
    line = metric.signature()
    found = [metric.compute(predictions=matrix, references=references, **options)]
    assert metric.signature() == line
    metric.add_batch(predictions=matrix, references=references)
    found.append(metric.compute(**options))
    assert found == [expected] * 2
    backward = [once[0], *references[1:]]
    same(
        sample_statistics(matrix, once, backward_references=backward),
        sample_statistics(matrix, once, backward_references=once),
    )
    oracle = scores_of(matrix, references, transposed(references, len(matrix)), K, ties)
    assert {key: found[0][key] for key in oracle} == pytest.approx(oracle, abs=1e-12)
