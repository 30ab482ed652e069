"""Kendall's rank correlation of caption metrics with human judgments on Flickr8k (Hodosh et al., 2013).

    python -m examples.human_correlation --data FOLDER

The folder holds Flickr8k.token.txt, ExpertAnnotations.txt and CrowdFlowerAnnotations.txt. As in the CLIPScore paper
(Hessel et al., 2021), it is tau-c with each of the experts' three ratings on its own, and tau-b with the crowd's share
of yes.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from examples import flickr8k
from examples.caption_scores import METRICS, ROUGE_L, has_rouge, rouge_l, scores_by_metric
from examples.output import is_there, make_parser, new_figure, print_table, save_figure, write_csv

# Set -> (its reader, the variant of Kendall's tau, the title in the picture).
SETS = {
    "expert": (flickr8k.read_expert, "c", "Flickr8k-Expert, tau-c"),
    "crowd": (flickr8k.read_crowd, "b", "Flickr8k-CF, tau-b"),
}
# The CLIPScore paper (arXiv 2104.08718), Table 1 and Table 2, in percent; its ROUGE-L is another one.
PUBLISHED = {
    "expert": {"CIDEr-D": 43.9, "BLEU-1": 32.3, "BLEU-4": 30.8},
    "crowd": {"CIDEr-D": 24.6, "BLEU-4": 16.9},
}


def correlation(scores: np.ndarray, ratings: np.ndarray, variant: str) -> float:
    """Kendall's tau between scores and every single rating.

    Args:
        scores: One per sample (samples,).
        ratings: (samples, ratings); a score is repeated for each.
        variant: "b" or "c", see `scipy.stats.kendalltau`.

    Returns:
        -1..1; NaN where all scores or all ratings are equal.

    >>> round(correlation(np.array([0.1, 0.5, 0.9]), np.array([[1, 1], [2, 2], [4, 3]]), "b"), 3)
    0.961
    """
    from scipy.stats import kendalltau

    repeated = np.repeat(scores, ratings.shape[1])
    return float(kendalltau(repeated, ratings.ravel(), variant=variant).statistic)


def correlations(judged: flickr8k.Judged, variant: str, with_rouge: bool) -> dict[str, float]:
    """Correlation of every metric with the judgments: name -> tau."""
    scores = scores_by_metric(judged.predictions, judged.references)
    if with_rouge:
        rows = rouge_l(judged.predictions, judged.references)
        scores[ROUGE_L] = np.array([row.max() for row in rows])
    return {name: correlation(scores[name], judged.ratings, variant) for name in METRICS if name in scores}


def draw_picture(found: dict[str, dict[str, float]], path: Path) -> None:
    """One bar for each metric in each set; a cross where there is a published value."""
    figure, axes = new_figure(9, 3.8, num_panels=len(found))
    if figure is None:
        return
    for axis, (name, by_metric) in zip(axes, found.items()):
        bars = axis.barh(list(by_metric), list(by_metric.values()), color="darkgray")
        axis.bar_label(bars, fmt="%.3f", padding=7)
        published = np.array(list(PUBLISHED[name].values())) / 100
        (crosses,) = axis.plot(published, list(PUBLISHED[name]), "kx")
        axis.invert_yaxis()
        axis.margins(x=0.2)
        axis.set(title=SETS[name][2], xlabel="Kendall's tau with human judgments (-1..1)")
    figure.legend([crosses], ["as published in the CLIPScore paper"], loc="outside lower center", frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, writes the CSV and the picture."""
    parser = make_parser(__doc__.splitlines()[0], "flickr8k")
    options = parser.parse_args(arguments)
    if not is_there(options.data, "the correlation with human judgments"):
        return
    with_rouge = has_rouge()
    found = {name: correlations(read(options.data), variant, with_rouge) for name, (read, variant, _) in SETS.items()}
    header = ["metric", "expert_tau_c", "expert_published_percent", "crowd_tau_b", "crowd_published_percent"]
    rows = [
        [metric] + [cell for name in SETS for cell in (found[name][metric], str(PUBLISHED[name].get(metric, "")))]
        for metric in found["expert"]
    ]
    print_table(["metric", "Expert, tau-c", "published, %", "CF, tau-b", "published, %"], rows)
    write_csv(options.output / "human_correlation.csv", header, rows)
    draw_picture(found, options.output / "human_correlation.png")


if __name__ == "__main__":
    main()
