"""`python -m benchmarks [CASE ...]`: time ours against the peers.

Without a name: rows that are missing or stale, and then those that were measured on a
busy machine while it is quiet now. With names (of cases, or patterns that occur in
them): these again, all sizes or those of --size. Every row is written when it is
measured, so that Ctrl-C loses one row at most and the same command goes on; rows not
run now keep their own stamps.
"""

import argparse
import ast
import importlib
import os
import pkgutil
import re
import statistics
import sys
import time
from pathlib import Path

from . import runner
from .records import Records
from .runner import plain
from .stamp import BUSY
from .tables import write_tables

HERE = Path(__file__).parent
ENDS = {"smallest": 0, "largest": -1}


def limit_threads(threads):
    """The same thread limit for every library, set before any of them loads."""
    os.environ["BENCH_THREADS"] = str(threads)  # for cases that hand it on
    for name in ("OMP", "OPENBLAS", "MKL", "NUMBA"):
        os.environ[f"{name}_NUM_THREADS"] = str(threads)


def find_cases():
    """All cases, and the file of each."""
    cases, files = [], {}
    for info in sorted(pkgutil.iter_modules([str(HERE)]), key=lambda i: i.name):
        if not info.name.startswith("bench_"):
            continue
        for case in importlib.import_module(f"{__package__}.{info.name}").CASES:
            cases.append(case)
            files[case.name] = info.name
    return cases, files


def matching(cases, words):
    """The cases of these names, or whose names hold the patterns, in their order."""
    names = {case.name for case in cases}
    unknown = [w for w in words if not any(re.search(w, n) for n in names)]
    if unknown:
        raise SystemExit(f"no case matches {', '.join(unknown)}")
    is_wanted = lambda name, word: (
        name == word if word in names else re.search(word, name) is not None
    )
    found = {c.name: c for word in words for c in cases if is_wanted(c.name, word)}
    return list(found.values())


def sizes_of(case, words):
    """The sizes of a case that are asked for: all, an end, or one as it is printed."""
    if not words:
        return list(case.sizes)
    wanted = []
    for word in words:
        if word in ENDS:
            wanted.append(case.sizes[ENDS[word]])
            continue
        size = plain(ast.literal_eval(word))
        wanted += [s for s in case.sizes if plain(s) == size]
    if not wanted:
        sizes = ", ".join(map(str, case.sizes))
        raise SystemExit(f"{case.name} has the sizes {sizes}")
    return [size for size in case.sizes if size in wanted]


def choose(options, records, cases):
    """(case, size, reason) of the rows to run, in order."""
    if options.case:
        chosen = matching(cases, options.case)
        rows = [(c, s, "asked for") for c in chosen for s in sizes_of(c, options.size)]
    else:
        rows = records.wanting(cases)
        if options.size:
            rows = [row for row in rows if row[1] in sizes_of(row[0], options.size)]
    return rows


def seconds_left(rows, records):
    """An estimate from what rows took before: their own time, or the median."""
    known = [r["stamp"]["seconds"] for r in records.rows.values() if "stamp" in r]
    typical = statistics.median(known) if known else 30.0
    total = 0.0
    for case, size, _ in rows:
        row = records.get(case, size)
        total += row["stamp"]["seconds"] if row else typical
    return total


def in_words(seconds):
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"


def run_all(rows, records, save, options, files):
    """Measures the rows one after the other and writes each."""
    begun = time.monotonic()
    for done, (case, size, reason) in enumerate(rows):
        if options.minutes and time.monotonic() - begun > 60 * options.minutes:
            print("time is up")
            return
        if reason == "busy" and os.getloadavg()[0] > BUSY:
            print("the machine is busy: rows measured on a busy machine wait")
            return
        left = in_words(seconds_left(rows[done:], records))
        head = f"[{done + 1} of {len(rows)}, about {left} left]"
        print(f"{head} {case.name} {size!s} ({reason}):", end=" ", flush=True)
        module = f"{__package__}.{files[case.name]}"
        threads = 1 if os.getloadavg()[0] > BUSY else runner.THREADS
        limit_threads(threads)
        try:
            row = runner.run(module, case, size, options.limit, threads)
        except runner.TooSlowError as error:
            print(f"not recorded: {error}", flush=True)
            continue
        records.put(row)
        save()
        print(runner.brief(row), flush=True)


def parse(words):
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("case", nargs="*", help="names or patterns of cases")
    parser.add_argument(
        "--size",
        action="append",
        default=[],
        help="smallest, largest or one as printed",
    )
    parser.add_argument("--minutes", type=float, help="begin no row after this time")
    parser.add_argument(
        "--limit",
        type=float,
        default=runner.LIMIT,
        help="seconds that a call may take; a row with a longer one is not recorded",
    )
    only = parser.add_mutually_exclusive_group()
    only.add_argument("--list", action="store_true", help="what would be run")
    only.add_argument("--check", action="store_true", help="fail if a row is stale")
    only.add_argument(
        "--drop", action="store_true", help="drop stale rows and write the tables"
    )
    return parser.parse_args(words)


def main(words):
    options = parse(words)
    limit_threads(runner.THREADS)
    path = HERE / "results.json"
    records = Records.load(path)
    cases, files = find_cases()
    if options.check:
        stale = records.stale(cases)
        for name, size, reason in stale:
            print(f"{name} {size}: {reason}")
        return 1 if stale else 0
    if not options.list:
        for name, size, reason in records.drop_stale(cases):
            print(f"dropped: {name} {size}: {reason}")
    rows = choose(options, records, cases)
    if options.list:
        for case, size, reason in rows:
            print(f"{case.name} {size}: {reason}")
        return 0

    def save():
        records.drop_stale(cases)  # also puts a new row in its place
        records.save(path)
        write_tables(
            records, cases, files, HERE / "results.md", HERE.parent / "README.md"
        )

    save()
    if not options.drop:
        try:
            run_all(rows, records, save, options, files)
        except KeyboardInterrupt:
            print("\ninterrupted: the same command goes on")
            return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
