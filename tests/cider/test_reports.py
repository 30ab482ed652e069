"""Public bug reports about caption metrics that have an input: what this repository does with it."""

import math

import numpy as np
import pytest

from metrics.bleu4.scoring import sample_scores as bleu_samples
from metrics.bleu4.scoring import sample_statistics as bleu_statistics
from metrics.bleu4.scoring import score as bleu_score
from metrics.cider.scoring import VARIANTS, sample_scores, sample_statistics, score

PREDICTIONS = ["a grey cat sits on the roof", "three men paint a wall", "the ship leaves the port", "a bowl of soup"]
REFERENCES = [
    ["a cat sits on a roof", "the grey cat is on the roof"],
    ["men paint the wall", "three men are painting a wall"],
    ["a ship leaves port", "the ship sails"],
    ["a bowl of hot soup", "soup in a bowl"],
]


def scores_of(predictions, references, **options):
    return sample_scores(sample_statistics(predictions, references, **options))["cider"].tolist()


def test_pycocoevalcap_18_cider_is_0_for_a_single_image(load_metric):
    one = {"predictions": ["a cat sits"], "references": [["a cat sits"]]}
    cider = load_metric("cider")
    with pytest.raises(ValueError, match="single image.*table"):
        cider.compute(**one)
    table = cider.document_frequencies([["a cat sits"], ["dogs run"]])
    assert cider.compute(**one, document_frequencies=table)["cider"] == pytest.approx(7.5, abs=1e-12)


def test_nlg_eval_10_corpus_and_single_scores_differ(load_metric):
    cider, buffered, batches = load_metric("cider"), load_metric("cider"), []
    whole = cider.compute(predictions=PREDICTIONS, references=REFERENCES)["cider"]
    for rows in (slice(2), slice(2, 4)):
        batches.append(cider.compute(predictions=PREDICTIONS[rows], references=REFERENCES[rows])["cider"])
        buffered.add_batch(predictions=PREDICTIONS[rows], references=REFERENCES[rows])
    # Averaging batches is another number; adding batches and scoring once is the same.
    assert abs(np.mean(batches) - whole) > 0.01
    assert buffered.compute()["cider"] == whole


@pytest.mark.parametrize("separator", ["\r\n", "\r", "\n", "\u2028", "\u2029", "\x0b", "\x0c", "\x85"])
def test_corenlp_619_and_aac_metrics_6_a_caption_is_one_line_whatever_is_in_it(separator, load_metric):
    predictions, references = list(PREDICTIONS), [list(group) for group in REFERENCES]
    predictions[0] = predictions[0].replace("cat sits", f"cat{separator}sits")
    references[1][0] = references[1][0].replace("men paint", f"men{separator}paint")
    for name, key in (("cider", "cider"), ("bleu4", "bleu4")):
        metric = load_metric(name)
        plain = metric.compute(predictions=PREDICTIONS, references=REFERENCES, per_sample=True)["per_sample"][key]
        found = metric.compute(predictions=predictions, references=references, per_sample=True)["per_sample"][key]
        assert found == plain
        assert len(set(plain)) > 2


def test_coco_caption_11_and_12_scores_stand_in_the_order_of_the_input(load_metric):
    cider = load_metric("cider")
    straight = cider.compute(predictions=PREDICTIONS, references=REFERENCES, per_sample=True)["per_sample"]["cider"]
    assert len(set(straight)) == 4
    order = [2, 0, 3, 1]
    shuffled = {"predictions": [PREDICTIONS[i] for i in order], "references": [REFERENCES[i] for i in order]}
    found = cider.compute(**shuffled, per_sample=True)["per_sample"]["cider"]
    assert found == pytest.approx([straight[i] for i in order], abs=1e-12)


def test_coco_caption_49_bleu_of_a_corpus_is_not_the_mean():
    statistics = bleu_statistics(PREDICTIONS, REFERENCES)
    assert abs(bleu_score(statistics)["bleu4"] - bleu_samples(statistics)["bleu4"].mean()) > 0.01


def test_coco_caption_49_cider_of_a_corpus_is_the_mean():
    statistics = sample_statistics(PREDICTIONS, REFERENCES)
    assert score(statistics)["cider"] == pytest.approx(sample_scores(statistics)["cider"].mean(), abs=1e-12)


def test_evaluate_558_the_closest_reference_length_counts_not_the_shortest():
    predictions = ["hello there general kenobi", "foo bar foobar"]
    references = [["hello there general kenobi", "hello there !"], ["foo bar foobar"]]
    found = bleu_score(bleu_statistics(predictions, references, tokenizer="whitespace"), False)
    assert (found["translation_length"], found["reference_length"], found["brevity_penalty"]) == (7, 7, 1.0)


def test_bleuscore_30_a_caption_shorter_than_the_closest_reference_pays_brevity():
    found = bleu_score(bleu_statistics(["w x y z"], [["w x y z v", "w"]], tokenizer="whitespace"))
    assert found["brevity_penalty"] == pytest.approx(math.exp(1 - 5 / 4), abs=1e-12)


CHINESE = ["一个女人在攀爬岩壁", "两只狗在公园里奔跑"]
CHINESE_REFERENCES = [["一个女人正在攀爬岩壁", "女人在爬墙"], ["两只狗在公园奔跑", "狗在跑"]]


def test_coco_caption_57_an_unsegmented_sentence_is_one_token_under_ptb():
    assert scores_of(CHINESE, [[caption] for caption in CHINESE]) == pytest.approx([2.5, 2.5], abs=1e-12)
    assert scores_of(CHINESE, CHINESE_REFERENCES) == [0.0, 0.0]


def test_coco_caption_57_the_tokenizer_char_scores_chinese():
    perfect = scores_of(CHINESE, [[caption] for caption in CHINESE], tokenizer="char")
    assert perfect == pytest.approx([10, 10], abs=1e-12)
    assert all(1 < value < 10 for value in scores_of(CHINESE, CHINESE_REFERENCES, tokenizer="char"))


def test_coco_caption_57_a_callable_splits_as_it_likes():
    found = scores_of(CHINESE, CHINESE_REFERENCES, tokenizer=lambda text: [c for c in text if c != " "])
    assert found == scores_of(CHINESE, CHINESE_REFERENCES, tokenizer="char")


@pytest.mark.parametrize("smoothing", [False, True, "epsilon", "exp", "add-k"])
def test_nltk_1634_garbage_scores_0(smoothing):
    statistics = bleu_statistics(["q", "zz qq"], [["a cat sits on the roof"], ["men paint the wall"]])
    assert bleu_score(statistics, smoothing)["bleu4"] == 0.0


def test_nltk_1634_an_order_without_a_match_is_0_unless_smoothed():
    statistics = bleu_statistics(["roof the on sits cat a"], [["a cat sits on the roof"]])
    assert bleu_score(statistics, False)["bleu4"] == 0.0
    assert bleu_score(statistics, True)["bleu4"] > 0


def test_cider_r_of_an_empty_candidate_is_0_and_not_nan():
    found = scores_of(["", *PREDICTIONS[1:]], REFERENCES, variant="cider_r")
    assert found[0] == 0.0
    assert np.isfinite(found).all()
    assert found[1:] == scores_of(PREDICTIONS, REFERENCES, variant="cider_r")[1:]


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("n", [1, 3, 5])
def test_cider_with_another_n_than_4_reaches_10(variant, n):
    captions = ["a grey cat sits here", "three men paint that wall"]
    found = scores_of(captions, [[c] for c in captions], variant=variant, n=n)
    assert found == pytest.approx([10, 10], abs=1e-12)


def test_cider_scored_twice_gives_the_same_both_times(load_metric):
    cider = load_metric("cider")
    first = cider.compute(predictions=PREDICTIONS, references=REFERENCES)
    assert cider.compute(predictions=PREDICTIONS, references=REFERENCES) == first


def test_cider_cannot_meet_a_table_with_another_number_of_images(load_metric):
    table = load_metric("cider").document_frequencies(REFERENCES)
    assert (table.num_images, table.to_dict()["num_images"]) == (4, 4)
    assert min(scores_of(PREDICTIONS[:2], REFERENCES[:2], document_frequencies=table)) > 0
