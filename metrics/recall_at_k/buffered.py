"""What add_batch stores for compute, as Arrow tables: similarity rows, or paired embeddings with the ids of both.

The tables are made from arrays at once. Evaluate's own way turns every number into a Python object: 27 s and 6 GB for
the similarities of COCO's test images.
"""

from typing import NamedTuple

import numpy as np

from ._shared import as_items, as_list, check_options, describe, is_container, not_stored
from .arrays import as_matrix, check_numbers, compute_type
from .inputs import Embeddings, Ranked, check_references, own_pairs, without_own
from .ranks import Pairs

# How much a repeated vector may differ from the first one of its id, as a part of its norm (where that is above 1).
SAME = 1e-3


def similarity_rows(predictions, references):
    """A table of similarity rows and the correct columns of each.

    Raises:
        ValueError, TypeError: See `inputs.check_similarity` and `inputs.check_references`; no references were given.
    """
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    matrix = as_matrix(predictions, "predictions")
    check_numbers(matrix, "predictions")
    if references is None:
        raise ValueError(
            "references is None, expected the correct columns of each row: rows that come in batches have no diagonal"
        )
    rows, columns = matrix.shape
    pairs = check_references(references, rows, columns)
    offsets = np.searchsorted(pairs.rows, np.arange(rows + 1))
    correct = pyarrow.ListArray.from_arrays(pyarrow.array(offsets.astype(np.int32)), pyarrow.array(pairs.columns))
    flat = pyarrow.array(np.asarray(matrix[:], compute_type(matrix)).reshape(-1))
    return pyarrow.table({"predictions": _lists(flat, columns), "references": correct})


def paired_rows(image_embeddings, text_embeddings, image_ids, text_ids):
    """A table of paired rows: each a text with the image that it is correct for, and the ids of both.

    Raises:
        ValueError: The four differ in number, the two sides in dimensions; or a number is NaN or infinite; or Arrow
            cannot hold an id.
        TypeError: An id is neither int nor str, or ids are mixed.
    """
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    sides = {"image_embeddings": image_embeddings, "text_embeddings": text_embeddings}
    for place, side in sides.items():
        sides[place] = as_matrix(side, place)
        check_numbers(sides[place], place, finite=True)
    images, texts = sides.values()
    ids = [_ids(image_ids, "image_ids"), _ids(text_ids, "text_ids")]
    sizes = [images.shape[0], texts.shape[0], *map(len, ids)]
    if len(set(sizes)) > 1 or images.shape[1] != texts.shape[1]:
        raise ValueError(
            f"image_embeddings are {images.shape}, text_embeddings {texts.shape}, image_ids {sizes[2]} "
            f"and text_ids {sizes[3]}, expected one of each per pair"
        )
    kinds = {type(side[0]) for side in ids}
    if len(kinds) > 1:
        raise TypeError(
            f"image_ids are {type(ids[0][0]).__name__} and text_ids {type(ids[1][0]).__name__}, expected "
            "both int or both str"
        )
    both = np.stack([np.asarray(side[:], compute_type(images, texts)) for side in (images, texts)], axis=1)
    vectors = _lists(pyarrow.array(both.reshape(-1)), both.shape[2])
    flat = _stored(ids)
    return pyarrow.table({"predictions": _lists(vectors, 2), "references": _lists(flat, 2)})


class NewText(NamedTuple):
    """The ids of an image and of a text that was given none: it is numbered, and no item of the other side."""

    image: object
    text: object


def _stored(ids: list[list]):
    """The ids of both sides in turn, as an Arrow array."""
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    try:
        return pyarrow.array([item for pair in zip(*ids) for item in pair])
    except (OverflowError, UnicodeEncodeError) as error:
        raise ValueError(not_stored(dict(zip(("image_ids", "text_ids"), ids)))) from error


def pair_ids(references) -> list[tuple]:
    """The ids of image and text of each row: pairs of them, or the image's alone, with which each row is a new text.

    Raises:
        TypeError: A row is neither; ids are neither int nor str, or mixed.

    >>> pair_ids([(7, 1), (7, 2)]), pair_ids(["a"])
    ([(7, 1), (7, 2)], [NewText(image='a', text='0')])
    """
    # A copy, whose rows are put in place of arrays.
    rows = list(as_items(references, "references"))
    if isinstance(rows[0], str | int | np.integer):
        images = _ids(rows, "references")
        return [NewText(image, type(image)(number)) for number, image in enumerate(images)]
    for i, row in enumerate(rows):
        if not isinstance(row, list | tuple) and is_container(row):
            rows[i] = row = as_list(row, f"references[{i}]")
        if not isinstance(row, list | tuple) or len(row) != 2:
            raise TypeError(f"references[{i}] is {describe(row)}, expected the ids of an image and a text")
    images, texts = zip(*rows)
    return list(zip(_ids(images, "image_ids"), _ids(texts, "text_ids")))


def _lists(values, size: int):
    """An Arrow array as one of lists of equal size."""
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    if len(values) >= 1 << 31:
        raise ValueError(f"a batch holds {len(values)} numbers, expected fewer than 2**31: add it in parts")
    return pyarrow.ListArray.from_arrays(pyarrow.array(np.arange(0, len(values) + 1, size, dtype=np.int32)), values)


def read(predictions, references, exclude_self: bool = False) -> Ranked:
    """What the columns of all batches hold.

    Args:
        predictions, references: Arrow's ChunkedArrays, as stored by the two functions above.
        exclude_self: Whether row and column i, or items of the same id on both sides, are one item.

    Returns:
        A similarity matrix, or embeddings of distinct ids, sorted, with these ids.

    Raises:
        ValueError: Batches differ in width, or vectors of the same id differ; or items are to be left out of their own
            gallery, and none is on both sides.
    """
    import pyarrow  # Takes time, for Parquet and Arrow alone.

    check_options(flags={"exclude_self": exclude_self})

    if not pyarrow.types.is_list(predictions.type.value_type):
        matrix = _array(predictions)
        counts = np.concatenate([chunk.value_lengths().to_numpy() for chunk in references.chunks])
        correct = np.concatenate([chunk.flatten().to_numpy() for chunk in references.chunks])
        if correct.max(initial=0) >= matrix.shape[1]:
            raise ValueError(f"references hold {correct.max()}, expected columns 0 to {matrix.shape[1] - 1}")
        pairs = Pairs(np.repeat(np.arange(len(counts)), counts), correct)
        return Ranked(matrix, without_own(pairs, pairs, own_pairs(*matrix.shape, exclude_self)))
    vectors = _array(pyarrow.chunked_array([chunk.flatten() for chunk in predictions.chunks]))
    ids = pyarrow.chunked_array([chunk.flatten() for chunk in references.chunks]).to_numpy().reshape(-1, 2)
    sides = [_first_of_each(vectors[axis::2], ids[:, axis], name) for axis, name in enumerate(("image", "text"))]
    (images, image_ids, image), (texts, text_ids, text) = sides
    pairs = Pairs(*np.unique(np.stack([image, text]), axis=1))
    own = _on_both_sides(image_ids, text_ids) if exclude_self else own_pairs(0, 0, False)
    ids = image_ids.tolist(), text_ids.tolist()
    return Ranked(Embeddings(images, texts), without_own(pairs, pairs, own), ids)


def _on_both_sides(image_ids: np.ndarray, text_ids: np.ndarray) -> Pairs:
    own = Pairs(*np.intersect1d(image_ids, text_ids, assume_unique=True, return_indices=True)[1:])
    if not len(own.rows):
        images, texts = (", ".join(map(repr, ids[:2].tolist())) for ids in (image_ids, text_ids))
        raise ValueError(
            f"exclude_self is True and no id is on both sides: image_ids begin with {images} and "
            f"text_ids with {texts}, expected one id for an item, whichever side it is on"
        )
    return own


def _array(column) -> np.ndarray:
    """A column of lists of numbers as a matrix; a single chunk is not copied."""
    sizes = np.unique(np.concatenate([chunk.value_lengths().to_numpy() for chunk in column.chunks]))
    if len(sizes) > 1:
        raise ValueError(f"batches hold rows of {' and '.join(map(str, sizes))} numbers, expected all of one length")
    chunks = [chunk.flatten().to_numpy().reshape(-1, sizes[0]) for chunk in column.chunks]
    return chunks[0] if len(chunks) == 1 else np.concatenate(chunks)


def _first_of_each(vectors: np.ndarray, ids: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The first vector of each id, the ids, and the place of each row among them."""
    distinct, first, place = np.unique(ids, return_index=True, return_inverse=True)
    repeats = np.flatnonzero(first[place] != np.arange(len(ids)))
    for part in np.array_split(repeats, max(1, len(repeats) * vectors.shape[1] >> 22)):
        kept = vectors[first[place[part]]]
        far = np.abs(vectors[part] - kept).max(axis=1) > SAME * np.maximum(np.linalg.norm(kept, axis=1), 1)
        if far.any():
            raise ValueError(
                f"{far.sum()} rows repeat one of {name}_ids with another vector, the first {name} id is "
                f"{ids[part[far][0]]}, expected one vector per id"
            )
    return vectors[first], distinct, place


def _ids(ids, place: str) -> list:
    ids = as_items(ids, place)
    kind = str if ids and isinstance(ids[0], str) else int
    for i, item in enumerate(ids):
        if isinstance(item, bool) or not isinstance(item, kind if kind is str else int | np.integer):
            raise TypeError(f"{place}[{i}] is {describe(item)}, expected {kind.__name__} (ids are all int or all str)")
    return list(map(kind, ids))
