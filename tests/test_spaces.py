"""The five pages in a real browser and over the network, each served from an exported folder that stands alone."""

import csv
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

from metrics import names
from metrics.publish.hub import export

pytest.importorskip("gradio")
playwright = pytest.importorskip("playwright.sync_api")

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "examples" / "data"
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]
# What a test does on each page: an option to change, and files to upload (in the order of the page).
CHOICES = {
    "cider": ("variant", "cider_r"),
    "bleu4": ("tokenizer", "char"),
    "vqa_accuracy": ("preset", "textvqa"),
    "recall_at_k": ("directions", "forward"),
    "entity_score": ("formula", "readme"),
}
CAPTIONS = ["caption_predictions.json", "caption_references.json"]
FILES = {
    "cider": CAPTIONS,
    "bleu4": CAPTIONS,
    "entity_score": CAPTIONS,
    "vqa_accuracy": ["vqa_results.json", "vqa_annotations.json", None],
    "recall_at_k": ["image_embeddings.npy", "text_embeddings.npy", None, "retrieval_references.json"],
}


# `python NAME/app.py`, on a machine that lacks the packages named.
START = """
import runpy, sys
from importlib.machinery import PathFinder
app, lacks = sys.argv[1:]
lacks, find = lacks.split(","), PathFinder.find_spec
PathFinder.find_spec = staticmethod(
    lambda name, *rest: None if name.partition(".")[0] in lacks else find(name, *rest))
sys.path[0] = app.rpartition("/")[0]
runpy.run_path(app, run_name="__main__")
"""


class Server:
    """A page, started from another folder than its own, with nothing else of the repository on the path."""

    def __init__(self, folder, variables, lacks):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self.log = folder.parent / f"{folder.name}.log"
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with self.log.open("w") as log:
            command = [sys.executable, "-c", START, str(folder / "app.py"), lacks]
            self.process = subprocess.Popen(
                command,
                cwd=folder.parent,
                stdout=log,
                stderr=log,
                env={**environment, **variables, "GRADIO_SERVER_PORT": str(port)},
            )

    def wait(self):
        for _ in range(240):
            try:
                return urllib.request.urlopen(self.url, timeout=5).close()
            except OSError:
                assert self.process.poll() is None, self.log.read_text()
                time.sleep(0.5)
        raise AssertionError(self.log.read_text())


@pytest.fixture(scope="module")
def serve(tmp_path_factory, request):
    """Starts a page once, and gives its address."""
    folder, started = tmp_path_factory.mktemp("spaces"), {}

    def serve(name):
        if name not in started:
            target, variables, lacks = export(name, folder), {}, "metrics,torch,transformers,scipy,matplotlib"
            if name == "entity_score":
                # A folder of that name comes before the Hub.
                (folder / "t5-base").symlink_to(request.getfixturevalue("t5_folder"))
                variables, lacks = {"NLTK_DATA": str(request.getfixturevalue("nltk_data"))}, "metrics"
            started[name] = Server(target, variables, lacks)
            started[name].wait()
        return started[name].url

    yield serve
    for server in started.values():
        server.process.terminate()
        server.process.wait(timeout=60)


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(browser, serve):
    """Opens a page on a screen of a phone's width; nothing may leave this machine, and no error reach the console."""
    problems, requests, urls = [], [], []

    def visit(name):
        url = serve(name)
        urls.append(f"{url}/")
        page = browser.new_context(viewport={"width": 390, "height": 844}, accept_downloads=True).new_page()
        page.set_default_timeout(60_000)
        page.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(url)
        page.get_by_role("button", name="Compute", exact=True).wait_for()
        return page

    yield visit
    assert not problems
    # Nor may another port of it be asked.
    assert not [url for url in requests if not url.startswith((*urls, "data:", "blob:"))]


def score_of(page):
    return float(page.locator(".scores .main b").inner_text())


def click_compute(page):
    """Computes, and waits for the score, or the number of samples beside it, to be another one."""
    before = page.locator(".scores .main").all_inner_texts()
    page.get_by_role("button", name="Compute", exact=True).click()
    page.wait_for_function(
        "before => (document.querySelector('.scores .main') || {innerText: before}).innerText !== before",
        arg=before[0] if before else "",
    )
    return score_of(page)


def upload(page, paths):
    page.get_by_role("tab", name="Upload files").click()
    # A field that has its file is none any more: from the last to the first, the places of the others stay.
    inputs = page.locator("input[type=file][accept='.json'], input[type=file][accept='.npy']")
    given = [(place, path) for place, path in enumerate(paths) if path is not None]
    for done, (place, path) in enumerate(reversed(given)):
        inputs.nth(place).set_input_files(DATA / path)
        page.get_by_role("button", name="Clear", exact=True).nth(done).wait_for()


def python_call(page):
    """The Python code on the page."""
    page.locator(".cm-content").scroll_into_view_if_needed()
    return "\n".join(page.locator(".cm-line").all_inner_texts())


def run_call(code, folder, load_metric):
    """Runs the code of the page where its files lie, and gives the first result."""
    scope = {}
    code = code.replace("import evaluate\n", "").replace("evaluate.load", "load")
    here = os.getcwd()
    os.chdir(folder)
    try:
        exec(code, {"load": lambda name: load_metric(name.removeprefix("metrics/"))}, scope)
    finally:
        os.chdir(here)
    return next(iter(scope["results"].values()))


@pytest.mark.parametrize("name", names())
def test_page(name, visit, load_metric, tmp_path, request):
    if name == "entity_score":
        (tmp_path / "t5-base").symlink_to(request.getfixturevalue("t5_folder"))
    page = visit(name)
    # The example; entity_score waits to be asked, since its model takes a while.
    if name == "entity_score":
        click_compute(page)
    page.locator(".scores .main b").wait_for()
    page.locator(".cm-content").wait_for()
    example = score_of(page)
    assert run_call(python_call(page), tmp_path, load_metric) == pytest.approx(example, abs=1e-4)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    # The table, and why of its first row.
    page.get_by_role("gridcell").filter(has_text=re.compile(r"^\s*(row 2|i2t 1)\s*$")).click()
    page.get_by_text(re.compile("Why: (row 2|i2t 1)")).wait_for()
    assert page.locator(".why .mark").count() > 0
    # An option.
    option, choice = CHOICES[name]
    page.get_by_role("button", name="Options").click()
    page.get_by_label(option, exact=True).click()
    page.get_by_role("option", name=choice, exact=True).click()
    changed = click_compute(page)
    assert changed != example
    code = python_call(page)
    assert f"{option}='{choice}'" in code
    assert run_call(code, tmp_path, load_metric) == pytest.approx(changed, abs=1e-4)
    # Files.
    upload(page, FILES[name])
    from_files = click_compute(page)
    for file in filter(None, FILES[name]):
        shutil.copyfile(DATA / file, tmp_path / file)
    assert run_call(python_call(page), tmp_path, load_metric) == pytest.approx(from_files, abs=1e-4)
    with page.expect_download() as download:
        page.get_by_role("button", name="Results per sample (CSV)").click()
    download.value.save_as(tmp_path / "results.csv")
    with open(tmp_path / "results.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == {"recall_at_k": 6, "vqa_accuracy": 5}.get(name, 8)


def wrong_file(name, folder):
    """The first file of a page with something missing, and what is said of it."""
    path = folder / FILES[name][0]
    if name == "recall_at_k":
        np.save(path, np.full((6, 3), np.nan))
        return path, "image_embeddings"
    rows = json.loads((DATA / FILES[name][0]).read_text())
    path.write_text(json.dumps(rows[1:]))
    missing = rows[0].get("question_id", rows[0].get("image_id"))
    return path, f"({missing})"


@pytest.mark.parametrize("name", ["cider", "vqa_accuracy", "recall_at_k"])
def test_errors_name_the_item(name, visit, tmp_path):
    page = visit(name)
    path, told = wrong_file(name, tmp_path)
    upload(page, [path, *FILES[name][1:]])
    page.get_by_role("button", name="Compute", exact=True).click()
    toast = page.get_by_test_id("toast-body")
    toast.wait_for()
    assert told in toast.inner_text()
    assert str(path.parent) not in toast.inner_text() and "/gradio/" not in toast.inner_text()


@pytest.fixture
def stranger():
    """A server on another port, which no page may ask."""
    came = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            came.append(self.path)
            self.send_error(404)

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()
    assert not came


def hostile_files(name, folder, text):
    """What is uploaded: files whose every text is hostile; and the same with an entry that cannot be scored."""
    if name == "recall_at_k":
        np.save(folder / "a.npy", np.eye(3))
        written = {"right": [[0], [1], [2]], "wrong": [[text], [1], [2]]}
    elif name == "vqa_accuracy":
        rows = [{"question_id": f"{i} {text}", "answer": text} for i in range(3)]
        others = {
            "annotations": [
                {
                    "question_id": row["question_id"],
                    "image_id": 1,
                    "question_type": text,
                    "answer_type": text,
                    "answers": [{"answer": "no"}] * 2 + [{"answer": text}],
                }
                for row in rows
            ]
        }
        written = {"right": rows, "wrong": rows[1:], "a": others}
    else:
        rows = [{"image_id": f"{i} {text}", "caption": f"a dog {text} runs"} for i in range(3)]
        others = {row["image_id"]: [f"the dog {text} {i} sits"] for i, row in enumerate(rows)}
        written = {"right": rows, "wrong": rows[1:], "a": others}
    paths = {
        key: folder / ("a.json" if key == "a" else f"<unk><img src=x onerror=alert(1)>![{key}](y).json")
        for key in written
    }
    for key, path in paths.items():
        path.write_text(json.dumps(written[key]))
    if name == "recall_at_k":
        return [[folder / "a.npy", folder / "a.npy", None, paths[key]] for key in ("right", "wrong")]
    return [[paths[key], paths["a"]] for key in ("right", "wrong")]


def upload_others(page, paths):
    for button in page.get_by_role("button", name="Clear", exact=True).all()[::-1]:
        button.click()
    upload(page, paths)


@pytest.mark.parametrize("name", names())
def test_hostile_texts_stay_texts(name, visit, stranger, tmp_path):
    """Ids, captions, answers, types, an option and names of files: shown as they were typed, and nothing is asked."""
    text = f"<unk> <img src=http://{stranger}/a> ![x](http://{stranger}/b)"
    page = visit(name)
    page.on("dialog", lambda dialog: dialog.dismiss() or pytest.fail("a script ran"))
    right, wrong = hostile_files(name, tmp_path, f"{text} <script>alert(1)</script> [j](javascript:alert(1))")
    if name != "entity_score":
        page.locator(".scores .main b").wait_for()
    if name == "recall_at_k":
        page.get_by_role("button", name="Options").click()
        page.locator("label", has_text="query_name").locator("input, textarea").fill(text)
    upload(page, right)
    page.get_by_role("button", name="Compute", exact=True).click()
    # The explanation, the table, all results, the plot under the pointer.
    page.locator(".why b").filter(has_text=text).wait_for()
    page.get_by_role("gridcell").filter(has_text=text).first.click()
    page.get_by_role("button", name="All results (JSON)").click()
    page.locator(".vega-embed").first.hover()
    page.get_by_text("<unk><img src=x onerror").first.wait_for()
    # An error.
    upload_others(page, wrong)
    page.get_by_role("button", name="Compute", exact=True).click()
    toast = page.get_by_test_id("toast-body")
    toast.wait_for()
    assert "<unk> <img src=http" in toast.inner_text()
    made = page.locator("img[src='x'], img[src$='/a'], img[src$='/b'], a[href^=javascript], [onerror], unk")
    assert made.count() == 0


TEXTS = {
    "predictions": ["a cat sits on a mat", "two dogs run in the park"],
    "references": [["a cat is sitting on a mat", "the cat sat on the mat"], ["two dogs play in a park"]],
}
CALLS = {
    "cider": (TEXTS, {"variant": "cider"}),
    "bleu4": (TEXTS, {"smoothing": "exp", "confidence_level": 0.95}),
    "vqa_accuracy": (
        {
            "predictions": ["no", "Yes."],
            "references": [["yes"] * 8 + ["no"] * 2, ["yes"] * 10],
            "answer_types": ["yes/no", "yes/no"],
        },
        {"preset": "textvqa"},
    ),
    "recall_at_k": (
        {
            "image_embeddings": [[1.0, 0.0], [0.0, 1.0]],
            "references": [[0, 1], [2]],
            "text_embeddings": [[0.9, 0.1], [0.8, 0.9], [0.1, 0.7]],
        },
        {"k": [1, 2], "similarity": "dot"},
    ),
    "entity_score": (
        {"predictions": ["a man plays a guitar"], "references": ["a man with a guitar"]},
        {"formula": "readme"},
    ),
}


def assert_same(found, expected, tolerance):
    """Compares JSON; T5's float32 states differ in the last bits with the number of torch's threads in a process."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        found, expected = list(found.values()), list(expected.values())
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected):
            assert_same(one, other, tolerance)
    elif tolerance and isinstance(expected, float):
        assert found == pytest.approx(expected, abs=tolerance, nan_ok=True)
    else:
        assert found == expected


@pytest.mark.parametrize("name", names())
def test_endpoint_is_compute(name, serve, load_metric, tmp_path, monkeypatch, request):
    from gradio_client import Client

    url = serve(name)
    if name == "entity_score":
        (tmp_path / "t5-base").symlink_to(request.getfixturevalue("t5_folder"))
    monkeypatch.chdir(tmp_path)
    client = Client(url, verbose=False, download_files=str(tmp_path))
    inputs, options = CALLS[name]
    metric = load_metric(name)
    expected = metric.compute(**inputs, **options, per_sample=True)
    found = client.predict(inputs, options, api_name="/compute")
    assert found.pop("signature") == metric.signature()
    assert_same(found, json.loads(json.dumps(expected)), 1e-6 if name == "entity_score" else 0)
    with pytest.raises(Exception, match="options has nothing, expected"):
        client.predict(inputs, {"nothing": 1}, api_name="/compute")
    for wrong in ({"n_resamples": -1, "confidence_level": 0.9}, {"confidence_level": 3}):
        with pytest.raises(Exception, match="n_resamples|confidence_level"):
            client.predict(inputs, wrong, api_name="/compute")
