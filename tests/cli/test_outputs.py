"""What commands write and print: whole files, JSON without NaN, cells that no spreadsheet runs, no escape codes."""

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from metrics.__main__ import main
from metrics.cli import entity, reports
from metrics.entity_score import scoring as entity_score
from metrics.files.csv_cells import csv_row
from metrics.files.statistics import write_rows
from metrics.utils.containers import brief
from metrics.utils.scorers import Found
from metrics.utils.shown_text import visible
from metrics.utils.whole_files import write_text, written_whole

ROOT = Path(__file__).resolve().parents[2]
HOSTILE = "a\x1b]0;taken\x07\x9b2J\r\n\u202e\u2066b"
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def write(path, content):
    path.write_text(json.dumps(content))
    return str(path)


def strict(text):
    """JSON as other programs read it."""
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in JSON"))


@pytest.fixture
def unscored(monkeypatch, tmp_path):
    """Two files whose middle sample has no score, and their references."""

    def measure(names, data, options):
        values = np.array([float(text) for text in data.predictions])
        found = Found({"entity_score": values, "recall": values, "similarity": values}, np.ones(len(values), int))
        return [reports.make_report(entity_score.Scorer(), found, options)]

    monkeypatch.setattr(entity, "measure", measure)
    rows = [
        [{"image_id": i, "caption": text} for i, text in enumerate(texts)]
        for texts in (("0.5", "nan", "1"), ("0.25", "nan", "nan"), "xyz")
    ]
    return [write(tmp_path / f"{name}.json", content) for name, content in zip("abr", rows)]


def test_json_holds_no_nan(unscored, tmp_path):
    one, other, references = unscored
    files = ["--references", references, "--json", str(tmp_path / "out.json")]
    samples = ["--per-sample", str(tmp_path / "a.jsonl")]
    assert main(["score", "entity_score", "--predictions", one, *files, *samples]) == 0
    strict((tmp_path / "out.json").read_text())
    lines = [strict(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["entity_score"] for line in lines] == [0.5, None, 1.0]
    assert main(["compare", "entity_score", "--predictions", one, other, *files]) == 0
    strict((tmp_path / "out.json").read_text())


def test_rows_of_json_lines_have_null(tmp_path):
    batch = {"a": np.array([1.0, np.nan, -np.inf]), "b": np.array([[1, np.nan]] * 3), "c": np.arange(3)}
    write_rows(str(tmp_path / "a.jsonl"), [batch])
    lines = [strict(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert lines == [{"a": a, "b": [1.0, None], "c": c} for c, a in enumerate((1.0, None, None))]


# Cells


def read_cell(text):
    """What `csv_row` says of reading its cells."""
    return text[1:] if re.match("'+[=+\\-@\t\r\n＝＋－＠]", text) else text


@given(st.lists(st.text(alphabet="'=+-@\t\r\n0.5e ,\"aé＝"), min_size=1, max_size=4))
@example(["-0.5", "+1e5", "-", "'-0.5", "''=", "-0.5e"])
def test_cells_are_not_run_and_come_back(texts):
    with io.StringIO(newline="") as file:
        csv.writer(file).writerows([csv_row(texts), csv_row([-0.5, 3, None])])
        written = list(csv.reader(io.StringIO(file.getvalue(), newline="")))
    assert written[1] == ["-0.5", "3", ""]
    assert [read_cell(cell) for cell in written[0]] == texts
    for cell in written[0]:
        if cell[:1] in tuple("=+-@\t\r\n＝"):
            float(cell)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_only_csv_changes_texts(ending, tmp_path):
    texts = ["=HYPERLINK(A1)", "@a", "-5", "+a", "\tb", "it's", "'=c"]
    path = tmp_path / f"out.{ending}"
    write_rows(str(path), [{"id": np.array(texts, object), "=score": np.array([-0.5] * len(texts))}])
    if ending == "csv":
        with open(path, encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
        assert head == ["id", "'=score"] and {row[1] for row in rows} == {"-0.5"}
        found = [row[0] for row in rows]
        assert found == ["'=HYPERLINK(A1)", "'@a", "-5", "'+a", "'\tb", "it's", "''=c"]
    elif ending == "jsonl":
        assert [json.loads(line)["id"] for line in path.read_text().splitlines()] == texts
    else:
        import pyarrow.parquet

        assert pyarrow.parquet.read_table(path)["id"].to_pylist() == texts


# Files


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_what_fails_leaves_the_old_file(ending, error, tmp_path):
    def batches():
        yield {"a": np.arange(5_000)}
        raise error("stopped")

    path = tmp_path / f"out.{ending}"
    path.write_text("old")
    with pytest.raises(error):
        write_rows(str(path), batches())
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == [path.name]


def test_a_file_that_cannot_be_written(tmp_path, monkeypatch, capsys):
    captions = write(tmp_path / "a.json", {"1": ["a cat"], "2": ["a dog"]})
    command = ["score", "cider", "--predictions", captions, "--references", captions, "--json"]
    for path in (str(tmp_path / "none" / "out.json"), str(tmp_path)):
        assert main([*command, path]) == 2
        assert re.fullmatch(r"error: [^\n]+\n", capsys.readouterr().err)
    old = tmp_path / "old.json"
    old.write_text("old")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    assert main([*command, str(old)]) == 2
    assert "old.json may not be written" in capsys.readouterr().err
    assert old.read_text() == "old" and sorted(os.listdir(tmp_path)) == ["a.json", "old.json"]


def test_links_permissions_and_long_names_stay(tmp_path):
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / ("é" * 120), tmp_path / "link"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new\r\n\ud800")
    assert link.is_symlink() and target.read_bytes() == b"new\r\n\\ud800"
    assert target.stat().st_mode & 0o777 == 0o640
    usual = tmp_path / "usual"
    usual.touch()
    write_text(tmp_path / "new", "")
    assert (tmp_path / "new").stat().st_mode == usual.stat().st_mode


def test_a_pipe_is_written_to_as_it_is(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "a text")
    reader.join(timeout=10)
    assert found == ["a text"] and os.listdir(tmp_path) == ["pipe"]


WRITER = """
import sys, time
from metrics.utils.whole_files import written_whole
with written_whole(sys.argv[1]) as part, open(part, "w") as file:
    file.write("half")
    file.flush()
    print("begun", flush=True)
    time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_who_is_stopped_leaves_no_half_file(number, tmp_path):
    (tmp_path / "a").write_text("old")
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path / "a")],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout.readline() == "begun\n"
        assert len(os.listdir(tmp_path)) == 2
        process.send_signal(number)
        assert process.wait(timeout=30) == (143 if number == signal.SIGTERM else -number)
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_the_handler_of_signals_is_put_back(tmp_path):
    before = signal.getsignal(signal.SIGTERM)
    write_text(tmp_path / "a", "")
    assert signal.getsignal(signal.SIGTERM) is before
    thread = threading.Thread(target=write_text, args=(tmp_path / "b", "of a thread"))
    thread.start()
    thread.join()
    assert (tmp_path / "b").read_text() == "of a thread"


def test_the_name_comes_last(tmp_path):
    with written_whole(tmp_path / "a") as part:
        assert os.path.dirname(part) == str(tmp_path)
        open(part, "w").close()
        assert not (tmp_path / "a").exists()
    assert os.listdir(tmp_path) == ["a"]


def test_official_files_are_whole(tmp_path, monkeypatch):
    folder = tmp_path / "official"
    row = {"question_id": 1, "image_id": 1, "answers": ["no"] * 10, "question_type": "is", "answer_type": "other"}
    results = write(tmp_path / "r.json", [{"question_id": 1, "answer": "no"}])
    command = [
        "score",
        "vqa_accuracy",
        "--predictions",
        results,
        "--references",
        write(tmp_path / "a.json", {"annotations": [row]}),
        "--official-output",
        str(folder),
    ]
    assert main(command) == 0
    before = {name: (folder / name).read_text() for name in os.listdir(folder)}

    def fail(*paths):
        raise OSError("no room")

    monkeypatch.setattr(os, "replace", fail)
    assert main(command) == 2
    assert {name: (folder / name).read_text() for name in os.listdir(folder)} == before


# Terminals


def printed(capsys):
    captured = capsys.readouterr()
    assert not OBEYED.search(captured.out + captured.err)
    return captured


def test_visible_text():
    shown = visible(HOSTILE)
    assert shown == r"a\x1b]0;taken\x07\x9b2J\r\n\u202e\u2066b" and visible(shown) == shown
    kept = "un café 😀 👩‍👩‍👧 می‌خواهم 日本\u3000語\xa0"
    assert visible(kept) == kept
    assert visible("".join(map(chr, range(0x20)))).isprintable()
    assert visible("\ud800 \udcff") == r"\ud800 \udcff"


def test_brief_values():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    mixed = {"a": deep, "b": (deep, {1: deep}), "z": 10**5000, "y": b"x" * 10**6}
    for value in (deep, mixed, [1] * 10**6, "a" * 10**6, {i: i for i in range(10**5)}, float("nan"), None, {1, 2}):
        longer = brief(value, 300)
        assert len(longer) <= 300
        assert brief(value, 50) == (longer if len(longer) <= 50 else longer[:47] + "...")
    for value in ({"b": 1, "a": [None, True, 0.5]}, [{"image_id": 1}], "it's", -7, (1,), [], {}, 2**64):
        assert brief(value) == repr(value)


def test_captions_and_ids(tmp_path, capsys):
    predictions = write(tmp_path / "a.json", [{"image_id": HOSTILE + str(i), "caption": HOSTILE} for i in range(3)])
    other = write(tmp_path / "\x1b[2Jb.json", [{"image_id": HOSTILE + str(i), "caption": f"w{i}"} for i in range(3)])
    rows = [{"image_id": HOSTILE + str(i), "caption": f"w{i} {HOSTILE}"} for i in (0, 1)]
    references = write(tmp_path / "r.json", rows)
    files = ["--predictions", predictions, other, "--references", references]
    assert main(["compare", "cider", *files]) == 2
    assert visible(HOSTILE) + "2" in printed(capsys).err
    assert main(["compare", "cider", *files, "--allow-missing", "--worst", "3"]) == 0
    captured = printed(capsys)
    assert visible(HOSTILE) + "1" in captured.out and r"\x1b[2Jb" in captured.out and r"\x1b[2Jb" in captured.err
    assert main(["score", "cider", "--predictions", str(tmp_path / "\x1b[2Jnone"), "--references", references]) == 2
    assert "none" in printed(capsys).err


def test_labels(tmp_path, capsys):
    rows = [
        {"question_id": i, "image_id": i, "answers": [HOSTILE] * 10, "answer_type": HOSTILE, "question_type": "a"}
        for i in range(2)
    ]
    results = write(tmp_path / "r.json", [{"question_id": i, "answer": HOSTILE} for i in range(2)])
    annotations = write(tmp_path / "a.json", {"annotations": rows})
    assert main(["score", "vqa_accuracy", "--predictions", results, "--references", annotations]) == 0
    assert f"{visible(HOSTILE)}: 1.000000 (2)" in printed(capsys).out


def test_notes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("metrics.cli.score.run", lambda options: warnings.warn(HOSTILE, stacklevel=1) or 0)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        # pytest takes the warnings that no text is made of.
        monkeypatch.setattr(
            warnings, "showwarning", lambda *given, **more: sys.stderr.write(warnings.formatwarning(*given[:4]))
        )
        assert main(["score", "cider"]) == 0
    assert printed(capsys).err == f"note: {visible(HOSTILE)}\n"


def test_a_terminal_that_cannot_show_a_text(tmp_path, monkeypatch):
    captions = write(tmp_path / "a.json", {"1": ["a cat"], "2": ["a dog"]})
    for name in ("é.json", "b.json"):
        (tmp_path / name).write_text((tmp_path / "a.json").read_text())
    buffer = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    files = [str(tmp_path / "é.json"), str(tmp_path / "b.json"), "--references", captions]
    assert main(["compare", "cider", "--predictions", *files]) == 0
    sys.stdout.flush()
    assert rb"\xe9" in buffer.getvalue()


def test_a_value_nested_too_deeply_is_a_sentence(monkeypatch, capsys):
    def deep(options):
        return deep(options)

    monkeypatch.setattr("metrics.cli.score.run", deep)
    assert main(["score", "cider"]) == 2
    assert capsys.readouterr().err == "error: a value of the input is nested too deeply\n"
