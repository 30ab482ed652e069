"""Speed of entity_score against one pair at a time as the published script goes about it, and of its nouns.

    python -m tests.benchmarks.bench_entity [--sizes 100 2000] [--straight 100] [--device cpu] [--dtypes float32]

Needs torch, transformers and the folder of gold data (captions, NLTK's data, t5-base's vocabulary). The encoder has
t5-base's shape and random weights, on which neither speed nor the differences depend. Loading is not counted; noun
extraction is. Every size starts without known states. On a busy machine the ratio of CPU seconds says more.
"""

import argparse
import csv
import os
import random
import tempfile
import time
from datetime import date
from pathlib import Path

import numpy as np

from metrics.entity_score.scoring import find_entities, sample_statistics
from metrics.utils.nouns import entities
from tests import tiny_models
from tests.benchmarks.measuring import ROOT, versions, write_section

SHARED = Path(os.environ.get("METRICS_SHARED", ROOT.parent / "shared"))
T5_BASE = {"d_model": 768, "d_kv": 64, "d_ff": 3072, "num_layers": 12, "num_heads": 12}
WORDS = 50, 70
NOUN_TEXTS = 1000


def paragraphs(number: int, rng: random.Random) -> list[str]:
    """Paragraphs of 50-70 words: captions of AudioCaps, lower-cased, one behind the other."""
    with open(SHARED / "data" / "audiocaps" / "captions_test.csv", encoding="utf-8", newline="") as file:
        captions = [row[-1].lower().rstrip(".") for row in csv.reader(file)][1:]
    made: list[str] = []
    while len(made) < number:
        text = ""
        while len(text.split()) < WORDS[0]:
            text += rng.choice(captions) + ". "
        if len(text.split()) <= WORDS[1]:
            made.append(text.strip())
    return made


def measure(function, *arguments):
    """Result, wall and CPU seconds of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = function(*arguments)
    return result, time.perf_counter() - wall, time.process_time() - cpu


def measure_nouns(texts: list[str]) -> list[str]:
    from tests.entity_score.straight import nouns_of

    slow, wall, cpu = measure(lambda: [frozenset(nouns_of(text)) for text in texts])
    fast, our_wall, our_cpu = measure(entities, texts)
    if fast != slow:
        raise ValueError("the entities differ from those that NLTK finds")
    rows = ("nltk", wall, cpu), ("this repository", our_wall, our_cpu)
    lines = ["| nouns of 1,000 paragraphs | wall s | CPU s | texts/s of CPU |", "|---|---|---|---|"]
    lines += [f"| {name} | {w:.2f} | {c:.2f} | {len(texts) / c:,.0f} |" for name, w, c in rows]
    return [
        *lines,
        "",
        f"{wall / our_wall:.1f} times as fast by wall time, {cpu / our_cpu:.1f} by CPU time; equal sets.",
        "",
    ]


def measure_straight(pairs, tokenizer, model) -> tuple[np.ndarray, float, float]:
    """Scores of one pair after the other, and wall and CPU seconds per pair."""
    from tests.entity_score.straight import pair_score

    scores, wall, cpu = measure(lambda: [pair_score(*pair, tokenizer, model)[0] for pair in pairs])
    return np.array(scores), wall / len(pairs), cpu / len(pairs)


def measure_ours(pairs, parts, straight) -> str:
    """One row of the table."""
    from metrics.utils.t5 import T5Encoder

    predictions, references = zip(*pairs)
    encoder = T5Encoder.of(*parts)
    statistics, wall, cpu = measure(lambda: sample_statistics(predictions, references, encoder=encoder))
    _, again, _ = measure(lambda: sample_statistics(predictions, references, encoder=encoder))
    found = find_entities(predictions, references)
    unique = set().union(*found.predictions, *(stems for group in found.references for stems in group))
    scores, straight_wall, straight_cpu = straight
    shared = min(len(scores), len(pairs))
    difference = np.abs(statistics["entity_score"][:shared] - scores[:shared]).max()
    size = len(pairs)
    cells = [
        f"{size:,}",
        str(parts[1].dtype).removeprefix("torch."),
        f"{len(unique):,}",
        f"{wall:.1f}",
        f"{cpu:.1f}",
        f"{size / wall:.1f}",
        f"{straight_wall * size / wall:.1f}",
        f"{straight_cpu * size / cpu:.1f}",
        f"{difference:.1e}",
        f"{size / again:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def report(options: argparse.Namespace, folder: Path) -> str:
    """Measures everything; the section as Markdown."""
    import nltk
    import torch
    from transformers import AutoTokenizer, T5EncoderModel

    rng = random.Random(20260101)
    data = tiny_models.write_nltk_data(folder / "nltk", SHARED / "data" / "nltk_data")
    nltk.data.path.insert(0, str(data))
    (folder / "t5").mkdir()
    path = tiny_models.write_t5(folder / "t5", SHARED / "data" / "t5_vocabulary", **T5_BASE)
    tokenizer, model = AutoTokenizer.from_pretrained(path), T5EncoderModel.from_pretrained(path).eval()
    model = model.to(options.device)
    pairs = list(zip(paragraphs(max(options.sizes), rng), paragraphs(max(options.sizes), rng)))
    (
        entities(["a man"]),
        nltk.pos_tag(nltk.word_tokenize("a man")),
        model.encoder(input_ids=torch.ones(8, 8).long().to(options.device)),
    )
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    straight = measure_straight(pairs[: options.straight], tokenizer, model)
    lines = [
        "## EntityScore",
        "",
        f"{date.today().isoformat()}, `python -m tests.benchmarks.bench_entity --sizes "
        f"{' '.join(map(str, options.sizes))} --straight {options.straight} --device {options.device} --dtypes "
        f"{' '.join(options.dtypes)}`. {os.cpu_count()} cores, {torch.get_num_threads()} threads of torch; device "
        f"{options.device}; load average at start {load}. {versions(['nltk', 'numpy'])}, "
        f"{versions(['torch', 'transformers'])}.",
        "",
        __doc__.split("\n\n")[2].replace("\n", " ").strip(),
        "",
        *measure_nouns([pair[0] for pair in pairs[:NOUN_TEXTS]]),
        f"One pair at a time ({len(straight[0])} pairs, float32): {1 / straight[1]:.2f} pairs/s by wall time, "
        f"{1 / straight[2]:.2f} by CPU time.",
        "",
        "| pairs | type | distinct entities | wall s | CPU s | pairs/s | times as fast (wall) | (CPU) | "
        "largest difference | pairs/s, states known |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for dtype in options.dtypes:
        model = model.to(getattr(torch, dtype))
        lines += [measure_ours(pairs[:size], (tokenizer, model), straight) for size in options.sizes]
    return "\n".join(lines)


def main() -> None:
    """Parses the command line, measures, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 2000], help="numbers of pairs")
    parser.add_argument("--straight", type=int, default=100, help="pairs scored one at a time")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtypes", nargs="+", default=["float32"])
    parser.add_argument("--output", type=Path, default=Path("tests/benchmarks/RESULTS.md"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        section = report(options, Path(folder))
    write_section("entity", section, options.output)
    print(section)


if __name__ == "__main__":
    main()
