"""What people score: each reference against the others of its picture, beside a system's captions.

    python -m examples.human_ceiling --references captions.json --predictions results.json

Scores rise with the number of references. In round j the j-th reference of every picture is the candidate and the
others are its references; the system is scored against those same references, so the two lines can be compared. The
system's usual score, against all references, stands beside them. Pictures with fewer references than the others begin
again with their first.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from examples.caption_scores import CIDERS, METRICS, ROUGE_L, corpus_scores, has_rouge, rouge_l
from examples.output import ROOT, is_there, make_parser, new_figure, print_table, save_figure, write_csv
from metrics.files.captions import captions_by_image, pair_captions

DEMO = ROOT.parent / "shared" / "data" / "coco"


def rounds(references: Sequence[Sequence[str]]) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Takes each reference out once: candidates, and the references left for them.

    Raises:
        ValueError: A picture has a single reference.

    >>> list(rounds([["a", "b"], ["c", "d"]]))
    [(['a', 'c'], [['b'], ['d']]), (['b', 'd'], [['a'], ['c']])]
    """
    for item, group in enumerate(references):
        if len(group) < 2:
            raise ValueError(f"references[{item}] has {len(group)} captions, expected at least 2")
    for number in range(max(map(len, references))):
        places = [number % len(group) for group in references]
        candidates = [group[place] for group, place in zip(references, places)]
        yield candidates, [[*group[:place], *group[place + 1 :]] for group, place in zip(references, places)]


def all_scores(predictions: Sequence[str], references: Sequence[Sequence[str]], with_rouge: bool) -> dict[str, float]:
    """Scores of a corpus under every metric, in the order of METRICS."""
    scores = corpus_scores(predictions, references)
    if with_rouge:
        scores[ROUGE_L] = float(np.mean([row.max() for row in rouge_l(predictions, references)]))
    return {name: scores[name] for name in METRICS if name in scores}


def compare(references: list[list[str]], predictions: list[str] | None, with_rouge: bool) -> dict[str, dict]:
    """Scores people and a system.

    Args:
        references: At least two captions of each picture.
        predictions: The system's captions; None scores people alone.
        with_rouge: Whether ROUGE-L is among the metrics.

    Returns:
        Metric -> `human` and `human_deviation` (mean and standard deviation over the rounds), and where there is a
        system `system` (the mean over the same rounds) and `system_all_references`.
    """
    turns = list(rounds(references))
    human = [all_scores(candidates, others, with_rouge) for candidates, others in turns]
    found = {
        name: {
            "human": float(np.mean([scores[name] for scores in human])),
            "human_deviation": float(np.std([scores[name] for scores in human])),
        }
        for name in human[0]
    }
    if predictions is not None:
        system = [all_scores(predictions, others, with_rouge) for _, others in turns]
        with_all = all_scores(predictions, references, with_rouge)
        for name, line in found.items():
            line["system"] = float(np.mean([scores[name] for scores in system]))
            line["system_all_references"] = with_all[name]
    return found


def draw_picture(found: dict[str, dict], path: Path) -> None:
    """People's scores with their deviation, and the system's; CIDEr's forms on one side, metrics up to 1 beside."""
    figure, axes = new_figure(9, 3.4, num_panels=2)
    if figure is None:
        return
    ciders = [name for name in found if name in CIDERS]
    for axis, names in zip(axes, (ciders, [name for name in found if name not in ciders])):
        human, deviations = ([found[name][key] for name in names] for key in ("human", "human_deviation"))
        axis.errorbar(human, names, xerr=deviations, fmt="ko", capsize=3, label="people")
        if "system" in found[names[0]]:
            for key, marker, label in (("system", "x", "same"), ("system_all_references", "d", "all")):
                values = [found[name][key] for name in names]
                axis.plot(values, names, f"k{marker}", fillstyle="none", label=f"system, {label} references")
        axis.invert_yaxis()
        axis.set_xlim(left=0)
        axis.margins(y=0.1)
    axes[0].set_xlabel("corpus score (0..10)")
    axes[1].set_xlabel("corpus score (0..1)")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, path)


def read_files(references_path: Path, predictions_path: Path | None) -> tuple[list[list[str]], list[str] | None]:
    """Reads references, and the system's captions of the same pictures."""
    if predictions_path:
        paired = pair_captions(str(predictions_path), str(references_path))
        return paired.references, paired.predictions
    return list(captions_by_image(str(references_path)).values()), None


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, writes the CSV and the picture."""
    parser = make_parser(__doc__.splitlines()[0])
    parser.add_argument("--references", type=Path, help="captions by people, a COCO file; the default is a demo's")
    parser.add_argument("--predictions", type=Path, help="a system's captions, a COCO results file")
    options = parser.parse_args(arguments)
    if options.references is None:
        options.references = DEMO / "demo_val2014_references.json"
        options.predictions = options.predictions or DEMO / "demo_val2014_candidates.json"
    if not is_there(options.references, "the human ceiling", "--references"):
        return
    references, predictions = read_files(options.references, options.predictions)
    print(f"{len(references)} pictures\n")
    found = compare(references, predictions, has_rouge())
    header = ["metric", *next(iter(found.values()))]
    rows = [[name, *line.values()] for name, line in found.items()]
    print_table([name.replace("_", " ") for name in header], rows)
    write_csv(options.output / "human_ceiling.csv", header, rows)
    draw_picture(found, options.output / "human_ceiling.png")


if __name__ == "__main__":
    main()
