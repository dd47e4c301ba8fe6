"""Compilations and seconds of first calls: a fresh process, an empty cache.

What those wait for whose machine the shipped loops do not fit. Each method is fitted
and predicts in one process after the other methods, as in a session, so that a loop
that two methods share counts for the first; `--apart` gives every method a process of
its own. Shipped loops are turned off, and seconds are those of the processor, so that
other programs count little. With the folder of another copy of the package (its `src`)
both are measured, and the ratio is printed:

    python -m benchmarks.studies.first_calls
    python -m benchmarks.studies.first_calls --apart ../other/src
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

METHODS = (
    "tree.DecisionTreeClassifier",
    "ensemble.RandomForestClassifier",
    "ensemble.HistGradientBoostingClassifier",
    "cluster.KMeans",
    "linear_model.LogisticRegression",
    "linear_model.Lasso",
)


def time_first_calls(methods) -> dict:
    """Compilations, seconds and the slowest loops of each method, in this process."""
    from importlib import import_module

    import numpy as np
    from numba.core import event

    class Compilations(event.Listener):
        """How many there were, and the seconds of those that no other one contains."""

        def __init__(self):
            self.count, self.depth, self.slowest = 0, 0, {}

        def on_start(self, event):
            self.count += 1
            self.depth += 1
            if self.depth == 1:
                self.begun = time.process_time()

        def on_end(self, event):
            self.depth -= 1
            if self.depth == 0:
                name = event.data["dispatcher"].py_func.__name__
                self.slowest[name] = time.process_time() - self.begun

    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 8))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(int)
    found = {}
    for method in methods:
        package, name = method.split(".")
        model = getattr(import_module(f"pansophy.{package}"), name)()
        compilations = Compilations()
        event.register("numba:compile", compilations)
        begun = time.process_time()
        model.fit(X, y).predict(X)
        seconds = time.process_time() - begun
        event.unregister("numba:compile", compilations)
        found[method] = compilations.count, seconds, compilations.slowest
    return found


def measure_copy(source, methods) -> dict:
    """The same in a fresh process that imports the package from a folder."""
    with tempfile.TemporaryDirectory() as empty:
        environment = dict(
            os.environ,
            PYTHONPATH=os.pathsep.join([str(source), str(Path(__file__).parents[2])]),
            PANSOPHY_CACHE_DIR=empty,
            NUMBA_CACHE_DIR=empty,  # of copies that used Numba's own cache
            NUMBA_CPU_NAME=host_cpu_name(),  # turns shipped loops off
        )
        call = "import sys; from benchmarks.studies.first_calls import *; "
        call += "print(json.dumps(time_first_calls(sys.argv[1:])))"
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", call, *methods],
            env=environment,
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def host_cpu_name() -> str:
    from llvmlite import binding

    return binding.get_host_cpu_name()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("before", nargs="?", help="src folder of another copy")
    parser.add_argument("--apart", action="store_true", help="a process per method")
    parser.add_argument("--loops", action="store_true", help="name the slowest loops")
    options = parser.parse_args()
    groups = [[method] for method in METHODS] if options.apart else [list(METHODS)]
    sources = [Path(__file__).parents[2] / "src"]
    if options.before:
        sources.append(Path(options.before).absolute())
    tables = []
    for source in sources:
        tables.append({})
        for group in groups:
            tables[-1] |= measure_copy(source, group)
    totals = [
        [sum(row[k] for row in table.values()) for k in range(2)] for table in tables
    ]
    for method in (*METHODS, "total"):
        rows = [
            total if method == "total" else table[method]
            for table, total in zip(tables, totals)
        ]
        line = f"{method:42s}"
        for count, seconds, *_ in reversed(rows):  # before, then now
            line += f" {count:4d} compilations {seconds:6.2f} s  "
        if len(rows) == 2:
            line += f" {rows[0][0] / rows[1][0]:.2f} {rows[0][1] / rows[1][1]:.2f}"
        print(line)
        if options.loops and method != "total":
            seconds_of = tables[0][method][2]
            slowest = sorted(seconds_of.items(), key=lambda item: -item[1])[:5]
            print("   ", ", ".join(f"{name} {s:.2f} s" for name, s in slowest))


if __name__ == "__main__":
    main()
