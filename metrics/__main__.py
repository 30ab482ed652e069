"""`python -m metrics COMMAND ...`: dispatches to metrics/cli/COMMAND.py."""

import argparse
import sys

from . import __version__
from .cli import compare, export, push, score

_COMMANDS = {"score": score, "compare": compare, "export": export, "push": push}


def main(arguments: list[str] | None = None) -> int:
    """Runs one command.

    Returns:
        The exit code: 0, or 2 for wrong arguments or input.
    """
    # The command of the installed package, or how a checkout is run.
    program = "python -m metrics" if __package__ == "metrics" else "multimodal-metrics"
    parser = argparse.ArgumentParser(prog=program, description="Metrics on files, and to the Hub.")
    parser.add_argument("--version", action="version", version=f"multimodal-metrics {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in _COMMANDS.items():
        command = commands.add_parser(name, help=module.__doc__.splitlines()[0], description=module.__doc__)
        module.add_arguments(command)
    options = parser.parse_args(arguments)
    try:
        return _COMMANDS[options.command].run(options)
    except (ValueError, TypeError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
