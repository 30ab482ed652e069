"""All commands, and the one parser of their arguments."""

import argparse

from .. import __version__
from . import compare, export, push, score

COMMANDS = {"score": score, "compare": compare, "export": export, "push": push}


def make_parser(program: str = "python -m metrics") -> argparse.ArgumentParser:
    """The parser of the command line; `command` says which of COMMANDS is asked for.

    >>> make_parser().parse_args(["export", "cider", "folder"]).command
    'export'
    """
    parser = argparse.ArgumentParser(prog=program, description="Metrics on files, and to the Hub.")
    parser.add_argument("--version", action="version", version=f"multimodal-metrics {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    for name, module in COMMANDS.items():
        command = commands.add_parser(name, help=module.__doc__.splitlines()[0], description=module.__doc__)
        module.add_arguments(command)
    return parser
