"""What is kept of shards: killed, damaged or swapped, the number is that of a run that nothing happened to."""

import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from metrics.scale import kept_files
from metrics.scale import shards as scoring_of_shards
from metrics.scale.batches import BatchStatistics
from metrics.scale.engines import serial
from metrics.scale.frequencies import BatchFrequencies
from metrics.scale.kept_files import Misfit, file_hash, read_kept, write_kept
from metrics.scale.shards import ShardWork, score_shards
from tests.sharding import assert_same_scores, captions, cut, whole_scores, write_jsonl, write_parquet
from tests.stress import rounds

pytest.importorskip("pyarrow")
ROOT = Path(__file__).resolve().parents[2]
KEYS = "0" * 64, "f" * 64


def write(shards, folder):
    folder.mkdir()
    return [write_jsonl(shard, folder / f"{i:02}.jsonl") for i, shard in enumerate(shards)]


def silent(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return score_shards(*arguments, **options)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory):
    """Shards, their score, and a folder with all that is kept of them."""
    folder = tmp_path_factory.mktemp("kept")
    paths = write([*cut(captions(40), 4), []], folder / "in")
    (folder / "kept").mkdir()
    found = silent(BatchStatistics("cider", keep=["id"]), paths, str(folder / "kept"))
    assert_same_scores(found.score(), whole_scores("cider", captions(40)))
    return paths, found, folder / "kept"


def same(found, expected):
    assert found.score() == expected.score()
    assert all(np.array_equal(found.statistics[name], expected.statistics[name]) for name in expected.statistics)


# One file


def write_text(text, rows=None):
    def write(part):
        Path(part).write_bytes(text)
        return len(text) if rows is None else rows

    return write


def test_what_is_written_is_read(tmp_path):
    for text in (b"", b"rows"):
        write_kept(str(tmp_path / "a"), KEYS[0], write_text(text))
        content, rows = read_kept(str(tmp_path / "a"), KEYS[0])
        assert (bytes(content), rows) == (text, len(text))
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_any_flipped_bit_and_any_length_is_noticed(tmp_path):
    path = tmp_path / "a"
    write_kept(str(path), KEYS[0], write_text(b"some rows"))
    whole = path.read_bytes()
    flipped = [whole[:i] + bytes([whole[i] ^ 1 << i % 8]) + whole[i + 1 :] for i in range(len(whole))]
    for content in (*flipped, *(whole[:length] for length in range(len(whole))), whole + b"\0", whole * 2):
        path.write_bytes(content)
        with pytest.raises(Misfit):
            read_kept(str(path), KEYS[0])


def test_a_file_of_another_key(tmp_path):
    write_kept(str(tmp_path / "a"), KEYS[0], write_text(b"rows"))
    with pytest.raises(Misfit, match="made of another shard, by other code or with other options"):
        read_kept(str(tmp_path / "a"), KEYS[1])


def test_a_file_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    calls, replace, sync = [], os.replace, os.fsync
    monkeypatch.setattr(kept_files.os, "replace", lambda *paths: (calls.append("replace"), replace(*paths)))
    monkeypatch.setattr(kept_files.os, "fsync", lambda number: (calls.append("sync"), sync(number)))
    write_kept(str(tmp_path / "a"), KEYS[0], write_text(b"rows"))
    assert calls == ["sync", "replace", "sync"]


def test_an_error_leaves_no_file(tmp_path):
    def fail(part):
        Path(part).write_bytes(b"half")
        raise KeyError("code")

    with pytest.raises(KeyError):
        write_kept(str(tmp_path / "a"), KEYS[0], fail)
    assert not list(tmp_path.iterdir())


def test_other_numbers_of_rows_under_a_right_seal(uninterrupted, tmp_path):
    paths, expected, kept = uninterrupted
    kept = shutil.copytree(kept, tmp_path / "kept")
    for path in kept.iterdir():
        content, size = path.read_bytes(), kept_files._SEAL_BYTES
        _, key, rows = struct.unpack_from("<8s32sQ", content, len(content) - size)
        write_kept(str(path), key.hex(), write_text(content[:-size], rows + 1))
    with pytest.warns(UserWarning, match=r"rows, expected \d+; it was made anew"):
        same(score_shards(BatchStatistics("cider", keep=["id"]), paths, str(kept)), expected)


# Whole folders


@pytest.mark.parametrize("kind", ["npz", "parquet"])
def test_a_file_of_no_byte_is_made_anew(kind, uninterrupted, tmp_path):
    paths, expected, kept = uninterrupted
    kept = shutil.copytree(kept, tmp_path / "kept")
    for path in kept.glob(f"*.{kind}"):
        path.write_bytes(b"")
    with pytest.warns(UserWarning, match=rf"\.{kind} does not fit: it has 0 bytes.*it was made anew") as told:
        same(score_shards(BatchStatistics("cider", keep=["id"]), paths, str(kept)), expected)
    assert len(told) == 5
    same(silent(BatchStatistics("cider", keep=["id"]), paths, str(kept)), expected)


def _cut(path, rng, others):
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content))])


def _flip(path, rng, others):
    content = bytearray(path.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    path.write_bytes(content)


def _swap(path, rng, others):
    other = rng.choice(others)
    one, two = path.read_bytes(), other.read_bytes()
    path.write_bytes(two)
    other.write_bytes(one)


def _foreign(path, rng, others):
    import pyarrow
    import pyarrow.parquet

    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pyarrow.table({"similarity": [0.5]}), path)
    else:
        with open(path, "wb") as file:
            BatchFrequencies().table({"references": [["a cat"]] * 9}).save(file)


DAMAGES = (
    _cut,
    _flip,
    _swap,
    _foreign,
    lambda path, rng, others: path.write_bytes(b""),
    lambda path, rng, others: path.write_bytes(rng.randbytes(rng.randrange(300))),
)


@pytest.mark.stress
def test_random_damages(uninterrupted, tmp_path):
    paths, expected, pristine = uninterrupted
    statistics_of = BatchStatistics("cider", keep=["id"])
    for seed in range(rounds(5, 50)):
        rng, kept = random.Random(seed), tmp_path / str(seed)
        shutil.copytree(pristine, kept)
        files = sorted(kept.iterdir())
        path = rng.choice(files)
        DAMAGES[seed % len(DAMAGES)](path, rng, [other for other in files if other != path])
        with pytest.warns(UserWarning, match="it was made anew"):
            same(score_shards(statistics_of, paths, str(kept)), expected)
        same(silent(statistics_of, paths, str(kept)), expected)
        assert sorted(kept.iterdir()) == files


PROGRAM = """
import sys
from metrics.scale.batches import BatchStatistics
from metrics.scale.shards import score_shards
score_shards(BatchStatistics("cider", keep=["id"]), sys.argv[2:], sys.argv[1], batch_rows=2)
"""


@pytest.mark.stress
def test_random_kills(tmp_path):
    rows = captions(120)
    paths = write(cut(rows, 24), tmp_path / "in")
    statistics_of = BatchStatistics("cider", keep=["id"])
    (tmp_path / "expected").mkdir()
    # Sums of another batch may have other last bits.
    expected = silent(statistics_of, paths, str(tmp_path / "expected"), batch_rows=2)
    for seed in range(rounds(3, 20)):
        rng, kept = random.Random(seed), tmp_path / str(seed)
        kept.mkdir()
        process = subprocess.Popen([sys.executable, "-c", PROGRAM, str(kept), *paths], cwd=ROOT)
        enough = rng.randrange(2 * len(paths))
        while process.poll() is None and len(os.listdir(kept)) < enough:
            time.sleep(0.001)
        time.sleep(rng.random() / 100)
        process.send_signal(signal.SIGKILL)
        assert process.wait() in (-signal.SIGKILL, 0)
        same(silent(statistics_of, paths, str(kept), batch_rows=2), expected)


def test_two_runs_in_one_folder(uninterrupted, tmp_path):
    paths, expected, _ = uninterrupted
    kept = tmp_path / "kept"
    kept.mkdir()
    found = []

    def run():
        found.append(score_shards(BatchStatistics("cider", keep=["id"]), paths, str(kept)))

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    for scores in found:
        same(scores, expected)
    assert len(list(kept.iterdir())) == 10


# Shards that change


def test_a_shard_of_the_same_size_and_time(tmp_path):
    rows = captions(20)
    paths = write(cut(rows, 2), tmp_path / "in")
    before, status = score_shards(BatchStatistics("bleu4"), paths, str(tmp_path)).score(), os.stat(paths[0])
    text = Path(paths[0]).read_text(encoding="utf-8")
    Path(paths[0]).write_text(text.replace("cat", "dog"), encoding="utf-8")
    os.utime(paths[0], ns=(status.st_atime_ns, status.st_mtime_ns))
    assert os.stat(paths[0]).st_size == status.st_size
    found = score_shards(BatchStatistics("bleu4"), paths, str(tmp_path)).score()
    (tmp_path / "new").mkdir()
    assert found == score_shards(BatchStatistics("bleu4"), paths, str(tmp_path / "new")).score() != before


def test_a_shard_that_was_copied_is_not_counted_anew(tmp_path):
    paths = write(cut(captions(20), 2), tmp_path / "in")
    first = score_shards(BatchStatistics("bleu4"), paths, str(tmp_path))
    shutil.copytree(tmp_path / "in", tmp_path / "copied")
    copied = [str(path) for path in sorted((tmp_path / "copied").iterdir())]
    assert score_shards(BatchStatistics("bleu4"), copied, str(tmp_path)).files == first.files


def test_a_shard_that_changes_while_it_is_read(tmp_path, monkeypatch):
    (path,) = write([captions(5)], tmp_path / "in")
    read = scoring_of_shards.read_batches

    def reading(*arguments):
        yield from read(*arguments)
        write_jsonl(captions(6, seed=1), Path(path))

    monkeypatch.setattr(scoring_of_shards, "read_batches", reading)
    outcome = ShardWork(BatchStatistics("bleu4"), str(tmp_path))(path)
    assert outcome.error == f"{path} changed while it was read"
    assert [child.name for child in tmp_path.iterdir()] == ["in"]


def test_a_shard_that_changes_between_the_passes(tmp_path):
    paths = write(cut(captions(20), 2), tmp_path / "in")
    passes = []

    def engine(work, shards):
        passes.append(work)
        if len(passes) == 2:
            write_jsonl(captions(6, seed=1), Path(paths[1]))
        return serial(work, shards)

    with pytest.raises(ValueError, match="01.jsonl changed while it was scored"):
        score_shards(BatchStatistics("cider"), paths, str(tmp_path), engine)


def test_hash_of_a_file(tmp_path):
    import hashlib

    content = os.urandom(3 * 2**20 + 5)
    (tmp_path / "a").write_bytes(content)
    assert file_hash(tmp_path / "a") == hashlib.sha256(content).hexdigest()


def test_parquet_is_kept_alike(tmp_path):
    rows = captions(20)
    paths = [write_parquet(shard, tmp_path / f"{i}.parquet") for i, shard in enumerate(cut(rows, 2))]
    kept = tmp_path / "kept"
    kept.mkdir()
    score_shards(BatchStatistics("bleu4"), paths, str(kept))
    path = sorted(kept.iterdir())[0]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.warns(UserWarning, match="it was made anew"):
        found = score_shards(BatchStatistics("bleu4"), paths, str(kept))
    assert_same_scores(found.score(), whole_scores("bleu4", rows))
