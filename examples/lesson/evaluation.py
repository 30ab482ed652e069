"""Scores a model on a suite with the metrics of this repository, and what guessing would score."""

from collections import Counter

import numpy as np
import torch

from examples.lesson.model import VisionLanguageModel
from examples.lesson.world import EvalSuite
from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.recall_at_k import scoring as recall_at_k
from metrics.vqa_accuracy import scoring as vqa_accuracy

RECALLS = (1, 5, 10)


def evaluate(model: VisionLanguageModel, suite: EvalSuite) -> dict[str, float]:
    """Scores retrieval, answers and captions; the model's mode (training or not) stays as it was.

    Returns:
        `i2t_r@1`, `i2t_r@5`, `i2t_r@10`, `i2t_mrr`, the same for `t2i`; `vqa_em` (equal to the right answer) and
        `vqa_soft` (min(people who gave it / 3, 1)); `bleu4` (of the corpus, without smoothing; not the mean over
        sentences that the course lesson takes) and `cider` (CIDEr-D).
    """
    was_training = model.training
    model.eval()
    with torch.no_grad():
        predicted = predict_answers(model, suite)
        scores = {
            **retrieval_scores(similarity(model, suite)),
            "vqa_em": vqa_accuracy.vqa_exact_match(predicted, [triple.answer_id for triple in suite.vqa]),
            "vqa_soft": soft_accuracy(predicted, suite),
            **caption_scores(model.write(_stacked(suite.captions)), suite),
        }
    model.train(was_training)
    return scores


def _stacked(samples) -> torch.Tensor:
    return torch.from_numpy(np.concatenate([sample.image for sample in samples]))


def similarity(model: VisionLanguageModel, suite: EvalSuite) -> np.ndarray:
    """Cosine of each picture (rows) with each caption (columns); the right ones are on the diagonal."""
    _, images = model.encode_image(_stacked(suite.retrieval))
    texts = model.encode_text(torch.from_numpy(np.concatenate([pair.caption_ids for pair in suite.retrieval])))
    return (images @ texts.T).numpy()


def predict_answers(model: VisionLanguageModel, suite: EvalSuite) -> list[int]:
    """The likeliest answer to each question."""
    patches, _ = model.encode_image(_stacked(suite.vqa))
    questions = torch.from_numpy(np.concatenate([triple.question_ids for triple in suite.vqa]))
    return model.answer(questions, patches).argmax(dim=1).tolist()


def retrieval_scores(matrix: np.ndarray) -> dict[str, float]:
    """R@1, R@5, R@10 and the mean reciprocal rank of both directions."""
    scores = recall_at_k.score(recall_at_k.sample_statistics(matrix), k=RECALLS)
    return {name: value for name, value in scores.items() if "_r@" in name or name.endswith("_mrr")}


def soft_accuracy(predicted: list[int], suite: EvalSuite) -> float:
    """VQA accuracy of answer ids against the ten people's."""
    given = [triple.answers for triple in suite.vqa]
    statistics = vqa_accuracy.sample_statistics(predicted, given, normalization="none", formula="min3")
    return vqa_accuracy.score(statistics)["vqa_accuracy"]


def caption_scores(written: list[list[int]], suite: EvalSuite) -> dict[str, float]:
    """Corpus BLEU-4 without smoothing, and CIDEr-D, of token ids."""
    references = [sample.references for sample in suite.captions]
    matches = bleu4.sample_statistics(written, references, tokenizer="none")
    similarities = cider.sample_statistics(written, references, tokenizer="none")
    return {"bleu4": bleu4.score(matches, smoothing=False)["bleu4"], "cider": cider.score(similarities)["cider"]}


def baselines(model: VisionLanguageModel, suite: EvalSuite) -> dict[str, float]:
    """What the same numbers are without looking at pictures: same keys as `evaluate`.

    Retrieval: the expectation of a random order. Answers: the one answer that scores best for all questions. Captions:
    the model's own, each given to every other picture in turn (the mean over all rotations).
    """
    size = len(suite.retrieval)
    scores = {f"{direction}_r@{k}": min(k / size, 1.0) for direction in ("i2t", "t2i") for k in RECALLS}
    scores |= dict.fromkeys(("i2t_mrr", "t2i_mrr"), float((1 / np.arange(1, size + 1)).mean()))
    rights = Counter(triple.answer_id for triple in suite.vqa)
    scores["vqa_em"] = max(rights.values()) / len(suite.vqa)
    candidates = {answer for triple in suite.vqa for answer in triple.answers}
    scores["vqa_soft"] = max(soft_accuracy([answer] * len(suite.vqa), suite) for answer in sorted(candidates))
    written = model.write(_stacked(suite.captions))
    shuffled = [caption_scores(written[by:] + written[:by], suite) for by in range(1, len(written))]
    return scores | {key: float(np.mean([found[key] for found in shuffled])) for key in ("bleu4", "cider")}
