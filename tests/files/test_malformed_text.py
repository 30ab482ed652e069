"""Text files as they should not be: one sentence each that names the file, and the line where there is one."""

import gzip
import json
import os
import re
import threading
import tracemalloc
import zipfile
from io import BytesIO

import pytest

from metrics.__main__ import main
from metrics.files import text_files
from metrics.files.json_text import json_text, read_json, read_json_line
from metrics.files.rows import expand, read_batches

MARK = b"\xef\xbb\xbf"
DEEP = 100_000
CAPTIONS = json.dumps([{"image_id": 1, "caption": "a cat"}, {"image_id": 2, "caption": "a dog"}])
ROW = b'{"prediction": "a cat", "references": ["the cat"]}'


def in_caption(text):
    """A caption file with these characters of JSON in a caption."""
    return f'[{{"image_id": 1, "caption": "a {text} cat"}}, {{"image_id": 2, "caption": "a dog"}}]'.encode()


def as_value(text):
    return f'[{{"image_id": 1, "caption": "a cat", "more": {text}}}]'.encode()


def zipped(text):
    with BytesIO() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.json", text)
        return file.getvalue()


# What stands in a file -> a part of the sentence. None of them has a line end inside.
MALFORMED = {
    "deep lists": (b"[" * DEEP, "nested too deeply"),
    "deep closed lists": (b"[" * DEEP + b"]" * DEEP, "nested too deeply"),
    "deep objects": (b'{"a":' * DEEP, "nested too deeply"),
    "deep value": (as_value("[" * DEEP + "]" * DEEP), "nested too deeply"),
    "deep mix": (b'[{"a":' * DEEP, "nested too deeply"),
    "doubled key": (b'{"1": ["a"], "1": ["b"]}', "the key '1' stands twice"),
    "doubled key inside": (as_value('{"a": {"b": [{"c": 1, "d": 2, "c": 1}]}}'), "the key 'c' stands twice"),
    "doubled long key": (f'{{"{"k" * 10_000}": 1, "{"k" * 10_000}": 2}}'.encode(), "the key 'kkk"),
    "doubled among many": (
        ("{" + '"a": 1,' + "".join(f'"{i}": 1,' for i in range(9_999)) + '"9998": 2}').encode(),
        "the key '9998' stands twice",
    ),
    "doubled hostile key": (b'{"\\u001b[2J": 1, "\\u001b[2J": 2}', r"the key '\x1b[2J' stands twice"),
    "utf-16": (CAPTIONS.encode("utf-16"), "is UTF-16, expected a text in UTF-8"),
    "utf-16, big": (("\ufeff" + CAPTIONS).encode("utf-16-be"), "is UTF-16"),
    "utf-16 without mark": (CAPTIONS.encode("utf-16-le"), "holds a NUL byte, as UTF-16 does"),
    "utf-16 without mark, big": (CAPTIONS.encode("utf-16-be"), "holds a NUL byte"),
    "utf-32": (CAPTIONS.encode("utf-32"), "is UTF-32"),
    "utf-32, big": (("\ufeff" + CAPTIONS).encode("utf-32-be"), "is UTF-32"),
    "latin-1": (CAPTIONS.replace("cat", "café").encode("latin-1"), "is not UTF-8: byte 0xe9"),
    "cut character": (in_caption("")[:-3] + b"\xc3", "is not UTF-8"),
    "encoded surrogate": (in_caption("\\").replace(b"\\", b"\xed\xa0\x80"), "is not UTF-8: byte 0xed"),
    "overlong NUL": (in_caption("\\").replace(b"\\", b"\xc0\x80"), "is not UTF-8: byte 0xc0"),
    "a NUL": (in_caption("\0"), "holds a NUL byte"),
    "a NUL behind": (CAPTIONS.encode() + b"\0", "holds a NUL byte"),
    "NULs": (bytes(100), "holds a NUL byte"),
    "first half": (in_caption("\\ud83d"), r"\ud83d is half of a character"),
    "second half": (in_caption("\\uDE00"), r"\uDE00 is half of a character"),
    "halves in turn": (in_caption("\\ude00\\ud83d"), r"\ude00 is half of a character"),
    "half behind a backslash": (in_caption("\\\\\\ud83d"), r"\ud83d is half of a character"),
    "half in a key": (b'{"\\ud800": ["a cat"]}', r"\ud800 is half of a character"),
    "huge integer": (as_value("9" * 5000), "an integer of thousands of digits"),
    "huge negative integer": (as_value("-" + "9" * 100_000), "an integer of thousands of digits"),
    "NaN": (as_value("NaN"), "NaN stands in it"),
    "Infinity": (as_value("[Infinity]"), "Infinity stands in it"),
    "-Infinity": (as_value('{"a": -Infinity}'), "-Infinity stands in it"),
    "gzip": (gzip.compress(CAPTIONS.encode()), "is compressed (gzip)"),
    "cut gzip": (gzip.compress(CAPTIONS.encode())[:9], "is compressed (gzip)"),
    "zip": (zipped(CAPTIONS), "is compressed (zip)"),
    "zstd": (b"\x28\xb5\x2f\xfd" + bytes(9), "is compressed (zstd)"),
    "Parquet": (b"PAR1" + bytes(9), "is Parquet"),
    "cut JSON": (CAPTIONS.encode()[:-1], "JSON"),
    "cut string": (CAPTIONS.encode()[:40], "JSON"),
    "two values": (CAPTIONS.encode() * 2, "Extra data"),
    "comma": (b'[{"image_id": 1, "caption": "a"},]', "JSON"),
    "single quotes": (b"[{'image_id': 1, 'caption': 'a'}]", "JSON"),
    "two marks": (MARK * 2 + CAPTIONS.encode(), "JSON"),
    "tab in a string": (in_caption("\t"), "Invalid control character"),
    "escape in a string": (in_caption("\x1b[2J"), "Invalid control character"),
    "unknown escape": (in_caption("\\x"), "JSON"),
    "cut escape": (in_caption("\\u12"), "JSON"),
    "hexadecimal": (as_value("0x10"), "JSON"),
    "leading zero": (as_value("01"), "JSON"),
    "a word": (b"none", "JSON"),
    "a comment": (b"[] // none", "Extra data"),
    "random bytes": (bytes(range(128, 256)), "is not UTF-8"),
}
# Of a whole file only: a line of JSON Lines without a byte is skipped, and others are right there.
EMPTY = (b"", b" \n\t\n", MARK)

# Where a JSON file is read: what stands before the options --predictions or others, {} for the file.
ROLES = {
    "predictions": ["bleu4", "--predictions", "{}", "--references", "right.json"],
    "references": ["cider", "--predictions", "right.json", "--references", "{}"],
    "annotations": ["vqa_accuracy", "--predictions", "answers.json", "--references", "{}"],
    "questions": [
        "vqa_accuracy",
        "--predictions",
        "answers.json",
        "--references",
        "annotations.json",
        "--questions",
        "{}",
    ],
    "retrieval": ["recall_at_k", "--similarity", "similarity.npy", "--references", "{}"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.chdir(tmp_path)
    (tmp_path / "right.json").write_text(CAPTIONS)
    (tmp_path / "answers.json").write_text('[{"question_id": 1, "answer": "no"}]')
    (tmp_path / "annotations.json").write_text('{"annotations": [{"question_id": 1, "answers": ["no", "no"]}]}')
    (tmp_path / "questions.json").write_text('{"questions": [{"question_id": 1}]}')
    (tmp_path / "references.json").write_text("[[0], [1]]")
    np.save(tmp_path / "similarity.npy", np.eye(2))
    return tmp_path


def sentence(arguments, capsys, place):
    """What `score` says of it: one line that names the place, and exit code 2."""
    assert main(["score", *arguments]) == 2
    captured = capsys.readouterr()
    assert not captured.out
    assert re.fullmatch(r"error: [^\x00-\x1f\x7f-\x9f]{1,600}\n", captured.err), captured.err[:2000]
    assert place in captured.err
    return captured.err


@pytest.mark.parametrize("kind", MALFORMED)
def test_one_sentence(kind, folder, capsys):
    content, message = MALFORMED[kind]
    (folder / "bad.json").write_bytes(content)
    for role in ("predictions", "annotations") if len(kind) % 2 else ("references", "questions", "retrieval"):
        assert message in sentence([part.format("bad.json") for part in ROLES[role]], capsys, "bad.json")
    (folder / "bad.jsonl").write_bytes(ROW + b"\n" + content + b"\n" + ROW)
    found = sentence(["bleu4", "--predictions", "bad.jsonl"], capsys, "bad.jsonl, line 2")
    # Marks and kinds are those of a file, not of a line.
    assert message in found or kind in (
        "utf-16",
        "utf-16, big",
        "utf-32",
        "utf-32, big",
        "gzip",
        "cut gzip",
        "zip",
        "zstd",
        "Parquet",
    )
    (folder / "first.jsonl").write_bytes(content)
    sentence(["bleu4", "--predictions", "first.jsonl"], capsys, "first.jsonl")


@pytest.mark.parametrize("role", ROLES)
def test_what_is_no_text_file(role, folder, capsys, monkeypatch):
    monkeypatch.setattr(text_files, "_PIPE_SECONDS", 0.05)
    (folder / "bad.json").mkdir()
    os.mkfifo(folder / "pipe.json")
    for path, message in (
        ("bad.json", "is a folder, expected a file"),
        ("/dev/zero", "is a device"),
        ("pipe.json", "is empty"),
        ("none.json", "No such file"),
    ):
        assert message in sentence([part.format(path) for part in ROLES[role]], capsys, path)
    for content in EMPTY:
        (folder / "empty.json").write_bytes(content)
        sentence([part.format("empty.json") for part in ROLES[role]], capsys, "empty.json")


def test_shards_that_are_no_files(folder, capsys):
    (folder / "a.jsonl").write_bytes(ROW)
    for make, message in ((os.mkdir, "is a folder"), (os.mkfifo, "is a pipe")):
        for name in ("b.jsonl", "b.parquet"):
            make(folder / name)
            assert message in sentence(["bleu4", "--predictions", f"*.{name[2:]}"], capsys, name)
            (os.rmdir if make is os.mkdir else os.remove)(folder / name)
    files = [str(folder / f"{i}.jsonl") for i in range(20_000)]
    with pytest.raises(ValueError, match="19999.jsonl is named twice"):
        expand([*files, files[-1]])


@pytest.mark.parametrize("role", ROLES)
def test_a_mark_is_read_over_everywhere(role, folder, capsys):
    right = {"predictions": "right", "retrieval": "references"}.get(role, "right" if role == "references" else role)
    (folder / "marked.json").write_bytes(MARK + (folder / f"{right}.json").read_bytes())
    assert main(["score", *(part.format("marked.json") for part in ROLES[role])]) == 0


def test_a_mark_before_json_lines(folder):
    (folder / "a.jsonl").write_bytes(MARK + ROW + b"\r\n\r\n" + ROW)
    (batch,) = read_batches("a.jsonl", ["prediction"], 10)
    assert batch == {"prediction": ["a cat", "a cat"]}


def test_the_line_is_named(folder, capsys):
    lines = ["[", *('{"image_id": 1, "caption": "a"},' for _ in range(5)), '{"image_id": 2, "caption": "%s"}]']
    text = "\n".join(lines)
    for bad, where in (
        (b"\xff", "bad.json, line 7 "),
        (b"\0", "bad.json, line 7 "),
        (b"\\ud800", "bad.json, line 7:"),
        (b'"', "at line 7, column"),
    ):
        (folder / "bad.json").write_bytes(text.encode().replace(b"%s", bad))
        assert where in sentence(["bleu4", "--predictions", "bad.json", "--references", "right.json"], capsys, "bad")


def test_right_texts_are_read(folder):
    texts = ["😀", "\\ud83d", "\u2028", "\x00 of JSON", "é" * 3, "\\\\ud800"]
    for content in (json.dumps(texts), json.dumps(texts, ensure_ascii=False)):
        (folder / "a.json").write_text(content, encoding="utf-8")
        assert read_json("a.json") == texts
        assert read_json_line(content.encode(), "a.jsonl", 3) == texts
    nested = "[" * 100 + "]" * 100
    (folder / "a.json").write_text(f"[1e400, {'9' * 4000}, {nested}]")
    assert read_json("a.json")[1] == int("9" * 4000)


def test_a_pipe_with_a_writer_is_read(folder):
    os.mkfifo("pipe.json")

    def write():
        with open("pipe.json", "w") as file:
            file.write(CAPTIONS[:9])
            file.flush()
            file.write(CAPTIONS[9:] + " " * 200_000)

    writer = threading.Timer(0.05, write)
    writer.start()
    assert read_json("pipe.json") == json.loads(CAPTIONS)
    writer.join()


ROWS_OF_FILES = {
    "deep caption": ('[{"image_id": 1, "caption": %s}]' % ("[" * 400 + "]" * 400), "[0]: caption is [[["),
    "long caption": ('[{"image_id": 1, "caption": [%s]}]' % ("9," * 100_000 + "9"), "[0]: caption is [9, 9"),
    "long id": ('[{"image_id": [%s], "caption": ""}]' % ("9," * 100_000 + "9"), "[0]: image_id is [9, 9"),
    "deep row": ("[%s]" % ("[" * 400 + "]" * 400), "[0] is [[["),
    "long text": ('["%s"]' % ("a" * 100_000), "[0] is 'aaa"),
    "long integer": ('[{"image_id": 1, "caption": %s}]' % ("9" * 4000), "caption is <an integer of"),
    "deep dict": ('{"1": %s}' % ('{"a":' * 400 + "1" + "}" * 400), "key '1', expected annotations"),
    "long unknown id": ('[{"image_id": "%s", "caption": "a"}]' % ("i" * 100_000), "iii..."),
    "hostile id": (r'[{"image_id": "\u001b[2J\u202e\n", "caption": "a"}]', r"\x1b[2J\u202e\n"),
}


@pytest.mark.parametrize("kind", ROWS_OF_FILES)
def test_rows_are_named_shortly(kind, folder, capsys):
    content, message = ROWS_OF_FILES[kind]
    (folder / "bad.json").write_text(content)
    assert message in sentence([part.format("bad.json") for part in ROLES["predictions"]], capsys, "bad.json")


def test_choices_that_are_no_list(folder, capsys):
    (folder / "bad.json").write_text('{"questions": [{"question_id": 1, "multiple_choices": 5}]}')
    found = sentence([part.format("bad.json") for part in ROLES["questions"]], capsys, "bad.json")
    assert "multiple_choices that are no list for 1 question id (1)" in found


def test_memory_does_not_grow(folder):
    """Whatever is refused leaves nothing behind, and takes no more room than a few times its size."""

    def read_all():
        for number, (content, _) in enumerate(MALFORMED.values()):
            (folder / f"{number}.json").write_bytes(content)
            with pytest.raises(ValueError):
                read_json(f"{number}.json")

    read_all()
    tracemalloc.start()
    try:
        read_all()
        before, _ = tracemalloc.get_traced_memory()
        read_all()
        after, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 200_000
    assert peak < 40_000_000


def test_json_that_is_written_has_null():
    nan, inf = float("nan"), float("inf")
    assert json.loads(json_text({"a": [nan, (inf, -inf)], "b": 1.5}), parse_constant=pytest.fail) == {
        "a": [None, [None, None]],
        "b": 1.5,
    }
