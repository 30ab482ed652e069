"""SIGTERM, Ctrl-C and a closed terminal end a run in order: what it has begun is cleaned up, whatever else is sent.

Python itself ends at once on SIGTERM, and a second Ctrl-C interrupts the cleaning up that the first one began.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


class _State:
    """What is known of signals: Python handles them in one thread of a process."""

    stopped: int | None = None
    waiting: int | None = None
    shields = 0


@contextmanager
def stoppable(for_good: bool = False) -> Iterator[None]:
    """Makes the first signal an exception, and those that follow nothing, until the block is left.

    Signals for which the program has a handler of its own keep it; outside the main thread nothing is changed.

    Args:
        for_good: Whether the program ends after a signal: none that follows interrupts its last steps then.

    Raises:
        KeyboardInterrupt: SIGINT came.
        SystemExit: SIGTERM or SIGHUP came; the code is that of a shell, 128 and the signal's number.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}
    own = [number for number, handler in before.items() if handler in _USUAL]
    try:
        for number in own:
            signal.signal(number, _stop)
        yield
    finally:
        for number in own:
            ended = for_good and _State.stopped is not None
            signal.signal(number, signal.SIG_IGN if ended else before[number])
        if own:
            _State.stopped = _State.waiting = None


@contextmanager
def shielded() -> Iterator[None]:
    """Lets a signal of `stoppable` wait until the block is done: for what removes files and ends processes."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _State.shields += 1
    try:
        yield
    finally:
        _State.shields -= 1
        if not _State.shields and _State.waiting is not None and _State.stopped is None:
            _stop(_State.waiting)


def _stop(number: int, frame=None) -> None:
    if _State.stopped is not None:
        return
    if _State.shields:
        _State.waiting = number
        return
    _State.stopped = number
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
