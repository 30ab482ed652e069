"""The pictures of a folder, for a report page: found by image id, and never outside that folder."""

import base64
import os
import re
from collections.abc import Sequence
from pathlib import Path

from ..files.captions import name_some
from ..files.json_text import read_json

_KINDS = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".gif": "image/gif",
    ".webp": "image/webp",
}


class Pictures:
    """Picture files of one folder.

    A file is known by the `file_name` that the references' `images` list gives an id; or by the id as its name, or at
    the end of its name as in COCO_val2014_000000000042.jpg.

    Raises:
        ValueError: The folder is no folder.
    """

    def __init__(self, folder: str, references_path: str):
        self.folder = Path(folder).resolve()
        if not self.folder.is_dir():
            raise ValueError(f"--images is {folder!r}, expected a folder")
        self.names = _file_names(references_path)
        paths = sorted(path for path in self.folder.iterdir() if path.suffix.lower() in _KINDS)
        numbered = {str(int(digits[0])): path for path in paths if (digits := re.search(r"[0-9]+$", path.stem))}
        self.files = {**numbered, **{path.stem: path for path in paths}}

    def data_uri(self, image_id) -> str | None:
        """The picture as a data: address; None where the folder has none.

        Raises:
            ValueError: The references name a file outside the folder.
        """
        path = self._path(image_id)
        if path is None:
            return None
        return f"data:{_KINDS[path.suffix.lower()]};base64,{base64.b64encode(path.read_bytes()).decode()}"

    def check_some(self, image_ids: Sequence) -> None:
        """Checks that the folder has a picture of one image at least: else it is that of another set.

        Raises:
            ValueError: It has none; the message names some of what was looked for and some of what is there.
        """
        if any(self._path(image_id) is not None for image_id in image_ids):
            return
        wanted = name_some(dict.fromkeys(map(str, image_ids)), "image id", most=2)
        found = dict.fromkeys(path.name for path in self.files.values())
        there = name_some(found, "picture", most=2) if found else "none"
        raise ValueError(
            f"--images {self.folder} has no picture of the {wanted}; it holds {there}, expected files "
            "that the references name as file_name, or whose names end in the image id"
        )

    def _path(self, image_id) -> Path | None:
        path = self.files.get(str(image_id))
        if str(image_id) in self.names:
            path = self.folder / self.names[str(image_id)]
        if path is None or path.suffix.lower() not in _KINDS or "\0" in str(path):
            return None
        # Unlike Path.resolve, this ends where links go in circles.
        path = Path(os.path.realpath(path))
        if not path.is_relative_to(self.folder):
            raise ValueError(f"the picture of image {image_id} is {path}, expected a file inside {self.folder}")
        # Unlike Path.is_file, this takes names that no file system has.
        return path if os.path.isfile(path) else None


def _file_names(references_path: str) -> dict[str, str]:
    content = read_json(references_path)
    images = content.get("images") if isinstance(content, dict) else None
    if not isinstance(images, list):
        return {}
    return {
        str(image["id"]): image["file_name"]
        for image in images
        if isinstance(image, dict) and "id" in image and isinstance(image.get("file_name"), str)
    }
