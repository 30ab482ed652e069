"""Writes docs/command_line.md of what the parser knows: `python -m metrics.cli.manual > docs/command_line.md`."""

import argparse
import sys
from collections.abc import Iterator

from .commands import make_parser

_BEGINNING = """\
# The command line

All options of all commands, written from the parser by `make manual`. Installed, the command is `multimodal-metrics`;
in a checkout it is `python -m metrics`. A command ends with 0, or with 2 and one sentence where arguments or input are
wrong.
"""


def manual() -> str:
    """The document.

    >>> "## score" in manual()
    True
    """
    return "\n".join([_BEGINNING, *_commands(make_parser())])


def _commands(parser: argparse.ArgumentParser) -> Iterator[str]:
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    for name, command in commands.choices.items():
        yield f"## {name}\n\n{command.description}\n"
        for group in command._action_groups:
            rows = [_row(action) for action in group._group_actions if not isinstance(action, argparse._HelpAction)]
            if rows:
                heading = "" if group.title in ("positional arguments", "options") else f"### {group.title}\n\n"
                yield heading + "\n".join(["| argument | default | |", "|---|---|---|", *rows]) + "\n"


def _row(action: argparse.Action) -> str:
    """One line of a table: names, default, and what the argument is for."""
    values = "" if action.nargs == 0 else _values(action)
    names = ", ".join(f"`{name}`" for name in action.option_strings) or f"`{action.metavar or action.dest}`"
    has_none = action.default is None or action.default is False or not action.option_strings
    values_ = action.default if isinstance(action.default, list) else [action.default]
    shown = "" if has_none else " ".join(map(str, values_))
    choices = f"one of {', '.join(f'`{choice}`' for choice in action.choices)}" if action.choices else ""
    said = "; ".join(filter(None, (action.help, "" if action.metavar == "METRIC" else choices)))
    return f"| {names}{values} | {f'`{shown}`' if shown else ''} | {said} |".replace("%%", "%")


def _values(action: argparse.Action) -> str:
    if not action.option_strings or action.choices:
        return ""
    name = action.metavar or action.dest.upper()
    return f" {name} ..." if action.nargs == "+" else f" {name}"


if __name__ == "__main__":
    sys.stdout.write(manual())
