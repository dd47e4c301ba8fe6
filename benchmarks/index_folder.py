"""Index of a large folder: time, peak memory, size on disk, and time of a question.

    python -m benchmarks.index_folder 50 100 200        # megabytes of text

For each size a folder of text files is made whose words have falling frequencies
(Zipf), with new words in every file. `pansophy index` and `pansophy ask` run in
processes of their own, so that peak memory is theirs. Questions are timed in an open
index, and as whole processes. The figures of the last run are in
`benchmarks/index_folder.md`.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

COMMON = 200_000  # words that all files share
FILE_BYTES = 2 << 20

INDEX = """
import json, resource, sys, time
from pansophy.text import FolderIndex
begun = time.perf_counter(), time.process_time()
k = int(sys.argv[3])
with FolderIndex.create(sys.argv[2], sys.argv[1], n_components=k) as index:
    report = index.update()
seconds = time.perf_counter() - begun[0], time.process_time() - begun[1]
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([*seconds, peak, report.chunks]))
"""


def make_folder(folder, megabytes, seed=0) -> None:
    """Text files of about so many megabytes together."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("etaoinshrdlucmfwypvbgkqjxz"))
    lengths = rng.integers(2, 11, COMMON)
    words = np.array(["".join(letters[rng.integers(0, 26, n)]) for n in lengths])
    p = 1 / np.arange(2, COMMON + 2)
    bounds = np.cumsum(p / p.sum())
    total = 0
    number = 0
    while total < megabytes << 20:
        size = min(FILE_BYTES, (megabytes << 20) - total)
        drawn = words[np.searchsorted(bounds, rng.random(size // 5))]
        own = rng.integers(0, len(drawn), len(drawn) // 2000)
        drawn[own] = [f"own{number}x{i}" for i in range(len(own))]
        lines = [" ".join(drawn[i : i + 12]) for i in range(0, len(drawn), 12)]
        parts = [". ".join(lines[i : i + 8]) for i in range(0, len(lines), 8)]
        text = ".\n\n".join(parts)[:size]
        (folder / f"{number:05d}.txt").write_text(text)
        total += len(text)
        number += 1


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
            begun = time.perf_counter()
            index.search(query, 5, by=by)
            times[by].append(time.perf_counter() - begun)
print(json.dumps([loaded, times]))
"""


def measure(megabytes, n_components=64) -> dict:
    """Index and ask in a folder of so many megabytes."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("BENCH_FOLDER")) as place:
        folder = Path(place, "documents")
        folder.mkdir()
        make_folder(folder, megabytes)
        index = Path(place, "index")
        wall, cpu, peak, chunks = run_python(INDEX, folder, index, n_components)
        size = sum(p.stat().st_size for p in index.rglob("*") if p.is_file())
        text = (folder / "00000.txt").read_text().split()
        rng = np.random.default_rng(1)
        queries = [" ".join(rng.choice(text, 4)) for _ in range(20)]
        loaded, times = run_python(QUERIES, index, json.dumps(queries))
        begun = time.perf_counter()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(
            [sys.executable, "-m", "pansophy", "ask", queries[0], "--index", index],
            capture_output=True, check=True,
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        whole = time.perf_counter() - begun
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return {
            "megabytes": megabytes,
            "chunks": chunks,
            "index_seconds": wall,
            "index_cpu_seconds": cpu,
            "index_peak_mib": peak,
            "index_mib": size / 2**20,
            "query_ms_words": 1000 * float(np.median(times["words"])),
            "query_ms_hybrid": 1000 * float(np.median(times["hybrid"])),
            "query_ms_hybrid_largest": 1000 * max(times["hybrid"]),
            "import_ms": 1000 * loaded,
            "ask_process_ms": 1000 * whole,
            "ask_process_cpu_ms": 1000 * used,
        }


if __name__ == "__main__":
    for word in sys.argv[1:] or ["20"]:
        found = measure(int(word))
        print(json.dumps({k: round(v, 1) for k, v in found.items()}), flush=True)
