"""People beside a system: rounds, a toy corpus by hand, and coco-caption's demo."""

import csv
import json

import pytest

from examples import human_ceiling
from examples.caption_scores import corpus_scores
from metrics.cider.scoring import sample_statistics, score

REFERENCES = [["a cat sits", "the cat sits here"], ["a dog runs", "the dog runs", "dogs run in a park"]]
PREDICTIONS = ["a cat sits", "a dog sits"]


def test_every_reference_is_a_candidate_once_and_short_groups_begin_again():
    turns = list(human_ceiling.rounds(REFERENCES))
    assert [candidates for candidates, _ in turns] == [
        ["a cat sits", "a dog runs"],
        ["the cat sits here", "the dog runs"],
        ["a cat sits", "dogs run in a park"],
    ]
    for candidates, others in turns:
        assert [sorted([c, *rest]) for c, rest in zip(candidates, others)] == [sorted(group) for group in REFERENCES]


def test_a_single_reference_is_named():
    with pytest.raises(ValueError, match=r"references\[1\] has 1 captions, expected at least 2"):
        list(human_ceiling.rounds([["a", "b"], ["c"]]))


def test_two_equal_references_are_a_doubled_reference_of_themselves():
    """Left out or kept, it is the same word by word: people score what a perfect system scores."""
    references = [["a cat sits on a mat"] * 2, ["two dogs run in the park"] * 2]
    found = human_ceiling.compare(references, [group[0] for group in references], with_rouge=False)
    assert found["CIDEr-D"] == pytest.approx(
        {"human": 10.0, "human_deviation": 0.0, "system": 10.0, "system_all_references": 10.0}
    )
    assert found["BLEU-4"]["human"] == 1.0


def test_system_meets_the_same_references_as_people():
    found = human_ceiling.compare(REFERENCES, PREDICTIONS, with_rouge=False)["CIDEr-D"]

    def system(references):
        return score(sample_statistics(PREDICTIONS, references))["cider"]

    assert found["system"] == pytest.approx(sum(system(others) for _, others in human_ceiling.rounds(REFERENCES)) / 3)
    assert found["system_all_references"] == pytest.approx(system(REFERENCES))


def test_people_alone():
    assert set(human_ceiling.compare(REFERENCES, None, with_rouge=False)["BLEU-1"]) == {"human", "human_deviation"}


def test_rouge_l_of_the_toy_corpus():
    pytest.importorskip("rouge_score")
    found = human_ceiling.all_scores(PREDICTIONS, REFERENCES, with_rouge=True)["ROUGE-L"]
    # Equal to a reference; two words in common of three and three.
    assert found == pytest.approx((1 + 2 / 3) / 2)


def test_short_form(tmp_path, capsys):
    rows = [{"image_id": n, "caption": text} for n, group in enumerate(REFERENCES) for text in group]
    (tmp_path / "people.json").write_text(json.dumps(rows), encoding="utf-8")
    results = [{"image_id": n, "caption": text} for n, text in enumerate(PREDICTIONS)]
    (tmp_path / "system.json").write_text(json.dumps(results), encoding="utf-8")
    files = ["--references", str(tmp_path / "people.json"), "--predictions", str(tmp_path / "system.json")]
    human_ceiling.main([*files, "--output", str(tmp_path / "out")])
    assert "system all references" in capsys.readouterr().out
    with open(tmp_path / "out/human_ceiling.csv", encoding="utf-8") as file:
        written = {row["metric"]: float(row["system_all_references"]) for row in csv.DictReader(file)}
    assert written["BLEU-1"] == pytest.approx(corpus_scores(PREDICTIONS, REFERENCES)["BLEU-1"], abs=1e-6)


def test_says_that_it_skips(tmp_path, capsys):
    human_ceiling.main(["--references", str(tmp_path / "nowhere.json")])
    assert "name another place with --references" in capsys.readouterr().out


def test_demo_of_coco_caption(shared):
    folder = shared / "data/coco"
    references, predictions = human_ceiling.read_files(
        folder / "demo_val2014_references.json", folder / "demo_val2014_candidates.json"
    )
    found = human_ceiling.compare(references, predictions, with_rouge=False)
    assert found["CIDEr-D"]["system_all_references"] == pytest.approx(0.5998952026835711, abs=1e-9)
    assert found["BLEU-4"]["system_all_references"] == pytest.approx(0.1908290437674253, abs=1e-9)
    # With all five references the system's BLEU-4 seems to pass people's, who can only have four.
    assert found["BLEU-4"]["system"] < found["BLEU-4"]["human"] < found["BLEU-4"]["system_all_references"]
