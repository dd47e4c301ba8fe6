"""Kernel products and kernel machines on a CUDA device.

    taskset -c 0,1 python -m benchmarks.gpu_kernels     writes benchmarks/gpu_kernels.md

Products K v of a Gaussian kernel (n rows, 20 columns) are compared with the time that
four passes over the matrix take (written by the matrix product, read and written by
exp, read by the product with v), at the bandwidth of a copy measured in the same run,
and with the time that its floating-point operations take at the rate of a large matrix
product measured there: the larger of the two is the floor.

Machines are fitted to a NumPy array, on the cores that this process may use, and to the
same rows as a CUDA tensor. Both must reach the same dual objective.
"""

import os
import platform
import time
import warnings
from pathlib import Path

import numpy as np

from .bench_svc import letters, numbers, two_classes

PRODUCTS = [(20_000, 20), (50_000, 20), (100_000, 20)]
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


def device_rates(dtype):
    """Bytes a second of a copy, and operations a second of a matrix product."""
    import torch

    a = torch.zeros((1 << 30) // dtype.itemsize, dtype=dtype, device="cuda")
    b = torch.empty_like(a)
    copied = 2 * a.nbytes / seconds(lambda: b.copy_(a))
    n = 8192
    M = torch.randn((n, n), dtype=dtype, device="cuda")
    return copied, 2 * n**3 / seconds(lambda: M @ M)


def product_row(size, dtype, rates):
    """One line of the table of products."""
    import torch

    from pansophy.kernels import RBF

    n, d = size
    X = torch.randn((n, d), dtype=dtype, device="cuda")
    v = torch.randn(n, dtype=dtype, device="cuda")
    kernel = RBF(gamma=1 / d)
    taken = seconds(lambda: kernel.matmul(X, None, v))
    few = X[:200].double()
    right = RBF(gamma=1 / d)(few, X.double()) @ v.double()
    found = kernel.matmul(X, None, v)[:200].double()
    error = float((found - right).abs().max() / right.abs().max())
    by_memory = 4 * n * n * dtype.itemsize / rates[0]
    by_arithmetic = 2 * n * n * (d + 2) / rates[1]
    floor = max(by_memory, by_arithmetic)
    name = str(dtype).rpartition(".")[2]
    return (
        f"| {n} x {d} {name} | {taken * 1e3:.2f} | {by_memory * 1e3:.2f} | "
        f"{by_arithmetic * 1e3:.2f} | **{taken / floor:.2f}** | {error:.0e} |"
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


def machine_row(name, model, data, size):
    """One line of the table of machines; each is fitted once after a warm-up."""
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
    begun = time.perf_counter()
    here = clone(model).fit(X, y)
    cpu = time.perf_counter() - begun
    a, b = np.sum(here.dual_objective_), np.sum(there.dual_objective_)
    one, two = here.predict(T), there.predict(torch.as_tensor(T).cuda()).cpu().numpy()
    if hasattr(here, "classes_"):
        differ = float(np.mean(one != two))
    else:
        differ = float(np.sqrt(np.mean((one - two) ** 2)) / np.std(y))
    return (
        f"| {name} | {size[0]} x {size[1]} | {cpu:.2f} | {gpu:.2f} | "
        f"**{cpu / gpu:.1f}** | {abs(a - b) / abs(a):.0e} | {differ:.0e} |"
    )


def main():
    import torch

    from pansophy.core.threads import available_threads

    warnings.simplefilter("ignore")
    lines = [
        "# Kernels on CUDA",
        "",
        f"Device: {torch.cuda.get_device_name(0)}; CPU: {platform.machine()}, "
        f"{available_threads()} cores used. Made by "
        "`python -m benchmarks.gpu_kernels`, whose text says what is measured.",
        "",
        "| product K v | ms | four passes, ms | arithmetic, ms | over floor | error |",
        "|---|---|---|---|---|---|",
    ]
    print(lines[2], flush=True)
    for dtype in (torch.float32, torch.float64):
        rates = device_rates(dtype)
        for size in PRODUCTS:
            lines.append(product_row(size, dtype, rates))
            print(lines[-1], flush=True)
    lines += [
        "",
        "*Apart* is the relative difference of the dual objectives, *predictions* the "
        "share that differs, or its root mean square over the deviation of y.",
        "",
        "| machine | rows | CPU, s | CUDA, s | ratio | apart | predictions |",
        "|---|---|---|---|---|---|---|",
    ]
    for case in machines():
        try:
            lines.append(machine_row(*case))
        except Exception as error:  # the other rows are still worth having
            lines.append(f"| {case[0]} | | | | failed: {error} | | |")
        print(lines[-1], flush=True)
    out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu_kernels.md"
    out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
