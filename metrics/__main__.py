"""`python -m metrics COMMAND ...`: dispatches to metrics/cli/COMMAND.py."""

import sys
import warnings
from contextlib import contextmanager

from .cli.commands import COMMANDS, make_parser
from .utils.shown_text import visible


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Returns:
        The exit code: 0, or 2 for wrong arguments or input.
    """
    # The command of the installed package, or how a checkout is run.
    program = "python -m metrics" if __package__ == "metrics" else "multimodal-metrics"
    options = make_parser(program).parse_args(arguments)
    _forgive(sys.stdout)
    try:
        with _notes():
            return COMMANDS[options.command].run(options)
    except (ValueError, TypeError, OSError) as error:
        reason = str(error)
    except RecursionError:
        reason = "a value of the input is nested too deeply"
    # Messages of other packages may have several lines.
    print(f"error: {visible(' '.join(reason.split(chr(10))))}", file=sys.stderr)
    return 2


def _forgive(stream) -> None:
    """Characters that a terminal cannot show are escaped, as they are on stderr: the numbers are printed anyway."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


@contextmanager
def _notes():
    """Warnings as lines of their own, each text once: several steps of a command may give the same."""
    usual, told = warnings.formatwarning, set()

    def note(message, category, *place):
        if category is not UserWarning:
            return usual(message, category, *place)
        line = f"note: {visible(str(message))}\n"
        found = "" if line in told else line
        told.add(line)
        return found

    warnings.formatwarning = note
    try:
        yield
    finally:
        warnings.formatwarning = usual


if __name__ == "__main__":
    sys.exit(main())
