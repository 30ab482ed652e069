"""Public reports with an input: what each asked for, or what would have been right."""

import numpy as np
import pytest

from metrics.recall_at_k.scoring import sample_statistics, score


@pytest.fixture(scope="module")
def metric(load_metric):
    return load_metric("recall_at_k")


def forward(matrix, references, **options):
    return score(sample_statistics(matrix, references, directions="forward"), **options)


def test_a_constant_scorer_has_the_mrr_of_chance():
    # embeddings-benchmark/mteb#5092: the correct one listed first had 1.0.
    assert forward([[1, 1, 1]], [0])["i2t_mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


@pytest.mark.parametrize("place", [0, 1, 2])
def test_names_and_order_of_tied_items_do_not_matter(place):
    # mteb PR#5136 and PR#5241, cvangysel/pytrec_eval#56, usnistgov/trec_eval#22, terrierteam/ir_measures#18.
    assert forward([[1, 1, 1]], [place]) == forward([[1, 1, 1]], [0])


def test_bfloat16_embeddings_are_ranked_in_float32():
    # mteb PR#4933, sentence-transformers#3894: the bf16 products tie, the fp32 ones do not.
    torch = pytest.importorskip("torch")
    query = torch.tensor([[1, 1]], dtype=torch.bfloat16)
    items = torch.tensor([[1, 0.002], [1, 0.003]], dtype=torch.bfloat16)
    assert len((query @ items.T).unique()) == 1
    statistics = sample_statistics(None, [1], query, items, similarity="dot", directions="forward")
    assert (statistics["better"].tolist(), statistics["tied"].tolist()) == ([0], [0])


def test_negative_scores_count():
    # Lightning-AI/torchmetrics PR#3104 and PR#3160: Recall and MRR of this are 0 there.
    scores = forward([[-0.1, -0.2, -0.3]], [0], k=1)
    assert (scores["i2t_r@1"], scores["i2t_mrr"]) == (1.0, 1.0)


def test_large_ids_cost_nothing(metric):
    # torchmetrics#3290: 67 GB for ids up to 90 million.
    ids = [1000, 50_000, 90_000_000]
    metric.add_batch(image_embeddings=np.eye(3), text_embeddings=np.eye(3), image_ids=ids, text_ids=ids)
    assert metric.compute(k=1)["rsum"] == 2.0


def test_padding_of_a_distributed_sampler_counts_once(metric):
    # mlfoundations/open_clip PR#176 and the gather of evaluate: processes one after another, the first rows again.
    rng = np.random.default_rng(0)
    images, texts = rng.standard_normal((2, 7, 4))
    rows = [0, 2, 4, 6, 1, 3, 5, 0]
    metric.add_batch(image_embeddings=images[rows], text_embeddings=texts[rows], image_ids=rows, text_ids=rows)
    found = metric.compute()
    assert found["num_i"] == found["num_t"] == 7
    assert found == metric.compute(image_embeddings=images, text_embeddings=texts)


def test_any_number_of_captions_per_image():
    # fartashf/vsepp#14 and #11: five captions are built in, and recall is called a hit rate and the other way round.
    matrix = [[5, 1, 1, 1], [1, 1, 6, 4]]
    statistics = sample_statistics(matrix, [[0, 1, 3], [2]], directions="forward", fraction_at=[1])
    scores = score(statistics, k=1, recall_fraction=True)
    assert scores["i2t_r@1"] == 1.0
    assert scores["i2t_recall_fraction@1"] == pytest.approx((1 / 3 + 1) / 2)


def test_images_repeated_for_each_caption_share_their_hits():
    # mlfoundations/open_clip pairs rows: with five equal copies of an image, the index decides which copy is right.
    rng = np.random.default_rng(1)
    images = rng.standard_normal((20, 16)).astype(np.float32)
    texts = np.repeat(images, 5, axis=0) + 0.01 * rng.standard_normal((100, 16)).astype(np.float32)
    once = score(sample_statistics(None, np.arange(100).reshape(20, 5).tolist(), images, texts), k=1)
    paired = score(sample_statistics(None, None, np.repeat(images, 5, axis=0), texts), k=1)
    assert (once["i2t_r@1"], once["t2i_r@1"]) == (1.0, 1.0)
    # A text finds its image at once; which of five copies comes first is a matter of chance, not of order.
    assert paired["t2i_r@1"] == pytest.approx(0.2)


def test_a_bare_caption_is_no_list():
    # salesforce/ALBEF#72: a caption passed as str was read letter by letter.
    with pytest.raises(TypeError, match="references is str 'a cat', expected a list"):
        sample_statistics(np.eye(5), "a cat")
    with pytest.raises(TypeError, match=r"references\[1\] is str 'a cat', expected an int or a list of ints"):
        sample_statistics(np.eye(2), [0, "a cat"])


def test_directions_are_named_by_the_query():
    # technicolor-research/dsve-loc#17: caption retrieval and image retrieval seem swapped.
    scores = score(sample_statistics([[3, 4], [1, 5]]), k=1)
    assert (scores["i2t_r@1"], scores["t2i_r@1"]) == (0.5, 1.0)


def test_a_larger_pool_is_seen_in_the_sizes(metric):
    # LAION-AI/CLIP_benchmark#48: scores of 40,000 images compared with those of 1,000.
    assert metric.compute(predictions=np.eye(3, 5), references=[0, 1, 2])["num_t"] == 5


@pytest.mark.parametrize("where", ["image_embeddings", "text_embeddings"])
def test_nan_embeddings_are_no_perfect_model(where):
    # open_clip (89fb801): comparisons with NaN are false, so every rank is 1.
    sides = {"image_embeddings": np.eye(3), "text_embeddings": np.eye(3)}
    sides[where] = np.full((3, 3), np.nan)
    with pytest.raises(ValueError, match=rf"{where} has 9 NaN, the first at \[0\]\[0\]"):
        sample_statistics(None, None, **sides)


def test_recall_does_not_fall_with_k():
    # catalyst-team/catalyst#1155: hit@1 above hit@10.
    matrix = np.random.default_rng(2).integers(0, 3, (30, 30))
    for ties in ("expected", "pessimistic", "optimistic"):
        scores = score(sample_statistics(matrix), k=range(1, 32), ties=ties)
        values = [scores[f"i2t_r@{k}"] for k in range(1, 32)]
        assert values == sorted(values)
        assert values[-2:] == [1.0, 1.0]
