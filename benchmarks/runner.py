"""Time ours and the peers side by side, and say so only at equal quality.

Absolute times mean nothing on a shared machine, ratios do. For each case and size:

1. every contender runs in a worker process of its own, with the same thread limit, so
   that peak memory and first-call time (imports and compilation included) are its own;
2. after the first call, the contenders are timed in turns: A, B, C, A, B, C, ...; a
   slow moment of the machine hits all of them alike;
3. the ratio is the median over rounds of peer time / our time, with its quartiles;
4. the row counts only if our quality is no worse than the best peer's by more than
   the case's tolerance; otherwise it is marked.
"""

import importlib
import json
import multiprocessing as mp
import os
import platform
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

THREADS = int(os.environ.get("BENCH_THREADS", "2"))


@dataclass(frozen=True)
class Case:
    """One thing to time.

    `data(size)` makes the payload, the same in every process; `ours` and each of
    `peers` take it and return a result; `quality(payload, result)` scores that result,
    lower is better; `tolerance` is how much worse than the best peer ours may be.
    """

    name: str
    what: str
    sizes: list
    data: Callable[[Any], Any]
    ours: Callable[[Any], Any]
    peers: dict[str, Callable[[Any], Any]]
    quality: Callable[[Any, Any], float]
    tolerance: float = 0.0
    target: float = 1.0
    rounds: int = 5
    main: str = ""  # the peer the target speaks of; the first one if empty
    notes: str = ""
    targets: dict = field(default_factory=dict)  # further peer -> target


def contender(case, name):
    return case.ours if name == "ours" else case.peers[name]


def forget_peak():
    """Begin the peak of this process anew (Linux can); what it holds now, in MiB."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:  # then what the data took hides what the fit takes
        pass
    return peak()


def peak():
    """The most memory that this process has held, in MiB."""
    import resource

    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve(pipe, module, case_name, name, size, cache):
    """A worker: makes the data, then times one call per message."""
    import warnings

    warnings.simplefilter("ignore")
    if name == "ours":  # numba is not loaded yet: the cache is empty at first
        os.environ["NUMBA_CACHE_DIR"] = cache
    try:
        case = find(module, case_name)
        payload = case.data(size)
        before = forget_peak()
        begun = time.perf_counter()
        result = contender(case, name)(payload)
        first = time.perf_counter() - begun
        grown = peak() - before
        quality = float(case.quality(payload, result))
        pipe.send({"first": first, "memory": grown, "quality": quality})
        while pipe.recv() == "go":
            begun = time.perf_counter()
            contender(case, name)(payload)
            pipe.send(time.perf_counter() - begun)
    except Exception as error:  # reported, so that one absent peer stops nothing
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def find(module, case_name):
    cases = importlib.import_module(module).CASES
    return next(c for c in cases if c.name == case_name)


def measure(module, case, size, cache, peers):
    """Times, memory and quality of ours and some peers at one size."""
    context = mp.get_context("spawn")
    workers, facts = {}, {}
    for name in ("ours", *peers):
        here, there = context.Pipe()
        args = (there, module, case.name, name, size, cache)
        process = context.Process(target=serve, args=args, daemon=True)
        process.start()
        facts[name] = here.recv()
        if "error" not in facts[name]:
            workers[name] = (process, here)
    times = {name: [] for name in workers}
    longest = max((facts[n]["first"] for n in workers), default=0)
    rounds = case.rounds if longest < 8 else 3 if longest < 20 else 2
    warm = 1 if longest < 4 else 0  # a long first call has warmed up
    for turn in range(rounds + warm):
        for name, (_, here) in workers.items():
            here.send("go")
            seconds = here.recv()
            if turn >= warm:
                times[name].append(seconds)
    for process, here in workers.values():
        here.send("stop")
        process.join()
    return facts, times


def row(case, size, facts, times):
    """One size as a record: ratio of each peer to ours, with quartiles."""
    out = {"size": list(size) if isinstance(size, tuple) else size, "peers": {}}
    ours = facts["ours"]
    if "error" in ours:
        return {**out, "error": ours["error"]}
    asked = [p for p in case.peers if p in facts]
    good = [facts[p]["quality"] for p in asked if "error" not in facts[p]]
    best = min(good, default=ours["quality"])
    out["equal_quality"] = ours["quality"] <= best + case.tolerance
    out["ours"] = {
        "median_s": statistics.median(times["ours"]),
        "first_s": ours["first"],
        "memory_mib": ours["memory"],
        "quality": ours["quality"],
    }
    for peer in asked:
        if "error" in facts[peer]:
            out["peers"][peer] = {"error": facts[peer]["error"]}
            continue
        pairs = zip(times[peer], times["ours"], strict=True)
        ratios = sorted(theirs / mine for theirs, mine in pairs)
        out["peers"][peer] = {
            "ratio": statistics.median(ratios),
            "low": ratios[len(ratios) // 4],
            "high": ratios[-1 - len(ratios) // 4],
            "first_s": facts[peer]["first"],
            "memory_mib": facts[peer]["memory"],
            "quality": facts[peer]["quality"],
        }
    return out


def run(module, case, quick=False):
    """All sizes of a case; `quick` asks the peers at the largest only."""
    sizes = []
    cache = tempfile.mkdtemp(prefix="bench-")  # ours compile at the smallest size
    for size in case.sizes:
        print(f"{case.name:24s} {size!s:28s}", end=" ", flush=True)
        asked = () if quick and size != case.sizes[-1] else tuple(case.peers)
        record = row(case, size, *measure(module, case, size, cache, asked))
        sizes.append(record)
        print(brief(record), flush=True)
    shutil.rmtree(cache, ignore_errors=True)
    return {
        "case": case.name,
        "what": case.what,
        "target": case.target,
        "main": case.main or next(iter(case.peers), ""),
        "targets": case.targets,
        "notes": case.notes,
        "sizes": sizes,
    }


def brief(record):
    if "error" in record:
        return record["error"]
    parts = [
        f"{peer} {p['ratio']:.2f}x" if "ratio" in p else f"{peer} ({p['error'][:60]})"
        for peer, p in record["peers"].items()
    ]
    worse = "" if record["equal_quality"] else "  WORSE QUALITY"
    return ", ".join(parts) + worse


def machine():
    import numpy
    import sklearn

    return {
        "cpu_count": os.cpu_count(),
        "threads": THREADS,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def write(results, folder):
    """`results.json` and `results.md`."""
    text = json.dumps({"machine": machine(), "results": results}, indent=1)
    (folder / "results.json").write_text(text + "\n", "utf-8")
    (folder / "results.md").write_text(table(results), "utf-8")
    quote(results, folder.parent / "README.md")


HEAD = """# Benchmarks

Ratios are peer time / our time (above 1: ours is faster): median over interleaved
rounds at the largest size, quartiles in brackets, equal threads, equal or better
quality. *First* is the first call in a process at the smallest size, ours / peer in
seconds: ours compiles its loops there, once per machine. *Memory* is the growth of
peak memory during the first call at the largest size, ours / peer in MiB.
*Growth* is our time at the three sizes, relative to the smallest. Made by `make bench`;
[gpu.md](gpu.md) has CUDA against CPU.

| case | what | peer | ratio | target | first | memory | growth |
|---|---|---|---|---|---|---|---|
"""


def table(results):
    """The results as Markdown."""
    lines = []
    for case in results:
        full = case["sizes"][-1]
        if "error" in full:
            lines.append(
                f"| {case['case']} | {case['what']} | {full['error']} | | | | | |"
            )
            continue
        ours, small = full["ours"], case["sizes"][0]
        steps = [s["ours"]["median_s"] for s in case["sizes"] if "ours" in s]
        growth = " → ".join(f"{t / steps[0]:.1f}" for t in steps)
        flag = "" if full["equal_quality"] else " (worse quality)"
        for peer, p in full["peers"].items():
            if "error" in p:
                lines.append(
                    f"| {case['case']} | {case['what']} | {peer}: absent | | | | | |"
                )
                continue
            wanted = {case["main"]: case["target"], **case["targets"]}.get(peer)
            goal = "" if wanted is None else f"{wanted:g}"
            lines.append(
                f"| {case['case']} | {case['what']} | {peer} | "
                f"**{p['ratio']:.2f}**{flag} [{p['low']:.2f}, {p['high']:.2f}] | "
                f"{goal} | "
                f"{firsts(small, full, peer)} | "
                f"{ours['memory_mib']:.0f} / {p['memory_mib']:.0f} | {growth} |"
            )
    return HEAD + "\n".join(lines) + "\n"


def firsts(small, full, peer):
    """Seconds of the first calls, ours / peer; a peer's at the largest if need be."""
    if "error" in small:
        return ""
    theirs = small["peers"].get(peer) or full["peers"][peer]
    return f"{small['ours']['first_s']:.1f} / {theirs.get('first_s', 0.0):.1f}"


START, END = (
    "<!-- benchmarks: written by `make bench` -->",
    "<!-- end of benchmarks -->",
)


def quote(results, readme):
    """Put a short table of the ratios between the marks in the README."""
    lines = ["| case | what | ratio |", "|---|---|---|"]
    for case in results:
        full = case["sizes"][-1]
        if "error" in full or not full["equal_quality"]:
            continue
        ratios = ", ".join(
            f"{p['ratio']:.1f} ({peer})"
            for peer, p in full["peers"].items()
            if "ratio" in p
        )
        lines.append(f"| {case['case']} | {case['what']} | {ratios} |")
    text = readme.read_text("utf-8")
    before, rest = text.split(START)
    after = rest.split(END)[1]
    middle = "\n".join(["", *lines, ""])
    readme.write_text(before + START + middle + END + after, "utf-8")
