"""Captions and human judgments of Flickr8k -> candidates, references and ratings.

Every judged pair of picture and caption is a sample of its own, so references repeat and document frequencies count a
picture once for each of its pairs. Published correlations were made that way.
"""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np


class Judged(NamedTuple):
    """Captions that people judged.

    Attributes:
        predictions: One caption per pair.
        references: The captions of its picture.
        ratings: The judgments of each pair (pairs, judgments).
    """

    predictions: list[str]
    references: list[list[str]]
    ratings: np.ndarray


def read_captions(folder: Path) -> dict[str, list[str]]:
    """Reads Flickr8k.token.txt: picture -> its five captions, in order."""
    captions = defaultdict(list)
    for key, caption in _rows(folder / "Flickr8k.token.txt"):
        captions[key.split("#")[0]].append(caption)
    return dict(captions)


def read_test_captions(folder: Path) -> list[list[str]]:
    """The captions of the pictures that Flickr_8k.testImages.txt names."""
    captions = read_captions(folder)
    return [captions[picture] for (picture,) in _rows(folder / "Flickr_8k.testImages.txt")]


def read_expert(folder: Path) -> Judged:
    """ExpertAnnotations.txt: three ratings 1..4 a pair, pairs of a picture with its own caption left out."""
    captions = read_captions(folder)
    rows = [row for row in _judgments(folder / "ExpertAnnotations.txt", captions) if row[0] != row[1]]
    references = [captions[picture] for picture, *_ in rows]
    return Judged([captions[other][number] for _, other, number, _ in rows], references, _ratings(rows))


def read_crowd(folder: Path) -> Judged:
    """CrowdFlowerAnnotations.txt: the share of people who found that the caption describes the picture.

    A picture's own caption that was judged is no reference of that picture, in any of its pairs.
    """
    captions = read_captions(folder)
    rows = list(_judgments(folder / "CrowdFlowerAnnotations.txt", captions))
    own = {(picture, number) for picture, other, number, _ in rows if picture == other}
    kept = {
        picture: [caption for number, caption in enumerate(group) if (picture, number) not in own]
        for picture, group in captions.items()
    }
    references = [kept[picture] for picture, *_ in rows]
    # The share comes first, the two counts it is made of behind it.
    return Judged([captions[other][number] for _, other, number, _ in rows], references, _ratings(rows)[:, :1])


def _judgments(path: Path, captions: dict) -> Iterator[tuple[str, str, int, list[str]]]:
    """Rows: picture, the picture that the caption belongs to, number of the caption, judgments.

    Raises:
        ValueError: A row names a picture without captions.
    """
    for line, (picture, caption_id, *judgments) in enumerate(_rows(path), start=1):
        other, number = caption_id.split("#")
        for name in (picture, other):
            if name not in captions:
                raise ValueError(f"{path}:{line} names {name}, expected a picture of Flickr8k.token.txt")
        yield picture, other, int(number), judgments


def _ratings(rows: list) -> np.ndarray:
    return np.array([judgments for *_, judgments in rows], float)


def _rows(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n").split("\t") for line in file]
