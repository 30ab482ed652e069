"""recall_at_k over shards: each shard of images meets each shard of texts, and the counts of items add up.

A worker holds two shards and one block of their products, however many shards there are. The similarity of a correct
pair is found in a pass before, since a query's best correct item may be in any shard.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..files.arrays import open_array
from ..recall_at_k.arrays import as_matrix, check_numbers, compute_type
from ..recall_at_k.inputs import check_choice, check_k, check_pairs, num_zero
from ..recall_at_k.products import ProductBlocks
from ..recall_at_k.queries import DIRECTIONS, queries_of, statistics_of
from ..recall_at_k.ranks import Counts, ItemPairs, MatrixBlocks, Pairs, count
from ..recall_at_k.rounding import Thresholds
from ..recall_at_k.scoring import SIMILARITIES, Scorer
from ..recall_at_k.vectors import Vectors, check_range
from ..utils.containers import as_list, check_readable
from ..utils.scorers import Found
from .engines import serial


def sample_statistics(
    predictions: Sequence | None = None,
    references=None,
    image_embeddings: Sequence | None = None,
    text_embeddings: Sequence | None = None,
    backward_references=None,
    similarity: str = "cosine",
    directions: str = "both",
    fraction_at: Sequence[int] = (),
    engine: Callable = serial,
    exclude_self: bool = False,
) -> dict[str, np.ndarray]:
    """`recall_at_k.scoring.sample_statistics` of shards: the same numbers.

    Args:
        predictions: Shards of the rows of a similarity matrix; or
        image_embeddings, text_embeddings: Shards of each side: arrays, or paths of .npy or .safetensors files.
        references, backward_references: As for the whole: numbers count through all shards in their order.
        similarity, directions, fraction_at: As for the whole.
        engine: Where pairs of shards are compared, see `engines`.
        exclude_self: As for the whole.

    Returns:
        As for the whole.

    Raises:
        ValueError, TypeError: An input is wrong; the message names the shard.
        OSError: A file cannot be read.

    >>> sample_statistics([[[3, 4]], [[1, 5]]])["better"].tolist()
    [1, 0, 0, 0]
    """
    check_choice(directions, DIRECTIONS, "directions")
    check_choice(similarity, SIMILARITIES, "similarity")
    fraction_at = check_k(fraction_at) if len(fraction_at) else ()
    grid = _inspect(_sides(predictions, image_embeddings, text_embeddings), similarity, engine)
    pairs = check_pairs(references, backward_references, *grid.shape, exclude_self)
    return _count(grid, pairs, directions, fraction_at, engine)


def find(
    scorer: Scorer,
    predictions: Sequence | None = None,
    references=None,
    image_embeddings: Sequence | None = None,
    text_embeddings: Sequence | None = None,
    backward_references=None,
    engine: Callable = serial,
) -> Found:
    """What `Scorer.find` finds, of shards; see `sample_statistics`.

    Raises:
        ValueError: Folds are asked for, which are parts of one file; or as `sample_statistics`.
        TypeError, OSError: As `sample_statistics`.
    """
    scorer.check()
    if scorer.folds is not None:
        raise ValueError("folds do not go with shards: they are parts of one file")
    grid = _inspect(_sides(predictions, image_embeddings, text_embeddings), scorer.similarity or "cosine", engine)
    pairs = check_pairs(references, backward_references, *grid.shape, scorer.exclude_self)
    statistics = _count(grid, pairs, scorer.directions, scorer.fraction_at, engine)
    has_zeros = image_embeddings is not None and scorer.similarity == "cosine"
    zeros = sum(shard.num_zero for side in grid.sides for shard in side) if has_zeros else None
    return scorer.found(statistics, pairs, grid.shape, zeros)


def _count(grid: "_Grid", pairs: ItemPairs, directions: str, fraction_at: Sequence[int], engine: Callable) -> dict:
    every = Pairs(*map(np.concatenate, zip(*pairs)))
    cells, members = _cells(grid, every)
    defined = Thresholds(*np.empty((2, len(every.rows))))
    for number, found in engine(_define, cells):
        for array, own in zip(defined, found):
            array[members[number]] = own
    queries = queries_of(pairs, defined, grid.shape, directions, bool(len(fraction_at)))
    thresholds = [side and side.thresholds for side in queries]
    counts = [None if t is None else Counts(*np.zeros((2, *t.values.shape), np.int64)) for t in thresholds]
    work = [
        (cell, [t and Thresholds(*(array[:, part] for array in t)) for t, part in zip(thresholds, cell.parts)])
        for cell in cells
    ]
    for number, found in engine(_counts, work):
        for total, part, own in zip(counts, cells[number].parts, found):
            if total is not None:
                total.better[:, part] += own.better
                total.equal[:, part] += own.equal
    return statistics_of(queries, counts, grid.shape, fraction_at)


class _Shard(NamedTuple):
    """What one shard holds, without holding it."""

    place: str
    source: object
    shape: tuple[int, int]
    dtype: np.dtype
    norm: float
    num_zero: int


class _Grid(NamedTuple):
    """All shards that have rows; the second side of a matrix is one shard, None."""

    sides: tuple[list, list]
    offsets: tuple[np.ndarray, np.ndarray]
    dtype: np.dtype
    cosine: bool

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.offsets[0][-1]), int(self.offsets[1][-1])


class _Cell(NamedTuple):
    """One shard of rows and one of columns, where they lie in the whole, and the pairs to define between them."""

    rows: object
    columns: object
    parts: tuple[slice, slice]
    dtype: np.dtype
    cosine: bool
    pairs: Pairs

    def blocks(self) -> MatrixBlocks | ProductBlocks:
        """Their similarities."""
        rows = _open(self.rows, "rows")
        if self.columns is None:
            return MatrixBlocks(rows, self.dtype)
        return ProductBlocks(*(Vectors(side, self.dtype, self.cosine) for side in (rows, _open(self.columns, "rows"))))


def _sides(predictions, images, texts) -> list[list[tuple]]:
    if (predictions is None) == (images is None) or (images is None) != (texts is None):
        raise ValueError(
            "expected either predictions (shards of a similarity matrix), or image_embeddings and text_embeddings"
        )
    named = {"predictions": predictions} if images is None else {"image_embeddings": images, "text_embeddings": texts}
    return [
        [(shard if isinstance(shard, str) else f"{side}[{i}]", shard) for i, shard in enumerate(_list(shards, side))]
        for side, shards in named.items()
    ]


def _list(shards, side: str):
    check_readable(shards, side)
    # An array of shards is cut along its first axis, not made of Python's numbers.
    return shards if hasattr(shards, "shape") and len(shards.shape) > 2 else as_list(shards, side)


def _inspect(sides: list[list[tuple]], similarity: str, engine: Callable) -> _Grid:
    """Looks at every number of every shard once."""
    finite = len(sides) == 2
    work = [(place, source, finite) for side in sides for place, source in side]
    found = dict(engine(_look, work))
    shards = iter([found[number] for number in range(len(work))])
    sides = [[shard for shard in (next(shards) for _ in side) if shard.shape[0]] for side in sides]
    for side in sides:
        if not side:
            raise ValueError("there is no row in any shard of a side, expected at least one")
        for shard in side:
            if shard.shape[1] != sides[0][0].shape[1]:
                raise ValueError(
                    f"{shard.place} has {shard.shape[1]} columns, expected {sides[0][0].shape[1]} as in "
                    f"{sides[0][0].place}"
                )
    dtype = max((shard.dtype for side in sides for shard in side), key=lambda dtype: dtype.itemsize)
    if similarity == "dot" and finite:
        check_range([max(shard.norm for shard in side) for side in sides], dtype)
    offsets = [np.cumsum([0, *(shard.shape[0] for shard in side)]) for side in sides]
    if not finite:
        sides, offsets = [*sides, [None]], [*offsets, np.array([0, sides[0][0].shape[1]])]
    return _Grid(tuple(sides), tuple(offsets), dtype, similarity == "cosine")


def _look(work: tuple) -> _Shard:
    place, source, finite = work
    check_readable(source, place)
    shape = open_array(source).shape if isinstance(source, str) else tuple(getattr(source, "shape", ()))
    if len(shape) == 2 and shape[0] == 0:
        return _Shard(place, source, shape, np.dtype(np.float32), 0.0, 0)
    matrix = _open(source, place)
    check_numbers(matrix, place, finite)
    norm = Vectors(matrix, np.dtype(float), False).largest_norm() if finite else 0.0
    zeros = num_zero(matrix) if finite else 0
    return _Shard(place, source, tuple(matrix.shape), compute_type(matrix), norm, zeros)


def _open(source, place: str):
    return as_matrix(open_array(source) if isinstance(source, str) else source, place)


def _cells(grid: _Grid, pairs: Pairs) -> tuple[list[_Cell], list[np.ndarray]]:
    """All pairs of shards, and the numbers of the pairs of items in each."""
    numbers = [np.searchsorted(edges, items, "right") - 1 for edges, items in zip(grid.offsets, pairs)]
    width = len(grid.sides[1])
    cell_of = numbers[0] * width + numbers[1]
    order = np.argsort(cell_of, kind="stable")
    edges = np.searchsorted(cell_of[order], np.arange(len(grid.sides[0]) * width + 1))
    cells, members = [], []
    for number, (start, stop) in enumerate(zip(edges, edges[1:])):
        places = divmod(number, width)
        rows, columns = (side[place] for side, place in zip(grid.sides, places))
        parts = tuple(slice(int(e[place]), int(e[place + 1])) for e, place in zip(grid.offsets, places))
        members.append(order[start:stop])
        own = Pairs(*(items[members[-1]] - part.start for items, part in zip(pairs, parts)))
        cells.append(_Cell(rows.source, columns and columns.source, parts, grid.dtype, grid.cosine, own))
    return cells, members


def _define(cell: _Cell) -> Thresholds:
    return cell.blocks().define(cell.pairs) if len(cell.pairs.rows) else Thresholds(np.empty(0), np.empty(0))


def _counts(work: tuple) -> tuple[Counts | None, Counts | None]:
    cell, thresholds = work
    return count(cell.blocks(), *thresholds)
