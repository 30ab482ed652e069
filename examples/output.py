"""What the experiments share: where their data is, and how a table, a CSV and a picture are written."""

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "examples" / "results"


def make_parser(description: str, data: str | None = None) -> argparse.ArgumentParser:
    """A parser with the options of every experiment: `--output`, and `--data` where it reads real data.

    Args:
        description: What the program does.
        data: Its default folder, as a path in `../shared/data`.
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--output", type=Path, default=RESULTS, help="folder for the CSV and the picture")
    if data is not None:
        default = ROOT.parent / "shared" / "data" / data
        parser.add_argument("--data", type=Path, default=default, help="folder that holds the data")
    return parser


def is_there(path: Path, what: str, option: str = "--data") -> bool:
    """Says whether the data are at hand; if not, prints a sentence about what was skipped.

    Args:
        path: Where they should be.
        what: What needs them.
        option: The option that names another place.
    """
    if path.exists():
        return True
    print(f"Skipped: {what} needs data, and {path} does not exist (name another place with {option}).")
    return False


def print_table(header: Sequence[str], rows: Sequence[Sequence]) -> None:
    """Prints a Markdown table; floats with four digits."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        # Adding 0.0 to a rounded number turns -0.0 into 0.0.
        cells = (f"{round(cell, 4) + 0.0:.4f}" if isinstance(cell, float) else str(cell) for cell in row)
        print("| " + " | ".join(cells) + " |")


def write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence]) -> None:
    """Writes a CSV file, floats with six digits, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows([f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row] for row in rows)


def new_figure(width: float, height: float, num_panels: int = 1):
    """A figure with its axes side by side, or (None, None) and a sentence where matplotlib is missing.

    Args:
        width, height: In inches.
        num_panels: Number of axes.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        print("No picture: matplotlib is not installed (pip install matplotlib).", file=sys.stderr)
        return None, None
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, num_panels, squeeze=False)[0]
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="lightgray", linewidth=0.5)
        axis.set_axisbelow(True)
    return figure, axes


def save_figure(figure, path: Path) -> None:
    """Writes a PNG, and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=100)
    print(f"Wrote {path}")
