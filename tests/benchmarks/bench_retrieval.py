"""Retrieval of COCO's size from embeddings to scores, next to the matrix product alone and the ways that others go.

    pip install torch torchmetrics
    python -m tests.benchmarks.bench_retrieval

A contender runs in a process of its own, in turn with the matrix product, so that both meet the same load of the
machine: ratios are those of one process. BLIP's and CLIP_benchmark's ways are written again from their description.
Embeddings are made up: each text is its image's embedding and noise.
"""

import argparse
import gc
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tests.benchmarks.measuring import (
    RESULTS,
    ROOT,
    cpu_seconds,
    last_line,
    machine,
    memory_of,
    reset_peak,
    versions,
    write_section,
)

K = (1, 5, 10)
COCO = (5000, 25010, 512)
HUGE = (2560, 100_000, 512)


class Data(NamedTuple):
    """Embeddings, and the image of each text."""

    images: np.ndarray
    texts: np.ndarray
    own: np.ndarray

    def references(self) -> list[list[int]]:
        """The texts of each image."""
        order = np.argsort(self.own, kind="stable")
        parts = np.split(order, np.searchsorted(self.own[order], np.arange(1, len(self.images))))
        return [part.tolist() for part in parts]


def make(images: int, texts: int, dimensions: int) -> Data:
    """Makes up unit vectors whose scores are about those of a good model."""
    rng = np.random.default_rng(0)
    sides = rng.standard_normal((images, dimensions), dtype=np.float32)
    own = np.sort(np.arange(texts) % images)
    noisy = sides[own] + 6 * rng.standard_normal((texts, dimensions), dtype=np.float32)
    return Data(*(side / np.linalg.norm(side, axis=1, keepdims=True) for side in (sides, noisy)), own)


def product(data: Data) -> None:
    """The matrix product alone, in blocks."""
    block = np.empty((256, len(data.texts)), np.float32)
    for start in range(0, len(data.images), 256):
        rows = data.images[start : start + 256]
        np.matmul(rows, data.texts.T, out=block[: len(rows)])


# Contenders: each imports what it needs, and returns the function that is measured and how much of the work it does.


def ours() -> tuple[Callable, float]:
    """This repository's module, from embeddings."""
    import evaluate

    metric = evaluate.load(str(ROOT / "metrics" / "recall_at_k"))

    def score(data: Data) -> float:
        references = data.references()
        return metric.compute(image_embeddings=data.images, text_embeddings=data.texts, references=references)["rsum"]

    return score, 1.0


def ours_from_a_matrix() -> tuple[Callable, float]:
    """This repository's module and the whole matrix."""
    import evaluate

    metric = evaluate.load(str(ROOT / "metrics" / "recall_at_k"))

    def score(data: Data) -> float:
        matrix = data.images @ data.texts.T
        return metric.compute(predictions=matrix, references=data.references())["rsum"]

    return score, 1.0


def argsort() -> tuple[Callable, float]:
    """BLIP's way (ALBEF's and LAVIS's too): the whole matrix, one argsort per row, np.where per correct item."""

    def recalls(matrix: np.ndarray, correct: list) -> float:
        ranks = np.empty(len(matrix))
        for i, row in enumerate(matrix):
            order = np.argsort(row)[::-1]
            ranks[i] = min(np.where(order == item)[0][0] for item in correct[i])
        return sum(np.mean(ranks < k) for k in K)

    def score(data: Data) -> float:
        matrix = data.images @ data.texts.T
        return recalls(matrix, data.references()) + recalls(matrix.T, data.own[:, None].tolist())

    return score, 1.0


def top_k() -> tuple[Callable, float]:
    """CLIP_benchmark's way: the whole matrix, and for every K top-k and one-hot in batches of 64."""
    import torch

    def recalls(matrix, positive) -> float:
        total = 0.0
        for k in K:
            hits = []
            for part, correct in zip(matrix.split(64), positive.split(64)):
                hot = torch.nn.functional.one_hot(torch.topk(part, k, dim=1)[1], part.shape[1])
                hits.append((hot * correct[:, None]).sum(dim=(1, 2)) / correct.sum(dim=1) > 0)
            total += torch.cat(hits).float().mean().item()
        return total

    def score(data: Data) -> float:
        matrix = torch.from_numpy(data.texts) @ torch.from_numpy(data.images).T
        positive = torch.zeros(matrix.shape, dtype=torch.bool)
        positive[torch.arange(len(data.texts)), torch.from_numpy(data.own)] = True
        return recalls(matrix, positive) + recalls(matrix.T, positive.T)

    return score, 1.0


def torchmetrics() -> tuple[Callable, float]:
    """torchmetrics' hit rate, an object per K: 250 images as queries, i2t only."""
    import torch
    from torchmetrics.retrieval import RetrievalHitRate

    def score(data: Data) -> float:
        matrix = torch.from_numpy(data.images[:250]) @ torch.from_numpy(data.texts).T
        index = torch.arange(len(matrix)).repeat_interleave(matrix.shape[1])
        target = torch.from_numpy(data.own == np.arange(len(matrix))[:, None]).reshape(-1)
        return sum(RetrievalHitRate(top_k=k)(matrix.reshape(-1), target, indexes=index).item() for k in K)

    # Of two directions, both with as many numbers.
    return score, 250 / COCO[0] / 2


CONTENDERS = {
    "this repository": ours,
    "this repository, from a whole matrix": ours_from_a_matrix,
    "BLIP's way: argsort": argsort,
    "CLIP_benchmark's way: top-k and one-hot": top_k,
    "torchmetrics RetrievalHitRate": torchmetrics,
}


def run_child(name: str, shape: tuple[int, int, int], rounds: int) -> None:
    """Runs the product and one contender in turn, and prints what each run took."""
    score, part = CONTENDERS[name]()
    data = make(*shape)
    results = []
    for number in range(rounds):
        # The other one is the first in every second round.
        found = {}
        for key in ("product", "contender")[:: 1 if number % 2 else -1]:
            gc.collect()
            base = memory_of("VmRSS")
            reset_peak()
            start, cpu = time.perf_counter(), cpu_seconds()
            value = product(data) if key == "product" else score(data)
            found[key] = [time.perf_counter() - start, cpu_seconds() - cpu, memory_of("VmHWM") - base, value]
        results.append(found)
    print(json.dumps({"part": part, "runs": results}))


def measure(name: str, shape: tuple[int, int, int], rounds: int) -> dict:
    """One contender in a new process: medians of wall and CPU seconds, peak memory, ratio to the product."""
    arguments = ["--child", name, *map(str, shape), "--rounds", str(rounds)]
    command = [sys.executable, "-m", "tests.benchmarks.bench_retrieval", *arguments]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if process.returncode:
        return {"error": last_line(process.stderr)}
    output = json.loads(process.stdout.splitlines()[-1])
    part, runs = output["part"], output["runs"]
    wall, cpu, memory, value = zip(*(run["contender"] for run in runs))
    ratios = [run["contender"][0] / part / run["product"][0] for run in runs]
    result = {
        "wall": statistics.median(wall) / part,
        "cpu": statistics.median(cpu) / part,
        "memory": max(memory),
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "value": value[0],
        "part": part,
        "product": statistics.median(run["product"][0] for run in runs),
    }
    print(name, result, file=sys.stderr, flush=True)
    return result


def table(results: dict[str, dict]) -> list[str]:
    """COCO's size as a Markdown table."""
    own = results["this repository"]
    lines = [
        "| contender | sum of R@K | wall s | CPU s | peak MB | wall / product | of each round | / ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, result in results.items():
        if "error" in result:
            lines.append(f"| {name} | {result['error']} | | | | | | |")
            continue
        whole = result["part"] == 1
        rounds = ", ".join(f"{ratio:.2f}" for ratio in result["ratios"])
        cells = [
            name,
            f"{result['value']:.4f}" if whole else "(a part)",
            f"{result['wall']:.1f}",
            f"{result['cpu']:.1f}",
            f"{result['memory'] / 1e6:.0f}",
            f"{result['ratio']:.2f}",
            rounds,
            f"{result['ratio'] / own['ratio']:.1f}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def report(results: dict[str, dict], huge: dict[int, dict], rounds: int, load: str) -> str:
    """The section as Markdown."""
    lines = [
        "## Retrieval",
        "",
        f"{date.today().isoformat()}, `python -m tests.benchmarks.bench_retrieval --rounds {rounds}`.",
        load,
        f"Versions: {versions(['numpy', 'torch', 'evaluate', 'datasets', 'torchmetrics'])}.",
        "",
        f"{COCO[0]:,} images, {COCO[1]:,} texts, {COCO[2]} dimensions, float32, both directions, K = 1, 5, 10, from "
        "embeddings in memory to scores. Each contender runs in a process of its own, in turn with the matrix product "
        "alone (blocks of 256 rows); the ratio to it is the median over rounds, since other work shares the machine. "
        "Here R@K, MRR, median and mean rank and exact ties are in the time, and for the others R@K alone. Peak is "
        "resident memory above what was resident before (the embeddings are). torchmetrics was measured on 250 images "
        "as queries, and its times are multiplied by 40: 20 times the queries, two directions.",
        "",
        *table(results),
        "",
        "100,000 images, 100,000 texts: a part of the images against all texts, and the time of the whole "
        "extrapolated from it.",
        "",
        "| images | wall s | product alone s | wall / product | peak MB | whole s | whole product alone s |",
        "|---|---|---|---|---|---|---|",
    ]
    for images, result in huge.items():
        whole = " | ".join(f"{result[key] * 100_000 / images:.0f}" for key in ("wall", "product"))
        lines.append(
            f"| {images:,} | {result['wall']:.1f} | {result['product']:.1f} | {result['ratio']:.2f} | "
            f"{result['memory'] / 1e6:.0f} | {whole} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Parses the command line, measures, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="of this repository; others have one")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, *shape = options.child
        return run_child(name, tuple(map(int, shape)), options.rounds)
    load = machine()
    results = {name: measure(name, COCO, options.rounds if name.startswith("this") else 1) for name in CONTENDERS}
    huge = {images: measure("this repository", (images, *HUGE[1:]), 1) for images in (HUGE[0], 2 * HUGE[0])}
    section = report(results, huge, options.rounds, load)
    write_section("retrieval", section, options.output)
    print(section)


if __name__ == "__main__":
    main()
