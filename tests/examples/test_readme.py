"""The tables of the experiments in examples/README.md say what the CSV files beside their pictures say."""

import csv
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def cells(heading):
    """The numbers in the table under a heading: one list per row, one list of numbers per cell; the name left out."""
    section = (ROOT / "examples/README.md").read_text(encoding="utf-8").split(f"## {heading}\n")[1].split("\n##")[0]
    rows = [line[1:-1].split("|")[1:] for line in section.splitlines() if line.startswith("| ")][1:]
    return [[[float(number) for number in re.findall(r"[-+]?\d+\.\d+", cell)] for cell in row] for row in rows]


def read(name):
    with open(ROOT / "examples/results" / f"{name}.csv", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_consensus():
    draws = defaultdict(list)
    for row in read("consensus"):
        draws[row["metric"], row["references"]].append(float(row["agreement"]))
    metrics = dict.fromkeys(metric for metric, _ in draws)
    for metric, row in zip(metrics, cells("Agreement with human consensus"), strict=True):
        for number, found in zip(("1", "5", "10", "20", "48"), row, strict=True):
            values = draws[metric, number]
            assert found == pytest.approx([np.mean(values), np.std(values)][: len(found)], abs=5.1e-4)


def test_human_correlation():
    rows = [row for row in read("human_correlation") if row["metric"] not in ("BLEU-2", "BLEU-3")]
    for row, (expert, _, crowd, _) in zip(rows, cells("Correlation with human judgments"), strict=True):
        taus = [100 * float(row["expert_tau_c"]), 100 * float(row["crowd_tau_b"])]
        assert [*expert, *crowd] == pytest.approx(taus, abs=0.051)


def test_human_ceiling():
    rows = [row for row in read("human_ceiling") if row["metric"] in ("CIDEr-D", "BLEU-1", "BLEU-4", "ROUGE-L")]
    columns = ("human", "human_deviation", "system", "system_all_references")
    for row, found in zip(rows, cells("People beside a system"), strict=True):
        assert sum(found, []) == pytest.approx([float(row[name]) for name in columns], abs=5.1e-4)


def test_tokenizer_effect():
    by_set = defaultdict(list)
    for row in read("tokenizer_effect"):
        changes = [100 * float(row["cider_d_change"]), 100 * float(row["bleu4_change"])]
        by_set[row["set"]].append(changes if by_set[row["set"]] else [float(row["cider_d"]), float(row["bleu4"])])
    for number, found in enumerate(cells("What a tokenizer does to a score")):
        assert found == [pytest.approx(rows[number], abs=5.1e-3) for rows in by_set.values()]


def test_training():
    text = (ROOT / "examples/README.md").read_text(encoding="utf-8").split("## A Trainer with")[1].split("##")[0]
    text = " ".join(text.split())
    before, *_, after = (float(row["cider"]) for row in read("train_captioner"))
    assert f"from {before:.2f} to {after:.2f}." in text
    rewards = [float(row["reward"]) for row in read("grpo_caption_reward")]
    assert f"steps is {np.mean(rewards[:30]):.2f}, of the last 30 {np.mean(rewards[-30:]):.2f}." in text


def test_learning_curve():
    rows = read("learning_curve")
    names = [
        ("i2t_r@1", "t2i_r@1"),
        ("i2t_r@5", "t2i_r@5"),
        ("i2t_r@10", "t2i_r@10"),
        ("i2t_mrr", "t2i_mrr"),
        ("vqa_em",),
        ("vqa_soft",),
        ("bleu4",),
        ("cider",),
    ]
    for group, (before, after, without, _) in zip(names, cells("A model that learns"), strict=True):
        for found, prefix, step in ((before, "", "0"), (after, "", "50"), (without, "baseline_", "50")):
            chosen = [row for row in rows if row["step"] == step]
            means = [np.mean([float(row[prefix + name]) for row in chosen]) for name in group]
            assert found == pytest.approx(means[: len(found)], abs=5.1e-4)
