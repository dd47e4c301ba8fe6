"""Growth of time and memory with the rows: kernel machines and kernel models.

    python -m benchmarks.growth [NAME ...]

Every solver is fitted to three sizes, each in a process of its own, with two threads.
Printed are seconds, processor seconds and the memory that the fit added at its peak,
and their growth: the exponents a of n^a between neighbouring sizes.
"""

import math
import multiprocessing as mp
import os
import sys
import time
from typing import NamedTuple

from .bench_kernel_ridge import smooth_target
from .bench_svc import letters, two_classes
from .runner import THREADS, forget_peak, peak


class GrowthCase(NamedTuple):
    """What is fitted, and to how many rows."""

    module: str
    cls: str
    options: dict
    data: str
    sizes: tuple


CASES = {
    "SVC": GrowthCase(
        "pansophy.svm", "SVC", {}, "classes", ((5_000, 20), (10_000, 20), (20_000, 20))
    ),
    "SVC, C=100": GrowthCase(
        "pansophy.svm",
        "SVC",
        {"C": 100.0},
        "classes",
        ((2_000, 20), (4_000, 20), (8_000, 20)),
    ),
    "SVC, 26 classes": GrowthCase(
        "pansophy.svm",
        "SVC",
        {},
        "letters",
        ((5_000, 16), (10_000, 16), (20_000, 16)),
    ),
    "SVR": GrowthCase(
        "pansophy.svm", "SVR", {}, "numbers", ((2_500, 10), (5_000, 10), (10_000, 10))
    ),
    "KernelRidge, cholesky": GrowthCase(
        "pansophy.kernel_ridge",
        "KernelRidge",
        {"kernel": "rbf", "alpha": 0.1, "solver": "cholesky"},
        "numbers",
        ((2_000, 10), (4_000, 10), (8_000, 10)),
    ),
    "KernelRidge, cg": GrowthCase(
        "pansophy.kernel_ridge",
        "KernelRidge",
        {"kernel": "rbf", "alpha": 0.1, "solver": "cg", "tol": 1e-6},
        "numbers",
        ((2_500, 10), (5_000, 10), (10_000, 10)),
    ),
    "KernelRidge, descent": GrowthCase(
        "pansophy.kernel_ridge",
        "KernelRidge",
        {"kernel": "rbf", "alpha": 0.1, "solver": "descent", "max_iter": 20},
        "numbers",
        ((2_500, 10), (5_000, 10), (10_000, 10)),
    ),
    "Falkon, 300 centres": GrowthCase(
        "pansophy.kernel_model",
        "FalkonRegressor",
        {"alpha": 0.1, "n_components": 300, "random_state": 0, "tol": 1e-5},
        "numbers",
        ((25_000, 10), (50_000, 10), (100_000, 10)),
    ),
    "Nystroem, 300 features": GrowthCase(
        "pansophy.kernel_approximation",
        "Nystroem",
        {"n_components": 300, "random_state": 0},
        "numbers",
        ((25_000, 10), (50_000, 10), (100_000, 10)),
    ),
}


def training_rows(name, size):
    """X and y of a kind of data."""
    if name == "numbers":
        return smooth_target(size)
    return {"classes": two_classes, "letters": letters}[name](size)[:2]


def fit_once(pipe, case, size):
    """A worker: warms up on few rows, then measures one fit."""
    import warnings
    from importlib import import_module

    warnings.simplefilter("ignore")
    estimator = getattr(import_module(case.module), case.cls)
    X, y = training_rows(case.data, size)
    estimator(**case.options).fit(X[:2200], y[:2200])
    before = forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    estimator(**case.options).fit(X, y)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    pipe.send((*seconds, peak() - before))


def growth(values, sizes):
    """The exponents between neighbours."""
    found = []
    for j in range(1, len(values)):
        rows = math.log(sizes[j][0] / sizes[j - 1][0])
        found.append(math.log(max(values[j], 1e-9) / max(values[j - 1], 1e-9)) / rows)
    return found


def measure_case(name, case):
    """A line of the table."""
    results = []
    for size in case.sizes:
        here, there = mp.get_context("spawn").Pipe()
        worker = mp.get_context("spawn").Process(
            target=fit_once, args=(there, case, size), daemon=True
        )
        worker.start()
        there.close()
        results.append(here.recv())
        worker.join()
    seconds, cpu, megabytes = zip(*results, strict=True)
    rows = ", ".join(f"{size[0]}" for size in case.sizes)
    show = lambda values, digits: ", ".join(f"{v:.{digits}f}" for v in values)
    return (
        f"| {name} | {rows} | {show(seconds, 2)} | {show(cpu, 2)} | "
        f"{show(growth(cpu, case.sizes), 2)} | {show(megabytes, 0)} | "
        f"{show(growth(megabytes, case.sizes), 2)} |"
    )


def main():
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = str(THREADS)
    print("| solver | rows | s | processor s | growth | MiB | growth |")
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[1:] or CASES:
        print(measure_case(name, CASES[name]), flush=True)


if __name__ == "__main__":
    main()
