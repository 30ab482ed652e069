"""What the benchmarks share: contenders in processes of their own that take turns, time and memory, the report's file.

The measured process imports, loads its data and says that it is ready; the measuring one then lets it start, and
watches its memory and that of its children.
"""

import ast
import ctypes
import gc
import json
import os
import platform
import re
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "tests" / "benchmarks" / "RESULTS.md"
SAMPLE_SECONDS = 0.005
TIMEOUT_SECONDS = 1800
PAGE = os.sysconf("SC_PAGE_SIZE")


# The process that is measured


def memory_of(field: str) -> int:
    """VmRSS or VmHWM of this process, in bytes."""
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith(field))


def reset_peak() -> None:
    """Gives back what imports and loading have freed, and sets the peak (VmHWM) to what is resident then."""
    gc.collect()
    libc = ctypes.CDLL(None)
    if hasattr(libc, "malloc_trim"):
        libc.malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def cpu_seconds() -> float:
    """User and system time of this process and of the children that it waited for."""
    usages = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def serve(prepare: Callable[[], Callable[[], float]]) -> None:
    """The measured process: imports and loads, waits for the start, scores once; a line of JSON before and after.

    Args:
        prepare: Imports and loads; returns what is measured, which returns its score.
    """
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        score = prepare()
    except ModuleNotFoundError as error:
        print(json.dumps({"error": f"needs {error.name.split('.')[0]}"}), file=out, flush=True)
        return
    reset_peak()
    base = memory_of("VmRSS")
    print(json.dumps({"ready": base}), file=out, flush=True)
    sys.stdin.readline()
    cpu, wall = cpu_seconds(), time.perf_counter()
    value = score()
    wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
    result = {"score": float(value), "wall": wall, "cpu": cpu, "base": base, "peak": memory_of("VmHWM")}
    print(json.dumps(result), file=out, flush=True)


# The process that measures


def descendants(pid: int) -> list[int]:
    """The children of a process and theirs, without those that are copies of it and have not started a program yet."""
    found = []
    try:
        program = os.readlink(f"/proc/{pid}/exe")
        for thread in os.listdir(f"/proc/{pid}/task"):
            for child in Path(f"/proc/{pid}/task/{thread}/children").read_text().split():
                if os.readlink(f"/proc/{child}/exe") != program:
                    found.append(int(child))
                found.extend(descendants(int(child)))
    except OSError:
        pass  # A process ended meanwhile.
    return found


def resident(pids: list[int]) -> int:
    """Resident memory of processes, in bytes."""
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE
        except OSError:
            pass  # It ended meanwhile.
    return total


def receive(process: subprocess.Popen, on_tick: Callable[[], None]) -> dict | None:
    """Waits for a line of JSON, calling `on_tick` every few milliseconds; None when the process ends without one."""
    deadline = time.monotonic() + TIMEOUT_SECONDS
    while not select.select([process.stdout], [], [], SAMPLE_SECONDS)[0]:
        if time.monotonic() > deadline:
            return {"error": f"stopped after {TIMEOUT_SECONDS} s"}
        on_tick()
    line = process.stdout.readline()
    return json.loads(line) if line else None


def last_line(text: str) -> str:
    """The last line of a traceback, without folders and short enough for a table."""
    lines = [line.strip() for line in text.splitlines() if line.strip()] or ["ended without a result"]
    return re.sub(r"(/[\w.+-]+)+/", "", lines[-1]).replace("|", "/")[:120]


def measure(command: list[str], environment: dict[str, str] | None = None) -> dict:
    """Runs one contender once in a new process, whose program calls `serve`.

    Returns:
        score, wall and cpu (seconds) and memory (bytes above what was resident before), or error.
    """
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", **(environment or {})}
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        peaks = [0]

        def watch():
            peaks[0] = max(peaks[0], resident([process.pid, *descendants(process.pid)]))

        message = receive(process, lambda: None)
        if message and "ready" in message:
            process.stdin.write("go\n")
            process.stdin.flush()
            message = receive(process, watch)
        process.kill()
        errors.seek(0)
        message = message or {"error": last_line(errors.read())}
    if "error" not in message:
        message["memory"] = max(message["peak"], peaks[0]) - message["base"]
    return message


def take_turns(contenders: Iterable, rounds: int, measure_one: Callable[..., dict]) -> dict:
    """Measures every contender once per round: their medians, or an error.

    Each round starts with another one; one that failed is not asked again.
    """
    contenders = list(contenders)
    results = {contender: [] for contender in contenders}
    for number in range(rounds):
        first = number % len(contenders)
        for contender in contenders[first:] + contenders[:first]:
            if any("error" in result for result in results[contender]):
                continue
            result = measure_one(contender)
            results[contender].append(result)
            print("round", number + 1, contender, result, file=sys.stderr, flush=True)
    return {contender: median(found) for contender, found in results.items()}


def median(results: list[dict]) -> dict:
    """The median of every value over rounds; the error, if there was one."""
    for result in results:
        if "error" in result:
            return result
    return {key: statistics.median(result[key] for result in results) for key in ("score", "wall", "cpu", "memory")}


# Report


def machine() -> str:
    """Processor, memory and load in a sentence."""
    processors = re.findall(r"model name\s*:\s*(.+)", Path("/proc/cpuinfo").read_text())
    total = int(re.search(r"MemTotal:\s*(\d+)", Path("/proc/meminfo").read_text())[1]) / 2**20
    name = processors[0] if processors else platform.processor() or platform.machine()
    load = ", ".join(f"{value:.2f}" for value in os.getloadavg())
    return f"Machine: {name}, {os.cpu_count()} cores, {total:.0f} GiB RAM; load average at start {load}."


def versions(packages: list[str], python: str = sys.executable) -> str:
    """Packages with their versions in an environment."""
    program = (
        "import importlib.metadata as m; "
        "print({d.name.lower().replace('_', '-'): d.version for d in m.distributions()})"
    )
    output = subprocess.run([python, "-c", program], capture_output=True, text=True, check=True).stdout
    found = ast.literal_eval(output)
    return ", ".join(f"{package} {found.get(package, 'not installed')}" for package in packages)


def write_section(name: str, section: str, path: Path = RESULTS) -> None:
    """Puts a section between its markers, leaving the rest of the file as it is."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    text = path.read_text(encoding="utf-8") if path.exists() else "# Benchmarks\n"
    block = f"{start}\n{section.rstrip()}\n{end}"
    if start in text and end in text:
        head, tail = text.split(start, 1)[0], text.split(end, 1)[1]
        text = head + block + tail
    else:
        text = f"{text.rstrip()}\n\n{block}\n"
    path.write_text(text, encoding="utf-8")
