"""BLEU (Papineni et al., 2002) over texts or token ids, as COCO's caption evaluation counts it.

Candidates are compared with the closest reference length, ties to the shorter. Matches and totals of each sample are
its statistics; BLEU of a corpus is one formula over their sums, BLEU of a sample the same formula over its own.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ._shared import (
    BaseScorer,
    CaptionCounts,
    Encoder,
    OrderCounts,
    caption_counts,
    check_captions,
    check_options,
    resolve,
)

SMOOTHINGS = (True, False, "epsilon", "add-k", "exp", "coco")

# Samples counted at one time: n-grams of different samples never meet, and small arrays stay in a processor's cache.
_BLOCK = 1 << 11

# What coco-caption's bleu_scorer.py adds to numerators and denominators.
_TINY, _SMALL = 1e-15, 1e-9


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """BLEU with its options.

    Attributes:
        max_order: The highest order of n-grams.
        smoothing: What becomes of orders without a match, see `bleu_by_order`.
        effective_order: Takes the mean over the orders that have n-grams at all, so that a short exact match is 1.
        tokenizer: A name or callable, see `tokenizing.resolve`; "none" where captions are token ids.
    """

    max_order: int = 4
    smoothing: bool | str = True
    effective_order: bool = False
    tokenizer: str | Callable[[str], list[str]] = "ptb"

    NAME = "bleu4"
    OF_SCORE = ("smoothing", "effective_order")

    def check(self):
        check_options(orders={"max_order": self.max_order}, flags={"effective_order": self.effective_order})
        check_smoothing(self.smoothing)
        resolve(self.tokenizer)

    def read(self, predictions, references):
        return check_captions(predictions, references)

    def of(self, are_ids):
        return self.replace(tokenizer="none") if are_ids else self

    def encoder(self):
        return Encoder(self.tokenizer)

    def statistics(self, predictions, references, encoder=None):
        """Counts matches, totals and lengths of each sample.

        Args:
            predictions: One candidate per sample, texts or lists of token ids.
            references: The references of each sample.
            encoder: One made with this tokenizer, which has seen captions before; None makes one.

        Returns:
            `matches` and `totals` (samples, max_order): n-grams of the candidate that a reference has (each at most
            as often as in one reference), and all of them. `candidate_length` and `reference_length` (samples,) in
            tokens; the latter of the reference closest in length.

        Raises:
            ValueError: An option is out of range.
        """
        self.check()
        encoder = self.encoder() if encoder is None else encoder
        blocks = (slice(i, i + _BLOCK) for i in range(0, len(references), _BLOCK))
        counted = (caption_counts(predictions[block], references[block], self.max_order, encoder) for block in blocks)
        parts = [self.statistics_of_counts(counts) for counts in counted]
        return {key: np.concatenate([part[key] for part in parts]) for key in parts[0]}

    def statistics_of_counts(self, counts: CaptionCounts) -> dict[str, np.ndarray]:
        """`statistics` of captions that are counted already.

        Raises:
            ValueError: max_order is above the orders counted, or another option is out of range.
        """
        self.check()
        return _count_matches(counts, self.max_order)

    def score(self, statistics, weights=None):
        """BLEU of the sums of all samples' statistics, see `score`; nothing is said of few n-grams."""
        sums = {key: values.sum(axis=0) if weights is None else weights @ values for key, values in statistics.items()}
        bleu, precisions, brevity_penalty = bleu_by_order(sums, self.smoothing, self.effective_order)
        by_order = {f"bleu{order}": bleu[..., order - 1] for order in range(1, bleu.shape[-1] + 1)}
        translated, referred = np.asarray(sums["candidate_length"]), np.asarray(sums["reference_length"])
        results = {
            **({"bleu4": by_order.pop("bleu4")} if "bleu4" in by_order else {}),
            **by_order,
            "precisions": precisions,
            "brevity_penalty": brevity_penalty,
            "length_ratio": np.divide(translated, referred, where=referred > 0, out=np.zeros(referred.shape)),
            "translation_length": translated,
            "reference_length": referred,
        }
        return results if weights is not None else {key: value.tolist() for key, value in results.items()}

    def samples(self, statistics):
        """BLEU of every sample on its own, and its statistics. BLEU is not additive: see the card."""
        bleu, _, _ = bleu_by_order(statistics, self.smoothing, self.effective_order)
        return {**{f"bleu{order}": bleu[:, order - 1] for order in range(1, bleu.shape[1] + 1)}, **statistics}

    def settings(self):
        self.check()
        return f"bleu{self.max_order}", {
            # Named after its rule, since it is no rule that others know as "smoothed".
            "smooth": "capped" if self.smoothing is True else self.smoothing,
            "eff": self.effective_order,
            "tok": "ids" if self.tokenizer == "none" else resolve(self.tokenizer).name,
            "len": "closest",
        }

    def check_set(self, found):
        warn_of_few_ngrams(found.statistics, self.smoothing, self.effective_order)


def sample_statistics(
    predictions: Sequence | None = None,
    references: Sequence[Sequence] | None = None,
    *options,
    counts: CaptionCounts | None = None,
    encoder: Encoder | None = None,
    **named_options,
) -> dict[str, np.ndarray]:
    """What `Scorer(...)` finds: matches, totals and lengths of each sample.

    Args:
        predictions, references, encoder: See `Scorer.statistics`.
        counts: Ready counts (`ngrams.caption_counts`) instead of predictions and references.
        options, named_options: See `Scorer`.

    Raises:
        ValueError: An option is out of range, or counts hold too few orders.

    >>> sample_statistics(["a cat on the mat"], [["a cat sits on a mat"]])["matches"].tolist()
    [[4, 1, 0, 0]]
    """
    scorer = Scorer(*options, **named_options)
    if counts is not None:
        return scorer.statistics_of_counts(counts)
    return scorer.statistics(predictions, references, encoder)


def _count_matches(counts: CaptionCounts, max_order: int) -> dict[str, np.ndarray]:
    if len(counts.orders) < max_order:
        raise ValueError(f"counts hold {len(counts.orders)} orders, expected at least max_order={max_order}")
    sample = counts.sample
    is_candidate = np.diff(sample, prepend=-1) > 0
    candidate_length = counts.length[is_candidate]
    matches = [_matches(order, sample, is_candidate) for order in counts.orders[:max_order]]
    return {
        "matches": np.stack(matches, axis=1),
        "totals": np.maximum(candidate_length[:, None] - np.arange(max_order), 0),
        "candidate_length": candidate_length,
        "reference_length": _closest_reference_length(counts.length, sample, is_candidate),
    }


def _matches(order: OrderCounts, sample: np.ndarray, is_candidate: np.ndarray) -> np.ndarray:
    """Clipped matches of one order per sample: the candidate's count, at most the largest one in a reference."""
    # A run is one n-gram in one sample; the candidate, where it has the n-gram, stands first.
    entries, heads = slice(order.num_repeated), order.heads
    caption, count = order.caption[entries], order.times[entries]
    by_candidate = is_candidate[caption[heads]]
    in_references = count.copy()
    in_references[heads[by_candidate]] = 0
    most = np.maximum.reduceat(in_references, heads) if len(heads) else in_references
    clipped = np.minimum(count[heads], most)[by_candidate]
    of_sample = sample[caption[heads[by_candidate]]]
    return np.bincount(of_sample, clipped, minlength=int(is_candidate.sum())).astype(np.int64)


def _closest_reference_length(length: np.ndarray, sample: np.ndarray, is_candidate: np.ndarray) -> np.ndarray:
    distance = np.abs(length - length[is_candidate][sample])
    distance[is_candidate] = np.iinfo(np.int64).max
    order = np.lexsort((length, distance, sample))
    return length[order[np.flatnonzero(is_candidate)]]


def score(
    statistics: dict[str, np.ndarray],
    smoothing: bool | str = True,
    effective_order: bool = False,
    weights: np.ndarray | None = None,
) -> dict[str, float | list[float] | np.ndarray]:
    """BLEU of a corpus: the formula over the sums of all samples' statistics.

    Args:
        statistics: What `sample_statistics` returned; of several shards, joined sample by sample.
        smoothing, effective_order: See `Scorer`.
        weights: (resamples, samples), how often each sample counts in each resample; None counts all once.

    Returns:
        `bleu4` (when there are four orders), `bleu1` ... `bleu{max_order}` (0..1), `precisions` (as smoothed),
        `brevity_penalty`, `length_ratio`, `translation_length`, `reference_length`; with weights each is an array
        (resamples,), and `precisions` (resamples, max_order).

    Raises:
        ValueError: The smoothing is unknown.

    Warns:
        UserWarning: Without weights, where an order has few n-grams: see `warn_of_few_ngrams`.

    >>> round(score(sample_statistics(["a cat sits on the mat"], [["a cat sits on a mat"]]))["bleu4"], 4)
    0.5373
    """
    results = Scorer(smoothing=smoothing, effective_order=effective_order).score(statistics, weights)
    if weights is None:
        warn_of_few_ngrams(statistics, smoothing, effective_order)
    return results


def sample_scores(
    statistics: dict[str, np.ndarray], smoothing: bool | str = True, effective_order: bool = False
) -> dict[str, np.ndarray]:
    """`Scorer(...).samples`: BLEU of every sample on its own.

    >>> sample_scores(sample_statistics(["a b c d", "x"], [["a b c d"], ["y"]]))["bleu4"].tolist()
    [1.0, 0.0]
    """
    return Scorer(smoothing=smoothing, effective_order=effective_order).samples(statistics)


def warn_of_few_ngrams(statistics: dict[str, np.ndarray], smoothing: bool | str, effective_order: bool) -> None:
    """Says which orders have too few n-grams for their precision to mean something, and how few.

    These are orders with fewer n-grams than there are candidates (captions are short, or have no blanks), and orders
    of which no n-gram is in a reference, so that smoothing alone makes the precision. Nothing is said where no word is
    in a reference, because the score is 0 then whatever the other orders are.
    """
    matches, totals = statistics["matches"].sum(axis=0), statistics["totals"].sum(axis=0)
    few = (totals < len(statistics["totals"])) | ((matches == 0) & (smoothing is not False))
    if effective_order:
        few &= totals > 0
    found = [
        f"{totals[place]} {place + 1}-gram{'' if totals[place] == 1 else 's'} ({matches[place]} in a reference)"
        for place in np.flatnonzero(few)
        if place and matches[0]
    ]
    if found:
        warnings.warn(
            f"few n-grams for BLEU: {', '.join(found)} in all candidates ({len(statistics['totals'])}); the precision "
            "of these orders is made by chance or smoothing. Score more or longer captions, or fewer orders "
            "(max_order), and split texts without blanks (tokenizer)",
            stacklevel=3,
        )


def check_smoothing(smoothing: bool | str) -> None:
    """Refuses an unknown smoothing.

    Raises:
        ValueError: It is one.
    """
    if not any(smoothing is known or (smoothing == known and isinstance(smoothing, str)) for known in SMOOTHINGS):
        raise ValueError(f"smoothing is {smoothing!r}, expected one of {list(SMOOTHINGS)}")


def bleu_by_order(
    statistics: dict[str, np.ndarray], smoothing: bool | str, effective_order: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """BLEU-1 ... BLEU-max_order of counts with any leading axes.

    Args:
        statistics: `matches` and `totals` (..., max_order), `candidate_length` and `reference_length` (...).
        smoothing: True makes a zero count of an order 1 / (total + 1), and no more than the least precision of the
            orders below it, so that BLEU does not rise by an order without a match; False leaves 0; "epsilon" makes
            it 0.1 / total (method 1 of Chen and Cherry, 2014), "exp" 1 / (2^k total) for the k-th zero (their 3);
            "add-k" adds 1 to counts and totals of all orders above 1 (their 2). "coco" is bleu_scorer.py's: 1e-15 on
            every numerator, 1e-9 on every denominator. Under all but "coco" nothing in common is 0.
        effective_order: Leaves out the orders without any n-gram; they make BLEU 0 otherwise. Not used by "coco".

    Returns:
        BLEU per order (..., max_order), the precisions as smoothed (..., max_order), and the brevity penalty (...).

    Raises:
        ValueError: The smoothing is unknown.
    """
    check_smoothing(smoothing)
    check_options(flags={"effective_order": effective_order})
    matches, totals = statistics["matches"], statistics["totals"]
    lengths = statistics["candidate_length"], statistics["reference_length"]
    orders = np.arange(1, matches.shape[-1] + 1)
    if smoothing == "coco":
        return _coco_bleu(matches, totals, lengths, orders)
    precisions = _precisions(matches, totals, smoothing)
    brevity_penalty = _brevity_penalty(*lengths)
    logs = np.log(precisions, where=precisions > 0, out=np.full(precisions.shape, -np.inf))
    if effective_order:
        logs = np.where(totals > 0, logs, 0.0)
        orders = np.maximum(np.cumsum(totals > 0, axis=-1), 1)
    bleu = np.exp(np.cumsum(logs, axis=-1) / orders) * brevity_penalty[..., None]
    return np.where(matches[..., :1] > 0, bleu, 0.0), precisions, brevity_penalty


def _precisions(matches: np.ndarray, totals: np.ndarray, smoothing: bool | str) -> np.ndarray:
    numerators, denominators = matches.astype(float), totals.astype(float)
    zero = (matches == 0) & (totals > 0)
    if smoothing is True:
        numerators, denominators = numerators + zero, denominators + zero
    elif smoothing == "epsilon":
        numerators = np.where(zero, 0.1, numerators)
    elif smoothing == "exp":
        numerators = np.where(zero, 0.5 ** np.cumsum(zero, axis=-1), numerators)
    elif smoothing == "add-k":
        above_one = (totals > 0) & (np.arange(totals.shape[-1]) > 0)
        numerators, denominators = numerators + above_one, denominators + above_one
    precisions = np.divide(numerators, denominators, where=totals > 0, out=np.zeros(numerators.shape))
    if smoothing is True:
        precisions = np.where(zero, np.minimum.accumulate(precisions, axis=-1), precisions)
    return precisions


def _brevity_penalty(candidate_length: np.ndarray, reference_length: np.ndarray) -> np.ndarray:
    """1 for candidates at least as long as the reference, exp(1 - reference / candidate) below, 0 for empty ones."""
    candidate, reference = np.asarray(candidate_length, float), np.asarray(reference_length, float)
    ratio = np.divide(reference, candidate, where=candidate > 0, out=np.full(candidate.shape, np.inf))
    return np.exp(np.minimum(0.0, 1 - ratio))


def _coco_bleu(matches, totals, lengths, orders):
    """bleu_scorer.py to the digit, artefacts included: never exactly 0 or 1."""
    precisions = (matches + _TINY) / (totals + _SMALL)
    ratio = (lengths[0] + _TINY) / (lengths[1] + _SMALL)
    brevity_penalty = np.exp(np.minimum(0.0, 1 - 1 / ratio))
    return np.cumprod(precisions, axis=-1) ** (1 / orders) * brevity_penalty[..., None], precisions, brevity_penalty


def bleu4(
    generated: str | Sequence[int],
    references: Sequence[str] | Sequence[Sequence[int]],
    smoothing: bool | str = True,
) -> float:
    """BLEU-4 of one sample, texts (tokenized as COCO does) or token ids.

    Args:
        generated: The candidate.
        references: Its references, at least one; one text, or one list of ids, is one reference.
        smoothing: See `bleu_by_order`.

    Returns:
        BLEU-4, 0..1.

    Raises:
        ValueError: There is no reference, or the smoothing is unknown.
        TypeError: An item is neither a text nor a list of token ids.

    >>> bleu4([5, 6, 7, 8], [[5, 6, 7, 8], [1, 2]])
    1.0
    """
    predictions, references = check_captions([generated], [references])
    scorer = Scorer(smoothing=smoothing).of(not isinstance(predictions[0], str))
    return float(scorer.score(scorer.statistics(predictions, references))["bleu4"])
