"""Write metrics as folders that need nothing else of this repository."""

import argparse

from .. import names
from ..publish.hub import export
from ..utils.shown_text import visible


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics export`."""
    parser.add_argument("metrics", nargs="+", choices=names(), metavar="METRIC", help=", ".join(names()))
    parser.add_argument("folder", metavar="DIR", help="a folder of the metric's name is made in it")


def run(options: argparse.Namespace) -> int:
    """Writes the folders and prints where they are; returns the exit code."""
    for name in options.metrics:
        print(visible(str(export(name, options.folder))))
    return 0
