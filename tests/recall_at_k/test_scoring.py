"""Scores against the slow oracle, the closed cases of the issue, other tools' ways, and the contract of statistics."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.recall_at_k import products, ranks
from metrics.recall_at_k.rounding import Thresholds
from metrics.recall_at_k.scoring import Scorer, recall_at_k, sample_scores, sample_statistics, score
from tests.recall_at_k.oracle import scores_of, transposed

TIES = ["expected", "pessimistic", "optimistic"]


def random_case(seed):
    """A small matrix of few levels, so that many tie, with ragged correct items, distractors, queries without any."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 7, 2)
    matrix = rng.integers(0, rng.integers(1, 5), (rows, columns)).astype(rng.choice(["f4", "f8", "f2", "i4"]))
    forward = [set(rng.permutation(columns)[: rng.integers(0, columns + 1)].tolist()) for _ in range(rows)]
    forward[0] = forward[0] or {0}
    return matrix, forward


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("seed", range(100))
def test_equals_every_order_of_the_gallery(seed, ties):
    matrix, forward = random_case(seed)
    backward = transposed(forward, matrix.shape[1])
    k = (1, 2, 4)
    expected = scores_of(matrix, forward, backward, k, ties)
    statistics = sample_statistics(matrix, [sorted(items) for items in forward], fraction_at=k)
    found = score(statistics, k, ties, recall_fraction=True)
    assert found.pop("rsum") == pytest.approx(sum(v for key, v in found.items() if "_r@" in key))
    assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_backward_references_are_the_pairs_of_the_texts(seed):
    matrix, forward = random_case(seed)
    rng = np.random.default_rng(seed + 1000)
    backward = [set(rng.permutation(len(matrix))[: rng.integers(1, len(matrix) + 1)].tolist()) for _ in matrix.T]
    references = {"references": [sorted(items) for items in forward], "backward_references": list(map(list, backward))}
    found = score(sample_statistics(matrix, **references), k=2)
    expected = scores_of(matrix, forward, backward, (2,))
    assert found == pytest.approx(
        {key: v for key, v in expected.items() if "fraction" not in key}
        | {"rsum": expected["i2t_r@2"] + expected["t2i_r@2"]}
    )


def integer_embeddings(seed, rows, columns, dimensions=4):
    """Embeddings of small integers: products are exact, many tie, many vectors repeat."""
    rng = np.random.default_rng(seed)
    return [rng.integers(-1, 2, (size, dimensions)).astype(np.float32) for size in (rows, columns)]


@pytest.mark.parametrize("height, width", [(256, 32768), (1, 17), (5, 3), (7, 5), (64, 64)])
@pytest.mark.parametrize("rows, columns", [(1, 1), (1, 9), (9, 1), (3, 130), (65, 64), (130, 257)])
def test_blocks_count_what_the_whole_matrix_counts(monkeypatch, height, width, rows, columns):
    for module in (ranks, products):
        monkeypatch.setattr(module, "HEIGHT", height)
        monkeypatch.setattr(module, "WIDTH", width)
    images, texts = integer_embeddings(rows * columns, rows, columns)
    references = [sorted({i * columns // rows, i % columns}) for i in range(rows)]
    blocks = sample_statistics(None, references, images, texts, similarity="dot", fraction_at=[3])
    monkeypatch.undo()
    whole = sample_statistics(images @ texts.T, references, fraction_at=[3])
    assert blocks.keys() == whole.keys()
    for key in whole:
        np.testing.assert_array_equal(blocks[key], whole[key], key)


@pytest.mark.parametrize("dimensions", [1, 3, 100, 512])
@pytest.mark.parametrize("rows, columns", [(1, 7), (5, 130), (33, 64), (300, 1000)])
def test_a_collapsed_model_is_at_chance_exactly(rows, columns, dimensions):
    # A product of such embeddings holds several numbers, an ulp apart: the place in a block matters.
    rng = np.random.default_rng(dimensions)
    images = np.tile(rng.standard_normal(dimensions).astype(np.float32), (rows, 1))
    texts = np.tile(rng.standard_normal(dimensions).astype(np.float32), (columns, 1))
    references = [[i * columns // rows] for i in range(rows)]
    statistics = sample_statistics(None, references, images, texts)
    assert statistics["better"].sum() == 0
    forward = statistics["direction"] == 0
    assert set(statistics["tied"][forward]) == {columns - 1}
    assert score(statistics, k=1)["i2t_r@1"] == pytest.approx(1 / columns)


def noisy_pairs(rows, columns, dimensions=64, seed=0):
    rng = np.random.default_rng(seed)
    images = rng.standard_normal((rows, dimensions)).astype(np.float32)
    own = np.sort(rng.integers(0, rows, columns))
    texts = images[own] + 2.5 * rng.standard_normal((columns, dimensions)).astype(np.float32)
    return images, texts, own


def unit(vectors):
    return vectors.astype(float) / np.linalg.norm(vectors.astype(float), axis=1, keepdims=True)


@pytest.mark.parametrize("rows, columns", [(257, 1283), (256, 256), (259, 40), (2, 600)])
def test_no_correct_item_beats_itself(rows, columns):
    # Counting S > (dot product formed elsewhere) over all columns makes two in five lose against themselves by an ulp.
    images, texts, own = noisy_pairs(rows, columns)
    references = [np.flatnonzero(own == i).tolist() for i in range(rows)]
    statistics = sample_statistics(None, references, images, texts)
    matrix = unit(images) @ unit(texts).T
    correct = own == np.arange(rows)[:, None]
    best = np.where(correct, matrix, -np.inf).max(axis=1)
    i2t = (matrix > best[:, None]).sum(axis=1)
    t2i = (matrix > matrix[own, np.arange(columns)]).sum(axis=0)
    some = statistics["correct"] > 0
    np.testing.assert_array_equal(statistics["better"][some], np.concatenate([i2t, t2i])[some])
    assert not statistics["tied"].any()


def test_repeated_vectors_tie_with_the_correct_one():
    images, texts, own = noisy_pairs(90, 400)
    texts[300:] = texts[:100]
    images[80:] = images[:10]
    own = np.arange(400) % 90
    references = [np.flatnonzero(own == i).tolist() for i in range(90)]
    statistics = sample_statistics(None, references, images, texts)
    # The same numbers, by float64 products rounded to what repeats have in common.
    matrix = np.round(unit(images) @ unit(texts).T, 10)
    whole = sample_statistics(matrix, references)
    for key in ("better", "tied", "correct_tied"):
        np.testing.assert_array_equal(statistics[key], whole[key])
    assert statistics["tied"].any()


@pytest.mark.parametrize("size", [1, 2, 50])
def test_constant_identity_and_reversed(size):
    constant = sample_statistics(np.ones((size, size)))
    for k in range(1, size + 2):
        assert score(constant, k)[f"i2t_r@{k}"] == pytest.approx(min(k / size, 1), abs=1e-15)
        assert score(constant, k, "pessimistic")[f"t2i_r@{k}"] == float(k >= size)
        assert score(constant, k, "optimistic")[f"t2i_r@{k}"] == 1
    assert score(constant)["i2t_mrr"] == pytest.approx(np.mean(1 / np.arange(1, size + 1)))
    assert score(constant)["t2i_mean_rank"] == (size + 1) / 2
    assert recall_at_k(np.eye(size), 1) == (1.0, 1.0)
    for k in range(1, size):
        assert recall_at_k(-np.eye(size), k) == (0.0, 0.0)


@given(st.integers(0, 10**6), st.integers(1, 6))
@settings(max_examples=60, deadline=None)
def test_shift_permutation_and_k(seed, k):
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(1, 8, 2)
    matrix = rng.integers(-8, 8, (rows, columns)) / 1024
    references = rng.integers(0, columns, rows).tolist()
    scores = score(sample_statistics(matrix, references), (k, k + 1))
    assert score(sample_statistics(matrix - 2, references), (k, k + 1)) == scores
    order = rng.permutation(columns)
    place = np.argsort(order)
    moved = score(sample_statistics(matrix[:, order], place[references].tolist()), (k, k + 1))
    assert moved == pytest.approx(scores, abs=1e-12)
    assert scores[f"i2t_r@{k}"] <= scores[f"i2t_r@{k + 1}"] + 1e-12


def by_argsort(matrix, correct, k):
    """BLIP's way: sort each row, and take the best rank of the correct items."""
    ranks_ = [np.flatnonzero(np.isin(np.argsort(-row), items)).min() for row, items in zip(matrix, correct)]
    return [np.mean(np.array(ranks_) < number) for number in k]


def by_topk(matrix, correct, k):
    """CLIP_benchmark's way: top-k, one-hot, correct ones counted."""
    torch = pytest.importorskip("torch")
    positive = torch.zeros(matrix.shape, dtype=torch.bool)
    for row, items in enumerate(correct):
        positive[row, items] = True
    results = []
    for number in k:
        top = torch.topk(torch.from_numpy(matrix), number, dim=1).indices
        hot = torch.nn.functional.one_hot(top, matrix.shape[1])
        results.append(((hot * positive[:, None]).sum((1, 2)) > 0).float().mean().item())
    return results


@pytest.mark.parametrize("way", [by_argsort, by_topk])
def test_agrees_with_other_ways_where_nothing_ties(way):
    images, texts, own = noisy_pairs(60, 300)
    matrix = (unit(images) @ unit(texts).T).astype(np.float32)
    forward = [np.flatnonzero(own == i).tolist() for i in range(60)]
    assert all(forward)
    scores = score(sample_statistics(matrix, forward))
    k = (1, 5, 10)
    assert [scores[f"i2t_r@{number}"] for number in k] == pytest.approx(way(matrix, forward, k))
    turned, backward = np.ascontiguousarray(matrix.T), [[i] for i in own]
    assert [scores[f"t2i_r@{number}"] for number in k] == pytest.approx(way(turned, backward, k))


def test_agrees_with_torchmetrics():
    retrieval = pytest.importorskip("torchmetrics.retrieval")
    import torch

    images, texts, own = noisy_pairs(60, 300)
    matrix = unit(images) @ unit(texts).T
    index = torch.arange(60).repeat_interleave(300)
    target = torch.from_numpy((own == np.arange(60)[:, None]).reshape(-1))
    scores = score(sample_statistics(matrix, [np.flatnonzero(own == i).tolist() for i in range(60)]))
    for k in (1, 5, 10):
        rate = retrieval.RetrievalHitRate(top_k=k)(torch.from_numpy(matrix.reshape(-1)), target, indexes=index)
        assert scores[f"i2t_r@{k}"] == pytest.approx(rate.item())


def test_shards_of_queries_score_as_the_whole():
    matrix, forward = random_case(11)
    rng = np.random.default_rng(3)
    matrix = rng.integers(0, 5, (12, 9))
    references = [rng.permutation(9)[:3].tolist() for _ in range(12)]
    whole = sample_statistics(matrix, references, directions="forward", fraction_at=[1, 5, 10])
    parts = [
        sample_statistics(matrix[s], references[s], directions="forward", fraction_at=[1, 5, 10])
        for s in (slice(0, 5), slice(5, 12))
    ]
    joined = {key: np.concatenate([part[key] for part in parts]) for key in whole}
    assert score(joined, recall_fraction=True) == score(whole, recall_fraction=True)


def test_counts_over_shards_of_the_gallery_add_up():
    matrix = np.random.default_rng(4).integers(0, 5, (12, 9)).astype(float)
    thresholds = Thresholds(matrix[np.arange(12), np.arange(12) % 9][None], np.zeros((1, 12)))
    whole, _ = ranks.count(ranks.MatrixBlocks(matrix, np.dtype(float)), thresholds, None)
    parts = [
        ranks.count(ranks.MatrixBlocks(part, np.dtype(float)), thresholds, None)[0]
        for part in (matrix[:, :4], matrix[:, 4:])
    ]
    np.testing.assert_array_equal(np.sum(parts, axis=0), whole)


@pytest.mark.parametrize("ties", TIES)
def test_weights_count_rows_so_often(ties):
    rng = np.random.default_rng(5)
    matrix = rng.integers(0, 5, (12, 9))
    references = [rng.permutation(9)[: 1 + i % 3].tolist() for i in range(11)] + [[]]
    statistics = sample_statistics(matrix, references, fraction_at=[1, 5, 10])
    weights = np.stack([np.bincount(rng.integers(0, 21, 21), minlength=21) for _ in range(40)])
    found = score(statistics, ties=ties, recall_fraction=True, weights=weights)
    for place, counts in enumerate(weights):
        again = {key: np.repeat(values, counts, axis=0) for key, values in statistics.items()}
        expected = score(again, ties=ties, recall_fraction=True)
        assert {key: values[place] for key, values in found.items()} == pytest.approx(expected)


def test_weights_of_another_shape_are_refused():
    statistics = sample_statistics(np.eye(3))
    with pytest.raises(ValueError, match=r"weights have the shape \(3,\), expected \(resamples, 6\)"):
        score(statistics, weights=np.ones(3))


def test_no_correct():
    statistics = sample_statistics([[1, 0], [0, 1], [1, 0]], [[0], [], [0]])
    assert score(statistics, 1)["i2t_r@1"] == 1.0
    zero = score(statistics, 1, no_correct="zero")
    assert (zero["i2t_r@1"], zero["i2t_mrr"], zero["i2t_mean_rank"]) == (pytest.approx(2 / 3), pytest.approx(2 / 3), 1)
    with pytest.raises(ValueError, match="2 queries have no correct item, the first is 1"):
        score(statistics, no_correct="error")
    with pytest.raises(ValueError, match="no query of i2t has a correct item"):
        score(sample_statistics([[1, 0]], [[]], directions="forward"))


def test_sample_scores_are_those_of_the_queries():
    matrix, forward = np.array([[1.0, 1, 0], [0, 2, 1]]), [[0], []]
    scores = sample_scores(sample_statistics(matrix, forward), k=[1, 2], query_name="v", gallery_name="a")
    assert scores["direction"].tolist() == ["v2a", "v2a", "a2v", "a2v", "a2v"]
    assert scores["query"].tolist() == [0, 1, 0, 1, 2]
    np.testing.assert_array_equal(scores["r@1"], [0.5, np.nan, 1, np.nan, np.nan])
    np.testing.assert_array_equal(scores["rank"], [1.5, np.nan, 1, np.nan, np.nan])


def test_infinities_are_numbers():
    matrix = np.array([[np.inf, 1, np.inf], [-np.inf, -np.inf, 0]])
    scores = sample_scores(sample_statistics(matrix, [0, 1], directions="forward"), k=1)
    assert scores["r@1"].tolist() == [0.5, 0.0]
    assert scores["rank"].tolist() == [1.5, 2.5]


def test_directions():
    both = sample_statistics(np.eye(3))
    forward, backward = (sample_statistics(np.eye(3), directions=d) for d in ("forward", "backward"))
    for key, values in both.items():
        np.testing.assert_array_equal(np.concatenate([forward[key], backward[key]]), values)
    assert list(score(backward, k=1)) == ["rsum", "t2i_r@1", "t2i_mrr", "t2i_median_rank", "t2i_mean_rank"]


@pytest.mark.parametrize(
    "options, message",
    [
        ({"k": 0}, "k is 0, expected an integer of at least 1"),
        ({"k": True}, "k is True"),
        ({"k": [1, 2.5]}, "k is 2.5"),
        ({"k": []}, "k is empty"),
        ({"k": "5"}, "k is '5'"),
        ({"k": [1, 10**20]}, "k is 100000000000000000000, expected at most 2\\*\\*53"),
        ({"ties": "index"}, "ties is 'index', expected one of expected, pessimistic, optimistic"),
        ({"no_correct": "drop"}, "no_correct is 'drop'"),
        ({"query_name": "t"}, "expected two names"),
        ({"recall_fraction": True}, "statistics have no found@1"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(ValueError, match=message):
        score(sample_statistics(np.eye(3)), **options)
    with pytest.raises(ValueError, match="directions is 'i2t', expected one of both, forward, backward"):
        sample_statistics(np.eye(3), directions="i2t")


def test_k_is_kept_once_and_sorted():
    scores = score(sample_statistics(np.eye(3)), k=(5, 1, 5))
    assert [key for key in scores if "i2t_r@" in key] == ["i2t_r@1", "i2t_r@5"]


def test_signature():
    name, found = Scorer(k=3, similarity=None, folds=5).settings()
    assert name == "recall_at_k"
    assert found == {
        "k": "3",
        "ties": "expected",
        "sim": "matrix",
        "dir": "both",
        "no_correct": "skip",
        "folds": 5,
        "exclude_self": None,
    }
    assert Scorer(exclude_self=True).settings()[1]["exclude_self"] is True


@pytest.mark.parametrize(
    "matrix, k, message",
    [
        ([[1, 2]], 1, "sim_matrix is 1 x 2, expected a square"),
        (np.eye(3), 4, "k is 4, expected 1 to 3"),
        (np.eye(3), 0, "k is 0"),
        ([[np.nan]], 1, "1 NaN"),
    ],
)
def test_lesson_function_refuses(matrix, k, message):
    with pytest.raises(ValueError, match=message):
        recall_at_k(matrix, k)
