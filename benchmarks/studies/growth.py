"""Growth of time and memory with the rows: kernel machines, models and processes.

    python -m benchmarks.studies.growth  writes growth.md
    python -m benchmarks.studies.growth NAME ...   prints lines of it
    python -m benchmarks.studies.growth --here ... in one process and thread, for a
                                           busy machine; memory is that of arrays

Every solver is fitted to three sizes, each in a process of its own, with two threads.
Given are seconds, processor seconds and the memory that the fit added at its peak, and
their growth: the exponent a of n^a that fits the three sizes best. Gaussian processes
keep their kernel (optimizer=None), except those whose search is part of the solver.
"""

import math
import multiprocessing as mp
import os
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..bench_kernel_ridge import smooth_target
from ..bench_svc import letters, two_classes
from ..runner import THREADS, forget_peak, peak


class GrowthCase(NamedTuple):
    """What is fitted, and to how many rows."""

    module: str
    cls: str
    options: dict
    data: str
    sizes: tuple


def process(kernel, solver, data, rows, columns, **options):
    """A Gaussian process whose kernel stays, unless `options` say otherwise."""
    given: dict[str, Any] = {"kernel": kernel, "solver": solver, "alpha": 0.1}
    if "optimizer" not in options:
        options["optimizer"] = None
    sizes = tuple((n, columns) for n in rows)
    return GrowthCase(
        "pansophy.gaussian_process",
        "GaussianProcessRegressor",
        given | options,
        data,
        sizes,
    )


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
    "NuSVC": GrowthCase(
        "pansophy.svm",
        "NuSVC",
        {"nu": 0.3},
        "classes",
        ((4_000, 20), (8_000, 20), (16_000, 20)),
    ),
    "OneClassSVM": GrowthCase(
        "pansophy.svm",
        "OneClassSVM",
        {"nu": 0.1},
        "numbers",
        ((5_000, 10), (10_000, 10), (20_000, 10)),
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
    "LSSVMClassifier": GrowthCase(
        "pansophy.kernel_model",
        "LSSVMClassifier",
        {},
        "classes",
        ((2_000, 20), (4_000, 20), (8_000, 20)),
    ),
    "KernelLogisticRegression": GrowthCase(
        "pansophy.kernel_model",
        "KernelLogisticRegression",
        {},
        "classes",
        ((1_000, 20), (2_000, 20), (4_000, 20)),
    ),
    "KernelPerceptron": GrowthCase(
        "pansophy.kernel_model",
        "KernelPerceptron",
        {"max_iter": 20},
        "classes",
        ((2_000, 20), (4_000, 20), (8_000, 20)),
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
    "Gaussian process, exact": process(
        "smooth", "exact", "numbers", (1_000, 2_000, 4_000), 3
    ),
    "Gaussian process, chain": process(
        "rough", "chain", "numbers", (20_000, 40_000, 80_000), 1
    ),
    "Gaussian process, grid": process(
        "smooth", "grid", "map", (10_000, 40_000, 160_000), 2
    ),
    "Gaussian process, iterative": process(
        "smooth", "iterative", "numbers", (1_500, 3_000, 6_000), 3
    ),
    "Gaussian process, inducing": process(
        "smooth", "inducing", "numbers", (10_000, 20_000, 40_000), 3
    ),
    "Gaussian process, neighbors, with search": process(
        "auto",
        "neighbors",
        "numbers",
        (20_000, 40_000, 80_000),
        3,
        optimizer="fmin_l_bfgs_b",
        alpha=1e-10,
    ),
    "Gaussian process, variational, with search": process(
        "auto",
        "variational",
        "numbers",
        (12_000, 24_000, 48_000),
        3,
        optimizer="fmin_l_bfgs_b",
        alpha=1e-10,
    ),
    "Gaussian process, Laplace": process(
        "smooth",
        "laplace",
        "numbers",
        (750, 1_500, 3_000),
        3,
        likelihood="student_t",
        alpha=1e-10,
    ),
}


def training_rows(name, size):
    """X and y of a kind of data."""
    rng = np.random.default_rng(0)
    if name == "map":
        side = math.isqrt(size[0])
        at = np.linspace(0.0, 8.0, side)
        X = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1).reshape(-1, 2)
        return X, np.sin(X).sum(axis=1) + 0.3 * rng.standard_normal(len(X))
    if name == "numbers" and size[1] < 3:
        X = np.sort(rng.uniform(0, 1e-2 * size[0], size), axis=0)
        return X, np.sin(X[:, 0]) + 0.3 * rng.standard_normal(len(X))
    if name == "numbers":
        return smooth_target(size)
    return {"classes": two_classes, "letters": letters}[name](size)[:2]


def with_kernel(options):
    """Options with the kernel that a word stands for."""
    from pansophy.kernels import RBF, Matern

    kernels = {"smooth": RBF(1.0), "rough": Matern(1.0, nu=1.5)}
    kernel = options.get("kernel")
    return options | {"kernel": kernels[kernel]} if kernel in kernels else options


def fit_here(case, size):
    """What a worker measures, in this process; memory is what Python allocated."""
    import tracemalloc
    from importlib import import_module

    estimator = getattr(import_module(case.module), case.cls)
    options = with_kernel(case.options)
    X, y = training_rows(case.data, size)
    wall, cpu = time.perf_counter(), time.process_time()
    estimator(**options).fit(X, y)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    tracemalloc.start()
    estimator(**options).fit(X, y)
    megabytes = tracemalloc.get_traced_memory()[1] / (1 << 20)
    tracemalloc.stop()
    return (*seconds, megabytes)


def fit_once(pipe, case, size):
    """A worker: warms up on few rows, then measures one fit."""
    import warnings
    from importlib import import_module

    warnings.simplefilter("ignore")
    estimator = getattr(import_module(case.module), case.cls)
    case = case._replace(options=with_kernel(case.options))
    X, y = training_rows(case.data, size)
    few = training_rows(case.data, (2500, size[1])) if case.data == "map" else (X, y)
    estimator(**case.options).fit(few[0][:2500], few[1][:2500])
    before = forget_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    estimator(**case.options).fit(X, y)
    seconds = time.perf_counter() - wall, time.process_time() - cpu
    pipe.send((*seconds, peak() - before))


def growth(values, sizes) -> float:
    """The exponent a of n^a, by least squares in logarithms."""
    n = np.log([size[0] for size in sizes])
    v = np.log(np.maximum(values, 1e-9))
    return float(np.polyfit(n, v, 1)[0])


def measure_case(name, case, here=False):
    """A line of the table."""
    results = []
    if here:
        fit_here(case, case.sizes[0])  # compiles and warms up
        results = [fit_here(case, size) for size in case.sizes]
    for size in () if here else case.sizes:
        ours, there = mp.get_context("spawn").Pipe()
        worker = mp.get_context("spawn").Process(
            target=fit_once, args=(there, case, size), daemon=True
        )
        worker.start()
        there.close()
        results.append(ours.recv())
        worker.join()
    seconds, cpu, megabytes = zip(*results, strict=True)
    rows = ", ".join(f"{size[0]}" for size in case.sizes)
    show = lambda values, digits: ", ".join(f"{v:.{digits}f}" for v in values)
    return (
        f"| {name} | {rows} | {show(seconds, 2)} | {show(cpu, 2)} | "
        f"{growth(cpu, case.sizes):.2f} | {show(megabytes, 0)} | "
        f"{growth(megabytes, case.sizes):.2f} |"
    )


def main():
    names = [word for word in sys.argv[1:] if word != "--here"]
    here = "--here" in sys.argv
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[name] = "1" if here else str(THREADS)
    lines = [
        "| solver | rows | s | processor s | growth | MiB | growth |",
        "|---|---|---|---|---|---|---|",
    ]
    print("\n".join(lines))
    for name in names or CASES:
        lines.append(measure_case(name, CASES[name], here))
        print(lines[-1], flush=True)
    if not sys.argv[1:]:
        text = (
            "# Growth with the rows\n\nMade by `python -m benchmarks.studies.growth`, "
            "whose text says what is measured. Growth is that of processor time and of "
            "memory.\n\n"
        )
        page = Path(__file__).parent / "growth.md"
        page.write_text(text + "\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
