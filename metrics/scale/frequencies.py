"""CIDEr's first pass: the document frequencies of every batch of references, and their sum.

The sum is what `document_frequencies="corpus"` means for the whole set. It is handed to every worker of the second
pass, `BatchStatistics("cider", document_frequencies=...)`.
"""

import io
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ..cider.document_frequencies import DocumentFrequencies
from ..cider.scoring import SINGLE_IMAGE, Scorer
from ..utils.checks import check_references
from .batches import BatchStatistics, column, keep_encoder
from .fingerprints import fingerprint


class BatchFrequencies:
    """The table of document frequencies of a batch.

    Args:
        references: The column that holds the references of every image.
        options: n, tokenizer, stem and end_token, as for cider.

    >>> table_of = BatchFrequencies(tokenizer="whitespace")
    >>> merge([table_of.table({"references": [[text]]}) for text in ("a cat", "a dog")])["a"]
    2
    """

    def __init__(self, references: str = "references", **options):
        self.references, self.scorer, self._encoder = references, Scorer.for_table(**options), None

    @classmethod
    def of(cls, statistics: BatchStatistics) -> "BatchFrequencies":
        """What makes the table for these statistics."""
        return cls(statistics.references, **statistics.scorer.table_options())

    def with_encoder(self) -> "BatchFrequencies":
        """The same for the batches of one shard in their order: words that a batch has had cost less in the next."""
        return keep_encoder(self)

    def table(self, batch: Mapping) -> DocumentFrequencies:
        """The table of a batch.

        Raises:
            ValueError, TypeError: The column is missing, or an item is wrong; the message names it.
        """
        references = check_references(column(batch, self.references))
        return self.scorer.of(not isinstance(references[0][0], str)).frequencies(references, self._encoder)

    def __call__(self, batch: Mapping) -> dict[str, np.ndarray]:
        """The same as one row with one column, `table`: the bytes of the file that `DocumentFrequencies.save` writes.

        Of a batch without a row, no column.
        """
        if not column(batch, self.references):
            return {}
        return {"table": np.array([to_bytes(self.table(batch))], object)}

    def fingerprint(self) -> str:
        """A hash of cider's code, the options and the column read."""
        columns = ["document frequencies", self.references]
        return fingerprint(self.scorer.NAME, columns, self.scorer.table_options(), module="frequencies")


def to_bytes(table: DocumentFrequencies) -> bytes:
    """A table as bytes; `from_bytes` reads them."""
    buffer = io.BytesIO()
    table.save(buffer)
    return buffer.getvalue()


def from_bytes(content: bytes) -> DocumentFrequencies:
    """The table that `to_bytes` wrote.

    >>> from_bytes(to_bytes(BatchFrequencies().table({"references": [["a cat"]]})))["a", "cat"]
    1
    """
    return DocumentFrequencies.load(io.BytesIO(content))


def merge(tables: Iterable[DocumentFrequencies]) -> DocumentFrequencies | None:
    """The sum of any number of tables; None where there is none.

    Tables of similar size meet first, so that a large one is not copied once for every small one.
    """
    waiting: list[DocumentFrequencies] = []
    for table in tables:
        waiting.append(table)
        while len(waiting) > 1 and waiting[-2].num_images <= waiting[-1].num_images:
            waiting[-2:] = [waiting[-2].merge(waiting[-1])]
    while len(waiting) > 1:
        waiting[-2:] = [waiting[-2].merge(waiting[-1])]
    return waiting[0] if waiting else None


def merge_corpus(tables: Iterable[DocumentFrequencies]) -> DocumentFrequencies:
    """The table of a whole set, without the n-grams of a single image (the score is the same).

    Raises:
        ValueError: It is a set of no image, or of one: its idf would be 0 everywhere.
        TypeError: Some tables are of texts and some of token ids.
    """
    table = merge(_of_one_kind(tables))
    if table is None:
        raise ValueError("there is no row, expected at least one")
    if table.num_images == 1:
        raise ValueError(SINGLE_IMAGE)
    return table.finalize()


def _of_one_kind(tables: Iterable[DocumentFrequencies]) -> Iterator[DocumentFrequencies]:
    kinds = set()
    for table in tables:
        kinds.add(table.tokenizer == "none")
        if len(kinds) > 1:
            raise TypeError("some references are texts and some are token ids, expected all of one kind")
        yield table
