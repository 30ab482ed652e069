"""docs/command_line.md says what the parser knows."""

from pathlib import Path

from metrics.cli.commands import COMMANDS
from metrics.cli.manual import manual

ROOT = Path(__file__).resolve().parents[2]


def test_the_manual_is_that_of_the_parser():
    assert (ROOT / "docs" / "command_line.md").read_text(encoding="utf-8") == manual(), "run make manual"


def test_every_command_and_option_is_in_it():
    text = manual()
    assert all(f"\n## {name}\n" in text for name in COMMANDS)
    for wanted in ("`--seed` SEED | `0` |", "`--k` K ... | `1 5 10` |", "`--worst` N", "`--namespace`"):
        assert wanted in text
