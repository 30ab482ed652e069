"""Push metrics to the Hub, each as a Space."""

import argparse
import re

from .. import names
from ..publish.hub import push, space_texts
from ..utils.checks import VERSION


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m metrics push`."""
    parser.add_argument("metrics", nargs="+", choices=names(), metavar="METRIC", help=", ".join(names()))
    parser.add_argument("--namespace", required=True, metavar="USER", help="a user or an organization of the Hub")
    parser.add_argument("--private", action="store_true", help="make new Spaces private")
    parser.add_argument("--dry-run", action="store_true", help="only list the files and their sizes")


def run(options: argparse.Namespace) -> int:
    """Pushes, or lists what would be pushed; returns the exit code.

    Raises:
        ValueError: The namespace is none, or as `hub.push`.
        OSError: As `hub.push`.
    """
    if not re.fullmatch(r"[\w.-]+", options.namespace):
        raise ValueError(f"--namespace is {options.namespace!r}, expected the name of a user or an organization")
    for name in options.metrics:
        if options.dry_run:
            _list_files(name, f"{options.namespace}/{name}")
        else:
            print(push(name, options.namespace, options.private))
    return 0


def _list_files(name: str, repo_id: str) -> None:
    sizes = {file: len(text.encode()) for file, text in space_texts(name, repo_id).items()}
    print(f"spaces/{repo_id}, {name} {VERSION}: {len(sizes)} files, {sum(sizes.values()):,} bytes")
    for file, size in sizes.items():
        print(f"  {size:>8,}  {file}")
