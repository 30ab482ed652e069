"""The penalties of CIDEr-R (dos Santos et al., 2021): relative length and repetition of words."""

import re

import numpy as np

from ._shared import CaptionCounts, OrderCounts, count_ngrams

_WORD = re.compile(r"\w+")
_REPETITION_WEIGHT, _LENGTH_WEIGHT = 0.8, 0.2


def repetition_penalty(counts: CaptionCounts, is_candidate: np.ndarray) -> np.ndarray:
    """Penalty of each reference's cosine: repetition^0.8 * length^0.2.

    length is exp(-(r - c)^2 / r^2) for r and c words in reference and candidate. repetition is the geometric mean,
    over the distinct words of the candidate, of 1 / (1 + |difference of counts|) for words that the reference has and
    1 / (candidate's count) for the others. Words are runs of letters, digits and underscores.

    Args:
        counts: What `ngrams.caption_counts` returned.
        is_candidate: Marks the candidates among the captions.

    Returns:
        The penalty (captions,); 0 where the candidate or the reference has no word.
    """
    sample, length = counts.sample, counts.length
    words, num_words = _words(counts)
    candidates = np.flatnonzero(is_candidate)[sample]
    repetition = _repetition(words, len(sample), candidates, sample)
    reference, candidate = length.astype(float), length[candidates].astype(float)
    legal = (num_words[candidates] > 0) & (length > 0)
    relative = np.divide(reference - candidate, reference, where=legal, out=np.zeros(len(sample)))
    return np.where(legal, repetition**_REPETITION_WEIGHT * np.exp(-(relative**2)) ** _LENGTH_WEIGHT, 0.0)


def _words(counts: CaptionCounts) -> tuple[OrderCounts, np.ndarray]:
    """Counts of words per caption, and the number of words of each caption."""
    unigrams = counts.orders[0]
    word_ids: dict[str, int] = {}
    words_of = [
        [word_ids.setdefault(word, len(word_ids)) for word in _WORD.findall(str(token))] for token in counts.vocabulary
    ]
    num_words = np.array([len(words) for words in words_of], np.int64)
    token = unigrams.last[unigrams.gram]
    occurrences = np.repeat(np.arange(len(token)), unigrams.times)
    flat = np.array([word for words in words_of for word in words], np.int64)
    starts = np.cumsum(num_words) - num_words
    repeats = num_words[token[occurrences]]
    shift = starts[token[occurrences]] + repeats - np.cumsum(repeats)
    words = flat[np.repeat(shift, repeats) + np.arange(repeats.sum())]
    caption = np.repeat(unigrams.caption[occurrences], repeats)
    lengths = np.bincount(caption, minlength=len(counts.sample))
    by_caption = words[np.argsort(caption, kind="stable")].astype(np.int32)
    return count_ngrams(by_caption, lengths, 1, max(len(word_ids), 1))[0], lengths


def _repetition(words: OrderCounts, num_captions: int, candidates: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """Geometric mean of the candidate's word terms against each reference (captions,)."""
    gram, caption, count = words.gram.astype(np.int64), words.caption, words.times
    own = candidates[caption] == caption
    types = np.bincount(caption[own], minlength=num_captions)
    # Words that the reference does not have: -ln(count) each. Shared words replace that term by their own.
    alone = np.bincount(caption[own], np.log(count[own]), minlength=num_captions)
    key = gram * num_captions + caption
    wanted = gram[~own] * num_captions + candidates[caption[~own]]
    place = np.minimum(np.searchsorted(key[own], wanted), max(own.sum() - 1, 0))
    shared = key[own][place] == wanted if own.any() else np.zeros(len(wanted), bool)
    of_candidate, of_reference = count[own][place[shared]], count[~own][shared]
    change = np.log(of_candidate) - np.log1p(np.abs(of_candidate - of_reference))
    log_sum = np.bincount(caption[~own][shared], change, minlength=num_captions) - alone[candidates]
    return np.exp(np.divide(log_sum, types[candidates], where=types[candidates] > 0, out=np.zeros(num_captions)))
