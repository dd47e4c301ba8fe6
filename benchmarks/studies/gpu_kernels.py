"""Kernel products and kernel machines on a CUDA device.

    taskset -c 0,1 python -m benchmarks.studies.gpu_kernels  writes gpu_kernels.md
    ... --only machines --working 512 1024 2048 4096 --dtype auto float64 --cases 1
                                                        tries settings, prints only

Products K V of a Gaussian kernel (n rows, 20 columns) need no memory beyond their
operands. Their floor is the time of 2 n^2 (d + k) floating-point operations at the rate
of a large matrix product, and of n^2 exponentials at the rate of a kernel that does
nothing else, both measured in the same run. "Four passes" is the time at the bandwidth
of a copy that the matrix takes if it is stored: written by a matrix product, read and
written by exp, read by the product with V.

Machines are fitted to a NumPy array, on the cores that this process may use, and to the
same rows as a CUDA tensor. Both must reach the same dual objective. A second fit to the
tensor, in which the device is waited for after each part, says where its time goes:

    kernel      the square of the kernel matrix of a working set
    transfer    that square to main memory
    pairs       pair steps on it, in main memory
    gradient    products of the rows of the set with its changes, for all rows
    choice      of the working sets
    violation   of the optimality conditions
    newton      steps over the free variables, with their kernels
    rest        checks of the input, the last check, support vectors
"""

import argparse
import os
import platform
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..bench_svc import letters, numbers, two_classes

PRODUCTS = [(20_000, 20), (50_000, 20), (100_000, 20)]
COLUMNS = (1, 16, 64, 128)
ROUNDS = 5


def seconds(function, rounds=ROUNDS):
    """The least time of some calls, after one that warms up."""
    import torch

    best = np.inf
    for i in range(rounds + 1):
        torch.cuda.synchronize()
        begun = time.perf_counter()
        function()
        torch.cuda.synchronize()
        if i:
            best = min(best, time.perf_counter() - begun)
    return best


class DeviceRates(NamedTuple):
    """What the device can do in a second."""

    copied: float  # bytes read and written by a copy
    operations: float  # of a matrix product
    exponentials: float


def device_rates(dtype) -> DeviceRates:
    import torch

    a = torch.zeros((1 << 30) // dtype.itemsize, dtype=dtype, device="cuda")
    b = torch.empty_like(a)
    copied = 2 * a.nbytes / seconds(lambda: b.copy_(a))
    n = 8192
    M = torch.randn((n, n), dtype=dtype, device="cuda")
    product = seconds(lambda: M @ M)
    return DeviceRates(copied, 2 * n**3 / product, exponentials_per_second(dtype))


def exponentials_per_second(dtype):
    """The rate of exp of numbers in registers; of a power of 2 for float32."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def chain(ptr, REPEATS: tl.constexpr):
        at = ptr + tl.program_id(0) * 1024 + tl.arange(0, 1024)
        x = tl.load(at)
        for _ in tl.static_range(REPEATS):
            if ptr.dtype.element_ty == tl.float32:
                x = tl.exp2(x)
            else:
                x = tl.exp(x)
        tl.store(at, x)

    x = torch.full((1 << 22,), -50.0, dtype=dtype, device="cuda")
    repeats = 64
    taken = seconds(lambda: chain[(len(x) // 1024,)](x, REPEATS=repeats))
    return len(x) * repeats / taken


def product_row(size, dtype, rates, columns):
    """One line of the table of products."""
    import torch

    from pansophy.kernels import RBF

    n, d = size
    X = torch.randn((n, d), dtype=dtype, device="cuda")
    V = torch.randn((n, columns), dtype=dtype, device="cuda")
    kernel = RBF(gamma=1 / d)
    taken = seconds(lambda: kernel.matmul(X, None, V))
    few = X[:200].double()
    right = RBF(gamma=1 / d)(few, X.double()) @ V.double()
    found = kernel.matmul(X, None, V)[:200].double()
    error = float((found - right).abs().max() / right.abs().max())
    passes = 4 * n * n * dtype.itemsize / rates.copied
    operations = 2 * n * n * (d + columns) / rates.operations
    floor = operations + n * n / rates.exponentials
    name = str(dtype).rpartition(".")[2]
    ms = [f"{1e3 * t:.2f}" for t in (taken, operations, floor, passes)]
    return (
        f"| {n} x {d}, {columns} {name} | {ms[0]} | {ms[1]} | {ms[2]} | "
        f"**{taken / floor:.2f}** | {ms[3]} | {error:.0e} |"
    )


def machines():
    """(name, estimator, data, size)."""
    from pansophy.svm import SVC, SVR

    return [
        ("SVC, C=1", SVC(), two_classes, (20_000, 20)),
        ("SVC, C=1", SVC(), two_classes, (100_000, 20)),
        ("SVC, C=10", SVC(C=10.0), two_classes, (50_000, 20)),
        ("SVC, 26 classes", SVC(), letters, (60_000, 16)),
        ("SVR, C=1, epsilon=0.1", SVR(), numbers, (50_000, 10)),
    ]


def solver_parts():
    """(name of a part, owner, function) of a fit to tensors; see the module text."""
    import pansophy.optim.constraints._smo as loops
    from pansophy.core.arrays import arrays
    from pansophy.svm.device_rows import DeviceRows

    smo = sys.modules["pansophy.optim.smo"]
    return [
        ("kernel", DeviceRows, "block"),
        ("transfer", arrays, "to_scratch"),
        ("pairs", loops, "optimize_pairs"),
        ("gradient", DeviceRows, "weighted_sum"),
        ("choice", smo, "choose_working_set"),
        ("violation", smo, "kkt_ends"),
        ("newton", smo.DualSolver, "newton_step"),
    ]


@contextmanager
def timed_parts():
    """Seconds and calls of each part while the context lasts: {name: [s, calls]}.

    What a part calls counts for the inner part alone.
    """
    import torch

    wait = torch.cuda.synchronize if torch.cuda.is_available() else lambda: None
    taken: dict = {}
    inner = [0.0]  # seconds of the parts inside each part that is running

    def timed(name, function):
        taken[name] = [0.0, 0]

        def run(*args, **kwargs):
            wait()
            begun = time.perf_counter()
            inner.append(0.0)
            answer = function(*args, **kwargs)
            wait()
            whole = time.perf_counter() - begun
            taken[name][0] += whole - inner.pop()
            taken[name][1] += 1
            inner[-1] += whole
            return answer

        return run

    saved = [(owner, key, getattr(owner, key)) for _, owner, key in solver_parts()]
    try:
        for name, owner, key in solver_parts():
            setattr(owner, key, timed(name, getattr(owner, key)))
        yield taken
    finally:
        for owner, key, function in saved:
            setattr(owner, key, function)


def parts_line(model, X, y):
    """Where the time of one fit goes, and how often: a line of text."""
    from sklearn.base import clone

    begun = time.perf_counter()
    with timed_parts() as taken:
        fitted = clone(model).fit(X, y)
    total = time.perf_counter() - begun
    rest = total - sum(seconds for seconds, _ in taken.values())
    parts = [f"{name} {t:.2f} s ({calls})" for name, (t, calls) in taken.items()]
    steps = int(np.sum(fitted.n_iter_))
    return f"{', '.join(parts)}, rest {rest:.2f} s; {steps} pair steps"


def machine_row(name, model, data, size, cpu_too=True):
    """One line of the table of machines, and the parts of the fit to the tensor.

    Each machine is fitted once after a warm-up.
    """
    import torch
    from sklearn.base import clone

    X, y, T, _ = data(size)
    Xg, yg = torch.as_tensor(X).cuda(), torch.as_tensor(y).cuda()
    for a, b in ((X, y), (Xg, yg)):  # compile and warm up, beyond the exact solver
        clone(model).fit(a[:3000], b[:3000])
    begun = time.perf_counter()
    there = clone(model).fit(Xg, yg)
    torch.cuda.synchronize()
    gpu = time.perf_counter() - begun
    parts = parts_line(model, Xg, yg)
    if not cpu_too:
        line = f"{name} {size[0]} x {size[1]}: {gpu:.2f} s, dual objective "
        return f"{line}{np.sum(there.dual_objective_):.6f}", parts
    begun = time.perf_counter()
    here = clone(model).fit(X, y)
    cpu = time.perf_counter() - begun
    a, b = np.sum(here.dual_objective_), np.sum(there.dual_objective_)
    one, two = here.predict(T), there.predict(torch.as_tensor(T).cuda()).cpu().numpy()
    if hasattr(here, "classes_"):
        differ = float(np.mean(one != two))
    else:
        differ = float(np.sqrt(np.mean((one - two) ** 2)) / np.std(y))
    line = (
        f"| {name} | {size[0]} x {size[1]} | {cpu:.2f} | {gpu:.2f} | "
        f"**{cpu / gpu:.1f}** | {abs(a - b) / abs(a):.0e} | {differ:.0e} |"
    )
    return line, parts


def try_settings(options):
    """Fit the chosen machines with each working set and type, on the device alone."""
    from pansophy.svm import device_rows, kernel_machine

    rule = kernel_machine.kernel_row_dtype
    for k in options.cases if options.cases is not None else range(len(machines())):
        for working in options.working or [device_rows.DEVICE_WORKING]:
            for dtype in options.dtype or ["auto"]:
                device_rows.DEVICE_WORKING = working
                kernel_machine.kernel_row_dtype = (
                    rule if dtype == "auto" else lambda *_, d=dtype: np.dtype(d)
                )
                line, parts = machine_row(*machines()[k], cpu_too=False)
                print(f"working {working}, {dtype}: {line}\n    {parts}", flush=True)


def product_table():
    import torch

    lines = [
        "| rows x columns, columns of V | ms | operations, ms | with exponentials, ms "
        "| over floor | four passes, ms | error |",
        "|---|---|---|---|---|---|---|",
    ]
    for dtype in (torch.float32, torch.float64):
        rates = device_rates(dtype)
        for size in PRODUCTS:
            for columns in COLUMNS:
                lines.append(product_row(size, dtype, rates, columns))
                print(lines[-1], flush=True)
    return lines


def machine_table():
    lines = [
        "*Apart* is the relative difference of the dual objectives, *predictions* the "
        "share that differs, or its root mean square over the deviation of y.",
        "",
        "| machine | rows | CPU, s | CUDA, s | ratio | apart | predictions |",
        "|---|---|---|---|---|---|---|",
    ]
    below = ["", "Parts of the time on CUDA (number of calls):", ""]
    for case in machines():
        try:
            line, parts = machine_row(*case)
            below.append(f"- {case[0]}, {case[3][0]} rows: {parts}")
        except Exception as error:  # the other rows are still worth having
            line = f"| {case[0]} | | | | failed: {error} | | |"
        lines.append(line)
        print(line, flush=True)
        print(below[-1], flush=True)
    return lines + below


def asked():
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=["products", "machines"])
    parser.add_argument("--cases", type=int, nargs="*", help="numbers of machines")
    parser.add_argument("--working", type=int, nargs="*", help="sizes to try")
    parser.add_argument("--dtype", nargs="*", help="auto, float32 or float64 to try")
    return parser.parse_args()


def main():
    import torch

    from pansophy.core.loops.threads import available_threads

    warnings.simplefilter("ignore")
    options = asked()
    if options.cases is not None or options.working or options.dtype:
        return try_settings(options)
    lines = [
        "# Kernels on CUDA",
        "",
        f"Device: {torch.cuda.get_device_name(0)}; CPU: {platform.machine()}, "
        f"{available_threads()} cores used. Made by "
        "`python -m benchmarks.studies.gpu_kernels`, whose text says what is measured.",
        "",
    ]
    print(lines[2], flush=True)
    if options.only != "machines":
        lines += [*product_table(), ""]
    if options.only != "products":
        lines += machine_table()
    if options.only:
        return None
    out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu_kernels.md"
    out.write_text("\n".join(lines) + "\n", "utf-8")
    return None


if __name__ == "__main__":
    main()
