"""The table of tokenizers: what each does to a caption, and its published rows."""

import csv

import pytest

from examples import flickr8k
from examples import tokenizer_effect as effect


@pytest.mark.parametrize(
    "label, expected",
    [
        ("split", ["A", "dog's", "T-shirt,", "here."]),
        ("split, lower", ["a", "dog's", "t-shirt,", "here."]),
        ("13a, lower", ["a", "dog's", "t-shirt", ",", "here", "."]),
        ("no punctuation, lower", ["a", "dogs", "tshirt", "here"]),
        (r"\w+, lower", ["a", "dog", "s", "t", "shirt", "here"]),
        ("nltk Treebank, lower, filter", ["a", "dog", "'s", "t-shirt", "here"]),
        ("ptb (COCO's)", ["a", "dog", "'s", "t-shirt", "here"]),
    ],
)
def test_what_a_tokenizer_does(label, expected):
    pytest.importorskip("nltk")
    assert effect.resolve(effect.TOKENIZERS[label]).split("A dog's T-shirt, here.") == expected


def write_audiocaps(folder):
    (folder / "audiocaps").mkdir()
    rows = [("x", 0, f"A dog barks {word}.") for word in ("loudly", "twice", "far away", "again", "Loudly")]
    rows += [("y", 5, f"Rain falls {word}") for word in ("softly", "on a roof", "hard", "softly", "on a roof")]
    with open(folder / "audiocaps/captions_test.csv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("youtube_id", "start_time", "caption"), *rows])


def test_short_form_skips_the_sets_that_are_not_there(tmp_path, capsys):
    write_audiocaps(tmp_path)
    effect.main(["--data", str(tmp_path), "--output", str(tmp_path / "out")])
    assert capsys.readouterr().out.count("Skipped: ") == 2
    with open(tmp_path / "out/tokenizer_effect.csv", encoding="utf-8") as file:
        changes = {row["tokenizer"]: float(row["cider_d_change"]) for row in csv.DictReader(file)}
    assert list(changes) == list(effect.TOKENIZERS)
    assert changes["ptb (COCO's)"] == 0 and changes["split"] < 0


def test_says_that_it_skips(tmp_path, capsys):
    effect.main(["--data", str(tmp_path / "nowhere")])
    assert capsys.readouterr().out.count("Skipped: ") == 3


@pytest.mark.parametrize(
    "name, own, changes",
    [
        (
            "coco",
            (0.8649, 0.1887),
            {
                "split": (-24.17, -3.19),
                "split, lower": (-18.20, -1.81),
                "no punctuation, lower": (0.13, 0.04),
                r"\w+, lower": (0.32, 0.06),
            },
        ),
        ("flickr8k", (0.7876, 0.1865), {"split": (-4.26, 0.04), "13a, lower": (0.86, 0.99)}),
        ("audiocaps", (0.8748, 0.2798), {"split": (-10.07, -1.54), "nltk Treebank, lower, filter": (-0.11, -0.06)}),
    ],
)
def test_figures_on_real_captions(name, own, changes, shared):
    groups = {
        "coco": lambda: effect.read_coco(shared / "data"),
        "audiocaps": lambda: effect.read_audiocaps(shared / "data"),
        "flickr8k": lambda: flickr8k.read_test_captions(shared / "data/flickr8k"),
    }[name]()
    ptb = effect.fifth_against_four(groups, "ptb")
    assert ptb == pytest.approx(own, abs=5e-5)
    for label, (cider_change, bleu_change) in changes.items():
        found = effect.fifth_against_four(groups, effect.TOKENIZERS[label])
        assert 100 * (found[0] - ptb[0]) == pytest.approx(cider_change, abs=0.006)
        assert 100 * (found[1] - ptb[1]) == pytest.approx(bleu_change, abs=0.006)


def test_an_item_without_a_fifth_caption_is_named():
    with pytest.raises(ValueError, match="item 1 has 4 captions, expected at least 5"):
        effect.fifth_against_four([["a"] * 5, ["a"] * 4], "ptb")
