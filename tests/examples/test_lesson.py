"""What the course lesson on multimodal evaluation tests and sets as exercises, with this repository's metrics."""

import numpy as np
import pytest

from examples.lesson.world import build_eval_suite
from metrics.bleu4.scoring import bleu4
from metrics.cider import scoring as cider
from metrics.recall_at_k import scoring as retrieval
from metrics.recall_at_k.scoring import recall_at_k
from metrics.vqa_accuracy import scoring as vqa
from metrics.vqa_accuracy.scoring import vqa_exact_match


@pytest.mark.parametrize("k", [1, 2, 4])
def test_recall_is_1_on_the_identity(k):
    assert recall_at_k(np.eye(4), k) == (1.0, 1.0)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_recall_is_0_on_the_inverted_identity_below_n(k):
    """The right item is the one item worse than all others, in both directions."""
    assert recall_at_k(1 - np.eye(4), k) == (0.0, 0.0)
    assert recall_at_k(1 - np.eye(4), 4) == (1.0, 1.0)


@pytest.mark.parametrize("k", [0, 5])
def test_recall_wants_k_of_1_to_n(k):
    with pytest.raises(ValueError, match=f"k is {k}"):
        recall_at_k(np.eye(4), k)


def test_bleu_is_1_where_the_caption_is_one_of_the_references():
    assert bleu4([5, 6, 7, 8, 9], [[1, 2, 3], [5, 6, 7, 8, 9]]) == 1.0


@pytest.mark.parametrize("smoothing", [True, False])
def test_bleu_is_0_without_a_common_word(smoothing):
    """Smoothed too: the lesson's own code gives 0.302 here."""
    assert bleu4([1, 2, 3, 4], [[5, 6, 7, 8]], smoothing=smoothing) == 0.0


def test_vqa_is_the_share_of_equal_pairs():
    assert vqa_exact_match([3, 1, 4, 1], [3, 1, 5, 9]) == 0.5


@pytest.mark.parametrize("n_samples", [1, 50])
def test_suite_has_as_many_of_each_as_asked_for(n_samples):
    suite = build_eval_suite(seed=7777, n_samples=n_samples, vocab_size=128, max_len=12)
    assert [len(part) for part in suite] == [n_samples] * 3
    assert all(1 <= len(sample.references) <= 3 for sample in suite.captions)
    assert all(pair.image.shape == (1, 3, 32, 32) and pair.caption_ids.shape == (1, 12) for pair in suite.retrieval)


def test_exercise_cider_rewards_the_rare_word():
    """Token 9 is in every caption and weighs nothing; 1 and 2 tell the pictures apart."""
    references = [[[9, 1]], [[9, 2]]]
    by_picture = cider.sample_scores(cider.sample_statistics([[1], [9]], references, n=1, tokenizer="none"))["cider"]
    # One token against two costs exp(-1 / (2 * 6^2)).
    assert by_picture.tolist() == pytest.approx([10 * np.exp(-1 / 72), 0.0])


@pytest.mark.parametrize("count, expected", [(0, 0.0), (1, 1 / 3), (2, 2 / 3), (3, 1.0), (10, 1.0)])
def test_exercise_soft_accuracy(count, expected):
    people = [7] * count + [8] * (10 - count)
    statistics = vqa.sample_statistics([7], [people], formula="min3")
    assert vqa.score(statistics)["vqa_accuracy"] == pytest.approx(expected)


@pytest.mark.parametrize("smoothing", [True, False, "epsilon", "add-k", "exp"])
def test_exercise_empty_captions_do_not_crash(smoothing):
    assert bleu4([], [[5, 6, 7, 8]], smoothing=smoothing) == 0.0


def test_exercise_mean_reciprocal_rank():
    """Ranks 1, 2, 3 image to text."""
    matrix = np.array([[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [3.0, 2.0, 1.0]])
    scores = retrieval.score(retrieval.sample_statistics(matrix), k=1)
    assert scores["i2t_mrr"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
