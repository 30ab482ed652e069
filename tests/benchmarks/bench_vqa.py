"""VQA accuracy through compute() against the official evaluation: speed, peak memory, growth with the questions.

    python -m tests.benchmarks.bench_vqa [--questions 214354]

The official code is Python 2; here its steps are written again from their description (unanimity rule, leave-one-out
by comparing dicts, no memory of what was normalised, annotations changed in place) and checked on the gold accuracies.
Every contender runs in a process of its own, on questions drawn again and again from shared/data/vqa/vqav2_8977.
"""

import argparse
import gzip
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

from metrics.vqa_accuracy.normalizer import ARTICLES, CONTRACTIONS, MARKS, NUMBER_WORDS

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("METRICS_SHARED", ROOT.parent / "shared"))
COMMA, PERIOD = re.compile(r"(\d)(\,)(\d)"), re.compile(r"(?!<=\d)(\.)(?!\d)")


def draw(number):
    """Draws annotations with replacement; every text is a new object, as from a file of this size."""
    folder = SHARED / "data" / "vqa" / "vqav2_8977"
    annotations = json.loads((folder / "annotations.json").read_text())["annotations"]
    results = {row["question_id"]: row["answer"] for row in json.loads((folder / "results.json").read_text())}
    drawn = random.Random(0).choices(annotations, k=number)
    return [results[row["question_id"]] for row in drawn], json.loads(json.dumps([row["answers"] for row in drawn]))


def punctuation(text):
    out = text
    for mark in MARKS:
        if mark + " " in text or " " + mark in text or COMMA.search(text) is not None:
            out = out.replace(mark, "")
        else:
            out = out.replace(mark, " ")
    return PERIOD.sub("", out, count=32)


def digits_and_articles(text):
    words = [NUMBER_WORDS.get(word, word) for word in text.lower().split()]
    return " ".join(CONTRACTIONS.get(word, word) for word in words if word not in ARTICLES)


def official_accuracies(predictions, annotations):
    accuracies = []
    for prediction, answers in zip(predictions, annotations):
        prediction = prediction.replace("\n", " ").replace("\t", " ").strip()
        for answer in answers:
            answer["answer"] = answer["answer"].replace("\n", " ").replace("\t", " ").strip()
        if len({answer["answer"] for answer in answers}) > 1:
            for answer in answers:
                answer["answer"] = digits_and_articles(punctuation(answer["answer"]))
            prediction = digits_and_articles(punctuation(prediction))
        scores = []
        for answer in answers:
            others = [other for other in answers if other != answer]
            scores.append(min(1, len([other for other in others if other["answer"] == prediction]) / 3))
        accuracies.append(sum(scores) / len(scores))
    return accuracies


def check():
    with gzip.open(SHARED / "gold" / "vqa" / "accuracy.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    answers = [[{"answer": a, "answer_id": i} for i, a in enumerate(row["answers"])] for row in rows]
    found = official_accuracies([row["prediction"] for row in rows], answers)
    wrong = sum(abs(value - row["official_accuracy"]) > 1e-9 for value, row in zip(found, rows))
    print(f"official, written again: {wrong} of {len(rows)} gold accuracies differ")


def run(name, number):
    """Scores once and prints seconds, memory peak in MB, and the score."""
    if name == "ours":
        import evaluate

        metric = evaluate.load(str(ROOT / "metrics" / "vqa_accuracy"))
    predictions, annotations = draw(number)
    start = time.perf_counter()
    if name == "ours":
        value = metric.compute(predictions=predictions, references=annotations)["vqa_accuracy"]
    else:
        accuracies = official_accuracies(predictions, annotations)
        value = sum(accuracies) / len(accuracies)
    seconds = time.perf_counter() - start
    print(json.dumps([seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, value]))


def measure(name, number):
    command = [sys.executable, "-m", "tests.benchmarks.bench_vqa", "--run", name, "--questions", str(number)]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--questions", type=int, default=214_354)
    parser.add_argument("--run", choices=["ours", "official"], help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        return run(options.run, options.questions)
    check()
    times = {}
    for number in (options.questions // 4, options.questions):
        for name in ("ours", "official"):
            seconds, peak, value = measure(name, number)
            times[name, number] = seconds
            print(f"{name:<9} {number:>8} questions {seconds:8.2f} s {1e6 * seconds / number:8.1f} us each"
                  f" {peak:8.0f} MB  {value:.6f}", flush=True)
        print(f"          {times['official', number] / times['ours', number]:.1f} times the official speed")


if __name__ == "__main__":
    main()
