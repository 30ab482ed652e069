"""The comparison of systems: its numbers, its files, and its page in a real browser."""

import base64
import functools
import http.server
import itertools
import json
import re
import shutil
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from metrics.__main__ import main
from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.cli import entity, reports
from metrics.entity_score import scoring as entity_score
from metrics.utils.paired_tests import approximate_randomization, holm, paired_bootstrap
from metrics.utils.scorers import Found

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "examples" / "data"
GOOD, PLAIN = str(DATA / "caption_predictions.json"), str(DATA / "caption_predictions_plain.json")
REFERENCES = str(DATA / "caption_references.json")
# A picture of one pixel.
DOT = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


def write(path, content):
    path.write_text(json.dumps(content), encoding="utf-8")
    return str(path)


def compare(*predictions, options=(), metrics=("cider", "bleu4"), references=REFERENCES):
    return main(["compare", *metrics, "--predictions", *predictions, "--references", references, *options])


def compared(tmp_path, *predictions, options=(), **more):
    path = tmp_path / "out.json"
    assert compare(*predictions, options=["--json", str(path), *options], **more) == 0
    return json.loads(path.read_text())


def statistics(scoring, path):
    captions = {row["image_id"]: row["caption"] for row in json.loads(Path(path).read_text())}
    references = {}
    for row in json.loads(Path(REFERENCES).read_text())["annotations"]:
        references.setdefault(row["image_id"], []).append(row["caption"])
    return scoring.sample_statistics(list(captions.values()), [references[image] for image in captions])


def test_a_warning_is_one_line_and_told_once(tmp_path):
    predictions = write(tmp_path / "p.json", {"1": ["a dog runs fast"], "2": ["two men"]})
    references = write(tmp_path / "r.json", {"1": ["a dog runs slowly"], "2": ["two men"]})
    files = ["--predictions", predictions, predictions, "--references", references]
    done = subprocess.run(
        [sys.executable, "-m", "metrics", "compare", "bleu4", *files],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=120,
        check=True,
    )
    assert re.fullmatch(r"note: few n-grams for BLEU: [^\n]+\n", done.stderr)


@pytest.mark.parametrize("name, scoring", [("cider", cider), ("bleu4", bleu4)])
def test_numbers_are_those_of_the_metrics_and_of_resampling(name, scoring, tmp_path):
    result = compared(tmp_path, GOOD, PLAIN, options=["--n-resamples", "200", "--seed", "3", "--test", "bootstrap"])
    one, other = statistics(scoring, GOOD), statistics(scoring, PLAIN)
    first, second = result["metrics"][name]["systems"]
    assert [first["score"], second["score"]] == pytest.approx([scoring.score(s)[name] for s in (one, other)])
    expected = paired_bootstrap(scoring.score, one, other, n_resamples=200, seed=3)[name]
    assert second["difference"] == pytest.approx(expected["difference"])
    assert second["difference_interval"] == pytest.approx(expected["confidence_interval"])
    assert second["p_value"] == expected["p_value"]
    samples = np.subtract(*(scoring.sample_scores(s)[name] for s in (other, one)))
    assert [second["wins"], second["ties"], second["losses"]] == [
        (samples > 1e-12).sum(),
        (np.abs(samples) <= 1e-12).sum(),
        (samples < -1e-12).sum(),
    ]
    assert sum(second["histogram"]["counts"]) == second["wins"] + second["losses"]
    assert result["metrics"][name]["signature"].startswith({"cider": "cider_d|n:4", "bleu4": "bleu4|"}[name])


def test_readme_shows_what_is_printed(capsys):
    blocks = (ROOT / "README.md").read_text(encoding="utf-8").split("```")
    (shown,) = [block for block in blocks if block.startswith("\nsystem")]
    assert compare(GOOD, PLAIN, metrics=["cider"]) == 0
    assert capsys.readouterr().out.strip() == shown.strip()


def test_randomization_and_holm(tmp_path, capsys):
    result = compared(tmp_path, GOOD, PLAIN, GOOD, options=["--test", "randomization"], metrics=["cider"])
    first, *others = result["metrics"]["cider"]["systems"]
    expected = approximate_randomization(cider.score, statistics(cider, GOOD), statistics(cider, PLAIN))["cider"]
    assert [system["p_value"] for system in others] == [expected["p_value"], 1.0]
    assert [system["p_value_holm"] for system in others] == holm([expected["p_value"], 1.0])
    assert (others[1]["wins"], others[1]["ties"], others[1]["losses"]) == (0, 8, 0)
    assert "p (Holm)" in capsys.readouterr().out


def made_up(monkeypatch, tmp_path, *systems, clusters=None):
    """Files of as many systems, whose scores of the samples are those given: NaN where there is none."""

    def measure(names, data, options):
        values = np.array([float(text) for text in data.predictions])
        statistics = {"entity_score": values, "recall": values, "similarity": values}
        found = Found(statistics, np.ones(len(values), int))
        return [reports.make_report(entity_score.Scorer(), found, options, entity.clusters(data))]

    monkeypatch.setattr(entity, "measure", measure)
    monkeypatch.setattr(entity, "clusters", lambda data: clusters)
    paths = [
        write(
            tmp_path / f"{chr(97 + place)}.json",
            [{"image_id": i, "caption": str(value)} for i, value in enumerate(values)],
        )
        for place, values in enumerate(systems)
    ]
    references = write(tmp_path / "r.json", [{"image_id": i, "caption": "x"} for i in range(len(systems[0]))])
    more = {"metrics": ["entity_score"], "references": references}
    return lambda *options: compared(tmp_path, *paths, options=options, **more)


def strict_json(path):
    def refuse(constant):
        raise ValueError(f"{constant} is no JSON")

    return json.loads(path.read_text(), parse_constant=refuse)


NONE = float("nan")


def test_systems_are_compared_on_what_both_score(monkeypatch, tmp_path, capsys):
    first = [0.5, NONE, 0.2, 0.9, NONE, 0.4, 0.1, 0.3]
    second = [0.6, 0.7, NONE, 0.9, NONE, 0.1, 0.9, 0.8]
    files = ["--html", str(tmp_path / "out.html"), "--markdown", str(tmp_path / "out.md"), "--worst", "9"]
    made_up(monkeypatch, tmp_path, first, second)(*files)
    result = strict_json(tmp_path / "out.json")
    one, other = result["metrics"]["entity_score"]["systems"]
    assert (one["score"], one["num_scored"]) == (pytest.approx(np.nanmean(first)), 6)
    assert (other["score"], other["num_scored"]) == (pytest.approx(np.nanmean(second)), 6)
    differences = np.array([0.1, 0.0, -0.3, 0.8, 0.5])
    assert other["compared_scores"] == pytest.approx([2.2 / 5, 3.3 / 5])
    assert (other["difference"], other["num_compared"]) == (pytest.approx(differences.mean()), 5)
    assert other["left_out"] == {"first": 1, "second": 1, "both": 1}
    assert (other["wins"], other["ties"], other["losses"]) == (3, 1, 1)
    assert other["p_value"] == swap_test(differences)
    assert sum(other["histogram"]["counts"]) == 4
    assert [sample["id"] for sample in other["worst"]] == ["6", "7", "5", "0"]
    assert [sample["scores"] for sample in other["worst"]] == [[0.1, 0.9], [0.3, 0.8], [0.4, 0.1], [0.5, 0.6]]
    said = (
        "b is compared with a on the 5 images that both score; left out: 1 that only a leaves unscored, 1 that "
        "only b does, 1 that both do."
    )
    for shown in (*((tmp_path / f"out.{end}").read_text() for end in ("html", "md")), capsys.readouterr().out):
        assert said in shown
        assert "--no-entities zero scores them 0): a 6, b 6." in shown
        assert not re.search(r"\bnan\b", shown, re.IGNORECASE)


def swap_test(differences):
    """The share of all ways to swap whose sum is at least as large."""
    sums = [
        sum(sign * d for sign, d in zip(signs, differences))
        for signs in itertools.product((1, -1), repeat=len(differences))
    ]
    return np.mean([abs(value) >= abs(sum(differences)) - 1e-9 for value in sums])


SCORE = st.one_of(st.just(NONE), st.sampled_from([0.0, 0.25, 0.5, 1.0]))


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.tuples(SCORE, SCORE, SCORE), min_size=2, max_size=9))
def test_comparing_is_comparing_the_shared_samples_alone(rows, monkeypatch, tmp_path):
    systems = np.array(rows).T.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made_up(monkeypatch, tmp_path, *systems)("--n-resamples", "20", "--html", str(tmp_path / "out.html"))
        _, *found = strict_json(tmp_path / "out.json")["metrics"]["entity_score"]["systems"]
        assert not re.search(r"\bnan\b", (tmp_path / "out.html").read_text(), re.IGNORECASE)
        for system, values in zip(found, systems[1:]):
            shared = [(a, b) for a, b in zip(systems[0], values) if a == a and b == b]
            assert system["num_compared"] == len(shared) == len(rows) - sum(system["left_out"].values())
            if len(shared) < 2:
                assert system["p_value"] is None and system["difference_interval"] is None
                assert (system["difference"] is None) == (not shared)
                continue
            made_up(monkeypatch, tmp_path, *zip(*shared))("--n-resamples", "20")
            alone = strict_json(tmp_path / "out.json")["metrics"]["entity_score"]["systems"][1]
            keys = ("difference", "difference_interval", "p_value", "wins", "ties", "losses", "histogram")
            assert {key: system[key] for key in keys} == {key: alone[key] for key in keys}


def test_clusters_of_left_out_samples_are_left_out(monkeypatch, tmp_path):
    first, second = [0.5, 0.5, NONE, 0.1, 0.1, 0.2], [0.6, 0.7, 0.1, 0.3, 0.1, 0.9]
    result = made_up(monkeypatch, tmp_path, first, second, clusters=list("aabccd"))()
    other = result["metrics"]["entity_score"]["systems"][1]
    assert (result["clusters"], other["num_compared"]) == (4, 5)
    assert other["p_value"] == swap_test([0.3, 0.2, 0.7])
    assert result["note"].startswith("3 whole images are fewer than 50")


def test_entities_of_real_captions(tmp_path, nltk_data, t5_folder):
    captions = [
        ["a man plays a guitar.", "she is talking.", "a dog."],
        ["a man.", "a stage.", "two dogs."],
        ["they run.", "they run.", "they run."],
    ]
    paths = [
        write(tmp_path / f"{name}.json", [{"image_id": i, "caption": c} for i, c in enumerate(group)])
        for name, group in zip("abc", captions)
    ]
    references = write(
        tmp_path / "r.json",
        [
            {"image_id": i, "caption": c}
            for i, c in enumerate(["a man with a guitar.", "a man on a stage.", "dogs run on grass."])
        ],
    )
    options = ["--model-path", str(t5_folder), "--device", "cpu", "--html", str(tmp_path / "out.html")]
    with pytest.warns(UserWarning, match="no pair has entities"):
        compared(tmp_path, *paths, metrics=["entity_score"], references=references, options=options)
    first, second, third = strict_json(tmp_path / "out.json")["metrics"]["entity_score"]["systems"]
    assert [system["num_scored"] for system in (first, second, third)] == [2, 3, 0]
    assert (second["num_compared"], second["left_out"]) == (2, {"first": 1, "second": 0, "both": 0})
    assert third["score"] is None and third["difference"] is None and "p_value_holm" not in third
    assert second["p_value_holm"] == second["p_value"]
    assert not re.search(r"\b(nan|None)\b", (tmp_path / "out.html").read_text())
    result = compared(
        tmp_path, *paths, metrics=["entity_score"], references=references, options=[*options, "--no-entities", "zero"]
    )
    systems = result["metrics"]["entity_score"]["systems"]
    assert [system["num_scored"] for system in systems] == [3, 3, 3]
    assert (systems[2]["score"], systems[2]["losses"], systems[2]["ties"]) == (0.0, 2, 1)


@pytest.mark.parametrize(
    "samples, options, test",
    [
        (49, [], "randomization"),
        (50, [], "bootstrap"),
        (49, ["--test", "bootstrap"], "bootstrap"),
        (50, ["--test", "randomization"], "randomization"),
    ],
)
def test_few_samples_take_randomization_and_say_so(samples, options, test, monkeypatch, tmp_path, capsys):
    first, second = np.random.default_rng(samples).random((2, samples)).tolist()
    result = made_up(monkeypatch, tmp_path, first, second)(*options)
    tests = {"bootstrap": paired_bootstrap, "randomization": approximate_randomization}
    one, other = (
        {key: np.array(values) for key in ("entity_score", "recall", "similarity")} for values in (first, second)
    )
    assert result["test"] == test
    expected = tests[test](entity_score.score, one, other)["entity_score"]["p_value"]
    assert result["metrics"]["entity_score"]["systems"][1]["p_value"] == expected
    said = "49 images are fewer than 50: bootstrap intervals of so few are too narrow, and p-values "
    assert (said in capsys.readouterr().out) == (samples < 50)


def test_score_says_where_intervals_are_of_few(tmp_path, capsys):
    command = ["score", "cider", "--predictions", GOOD, "--references", REFERENCES]
    assert main(command) == 0
    assert "too narrow" not in capsys.readouterr().out
    assert main([*command, "--confidence-level", "0.9"]) == 0
    assert "8 samples are fewer than 50: bootstrap intervals of so few are too narrow\n" in capsys.readouterr().out


def test_order_of_rows_does_not_matter(tmp_path):
    shuffled = write(tmp_path / "shuffled.json", json.loads(Path(PLAIN).read_text())[::-1])
    straight, found = (compared(tmp_path, GOOD, path)["metrics"] for path in (PLAIN, shuffled))
    for name in straight:
        one, other = straight[name]["systems"][1], found[name]["systems"][1]
        for key in ("score", "difference", "difference_interval", "p_value", "wins", "losses"):
            assert other[key] == pytest.approx(one[key])


def test_worst_samples_have_both_texts(tmp_path, capsys):
    options = ["--worst", "3", "--markdown", str(tmp_path / "out.md")]
    worst = compared(tmp_path, GOOD, PLAIN, options=options)["metrics"]["cider"]["systems"][1]["worst"]
    sizes = [abs(sample["difference"]) for sample in worst]
    assert len(worst) == 3 and sizes == sorted(sizes, reverse=True)
    captions = {row["image_id"]: row["caption"] for row in json.loads(Path(PLAIN).read_text())}
    for text in (capsys.readouterr().out, (tmp_path / "out.md").read_text()):
        for sample in worst:
            assert sample["predictions"][1] == captions[int(sample["id"])]
            assert all(caption in text for caption in sample["predictions"])
            assert all(caption in text for caption in sample["references"])


def test_samples_are_listed_where_asked_for(tmp_path, capsys):
    page = tmp_path / "out.html"
    assert compare(GOOD, PLAIN, options=["--html", str(page)]) == 0
    assert "reference:" not in capsys.readouterr().out
    assert page.read_text().count("References") == 14
    assert compare(GOOD, PLAIN, options=["--html", str(page), "--worst", "2"]) == 0
    assert page.read_text().count("References") == 4


def test_markdown_is_a_table_with_the_signature(tmp_path):
    assert compare(GOOD, PLAIN, options=["--markdown", str(tmp_path / "out.md")]) == 0
    lines = (tmp_path / "out.md").read_text().splitlines()
    table = [line for line in lines if line.startswith("|")]
    assert {line.count("|") for line in table} == {8}
    assert "`cider_d|n:4|sigma:6|df:corpus|tok:ptb|stem:no|refs:3|v:0.1.0`" in lines


def test_missing_ids_are_an_error_or_left_out_in_all(tmp_path, capsys):
    short = write(tmp_path / "short.json", json.loads(Path(PLAIN).read_text())[2:])
    assert compare(GOOD, short) == 2
    assert "no caption for 2 image ids (1, 2)" in capsys.readouterr().err
    result = compared(tmp_path, GOOD, short, options=["--allow-missing"])
    assert result["num_samples"] == 6
    assert "left out 2 ids" in capsys.readouterr().err
    # Document frequencies are those of the images compared, the same ones for both.
    alone = compared(tmp_path, short, short, options=["--allow-missing"])
    assert result["metrics"]["cider"]["systems"][1]["score"] == alone["metrics"]["cider"]["systems"][0]["score"]


@pytest.mark.parametrize(
    "predictions, options, message",
    [
        ([GOOD], [], "--predictions has 1 file, expected at least 2"),
        ([GOOD, PLAIN], ["--worst", "0"], "--worst is 0, expected at least 1"),
        ([GOOD, PLAIN], ["--images", "."], "expected --html FILE too"),
        ([GOOD, PLAIN], ["--images", "nowhere", "--html", "x.html"], "--images is 'nowhere', expected a folder"),
        ([GOOD, PLAIN], ["--confidence-level", "95"], "confidence_level is 95.0, expected a number between 0 and 1"),
        ([GOOD, PLAIN], ["--n-resamples", "0"], "n_resamples is 0"),
        ([GOOD, PLAIN], ["--seed", "-1"], "seed is -1"),
        ([GOOD, "nowhere.json"], [], "nowhere.json"),
    ],
)
def test_wrong_arguments_are_named(predictions, options, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert compare(*predictions, options=options) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def vqa_files(folder, questions=12):
    """Three questions per image; the second system misses every other answer."""
    annotations = [
        {
            "question_id": i,
            "image_id": i // 3,
            "question_type": "is",
            "answer_type": "yes/no",
            "answers": [{"answer": "yes", "answer_id": k} for k in range(10)],
        }
        for i in range(questions)
    ]
    answers = [
        [{"question_id": i, "answer": "no" if i % step == 0 else "yes"} for i in range(questions)] for step in (5, 2)
    ]
    return [write(folder / "a.json", answers[0]), write(folder / "b.json", answers[1])], write(
        folder / "annotations.json", {"annotations": annotations}
    )


def test_vqa_resamples_whole_images(tmp_path, capsys):
    predictions, references = vqa_files(tmp_path)
    result = compared(
        tmp_path, *predictions, references=references, metrics=["vqa_accuracy"], options=["--worst", "2"]
    )
    assert (result["num_samples"], result["clusters"]) == (12, 4)
    first, second = result["metrics"]["vqa_accuracy"]["systems"]
    assert [first["score"], second["score"]] == [0.75, 0.5]
    output = capsys.readouterr().out
    assert "whole images (4)" in output
    assert "reference: yes (10)" in output


def test_score_prints_intervals(tmp_path, capsys):
    predictions, references = vqa_files(tmp_path)
    path = tmp_path / "score.json"
    files = ["--predictions", predictions[0], "--references", references, "--json", str(path)]
    command = ["score", "vqa_accuracy", *files]
    for options, factor in (([], 1), (["--percent"], 100)):
        assert main([*command, "--confidence-level", "0.9", *options]) == 0
        low, high = json.loads(path.read_text())["vqa_accuracy"]["confidence_interval"]["vqa_accuracy"]
        assert 0 <= low <= 0.75 * factor <= high <= factor
    assert f"75.00  [{low:.2f}, {high:.2f}]" in capsys.readouterr().out
    assert main(command) == 0
    assert "confidence_interval" not in json.loads(path.read_text())["vqa_accuracy"]


@pytest.fixture
def gallery(tmp_path):
    """References that name a picture of each image, and the folder of pictures."""
    folder = tmp_path / "pictures"
    folder.mkdir()
    (tmp_path / "secret.png").write_bytes(DOT)
    content = json.loads(Path(REFERENCES).read_text())
    (folder / "COCO_000000000002.png").write_bytes(DOT)
    (folder / "4.png").write_bytes(DOT)
    (folder / "seven.png").write_bytes(DOT)
    (folder / "8.txt").write_bytes(b"no picture")
    content["images"] = [{"id": i, **({"file_name": "seven.png"} if i == 7 else {})} for i in range(1, 9)]
    return folder, content


def test_pictures_are_found_and_embedded(gallery, tmp_path):
    folder, content = gallery
    references = write(tmp_path / "references.json", content)
    options = ["--html", str(tmp_path / "out.html"), "--images", str(folder)]
    assert compare(GOOD, PLAIN, options=options, metrics=["cider"], references=references) == 0
    page = (tmp_path / "out.html").read_text()
    assert set(re.findall(r'alt="image (\d)"', page)) == {"2", "4", "7"}
    assert page.count(base64.b64encode(DOT).decode()) == 3


def test_a_folder_without_one_picture_of_the_set(gallery, tmp_path, capsys):
    folder, content = gallery
    content["images"][5]["file_name"] = "a\0.png"
    content["images"][4]["file_name"] = "a" * 5000 + ".png"
    references = write(tmp_path / "references.json", content)
    for path in folder.iterdir():
        path.unlink()
    for name, found in ((None, "none"), ("of_others_19.png", "1 picture (of_others_19.png)")):
        if name:
            (folder / name).write_bytes(DOT)
        options = ["--html", str(tmp_path / "out.html"), "--images", str(folder)]
        assert compare(GOOD, PLAIN, options=options, metrics=["cider"], references=references) == 2
        message = f"{folder} has no picture of the 8 image ids (1, 2 and 6 more); it holds {found}, expected"
        assert message in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


@pytest.mark.parametrize("file_name", ["../secret.png", "link.png", "absolute"])
def test_pictures_never_come_from_outside_the_folder(file_name, gallery, tmp_path, capsys):
    folder, content = gallery
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    content["images"][0]["file_name"] = str(tmp_path / "secret.png") if file_name == "absolute" else file_name
    references = write(tmp_path / "references.json", content)
    options = ["--html", str(tmp_path / "out.html"), "--images", str(folder)]
    assert compare(GOOD, PLAIN, options=options, metrics=["cider"], references=references) == 2
    assert "expected a file inside" in capsys.readouterr().err
    assert not (tmp_path / "out.html").exists()


HOSTILE = '</style><script>document.title = "taken"</script><img src=x onerror=alert(1)> & \x1b[2J \u202e | `x`'


def hostile_files(folder):
    captions = [{"image_id": i, "caption": f"{HOSTILE} {word}"} for i, word in enumerate(("one", "two", "three"))]
    references = [{"image_id": i, "caption": f"a {word} {HOSTILE}"} for i, word in enumerate(("one", "two", "four"))]
    second = [{**row, "caption": "two"} for row in captions]
    return [
        write(folder / name, rows)
        for name, rows in (("<b>a.json", captions), ("b.json", second), ("references.json", references))
    ]


def test_text_of_files_is_never_markup(tmp_path, capsys):
    first, second, references = hostile_files(tmp_path)
    options = ["--html", str(tmp_path / "out.html"), "--markdown", str(tmp_path / "out.md")]
    assert compare(first, second, options=options, references=references) == 0
    page = (tmp_path / "out.html").read_text()
    assert "&lt;/style&gt;&lt;script&gt;" in page
    assert not re.search(r"<script|<b>|<img", page)
    assert "\x1b" not in capsys.readouterr().out
    tables = [line for line in (tmp_path / "out.md").read_text().splitlines() if line.startswith("|")]
    assert all(len(re.findall(r"(?<!\\)\|", line)) in (6, 8) for line in tables)
    assert not any(re.search(r"(?<!\\)<", line) for line in tables)


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None)
    if found is None:
        pytest.skip("no Chromium to open the page in")
    return found


# The page itself allows no script, so that another one holds it at the width asked for and measures.
FRAME = """<!doctype html><title>frame</title>
<iframe id="page" src="out.html" style="border:0;width:{width}px;height:9000px"></iframe><script>
window.onload = () => setTimeout(() => {{
  const page = document.getElementById("page").contentDocument, root = page.documentElement;
  const images = [...page.images];
  document.body.textContent = JSON.stringify({{
    title: page.title, overflow: root.scrollWidth - root.clientWidth,
    scripts: page.scripts.length, images: images.length,
    loaded: images.filter(image => image.naturalWidth > 0).length, rows: page.querySelectorAll("tbody tr").length,
    fetched: page.defaultView.performance.getEntriesByType("resource").filter(e => !e.name.startsWith("data:")).length,
    small: [...page.querySelectorAll("p, td, th, dd, li, figcaption, code")]
      .filter(e => e.innerText && parseFloat(getComputedStyle(e).fontSize) < 12).length,
    bars: page.querySelectorAll("rect").length, dots: page.querySelectorAll(".dot").length,
  }});
}}, 500);
</script>"""


def in_browser(browser, folder, width):
    """What a browser makes of out.html in this folder, at a width in pixels."""
    (folder / "frame.html").write_text(FRAME.format(width=width))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *args: None
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        result = subprocess.run(
            [
                browser,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
                f"--user-data-dir={folder / 'profile'}",
                "--virtual-time-budget=10000",
                "--dump-dom",
                f"http://127.0.0.1:{server.server_port}/frame.html",
            ],
            capture_output=True,
            text=True,
            timeout=120,
        )
    finally:
        server.shutdown()
        server.server_close()
    found = re.search(r"<body>(\{.*\})</body>", result.stdout, re.DOTALL)
    assert found, result.stdout + result.stderr
    return json.loads(found[1])


@pytest.mark.parametrize("width", [360, 1200], ids=["phone", "desktop"])
def test_page_in_a_browser(width, browser, gallery, tmp_path):
    folder, content = gallery
    references = write(tmp_path / "references.json", content)
    options = ["--html", str(tmp_path / "out.html"), "--images", str(folder)]
    assert compare(GOOD, PLAIN, GOOD, options=options, references=references) == 0
    found = in_browser(browser, tmp_path, width)
    assert (found["overflow"], found["scripts"], found["fetched"], found["small"]) == (0, 0, 0, 0)
    assert found["images"] == found["loaded"] >= 3
    assert (found["rows"], found["dots"]) == (6, 10)
    assert found["bars"] > 0


def test_hostile_text_in_a_browser(browser, tmp_path):
    first, second, references = hostile_files(tmp_path)
    assert compare(first, second, options=["--html", str(tmp_path / "out.html")], references=references) == 0
    found = in_browser(browser, tmp_path, 360)
    assert found["title"] == "cider, bleu4: comparison"
    assert (found["scripts"], found["images"], found["fetched"], found["overflow"]) == (0, 0, 0, 0)


def test_coco_demo_against_a_degraded_copy(shared, tmp_path):
    folder = shared / "data" / "coco"
    first, references = (str(folder / f"demo_val2014_{kind}.json") for kind in ("candidates", "references"))
    generator = np.random.default_rng(0)
    captions = json.loads(Path(first).read_text())
    paths = [
        write(
            tmp_path / f"dropped_{share}.json",
            {
                image: [" ".join(word for word in caption.split() if generator.random() > share)]
                for image, (caption,) in captions.items()
            },
        )
        for share in (0.0, 0.02, 0.1)
    ]
    result = compared(tmp_path, first, *paths, references=references, options=["--smoothing", "coco"])
    for name, expected in (("cider", 0.5998952026835711), ("bleu4", 0.190829)):
        same, system, *others = result["metrics"][name]["systems"]
        assert same["score"] == pytest.approx(expected, abs=1e-6)
        assert (system["difference"], system["p_value_holm"], system["ties"]) == (0.0, 1.0, 1000)
        for other in others:
            assert other["p_value_holm"] < 0.05
            assert other["difference_interval"][1] < 0
        # The intervals overlap: only the pairing shows the smaller difference.
        assert others[0]["confidence_interval"][1] > same["confidence_interval"][0]


def test_systems_whose_ids_never_meet_show_two_of_each(tmp_path, capsys):
    captions = {number: [{"image_id": i, "caption": "a cat"} for i in range(number, number + 3)] for number in (1, 7)}
    files = [write(tmp_path / f"{number}.json", content) for number, content in captions.items()]
    references = write(tmp_path / "references.json", [row for content in captions.values() for row in content])
    assert compare(*files, references=references, options=["--allow-missing"]) == 2
    assert f"have no image_id in common: {files[0]} has 1, 2 and 1 more, {files[1]} has 7, 8 and 1 more" in (
        capsys.readouterr().err
    )
