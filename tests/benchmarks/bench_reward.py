"""Time of CIDEr-D as a reward: 64 samples with five references each per call, beside pycocoevalcap's scorer.

    python -m tests.benchmarks.bench_reward

One process on one core; the ways take turns, call by call. The peer is pycocoevalcap's CiderScorer with a fixed table,
as the CiderD of self-critical training is called; it gets tokens, and once raw captions through its tokenizer (java).
"""

import argparse
import os
import platform
import random
import shutil
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from datetime import date

from tests.benchmarks.bench_captions import perturb, read_captions
from tests.benchmarks.measuring import RESULTS, machine, versions, write_section

SEED = 20260101
NUM_IMAGES = 5000

Batch = tuple[list[str], list[list[str]]]


def make_batches(groups: list[list[str]], number: int, images: int, samples: int, rng: random.Random) -> list[Batch]:
    """Batches of `images` random images with `samples` changed captions each."""
    batches = []
    for _ in range(number):
        chosen = [group for group in rng.sample(groups, images) for _ in range(samples)]
        batches.append(([perturb(group[0], rng) for group in chosen], chosen))
    return batches


class FixedNumber(list):
    """A list whose length says how many images the table was made of; the scorer takes its logarithm."""

    num_images = 1

    def __len__(self):
        return self.num_images


def peer(table, tokenize: Callable[[Batch], Batch]) -> Callable[[Batch], list[float]]:
    """pycocoevalcap's CiderScorer with a table's frequencies."""
    from pycocoevalcap.cider.cider_scorer import CiderScorer

    frequencies = defaultdict(float)
    grams = [()]
    for keys, counts in table.levels:
        pairs = [divmod(key, len(table.vocabulary)) for key in keys.tolist()]
        grams = [(*grams[parent], table.vocabulary[last]) for parent, last in pairs]
        frequencies.update(zip(grams, map(float, counts)))

    def score(batch: Batch) -> list[float]:
        scorer = CiderScorer()
        for candidate, references in zip(*tokenize(batch)):
            scorer += (candidate, references)
        scorer.crefs = FixedNumber(scorer.crefs)
        scorer.crefs.num_images = table.num_images
        scorer.document_frequency = frequencies
        return [float(value) for value in scorer.compute_cider()]

    return score


def java_tokens(batch: Batch) -> Batch:
    """Tokens by pycocoevalcap's PTBTokenizer, which starts java twice."""
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    candidates, references = batch
    texts = {i: [{"caption": text}] for i, text in enumerate(candidates)}
    groups = {i: [{"caption": text} for text in group] for i, group in enumerate(references)}
    found = [PTBTokenizer().tokenize(captions) for captions in (texts, groups)]
    return [found[0][i][0] for i in texts], [found[1][i] for i in groups]


def contenders(table) -> tuple[dict[str, Callable[[Batch], list[float]]], Callable[[Batch], None]]:
    """name -> one call; and what learns the tokens of a batch, before it is measured."""
    from metrics.cider.reward import CiderReward
    from metrics.cider.scoring import sample_scores, sample_statistics
    from metrics.utils.ptb import ptb

    kept, forgetting = CiderReward(table), CiderReward(table, cache_size=1)
    tokens: dict[str, str] = {}

    def ready_tokens(batch: Batch) -> Batch:
        return [tokens[text] for text in batch[0]], [[tokens[text] for text in group] for group in batch[1]]

    def evaluation(batch: Batch) -> list[float]:
        return sample_scores(sample_statistics(*batch, document_frequencies=table))["cider"].tolist()

    def remember(batch: Batch) -> None:
        for text in [*batch[0], *(text for group in batch[1] for text in group)]:
            tokens[text] = " ".join(ptb(text))

    found = {
        "reward, references kept": lambda batch: kept(completions=batch[0], references=batch[1]),
        "reward, references new": lambda batch: forgetting(completions=batch[0], references=batch[1]),
        "compute with a table": evaluation,
    }
    try:
        found["pycocoevalcap, tokens given"] = peer(table, ready_tokens)
        if shutil.which("java"):
            found["pycocoevalcap, raw captions"] = peer(table, java_tokens)
    except ModuleNotFoundError as error:
        print(f"needs {error.name}", file=sys.stderr)
    return found, remember


def measure(ways: dict, batches: list[Batch], rounds: int) -> dict[str, list[tuple[float, float]]]:
    """(wall, CPU) seconds of every call; a way with java takes one batch a round."""
    times = {name: [] for name in ways}
    for number in range(rounds):
        for name, call in ways.items():
            for batch in batches[:1] if "raw captions" in name else batches:
                wall, cpu = time.perf_counter(), time.process_time()
                call(batch)
                if number:  # The first round warms up.
                    times[name].append((time.perf_counter() - wall, time.process_time() - cpu))
    return times


def table_of(ways: dict, batches: list[Batch], rounds: int) -> list[str]:
    """Rows of Markdown, after a check that all ways agree."""
    expected = next(iter(ways.values()))(batches[0])
    for name, call in ways.items():
        worst = max(abs(a - b) for a, b in zip(call(batches[0]), expected))
        if worst > 1e-9:
            raise SystemExit(f"{name} differs by {worst} from the first")
    times = measure(ways, batches, rounds)
    ours = statistics.median(wall for wall, _ in times["reward, references kept"])
    rows = ["| way | median ms | least ms | median CPU ms | median / ours |", "|---|---|---|---|---|"]
    for name, found in times.items():
        walls, cpus = zip(*found)
        median = statistics.median(walls)
        rows.append(
            f"| {name} | {1e3 * median:.1f} | {1e3 * min(walls):.1f} | {1e3 * statistics.median(cpus):.1f} | "
            f"{median / ours:.1f} |"
        )
    return rows


def main() -> None:
    """Measures and writes the section of the report."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--rounds", type=int, default=6, help="calls of every batch, the first one not counted")
    parser.add_argument("--batches", type=int, default=20)
    arguments = parser.parse_args()
    started = machine()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})

    from metrics.cider.document_frequencies import DocumentFrequencies

    rng = random.Random(SEED)
    groups, source = read_captions(NUM_IMAGES, rng)
    table = DocumentFrequencies.from_references(groups)
    ways, remember = contenders(table)
    text = [
        "## CIDEr-D as a reward",
        f"{date.today()}, `python -m tests.benchmarks.bench_reward --rounds {arguments.rounds}`, on one core.",
        started,
        f"Versions: Python {platform.python_version()}, {versions(['numpy', 'pycocoevalcap'])}.",
        "",
        f"{source}: a table of {table.num_images:,} images and {len(table):,} n-grams. A call scores 64 captions with "
        "five references each, all of which differ from call to call; the ways take turns and give the same rewards "
        "to 1e-9. pycocoevalcap's scorer is called with this table's frequencies, as CiderD is in self-critical "
        "training, once with tokens that cost it nothing and once from raw captions, as the other ways.",
    ]
    for images, samples in ((64, 1), (8, 8)):
        batches = make_batches(groups, arguments.batches, images, samples, rng)
        for batch in batches:
            remember(batch)
        title = f"### {images} images, {samples} caption{'s' if samples > 1 else ''} each"
        text += ["", title, *table_of(ways, batches, arguments.rounds)]
    write_section("reward", "\n".join(text))
    print(f"Wrote {RESULTS}")


if __name__ == "__main__":
    main()
