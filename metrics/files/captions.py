"""Files of the field -> predictions and references.

Captions come as COCO's annotation file (a dict whose `annotations` list holds image_id and caption), as a results list
of {image_id, caption}, or as pycocoevalcap takes them, {image id: [caption, ...]}. Ids are compared as text, so that
42 and "42" are the same image.
"""

from collections.abc import Iterable
from typing import NamedTuple

from ..utils.containers import brief
from ..utils.shown_text import visible
from .json_text import read_json

# Of ids in messages.
_LONGEST_ID = 200


class CaptionSet(NamedTuple):
    """Candidates and references of the same images, in the order of the predictions file.

    Attributes:
        ids: Image ids, as text.
        predictions: One caption per image.
        references: The captions of each image.
        left_out: Number of ids that only one of the two files has, and that were left out on request.
    """

    ids: list[str]
    predictions: list[str]
    references: list[list[str]]
    left_out: int


def read_captions(path: str) -> list[tuple[str, str]]:
    """Reads (image id, caption) pairs from one of the three formats.

    Raises:
        ValueError: The file has another shape; the message names the place.
    """
    content = read_json(path)
    place = path
    if isinstance(content, dict):
        if "annotations" not in content:
            return _captions_by_id(content, path)
        content, place = content["annotations"], f"{path}: annotations"
    if not isinstance(content, list):
        raise ValueError(f"{place} is {type(content).__name__}, expected a list of {{image_id, caption}}")
    return [_caption(row, f"{place}[{number}]") for number, row in enumerate(content)]


def _captions_by_id(content: dict, path: str) -> list[tuple[str, str]]:
    groups = {image_id: [group] if isinstance(group, str) else group for image_id, group in content.items()}
    for image_id, group in groups.items():
        if not isinstance(group, list) or not group or not all(isinstance(caption, str) for caption in group):
            raise ValueError(
                f"{path} is a dict with the key {brief(image_id)}, expected annotations among the keys, or a list of "
                "captions under every image id"
            )
    return [(image_id, caption) for image_id, group in groups.items() for caption in group]


def _caption(row, place: str) -> tuple[str, str]:
    if not isinstance(row, dict) or not {"image_id", "caption"} <= row.keys():
        raise ValueError(f"{place} {what_row(row)}, expected a dict with image_id and caption")
    image_id, caption = row["image_id"], row["caption"]
    if isinstance(image_id, bool) or not isinstance(image_id, int | str):
        raise ValueError(f"{place}: image_id is {brief(image_id)}, expected int or str")
    if not isinstance(caption, str):
        raise ValueError(f"{place}: caption is {brief(caption)}, expected str")
    return str(image_id), caption


def captions_by_image(path: str) -> dict[str, list[str]]:
    """Reads the captions of each image, in the order of the file.

    Raises:
        ValueError: see `read_captions`.
    """
    groups: dict[str, list[str]] = {}
    for image_id, caption in read_captions(path):
        groups.setdefault(image_id, []).append(caption)
    return groups


def pair_captions(predictions_path: str, references_path: str, allow_missing: bool = False) -> CaptionSet:
    """Brings the captions of two files together by image id.

    Args:
        predictions_path: One caption per image.
        references_path: Any number of captions per image.
        allow_missing: Leaves out ids that only one of the files has, instead of an error.

    Raises:
        ValueError: An id has two predictions, or ids are missing or unknown; a few of them are named.
    """
    references = captions_by_image(references_path)
    pairs = read_captions(predictions_path)
    predictions = dict(pairs)
    if len(predictions) < len(pairs):
        seen: set[str] = set()
        twice = [image_id for image_id, _ in pairs if image_id in seen or seen.add(image_id)]
        raise ValueError(f"{predictions_path} has more than one caption for {name_some(dict.fromkeys(twice))}")
    missing = [image_id for image_id in references if image_id not in predictions]
    unknown = [image_id for image_id in predictions if image_id not in references]
    ids = [image_id for image_id in predictions if image_id in references]
    if ids or not missing or not unknown:
        _check_ids(missing, unknown, predictions_path, references_path, allow_missing)
    if not ids:
        raise ValueError(never_meet({predictions_path: predictions, references_path: references}, "image id"))
    return CaptionSet(ids, [predictions[i] for i in ids], [references[i] for i in ids], len(missing) + len(unknown))


def _check_ids(missing, unknown, predictions_path, references_path, allow_missing) -> None:
    problems = []
    if missing:
        problems.append(f"{predictions_path} has no caption for {name_some(missing)} of {references_path}")
    if unknown:
        problems.append(f"{references_path} has no caption for {name_some(unknown)} of {predictions_path}")
    if problems and not allow_missing:
        raise ValueError("; ".join(problems) + " (--allow-missing scores the others)")


def what_row(row) -> str:
    """Says what stands in the place of a row: of a dict its keys, since a wrong one is what is looked for.

    >>> what_row({"image_id": 1, "text": "a cat"}), what_row("a cat")
    ("has the keys ['image_id', 'text']", "is 'a cat'")
    """
    return f"has the keys {brief(list(row), 200)}" if isinstance(row, dict) else f"is {brief(row)}"


def never_meet(sides: dict[str, Iterable], kind: str) -> str:
    """Says that files have no id in common, and shows the first two ids of each.

    >>> never_meet({"a.json": ["1", "2", "3"], "b.json": ["cat.jpg"]}, "image id")
    'a.json and b.json have no image id in common: a.json has 1, 2 and 1 more, b.json has cat.jpg'
    """
    shown = []
    for path, ids in sides.items():
        first = ", ".join(_short_id(one) for one in [*ids][:2]) or "none"
        shown.append(f"{path} has {first}" + (f" and {len(ids) - 2} more" if len(ids) > 2 else ""))
    return f"{' and '.join(sides)} have no {kind} in common: {', '.join(shown)}"


def name_some(ids: Iterable[str], kind: str = "image id", most: int = 5) -> str:
    """Counts ids and names the first few, as a terminal may show them.

    >>> name_some(["3", "4", "5"], most=2)
    '3 image ids (3, 4 and 1 more)'
    """
    ids = list(ids)
    more = f" and {len(ids) - most} more" if len(ids) > most else ""
    return f"{len(ids)} {kind}{'s' * (len(ids) > 1)} ({', '.join(map(_short_id, ids[:most]))}{more})"


def _short_id(text: str) -> str:
    return visible(text if len(text) <= _LONGEST_ID else f"{text[:_LONGEST_ID]}...")
