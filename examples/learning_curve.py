"""A small vision-language model that learns: scores on held-out scenes before, during and after fifty steps.

    python -m examples.learning_curve --seeds 0 1 2 3 4 5 6 7 8 9

Needs no data: the world is made up (examples/lesson/world.py). The program fails when retrieval, answers or captions
end no better than guessing in more than one seed of ten.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch

from examples.lesson.evaluation import baselines, evaluate
from examples.lesson.model import VisionLanguageModel, make_model
from examples.lesson.world import EvalSuite, build_eval_suite, training_batch
from examples.output import make_parser, new_figure, print_table, save_figure, write_csv

# What has to end above its baseline, and how a picture calls it.
CLAIMS = {
    "i2t_r@5": "R@5, picture to text",
    "t2i_r@5": "R@5, text to picture",
    "vqa_soft": "VQA, soft accuracy",
    "bleu4": "corpus BLEU-4",
    "cider": "CIDEr-D",
}
RANGES = {"cider": "0..10"}


def train(model: VisionLanguageModel, seed: int, steps: int, learning_rate: float = 3e-3) -> Iterator[float]:
    """Trains on fresh batches of training scenes; yields the sum of the three losses at each step."""
    rng = np.random.default_rng([seed, 2])
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    for _ in range(steps):
        loss = sum(model.losses(training_batch(rng)).values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


def learning_curve(seed: int, suite: EvalSuite, steps: int, every: int) -> list[dict]:
    """Trains a model and evaluates it at step 0, at every `every`-th and at the last.

    Returns:
        One dict for each checkpoint: `seed`, `step`, `loss` (of the step before; NaN at step 0), the scores of
        `evaluate`, and its baselines with `baseline_` before their names.
    """
    model = make_model(seed)
    rows = [_checkpoint(model, suite, seed, 0, float("nan"))]
    for step, loss in enumerate(train(model, seed, steps), start=1):
        if step % every == 0 or step == steps:
            rows.append(_checkpoint(model, suite, seed, step, loss))
    return rows


def _checkpoint(model: VisionLanguageModel, suite: EvalSuite, seed: int, step: int, loss: float) -> dict:
    guessed = {f"baseline_{name}": value for name, value in baselines(model, suite).items()}
    return {"seed": seed, "step": step, "loss": loss, **evaluate(model, suite), **guessed}


def seeds_above(rows: Sequence[dict]) -> dict[str, int]:
    """Counts the seeds whose last checkpoint is above its baseline, for each of CLAIMS."""
    last = {row["seed"]: row for row in rows}.values()
    return {name: sum(row[name] > row[f"baseline_{name}"] for row in last) for name in CLAIMS}


def check_claims(rows: Sequence[dict]) -> None:
    """Prints in how many seeds each of CLAIMS holds; exits with an error below nine in ten."""
    num_seeds, counts = len({row["seed"] for row in rows}), seeds_above(rows)
    for name, count in counts.items():
        print(f"{CLAIMS[name]}: above its baseline at the end in {count} of {num_seeds} seeds")
    enough = math.ceil(num_seeds * 9 / 10)
    if min(counts.values()) < enough:
        raise SystemExit(f"expected at least {enough} of {num_seeds} seeds for each")


def before_and_after(rows: Sequence[dict]) -> list[list]:
    """Rows of a table, means over the seeds: name, first checkpoint, last one, baseline at the last."""
    last_step = max(row["step"] for row in rows)
    names = [name.removeprefix("baseline_") for name in rows[0] if name.startswith("baseline_")]

    def mean(name: str, step: int) -> float:
        return float(np.mean([row[name] for row in rows if row["step"] == step]))

    order = [name for name in rows[0] if name in names]
    return [[name, mean(name, 0), mean(name, last_step), mean(f"baseline_{name}", last_step)] for name in order]


def draw_picture(rows: Sequence[dict], path: Path) -> None:
    """A panel for each claim: every seed in gray, their mean in black, the mean baseline dashed."""
    figure, axes = new_figure(12, 2.8, num_panels=len(CLAIMS))
    if figure is None:
        return
    steps = sorted({row["step"] for row in rows})
    for axis, (name, title) in zip(axes, CLAIMS.items()):
        table = {
            key: np.array([[row[key] for row in rows if row["step"] == step] for step in steps])
            for key in (name, f"baseline_{name}")
        }
        axis.plot(steps, table[name], color="darkgray", linewidth=0.8)
        (mean,) = axis.plot(steps, table[name].mean(axis=1), "ko-", markersize=4)
        (guess,) = axis.plot(steps, table[f"baseline_{name}"].mean(axis=1), "k--")
        axis.set(title=title, xlabel="training steps", ylabel=f"score ({RANGES.get(name, '0..1')})")
        axis.set_ylim(bottom=0)
        axis.set_xticks(steps)
    labels = ["mean of the seeds (gray: each)", "baseline: random order, best single answer, captions shuffled"]
    figure.legend([mean, guess], labels, loc="outside lower center", ncols=2, frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table and the counts, writes the CSV and the picture; fails where the model learned nothing."""
    parser = make_parser(__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0], help="one model is trained for each")
    parser.add_argument("--suite-seed", type=int, default=7777, help="decides the held-out samples")
    parser.add_argument("--samples", type=int, default=50, help="pairs, questions and pictures of the suite")
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--every", type=int, default=10, help="steps between two evaluations")
    parser.add_argument("--threads", type=int, default=1, help="more do not pay for a model this small")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    suite = build_eval_suite(options.suite_seed, options.samples)
    rows = [row for seed in options.seeds for row in learning_curve(seed, suite, options.steps, options.every)]
    print_table(["score", "step 0", f"step {options.steps}", "baseline"], before_and_after(rows))
    write_csv(options.output / "learning_curve.csv", list(rows[0]), [list(row.values()) for row in rows])
    draw_picture(rows, options.output / "learning_curve.png")
    check_claims(rows)


if __name__ == "__main__":
    main()
