"""Every gold value of shared/gold/vqa: normalised strings, accuracies of four protocols, ANLS, relaxed accuracy."""

import gzip
import json

import pytest

from metrics.vqa_accuracy.normalizer import clean, official, process_punctuation
from metrics.vqa_accuracy.scoring import sample_statistics


def read(shared, name):
    with gzip.open(shared / "gold" / "vqa" / f"{name}.jsonl.gz", "rt", encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]


def test_normalizer(shared):
    rows = read(shared, "normalizer")
    wrong = []
    for row in rows:
        # What the official code gives, unchanged; "py3" is what its translation to Python 3 makes of 31 strings.
        got = clean(row["input"]), process_punctuation(row["stripped"]), official(row["input"])
        if got != (row["stripped"], row["after_punct"], row["normalized"]):
            wrong.append((row, got))
    assert len(rows) == 50_878
    assert not wrong, wrong[:5]


@pytest.mark.filterwarnings("ignore:.*fewer than 4 answers")
@pytest.mark.parametrize(
    "normalization, key",
    [
        ("official", "official_accuracy"),
        ("official-2017", "official_pre2021_accuracy"),
        ("always", "always_normalized"),
        ("evalai", "evalai_normalized"),
    ],
)
def test_accuracy(shared, normalization, key):
    # mmf, where "evalai" comes from, stops where there are not ten answers; "always" was written with six digits.
    rows = [row for row in read(shared, "accuracy") if not isinstance(row[key], str)]
    assert len(rows) == (21_131 if key == "evalai_normalized" else 23_201)
    inputs = [row["prediction"] for row in rows], [row["answers"] for row in rows]
    got = sample_statistics(*inputs, normalization=normalization)["accuracy"]
    digits = 6 if key == "always_normalized" else 12
    wrong = [(row, value) for row, value in zip(rows, got) if abs(round(value, digits) - row[key]) > 1e-9]
    assert not wrong, wrong[:5]


@pytest.mark.parametrize(
    "measure, gold, count", [("anls", "rrc_official_anls", 7_003), ("relaxed_accuracy", "pix2struct_relaxed", 3_843)]
)
def test_other_measures(shared, measure, gold, count):
    rows = read(shared, measure)
    answers = [row["answers"] if measure == "anls" else row["target"] for row in rows]
    got = sample_statistics([row["prediction"] for row in rows], answers, measure=measure)[measure]
    wrong = [(row, value) for row, value in zip(rows, got) if abs(value - row[gold]) > 1e-9]
    assert len(rows) == count
    assert not wrong, wrong[:5]
