"""Workers that are killed, signals to the program, and its death: the right number, or an end that leaves nothing."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from metrics.scale.engines import pick
from metrics.scale.pools import DEATHS
from metrics.scale.shards import ShardsFailed, score_shards
from tests.sharding import DiesAlways, KillsOne, Prints, Slow, captions, cut, processes_below, write_jsonl
from tests.stress import rounds

pytest.importorskip("pyarrow")
pytest.importorskip("datasets")
ROOT = Path(__file__).resolve().parents[2]
STATISTICS = Slow("bleu4", keep=["id"])


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Shards, and what is known of them after a run that nothing happened to."""
    folder = tmp_path_factory.mktemp("in")
    paths = [write_jsonl(rows, folder / f"{i:02}.jsonl") for i, rows in enumerate(cut(captions(60), 12))]
    kept = tmp_path_factory.mktemp("kept")
    return paths, score_shards(STATISTICS, paths, str(kept), batch_rows=4), kept


def same_files(kept, expected):
    assert sorted(path.name for path in kept.iterdir()) == sorted(path.name for path in expected.iterdir())


@pytest.mark.stress
def test_random_kills_of_workers(shards, tmp_path):
    paths, expected, pristine = shards
    for seed in range(rounds(3, 50)):
        kept = tmp_path / str(seed)
        kept.mkdir()
        started = time.monotonic()
        with KillsOne(lambda: processes_below(os.getpid(), "scale.processes"), kept, seed, len(paths) - 2) as kills:
            found = score_shards(STATISTICS, paths, str(kept), pick("datasets", 2), batch_rows=4)
        assert kills.killed and time.monotonic() - started < 60
        assert found.score() == expected.score()
        assert found.statistics["id"].tolist() == expected.statistics["id"].tolist()
        same_files(kept, pristine)
        assert not processes_below(os.getpid(), "scale.processes")


def test_a_shard_that_kills_its_workers_is_named_and_the_others_are_kept(shards, tmp_path):
    paths, _, pristine = shards

    def engine(work, items):
        return pick("datasets", 2)(DiesAlways(work, paths[3]), items)

    message = rf"03.jsonl: the worker that was at it died {DEATHS} times \(ended with exit code 7\) \(11 of 12 shards"
    with pytest.raises(ShardsFailed, match=message):
        score_shards(STATISTICS, paths, str(tmp_path), engine, batch_rows=4)
    assert len(list(tmp_path.iterdir())) == 11


def test_what_the_work_prints_and_raises():
    assert sorted(pick("datasets", 2)(Prints(), ["a", "b"])) == [(0, "aa"), (1, "bb")]
    with pytest.raises(LookupError, match="what the work says"):
        list(pick("datasets", 1)(Prints(), ["wrong"]))
    assert list(pick("datasets", 2)(Prints(), [])) == []


# Not guarded by `if __name__ == "__main__"`, with a class of its own, as programs and notebooks have them.
PROGRAM = """
import sys
from metrics.__main__ import main
from metrics.cli import shards
from tests.sharding import Slow
class Own(Slow):
    pass
shards.BatchStatistics = Own
sys.exit(main(sys.argv[1:]))
"""


class Run:
    """The command on shards as a program in a session of its own, with a folder for what is temporary."""

    def __init__(self, engine, paths, folder, *options):
        self.temporary, self.kept = folder / "tmp", folder / "kept"
        self.temporary.mkdir(parents=True)
        self.kept.mkdir()
        (folder / "program.py").write_text(PROGRAM)
        how = [] if engine is None else ["--engine", engine, "--num-workers", "2"]
        command = ["score", "bleu4", "--predictions", f"{os.path.dirname(paths[0])}/*.jsonl", "--batch-rows", "1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary), "OMP_NUM_THREADS": "1"}
        self.process = subprocess.Popen(
            [sys.executable, str(folder / "program.py"), *command, *how, *options],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def wait_for(self, number):
        """Until a shard's folder, temporary or not, has this many files."""
        while self.process.poll() is None:
            if sum(len(files) for _, _, files in os.walk(self.temporary.parent)) > number:
                return
            time.sleep(0.002)

    def below(self):
        return processes_of_session(self.process.pid)

    def parts(self):
        return [path for folder in (self.temporary, self.kept) for path in folder.rglob("*.part")]


def processes_of_session(session):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, own = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
        except OSError:
            continue  # It has ended meanwhile.
        if int(own) == session and state != "Z":
            found.append(int(folder.name))
    return found


def ended(run, seconds=10):
    limit = time.monotonic() + seconds
    while run.below() and time.monotonic() < limit:
        time.sleep(0.02)
    return not run.below()


ENDS = [
    (None, signal.SIGTERM),
    ("datasets", signal.SIGINT),
    ("datasets", signal.SIGKILL),
    ("datasets", signal.SIGTERM),
    (None, signal.SIGINT),
]


@pytest.mark.stress
def test_signals_leave_nothing(shards, tmp_path):
    paths, _, _ = shards
    for seed in range(rounds(3, 40)):
        engine, number = ENDS[seed % len(ENDS)]
        rng, folder = random.Random(seed), tmp_path / str(seed)
        options = ["--shard-results", str(folder / "kept")] if seed % 2 else []
        run = Run(engine, paths, folder, *options)
        run.wait_for(rng.randrange(1, 10))
        time.sleep(rng.random() / 20)
        # To the whole group, as a terminal's Ctrl-C, or to the program alone, and again.
        send = os.killpg if rng.random() < 0.5 and number != signal.SIGKILL else os.kill
        for _ in range(rng.randint(1, 3)):
            send(run.process.pid, number)
            time.sleep(rng.random() / 50)
        _, told = run.process.communicate(timeout=60)
        assert run.process.returncode == (-number if number == signal.SIGKILL else 128 + number), told
        assert ended(run) and not run.parts(), (seed, told)
        if number != signal.SIGKILL:
            assert not list(run.temporary.iterdir())
            assert told.startswith("stopped; ") and told.count("\n") == 1, told
