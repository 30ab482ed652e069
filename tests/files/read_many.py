"""Reads many files, each with limits, and tells what came of it: a script of its own, run by the tests of files.

python read_many.py LIST: lines of KIND and path; prints a line of JSON for each. A file that ends or hangs the process
is told by what is not printed; the tests then go on behind it.
"""

import collections
import json
import resource
import signal
import sys
import time

from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.files.arrays import open_array
from metrics.files.statistics import read_statistics
from metrics.scale.kept_files import read_kept

READERS = {
    "array": open_array,
    "npz": DocumentFrequencies.load,
    "pickle": lambda path: DocumentFrequencies.from_pickle(path, 3, "whitespace"),
    "statistics": read_statistics,
    "kept": lambda path: read_kept(path, "00" * 32),
}
# What a file may add to the process's memory, and the seconds after which it is ended.
MOST_BYTES, MOST_SECONDS = 1 << 29, 5


def limit() -> None:
    with open("/proc/self/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MOST_BYTES,) * 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def peak_bytes() -> int:
    # Not getrusage's, which begins with that of the process that started this one.
    with open("/proc/self/status", encoding="ascii") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith("VmHWM"))


def outcome(kind: str, path: str) -> dict:
    # Its action is the system's: it also ends what never returns to the interpreter.
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # The peak is what is there now.
    peak, start = peak_bytes(), time.process_time()
    try:
        READERS[kind](path)
        error = None
    except BaseException as raised:
        error = raised
    seconds = time.process_time() - start
    signal.setitimer(signal.ITIMER_PROF, 0)
    return {
        "type": type(error).__name__,
        "is_refusal": isinstance(error, ValueError | TypeError),
        "text": str(error),
        "seconds": seconds,
        "grown": peak_bytes() - peak,
    }


def main() -> None:
    import pyarrow.parquet  # noqa: F401  So that its import is not taken for a file's memory.

    for source in sys.argv[2:]:
        READERS["statistics"](source)
    limit()
    before = dict(vars(collections.Counter))
    with open(sys.argv[1], encoding="utf-8") as file:
        for line in file.read().splitlines():
            found = outcome(*line.split(" ", 1))
            found["altered"] = dict(vars(collections.Counter)) != before
            print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
