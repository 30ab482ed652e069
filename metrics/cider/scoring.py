"""CIDEr-D, CIDEr (Vedantam et al., 2015) and CIDEr-R (dos Santos et al., 2021).

A caption is a vector per order n = 1..4: how often it has each n-gram, times the n-gram's inverse document frequency
ln(N / max(1, df)), where df counts the images with the n-gram in a reference. A sample's similarity per order is the
mean over its references of the cosine of the two vectors; the variants change that cosine.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ._shared import Encoder, caption_counts, check_options, mean, resolve
from .document_frequencies import DocumentFrequencies, images_with_gram
from .repetition import repetition_penalty

VARIANTS = ("cider_d", "cider", "cider_r")
SINGLE_IMAGE = (
    "document_frequencies {} a single image: every idf is ln(1/1) = 0, so CIDEr would be 0 for any caption. Score all "
    "images of the set in one call, or pass a table made from a larger set of references (document_frequencies=...)"
)


def sample_statistics(
    predictions: Sequence | None = None,
    references: Sequence[Sequence] | None = None,
    variant: str = "cider_d",
    n: int = 4,
    sigma: float = 6.0,
    tokenizer: str | Callable[[str], list[str]] = "ptb",
    stem: bool = False,
    end_token: str | int | None = None,
    document_frequencies: str | Mapping = "corpus",
    counts: dict | None = None,
    encoder: Encoder | None = None,
) -> dict[str, np.ndarray]:
    """Similarity of each candidate to its references, per order of n-grams.

    Args:
        predictions: One candidate per sample, texts or lists of token ids.
        references: The references of each sample.
        variant: "cider_d" (counts clipped, Gaussian penalty on the difference in length: what COCO and papers call
            CIDEr), "cider" (the plain cosine) or "cider_r" (clipped; penalties on relative length and repetition).
        n: The highest order of n-grams.
        sigma: Width of the Gaussian of cider_d, in tokens.
        tokenizer: A name or callable, see `tokenizers.resolve`.
        stem: Maps words to Porter stems, as the paper does for "cider".
        end_token: Appended to every caption; None appends nothing.
        document_frequencies: "corpus" (of these references), the path of a saved table, or `to_dict()` of one.
        counts: Ready counts (`ngrams.caption_counts` with the same n, tokenizer, stem and end_token).
        encoder: One made with the same tokenizer, stem and end_token, which has seen captions before; None makes one.

    Returns:
        `similarity` (samples, n), each 0..1.

    Raises:
        ValueError: An option is out of range; "corpus" mode has one sample only, or the table one image; the table
            was made otherwise.
        TypeError: end_token is an int for texts, or a str for ids.

    >>> sample_statistics(["a b c d", "x"], [["a b c d"], ["y"]])["similarity"].round(9).tolist()
    [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]]
    """
    if variant not in VARIANTS:
        raise ValueError(f"variant is {variant!r}, expected one of {list(VARIANTS)}")
    check_options(orders={"n": n}, positive={"sigma": sigma}, flags={"stem": stem})
    if counts is None:
        encoder = Encoder(tokenizer, stem, end_token) if encoder is None else encoder
        counts = caption_counts(predictions, references, n, encoder)
    if len(counts["orders"]) < n:
        raise ValueError(f"counts hold {len(counts['orders'])} orders, expected at least n={n}")
    is_candidate = np.diff(counts["sample"], prepend=-1) > 0
    idf = _inverse_document_frequencies(counts, is_candidate, n, document_frequencies, tokenizer, stem, end_token)
    cosines = [
        _cosines(order, weights, counts["sample"], is_candidate, clip=variant != "cider")
        for order, weights in zip(counts["orders"], idf)
    ]
    penalty = _penalty(counts, is_candidate, variant, sigma)
    # Candidates stand among their references with a cosine of 0, hence the division by the references alone.
    sums = [np.bincount(counts["sample"], cosine * penalty) for cosine in cosines]
    num_references = np.bincount(counts["sample"]) - 1
    return {"similarity": np.stack(sums, axis=1) / num_references[:, None]}


def open_table(document_frequencies: str | Mapping) -> str | DocumentFrequencies:
    """Gives "corpus" as it is and makes a table of anything else (see `DocumentFrequencies.of`)."""
    if isinstance(document_frequencies, str) and document_frequencies == "corpus":
        return document_frequencies
    return DocumentFrequencies.of(document_frequencies)


def check_images(table: DocumentFrequencies) -> None:
    """Refuses to score with a table of one image, which can be merged with others.

    Raises:
        ValueError: It is one.
    """
    if table.num_images == 1:
        raise ValueError(SINGLE_IMAGE.format("are a table of"))


def _inverse_document_frequencies(counts, is_candidate, n, document_frequencies, tokenizer, stem, end_token):
    """One array per order: ln(N / max(1, df)) of each n-gram."""
    table = open_table(document_frequencies)
    if table == "corpus":
        num_images = int(is_candidate.sum())
        if num_images == 1:
            raise ValueError(SINGLE_IMAGE.format("'corpus' with"))
        frequencies = [images_with_gram(order, is_candidate) for order in counts["orders"][:n]]
    else:
        ids = not all(isinstance(token, str) for token in counts["vocabulary"][:1])
        table.check(n=n, tokenizer="none" if ids else resolve(tokenizer).name, stem=stem, end_token=end_token)
        check_images(table)
        num_images, frequencies = table.num_images, table.look_up(counts["orders"], counts["vocabulary"])
    return [np.log(num_images) - np.log(np.maximum(frequency, 1)) for frequency in frequencies]


def _cosines(order: dict, idf: np.ndarray, sample: np.ndarray, is_candidate: np.ndarray, clip: bool) -> np.ndarray:
    """Cosine of each reference with its candidate in one order (captions,); 0 at candidates."""
    num_captions, caption = len(sample), order["caption"]
    weight = idf[order["gram"]]
    weight *= order["count"]
    norm = np.sqrt(np.bincount(caption, weight * weight, minlength=num_captions))

    shared, candidate_entry = _shared_entries(order, is_candidate)
    of_candidate, of_reference = weight[candidate_entry], weight[shared]
    products = (np.minimum(of_candidate, of_reference) if clip else of_candidate) * of_reference
    dot = np.bincount(caption[shared], products, minlength=num_captions)
    norms = norm * norm[np.flatnonzero(is_candidate)][sample]
    return np.divide(dot, norms, where=norms > 0, out=np.zeros(num_captions))


def _shared_entries(order: dict, is_candidate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Entries of references whose n-gram their candidate has too, and those of the candidates beside them."""
    # A run is one n-gram in one sample; the candidate, where it has the n-gram, stands first.
    heads = order["heads"]
    sizes = np.diff(heads, append=order["num_repeated"])
    shared = is_candidate[order["caption"][heads]] & (sizes > 1)
    candidate_entry = np.repeat(heads[shared], sizes[shared] - 1)
    run_starts = np.cumsum(sizes[shared] - 1) - (sizes[shared] - 1)
    place_in_run = np.arange(len(candidate_entry)) - np.repeat(run_starts, sizes[shared] - 1)
    return candidate_entry + 1 + place_in_run, candidate_entry


def _penalty(counts: dict, is_candidate: np.ndarray, variant: str, sigma: float) -> np.ndarray | float:
    """What each reference's cosine is multiplied with (captions,)."""
    if variant == "cider":
        return 1.0
    length = counts["length"].astype(float)
    difference = length[is_candidate][counts["sample"]] - length
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


def score(
    statistics: dict[str, np.ndarray], scale: float = 10.0, weights: np.ndarray | None = None
) -> dict[str, float | np.ndarray]:
    """The mean over samples and orders, times `scale`.

    Args:
        statistics: What `sample_statistics` returned; of several shards, joined sample by sample.
        scale: 10 as in COCO's evaluation; papers print another factor of 100 on top or none, see the card.
        weights: (resamples, samples), how often each sample counts in each resample; None counts all once.

    Returns:
        `cider` (0..scale) and `cider_1` ... `cider_n`, the means of each order on the same scale; with weights each
        is an array (resamples,).

    Raises:
        ValueError: scale is no positive number.

    >>> score({"similarity": np.array([[1.0, 0.5], [0.0, 0.0]])})
    {'cider': 3.75, 'cider_1': 5.0, 'cider_2': 2.5}
    """
    if weights is None:
        return {key: float(values.mean()) for key, values in sample_scores(statistics, scale).items()}
    # Means of samples' means are means of orders' means, and these are one matrix product.
    return sample_scores({"similarity": mean(statistics["similarity"], weights)}, scale)


def sample_scores(statistics: dict[str, np.ndarray], scale: float = 10.0) -> dict[str, np.ndarray]:
    """The same numbers for every sample, each (samples,); their means are the corpus values.

    Raises:
        ValueError: scale is no positive number.
    """
    check_options(positive={"scale": scale})
    similarity = statistics["similarity"] * scale
    by_order = {f"cider_{order + 1}": similarity[:, order] for order in range(similarity.shape[1])}
    return {"cider": similarity.mean(axis=1), **by_order}


def signature_settings(
    variant: str = "cider_d",
    n: int = 4,
    sigma: float = 6.0,
    scale: float = 10.0,
    tokenizer: str | Callable[[str], list[str]] = "ptb",
    stem: bool = False,
    end_token: str | int | None = None,
    document_frequencies: str | Mapping = "corpus",
) -> tuple[str, dict]:
    """The name and the settings that a signature shows."""
    table = open_table(document_frequencies)
    return variant, {
        "n": n,
        "sigma": f"{sigma:g}" if variant == "cider_d" else None,
        "scale": None if scale == 10 else f"{scale:g}",
        "df": table if table == "corpus" else f"table-of-{table.num_images}",
        "tok": "ids" if tokenizer == "none" else resolve(tokenizer).name,
        "stem": stem,
        "end": end_token,
    }
