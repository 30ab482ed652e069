"""CIDEr-D, CIDEr (Vedantam et al., 2015) and CIDEr-R (dos Santos et al., 2021).

A caption is a vector per order n = 1..4: how often it has each n-gram, times the n-gram's inverse document frequency
ln(N / max(1, df)), where df counts the images with the n-gram in a reference. A sample's similarity per order is the
mean over its references of the cosine of the two vectors; the variants change that cosine.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from ._shared import (
    BaseScorer,
    CaptionCounts,
    Encoder,
    OrderCounts,
    caption_counts,
    check_captions,
    check_options,
    mean,
    resolve,
    stamp,
)
from .document_frequencies import DocumentFrequencies, images_with_gram
from .repetition import repetition_penalty
from .table_checks import TABLE_OPTIONS

VARIANTS = ("cider_d", "cider", "cider_r")
SINGLE_IMAGE = (
    "document_frequencies {} a single image: every idf is ln(1/1) = 0, so CIDEr would be 0 for any caption. Score all "
    "images of the set in one call, or pass a table made from a larger set of references (document_frequencies=...)"
)


@dataclass(frozen=True)
class Scorer(BaseScorer):
    """CIDEr with its options.

    Attributes:
        variant: "cider_d" (counts clipped, Gaussian penalty on the difference in length: what COCO and papers call
            CIDEr), "cider" (the plain cosine) or "cider_r" (clipped; penalties on relative length and repetition).
        n: The highest order of n-grams.
        sigma: Width of the Gaussian of cider_d, in tokens.
        scale: 10 as in COCO's evaluation; papers print another factor of 100 on top or none, see the card.
        tokenizer: A name or callable, see `tokenizing.resolve`; "none" where captions are token ids.
        stem: Maps words to Porter stems, as the paper does for "cider".
        end_token: Appended to every caption; None appends nothing.
        document_frequencies: "corpus" (of these references), a table, its `to_dict()`, or the path of a saved one.
    """

    variant: str = "cider_d"
    n: int = 4
    sigma: float = 6.0
    scale: float = 10.0
    tokenizer: str | Callable[[str], list[str]] = "ptb"
    stem: bool = False
    end_token: str | int | None = None
    document_frequencies: str | Mapping | DocumentFrequencies = "corpus"

    NAME = "cider"
    OF_SCORE = ("scale",)

    def check(self):
        if self.variant not in VARIANTS:
            raise ValueError(f"variant is {self.variant!r}, expected one of {list(VARIANTS)}")
        positive = {"sigma": self.sigma, "scale": self.scale}
        check_options(orders={"n": self.n}, positive=positive, flags={"stem": self.stem})
        resolve(self.tokenizer)

    def read(self, predictions, references):
        return check_captions(predictions, references)

    def of(self, are_ids):
        return self.replace(tokenizer="none") if are_ids else self

    def opened(self):
        return self.replace(document_frequencies=open_table(self.document_frequencies))

    def encoder(self):
        return Encoder(self.tokenizer, self.stem, self.end_token)

    @classmethod
    def for_table(cls, **options) -> "Scorer":
        """One with the options on which a table depends.

        Raises:
            TypeError: Another is given.
        """
        others = sorted(set(options) - set(TABLE_OPTIONS))
        if others:
            raise TypeError(f"a table has no option {others[0]!r}, expected some of {list(TABLE_OPTIONS)}")
        return cls(**options)

    def frequencies(self, references: Sequence[Sequence], encoder: Encoder | None = None) -> DocumentFrequencies:
        """The table of a reference corpus: the references of each image, checked."""
        return DocumentFrequencies.from_references(references, **self.table_options(), encoder=encoder)

    def table_options(self) -> dict:
        """The options on which a table depends."""
        return {name: getattr(self, name) for name in TABLE_OPTIONS}

    def statistics(self, predictions, references, encoder=None):
        """Similarity of each candidate to its references, per order of n-grams.

        Args:
            predictions: One candidate per sample, texts or lists of token ids.
            references: The references of each sample.
            encoder: One made with the same tokenizer, stem and end_token, which has seen captions before; None makes
                one.

        Returns:
            `similarity` (samples, n), each 0..1.

        Raises:
            ValueError: An option is out of range; "corpus" mode has one sample only, or the table one image; the
                table was made otherwise.
            TypeError: end_token is an int for texts, or a str for ids.
        """
        self.check()
        encoder = self.encoder() if encoder is None else encoder
        return self.statistics_of_counts(caption_counts(predictions, references, self.n, encoder))

    def statistics_of_counts(self, counts: CaptionCounts) -> dict[str, np.ndarray]:
        """`statistics` of captions that are counted already, with the same n, tokenizer, stem and end_token.

        Raises:
            ValueError: n is above the orders counted; or as `statistics`.
        """
        self.check()
        if len(counts.orders) < self.n:
            raise ValueError(f"counts hold {len(counts.orders)} orders, expected at least n={self.n}")
        is_candidate = np.diff(counts.sample, prepend=-1) > 0
        idf = self._inverse_document_frequencies(counts, is_candidate)
        cosines = [
            _cosines(order, weights, counts.sample, is_candidate, clip=self.variant != "cider")
            for order, weights in zip(counts.orders, idf)
        ]
        penalty = _penalty(counts, is_candidate, self.variant, self.sigma)
        # Candidates stand among their references with a cosine of 0, hence the division by the references alone.
        sums = [np.bincount(counts.sample, cosine * penalty) for cosine in cosines]
        num_references = np.bincount(counts.sample) - 1
        return {"similarity": np.stack(sums, axis=1) / num_references[:, None]}

    def _inverse_document_frequencies(self, counts: CaptionCounts, is_candidate: np.ndarray) -> list[np.ndarray]:
        """One array per order: ln(N / max(1, df)) of each n-gram."""
        table = open_table(self.document_frequencies)
        if table == "corpus":
            num_images = int(is_candidate.sum())
            if num_images == 1:
                raise ValueError(SINGLE_IMAGE.format("'corpus' with"))
            frequencies = [images_with_gram(order, is_candidate) for order in counts.orders[: self.n]]
        else:
            ids = not all(isinstance(token, str) for token in counts.vocabulary[:1])
            tokenizer = "none" if ids else resolve(self.tokenizer).name
            table.check(**{**self.table_options(), "tokenizer": tokenizer})
            check_images(table)
            num_images, frequencies = table.num_images, table.look_up(counts.orders, counts.vocabulary)
        return [self.idf(num_images, frequency) for frequency in frequencies]

    def idf(self, num_images: int, frequency: np.ndarray) -> np.ndarray:
        """The weight of n-grams: ln(N / max(1, df)).

        Args:
            num_images: N.
            frequency: The document frequencies of the n-grams, of any shape.
        """
        return np.log(num_images) - np.log(np.maximum(frequency, 1))

    def score(self, statistics, weights=None):
        """The mean over samples and orders, times scale.

        Args:
            statistics: Of several shards, joined sample by sample.
            weights: (resamples, samples), how often each sample counts in each resample; None counts all once.

        Returns:
            `cider` (0..scale) and `cider_1` ... `cider_n`, the means of each order on the same scale; with weights
            each is an array (resamples,).
        """
        if weights is None:
            return {key: float(values.mean()) for key, values in self.samples(statistics).items()}
        # Means of samples' means are means of orders' means, and these are one matrix product.
        return self.samples({"similarity": mean(statistics["similarity"], weights)})

    def samples(self, statistics):
        """The same numbers for every sample, each (samples,); their means are the corpus values."""
        similarity = statistics["similarity"] * self.scale
        by_order = {f"cider_{order + 1}": similarity[:, order] for order in range(similarity.shape[1])}
        return {"cider": similarity.mean(axis=1), **by_order}

    def settings(self):
        self.check()
        table = open_table(self.document_frequencies)
        return self.variant, {
            "n": self.n,
            "sigma": f"{self.sigma:g}" if self.variant == "cider_d" else None,
            "scale": None if self.scale == 10 else f"{self.scale:g}",
            "df": table if table == "corpus" else f"table-of-{table.num_images}",
            "tok": "ids" if self.tokenizer == "none" else resolve(self.tokenizer).name,
            "stem": self.stem,
            "end": self.end_token,
        }


def sample_statistics(
    predictions: Sequence | None = None,
    references: Sequence[Sequence] | None = None,
    *options,
    counts: CaptionCounts | None = None,
    encoder: Encoder | None = None,
    **named_options,
) -> dict[str, np.ndarray]:
    """What `Scorer(...)` finds: the similarity of each candidate to its references, per order of n-grams.

    Args:
        predictions, references, encoder: See `Scorer.statistics`.
        counts: Ready counts (`ngrams.caption_counts`) instead of predictions and references.
        options, named_options: See `Scorer`.

    Raises:
        ValueError, TypeError: As `Scorer.statistics`.

    >>> sample_statistics(["a b c d", "x"], [["a b c d"], ["y"]])["similarity"].round(9).tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    scorer = Scorer(*options, **named_options)
    if counts is not None:
        return scorer.statistics_of_counts(counts)
    return scorer.statistics(predictions, references, encoder)


def score(
    statistics: dict[str, np.ndarray], scale: float = 10.0, weights: np.ndarray | None = None
) -> dict[str, float | np.ndarray]:
    """`Scorer(scale=scale).score`: the mean over samples and orders.

    Raises:
        ValueError: scale is no positive number.

    >>> score({"similarity": np.array([[1.0, 0.5], [0.0, 0.0]])})
    {'cider': 3.75, 'cider_1': 5.0, 'cider_2': 2.5}
    """
    scorer = Scorer(scale=scale)
    scorer.check()
    return scorer.score(statistics, weights)


def sample_scores(statistics: dict[str, np.ndarray], scale: float = 10.0) -> dict[str, np.ndarray]:
    """`Scorer(scale=scale).samples`: the scores of every sample.

    Raises:
        ValueError: scale is no positive number.
    """
    scorer = Scorer(scale=scale)
    scorer.check()
    return scorer.samples(statistics)


def open_table(document_frequencies: str | Mapping) -> str | DocumentFrequencies:
    """Gives "corpus" as it is and makes a table of anything else; a file is read once while it stays as it is.

    Raises:
        ValueError, TypeError, OSError: See `DocumentFrequencies.of`.
    """
    if not isinstance(document_frequencies, str):
        return DocumentFrequencies.of(document_frequencies)
    if document_frequencies == "corpus":
        return document_frequencies
    return _load_table(document_frequencies, stamp(document_frequencies))


@lru_cache(maxsize=2)
def _load_table(path: str, stamped: tuple) -> DocumentFrequencies:
    return DocumentFrequencies.of(path)


def check_images(table: DocumentFrequencies) -> None:
    """Refuses to score with a table of one image, which can be merged with others.

    Raises:
        ValueError: It is one.
    """
    if table.num_images == 1:
        raise ValueError(SINGLE_IMAGE.format("are a table of"))


def _cosines(
    order: OrderCounts, idf: np.ndarray, sample: np.ndarray, is_candidate: np.ndarray, clip: bool
) -> np.ndarray:
    """Cosine of each reference with its candidate in one order (captions,); 0 at candidates."""
    num_captions, caption = len(sample), order.caption
    weight = idf[order.gram]
    weight *= order.times
    norm = np.sqrt(np.bincount(caption, weight * weight, minlength=num_captions))

    shared, candidate_entry = _shared_entries(order, is_candidate)
    of_candidate, of_reference = weight[candidate_entry], weight[shared]
    products = (np.minimum(of_candidate, of_reference) if clip else of_candidate) * of_reference
    dot = np.bincount(caption[shared], products, minlength=num_captions)
    norms = norm * norm[np.flatnonzero(is_candidate)][sample]
    return np.divide(dot, norms, where=norms > 0, out=np.zeros(num_captions))


def _shared_entries(order: OrderCounts, is_candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of references whose n-gram their candidate has too, and those of the candidates beside them."""
    # A run is one n-gram in one sample; the candidate, where it has the n-gram, stands first.
    heads = order.heads
    sizes = np.diff(heads, append=order.num_repeated)
    shared = is_candidate[order.caption[heads]] & (sizes > 1)
    candidate_entry = np.repeat(heads[shared], sizes[shared] - 1)
    run_starts = np.cumsum(sizes[shared] - 1) - (sizes[shared] - 1)
    place_in_run = np.arange(len(candidate_entry)) - np.repeat(run_starts, sizes[shared] - 1)
    return candidate_entry + 1 + place_in_run, candidate_entry


def _penalty(counts: CaptionCounts, is_candidate: np.ndarray, variant: str, sigma: float) -> np.ndarray | float:
    """What each reference's cosine is multiplied with (captions,)."""
    if variant == "cider":
        return 1.0
    length = counts.length.astype(float)
    difference = length[is_candidate][counts.sample] - length
    if variant == "cider_d":
        return length_penalty(difference, sigma)
    return repetition_penalty(counts, is_candidate)


def length_penalty(difference: np.ndarray, sigma: float) -> np.ndarray:
    """CIDEr-D's Gaussian of a difference in length, exp(-difference^2 / (2 sigma^2)), for a sigma of any size.

    >>> [length_penalty(np.array([0.0, 6.0]), sigma).round(4).tolist() for sigma in (6.0, 1e-300, 1e300)]
    [[1.0, 0.6065], [1.0, 0.0], [1.0, 1.0]]
    """
    # Where sigma is tiny its square would be 0; a quotient too large to square is a penalty of 0.
    with np.errstate(over="ignore"):
        return np.exp(-((difference / sigma) ** 2) / 2)
