"""Classical methods on CUDA tensors against short torch programs of the same work.

    python -m benchmarks.studies.gpu_classical           all, writes gpu_classical.md
    python -m benchmarks.studies.gpu_classical kmeans    cases by name

Each case is fitted by us and by ten lines of torch, which are no limit either, in turn
after a first call of each; times are the least of several rounds, synchronised. *Floor*
is the larger of the arithmetic and the bytes that the work needs over the rates of the
device, which are measured first. *Peak* is what was allocated at most beyond the rows,
over the bytes of the rows. Of the two cases that
compare worst, the kernels and the functions of Python that take longest are printed.

Results go to $OUT, or beside this file.
"""

import cProfile
import io
import json
import os
import pstats
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch

from .gpu_survey import time_limit

ROUNDS = 5
SECONDS = 40  # of one case
DEVICE = "cuda"


class Case(NamedTuple):
    """One piece of work, done by us and by a short torch program."""

    name: str
    ours: Any
    reference: Any
    data: tuple  # tensors that are given
    flops: float = 0.0
    reads: float = 1.0  # of the data, at least
    double: bool = False  # whether the arithmetic is in float64
    apart: Any = None  # a number for how far the two answers are apart


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def best_time(call, rounds=ROUNDS):
    """The least seconds of a call, after a first one."""
    call()
    times = []
    for _ in range(rounds):
        wait()
        begun = time.perf_counter()
        call()
        wait()
        times.append(time.perf_counter() - begun)
    return min(times)


def generator(seed=0):
    return torch.Generator(device=DEVICE).manual_seed(seed)


def normal(*shape, dtype=torch.float32, seed=0):
    return torch.randn(*shape, device=DEVICE, dtype=dtype, generator=generator(seed))


# -- short torch programs ----------------------------------------------------------


def kmeans_in_torch(X, C, n_iter):
    C = C.clone()
    z = torch.empty(len(X), dtype=torch.long, device=X.device)
    for _ in range(n_iter):
        c2 = (C * C).sum(1)
        for i in range(0, len(X), 1 << 18):
            tile = X[i : i + (1 << 18)]
            z[i : i + (1 << 18)] = (c2 - 2 * tile @ C.T).argmin(1)
        S = torch.zeros_like(C).index_add_(0, z, X)
        N = torch.bincount(z, minlength=len(C)).clamp(min=1)
        C = S / N[:, None]
    return C


def mixture_in_torch(X, m, n_iter):
    n, d = X.shape
    k = len(m)
    eye = torch.eye(d, device=X.device)
    S = eye.expand(k, d, d).clone()
    w = torch.full((k,), 1 / k, device=X.device)
    for _ in range(n_iter):
        L = torch.linalg.cholesky(S)
        inverse = torch.linalg.inv(L)
        log_det = inverse.diagonal(dim1=1, dim2=2).log().sum(1)
        N = torch.zeros(k, device=X.device)
        A = torch.zeros(k, d, device=X.device)
        B = torch.zeros(k, d, d, device=X.device)
        for i in range(0, n, 1 << 17):
            x = X[i : i + (1 << 17)]
            Y = torch.einsum("kij,nkj->nki", inverse, x[:, None] - m)
            r = torch.softmax(w.log() + log_det - 0.5 * (Y * Y).sum(2), 1)
            N += r.sum(0)
            A += r.T @ x
            B += torch.einsum("nk,ni,nj->kij", r, x, x)
        m = A / N[:, None]
        S = B / N[:, None, None] - m[:, :, None] * m[:, None] + 1e-6 * eye
        w = N / n
    return m


def neighbors_in_torch(X, Q, k):
    x2 = (X * X).sum(1)
    parts = [
        torch.topk(x2 - 2 * Q[i : i + 2048] @ X.T, k, largest=False)
        for i in range(0, len(Q), 2048)
    ]
    return torch.cat([p.indices for p in parts])


def logistic_in_torch(X, y, n_iter=7):
    A = torch.cat([X, torch.ones(len(X), 1, device=X.device)], 1)
    w = torch.zeros(A.shape[1], device=X.device)
    y = y.float()
    eye = torch.eye(len(w), device=X.device)
    for _ in range(n_iter):
        p = torch.sigmoid(A @ w)
        H = A.T @ (A * (p * (1 - p))[:, None]) + eye
        w = w - torch.linalg.solve(H, A.T @ (p - y) + w)
    return w[:-1]


def softmax_in_torch(X, y, k, n_iter=30):
    W = torch.zeros(X.shape[1], k, device=X.device, requires_grad=True)
    b = torch.zeros(k, device=X.device, requires_grad=True)
    rule = torch.optim.LBFGS([W, b], max_iter=n_iter, line_search_fn="strong_wolfe")

    def loss():
        rule.zero_grad()
        value = torch.nn.functional.cross_entropy(X @ W + b, y)
        value = value + 0.5 / len(X) * (W * W).sum()
        value.backward()
        return value

    rule.step(loss)
    return W.detach().T


def poisson_in_torch(X, y, alpha, n_iter=8):
    A = torch.cat([X, torch.ones(len(X), 1, device=X.device)], 1)
    w = torch.zeros(A.shape[1], device=X.device)
    w[-1] = y.mean().log()
    ridge = alpha * torch.eye(len(w), device=X.device)
    ridge[-1, -1] = 0
    for _ in range(n_iter):
        mu = torch.exp(A @ w)
        H = A.T @ (A * mu[:, None]) / len(X) + ridge
        w = w - torch.linalg.solve(H, A.T @ (mu - y) / len(X) + ridge @ w)
    return w[:-1]


def pca_in_torch(X, k):
    m = X.mean(0)
    S = X.T @ X - len(X) * torch.outer(m, m)
    return torch.linalg.eigh(S)[1][:, -k:].flip(1).T


def randomized_pca_in_torch(X, k):
    return torch.pca_lowrank(X, q=k + 10, niter=4)[2][:, :k].T


def ridge_in_torch(X, y, alpha):
    m, c = X.mean(0), y.mean()
    G = X.T @ X - len(X) * torch.outer(m, m)
    G.diagonal().add_(alpha)
    L = torch.linalg.cholesky(G)
    return torch.cholesky_solve((X.T @ (y - c))[:, None], L)[:, 0]


def naive_bayes_in_torch(X, y, k):
    H = torch.nn.functional.one_hot(y, k).to(X.dtype)
    N = H.sum(0)[:, None]
    mean = H.T @ X / N
    return H.T @ (X * X) / N - mean * mean


def discriminant_in_torch(X, y, k):
    H = torch.nn.functional.one_hot(y, k).to(X.dtype)
    N = H.sum(0)[:, None]
    mean = H.T @ X / N
    S = (X.T @ X - mean.T @ (N * mean)) / (len(X) - k)
    return torch.linalg.solve(S, mean.T).T


# -- cases -------------------------------------------------------------------------


def largest_gap(a, b):
    """Largest difference relative to the largest entry, signs of rows aside."""
    a, b = (torch.as_tensor(v, dtype=torch.float64).cpu() for v in (a, b))
    a, b = a.reshape(b.shape), b
    same = min(float((a - b).abs().max()), float((a.abs() - b.abs()).abs().max()))
    return same / float(b.abs().max())


def kmeans_case(n, d, k, n_iter=20):
    from pansophy.cluster import KMeans

    X = normal(n, d)
    start = X[:k].cpu().numpy()
    ours = lambda: KMeans(k, init=start, n_init=1, max_iter=n_iter, tol=0).fit(X)
    return Case(
        f"KMeans {n}x{d} k={k}, {n_iter} iterations",
        ours,
        lambda: kmeans_in_torch(X, torch.as_tensor(start, device=X.device), n_iter),
        (X,),
        flops=2.0 * n * d * k * (n_iter + 1),
        reads=n_iter + 2,
        apart=lambda a, b: largest_gap(a.cluster_centers_, b),
    )


def mixture_case(n=1_000_000, d=16, k=16, n_iter=20):
    from pansophy.mixture import GaussianMixture

    X = normal(n, d) + 3 * normal(k, d, seed=1)[torch.randint(k, (n,), device=DEVICE)]
    m = X[:k].clone()
    given = {
        "weights_init": np.full(k, 1 / k),
        "means_init": m.cpu().numpy(),
        "precisions_init": np.stack([np.eye(d)] * k),
    }
    ours = lambda: GaussianMixture(k, max_iter=n_iter, tol=0, **given).fit(X)
    return Case(
        f"GaussianMixture full {n}x{d} k={k}, {n_iter} iterations",
        ours,
        lambda: mixture_in_torch(X, m, n_iter),
        (X,),
        flops=n_iter * n * k * (d * (d + 1.0)) * 2,
        reads=n_iter + 2,
        double=True,
        apart=lambda a, b: largest_gap(a.means_, b),
    )


def neighbors_case(n, d, m, k=10):
    from pansophy.neighbors import NearestNeighbors

    X = normal(n, d)
    Q = normal(m, d, seed=1)
    model = NearestNeighbors(n_neighbors=k).fit(X)
    return Case(
        f"NearestNeighbors {n}x{d}, {m} queries, k={k}",
        lambda: model.kneighbors(Q),
        lambda: neighbors_in_torch(X, Q, k),
        (X, Q),
        flops=2.0 * n * m * d,
        apart=lambda a, b: float((a[1] != b).double().mean()),
    )


def logistic_case(n=2_000_000, d=100):
    from pansophy.linear_model import LogisticRegression

    X = normal(n, d)
    y = (X[:, :5].sum(1) + normal(n, seed=1) > 0).long()
    return Case(
        f"LogisticRegression {n}x{d}",
        lambda: LogisticRegression(C=1.0).fit(X, y),
        lambda: logistic_in_torch(X, y),
        (X, y),
        flops=4 * 2.0 * n * d * d,
        reads=12,
        apart=lambda a, b: largest_gap(a.coef_[0], b),
    )


def softmax_case(n=500_000, d=200, k=10):
    from pansophy.linear_model import LogisticRegression

    X = normal(n, d)
    y = (X @ normal(d, k, seed=1) / d**0.5 + normal(n, k, seed=2)).argmax(1)
    return Case(
        f"LogisticRegression {n}x{d}, {k} classes",
        lambda: LogisticRegression(C=1.0).fit(X, y),
        lambda: softmax_in_torch(X, y, k),
        (X, y),
        flops=15 * 4.0 * n * d * k,
        reads=30,
        apart=lambda a, b: largest_gap(a.coef_ - a.coef_.mean(0), b - b.mean(0)),
    )


def poisson_case(n=2_000_000, d=50):
    from pansophy.linear_model import PoissonRegressor

    X = normal(n, d)
    w = normal(d, seed=1) / d**0.5
    y = torch.poisson(torch.exp(0.5 * X @ w), generator=generator(2))
    return Case(
        f"PoissonRegressor {n}x{d}",
        lambda: PoissonRegressor(alpha=1e-3).fit(X, y),
        lambda: poisson_in_torch(X, y, 1e-3),
        (X, y),
        flops=4 * 2.0 * n * d * d,
        reads=12,
        apart=lambda a, b: largest_gap(a.coef_, b),
    )


def pca_case(n=2_000_000, d=100, k=20):
    from pansophy.decomposition import PCA

    X = normal(n, d) / torch.arange(1, d + 1, device=DEVICE) ** 0.5
    return Case(
        f"PCA, {k} of {d}, {n} rows",
        lambda: PCA(k).fit(X),
        lambda: pca_in_torch(X, k),
        (X,),
        flops=2.0 * n * d * d,
        apart=lambda a, b: largest_gap(a.components_, b),
    )


def randomized_pca_case(n=100_000, d=2000, k=20):
    from pansophy.decomposition import PCA

    X = normal(n, d) / torch.arange(1, d + 1, device=DEVICE) ** 0.5
    model = lambda: PCA(k, svd_solver="randomized", random_state=0).fit(X)
    return Case(
        f"PCA randomized, {k} of {d}, {n} rows",
        model,
        lambda: randomized_pca_in_torch(X, k),
        (X,),
        flops=10 * 2.0 * n * d * (k + 10),
        reads=10,
        apart=lambda a, b: largest_gap(a.components_[:5], b[:5]),
    )


def least_squares_case(name, n, d, dtype, alpha=0.0):
    from pansophy import linear_model

    X = normal(n, d, dtype=dtype)
    y = X @ normal(d, dtype=dtype, seed=1) + normal(n, dtype=dtype, seed=2)
    make = getattr(linear_model, name)
    model = (lambda: make(alpha)) if alpha else make
    return Case(
        f"{name} {n}x{d} {str(dtype)[6:]}",
        lambda: model().fit(X, y),
        lambda: ridge_in_torch(X, y, alpha),
        (X, y),
        flops=2.0 * n * d * d,
        double=True,
        apart=lambda a, b: largest_gap(a.coef_, b),
    )


def naive_bayes_case(n=2_000_000, d=50, k=5):
    from pansophy.naive_bayes import GaussianNB

    X, y = normal(n, d), torch.randint(k, (n,), device=DEVICE)
    return Case(
        f"GaussianNB {n}x{d}, {k} classes",
        lambda: GaussianNB().fit(X, y),
        lambda: naive_bayes_in_torch(X, y, k),
        (X, y),
        flops=4.0 * n * d * k,
        apart=lambda a, b: largest_gap(a.var_, b),
    )


def discriminant_case(n=2_000_000, d=100, k=10):
    from pansophy.discriminant_analysis import LinearDiscriminantAnalysis

    y = torch.randint(k, (n,), device=DEVICE)
    X = normal(n, d) + normal(k, d, seed=1)[y]
    return Case(
        f"LinearDiscriminantAnalysis {n}x{d}, {k} classes",
        lambda: LinearDiscriminantAnalysis().fit(X, y),
        lambda: discriminant_in_torch(X, y, k),
        (X, y),
        flops=2.0 * n * d * d,
    )


CASES = {
    "kmeans": lambda: kmeans_case(2_000_000, 32, 64),
    "kmeans_wide": lambda: kmeans_case(1_000_000, 128, 256),
    "mixture": mixture_case,
    "neighbors": lambda: neighbors_case(200_000, 128, 20_000),
    "neighbors_narrow": lambda: neighbors_case(1_000_000, 16, 10_000),
    "logistic": logistic_case,
    "softmax": softmax_case,
    "poisson": poisson_case,
    "pca": pca_case,
    "pca_randomized": randomized_pca_case,
    "ols": lambda: least_squares_case(
        "LinearRegression", 2_000_000, 100, torch.float64
    ),
    "ols_single": lambda: least_squares_case(
        "LinearRegression", 2_000_000, 100, torch.float32
    ),
    "ridge": lambda: least_squares_case("Ridge", 500_000, 500, torch.float64, 1.0),
    "naive_bayes": naive_bayes_case,
    "lda": discriminant_case,
}


# -- measuring ---------------------------------------------------------------------


def device_rates():
    """Bytes a second of a copy, flops of products in float32 and float64."""
    a = torch.empty(1 << 28, device=DEVICE)
    b = torch.empty_like(a)
    seconds = best_time(lambda: b.copy_(a))
    rates = {"bytes": 2 * a.numel() * 4 / seconds}
    for dtype, name in ((torch.float32, "float32"), (torch.float64, "float64")):
        A = normal(8192, 8192, dtype=dtype)
        seconds = best_time(lambda A=A: A @ A, 3)
        rates[name] = 2 * 8192.0**3 / seconds
    return rates


def peak_beyond(call):
    """The answer of a call, and bytes allocated at most beyond those before it."""
    wait()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    answer = call()
    wait()
    return answer, torch.cuda.max_memory_allocated() - before


def measure(case, rates):
    """Seconds of both, the floor, peaks, and how far the answers are apart."""
    ours, peak = peak_beyond(case.ours)
    reference, peak_reference = peak_beyond(case.reference)
    apart = None if case.apart is None else case.apart(ours, reference)
    size = sum(a.numel() * a.element_size() for a in case.data)
    del ours, reference
    own, other = [], []
    for _ in range(ROUNDS):
        for call, times in ((case.ours, own), (case.reference, other)):
            wait()
            begun = time.perf_counter()
            call()
            wait()
            times.append(time.perf_counter() - begun)
    rate = rates["float64" if case.double else "float32"]
    floor = max(case.flops / rate, case.reads * size / rates["bytes"])
    return {
        "ours": min(own), "reference": min(other), "floor": floor,
        "ratio": min(other) / min(own), "over_floor": min(own) / floor,
        "peak": peak / size, "peak_reference": peak_reference / size, "apart": apart,
        "rounds": [own, other],
    }  # fmt: skip


def host_profile(call, count=14):
    """Where Python spends the time of a call: (own seconds, calls, function)."""
    profile = cProfile.Profile()
    wait()
    profile.enable()
    call()
    wait()
    profile.disable()
    stats = pstats.Stats(profile, stream=io.StringIO())
    rows = [
        (round(own, 5), calls, f"{Path(file).name}:{line} {name}")
        for (file, line, name), (_, calls, own, _, _) in stats.stats.items()
    ]
    return sorted(rows, reverse=True)[:count]


def device_profile(call, count=12):
    """Kernels of a call: how many, waits of the host, and those that take longest."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as found:
        call()
        wait()
    kernels = []
    waits = {}
    for event in found.key_averages():
        seconds = getattr(event, "self_device_time_total", 0) / 1e6
        if seconds > 0 and str(event.device_type).endswith("CUDA"):
            kernels.append((round(seconds, 6), event.count, event.key[:90]))
        if event.key in (
            "cudaStreamSynchronize",
            "cudaDeviceSynchronize",
            "aten::item",
        ):
            waits[event.key] = event.count
        if event.key.startswith("cudaMemcpy") or event.key == "cudaLaunchKernel":
            waits[event.key] = event.count
    kernels.sort(reverse=True)
    total = sum(s for s, *_ in kernels)
    launched = sum(n for _, n, _ in kernels)
    return {
        "kernels": launched,
        "seconds": total,
        "host": waits,
        "top": kernels[:count],
    }


HEAD = """\
| case | ours, ms | torch, ms | torch / ours | ours / floor | peak | torch's | apart |
|---|---|---|---|---|---|---|---|"""


def row(name, found):
    apart = "" if found["apart"] is None else f"{found['apart']:.0e}"
    return (
        f"| {name} | {1e3 * found['ours']:.2f} | {1e3 * found['reference']:.2f} | "
        f"**{found['ratio']:.2f}** | {found['over_floor']:.1f} | {found['peak']:.2f} | "
        f"{found['peak_reference']:.2f} | {apart} |"
    )


def main(*names):
    warnings.simplefilter("ignore")
    torch.set_float32_matmul_precision("highest")
    folder = Path(os.environ.get("OUT", Path(__file__).parent))
    wanted = lambda name: not names or name in names
    results: dict[str, Any] = {"torch": torch.__version__}
    rates = device_rates()
    results["rates"] = rates
    print({k: f"{v:.3g}" for k, v in rates.items()}, torch.cuda.get_device_name(0))
    lines = [HEAD]
    print(HEAD)
    measured = {}
    for name, make in CASES.items():
        if not wanted(name):
            continue
        try:
            with time_limit(SECONDS):
                case = make()
                measured[name] = found = measure(case, rates)
                lines.append(row(case.name, found))
                found["host_profile"] = host_profile(case.ours)
                found["device_profile"] = device_profile(case.ours)
                found["device_profile_reference"] = device_profile(case.reference, 6)
                del case
        except Exception as error:
            results[f"failed {name}"] = traceback.format_exc()[-1500:]
            lines.append(f"| {name} | failed: {type(error).__name__}: {error} |"[:300])
        torch.cuda.empty_cache()
        print(lines[-1], flush=True)
        results["cases"] = measured
        write_results(folder, results, lines)
    worst = sorted(
        (name for name in measured if "device_profile" in measured[name]),
        key=lambda name: measured[name]["ratio"],
    )
    for name in worst[:12]:
        print("profile of", name)
        found = measured[name]["device_profile"]
        print("  ", found["kernels"], "kernels,", found["seconds"], "s,", found["host"])
        for line in found["top"][:5]:
            print("  ", line)
        for line in measured[name]["host_profile"][:5]:
            print("   host", line)
    write_results(folder, results, lines)


def write_results(folder, results, lines):
    """Write the table and all figures, after each case."""
    (folder / "gpu_classical.json").write_text(json.dumps(results, indent=1), "utf-8")
    text = [
        "# Classical methods on a CUDA device", "",
        f"Device: {torch.cuda.get_device_name(0)}; torch {torch.__version__}; least "
        f"of {ROUNDS} rounds in turn. Made by "
        "`python -m benchmarks.studies.gpu_classical`, whose text says what is "
        "measured.", "", *lines, "",
    ]  # fmt: skip
    (folder / "gpu_classical.md").write_text("\n".join(text), "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
