"""Index of a large folder: time, peak memory, size on disk, and time of a question.

    python -m benchmarks.studies.index_folder 100 300 1000        # megabytes of text

For each size a folder of text files of very different sizes is made, whose words have
falling frequencies (Zipf), with new words in every file. `pansophy index` and
`pansophy ask` run as processes of their own, so that peak memory and times are theirs.
Questions are timed in an open index too. Folders are made below BENCH_FOLDER, or that
of temporary files, and removed. The figures of the last run are in
`benchmarks/studies/index_folder.md`.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

COMMON = 200_000  # words that all files share
FILE_BYTES = (4 << 10, 4 << 20)  # smallest and largest file; sizes are log-uniform


class ProcessCost(NamedTuple):
    """What a process took."""

    seconds: float
    cpu_seconds: float
    peak_mib: float


def make_folder(folder, megabytes, seed=0) -> int:
    """Text files of about so many megabytes together; how many files."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
    lengths = rng.integers(2, 11, COMMON)
    words = np.array(["".join(letters[rng.integers(0, 26, n)]) for n in lengths])
    p = 1 / np.arange(2, COMMON + 2)
    bounds = np.cumsum(p / p.sum())
    total = 0
    number = 0
    while total < megabytes << 20:
        size = int(np.exp(rng.uniform(*np.log(FILE_BYTES))))
        size = min(size, (megabytes << 20) - total)
        drawn = words[np.searchsorted(bounds, rng.random(size // 5 + 1))]
        own = rng.integers(0, len(drawn), len(drawn) // 2000)
        drawn[own] = [f"own{number}x{i}" for i in range(len(own))]
        lines = [" ".join(drawn[i : i + 12]) for i in range(0, len(drawn), 12)]
        parts = [". ".join(lines[i : i + 8]) for i in range(0, len(lines), 8)]
        text = ".\n\n".join(parts)[:size]
        place = folder / f"{number // 100:03d}"
        place.mkdir(exist_ok=True)
        (place / f"{number:05d}.txt").write_text(text)
        total += len(text)
        number += 1
    return number


def run_pansophy(*words) -> tuple[str, ProcessCost]:
    """The output of the command line, and what the process took."""
    begun = time.perf_counter()
    with tempfile.TemporaryFile() as out:
        child = subprocess.Popen(
            [sys.executable, "-m", "pansophy", *map(str, words)], stdout=out
        )
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise RuntimeError(f"pansophy {words[0]} ended with {child.returncode}.")
        seconds = time.perf_counter() - begun
        out.seek(0)
        text = out.read().decode()
    cpu = usage.ru_utime + usage.ru_stime
    return text, ProcessCost(seconds, cpu, usage.ru_maxrss / 1024)


def run_python(code, *words):
    """The JSON that a piece of Python prints in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(done.stdout)


QUERIES = """
import json, resource, sys, time
begun = time.perf_counter()
from pansophy.text import FolderIndex
loaded = time.perf_counter() - begun
queries = json.loads(sys.argv[2])
with FolderIndex(sys.argv[1]) as index:
    for by in ("words", "hybrid"):
        for query in queries:  # pages of the index come into memory
            index.search(query, 5, by=by)
    times = {}
    for by in ("words", "hybrid"):
        times[by] = []
        for query in queries:
            begun = time.perf_counter(), time.process_time()
            index.search(query, 5, by=by)
            wall = time.perf_counter() - begun[0]
            times[by].append((wall, time.process_time() - begun[1]))
print(json.dumps([loaded, times]))
"""


def query_milliseconds(times) -> dict:
    """Medians and maxima of (wall, processor) seconds of questions."""
    found = {}
    for by, pairs in times.items():
        wall, cpu = 1000 * np.array(pairs).T
        found[f"{by}_ms"] = float(np.median(wall))
        found[f"{by}_cpu_ms"] = float(np.median(cpu))
        found[f"{by}_cpu_ms_largest"] = float(cpu.max())
    return found


def measure(megabytes) -> dict:
    """Index and ask in a folder of so many megabytes."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as place:
        folder = Path(place, "documents")
        folder.mkdir()
        files = make_folder(folder, megabytes)
        index = Path(place, "index")
        report, indexed = run_pansophy("index", folder, "--out", index, "--json")
        _, again = run_pansophy("index", folder, "--out", index, "--json")
        size = sum(p.stat().st_size for p in index.rglob("*") if p.is_file())
        text = (folder / "000" / "00000.txt").read_text().split()
        rng = np.random.default_rng(1)
        queries = [" ".join(rng.choice(text, 4)) for _ in range(20)]
        loaded, times = run_python(QUERIES, index, json.dumps(queries))
        asked = [run_pansophy("ask", q, "--index", index)[1] for q in queries[:5]]
        return {
            "megabytes": megabytes,
            "files": files,
            "chunks": json.loads(report)["chunks"],
            "index_seconds": indexed.seconds,
            "index_cpu_seconds": indexed.cpu_seconds,
            "index_peak_mib": indexed.peak_mib,
            "unchanged_cpu_seconds": again.cpu_seconds,
            "unchanged_peak_mib": again.peak_mib,
            "index_mib": size / 2**20,
            **query_milliseconds(times),
            "import_ms": 1000 * loaded,
            "ask_ms": 1000 * float(np.median([a.seconds for a in asked])),
            "ask_cpu_ms": 1000 * float(np.median([a.cpu_seconds for a in asked])),
            "ask_peak_mib": max(a.peak_mib for a in asked),
        }


if __name__ == "__main__":
    for word in sys.argv[1:] or ["20"]:
        found = measure(int(word))
        print(json.dumps({k: round(v, 1) for k, v in found.items()}), flush=True)
