"""Draws the wall times of RESULTS.md's largest size: `python -m tests.benchmarks.plot_results` (needs matplotlib)."""

import re
from pathlib import Path

FOLDER = Path(__file__).parent
TITLES = {"cider": "CIDEr-D", "bleu4": "BLEU-4"}


def read_rows(text: str) -> tuple[str, list[list[str]]]:
    """The heading of the last table of contenders, and its rows that have a time."""
    heading, rows = "", []
    for line in text.splitlines():
        if re.match(r"### [\d,]+ images", line):
            heading, rows = line[4:], []
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and cells[0] in TITLES and cells[3]:
            rows.append(cells)
    return heading, rows


def draw(axis, metric: str, rows: list[list[str]]) -> None:
    """One metric's bars, shortest on top, each with its time."""
    chosen = sorted((float(wall), label) for name, label, _, wall, *_ in rows if name == metric)
    walls, labels = [wall for wall, _ in chosen], [label for _, label in chosen]
    colors = ["black" if label == "this repository" else "darkgray" for label in labels]
    bars = axis.barh(labels, walls, color=colors)
    axis.bar_label(bars, fmt="%.1f s", padding=3)
    axis.invert_yaxis()
    axis.margins(x=0.2)
    axis.set(title=TITLES[metric], xlabel="wall time in seconds")
    axis.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Writes speed.png beside RESULTS.md."""
    # Imported here, since only this program needs it and the tests import every module.
    from matplotlib.figure import Figure

    heading, rows = read_rows((FOLDER / "RESULTS.md").read_text(encoding="utf-8"))
    figure = Figure(figsize=(10, 2.8), layout="constrained")
    axes = figure.subplots(1, 2)
    for axis, metric in zip(axes, TITLES):
        draw(axis, metric, rows)
    figure.suptitle(f"From raw captions to score, {heading}")
    figure.savefig(FOLDER / "speed.png", dpi=100)


if __name__ == "__main__":
    main()
