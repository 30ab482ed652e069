"""The table of document frequencies: in how many images each n-gram occurs in a reference.

n-grams are kept as a trie in arrays: an n-gram of order k is the pair (number of its first k - 1 tokens in the order
below, number of its last token), packed into one sorted int64. That is exact, small (12 bytes per n-gram), merges by
addition, and looking up never adds to it.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import BinaryIO

import numpy as np

from ._shared import (
    Encoder,
    OrderCounts,
    Portable,
    check_end_token,
    check_options,
    count_ngrams,
    read_npz,
    resolve,
    written_bytes,
)
from .foreign_tables import read_pickle
from .table_checks import FORMAT, SETTINGS, TABLE_OPTIONS, check_frequencies, check_table, settings_in

# What a table whose parts are of other kinds can raise, beyond what is looked for.
_TABLE_ERRORS = (ValueError, KeyError, TypeError, AttributeError, OverflowError)


def images_with_gram(order: OrderCounts, is_candidate: np.ndarray) -> np.ndarray:
    """Number of samples that have each n-gram in a reference (n-grams,)."""
    gram, in_reference = order.gram, ~is_candidate[order.caption]
    # A run is one n-gram in one sample: a reference has it unless the candidate stands there alone.
    heads, end = order.heads, order.num_repeated
    counted = heads[in_reference[heads] | (np.diff(heads, append=end) > 1)]
    alone = np.flatnonzero(in_reference[end:]) + end
    return np.bincount(gram[counted], minlength=len(order.last)) + np.bincount(gram[alone], minlength=len(order.last))


class DocumentFrequencies(Portable):
    """Document frequencies of the 1..n-grams of a reference corpus, with the settings that they were made with.

    Attributes:
        num_images: N, the number of images.
        n: The highest order.
        tokenizer: Name of the tokenizer; "none" for token ids.
        stem: Whether words were mapped to their stems.
        end_token: Token appended to every caption, or None.
        final: Whether n-grams of a single image were dropped; such a table scores the same but cannot be merged.

    Raises:
        ValueError: A frequency is negative or above num_images.
        TypeError: end_token is an int for texts, or a str for token ids.
    """

    def __init__(self, levels, vocabulary, num_images, n, tokenizer="ptb", stem=False, end_token=None, final=False):
        check_end_token(end_token, are_texts=tokenizer != "none")
        for order, (_, counts) in enumerate(levels, start=1):
            check_frequencies(counts, order, num_images)
        self.levels, self.vocabulary = levels, list(vocabulary)
        self.num_images, self.n, self.tokenizer = int(num_images), int(n), tokenizer
        self.stem, self.end_token, self.final = bool(stem), end_token, bool(final)
        self._number_of = {token: number for number, token in enumerate(self.vocabulary)}

    def __len__(self) -> int:
        return sum(len(keys) for keys, _ in self.levels)

    @classmethod
    def from_references(
        cls,
        references: Iterable[Sequence],
        n: int = 4,
        tokenizer: str | Callable[[str], list[str]] = "ptb",
        stem: bool = False,
        end_token: str | int | None = None,
        encoder: Encoder | None = None,
    ) -> "DocumentFrequencies":
        """Counts a reference corpus.

        Args:
            references: The references of each image, texts or lists of token ids.
            n, tokenizer, stem, end_token: As in `scoring.sample_statistics`; a later score must use the same.
            encoder: One made with the same settings, which has seen captions before; None makes one.

        Raises:
            ValueError: There is no image, or one without references; n or stem is of another kind.
            TypeError: end_token is an int for texts, or a str for ids.

        >>> table = DocumentFrequencies.from_references([["a cat", "the cat"], ["a dog"]])
        >>> table.num_images, table["a"], table["the", "cat"], table["bird"]
        (2, 2, 1, 0)
        """
        check_options(orders={"n": n}, flags={"stem": stem})
        references = list(references)
        sizes = np.array([len(group) for group in references], np.int64)
        if not len(sizes) or not sizes.all():
            place = f"references[{int(np.argmin(sizes))}]" if len(sizes) else "references"
            raise ValueError(f"{place} is empty, expected at least one")
        encoder = Encoder(tokenizer, stem, end_token) if encoder is None else encoder
        tokens, lengths = encoder.encode(list(chain.from_iterable(references)))
        vocabulary = encoder.vocabulary
        sample = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        levels, renumber, nobody = [], np.zeros(1, np.int64), np.zeros(len(sample), bool)
        for order in count_ngrams(tokens, lengths, n, len(vocabulary), sample):
            frequency = images_with_gram(order, nobody)
            level, renumber = _level(renumber[order.parent], order.last, frequency, len(vocabulary))
            levels.append(level)
        # A corpus of empty captions has no token to tell texts from ids.
        name = resolve(tokenizer).name if not vocabulary or isinstance(vocabulary[0], str) else "none"
        return cls(levels, vocabulary, len(sizes), n, name, stem, end_token)

    def __getitem__(self, gram: str | int | tuple) -> int:
        """Document frequency of one n-gram, a token or a tuple of tokens; 0 if it was never seen."""
        gram, parent, frequency = gram if isinstance(gram, tuple) else (gram,), 0, 0
        for token, (keys, counts) in zip(gram, self.levels):
            key = parent * len(self.vocabulary) + self._number_of.get(token, -1)
            parent = int(np.searchsorted(keys, key))
            if token not in self._number_of or parent == len(keys) or keys[parent] != key:
                return 0
            frequency = int(counts[parent])
        return frequency if len(gram) <= self.n else 0

    def look_up(self, orders: list[OrderCounts], vocabulary: list) -> list[np.ndarray]:
        """Document frequencies of counted n-grams.

        Args:
            orders: What `ngrams.count_ngrams` returned.
            vocabulary: The tokens of its numbers.

        Returns:
            One array per order (n-grams,); 0 for an n-gram that the table does not have.
        """
        number_of = np.fromiter((self._number_of.get(token, -1) for token in vocabulary), np.int64, len(vocabulary))
        frequencies, place = [], np.zeros(1, np.int64)
        for order, (keys, counts) in zip(orders, self.levels):
            parent, last = place[order.parent], number_of[order.last]
            key = np.where((parent < 0) | (last < 0), -1, parent * len(self.vocabulary) + last)
            # Nothing as long as the table is copied: it may be a thousand times as long as a batch.
            found = np.searchsorted(keys, key)
            known = np.zeros(len(key), bool)
            inside = found < len(keys)
            known[inside] = keys[found[inside]] == key[inside]
            frequency = np.zeros(len(key), counts.dtype)
            frequency[known] = counts[found[known]]
            frequencies.append(frequency)
            place = np.where(known, found, -1)
        return frequencies

    def packed(self, bits: int) -> tuple[np.ndarray, np.ndarray]:
        """Every n-gram as one integer, `bits` for the number of each of its tokens, counted from 1.

        Returns:
            The integers, ascending (uint64), and their document frequencies.

        Raises:
            ValueError: There are too many tokens or orders for it.

        >>> keys, frequencies = DocumentFrequencies.from_references([["a b"], ["a"]], 2, "whitespace").packed(8)
        >>> keys.tolist(), frequencies.tolist()
        ([1, 2, 258], [2, 1, 1])
        """
        if len(self.vocabulary) >= 1 << bits or self.n * bits > 64:
            raise ValueError(f"{self.n} tokens of {len(self.vocabulary)} do not fit into 64 bits, {bits} for each")
        levels, above, shift = [], np.zeros(1, np.uint64), np.uint64(bits)
        for keys, _ in self.levels:
            # In a trie that is sorted level by level these ascend by themselves.
            parent, last = np.divmod(keys, max(len(self.vocabulary), 1))
            above = (above[parent] << shift) | (last + 1).astype(np.uint64)
            levels.append(above)
        return np.concatenate(levels), np.concatenate([counts for _, counts in self.levels])

    def check(self, **settings) -> None:
        """Compares the settings of a call with those of the table.

        Raises:
            ValueError: They differ; the message names the setting and both values.
        """
        for name, value in settings.items():
            if getattr(self, name) != value:
                raise ValueError(
                    f"document frequencies were made with {name}={getattr(self, name)!r}, this call has {name}="
                    f"{value!r}; make a table with the settings of the call, or call with those of the table"
                )

    def merge(self, other: "DocumentFrequencies | Mapping | str") -> "DocumentFrequencies":
        """Adds the table of other images (a table, its `to_dict()` or a path) and returns the sum.

        Raises:
            ValueError: The settings differ, or one of the two was saved with final=True.

        >>> one = DocumentFrequencies.from_references([["a cat"]])
        >>> both = one.merge(DocumentFrequencies.from_references([["a dog"]]))
        >>> both.num_images, both["a"], both["dog"]
        (2, 2, 1)
        """
        other = DocumentFrequencies.of(other)
        self.check(**{name: getattr(other, name) for name in TABLE_OPTIONS})
        if self.final or other.final:
            raise ValueError("a table saved with final=True lacks the n-grams of single images and cannot be merged")
        vocabulary = list(dict.fromkeys(self.vocabulary + other.vocabulary))
        number_of = {token: number for number, token in enumerate(vocabulary)}
        sides = [
            (t, np.array([number_of[w] for w in t.vocabulary], np.int64), np.zeros(1, np.int64)) for t in (self, other)
        ]
        levels = []
        for depth in range(self.n):
            keys = [_renumber(t, depth, numbers, places, len(vocabulary)) for t, numbers, places in sides]
            counts = np.concatenate([t.levels[depth][1] for t, _, _ in sides])
            merged, inverse = np.unique(np.concatenate(keys), return_inverse=True)
            levels.append((merged, np.bincount(inverse, counts, len(merged)).astype(np.int32)))
            halves = np.split(inverse, [len(keys[0])])
            sides = [(t, numbers, half) for (t, numbers, _), half in zip(sides, halves)]
        return DocumentFrequencies(
            levels, vocabulary, self.num_images + other.num_images, self.n, self.tokenizer, self.stem, self.end_token
        )

    def finalize(self) -> "DocumentFrequencies":
        """A smaller table without the n-grams of a single image. As idf uses max(1, df), no score changes.

        >>> table = DocumentFrequencies.from_references([["a cat"], ["a dog"]]).finalize()
        >>> len(table), table["a"], table["cat"]
        (1, 2, 0)
        """
        levels, places, size = [], np.zeros(1, np.int64), max(len(self.vocabulary), 1)
        for (keys, counts), kept in zip(self.levels, self._repeated()):
            parent, last = np.divmod(keys[kept], size)
            levels.append((places[parent] * size + last, counts[kept]))
            places = np.cumsum(kept) - 1
        return DocumentFrequencies(
            levels, self.vocabulary, self.num_images, self.n, self.tokenizer, self.stem, self.end_token, final=True
        )

    def _repeated(self) -> list[np.ndarray]:
        """Of each order, which n-grams are in more than one image or begin one that is."""
        kept = [counts > 1 for _, counts in self.levels]
        for depth in range(self.n - 1, 0, -1):
            # In a table that other code made, the beginning may have no frequency of its own.
            kept[depth - 1][self.levels[depth][0][kept[depth]] // len(self.vocabulary)] = True
        return kept

    def to_dict(self) -> dict:
        """The table as plain data (settings, tokens, arrays), for `of` and for other processes."""
        return {
            "format": FORMAT,
            **{name: getattr(self, name) for name in SETTINGS},
            "vocabulary": self.vocabulary,
            **{f"keys_{k}": keys for k, (keys, _) in enumerate(self.levels, start=1)},
            **{f"frequencies_{k}": counts for k, (_, counts) in enumerate(self.levels, start=1)},
        }

    @classmethod
    def of(cls, table: "DocumentFrequencies | Mapping | str") -> "DocumentFrequencies":
        """Makes a table from a file's path, from `to_dict()`, or from an object that has `to_dict()`.

        Raises:
            ValueError: The file or mapping is no such table, or holds frequencies that no N images can have.
            TypeError: It is none of these.
        """
        if isinstance(table, cls):
            return table
        if hasattr(table, "to_dict"):
            # Another copy of this class: a table made through evaluate.load, or by the installed package.
            table = table.to_dict()
        if hasattr(table, "__fspath__") or isinstance(table, str):
            return cls.load(table)
        if not isinstance(table, Mapping):
            raise TypeError(
                f"document_frequencies is {type(table).__name__}, expected 'corpus', a table, its to_dict() or a path"
            )
        check_table(table)
        levels = [
            (np.asarray(table[f"keys_{k}"], np.int64), np.asarray(table[f"frequencies_{k}"], np.int32))
            for k in range(1, table["n"] + 1)
        ]
        return cls(levels, table["vocabulary"], **{name: table[name] for name in SETTINGS})

    def save(self, path: str | BinaryIO, final: bool = False) -> None:
        """Writes a .npz file of plain arrays and one JSON string; nothing in it is pickled.

        A file that is there stays as it was until all is written.

        Args:
            path: Where to write, exactly as named; or a binary file that is open.
            final: Saves `finalize()` of the table.
        """
        table = (self.finalize() if final else self).to_dict()
        arrays = {key: table.pop(key) for key in list(table) if key.startswith(("keys_", "frequencies_"))}
        with nullcontext(path) if hasattr(path, "write") else written_bytes(path) as file:
            np.savez(file, table=np.frombuffer(json.dumps(table).encode(), np.uint8), **arrays)

    @classmethod
    def load(cls, path: str | BinaryIO) -> "DocumentFrequencies":
        """Reads what `save` wrote, from its path or from a binary file that is open.

        Raises:
            ValueError: The file is no such table.
            OSError: It cannot be opened.
        """
        try:
            content = read_npz(path)
            return cls.of({**settings_in(content), **content})
        except _TABLE_ERRORS as error:
            reason = str(error).removeprefix(f"{path} is ")
            raise ValueError(f"{path} is no table of document frequencies: {reason}") from error

    @classmethod
    def from_pickle(
        cls,
        path: str,
        num_images: int | None = None,
        tokenizer: str = "ptb",
        end_token: str | int | None = None,
    ) -> "DocumentFrequencies":
        """Imports a pickle of the CIDEr-D code of coco-caption's descendants, without running anything in it.

        Args:
            path: Either {"document_frequency": {n-gram: df}, "ref_len": N} of self-critical training, or the bare
                {n-gram: df} of coco-val-df.p.
            num_images: N; needed by the bare form, whose file does not hold it (coco-val-df was made of 40504).
            tokenizer: How its captions were tokenized; "none" reads its tokens as ids.
            end_token: The token that its captions end with, or None.

        Raises:
            ValueError: See `foreign_tables.read_pickle`; a frequency is negative or above N.
            TypeError: end_token is an int for texts, or a str for ids.
        """
        frequencies, num_images = read_pickle(path, num_images)
        try:
            return _from_grams(frequencies, num_images, tokenizer, end_token)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


def _level(parent: np.ndarray, last: np.ndarray, frequency: np.ndarray, vocabulary_size: int):
    """Sorts one order's n-grams by key; returns (keys, frequencies) and the place of each n-gram in them."""
    keys = parent * vocabulary_size + last
    order = np.argsort(keys)
    places = np.empty(len(keys), np.int64)
    places[order] = np.arange(len(keys))
    return (keys[order], frequency[order].astype(np.int32)), places


def _renumber(table: DocumentFrequencies, depth: int, numbers: np.ndarray, places: np.ndarray, size: int):
    parent, last = np.divmod(table.levels[depth][0], max(len(table.vocabulary), 1))
    return places[parent] * size + numbers[last]


def _from_grams(frequencies: Mapping, num_images: int, tokenizer: str, end_token) -> DocumentFrequencies:
    """Builds a table from {n-gram: df}; an n-gram is a tuple of tokens."""
    grams = _of_ids(frequencies) if tokenizer == "none" else frequencies
    vocabulary = list(dict.fromkeys(chain.from_iterable(grams)))
    number_of = {token: number for number, token in enumerate(vocabulary)}
    lengths = np.fromiter(map(len, grams), np.int64, len(grams))
    tokens = np.fromiter(map(number_of.__getitem__, chain.from_iterable(grams)), np.int64, int(lengths.sum()))
    starts, counts = np.cumsum(lengths) - lengths, _as_integers(grams.values())
    n, levels, places = int(lengths.max(initial=1)), [], np.zeros(len(grams), np.int64)
    for depth in range(1, n + 1):
        reached = np.flatnonzero(lengths >= depth)
        keys = places[reached] * len(vocabulary) + tokens[starts[reached] + depth - 1]
        keys, places[reached] = np.unique(keys, return_inverse=True)
        # A pickle from the wild may lack a beginning of an n-gram that it has.
        own, level = np.flatnonzero(lengths == depth), np.zeros(len(keys), counts.dtype)
        level[places[own]] = counts[own]
        check_frequencies(level, depth, num_images)
        levels.append((keys, level.astype(np.int32)))
    return DocumentFrequencies(levels, vocabulary, num_images, n, tokenizer, False, end_token)


def _of_ids(frequencies: Mapping) -> dict:
    try:
        grams = {tuple(map(int, gram)): frequency for gram, frequency in frequencies.items()}
    except ValueError as error:
        raise ValueError(f"a token is no id: {error}") from None
    if len(grams) < len(frequencies):
        raise ValueError("an n-gram of ids stands twice, such as 1 and 01")
    return grams


def _as_integers(counts: Iterable[int]) -> np.ndarray:
    """As int64, or as objects where one is larger, which no check then takes for a small one."""
    counts = list(counts)
    try:
        return np.array(counts, np.int64)
    except OverflowError:
        return np.array(counts, object)
