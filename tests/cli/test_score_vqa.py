"""The command line on VQA files: official files in and out, the submission check, percent."""

import csv
import json
from pathlib import Path

import pytest

from metrics.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
ANSWERS = {1: ["yes"] * 8 + ["no"] * 2, 2: ["black"] * 10, 3: ["two dogs"] * 9 + ["dogs"]}
RESULTS = [
    {"question_id": 3, "answer": "2 dogs"},
    {"question_id": 1, "answer": "no"},
    {"question_id": 2, "answer": "Black."},
]
TYPES = {1: "yes/no", 2: "other", 3: "other"}


def annotation(question_id, answers, **more):
    dicts = [{"answer": a, "answer_confidence": "yes", "answer_id": i} for i, a in enumerate(answers, 1)]
    return {"question_id": question_id, "image_id": 7, "answers": dicts, **more}


ANNOTATIONS = {"annotations": [annotation(i, a, question_type="is", answer_type=TYPES[i]) for i, a in ANSWERS.items()]}
OUTPUT = ("accuracy", "evalQA", "evalQuesType", "evalAnsType")


def write(folder, results=RESULTS, annotations=ANNOTATIONS):
    paths = folder / "results.json", folder / "annotations.json"
    for path, content in zip(paths, (results, annotations)):
        path.write_text(json.dumps(content), encoding="utf-8")
    return [str(path) for path in paths]


def score(files, *options):
    return main(["score", "vqa_accuracy", "--predictions", files[0], "--references", files[1], *options])


def read(folder):
    return {name: json.loads((folder / f"{name}.json").read_text()) for name in OUTPUT}


def test_small_files(tmp_path, capsys):
    out = tmp_path / "out.json"
    assert score(write(tmp_path), "--json", str(out), "--per-sample", str(tmp_path / "out.csv")) == 0
    results = json.loads(out.read_text())["vqa_accuracy"]
    assert results["vqa_accuracy"] == pytest.approx(1.6 / 3)
    assert results["per_answer_type"] == {
        "other": {"value": 0.5, "count": 2},
        "yes/no": {"value": pytest.approx(0.6), "count": 1},
    }
    assert results["lost_to_style"]["unanimity"] == 1
    assert results["signature"] == "vqa_accuracy|norm:official|formula:leave-one-out|stem:no|refs:10|v:0.1.0"
    assert "3 questions" in capsys.readouterr().out
    with open(tmp_path / "out.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["question_id"], row["normalized"]) for row in rows] == [("1", "no"), ("2", "Black."), ("3", "2 dogs")]


def test_official_files_and_percent(tmp_path, capsys):
    assert score(write(tmp_path), "--percent", "--official-output", str(tmp_path / "official")) == 0
    assert read(tmp_path / "official") == {
        "accuracy": {
            "overall": 53.33,
            "perAnswerType": {"other": 50.0, "yes/no": 60.0},
            "perQuestionType": {"is": 53.33},
        },
        "evalQA": {"1": 60.0, "2": 0.0, "3": 100.0},
        "evalQuesType": {"is": {"1": 60.0, "2": 0.0, "3": 100.0}},
        "evalAnsType": {"other": {"2": 0.0, "3": 100.0}, "yes/no": {"1": 60.0}},
    }
    printed = capsys.readouterr().out
    assert "53.33" in printed and "yes/no: 60.00 (1)" in printed


def test_official_files_in_official_files_out(shared, tmp_path):
    data = shared / "data" / "vqa" / "vqav2_8977"
    files = str(data / "results.json"), str(data / "annotations.json")
    for folder in ("once", "again"):
        out = str(tmp_path / folder)
        assert score(files, "--questions", str(data / "questions.json"), "--official-output", out) == 0
        for name in OUTPUT:
            assert (tmp_path / folder / f"{name}.json").read_text() == (data / f"official_{name}.json").read_text()


def test_first_thousand(shared, tmp_path):
    data = shared / "data" / "vqa" / "vqav2_8977"
    results = json.loads((data / "results.json").read_text())[:1000]
    wanted = {row["question_id"] for row in results}
    annotations = json.loads((data / "annotations.json").read_text())
    annotations["annotations"] = [row for row in annotations["annotations"] if row["question_id"] in wanted]
    assert score(write(tmp_path, results, annotations), "--official-output", str(tmp_path / "out")) == 0
    assert read(tmp_path / "out")["accuracy"] == json.loads((data / "official_accuracy_first1000.json").read_text())


def test_textvqa_annotations_without_answer_types(shared, tmp_path, capsys):
    annotations = shared / "data" / "vqa" / "textvqa_val_annotations_vqa_format.json"
    rows = json.loads(annotations.read_text(encoding="utf-8"))["annotations"]
    results = [{"question_id": row["question_id"], "answer": row["answers"][0]["answer"]} for row in rows]
    files = [write(tmp_path, results)[0], str(annotations)]
    assert score(files, "--preset", "textvqa", "--json", str(tmp_path / "out.json")) == 0
    content = json.loads((tmp_path / "out.json").read_text())["vqa_accuracy"]
    assert "per_answer_type" not in content and "norm:evalai" in content["signature"]
    assert score(files, "--official-output", str(tmp_path / "official")) == 2
    assert "annotations lack answer_type" in capsys.readouterr().err


@pytest.mark.parametrize(
    "results, message",
    [
        (RESULTS[1:], "no answer for 1 question id (3)"),
        ([*RESULTS, {"question_id": 9, "answer": "x"}], "an answer for 1 question id (9)"),
        ([*RESULTS, RESULTS[0]], "more than one answer for 1 question id (3)"),
        ([*RESULTS[:2], {"question_id": "2", "answer": "x"}], "1 question id ('2')"),
        ([*RESULTS[:2], {"question_id": 2.0, "answer": "x"}], "1 question id (2.0)"),
        ([*RESULTS[:2], {"question_id": True, "answer": "x"}], "1 question id (True)"),
        ([*RESULTS[:2], {"question_id": [2], "answer": "x"}], "1 question id ([2])"),
        ([*RESULTS[:2], {"question_id": 2, "answer": 5}], "an answer that is not a string for 1 question id (2)"),
        (
            [*RESULTS[:2], {"question_id": 2, "text": "x"}],
            "no key 'answer' (the first row has the keys ['question_id', 'text']) for 1 question id (2)",
        ),
        (
            [*RESULTS[:2], {"questionId": 2, "answer": "x"}],
            "[2] has the keys ['questionId', 'answer'], expected a dict with question_id",
        ),
        (
            [{**row, "question_id": str(row["question_id"])} for row in RESULTS],
            "annotations.json are (1, 2): 3 question ids ('3', '1', '2')",
        ),
        ({"1": "yes"}, "expected a list"),
    ],
)
def test_submission_check(tmp_path, capsys, results, message):
    assert score(write(tmp_path, results)) == 2
    assert message in capsys.readouterr().err


def test_problems_are_named_together(tmp_path, capsys):
    results = [{"question_id": "3", "answer": "x"}, {"question_id": 9, "answer": None}]
    assert score(write(tmp_path, results)) == 2
    error = capsys.readouterr().err
    for part in ("not int", "not a string", "no answer for 3 question ids (1, 2, 3)", "(9)"):
        assert part in error


def test_allow_missing(tmp_path, capsys):
    assert score(write(tmp_path, RESULTS[1:]), "--allow-missing") == 0
    assert "left out 1 ids" in capsys.readouterr().err


def test_ids_equal_as_text_in_one_file(tmp_path, capsys):
    # As keys of evalQA.json both would be one.
    rows = [annotation(i, ["yes"] * 10) for i in (1, "1", 2)]
    results = [{"question_id": i, "answer": "yes"} for i in (1, "1", 2)]
    assert score(write(tmp_path, results, {"annotations": rows})) == 2
    assert "annotations.json has ids that are equal as text" in capsys.readouterr().err
    files = write(tmp_path, results, {"annotations": [*rows[:1], annotation("2", ["yes"] * 10)]})
    assert score(files, "--allow-missing") == 2
    assert "answers for ids that are equal as text: 2 question ids (1, '1')" in capsys.readouterr().err


def test_doubled_keys_at_any_depth(tmp_path, capsys):
    files = write(tmp_path)
    text = Path(files[1]).read_text()
    Path(files[1]).write_text(text.replace('"answer": "black",', '"answer": "black", "answer": "white",', 1))
    assert score(files) == 2
    assert "annotations.json: the key 'answer' stands twice in one object" in capsys.readouterr().err


def test_questions_file(tmp_path, capsys):
    questions = tmp_path / "questions.json"
    rows = [{"question_id": i, "multiple_choices": ["no", "2 dogs"]} for i in TYPES]
    questions.write_text(json.dumps({"questions": rows}))
    assert score(write(tmp_path), "--questions", str(questions)) == 2
    assert "not among multiple_choices for 1 question id (2)" in capsys.readouterr().err
    questions.write_text(json.dumps({"questions": [{"question_id": 1}]}))
    assert score(write(tmp_path), "--questions", str(questions)) == 2
    assert "no question for 2 question ids (2, 3)" in capsys.readouterr().err


def test_captions_and_vqa_do_not_mix(tmp_path, capsys):
    files = write(tmp_path)
    assert main(["score", "cider", "vqa_accuracy", "--predictions", files[0], "--references", files[1]]) == 2
    assert "expected all of one kind" in capsys.readouterr().err


def test_example_files(capsys):
    data = ROOT / "examples" / "data"
    files = str(data / "vqa_results.json"), str(data / "vqa_annotations.json")
    assert score(files, "--percent") == 0
    assert "5 questions" in capsys.readouterr().out


def test_stems(tmp_path, capsys):
    results = [{"question_id": 1, "answer": "Riding horses."}]
    files = write(
        tmp_path,
        results,
        {"annotations": [annotation(1, ["ride horse"] * 6 + ["race"] * 4, question_type="what", answer_type="other")]},
    )
    out, official = tmp_path / "out.json", str(tmp_path / "official")
    assert score(files, "--preset", "okvqa", "--stem", "--json", str(out), "--official-output", official) == 0
    content = json.loads(out.read_text())["vqa_accuracy"]
    assert content["vqa_accuracy"] == 1 and read(tmp_path / "official")["accuracy"]["overall"] == 100
    assert content["signature"] == "vqa_accuracy|norm:evalai|formula:leave-one-out|stem:yes|refs:10|v:0.1.0"
    assert score(files, "--preset", "okvqa", "--json", str(out)) == 0
    assert json.loads(out.read_text())["vqa_accuracy"]["vqa_accuracy"] == 0
    assert score(files, "--measure", "anls", "--stem") == 2
    assert "anls has its own way to compare" in capsys.readouterr().err


def test_ids_that_never_meet_show_two_of_each_file(tmp_path, capsys):
    results = [{**row, "question_id": row["question_id"] + 70} for row in RESULTS]
    files = write(tmp_path, results)
    assert score(files, "--allow-missing") == 2
    assert (
        f"have no question id in common: {files[0]} has 73, 71 and 1 more, {files[1]} has 1, 2 and 1 more"
        in capsys.readouterr().err
    )
    questions = tmp_path / "questions.json"
    questions.write_text(json.dumps({"questions": [{"question_id": f"q{i}"} for i in range(3)]}))
    assert score(write(tmp_path), "--questions", str(questions)) == 2
    assert "questions.json has 'q0', 'q1' and 1 more, the annotations has 1, 2 and 1 more" in capsys.readouterr().err
