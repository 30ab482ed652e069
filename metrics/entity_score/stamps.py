# Generated from metrics/utils/stamps.py by make fix-copies: edit it there.
"""Tells whether files that were read before may have changed, without reading them again."""

import os


def stamp(path: str | os.PathLike) -> tuple:
    """What changes when a file is written or replaced: of a folder, that of each file that lies directly in it.

    Size and time alone miss a file of the same size whose time was set back (`cp -p`, `rsync -t`, an archive), or
    that a coarse clock has in the same second; the inode and the time of its last change of any kind cannot be set.

    Raises:
        OSError: There is no such file or folder.

    >>> stamp(__file__) == stamp(__file__)
    True
    """
    if not os.path.isdir(path):
        return _of_file(os.stat(path))
    with os.scandir(path) as entries:
        return tuple(sorted((entry.name, *_of_file(entry.stat())) for entry in entries if entry.is_file()))


def _of_file(status: os.stat_result) -> tuple[int, ...]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_dev
