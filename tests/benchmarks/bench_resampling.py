"""Times of intervals and paired tests: `python -m tests.benchmarks.bench_resampling [--samples 40000]`.

Statistics are random numbers of the kinds that each metric has. On a busy machine CPU seconds say more than wall time.
"""

import argparse
import os
import resource
import time

import numpy as np

from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.entity_score import scoring as entity_score
from metrics.recall_at_k import scoring as recall_at_k
from metrics.utils.paired_tests import approximate_randomization, paired_bootstrap
from metrics.utils.resampling import confidence_interval
from metrics.vqa_accuracy import scoring as vqa


def systems(samples: int, generator: np.random.Generator) -> dict:
    """Formula and statistics of one system per metric."""
    length = generator.integers(5, 15, samples)
    totals = np.maximum(length[:, None] - np.arange(4), 0)
    counts = {"matches": generator.integers(0, totals + 1), "totals": totals}
    lengths = {"candidate_length": length, "reference_length": generator.integers(5, 15, samples)}
    return {
        "cider": (cider.score, {"similarity": generator.random((samples, 4))}),
        "bleu4": (bleu4.score, {**counts, **lengths}),
        "vqa_accuracy": (vqa.score, {"accuracy": generator.random(samples)}),
        "entity_score": (
            entity_score.score,
            {key: generator.random(samples) for key in ("recall", "similarity", "entity_score")},
        ),
        # Five texts per image: a sixth of the queries are images.
        "recall_at_k": (
            recall_at_k.score,
            {
                "direction": np.arange(samples) % 6 > 0,
                "query": np.arange(samples),
                "better": generator.geometric(0.1, samples) - 1,
                "tied": np.ones(samples, int),
                "correct": np.ones(samples, int),
                "correct_tied": np.ones(samples, int),
            },
        ),
    }


def measure(function, *arguments, **options) -> str:
    """Wall and CPU seconds of a call, and by how much the peak of memory grew, as cells of a table."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    wall, cpu = time.perf_counter(), time.process_time()
    function(*arguments, **options)
    seconds = f"{time.perf_counter() - wall:.2f} | {time.process_time() - cpu:.2f}"
    return f"{seconds} | {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f}"


def main() -> None:
    """Prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=40_000)
    samples = parser.parse_args().samples
    generator = np.random.default_rng(0)
    labels = [f"image {i}" for i in generator.integers(0, samples // 3, samples)]
    first, second = systems(samples, generator), systems(samples, generator)
    print(f"1,000 resamples of {samples:,} samples; load average {os.getloadavg()[0]:.2f}\n")
    print("| metric | what | resampled | wall s | CPU s | peak grew by MB |\n|---|---|---|---|---|---|")
    for name, (score, one) in first.items():
        pair = one, second[name][1]
        for kind, clusters in (("samples", None), ("clusters", labels)):
            for function, given in (
                (confidence_interval, pair[:1]),
                (paired_bootstrap, pair),
                (approximate_randomization, pair),
            ):
                cells = measure(function, score, *given, clusters=clusters)
                print(f"| {name} | {function.__name__} | {kind} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
