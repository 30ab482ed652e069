"""Time and memory of CIDEr and BLEU-4 over shards: one process, processes of datasets, workers of Ray.

Run from the root of the repository, with `pip install "ray[data]"`:

    python -m tests.benchmarks.bench_scale --sizes 50000 1000000

Captions are drawn from real ones, each image with five references, and are written as Parquet shards first. Each run
is a process of its own, which is watched with all its children.
"""

import argparse
import json
import os
import random
import shutil
import sys
import tempfile
import threading
import time
from datetime import date
from pathlib import Path

from tests.benchmarks.bench_captions import read_captions
from tests.benchmarks.measuring import machine, measure, reset_peak, resident, serve, versions, write_section

SEED = 20261130
NUM_REFERENCES = 5
METRICS = ("bleu4", "cider")
ENGINES = (("one process", None, 1), ("datasets.map, 2 processes", "datasets", 2), ("Ray, 2 workers", "ray", 2))
ROW_GROUP = 1 << 14


def write_shards(size: int, number: int, folder: Path) -> int:
    """Writes `size` rows into `number` shards and returns their bytes.

    Half of the candidates are a caption of the image, half of another; both sides are drawn with replacement.
    """
    import pyarrow
    import pyarrow.parquet

    rng = random.Random(SEED)
    groups, _ = read_captions(13000, rng)
    edges = [size * i // number for i in range(number + 1)]
    for shard, (start, stop) in enumerate(zip(edges, edges[1:])):
        references = [rng.choice(groups) for _ in range(start, stop)]
        predictions = [
            rng.choice(group if place % 2 else rng.choice(groups)) for place, group in enumerate(references)
        ]
        table = pyarrow.table({"prediction": predictions, "references": references})
        pyarrow.parquet.write_table(table, folder / f"{shard:05}.parquet", row_group_size=ROW_GROUP)
    return sum(path.stat().st_size for path in folder.iterdir())


class Watch:
    """The largest memory while something runs: of this process and all below it, and of one that does the work."""

    def __init__(self):
        self.worker, self.total, self._base = 0, 0, shared_memory([os.getpid(), *children(os.getpid())])
        self._stop, self._thread = threading.Event(), threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.5):
            below = children(os.getpid())
            self.total = max(self.total, shared_memory([os.getpid(), *below]) - self._base)
            self.worker = max([self.worker, *(resident([pid]) for pid in below if is_worker(pid))])


def children(pid: int) -> list[int]:
    """The processes below one, forks too."""
    try:
        threads = os.listdir(f"/proc/{pid}/task")
        own = [int(c) for t in threads for c in Path(f"/proc/{pid}/task/{t}/children").read_text().split()]
    except OSError:
        return []  # It ended meanwhile.
    return [*own, *(below for child in own for below in children(child))]


def shared_memory(pids: list[int]) -> int:
    """Resident bytes of processes, a page that several share counted once."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # It ended meanwhile.
        total += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
    return total


def is_worker(pid: int) -> bool:
    """Whether a process does the work: an actor of Ray, or a process of the engine datasets."""
    try:
        text = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return False
    return "ray::_Worker" in text or "scale.processes" in text


def prepare(metric: str, engine: str | None, num_workers: int, folder: str):
    """Imports and starts an engine; returns what is measured."""
    from metrics.files.rows import expand
    from metrics.scale.batches import BatchStatistics
    from metrics.scale.engines import pick
    from metrics.scale.shards import score_shards, shard_folder

    run = pick(engine, num_workers)
    if engine == "ray":
        from metrics.scale.on_ray import start

        start(num_workers)

    def score() -> float:
        reset_peak()
        with Watch() as watch, shard_folder(None) as results:
            started = time.perf_counter()
            found = score_shards(BatchStatistics(metric), expand([f"{folder}/*.parquet"]), results, run)
            value = found.score()[metric]
            content = {"wall": time.perf_counter() - started, "results": folder_size(results)}
            table = found.statistics_of.options.get("document_frequencies")
            # What the broadcast table holds.
            content["table"] = sum(a.nbytes for level in table.levels for a in level) if table is not None else 0
            content["words"] = len(table.vocabulary) if table is not None else 0
        content.update(worker=watch.worker, memory=watch.total)
        Path(os.environ["BENCH_DETAILS"]).write_text(json.dumps(content))
        return value

    return score


def folder_size(folder: str) -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in Path(folder).iterdir())


def measure_one(metric: str, engine: str | None, num_workers: int, folder: Path) -> dict:
    """One run in a new process: wall and CPU seconds, memory of all processes, and of the largest worker."""
    with tempfile.TemporaryDirectory() as details:
        path = f"{details}/details.json"
        command = [
            sys.executable,
            "-m",
            "tests.benchmarks.bench_scale",
            "--contender",
            metric,
            str(engine),
            str(num_workers),
            str(folder),
        ]
        environment = {
            "BENCH_DETAILS": path,
            "HF_DATASETS_DISABLE_PROGRESS_BARS": "1",
            "RAY_USAGE_STATS_ENABLED": "0",
            "OMP_NUM_THREADS": "1",
        }
        result = measure(command, environment)
        if "error" in result:
            raise RuntimeError(f"{metric} on {engine}: {result['error']}")
        return {**result, **json.loads(Path(path).read_text())}


def table_of_runs(size: int, folder: Path) -> list[str]:
    """Every metric on every engine, as lines of a table."""
    lines = [
        "| metric | where | score | wall s | CPU s | captions/s | all processes MB | largest worker MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    notes = []
    for metric in METRICS:
        for name, engine, number in ENGINES:
            load = os.getloadavg()[0]
            found = measure_one(metric, engine, number, folder)
            speed = size * (NUM_REFERENCES + 1) / found["wall"]
            worker = f"{found['worker'] / 1e6:,.0f}" if engine else "-"
            lines.append(
                f"| {metric} | {name} | {found['score']:.9f} | {found['wall']:.1f} | {found['cpu']:.1f} | "
                f"{speed:,.0f} | {found['memory'] / 1e6:,.0f} | {worker} |"
            )
            print(lines[-1], f"load {load:.1f}", found, file=sys.stderr, flush=True)
            if engine is None:
                per_core = size * (NUM_REFERENCES + 1) / found["cpu"]
                size_of = f"; table of {found['table'] / 1e6:.0f} MB and {found['words']:,} words"
                table = size_of if found["table"] else ""
                notes.append(
                    f"- {metric} in one process: {per_core:,.0f} captions per second of CPU time; "
                    f"{found['results'] / 1e6:,.0f} MB of files of shards{table}; load at start {load:.1f}."
                )
    return [*lines, "", *notes]


def growth(size: int, folder: Path, numbers: tuple[int, ...]) -> list[str]:
    """Memory of the largest worker against the number of shards, of the same rows per shard."""
    lines = ["| shards | rows | all processes MB, one process | largest worker MB, datasets |", "|---|---|---|---|"]
    for number in numbers:
        part = folder / f"part{number}"
        part.mkdir()
        write_shards(size * number, number, part)
        alone = measure_one("bleu4", None, 1, part)
        pair = measure_one("bleu4", "datasets", 2, part)
        shutil.rmtree(part)
        lines.append(f"| {number} | {size * number:,} | {alone['memory'] / 1e6:,.0f} | {pair['worker'] / 1e6:,.0f} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000_000], help="rows, of five references each")
    parser.add_argument("--num-shards", type=int, default=40)
    parser.add_argument("--no-growth", action="store_true", help="leave out memory against the number of shards")
    parser.add_argument("--contender", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contender:
        metric, engine, number, folder = options.contender
        serve(lambda: prepare(metric, None if engine == "None" else engine, int(number), folder))
        return
    arguments = " ".join(sys.argv[1:])
    head = [
        "## Shards, one process and engines",
        "",
        f"{date.today()}, `python -m tests.benchmarks.bench_scale {arguments}`.".replace(" `.", "`."),
        machine(),
        f"Versions: {versions(['numpy', 'pyarrow', 'datasets', 'ray'])}.",
        "",
        "From Parquet shards to score, twice through them for CIDEr. Captions are drawn from COCO val2017 and "
        "Flickr8k; captions/s counts predictions and references, by wall time. Starting Ray's cluster is not counted, "
        "starting its workers is; CPU of Ray's processes is not in the table. Memory of all processes is what is "
        "resident above the state before, shared pages counted once; that of a worker is all that is resident in it, "
        "Python and packages included.",
    ]
    with tempfile.TemporaryDirectory() as scratch:
        for size in options.sizes:
            folder = Path(scratch) / str(size)
            folder.mkdir()
            written = write_shards(size, options.num_shards, folder)
            title = f"### {size:,} images, {size * (NUM_REFERENCES + 1):,} captions"
            head += ["", f"{title}, {options.num_shards} shards ({written / 1e6:,.0f} MB)", ""]
            head += table_of_runs(size, folder)
            shutil.rmtree(folder)
        if not options.no_growth:
            head += ["", "### Memory against the number of shards", ""]
            head += growth(10_000, Path(scratch), (1, 4, 16))
    write_section("scale", "\n".join(head))


if __name__ == "__main__":
    main()
