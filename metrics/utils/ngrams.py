"""Captions -> n-gram counts as arrays, exactly (no hashing) and without a Python loop per n-gram.

Captions become integer arrays first: every distinct chunk between blanks is tokenized once. An n-gram is then the pair
(its first n - 1 tokens, its last token), so each order is one sort over integers of the order below. A sort of
(n-gram, position) packed into one int64 leaves equal n-grams in order of caption, which is all that counts, document
frequencies and matches need.
"""

from array import array
from collections.abc import Callable, Iterable, Sequence
from itertools import chain, islice
from numbers import Integral
from threading import RLock
from typing import NamedTuple

import numpy as np

from .checks import describe
from .tokenizing import Tokenizer, resolve

# Captions whose chunks are held as strings at one time: what fits a processor's cache, a third faster than more.
_BLOCK = 1 << 11


class _Numbering(dict):
    """Numbers keys in order of first sight: `numbering[key]` never fails."""

    def __missing__(self, key):
        number = self[key] = len(self)
        return number


class _Pieces(dict):
    """chunk -> number of its piece, a short run of token numbers; -1 where the chunk needs its neighbours.

    Piece 0 is empty. `take` writes the runs of many pieces one behind the other.
    """

    def __init__(self, tokenizer: Tokenizer, words: _Numbering):
        self._split_chunk, self._words = tokenizer.split_chunk, words
        self._tokens, self._ends = array("i"), array("q", [0])

    def __missing__(self, chunk):
        tokens = self._split_chunk(chunk)
        number = self[chunk] = -1 if tokens is None else self.add(tokens)
        return number

    def add(self, tokens: Iterable[str]) -> int:
        # An interrupt may have left tokens of a piece that was never numbered.
        del self._tokens[self._ends[-1] :]
        self._tokens.extend(map(self._words.__getitem__, tokens))
        self._ends.append(len(self._tokens))
        return len(self._ends) - 1

    def take(self, pieces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Returns the token numbers of `pieces`, joined, and the number of tokens of each piece."""
        ends = np.frombuffer(self._ends, np.int64)
        lengths = np.diff(ends, prepend=0)[pieces]
        shift = ends[pieces] - np.cumsum(lengths)
        tokens = np.frombuffer(self._tokens, np.int32) if self._tokens else np.empty(0, np.int32)
        return tokens[np.repeat(shift, lengths) + np.arange(lengths.sum())], lengths


def _encode_block(texts: Sequence[str], tokenizer: Tokenizer, pieces: _Pieces) -> tuple[np.ndarray, np.ndarray]:
    """Returns the pieces of all texts, joined, and the number of pieces of each text."""
    chunks = list(map(str.split, texts))
    counts = np.fromiter(map(len, chunks), np.int64, len(chunks))
    found = np.fromiter(map(pieces.__getitem__, chain.from_iterable(chunks)), np.int32, counts.sum())
    if found.size and found.min() < 0:
        text_of = np.repeat(np.arange(len(texts)), counts)
        is_whole = np.zeros(len(texts), bool)
        is_whole[text_of[found < 0]] = True
        found[is_whole[text_of]] = 0
        whole = np.flatnonzero(is_whole)
        found[(np.cumsum(counts) - counts)[whole]] = [pieces.add(tokenizer.split(texts[row])) for row in whole]
    return found, counts


def _encode_lists(token_lists: Iterable[Sequence], words: _Numbering) -> tuple[np.ndarray, np.ndarray]:
    """Token numbers and caption lengths of captions that are lists of tokens."""
    lengths, tokens = [], array("i")
    for caption in token_lists:
        lengths.append(len(caption))
        tokens.extend(map(words.__getitem__, caption))
    return np.array(tokens, np.int32), np.array(lengths, np.int64)


def _split(tokenizer: Tokenizer, text: str) -> list[str]:
    tokens = tokenizer.split(text)
    if not isinstance(tokens, list | tuple) or not all(isinstance(token, str) for token in tokens):
        raise TypeError(f"tokenizer {tokenizer.name} returned {tokens!r} for {text!r}, expected a list of str")
    return tokens


class Encoder:
    """Turns captions into token numbers. It keeps chunks and numbers, so that later captions cost less.

    Several threads may call it: one at a time is let in. A copy, also one of another process, has the same numbers
    and goes on alone. An encoder is of texts or of token ids, whichever it had first. One that has seen no token has
    the length 0 and so is false: ask `is None` where it may be absent.

    Args:
        tokenizer: A name or callable, see `tokenizers.resolve`; not used for token ids.
        stem: Maps every word to its Porter stem, as nltk's PorterStemmer() makes it.
        end_token: Appended to every caption, as the rewards of self-critical training do; None appends nothing. A
            str for texts, an int for token ids.
        vocabulary: Tokens that are numbered first, in this order.

    Raises:
        ValueError: The tokenizer's name is unknown.
        TypeError: The tokenizer is neither a name nor callable.

    >>> encoder = Encoder()
    >>> [part.tolist() for part in encoder.encode(["A cat sits.", "a dog"])], encoder.vocabulary
    ([[0, 1, 2, 0, 3], [3, 2]], ['a', 'cat', 'sits', 'dog'])
    """

    def __init__(
        self,
        tokenizer: str | Callable[[str], list[str]] = "ptb",
        stem: bool = False,
        end_token: str | int | None = None,
        vocabulary: Iterable = (),
    ):
        self._settings = tokenizer, stem, end_token
        self._begin((), ())
        for token in vocabulary:
            self._numbers[token]

    def _begin(self, words: Iterable, stems: Iterable) -> None:
        """Numbers these words and stems first; no chunk is known."""
        tokenizer, self._stem, self._end_token = self._settings
        self._tokenizer, self._lock = resolve(tokenizer), RLock()
        self._words, self._stems, self._stem_of = _Numbering(), _Numbering(), array("i")
        for numbering, tokens in ((self._words, words), (self._stems, stems)):
            numbering.update(zip(tokens, range(len(tokens))))
        self._numbers = self._stems if self._stem else self._words
        self._pieces = _Pieces(self._tokenizer, self._words)
        self._are_texts = None

    def __getstate__(self) -> tuple:
        with self._lock:
            return self._settings, self._are_texts, list(self._words), list(self._stems)

    def __setstate__(self, state: tuple) -> None:
        self._settings, are_texts, words, stems = state
        self._begin(words, stems)
        self._are_texts = are_texts

    def __len__(self) -> int:
        """The number of tokens seen so far."""
        return len(self._numbers)

    @property
    def vocabulary(self) -> list:
        """The tokens that the numbers stand for."""
        with self._lock:
            return list(self._numbers)

    def encode(self, captions: Sequence[str] | Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
        """Encodes texts, or lists of token ids.

        Returns:
            The token numbers of all captions, joined (int32), and the length of each caption in tokens (int64).

        Raises:
            ValueError: Texts come with tokenizer="none", or ids with stem=True.
            TypeError: A callable tokenizer returned something other than a list of str; texts come after ids or ids
                after texts; or `end_token` is an int for texts, a str for ids.
        """
        with self._lock:
            tokens, lengths = self._words_of(captions)
            if self._stem:
                tokens = self._stem_words(tokens)
            if self._end_token is not None:
                end = self._numbers[self._end_token]
                tokens, lengths = np.insert(tokens, np.cumsum(lengths), end), lengths + 1
            return tokens, lengths

    def _words_of(self, captions) -> tuple[np.ndarray, np.ndarray]:
        if not len(captions):
            return _encode_lists(captions, self._words)
        self._check_kind(isinstance(captions[0], str))
        if not self._are_texts:
            return _encode_lists(captions, self._words)
        if self._tokenizer.split_chunk is None:
            return _encode_lists((_split(self._tokenizer, text) for text in captions), self._words)
        return self._look_up_chunks(captions)

    def _check_kind(self, are_texts: bool) -> None:
        """Remembers what the captions are, and refuses the others and what does not go with them."""
        found, other = ("texts", "token ids") if are_texts else ("token ids", "texts")
        if self._are_texts is (not are_texts):
            raise TypeError(f"captions are {found}, expected {other} as those before: their tokens never meet")
        if are_texts and self._tokenizer.split is None:
            raise ValueError("tokenizer='none' takes token ids, found texts; 'whitespace' splits tokenized texts")
        if self._stem and not are_texts:
            raise ValueError("stem=True needs texts, found token ids")
        check_end_token(self._end_token, are_texts)
        self._are_texts = are_texts

    def _look_up_chunks(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        blocks = (texts[i : i + _BLOCK] for i in range(0, len(texts), _BLOCK))
        found, counts = map(
            np.concatenate, zip(*(_encode_block(block, self._tokenizer, self._pieces) for block in blocks))
        )
        tokens, piece_lengths = self._pieces.take(found)
        ends = np.concatenate([[0], np.cumsum(piece_lengths)])[np.cumsum(counts)]
        return tokens, np.diff(ends, prepend=0)

    def _stem_words(self, tokens: np.ndarray) -> np.ndarray:
        from nltk.stem.porter import PorterStemmer  # Stems and entities alone need it.

        stem, new = PorterStemmer().stem, islice(self._words, len(self._stem_of), None)
        self._stem_of.extend([self._stems[stem(word)] for word in new])
        return np.array(self._stem_of, np.int32)[tokens]


def check_end_token(end_token: str | int | None, are_texts: bool) -> None:
    """Refuses an end token that is no token of such captions: it would be a word that no caption can have.

    Raises:
        TypeError: It is an int for texts, or a str for token ids.

    >>> check_end_token(1, are_texts=True)
    Traceback (most recent call last):
        ...
    TypeError: end_token is int 1, expected str, as the captions are texts
    """
    kind, expected = (str, "str, as the captions are texts") if are_texts else (Integral, "int, as they are token ids")
    if end_token is not None and (isinstance(end_token, bool) or not isinstance(end_token, kind)):
        raise TypeError(f"end_token is {describe(end_token)}, expected {expected}")


def _sort_by_gram(keys: np.ndarray, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorts by (key, position); positions ascend already.

    Packed into one int64 the pair sorts about four times faster than a stable argsort of the keys.
    """
    bits = int(positions[-1]).bit_length()
    if int(keys.max()).bit_length() + bits <= 63:
        packed = keys << bits
        packed |= positions
        packed.sort()
        return packed >> bits, packed & ((1 << bits) - 1)
    order = np.argsort(keys, kind="stable")
    return keys[order], positions[order]


def _first_of_run(values: np.ndarray) -> np.ndarray:
    """Marks where a sorted array changes, its first item included."""
    first = np.ones(len(values), bool)
    np.not_equal(values[1:], values[:-1], out=first[1:])
    return first


class OrderCounts(NamedTuple):
    """The n-grams of one order in many captions: its entries are the distinct (n-gram, caption) pairs.

    Entries are sorted by n-gram, then caption; those of n-grams that occur once in all captions stand behind the
    others. n-grams are numbered from 0.

    Attributes:
        gram: (entries,) int32, the n-gram's number.
        caption: (entries,) int32.
        times: (entries,) int32, how often the caption has the n-gram.
        num_repeated: How many entries are of n-grams that recur.
        heads: The entries, among those before num_repeated, where another n-gram or another sample begins.
        parent: (n-grams,) int32, the number of an n-gram's first n - 1 tokens in the order below.
        last: (n-grams,) int32, its last token.
    """

    gram: np.ndarray
    caption: np.ndarray
    times: np.ndarray
    num_repeated: int
    heads: np.ndarray
    parent: np.ndarray
    last: np.ndarray


class CaptionCounts(NamedTuple):
    """Candidates and references, tokenized and counted once for every metric that is made of n-grams.

    Attributes:
        sample: (captions,) int32, the sample of each; a sample's candidate stands before its references.
        length: (captions,) int64, in tokens.
        orders: One per order of n-grams.
        vocabulary: The tokens that the numbers stand for.
    """

    sample: np.ndarray
    length: np.ndarray
    orders: list[OrderCounts]
    vocabulary: list


def count_ngrams(
    tokens: np.ndarray, lengths: np.ndarray, n: int, vocabulary_size: int, sample: np.ndarray | None = None
) -> list[OrderCounts]:
    """Counts the 1..n-grams of every caption.

    Args:
        tokens: Token numbers of all captions, joined.
        lengths: Number of tokens of each caption.
        n: The highest order, at least 1.
        vocabulary_size: Number of distinct tokens.
        sample: The sample of each caption (int32, ascending); each caption is a sample of its own when absent.

    Returns:
        What there is of each order.

    >>> encoder = Encoder("whitespace")
    >>> tokens, lengths = encoder.encode(["a b a", "a b"])
    >>> vocabulary = encoder.vocabulary
    >>> bigrams = count_ngrams(tokens, lengths, 2, len(vocabulary))[1]
    >>> [(vocabulary[bigrams.parent[g]], vocabulary[bigrams.last[g]], c, k)
    ...  for g, c, k in zip(bigrams.gram, bigrams.caption.tolist(), bigrams.times.tolist())]
    [('a', 'b', 0, 1), ('a', 'b', 1, 1), ('b', 'a', 0, 1)]
    """
    sample = np.arange(len(lengths), dtype=np.int32) if sample is None else sample
    caption_at = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    left = np.repeat(np.cumsum(lengths), lengths) - np.arange(len(tokens))
    gram_at = np.zeros(len(tokens) + 1, np.int32)
    recurs_at = np.ones(len(tokens) + 1, bool)
    orders = []
    for order in range(1, n + 1):
        starts = np.flatnonzero(left >= order)
        # An n-gram can only recur where both (n-1)-grams inside it do, so the rest needs no sort.
        may_recur = recurs_at[starts] & recurs_at[starts + 1]
        starts, singles = starts[may_recur], starts[~may_recur]
        last_at = tokens[order - 1 :]
        keys = gram_at[starts].astype(np.int64) * vocabulary_size + last_at[starts]
        counted, gram_at, recurs_at = _count_order(keys, starts, singles, gram_at, last_at, caption_at, sample)
        orders.append(counted)
    return orders


def _count_order(
    keys, starts, singles, parent_at, last_at, caption_at, sample
) -> tuple[OrderCounts, np.ndarray, np.ndarray]:
    """Sorts the n-grams at `starts` and numbers those at `singles`, each unique, behind them.

    Returns:
        The counts of this order, and for every position the n-gram that starts there and whether it recurs.
    """
    keys, positions = _sort_by_gram(keys, starts) if len(starts) else (keys, starts)
    first = _first_of_run(keys)
    gram = np.cumsum(first, dtype=np.int32)
    gram -= 1
    num_sorted = int(gram[-1]) + 1 if len(gram) else 0
    gram_at = np.empty_like(parent_at)
    gram_at[positions] = gram
    gram_at[singles] = np.arange(num_sorted, num_sorted + len(singles), dtype=np.int32)
    recurs_at = np.zeros(len(parent_at), bool)
    recurs_at[positions] = ~(first & np.append(first[1:], True))

    caption = caption_at[positions]
    is_entry = first | _first_of_run(caption)
    entries, again = np.flatnonzero(is_entry), np.flatnonzero(~is_entry)
    gram, caption, first = gram[entries], caption[entries], first[entries]
    firsts = np.concatenate([positions[entries[first]], singles])
    times = np.ones(len(entries) + len(singles), np.int32)
    np.add.at(times, np.searchsorted(entries, again) - 1, 1)
    counted = OrderCounts(
        gram=np.concatenate([gram, gram_at[singles]]),
        caption=np.concatenate([caption, caption_at[singles]]),
        times=times,
        num_repeated=len(entries),
        heads=np.flatnonzero(first | _first_of_run(sample[caption])),
        parent=parent_at[firsts],
        last=last_at[firsts],
    )
    return counted, gram_at, recurs_at


def caption_counts(
    predictions: Sequence[str] | Sequence[Sequence[int]], references: Sequence[Sequence], n: int, encoder: Encoder
) -> CaptionCounts:
    """Tokenizes and counts candidates and references once, for every metric that is made of n-grams.

    Args:
        predictions: One candidate per sample, texts or lists of token ids.
        references: The references of each sample, at least one.
        n: The highest order of n-grams.
        encoder: What turns them into token numbers.

    Returns:
        What there is in them.

    Raises:
        ValueError, TypeError: see `Encoder.encode`.

    >>> caption_counts(["a cat"], [["a cat sits", "the cat"]], 4, Encoder()).sample.tolist()
    [0, 0, 0]
    """
    captions = list(chain.from_iterable((candidate, *group) for candidate, group in zip(predictions, references)))
    captions_per_sample = np.fromiter(map(len, references), np.int64, len(references)) + 1
    tokens, lengths = encoder.encode(captions)
    del captions
    sample = np.repeat(np.arange(len(references), dtype=np.int32), captions_per_sample)
    vocabulary = encoder.vocabulary
    return CaptionCounts(sample, lengths, count_ngrams(tokens, lengths, n, len(vocabulary), sample), vocabulary)
