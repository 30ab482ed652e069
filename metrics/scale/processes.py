"""Workers as processes of this machine, each with a pipe of its own.

They are new interpreters, not forks: a fork copies locks that threads of torch or Arrow hold, and multiprocessing's
spawn runs the program of the user a second time, so it would need `if __name__ == "__main__"`. Functions and classes
of a program or notebook travel by what they are, as datasets sends them.
"""

import json
import os
import signal
import struct
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from queue import SimpleQueue

from .pools import WorkerDied

_LENGTH = struct.Struct("<Q")
_PROGRAM = (
    f"import json, sys; sys.path[:] = json.loads(sys.stdin.buffer.readline()); from {__name__} import serve; serve()"
)
# Seconds that a worker without a parent has for removing what it was writing.
_GRACE = 5


class ProcessWorker:
    """A process that holds the work, and does it on one item after the other; see `pools.Worker`.

    Args:
        work: The function, as `dumps` makes it.
    """

    def __init__(self, work: bytes):
        self._work = work
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([sys.executable, "-c", _PROGRAM], **pipes)

    def ready(self) -> None:
        """Hands the work over; see `pools.Worker`."""
        path = json.dumps([os.path.abspath(entry) for entry in sys.path if isinstance(entry, str)])
        self._ask(path.encode() + b"\n", self._work)

    def call(self, item):
        """The result of an item; see `pools.Worker`."""
        return self._ask(b"", dumps(item))

    def close(self) -> None:
        """Kills the process and waits for its end; what it was writing is for the caller to remove."""
        self._process.kill()
        self._process.wait()

    def _ask(self, head: bytes, content: bytes):
        try:
            self._process.stdin.write(head)
            _write(self._process.stdin, content)
            found = _read(self._process.stdout)
        except (OSError, ValueError):
            found = None  # A broken pipe, or one that was closed.
        if found is None:
            raise WorkerDied(self._end())
        result, error, trace = loads(found)
        if error is not None:
            raise error from _InWorker(trace)
        return result

    def _end(self) -> str:
        # Its pipe is closed, so it ends; or it has closed the pipe itself, and is no use.
        self.close()
        code = self._process.returncode
        if code == -signal.SIGKILL:
            return "killed by SIGKILL, as the kernel does when memory runs out"
        return f"killed by signal {-code}" if code < 0 else f"ended with exit code {code}"


class _InWorker(Exception):
    """The traceback of an error in a worker, as a text."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


def dumps(value) -> bytes:
    """Pickles, what was defined in the program itself too."""
    import dill  # Comes with datasets, whose engine this is.

    return dill.dumps(value, recurse=True)


def loads(content: bytes):
    """What `dumps` pickled, in this process or the one that started it."""
    import dill  # Comes with datasets, whose engine this is.

    return dill.loads(content)


def _write(file, content: bytes) -> None:
    file.write(_LENGTH.pack(len(content)))
    file.write(content)
    file.flush()


def _read(file) -> bytes | None:
    """A message, or None where the other side has ended."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = file.read(length)
    return content if len(content) == length else None


# In the worker


def serve() -> None:
    """The program of a worker: reads the work, then items, and writes a result for each, until its parent ends."""
    signal.signal(signal.SIGTERM, _end)
    requests, results = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    # What the work prints must not get among the results, and it has no business with the requests.
    os.dup2(2, 1)
    sys.stdin = open(os.devnull)
    messages = SimpleQueue()
    threading.Thread(target=_listen, args=(requests, messages), daemon=True).start()
    content, work = messages.get(), None
    while content is not None:
        if work is None:
            answer = _answer(loads, content)
            work, error, trace = answer
            answer = None, error, trace
        else:
            answer = _answer(_Loading(work), content)
        _write(results, _packed(answer))
        content = messages.get()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)


def _end(number: int, frame) -> None:
    # Once: one that follows would interrupt the removal of what was being written, or the interpreter's own end.
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


class _Loading:
    """The work on an item as bytes."""

    def __init__(self, work: Callable):
        self._work = work

    def __call__(self, content: bytes):
        return self._work(loads(content))


def _listen(requests, messages: SimpleQueue) -> None:
    """Hands messages on; when the parent is gone, killed or not, the work is stopped wherever it is."""
    content = b""
    while content is not None:
        content = _read(requests)
        messages.put(content)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_GRACE)
    os._exit(128 + signal.SIGTERM)


def _answer(function: Callable, content: bytes) -> tuple:
    try:
        return function(content), None, None
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # Also panics of Rust code, which are no Exception.
        return None, error, traceback.format_exc()


def _packed(answer: tuple) -> bytes:
    """A result as bytes; an error that does not come through pickling becomes a RuntimeError of its text."""
    try:
        content = dumps(answer)
        if answer[1] is not None:
            loads(content)
        return content
    except Exception as failure:
        error = answer[1] if answer[1] is not None else failure
        return dumps((None, RuntimeError(f"{type(error).__name__}: {error}"), answer[2] or traceback.format_exc()))
