"""Time ours and the peers side by side, and say so only at equal quality.

Absolute times mean nothing on a shared machine, ratios do. For each case and size:

1. every contender runs in a worker process of its own, with the same thread limit, so
   that peak memory and first-call time (imports and compilation included) are its own.
   At the smallest size the caches of compiled loops (ours and Numba's) are empty:
   what `data` has not compiled, the first call compiles. At other sizes the user's
   caches are as they are;
2. after the first call, the contenders are timed in turns. The order of each turn is
   shuffled by a seed that the row records, so that what one contender leaves behind
   (threads that still spin) falls on all alike. A call shorter than 50 ms is repeated
   within the turn;
3. the ratio is the median over rounds of peer time / our time, with its quartiles,
   for wall time and for processor time. Other programs change the latter less, but
   it counts the spinning of threads that wait for one another, so that on a busy
   machine libraries are limited to one thread;
4. where chance rules, contenders take a `seed`: every round has its own, and the
   quality is the median over the rounds;
5. the row counts only if our quality is no worse than the best peer's by more than
   the case's tolerance; otherwise it is marked.

All peers take part at the smallest and at the largest size; between them ours is
measured alone, for the growth. Every row is stamped (`stamp.py`) and carries the hash
of its definition (`definition.py`).
"""

import contextlib
import importlib
import inspect
import math
import multiprocessing as mp
import os
import random
import resource
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .definition import hash_case
from .stamp import HOME, begin_stamp, finish_stamp, loaded_versions

# On a quiet machine; the rows say with how many they were measured.
THREADS = int(os.environ.get("BENCH_THREADS", "2"))
TURN_SECONDS = 0.05  # calls shorter than this are repeated within a turn
ROW_SECONDS = 20.0  # quick rows get more rounds, up to this much time
MOST_ROUNDS = 15
LIMIT = 1800.0  # seconds that one call of a contender may take


@dataclass(frozen=True)
class Case:
    """One thing to time.

    `data(size)` makes the payload, the same in every process; `ours` and each of
    `peers` take it and return a result; `quality(payload, result)` scores that result,
    lower is better; `tolerance` is how much worse than the best peer ours may be. A
    contender with a parameter `seed` is given another one in each round. `written`
    names the peers that are written in this repository, for want of a package.
    """

    name: str
    what: str
    sizes: list
    data: Callable[[Any], Any]
    ours: Callable[..., Any]
    peers: dict[str, Callable[..., Any]]
    quality: Callable[[Any, Any], float]
    tolerance: float = 0.0
    target: float = 1.0
    rounds: int = 5  # at least, unless calls take many seconds
    main: str = ""  # the peer the target speaks of; the first one if empty
    notes: str = ""
    targets: dict = field(default_factory=dict)  # further peer -> target
    written: tuple = ()

    def __post_init__(self):
        unknown = {*self.written, *self.targets} - set(self.peers)
        if unknown:
            raise ValueError(f"{self.name} has no peer {', '.join(sorted(unknown))}")


class TooSlowError(Exception):
    """A contender did not answer within the limit of this run."""


def contender(case, name):
    return case.ours if name == "ours" else case.peers[name]


def takes_seed(function):
    return "seed" in inspect.signature(function).parameters


def is_seeded(case):
    """Whether chance rules: some contender takes a seed."""
    return any(takes_seed(f) for f in (case.ours, *case.peers.values()))


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
    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def resident():
    """The memory that this process holds now, in MiB; None where nobody tells."""
    try:
        with open("/proc/self/status") as file:
            return int(file.read().split("VmRSS:")[1].split()[0]) / 1024
    except OSError:
        return None


def peak_was_forgotten(before):
    """Whether growth can be measured: the peak began at what the process holds."""
    now = resident()
    return now is not None and before - now < 4


def processor_seconds():
    """Processor time of all threads of this process and of its finished children."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def empty_caches(folder):
    """Before Numba is loaded: no loop of ours or of a peer is compiled yet."""
    os.environ["PANSOPHY_CACHE_DIR"] = folder
    os.environ["NUMBA_CACHE_DIR"] = folder


def loops_are_shipped():
    """Whether the package brings compiled loops, so that no first call is cold."""
    return any((HOME / "src" / "pansophy" / "_compiled_loops").glob("*/*"))


def serve(pipe, module, case_name, name, size, cache):
    """A worker: makes the data, then times a turn per message (seed, repeats)."""
    import warnings

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the runner ends its workers
    warnings.simplefilter("ignore")
    if cache is not None:
        empty_caches(cache)
    try:
        case = find(module, case_name)
        payload = case.data(size)
        function, seeded = contender(case, name), is_seeded(case)
        call = function
        if takes_seed(function):
            call = lambda payload, seed=0: function(payload, seed=seed)
        before = forget_peak()
        measurable = peak_was_forgotten(before)
        processor, begun = processor_seconds(), time.perf_counter()
        result = call(payload)
        first = time.perf_counter() - begun
        processor = processor_seconds() - processor
        grown = peak() - before if measurable else None
        quality = float(case.quality(payload, result))
        versions = loaded_versions()
        pipe.send(
            {
                "first": first,
                "first_processor": processor,
                "memory": grown,
                "quality": quality,
                "versions": versions,
            }
        )
        while (message := pipe.recv()) != "stop":
            seed, repeats = message
            how = {"seed": seed} if takes_seed(function) else {}
            result = None  # memory of the last one is given back before the clock runs
            processor, begun = processor_seconds(), time.perf_counter()
            for _ in range(repeats):
                result = call(payload, **how)
            seconds = time.perf_counter() - begun
            processor = processor_seconds() - processor
            scored = float(case.quality(payload, result)) if seeded else None
            pipe.send((seconds / repeats, processor / repeats, scored))
    except Exception as error:  # reported, so that one absent peer stops nothing
        pipe.send({"error": f"{type(error).__name__}: {error}"})


def find(module, case_name):
    cases = importlib.import_module(module).CASES
    return next(c for c in cases if c.name == case_name)


def orders(names, seed, n):
    """The order of the contenders in each of n turns, from a seed."""
    rng = random.Random(seed)
    return [rng.sample(list(names), len(names)) for _ in range(n)]


def count_rounds(case, turn):
    """Rounds of a row: more where a turn is short, three where it takes long."""
    if turn >= 16:
        return 3
    return min(MOST_ROUNDS, max(case.rounds, 3, int(ROW_SECONDS / max(turn, 1e-3))))


class Workers:
    """The processes of a row, one for each contender."""

    def __init__(self, module, case, size, cache, names, limit):
        self.names, self.limit, self.running, self.facts = names, limit, {}, {}
        self.task = (module, case.name, size, cache)

    def __enter__(self):
        try:
            for name in self.names:
                self.start(name)
        except BaseException:  # also Ctrl-C: no process is left behind
            self.__exit__()
            raise
        return self

    def __exit__(self, *error):
        for name in list(self.running):
            self.end(name)

    def start(self, name):
        """The process of a contender, and the facts of its first call."""
        module, case_name, size, cache = self.task
        context = mp.get_context("spawn")
        here, there = context.Pipe()
        args = (there, module, case_name, name, size, cache)
        process = context.Process(target=serve, args=args, daemon=True)
        process.start()
        there.close()
        self.running[name] = (process, here)
        self.facts[name] = self.answer(name)
        if "error" in self.facts[name]:
            self.end(name)

    def answer(self, name):
        process, here = self.running[name]
        if not here.poll(self.limit):
            raise TooSlowError(f"{name} gave no answer within {self.limit:g} s")
        try:
            return here.recv()
        except (EOFError, OSError):
            process.join(5)
            return {"error": f"the process ended with code {process.exitcode}"}

    def turn(self, name, seed, repeats):
        """One timed turn; None if the contender failed in it, and then it is out."""
        with contextlib.suppress(OSError):  # a process that ended has no answer
            self.running[name][1].send((seed, repeats))
        answer = self.answer(name)
        if isinstance(answer, dict):
            self.facts[name] = answer
            self.end(name)
            return None
        return answer

    def end(self, name):
        process, here = self.running.pop(name)
        with contextlib.suppress(OSError):
            here.send("stop")
            process.join(2)
        if process.is_alive():
            process.kill()
            process.join()


def measure(module, case, size, cache, peers, shuffle_seed, limit=LIMIT):
    """Facts of the first calls, and times of the rounds, of ours and some peers."""
    with Workers(module, case, size, cache, ("ours", *peers), limit) as workers:
        facts = workers.facts
        names = list(workers.running)
        if "ours" not in names:
            return facts, {}
        firsts = [facts[name]["first_processor"] for name in names]
        repeats = dict.fromkeys(names, 1)
        turn = sum(facts[name]["first"] for name in names)
        if cache is not None or max(firsts) < 8:  # long calls have warmed up
            warm = {name: workers.turn(name, 0, 1) for name in names}
            warm = {name: t for name, t in warm.items() if t is not None}
            turn = sum(max(wall, TURN_SECONDS) for wall, *_ in warm.values())
            for name, (_, seconds, _) in warm.items():
                wanted = math.ceil(TURN_SECONDS / max(seconds, 1e-9))
                repeats[name] = max(1, min(1000, wanted))
        n = count_rounds(case, turn) if peers else 3
        times = {name: [] for name in names}
        for seed, order in enumerate(orders(names, shuffle_seed, n)):
            for name in order:
                if name in workers.running:
                    times[name].append(workers.turn(name, seed, repeats[name]))
        left = {name: times[name] for name in workers.running}
    return facts, left


def quality_of(name, facts, times):
    """That of the first call, or the median over the seeds of the rounds."""
    scored = [t[2] for t in times.get(name, ()) if t[2] is not None]
    return statistics.median(scored) if scored else facts[name]["quality"]


def ratio_with_quartiles(theirs, ours, column):
    """A peer's times over ours, round by round: lower quartile, median, upper one."""
    pairs = zip(theirs, ours, strict=True)
    ratios = sorted(t[column] / max(o[column], 1e-9) for t, o in pairs)
    quarter = len(ratios) // 4
    return [ratios[quarter], statistics.median(ratios), ratios[-1 - quarter]]


def row(case, size, facts, times):
    """One size as a record: ratio of each peer to ours, with quartiles."""
    out = {"case": case.name, "size": plain(size), "peers": {}}
    ours = facts["ours"]
    if "error" in ours:
        return {**out, "error": ours["error"]}
    asked = [p for p in case.peers if p in facts]
    quality = {
        name: quality_of(name, facts, times)
        for name in ("ours", *asked)
        if "error" not in facts[name]
    }
    good = [quality[p] for p in asked if not math.isnan(quality.get(p, math.nan))]
    best = min(good, default=quality["ours"])
    out["equal_quality"] = bool(quality["ours"] <= best + case.tolerance)
    out["seeded"] = is_seeded(case)
    out["rounds"] = len(times["ours"])
    out["ours"] = {
        "median_s": statistics.median(t[0] for t in times["ours"]),
        "processor_s": statistics.median(t[1] for t in times["ours"]),
        "first_s": ours["first"],
        "first_processor_s": ours["first_processor"],
        "memory_mib": ours["memory"],
        "quality": quality["ours"],
    }
    for peer in asked:
        if "error" in facts[peer]:
            out["peers"][peer] = {"error": facts[peer]["error"]}
            continue
        out["peers"][peer] = {
            "wall": ratio_with_quartiles(times[peer], times["ours"], 0),
            "processor": ratio_with_quartiles(times[peer], times["ours"], 1),
            "first_s": facts[peer]["first"],
            "first_processor_s": facts[peer]["first_processor"],
            "memory_mib": facts[peer]["memory"],
            "quality": quality[peer],
        }
    return out


def plain(size):
    """A size as JSON gives it back."""
    return list(size) if isinstance(size, tuple) else size


def run(module, case, size, limit=LIMIT, threads=THREADS):
    """A stamped record of a case at one size."""
    asked = tuple(case.peers) if size in (case.sizes[0], case.sizes[-1]) else ()
    cold = size == case.sizes[0]
    stamp, begun = begin_stamp(threads), time.perf_counter()
    shuffle_seed = random.SystemRandom().randrange(2**32)
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        cache = folder if cold else None
        facts, times = measure(module, case, size, cache, asked, shuffle_seed, limit)
    versions = {}
    for found in facts.values():
        versions |= found.get("versions", {})
    stamp = finish_stamp(stamp, versions, time.perf_counter() - begun)
    record = row(case, size, facts, times)
    cold = cold and not loops_are_shipped()
    how = {"cold": cold, "shuffle_seed": shuffle_seed, "hash": hash_case(case)}
    return {**record, **how, "stamp": stamp}


def brief(record):
    if "error" in record:
        return record["error"]
    parts = [
        f"{peer} {p['wall'][1]:.2f}x" if "wall" in p else f"{peer} ({p['error'][:60]})"
        for peer, p in record["peers"].items()
    ]
    worse = "" if record["equal_quality"] else "  WORSE QUALITY"
    return ", ".join(parts) + worse
