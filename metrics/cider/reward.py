"""CIDEr as a reward: one number per completion, in a millisecond or two for a batch.

The vectors of references are made once and kept, see packed_vectors.py. What does not fit into them (n above 4, more
than 65,535 tokens, CIDEr-R) takes the way of `scoring.sample_statistics`, with the same numbers.
"""

from collections import OrderedDict
from collections.abc import Mapping
from threading import RLock

import numpy as np

from ._shared import (
    Encoder,
    Portable,
    as_list,
    as_lists,
    caption_counts,
    check_captions,
    check_end_token,
    check_options,
    check_references,
    describe,
    resolve,
)
from .chat_messages import completion_text
from .document_frequencies import DocumentFrequencies
from .packed_vectors import BITS, NO_GRAM, Group, Vectors, cosines, order_of, pack_ngrams, split_groups
from .scoring import Scorer, check_images

# Where so many tokens have been seen, what is kept is forgotten and their numbering begins anew.
_MOST_TOKENS = 60_000
# Samples that are compared at a time: their candidates' weights are held in one dense array.
_BLOCK = 64


class CiderReward(Portable):
    """CIDEr of each completion with the document frequencies of a fixed table, the same in whatever batch.

    An instance is what TRL's GRPOTrainer takes among `reward_funcs`; `self_critical` is the form of SCST, and `scores`
    that of any other loop. It can be pickled, without what it has kept, also where evaluate loaded it. Several threads
    may call one instance: what is kept is read and changed by one of them at a time.

    Args:
        document_frequencies: A table of the training references, its `to_dict()` or its path.
        options, named_options: See `scoring.Scorer`; n, tokenizer, stem and end_token must be the table's. Among token
            ids, samples are cut off behind the end token, and those without it do not end; to texts it is appended.
        references: The dataset's column that holds the references of a prompt.
        cache_size: Samples whose references' vectors are kept, about 4 kB each.

    Raises:
        ValueError: The table was made with other settings or of one image, or an option is out of range.
        TypeError: end_token is an int for texts, or a str for ids.

    >>> table = DocumentFrequencies.from_references([["a cat sits"], ["a dog runs"]])
    >>> reward = CiderReward(table)
    >>> [round(value, 3) for value in reward(completions=["a cat sits", "a dog"], references=[["a cat sits"]] * 2)]
    [7.5, 0.0]
    """

    def __init__(
        self,
        document_frequencies: str | Mapping | DocumentFrequencies,
        *options,
        references: str = "references",
        cache_size: int = 1 << 14,
        **named_options,
    ):
        check_options(orders={"cache_size": cache_size})
        scorer = Scorer(*options, **named_options)
        scorer.check()
        if isinstance(document_frequencies, str) and document_frequencies == "corpus":
            raise ValueError("document_frequencies is 'corpus', expected a table: those of a batch change with it")
        self._table = DocumentFrequencies.of(document_frequencies)
        self._table.check(**{**scorer.table_options(), "tokenizer": resolve(scorer.tokenizer).name})
        check_images(self._table)
        self._ids = resolve(scorer.tokenizer).split is None
        check_end_token(scorer.end_token, are_texts=not self._ids)
        self._scorer = scorer.replace(document_frequencies=self._table)
        self._column, self._cache_size = references, cache_size
        fits = scorer.variant != "cider_r" and scorer.n * BITS <= 64
        self._fits = fits and len(self._table.vocabulary) < _MOST_TOKENS
        self.__name__, self._lock = f"{scorer.variant}_reward", RLock()
        self._forget()

    def __call__(self, prompts=None, completions=None, completion_ids=None, **columns) -> list[float | None]:
        """One reward per completion, with the arguments that GRPOTrainer passes.

        Args:
            prompts: Not used.
            completions: Texts, or lists of chat messages of which the assistant's last one counts; one without text
                (a call of a tool, an empty list) scores 0.0 as an empty text does.
            completion_ids: Lists of token ids; used instead when tokenizer is "none".
            columns: The dataset's columns, one item per completion, with the references among them; others are not
                used. Where the references are None, a row of another task, so is the reward.

        Raises:
            ValueError: The column of references is missing, or differs in number.
            TypeError: A completion or reference is something else; the message names it.
        """
        if self._column not in columns:
            raise ValueError(f"there is no column {self._column!r} of references, expected it among {list(columns)}")
        if self._ids and completion_ids is not None:
            completions = completion_ids
        elif not self._ids:
            completions = [completion_text(item, i) for i, item in enumerate(as_list(completions, "completions"))]
        completions, references = as_lists(completions, columns[self._column], "completion")
        absent = [group is None for group in references]
        if any(absent):
            # Something takes their place, so that an error names the row as it was passed.
            nothing = [0] if self._ids else ""
            completions = [nothing if gone else item for gone, item in zip(absent, completions)]
            references = [[nothing] if gone else group for gone, group in zip(absent, references)]
        found = self.scores(completions, references).tolist()
        return [None if gone else score for gone, score in zip(absent, found)]

    def self_critical(self, samples, baselines, references) -> list[list[float]]:
        """Self-critical training's reward: what each sample scores above its image's greedy caption.

        Args:
            samples: Per image, the list of its samples: texts, or lists of token ids.
            baselines: Per image, its greedy caption.
            references: Per image, its references.

        Returns:
            Per image, one number per sample.

        Raises:
            ValueError, TypeError: They differ in number, or an item is something else.
        """
        groups = [as_list(group, f"samples[{i}]") for i, group in enumerate(as_list(samples, "samples"))]
        baselines, references = as_lists(baselines, references, "image")
        if len(groups) != len(baselines):
            raise ValueError(
                f"there are samples of {len(groups)} images and {len(baselines)} baselines, expected as many"
            )
        sizes = [len(group) for group in groups]
        image = np.repeat(np.arange(len(groups)), sizes).tolist()
        flat = [sample for group in groups for sample in group]
        found = self.scores(flat + baselines, [references[i] for i in image] + references)
        above = found[: len(flat)] - found[len(flat) :][image]
        return [part.tolist() for part in np.split(above, np.cumsum(sizes)[:-1])]

    def scores(self, candidates, references) -> np.ndarray:
        """The CIDEr of each candidate, 0..scale (candidates,).

        Args:
            candidates: Texts, or lists of token ids (tokenizer "none").
            references: The references of each, as in `compute`.

        Raises:
            ValueError, TypeError: As `compute` does.
        """
        candidates, references = as_lists(candidates, references, "completion")
        candidates = self._checked(candidates)
        blocks = [slice(start, start + _BLOCK) for start in range(0, len(candidates), _BLOCK)]
        try:
            similarity = np.concatenate([self._similarity(candidates[rows], references[rows]) for rows in blocks])
        except (TypeError, ValueError):
            # References are checked where they are new; here all are, so that the right row is named.
            check_references(references)
            raise
        return self._scorer.samples({"similarity": similarity})["cider"]

    def __getstate__(self):
        kept = ("_encoder", "_groups", "_packed_table", "_lock")
        return {name: value for name, value in self.__dict__.items() if name not in kept}

    def __setstate__(self, state):
        self.__dict__.update(state)
        self._lock = RLock()
        self._forget()

    def _forget(self) -> None:
        # The groups first: under another numbering they are wrong, should an interrupt come between the two.
        self._groups = OrderedDict()
        self._encoder = self._new_encoder()
        if self._fits:
            keys, frequency = self._table.packed(BITS)
            # Behind the last stands what an n-gram has that the table lacks.
            idf = self._scorer.idf(self._table.num_images, np.append(frequency, 0))
            self._packed_table = np.append(keys, NO_GRAM), idf

    def _new_encoder(self) -> Encoder:
        # Ids hold their end themselves, or lack it: see `_checked` and `_with_ends`.
        end_token = None if self._ids else self._scorer.end_token
        return Encoder(self._scorer.tokenizer, self._scorer.stem, end_token, self._table.vocabulary)

    def _checked(self, candidates: list) -> list:
        """Candidates of the kind that the tokenizer takes, ids cut off behind the end."""
        self._check_kind(candidates[0], "completions[0]")
        candidates, _ = check_captions(candidates, [[0] if self._ids else ""] * len(candidates))
        end = self._scorer.end_token
        if self._ids and end is not None:
            return [ids[: ids.index(end) + 1] if end in ids else ids for ids in candidates]
        return candidates

    def _check_kind(self, item, place: str) -> None:
        if isinstance(item, str) == self._ids:
            expected = "token ids" if self._ids else "str"
            raise TypeError(f"{place} is {describe(item)}, expected {expected} with tokenizer={self._table.tokenizer}")

    def _similarity(self, candidates: list, references: list) -> np.ndarray:
        """Similarity per order (candidates, n)."""
        found = self._kept_vectors(candidates, references) if self._fits else None
        if found is None:
            return self._general_similarity(candidates, references)
        return cosines(*found, self._scorer.variant, self._scorer.sigma)

    def _kept_vectors(self, candidates: list, references: list) -> tuple[Vectors, list[Group]] | None:
        """The vectors of candidates and of their references; None where tokens are too many to number."""
        # Both sides under one numbering: between them no other thread may begin it anew.
        with self._lock:
            if len(self._encoder) > _MOST_TOKENS:
                self._forget()
            groups = self._groups_of(references)
            vectors = None if groups is None else self._vectors(candidates, np.arange(len(candidates)))
            return None if vectors is None else (vectors, groups)

    def _general_similarity(self, candidates: list, references: list) -> np.ndarray:
        groups = self._with_ends(self._checked_groups(references))
        counts = caption_counts(candidates, groups, self._scorer.n, self._new_encoder())
        return self._scorer.statistics_of_counts(counts)["similarity"]

    def _with_ends(self, groups: list[list]) -> list[list]:
        end = self._scorer.end_token
        return [[[*ids, end] for ids in group] for group in groups] if self._ids and end is not None else groups

    def _groups_of(self, references: list) -> list[Group] | None:
        """The vectors of each sample's references, kept or new; None where tokens are too many to number."""
        keys = list(map(_hashable, references))
        missing = {key: group for key, group in zip(keys, references) if key not in self._groups}
        found = {key: self._groups[key] for key in keys if key not in missing}
        if missing:
            new = self._new_groups(self._checked_groups(missing.values()))
            if new is None:
                return None
            found.update(zip(missing, new))
        for key, group in found.items():
            self._groups[key] = group
            self._groups.move_to_end(key)
        while len(self._groups) > self._cache_size:
            self._groups.popitem(last=False)
        return [found[key] for key in keys]

    def _checked_groups(self, references) -> list[list]:
        groups = check_references(list(references))
        for group in groups:
            self._check_kind(group[0], "a reference")
        return groups

    def _new_groups(self, groups: list[list]) -> list[Group] | None:
        groups = self._with_ends(groups)
        sizes = np.array([len(group) for group in groups])
        ends, n = np.cumsum(sizes), self._scorer.n
        captions = [caption for group in groups for caption in group]
        vectors = self._vectors(captions, np.repeat(np.arange(len(groups)), sizes))
        if vectors is None:
            return None
        first_row = (ends - sizes) * n
        return split_groups(vectors._replace(row=vectors.row - first_row[vectors.sample]), np.append(0, ends))

    def _vectors(self, captions: list, sample: np.ndarray) -> Vectors | None:
        """The vectors of captions, of which each has the number of its sample; None where tokens are too many."""
        tokens, lengths = self._encoder.encode(captions)
        if len(self._encoder) >= (1 << BITS) - 1:
            return None
        n, size = self._scorer.n, len(captions)
        key, caption = pack_ngrams(tokens, lengths, n)
        key, gram = np.unique(key, return_inverse=True)
        # One integer for (sample, n-gram, caption), so that equal ones are counted and the others come in that order.
        for_gram, for_caption = len(key).bit_length(), size.bit_length()
        entry = (((sample[caption] << for_gram) | gram) << for_caption) | caption
        entry, count = np.unique(entry, return_counts=True)
        caption, gram = entry & ((1 << for_caption) - 1), (entry >> for_caption) & ((1 << for_gram) - 1)
        row, weight = caption * n + order_of(key)[gram], self._idf(key)[gram] * count
        norm = np.sqrt(np.bincount(row, weight * weight, size * n)).reshape(size, n)
        return Vectors(key[gram], sample[caption], row, weight, norm, lengths)

    def _idf(self, keys: np.ndarray) -> np.ndarray:
        """Inverse document frequencies of packed n-grams, fastest where these ascend."""
        known, idf = self._packed_table
        place = np.searchsorted(known, keys)
        return idf[np.where(known[place] == keys, place, -1)]


def _hashable(group) -> str | tuple:
    """The references of a sample as a key."""
    if isinstance(group, str):
        return group
    group = as_list(group, "references")
    return tuple(group) if group and isinstance(group[0], str) else tuple(map(_tuple, group))


def _tuple(item):
    return tuple(as_list(item, "references")) if hasattr(item, "__len__") and not isinstance(item, str) else item
