"""NLTK's averaged perceptron tagger on many texts at once, tag by tag equal to NLTK's.

NLTK adds up the weights of fourteen features per word, one dictionary look-up at a time. Here weights are rows of an
integer table, and the words at the same place of many texts are tagged together. Integers are exact because every
weight is a multiple of 0.001; where two tags have the same sum, NLTK is asked which one its floats prefer.
"""

from collections.abc import Sequence
from threading import RLock

import numpy as np

# What NLTK puts before and behind a text; also the tags before the first word.
_START, _END = ("-START-", "-START2-"), ("-END-", "-END2-")
_STEP = 0.001
_TEXTS_AT_ONCE = 512
# Places of texts that are tagged together: all take as much room as the longest.
_MOST_PLACES = 1 << 21
_MOST_WORDS = 50_000


class PerceptronTagger:
    """Tags tokenized texts as the tagger of NLTK that it is made of.

    It learns words as it meets them; several threads may call it, and one at a time is let in.

    Args:
        nltk_tagger: A loaded `nltk.tag.PerceptronTagger`.
    """

    def __init__(self, nltk_tagger) -> None:
        self._nltk, self._lock = nltk_tagger, RLock()
        # Of equal sums NLTK takes the last tag of the alphabet, argmax the first column.
        classes = sorted(nltk_tagger.classes, reverse=True)
        others = sorted(set(nltk_tagger.tagdict.values()) - set(classes))
        self._tags = [*classes, *others, *_START]
        self._codes = {tag: code for code, tag in enumerate(self._tags)}
        self._read_weights(nltk_tagger.model.weights, len(classes))
        self._tag_rows = self._rows("i-1 tag ", self._tags)
        self._tag2_rows = self._rows("i-2 tag ", self._tags)
        self._pair_rows = np.array([self._rows(f"i tag+i-2 tag {tag} ", self._tags) for tag in self._tags])
        self._forget_words()

    def tag(self, texts: Sequence[Sequence[str]]) -> list[list[str]]:
        """The tags of every text's tokens, in the order of the texts."""
        if not self._is_exact:
            return [[tag for _, tag in self._nltk.tag(tokens)] for tokens in texts]
        with self._lock:
            try:
                return self._tag(texts)
            except BaseException:
                # An interrupt among the tables of words would leave them of different lengths.
                self._forget_words()
                raise

    def __getstate__(self) -> dict:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict) -> None:
        self.__dict__.update(state)
        self._lock = RLock()
        # A copy has its own words: they are changed in place.
        self._forget_words()

    def _tag(self, texts: Sequence[Sequence[str]]) -> list[list[str]]:
        tags: list[list[str]] = [[] for _ in texts]
        # Texts of about the same length go together, the longest first, so that those still running are a prefix.
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        start = 0
        while start < len(order):
            at_once = min(_TEXTS_AT_ONCE, max(1, _MOST_PLACES // (len(texts[order[start]]) + 1)))
            numbers = order[start : start + at_once]
            start += at_once
            chunk = [texts[number] for number in numbers]
            for number, codes in zip(numbers, self._tag_chunk(chunk)):
                tags[number] = [self._tags[code] for code in codes]
        return tags

    def _read_weights(self, weights: dict[str, dict[str, float]], width: int) -> None:
        """Makes the table of weights: one row per feature, the first of zeros, and one column per tag."""
        self._row = {feature: row for row, feature in enumerate(weights, 1)}
        rows = np.repeat(np.arange(1, len(weights) + 1), [len(tags) for tags in weights.values()])
        columns = np.array([self._codes[tag] for tags in weights.values() for tag in tags], np.int64)
        values = np.array([value for tags in weights.values() for value in tags.values()], float) / _STEP
        self._is_exact = bool(np.all(np.abs(values - np.rint(values)) < 1e-6))
        self._table = np.zeros((len(weights) + 1, width), np.int32)
        self._table[rows, columns] = np.rint(values)

    def _rows(self, prefix: str, ends: Sequence[str]) -> np.ndarray:
        return np.array([self._row.get(prefix + end, 0) for end in ends], np.int32)

    def _forget_words(self) -> None:
        """Empties the vocabulary but for the four words around a text."""
        width = self._table.shape[1]
        self._ids: dict[str, int] = {}
        self._known = np.empty(0, np.int32)
        self._own, self._before, self._before2, self._behind, self._behind2 = np.empty((5, 0, width), np.int32)
        self._word_rows = np.empty((0, len(self._tags)), np.int32)
        # No token is a tuple, so that these four are never mistaken for words of a text.
        self._learn([(word,) for word in _START + _END])

    def _learn(self, words: list) -> None:
        """Adds new words: their tag where it is fixed, and the sums of what they weigh at each of five places."""
        self._ids.update(zip(words, range(len(self._ids), len(self._ids) + len(words))))
        raw = [word if isinstance(word, str) else word[0] for word in words]
        forms = [self._nltk.normalize(word) if isinstance(word, str) else word[0] for word in words]
        suffixes = [form[-3:] for form in forms]

        def weights(prefix: str, ends: list[str]) -> np.ndarray:
            return self._table[self._rows(prefix, ends)]

        own = weights("i suffix ", [word[-3:] for word in raw]) + weights("i pref1 ", [word[:1] for word in raw])
        own += weights("i word ", forms) + self._table[self._row.get("bias", 0)]
        self._own = np.concatenate([self._own, own])
        before = weights("i-1 word ", forms) + weights("i-1 suffix ", suffixes)
        self._before = np.concatenate([self._before, before])
        self._before2 = np.concatenate([self._before2, weights("i-2 word ", forms)])
        behind = weights("i+1 word ", forms) + weights("i+1 suffix ", suffixes)
        self._behind = np.concatenate([self._behind, behind])
        self._behind2 = np.concatenate([self._behind2, weights("i+2 word ", forms)])
        tagdict = self._nltk.tagdict
        known = np.array([self._codes.get(tagdict.get(word), -1) for word in raw], np.int32)
        self._known = np.concatenate([self._known, known])
        rows = [self._rows(f"i-1 tag+i word {tag} ", forms) for tag in self._tags]
        self._word_rows = np.concatenate([self._word_rows, np.stack(rows, 1)])

    def _grid(self, texts: list[Sequence[str]]) -> np.ndarray:
        """Word ids, one row per text, each with two words before and two behind it."""
        new = set().union(*texts).difference(self._ids)
        if len(self._ids) + len(new) > _MOST_WORDS:
            self._forget_words()
            new = set().union(*texts)
        if new:
            self._learn(sorted(new))
        grid = np.zeros((len(texts), len(texts[0]) + 4), np.int32)
        before, behind = ([self._ids[word,] for word in words] for words in (_START, _END))
        for row, tokens in enumerate(texts):
            ids = [*before, *map(self._ids.__getitem__, tokens), *behind]
            grid[row, : len(ids)] = ids
        return grid

    def _tag_chunk(self, texts: list[Sequence[str]]) -> list[list[int]]:
        """Codes of the tags of texts that are sorted by length, the longest first."""
        grid = self._grid(texts)
        lengths = np.array([len(tokens) for tokens in texts])
        # The first two columns are the tags before the first word: the second last, then the last.
        codes = np.empty((len(texts), len(texts[0]) + 2), np.int32)
        codes[:, :2] = self._codes[_START[1]], self._codes[_START[0]]
        for place in range(len(texts[0])):
            running = int(np.count_nonzero(lengths > place))
            found = self._known[grid[:running, place + 2]]
            open_rows = np.flatnonzero(found < 0)
            if len(open_rows):
                words, previous = grid[open_rows, place : place + 5], codes[open_rows, place : place + 2]
                sums = self._sums(words, previous)
                best = sums.argmax(1)
                tied = np.count_nonzero(sums == sums[np.arange(len(best)), best, None], axis=1) > 1
                for row in np.flatnonzero(tied):
                    best[row] = self._ask_nltk(texts[open_rows[row]], place, previous[row])
                found[open_rows] = best
            codes[:running, place + 2] = found
        return [row[2 : 2 + length] for row, length in zip(codes.tolist(), lengths.tolist())]

    def _sums(self, words: np.ndarray, previous: np.ndarray) -> np.ndarray:
        """Weights of each tag, in thousandths: one row per word, given with two neighbours on each side."""
        second_last, last = previous.T
        sums = self._before2[words[:, 0]] + self._before[words[:, 1]]
        sums += self._own[words[:, 2]]
        sums += self._behind[words[:, 3]]
        sums += self._behind2[words[:, 4]]
        for rows in (
            self._tag_rows[last],
            self._tag2_rows[second_last],
            self._pair_rows[last, second_last],
            self._word_rows[words[:, 2], last],
        ):
            sums += self._table[rows]
        return sums

    def _ask_nltk(self, tokens: Sequence[str], place: int, previous: np.ndarray) -> int:
        context = [*_START, *map(self._nltk.normalize, tokens), *_END]
        second_last, last = (self._tags[code] for code in previous)
        features = self._nltk._get_features(place, tokens[place], context, last, second_last)
        return self._codes[self._nltk.model.predict(features)[0]]
