"""Malformed files of arrays, tables, pickles and statistics: one sentence each, no memory, no time."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from tests.files.malformed_arrays import ARCHIVES, ARRAYS, TABLES, TENSORS
from tests.files.malformed_pickles import KEPT, PICKLES, STATISTICS

# Name of a set -> what reads it, how its files end, and the files.
SETS = {
    "npy": ("array", "npy", ARRAYS),
    "safetensors": ("array", "safetensors", TENSORS),
    "npz": ("npz", "npz", ARCHIVES),
    "tables": ("npz", "npz", TABLES),
    "pickles": ("pickle", "p", PICKLES),
    "statistics": ("statistics", "parquet", STATISTICS),
    "kept": ("kept", "parquet", KEPT),
}
CASES = [(kind, name) for kind, (_, _, files) in SETS.items() for name in files]
ROOT = Path(__file__).parents[2]


def read_all(folder, lines):
    """What came of each file; of one that ended the process, how."""
    pyarrow.parquet.write_table(pyarrow.table({"x": [[1.0]]}), folder / "good.parquet")
    found = []
    while len(found) < len(lines):
        (folder / "list").write_text("\n".join(lines[len(found) :]), encoding="utf-8")
        command = [sys.executable, str(Path(__file__).with_name("read_many.py")), "list", "good.parquet"]
        run = subprocess.run(
            command,
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=100,
        )
        found += map(json.loads, run.stdout.splitlines())
        if run.returncode == 0:
            break
        assert run.returncode < 0, run.stderr
        found.append({"type": f"signal {-run.returncode}", "is_refusal": False})
    return found


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    folder, lines = tmp_path_factory.mktemp("malformed"), []
    for number, (kind, name) in enumerate(CASES):
        reader, ending, files = SETS[kind]
        content, _ = files[name]
        (folder / f"{number}.{ending}").write_bytes(content() if callable(content) else content)
        lines.append(f"{reader} {number}.{ending}")
    return dict(zip(CASES, zip(lines, read_all(folder, lines), strict=True)))


@pytest.mark.parametrize("kind, name", CASES, ids=[f"{kind}: {name}" for kind, name in CASES])
def test_a_malformed_file_is_one_sentence(kind, name, outcomes):
    line, found = outcomes[kind, name]
    assert found["is_refusal"], found
    assert re.search(SETS[kind][2][name][1], found["text"], re.IGNORECASE), found["text"]
    # What reads a kept file tells of its path; a caller knows it.
    assert kind == "kept" or line.split()[1] in found["text"]
    assert found["text"].isprintable() and len(found["text"]) < 400, found["text"]
    assert found["seconds"] < 1 and found["grown"] < 40 << 20, found
    assert not found["altered"]


def test_there_are_many():
    assert len(CASES) >= 130
