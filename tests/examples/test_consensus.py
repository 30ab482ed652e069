"""The consensus experiment: its check figures on ABSTRACT-50S, its protocol on a folder written here."""

import csv
import json

import numpy as np
import pytest

from examples import consensus

scipy_io = pytest.importorskip("scipy.io")

REFERENCES = {
    "one.png": ["Mike kicks the ball.", "Mike is kicking a ball.", "A boy kicks a ball."],
    "two.png": ["The dog sleeps by the fire.", "A dog is asleep.", "The dog is sleeping near a fire."],
    "three.png": ["Jenny eats a pie.", "Jenny is eating pie.", "A girl eats a pie."],
}
B = ["Mike kicks a ball.", "An owl sits on a tree.", "Jenny eats a pie."]
C = ["Rain falls on the tent.", "The dog sleeps near a fire.", "Nobody is here at all."]


def cell(value):
    """A value as MATLAB's files nest it: cells of one item."""
    inner, outer = np.empty((1, 1), object), np.empty((1, 1), object)
    inner[0, 0] = value
    outer[0, 0] = inner
    return outer


def save_votes(path, votes):
    rows = np.zeros((1, len(votes)), dtype=[(name, "O") for name in ("A", "B", "C", "rating")])
    for number, (first, second, rating) in enumerate(votes):
        rows[0, number] = (cell("a reference"), cell(first), cell(second), rating)
    scipy_io.savemat(path, {"triplets": rows})


# Three votes a pair. The file lists C before B except in the last pair; +1 is for what it lists first.
VOTES = [
    (C[0], B[0], -1),
    (C[0], B[0], -1),
    (C[0], B[0], 1),
    (C[1], B[1], 1),
    (C[1], B[1], 1),
    (C[1], B[1], 1),
    (B[2], C[2], -1),
    (B[2], C[2], -1),
    (B[2], C[2], -1),
]


@pytest.fixture
def folder(tmp_path):
    def write(name, rows):
        content = [{"image_id": image, "caption": caption} for image, caption in rows]
        (tmp_path / name).write_text(json.dumps(content), encoding="utf-8")

    write("small.json", [(image, caption) for image, group in REFERENCES.items() for caption in group])
    write("small_candsB.json", zip(REFERENCES, B))
    write("small_candsC.json", zip(REFERENCES, C))
    save_votes(tmp_path / "votes.mat", VOTES)
    return tmp_path


def test_votes_go_to_the_text_they_name(folder):
    triplets = consensus.read_triplets(folder)
    assert triplets.majority.tolist() == [1, -3, -3]
    assert triplets.references == list(REFERENCES.values())


def test_agreement_on_small_data(folder):
    """CIDEr prefers B, C, B; people B, C, C."""
    triplets = consensus.read_triplets(folder)
    found = consensus.right_by_metric(triplets, np.tile(np.arange(3), (3, 1)), None)
    assert set(found) == set(consensus.SHOWN) - {"ROUGE-L"}
    assert found["CIDEr-D"].tolist() == found["BLEU-1"].tolist() == [1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    "b, c, majority, expected",
    [
        ([1, 0], [0, 1], [5, -5], 1.0),
        ([1, 0], [0, 1], [-1, 1], 0.0),
        ([1, 1], [1, 1], [9, -9], 0.5),
        ([1, 1], [0, 1], [1, 0], 1.0),
    ],
)
def test_agreement(b, c, majority, expected):
    assert consensus.is_right(np.array(b), np.array(c), np.array(majority)).mean() == expected


def test_no_preference_at_all_is_an_error():
    with pytest.raises(ValueError, match="majority is 0 in all 2 pairs"):
        consensus.is_right(np.ones(2), np.ones(2), np.zeros(2))


def test_pairs_of_one_image_draw_the_same_references(folder):
    triplets = consensus.read_triplets(folder)
    twice = triplets._replace(references=triplets.references * 2)
    first = consensus.choose(twice, 2, np.random.default_rng(1))
    assert (first[:3] == first[3:]).all()
    assert (first == consensus.choose(twice, 2, np.random.default_rng(1))).all()
    assert any((first != consensus.choose(twice, 2, np.random.default_rng(seed))).any() for seed in range(5))


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda folder: (folder / "votes.mat").unlink(), "has 0 files"),
        (lambda folder: (folder / "more.json").write_text("[]"), "has 2 files"),
        (lambda folder: save_votes(folder / "votes.mat", VOTES[:-1]), "8 votes, expected a multiple of the 3 pairs"),
        (lambda folder: save_votes(folder / "votes.mat", VOTES[::-1]), r"triplets\[0\] compares"),
        (lambda folder: (folder / "small_candsC.json").write_text("[]"), "different images"),
        (
            lambda folder: (folder / "small.json").write_text('[{"image_id": "one.png", "caption": "a"}]'),
            "0 to 1 captions per image",
        ),
    ],
)
def test_wrong_folders_are_named(change, message, folder):
    change(folder)
    with pytest.raises(ValueError, match=message):
        consensus.read_triplets(folder)


@pytest.mark.parametrize("numbers", [[0], [4]])
def test_numbers_of_references_out_of_range(numbers, folder):
    with pytest.raises(ValueError, match="expected 1..3"):
        consensus.run(consensus.read_triplets(folder), numbers, 1, None)


def test_sign_test_by_hand():
    """Four pairs for, none against: p = 2 / 2^4. A tie against a wrong answer counts for the tie."""
    right = {name: np.array([1.0, 1.0, 1.0, 0.5, 0.0]) for name in consensus.CIDERS}
    rows = consensus.sign_tests({**right, "BLEU-1": np.zeros(5), "BLEU-4": right["CIDEr"]})
    assert rows[:2] == [["CIDEr, stems", "BLEU-1", 4, 0, pytest.approx(1 / 8)], ["CIDEr, stems", "BLEU-4", 0, 0, 1.0]]


def test_short_form(folder, tmp_path, capsys):
    output = tmp_path / "out"
    consensus.main(["--data", str(folder), "--output", str(output), "--numbers", "1", "3", "--draws", "2"])
    assert "| CIDEr-D |" in capsys.readouterr().out
    with open(output / "consensus.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    # Two draws of one reference; all three can be drawn in one way only.
    assert [(row["references"], row["draw"]) for row in rows if row["metric"] == "CIDEr"] == [
        ("1", "0"),
        ("1", "1"),
        ("3", "0"),
    ]


def test_says_that_it_skips(tmp_path, capsys):
    consensus.main(["--data", str(tmp_path / "nowhere")])
    assert capsys.readouterr().out.startswith("Skipped: the consensus experiment needs data")


@pytest.fixture(scope="module")
def abstract50s(shared):
    return consensus.read_triplets(shared / "data/abstract50s")


@pytest.mark.parametrize("number, expected", [(1, 0.7165), (5, 0.7964), (10, 0.8247), (48, 0.8247)])
def test_abstract50s_with_the_first_references(number, expected, abstract50s):
    assert (abstract50s.majority == 0).sum() == 12
    found = consensus.right_by_metric(abstract50s, np.tile(np.arange(number), (400, 1)), None)
    assert found["CIDEr-D"].mean() == pytest.approx(expected, abs=5e-5)
