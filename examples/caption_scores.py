"""Every caption metric on the same captions: what the experiments on human judgments compare."""

import importlib.util
import sys
from collections.abc import Sequence
from functools import cache

import numpy as np

from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.utils.ngrams import Encoder, caption_counts
from metrics.utils.ptb import ptb

# Name -> variant, and whether words are stemmed. The paper's own form of CIDEr is the plain cosine of stems.
CIDERS = {
    "CIDEr, stems": ("cider", True),
    "CIDEr": ("cider", False),
    "CIDEr-D": ("cider_d", False),
    "CIDEr-R": ("cider_r", False),
}
ROUGE_L = "ROUGE-L"
METRICS = [*CIDERS, "BLEU-1", "BLEU-2", "BLEU-3", "BLEU-4", ROUGE_L]


def scores_by_metric(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, np.ndarray]:
    """Scores of each sample under CIDEr's four forms and BLEU-1..4; a caption is tokenized and counted once.

    BLEU of a sample is smoothed as COCO's evaluation does it, because published correlations were made so.

    Args:
        predictions: One candidate per sample.
        references: The references of each sample.

    Returns:
        Name -> scores (samples,).
    """
    by_cider, by_bleu = _statistics(predictions, references)
    by_order = bleu4.sample_scores(by_bleu, smoothing="coco")
    return {
        **{name: cider.sample_scores(statistics)["cider"] for name, statistics in by_cider.items()},
        **{f"BLEU-{n}": by_order[f"bleu{n}"] for n in (1, 2, 3, 4)},
    }


def corpus_scores(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Scores of the corpus under the same metrics: name -> score, BLEU without smoothing."""
    by_cider, by_bleu = _statistics(predictions, references)
    by_order = bleu4.score(by_bleu, smoothing=False)
    return {
        **{name: cider.score(statistics)["cider"] for name, statistics in by_cider.items()},
        **{f"BLEU-{n}": by_order[f"bleu{n}"] for n in (1, 2, 3, 4)},
    }


def _statistics(predictions, references) -> tuple[dict[str, dict], dict]:
    counts = {stem: caption_counts(predictions, references, 4, _encoder(stem)) for stem in (False, True)}
    by_cider = {
        name: cider.sample_statistics(variant=variant, stem=stem, counts=counts[stem])
        for name, (variant, stem) in CIDERS.items()
    }
    return by_cider, bleu4.sample_statistics(counts=counts[False])


@cache
def _encoder(stem: bool) -> Encoder:
    """One encoder for all calls, since experiments score the same captions again and again."""
    return Encoder(stem=stem)


def has_rouge() -> bool:
    """Says whether rouge_score is installed; if not, prints a sentence about the missing column."""
    if importlib.util.find_spec("rouge_score"):
        return True
    print("No ROUGE-L: rouge_score is not installed (pip install rouge-score).", file=sys.stderr)
    return False


def rouge_l(predictions: Sequence[str], references: Sequence[Sequence[str]]) -> list[np.ndarray]:
    """ROUGE-L (F1) of each candidate with each of its references, on the same tokens as the other metrics.

    The score of a sample is the largest of its row, which is what rouge_score makes of several references. Rows are
    returned instead so that a choice of references needs no second run.

    Args:
        predictions: One candidate per sample.
        references: The references of each sample.

    Returns:
        Per sample, one score for each reference.

    Raises:
        ImportError: rouge_score is not installed.
    """
    scorer = _rouge_scorer()
    score = cache(lambda reference, candidate: scorer.score(reference, candidate)["rougeL"].fmeasure)
    pairs = zip(predictions, references)
    return [np.array([score(reference, candidate) for reference in group]) for candidate, group in pairs]


def _rouge_scorer():
    from rouge_score.rouge_scorer import RougeScorer

    class PtbTokens:
        tokenize = staticmethod(cache(ptb))

    return RougeScorer(["rougeL"], tokenizer=PtbTokens())
