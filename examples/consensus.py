"""Agreement of caption metrics with human consensus against the number of references (Vedantam et al., 2015, CIDEr).

People saw a reference A and said which of two candidates, B or C, is more like it. A metric is right about a pair when
it gives the candidate that won most votes the higher score.

    python -m examples.consensus --data FOLDER

The folder holds what ABSTRACT-50S and PASCAL-50S come with: `*candsB.json` and `*candsC.json` (lists of
`{"image_id", "caption"}`, row by row the two candidates of a pair), one more JSON file of that shape with the
references, and a `.mat` file whose `triplets` are the votes: equally many rows for each pair, in the order of the
candidates.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

from examples.caption_scores import CIDERS, ROUGE_L, has_rouge, rouge_l, scores_by_metric
from examples.output import is_there, make_parser, new_figure, print_table, save_figure, write_csv
from metrics.files.captions import captions_by_image, read_captions

SHOWN = [*CIDERS, "BLEU-1", "BLEU-4", ROUGE_L]
NUMBERS = [1, 2, 5, 10, 20, 30, 40, 48]

# One line of the picture each, told apart without colour: by marker, dash and grey value.
STYLES = [
    {"marker": marker, "linestyle": dash, "color": grey}
    for marker, dash, grey in (
        ("o", "-", "black"),
        ("s", "--", "black"),
        ("^", "-", "dimgray"),
        ("D", ":", "black"),
        ("v", "--", "dimgray"),
        ("x", "-.", "gray"),
        ("P", ":", "dimgray"),
    )
]


class Triplets(NamedTuple):
    """Pairs of candidates that people compared.

    Attributes:
        references: The references of each pair, as many for every pair.
        b, c: The candidates of each pair.
        majority: Votes for B minus votes for C (pairs,).
    """

    references: list[list[str]]
    b: list[str]
    c: list[str]
    majority: np.ndarray


def is_right(scores_b: np.ndarray, scores_c: np.ndarray, majority: np.ndarray) -> np.ndarray:
    """Says of each pair whether the higher score is the people's choice; the mean is the agreement.

    Args:
        scores_b, scores_c: Scores of the two candidates (pairs,).
        majority: Above 0 where people preferred B, below 0 for C; pairs with 0 are left out.

    Returns:
        1 where it is, 0 where it is not, 0.5 where scores are equal (pairs with a preference,).

    Raises:
        ValueError: People preferred neither in every pair.

    >>> is_right(np.array([2.0, 1.0, 1.0, 9.0]), np.array([1.0, 2.0, 1.0, 0.0]), np.array([3, 1, -1, 0])).tolist()
    [1.0, 0.0, 0.5]
    """
    decided = majority != 0
    if not decided.any():
        raise ValueError(f"majority is 0 in all {len(majority)} pairs, expected a preference in at least one")
    return (1 + np.sign(scores_b - scores_c)[decided] * np.sign(majority)[decided]) / 2


def read_triplets(folder: Path) -> Triplets:
    """Reads candidates, references and votes.

    Raises:
        ValueError: Files are missing, do not belong together, or an image has fewer references than others.
    """
    paths = [_only(folder, pattern) for pattern in ("*candsB.json", "*candsC.json", "*.mat")]
    path = _only(folder, "*.json", besides=paths)
    b, c = (read_captions(str(path)) for path in paths[:2])
    if [image for image, _ in b] != [image for image, _ in c]:
        raise ValueError(f"{paths[0]} and {paths[1]} name different images, expected the same image row by row")
    references = captions_by_image(str(path))
    groups = [references.get(image, []) for image, _ in b]
    if len(set(map(len, groups))) != 1 or not groups[0]:
        raise ValueError(
            f"{path} has {min(map(len, groups))} to {max(map(len, groups))} captions per image, "
            "expected as many for every image of the candidates"
        )
    b, c = [caption for _, caption in b], [caption for _, caption in c]
    return Triplets(groups, b, c, _majority(list(_read_votes(paths[2])), b, c, paths[2]))


def _only(folder: Path, pattern: str, besides: Sequence[Path] = ()) -> Path:
    found = [path for path in sorted(folder.glob(pattern)) if path not in besides]
    if len(found) != 1:
        raise ValueError(f"{folder} has {len(found)} files {pattern}{' more' * bool(besides)}, expected one")
    return found[0]


def _read_votes(path: Path) -> Iterator[tuple[str, str, int]]:
    """Rows of a MATLAB file: its two candidates, and +1 for the first of them or -1 for the second."""
    from scipy.io import loadmat

    for row in loadmat(path)["triplets"].ravel():
        first, second, rating = (_unpack(row[name]) for name in ("B", "C", "rating"))
        yield str(first).strip(), str(second).strip(), int(rating)


def _unpack(cell):
    """MATLAB's cells are arrays of one item, one inside the other."""
    while isinstance(cell, np.ndarray):
        cell = cell.item()
    return cell


def _majority(votes: list[tuple[str, str, int]], b: list[str], c: list[str], path: Path) -> np.ndarray:
    """Sums the votes of each pair, for B. The file may list the two candidates in either order: texts decide."""
    if not votes or len(votes) % len(b):
        raise ValueError(f"{path} has {len(votes)} votes, expected a multiple of the {len(b)} pairs")
    per_pair, majority = len(votes) // len(b), np.zeros(len(b), np.int64)
    for row, (first, second, rating) in enumerate(votes):
        pair = row // per_pair
        texts = b[pair].strip(), c[pair].strip()
        if (first, second) not in (texts, texts[::-1]):
            raise ValueError(
                f"{path}: triplets[{row}] compares {first!r} with {second!r}, expected the candidates of "
                f"pair {pair}, {texts}"
            )
        majority[pair] += rating if (first, second) == texts else -rating
    return majority


def right_by_metric(triplets: Triplets, chosen: np.ndarray, rouge: list | None) -> dict[str, np.ndarray]:
    """Which pairs every metric is right about when each pair has only some of its references.

    Candidates B, then C, are scored as one corpus, with the document frequencies of the chosen references.

    Args:
        triplets: The pairs.
        chosen: Places of the references that count (pairs, number of references).
        rouge: `rouge_l` of candidates B, then C, with all references; None leaves it out.

    Returns:
        Name of the metric -> what `is_right` returns.
    """
    groups = [[group[place] for place in places] for group, places in zip(triplets.references, chosen.tolist())]
    scores = scores_by_metric([*triplets.b, *triplets.c], groups * 2)
    if rouge is not None:
        scores[ROUGE_L] = np.array([row[places].max() for row, places in zip(rouge, np.tile(chosen, (2, 1)))])
    halves = {name: np.split(scores[name], 2) for name in SHOWN if name in scores}
    return {name: is_right(*half, triplets.majority) for name, half in halves.items()}


def choose(triplets: Triplets, number: int, rng: np.random.Generator) -> np.ndarray:
    """Draws references for every pair without replacement; pairs of the same image get the same ones."""
    images = {tuple(group): None for group in triplets.references}
    drawn = {group: rng.permutation(len(group))[:number] for group in images}
    return np.array([drawn[tuple(group)] for group in triplets.references])


def sign_tests(right: dict[str, np.ndarray]) -> list[list]:
    """Compares each form of CIDEr with each other metric, pair by pair.

    Args:
        right: What `right_by_metric` returned.

    Returns:
        Rows: the two names, pairs that only the first is right about (or nearer to it, by a tie), pairs that only the
        second is, and the two-sided p-value of the sign test.
    """
    from scipy.stats import binomtest

    rows = []
    for first, second in product(CIDERS, [name for name in right if name not in CIDERS]):
        only_first, only_second = (int((right[a] > right[b]).sum()) for a, b in ((first, second), (second, first)))
        unequal = only_first + only_second
        p_value = float(binomtest(only_first, unequal).pvalue) if unequal else 1.0
        rows.append([first, second, only_first, only_second, p_value])
    return rows


def run(triplets: Triplets, numbers: Sequence[int], num_draws: int, rouge: list | None, seed: int = 0) -> list[tuple]:
    """Measures agreement for each number of references over random draws of them.

    Args:
        triplets: The pairs.
        numbers: Numbers of references.
        num_draws: Draws for each number; all references are drawn once.
        rouge: See `right_by_metric`.
        seed: Decides the draws; those of one number do not depend on the other numbers.

    Returns:
        Rows (metric, number of references, draw, agreement), by metric, then number.

    Raises:
        ValueError: A number is below 1 or above the references at hand.
    """
    available = len(triplets.references[0])
    if not all(1 <= number <= available for number in numbers):
        raise ValueError(f"numbers of references are {list(numbers)}, expected 1..{available}")
    rows = []
    for number in sorted(set(numbers)):
        for draw in range(num_draws if number < available else 1):
            rng = np.random.default_rng([seed, number, draw])
            found = right_by_metric(triplets, choose(triplets, number, rng), rouge)
            rows += [(name, number, draw, float(right.mean())) for name, right in found.items()]
    return sorted(rows, key=lambda row: (SHOWN.index(row[0]), *row[1:]))


def summarize(rows: list[tuple]) -> dict[str, dict[int, tuple[float, float]]]:
    """Mean and standard deviation over the draws: metric -> number of references -> (mean, deviation)."""
    values = defaultdict(lambda: defaultdict(list))
    for name, number, _, value in rows:
        values[name][number].append(value)
    return {
        name: {number: (float(np.mean(draws)), float(np.std(draws))) for number, draws in by_number.items()}
        for name, by_number in values.items()
    }


def draw_picture(summary: dict, path: Path) -> None:
    """Agreement in percent against the number of references, one line for each metric."""
    figure, axes = new_figure(8, 4.8)
    if figure is None:
        return
    for place, ((name, by_number), style) in enumerate(zip(summary.items(), STYLES)):
        means, deviations = np.array(list(by_number.values())).T * 100
        beside = np.array(list(by_number)) * (1 + 0.015 * (place - 3))
        axes[0].errorbar(beside, means, deviations, label=name, capsize=2, linewidth=1, markersize=5, **style)
    axes[0].set_xscale("log")
    axes[0].set_xticks(list(by_number), labels=map(str, by_number))
    axes[0].minorticks_off()
    axes[0].set(xlabel="references per image (logarithmic)", ylabel="agreement with the human majority, % of pairs")
    axes[0].legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, writes the CSV and the picture."""
    parser = make_parser(__doc__.splitlines()[0], "abstract50s")
    parser.add_argument("--numbers", type=int, nargs="+", default=NUMBERS, help="numbers of references")
    parser.add_argument("--draws", type=int, default=10, help="random draws of the references for each number")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    if not is_there(options.data, "the consensus experiment"):
        return
    triplets = read_triplets(options.data)
    undecided = int((triplets.majority == 0).sum())
    print(f"{len(triplets.b)} pairs, {undecided} without majority left out; {options.draws} draws of references\n")
    rouge = rouge_l([*triplets.b, *triplets.c], triplets.references * 2) if has_rouge() else None
    rows = run(triplets, options.numbers, options.draws, rouge, options.seed)
    summary = summarize(rows)
    table = [
        [name, *(f"{mean:.4f} ± {deviation:.4f}" for mean, deviation in line.values())]
        for name, line in summary.items()
    ]
    print_table(["metric", *map(str, sorted(set(options.numbers)))], table)
    available = len(triplets.references[0])
    print(f"\nWith all {available} references:\n")
    right = right_by_metric(triplets, np.tile(np.arange(available), (len(triplets.b), 1)), rouge)
    header = ["metric", "other", "only metric right", "only other right", "p of the sign test"]
    print_table(header, sign_tests(right))
    write_csv(options.output / "consensus.csv", ["metric", "references", "draw", "agreement"], rows)
    draw_picture(summary, options.output / "consensus.png")


if __name__ == "__main__":
    main()
