"""Export and push: what belongs to a Space, and that what was pushed is what evaluate loads."""

import json
import os
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from metrics import names
from metrics.__main__ import main
from metrics.publish.hub import export, space_files, space_texts
from tests.fake_hub import TOKEN, fake_hub, header_errors

ROOT = Path(__file__).resolve().parents[2]
# Loads and scores what it reads from its standard input, one JSON a line: an evaluate whose cache was empty.
SCORER = """
import json, sys, evaluate
for line in sys.stdin:
    name, arguments = json.loads(line)
    metric = evaluate.load(name)
    found = metric.compute(**arguments), metric.signature(), type(metric).__module__
    print("result:", json.dumps(found), flush=True)
"""
TEXTS = {
    "predictions": ["a cat sits on a mat", "two dogs run in the park"],
    "references": [["a cat is sitting on a mat", "the cat sat on the mat"], ["two dogs play in a park"]],
}
# The examples of the cards.
EXAMPLES = {
    "cider": (TEXTS, 2.3832),
    "bleu4": ({**TEXTS, "references": [TEXTS["references"][0], ["two dogs run in a park"]]}, 0.4204),
    "vqa_accuracy": ({"predictions": ["no", "Yes."], "references": [["yes"] * 8 + ["no"] * 2, ["yes"] * 10]}, 0.3),
    "recall_at_k": (
        {
            "image_embeddings": [[1.0, 0.0], [0.0, 1.0]],
            "references": [[0, 1], [2]],
            "k": [1, 2],
            "text_embeddings": [[0.9, 0.1], [0.8, 0.9], [0.1, 0.7]],
        },
        3.6667,
    ),
}
MAIN_KEY = {name: name for name in names()} | {"recall_at_k": "rsum"}


def environment(folder, **more):
    """Caches of their own in `folder`, and nothing that this process has set for its own."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("HF_") and key != "PYTHONPATH"}
    return {**kept, "HF_HOME": str(folder / "hf"), "HF_MODULES_CACHE": str(folder / "modules"), **more}


@pytest.mark.parametrize("name", names())
def test_header_is_one_that_the_hub_takes(name):
    assert header_errors((ROOT / "metrics" / name / "README.md").read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("name", names())
def test_space_holds_all_of_the_folder_but_what_needs_the_repository(name):
    tracked = {path.name for path in (ROOT / "metrics" / name).iterdir() if path.is_file()}
    assert tracked - set(space_files(name)) == {"__init__.py"}


@pytest.mark.parametrize("name", names())
def test_requirements_are_those_of_the_repository_and_only_what_is_imported(name):
    wanted = {line for line in space_texts(name)["requirements.txt"].splitlines() if not line.startswith("#")}
    assert wanted <= set((ROOT / "requirements.txt").read_text().splitlines())
    code = "\n".join(text for file, text in space_texts(name).items() if file.endswith(".py"))
    imported = {found.split(".")[0] for found in re.findall(r"^ *(?:import|from) (\w[\w.]*)", code, re.MULTILINE)}
    packages = {re.split("[>=]", line)[0] for line in wanted}
    # bleu4 has no stems, which its tokenizers could make. The page's gradio comes with the Space.
    not_needed = {"nltk"} if name == "bleu4" else set()
    assert (imported & {"evaluate", "datasets", "numpy", "nltk", "torch", "transformers"}) - packages == not_needed
    assert packages <= imported


def test_export_twice_and_into_a_foreign_folder(tmp_path, capsys):
    assert main(["export", "cider", "bleu4", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "cider").iterdir()} == set(space_files("cider"))
    export("cider", tmp_path)
    (tmp_path / "bleu4" / "notes.txt").touch()
    assert main(["export", "bleu4", str(tmp_path)]) == 2
    assert "bleu4 holds notes.txt, expected an empty folder or an earlier export" in capsys.readouterr().err


def test_no_file_of_others_is_overwritten(tmp_path, capsys):
    folder = tmp_path / "cider"
    folder.mkdir()
    for name in ("README.md", "requirements.txt", "cider.py", "_shared.py"):
        (folder / name).write_text("mine")
        assert main(["export", "cider", str(tmp_path)]) == 2
        assert f"cider holds {name}, expected an empty folder or an earlier export" in capsys.readouterr().err
        assert [path.name for path in folder.iterdir()] == [name] and (folder / name).read_text() == "mine"
        (folder / name).unlink()
    export("cider", tmp_path)
    (folder / "README.md").write_text("---\ntitle: My own\n---\n")
    assert main(["export", "cider", str(tmp_path)]) == 2
    assert "cider holds README.md" in capsys.readouterr().err


def test_an_export_is_written_anew(tmp_path):
    folder = export("cider", tmp_path)
    texts = space_texts("cider")
    # By another version, or broken off.
    for path in folder.iterdir():
        path.write_text(path.read_text(encoding="utf-8") + "\nolder\n", encoding="utf-8")
    assert export("cider", tmp_path) == folder
    for name in list(texts)[::2]:
        (folder / name).unlink()
    export("cider", tmp_path)
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts


def test_examples_name_the_space():
    texts = space_texts("cider", "someone/cider")
    assert all('evaluate.load("someone/cider")' in texts[file] for file in ("README.md", "cider.py"))
    assert not any('"metrics/cider"' in text for text in texts.values())


def test_dry_run_lists_files_and_needs_no_token(capsys):
    assert main(["push", "cider", "--namespace", "someone", "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("spaces/someone/cider, cider ")
    listed = {line.split()[1]: int(line.split()[0].replace(",", "")) for line in printed.splitlines()[1:]}
    assert listed == {file: len(text.encode()) for file, text in space_texts("cider", "someone/cider").items()}


def test_a_namespace_that_is_none(capsys):
    assert main(["push", "cider", "--namespace", "", "--dry-run"]) == 2
    assert "--namespace is '', expected the name of a user" in capsys.readouterr().err


class Scorer:
    """A process with an empty cache, in an empty folder, that loads from the Hub named."""

    def __init__(self, folder, **variables):
        (folder / "empty").mkdir(parents=True)
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-c", SCORER],
            cwd=folder / "empty",
            env=environment(folder, **variables),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __call__(self, name, arguments):
        self.process.stdin.write(json.dumps([name, arguments]) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("result:"):
                return json.loads(line.removeprefix("result:"))
        raise AssertionError(f"{name} could not be loaded or scored")

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=60)


@pytest.fixture
def checkout(tmp_path):
    """A copy of the metrics, which a test may change."""
    shutil.copytree(ROOT / "metrics", tmp_path / "checkout" / "metrics", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "checkout"


def push(checkout, names, **variables):
    command = [sys.executable, "-m", "metrics", "push", *names, "--namespace", "someone"]
    return subprocess.run(
        command, cwd=checkout, env=environment(checkout, **variables), capture_output=True, text=True, timeout=120
    )


def test_without_a_token_there_is_one_clear_sentence(checkout):
    result = push(checkout, ["cider"], HF_ENDPOINT="http://127.0.0.1:9")
    assert result.returncode == 2 and "Traceback" not in result.stderr
    assert result.stderr.startswith("error: there is no token for the Hub") and result.stderr.count("\n") == 1


def test_pushed_metrics_load_from_the_hub(checkout, tmp_path, nltk_data, request):
    with fake_hub() as hub:
        access = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN}
        result = push(checkout, names(), **access)
        assert result.returncode == 0, result.stderr
        assert result.stdout.split() == [f"{hub.url}/spaces/someone/{name}" for name in names()]
        assert [(wanted["type"], wanted["sdk"]) for wanted in hub.created] == [("space", "gradio")] * len(names())
        assert [message.split()[0] for message in hub.messages] == names()
        for name in names():
            assert set(hub.spaces[f"someone/{name}"]) == set(space_files(name))

        score = Scorer(tmp_path / "user", HF_ENDPOINT=hub.url, NLTK_DATA=str(nltk_data))
        for name, (arguments, expected) in EXAMPLES.items():
            results, signature, _ = score(f"someone/{name}", arguments)
            assert results[MAIN_KEY[name]] == pytest.approx(expected, abs=5e-5)
            assert signature.startswith("cider_d|" if name == "cider" else f"{name}|")
        if find_spec("torch"):
            entities = {
                "predictions": ["a man plays a guitar"],
                "references": ["a man with a guitar"],
                "model_path": str(request.getfixturevalue("t5_folder")),
            }
            assert score("someone/entity_score", entities)[0]["entity_score"] == pytest.approx(1.00005, abs=1e-5)

        _, _, old_module = score("someone/cider", TEXTS)
        formula = checkout / "metrics" / "cider" / "scoring.py"
        formula.write_text(formula.read_text().replace("np.stack(sums, axis=1)", "2 * np.stack(sums, axis=1)"))
        hub.spaces["someone/cider"] |= {"left_over.py": b"", "picture.png": b""}
        assert push(checkout, ["cider"], **access).returncode == 0
        assert set(hub.spaces["someone/cider"]) == {*space_files("cider"), "picture.png"}
        results, _, module = score("someone/cider", TEXTS)
        assert results["cider"] == pytest.approx(2 * 2.3832, abs=1e-4)
        assert module != old_module
    # The Hub is down.
    results, _, module_then = score("someone/cider", TEXTS)
    assert results["cider"] == pytest.approx(2 * 2.3832, abs=1e-4) and module_then == module
    score.close()


def test_a_hub_that_refuses_or_is_down_ends_with_a_sentence(checkout):
    with fake_hub() as hub:
        refused = push(checkout, ["cider"], HF_ENDPOINT=hub.url, HF_TOKEN="hf_of_another")
        card = checkout / "metrics" / "cider" / "README.md"
        text = card.read_text(encoding="utf-8").replace("sdk_version: ", "sdk_version: 3.27 ")
        card.write_text(text, encoding="utf-8")
        wrong_card = push(checkout, ["cider"], HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    down = push(checkout, ["cider"], HF_ENDPOINT=hub.url, HF_TOKEN=TOKEN)
    for result in (refused, wrong_card, down):
        assert result.returncode == 2, result.stderr
        assert "error: " in result.stderr and "Traceback" not in result.stderr
    assert "Invalid metadata in README.md" in wrong_card.stderr and "sdk_version" in wrong_card.stderr
