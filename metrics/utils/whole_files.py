"""Files that are written as a whole or not at all: beside, under a name of their own, and renamed at the end."""

import os
import signal
import stat
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

# Of the file's name, so that the longer one is no name that a file system refuses.
_KEPT_OF_NAME = 50


@contextmanager
def written_whole(path: str | os.PathLike) -> Iterator[str]:
    """A name to write to; what stands there gets the file's name when the block ends without an error.

    Until then a file that is there stays as it was, and whatever ends the block early leaves nothing behind. A link
    stays a link, and a file keeps its permissions. What is no file (a pipe, `/dev/stdout`) is written to as it is.

    Args:
        path: The file's name.

    Yields:
        The name to write to, in the same folder.

    Raises:
        OSError: It cannot be written.
    """
    target = os.path.realpath(path)
    if os.path.exists(target) and not os.path.isfile(target):
        yield os.fspath(path)
        return
    folder, name = os.path.split(target)
    part = os.path.join(folder, f"{name[:_KEPT_OF_NAME]}.{uuid.uuid4().hex[:16]}.part")
    mode = _mode(target)
    with _ending_in_order():
        try:
            yield part
            _to_disk(part, mode)
            os.replace(part, target)
            _sync_folder(folder)
        finally:
            if os.path.exists(part):
                os.remove(part)


@contextmanager
def _ending_in_order() -> Iterator[None]:
    """Within, SIGTERM ends the program by SystemExit, where it would have ended it at once and left half a file."""
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def written_bytes(path: str | os.PathLike) -> Iterator[BinaryIO]:
    """A binary file to write to, which gets its name as `written_whole` says.

    Raises:
        OSError: It cannot be written.
    """
    with written_whole(path) as part, open(part, "wb") as file:
        yield file


def write_text(path: str | os.PathLike, text: str) -> None:
    """Writes a text as UTF-8, with line ends as they are; half of a surrogate pair as its escape.

    Raises:
        OSError: It cannot be written; a file that is there stays as it was.
    """
    with written_whole(path) as part, open(part, "w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        file.write(text)


def _mode(path: str) -> int | None:
    """The permissions of a file that is there already.

    Raises:
        PermissionError: It may not be written: to rename over it would need no such permission.
    """
    if not os.path.exists(path):
        return None
    if not os.access(path, os.W_OK):
        raise PermissionError(f"{path} may not be written")
    return stat.S_IMODE(os.stat(path).st_mode)


def _to_disk(path: str, mode: int | None) -> None:
    # Else a machine that fails may know the new name, but not yet what stands under it.
    with open(path, "r+b") as file:
        os.fsync(file.fileno())
    if mode is not None:
        os.chmod(path, mode)


def _sync_folder(folder: str) -> None:
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders.
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # Some network file systems sync none.
    finally:
        os.close(descriptor)
