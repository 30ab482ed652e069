"""VQA accuracy through compute() against the official evaluation and lmms-eval: speed, memory, growth.

    pip install --no-deps lmms-eval loguru
    python -m tests.benchmarks.bench_vqa

The official code is Python 2; here its steps are written again from their description (unanimity rule, leave-one-out
by comparing dicts, no memory of what was normalised, annotations changed in place) and checked on the gold accuracies.
Questions are drawn again and again from shared/data/vqa/vqav2_8977.
"""

import argparse
import gzip
import json
import os
import platform
import random
import re
import sys
import types
from collections.abc import Callable
from datetime import date
from importlib.util import find_spec
from pathlib import Path

from metrics.vqa_accuracy.normalizer import ARTICLES, CONTRACTIONS, MARKS, NUMBER_WORDS
from tests.benchmarks.measuring import ROOT, machine, measure, serve, take_turns, versions, write_section

SHARED = Path(os.environ.get("METRICS_SHARED", ROOT.parent / "shared"))
OURS, OFFICIAL, LMMS = "this repository", "official, written again", "lmms-eval (always normalises)"
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


def ours():
    import evaluate

    metric = evaluate.load(str(ROOT / "metrics" / "vqa_accuracy"))
    return lambda predictions, references: metric.compute(predictions=predictions, references=references)[
        "vqa_accuracy"
    ]


def official():
    def score(predictions, annotations):
        accuracies = official_accuracies(predictions, annotations)
        return sum(accuracies) / len(accuracies)

    return score


def lmms_eval():
    """The function of its VQAv2 task; the package of all tasks, which needs much more, is stepped over."""
    import loguru  # noqa: F401

    if find_spec("lmms_eval") is None:
        raise ModuleNotFoundError(name="lmms-eval")
    tasks = types.ModuleType("lmms_eval.tasks")
    tasks.__path__ = [str(Path(folder) / "tasks") for folder in find_spec("lmms_eval").submodule_search_locations]
    sys.modules["lmms_eval.tasks"] = tasks
    from lmms_eval.tasks.vqav2.utils import vqav2_process_results

    def score(predictions, annotations):
        documents = ({"question_id": 0, "answers": answers} for answers in annotations)
        values = [vqav2_process_results(document, [text]) for document, text in zip(documents, predictions)]
        return sum(value["exact_match"] for value in values) / len(values)

    return score


CONTENDERS = {OURS: ours, OFFICIAL: official, LMMS: lmms_eval}


def prepare(name: str, number: int) -> Callable[[], float]:
    """Imports a contender and draws the questions."""
    scorer = CONTENDERS[name]()
    data = draw(number)
    return lambda: scorer(*data)


def gold_difference() -> str:
    """Checks the official code as written here on the gold accuracies."""
    with gzip.open(SHARED / "gold" / "vqa" / "accuracy.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        rows = [json.loads(line) for line in file]
    answers = [[{"answer": a, "answer_id": i} for i, a in enumerate(row["answers"])] for row in rows]
    found = official_accuracies([row["prediction"] for row in rows], answers)
    wrong = sum(abs(value - row["official_accuracy"]) > 1e-9 for value, row in zip(found, rows))
    return f"{wrong} of {len(rows):,} gold accuracies differ"


def report(options: argparse.Namespace, host: str, results: dict) -> str:
    """The section as Markdown; ratios above 1 say how much more the others take."""
    sizes = " ".join(map(str, options.sizes))
    lines = [
        "## VQA accuracy",
        "",
        f"{date.today().isoformat()}, `python -m tests.benchmarks.bench_vqa --sizes {sizes} "
        f"--rounds {options.rounds}`.",
        host,
        "",
        f"Ten answers per question, as annotation dicts; medians of {options.rounds} rounds in which the contenders "
        "take turns, each in a new process; imports and loading are not counted. Peak is resident memory above what "
        "was resident before. Ours finds the diagnosis too. Of the official code as written again, "
        f"{gold_difference()}.",
        "",
        "| questions | contender | score | wall s | CPU s | peak MB | wall / ours | CPU / ours | peak / ours |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for (name, number), result in results.items():
        if "error" in result:
            lines.append(f"| {number:,} | {name} | {result['error']} | | | | | | |")
            continue
        own = results[OURS, number]
        ratios = [f"{result[key] / own[key]:.1f}" for key in ("wall", "cpu", "memory")]
        times = [f"{result[key]:.2f}" for key in ("wall", "cpu")]
        values = [f"{result['score']:.6f}", *times, f"{result['memory'] / 1e6:.0f}"]
        lines.append(f"| {' | '.join([f'{number:,}', name, *values, *ratios])} |")
    small, large = min(options.sizes), max(options.sizes)
    growth = results[OURS, large]["wall"] / results[OURS, small]["wall"]
    return "\n".join([*lines, "", f"{large / small:.1f} times the questions take {growth:.1f} times our wall time."])


def main() -> None:
    """Parses the command line, measures, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[53_588, 214_354], help="numbers of questions")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--child", nargs=2, metavar=("CONTENDER", "QUESTIONS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        name, number = options.child
        return serve(lambda: prepare(name, int(number)))
    packages = versions("evaluate datasets numpy lmms-eval".split())
    host = f"{machine()}\nVersions: Python {platform.python_version()}, {packages}."

    def measure_one(contender: tuple[str, int]) -> dict:
        name, number = contender
        return measure([sys.executable, "-m", "tests.benchmarks.bench_vqa", "--child", name, str(number)])

    contenders = [(name, number) for number in options.sizes for name in CONTENDERS]
    section = report(options, host, take_turns(contenders, options.rounds, measure_one))
    write_section("vqa", section)
    print(section)


if __name__ == "__main__":
    main()
