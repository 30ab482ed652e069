"""Text files that nobody checked before: UTF-8, with or without a mark, and whatever else stands under the name."""

import os
import stat
import time

# How long a pipe without a writer is waited for.
_PIPE_SECONDS = 3.0
_CHUNK_BYTES = 1 << 20
# UTF-32 first, since its mark begins with that of UTF-16.
_OTHER_KINDS = {
    b"\xff\xfe\x00\x00": "UTF-32",
    b"\x00\x00\xfe\xff": "UTF-32",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": "compressed (gzip)",
    b"PK\x03\x04": "compressed (zip)",
    b"BZh": "compressed (bzip2)",
    b"\xfd7zXZ\x00": "compressed (xz)",
    b"\x28\xb5\x2f\xfd": "compressed (zstd)",
    b"PAR1": "Parquet",
    b"\x93NUMPY": "a NumPy array",
}
_MARK = b"\xef\xbb\xbf"


def read_text(path: str) -> str:
    """Reads a text file, or a pipe that somebody writes to.

    Args:
        path: The file.

    Returns:
        Its text, without a byte-order mark.

    Raises:
        ValueError: It is no file, or its content is no UTF-8 text; the message names the path, and the line.
        OSError: It cannot be opened.
    """
    check_is_file(path, pipes=True)
    content = _read_bytes(path)
    if not content.strip():
        raise ValueError(f"{path} is empty, expected a text")
    return decode_text(content, path)


def check_is_file(path: str, pipes: bool = False) -> None:
    """Checks that a path leads to a file, which ends: a device may not.

    Args:
        path: The path.
        pipes: Whether a pipe will do.

    Raises:
        ValueError: It leads to something else.
        OSError: There is nothing, or it may not be looked at.
    """
    mode = os.stat(path).st_mode
    if stat.S_ISREG(mode) or (pipes and stat.S_ISFIFO(mode)):
        return
    kind = "a folder" if stat.S_ISDIR(mode) else "a pipe" if stat.S_ISFIFO(mode) else "a device or socket"
    raise ValueError(f"{path} is {kind}, expected a file")


def decode_text(content: bytes, path: str, line: int | None = None) -> str:
    """Decodes a text, or a line of one.

    Args:
        content: The bytes.
        path: Where they stand, for messages.
        line: Number of the line that they are; None of a whole file.

    Raises:
        ValueError: They are no UTF-8 text; the message names the path and the line.
    """
    is_start = line is None or line == 1
    if is_start:
        kind = next((kind for start, kind in _OTHER_KINDS.items() if content.startswith(start)), None)
        if kind is not None:
            raise ValueError(f"{path} is {kind}, expected a text in UTF-8")
        content = content.removeprefix(_MARK)
    place = content.find(b"\0")
    if place >= 0:
        raise ValueError(
            f"{path}, line {_line(content, place, line)} holds a NUL byte, as UTF-16 does, expected a text in UTF-8"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        where = _line(content, error.start, line)
        found = f"byte 0x{content[error.start]:02x} ({error.reason})"
        raise ValueError(f"{path}, line {where} is not UTF-8: {found}") from None


def _line(content: bytes, place: int, first: int | None) -> int:
    return content.count(b"\n", 0, place) + (first or 1)


def _read_bytes(path: str) -> bytes:
    # Without O_NONBLOCK to open a pipe waits until somebody writes, perhaps for ever.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(descriptor, "rb", buffering=0) as file:
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            start = _first_of_pipe(descriptor)
            os.set_blocking(descriptor, True)
            return start + file.readall()
        return file.readall()


def _first_of_pipe(descriptor: int) -> bytes:
    """The first bytes of a pipe: none where nobody writes, or where a writer takes its time."""
    until = time.monotonic() + _PIPE_SECONDS
    while time.monotonic() < until:
        try:
            found = os.read(descriptor, _CHUNK_BYTES)
        except BlockingIOError:
            return b""  # There is a writer: it is waited for as long as it takes.
        if found:
            return found
        time.sleep(0.02)
    return b""
