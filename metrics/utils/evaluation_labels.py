"""The rows of one evaluation of a Trainer, and what their labels tell of the dataset that they belong to.

A Trainer hands over predictions and labels without a word on where they come from. The labels of a dataset are the
same at each evaluation, mostly its own column, and mostly one of the row's references: by that they are compared.
"""

from collections.abc import Callable

import numpy as np

from .containers import check_readable

# What Trainer pads with, and what its loss leaves out.
IGNORED = -100

# So many plain characters of a label, cut off at its greatest length, begin no other row's reference by chance.
LONG = 20


class Evaluation:
    """The rows of one evaluation as they come: batches of texts (or embeddings) and the labels of each row.

    Args:
        decode: Rows of token ids -> texts; None where rows are embeddings.
        compare: Whether the labels may tell rows apart.
    """

    def __init__(self, decode: Callable | None = None, compare: bool = True):
        self.batches, self.labels, self.count = [], [], 0
        self._last, self._decode, self._compare, self._texts = 0, decode, compare, {}

    @property
    def comparable(self) -> bool:
        """Whether labels came and may be compared."""
        return self._compare and self.labels is not None

    def add(self, rows, size: int, labels) -> None:
        """Takes a batch; without labels of all batches there are none."""
        labels = None if labels is None else label_rows(labels)
        # Trainer gathers as many labels as predictions; what does not match says nothing about rows.
        if labels is None or len(labels) != size:
            self.labels = None
        if self.labels is not None:
            self.labels += labels
        self.batches.append(rows)
        self.count += size
        self._last = size

    def may_have(self, size: int, processes: int) -> bool:
        """Whether these may be the rows of a dataset of that size.

        Several processes fill up the last batch with the first rows again, which then have the first labels.
        """
        surplus = self.count - size
        if surplus <= 0 or processes == 1 or surplus >= self._last or self.labels is None:
            return surplus == 0
        return self.labels[size:] == self.labels[:surplus]

    def informative(self, size: int) -> bool:
        """Whether labels tell rows apart: placeholders, alike in all rows, fit any dataset."""
        return self.labels is not None and (size == 1 or len(set(self.labels[:size])) > 1)

    def label_ids(self) -> list[list[int]]:
        """The numbers of each row's label."""
        return [numbers_of(label).tolist() for label in self.labels]

    def texts(self, labels: list[bytes]) -> list[str]:
        """The plain text of each label, empty where labels are no token ids."""
        missing = [label for label in dict.fromkeys(labels) if label not in self._texts]
        self._texts.update(zip(missing, self._decoded(missing)))
        return [self._texts[label] for label in labels]

    def _decoded(self, labels: list[bytes]) -> list[str]:
        rows = [numbers_of(label) for label in labels]
        if self._decode is None or not all(map(_are_token_ids, rows)):
            return [""] * len(rows)
        try:
            return list(map(plain, self._decode([row.tolist() for row in rows])))
        except (IndexError, KeyError, OverflowError, TypeError, ValueError):
            # Labels may be no token ids at all, such as classes beyond the vocabulary: then they name no text.
            return [""] * len(rows)


def label_rows(labels) -> list[bytes] | None:
    """The labels of each row as the bytes of its numbers, without -100; None where they are no numbers.

    `numbers_of` reads them; as bytes they are small, and equal ones are found at once.

    >>> label_rows([[5, 6, -100]]) == label_rows([[-100, 5, 6, -100]])
    True
    """
    labels = array_of(first_of(labels) if isinstance(labels, tuple) else labels, "label_ids")
    if labels.ndim == 0 or labels.dtype.kind not in "biuf":
        return None
    mark, kind = (b"f", np.float64) if labels.dtype.kind == "f" else (b"i", np.int64)
    labels = labels.reshape(len(labels), -1).astype(kind)
    return [mark + row[kept].tobytes() for row, kept in zip(labels, labels != IGNORED)]


def numbers_of(label: bytes) -> np.ndarray:
    """The numbers of a row's label.

    >>> [numbers_of(label).tolist() for label in label_rows([[5, 6], [7, -100]])]
    [[5, 6], [7]]
    """
    return np.frombuffer(label, np.float64 if label[:1] == b"f" else np.int64, offset=1)


def column_labels(column: list) -> list[bytes] | None:
    """The same of a dataset's column of token ids, rows of any length; None where it holds something else.

    >>> column_labels([[5, 6], [7]]) == [*label_rows([[5, 6]]), *label_rows([[7, -100]])]
    True
    >>> column_labels(["a cat"])
    """
    try:
        rows = [np.asarray(row).reshape(-1) for row in column]
    except ValueError:
        # Lists of lists of several lengths.
        return None
    if any(row.size and row.dtype.kind not in "iu" for row in rows):
        return None
    return [b"i" + row[row != IGNORED].astype(np.int64).tobytes() for row in rows]


def fits_column(label: bytes, known: bytes) -> bool:
    """Whether a label may have been made of the column's: padded, cut off, without its first token or its prompt.

    >>> full, padded, other = label_rows([[1, 5, 6, 2], [5, 6, 2, 0], [5, 7, 6, 2]])
    >>> fits_column(padded, full), fits_column(other, full)
    (True, False)
    """
    if label == known:
        return True
    label, known = numbers_of(label).tolist(), numbers_of(known).tolist()
    if not label or not known:
        return False
    label = _without_padding(label, known)
    # From the other end: padding may stand on the left.
    label = _without_padding(label[::-1], known[::-1])[::-1]
    return _is_within(label, known) or _is_within(known, label)


def fits_references(text: str, references) -> bool:
    """Whether a label's plain text is one of the references, or begins one at some length."""
    group = [references] if isinstance(references, str) else references
    if not text or not isinstance(group, list | tuple):
        return False
    group = [plain(one) for one in group if isinstance(one, str)]
    return text in group or len(text) >= LONG and any(one.startswith(text) for one in group)


def plain(text: str) -> str:
    """A text without blanks and capitals, which tokenizers do not keep.

    >>> plain("A cat .")
    'acat.'
    """
    return "".join(text.split()).lower()


def first_of(values):
    """The first of a tuple or list, which may begin with another."""
    while isinstance(values, tuple | list):
        values = values[0]
    return values


def array_of(values, place: str = "predictions") -> np.ndarray:
    """A NumPy array of an array or tensor.

    Raises:
        TypeError: See `containers.check_readable`.
    """
    check_readable(values, place)
    if hasattr(values, "detach"):
        values = values.detach().cpu()
        # NumPy has no bfloat16.
        values = values.float() if str(values.dtype) == "torch.bfloat16" else values
    return np.asarray(values)


def _without_padding(label: list, known: list) -> list:
    """A label without the run of one token at its end that is not -100 and that the column has not.

    Only where what is left ends as the column's does: else the last word of another row would pass for padding.
    """
    filler, size = label[-1], len(label)
    while size and label[size - 1] == filler:
        size -= 1
    return label[:size] if size and filler not in known and label[size - 1] == known[-1] else label


def _are_token_ids(row: np.ndarray) -> bool:
    return row.dtype.kind == "i" and (not len(row) or 0 <= row.min() <= row.max() < 1 << 31)


def _is_within(part: list, whole: list) -> bool:
    """Whether the tokens of a part are in the whole, in their order."""
    rest = iter(whole)
    return all(token in rest for token in part)
