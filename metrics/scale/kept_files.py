"""Files that are kept from one run to the next: whole and as they were written, or not used at all.

Behind its content a kept file has a seal: what it was made of (a key), its number of rows, and a checksum over all of
that. It gets its name when it is on the disk, so a run that is killed, or two runs in one folder, leave no half file.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Iterator

from ..utils.whole_files import written_whole

# The form of a file, its key, its rows; the checksum stands behind them.
_HEAD, _FORM = struct.Struct("<8s32sQ"), b"kept-001"
_CHECKSUM_BYTES = 32
_SEAL_BYTES = _HEAD.size + _CHECKSUM_BYTES
_CHUNK = 1 << 20


class Misfit(ValueError):
    """A kept file is not what was written under its name."""


def file_hash(path: str | os.PathLike) -> str:
    """A hash of what a file holds.

    Raises:
        OSError: It cannot be read.
    """
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in _chunks(file):
            digest.update(chunk)
    return digest.hexdigest()


def _chunks(file) -> Iterator[bytes]:
    return iter(lambda: file.read(_CHUNK), b"")


def write_kept(path: str, key: str, write: Callable[[str], int]) -> None:
    """Writes a file that is either there as a whole or not at all.

    Args:
        path: Its name.
        key: What it is made of, 64 hexadecimal digits.
        write: Writes the content to the path that it is given, and returns the number of rows.

    Raises:
        OSError: It cannot be written. What `write` raises.
    """
    with written_whole(path) as part:
        _seal(part, key, write(part))


def _seal(path: str, key: str, rows: int) -> None:
    head = _HEAD.pack(_FORM, bytes.fromhex(key), rows)
    with open(path, "r+b") as file:
        digest = hashlib.sha256()
        for chunk in _chunks(file):
            digest.update(chunk)
        digest.update(head)
        file.write(head + digest.digest())


def read_kept(path: str, key: str) -> tuple[memoryview, int]:
    """Reads what `write_kept` wrote under the same key.

    Returns:
        The content, and its number of rows.

    Raises:
        Misfit: The file is damaged, or another; the message says how.
        OSError: It cannot be opened.
    """
    with open(path, "rb") as file:
        whole = memoryview(file.read())
    if len(whole) < _SEAL_BYTES:
        raise Misfit(f"it has {len(whole)} bytes, expected a seal of {_SEAL_BYTES} at its end")
    content, head, checksum = whole[:-_SEAL_BYTES], whole[-_SEAL_BYTES:-_CHECKSUM_BYTES], whole[-_CHECKSUM_BYTES:]
    form, found, rows = _HEAD.unpack(head)
    if form != _FORM:
        raise Misfit("it does not end with a seal: it is cut off, or another program's")
    if hashlib.sha256(whole[:-_CHECKSUM_BYTES]).digest() != checksum:
        raise Misfit("its checksum is not that of its content")
    if found.hex() != key:
        raise Misfit("it was made of another shard, by other code or with other options")
    return content, rows
