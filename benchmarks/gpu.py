"""Methods that take tensors on a CUDA device against the same on its CPU.

    python -m benchmarks.gpu            writes benchmarks/gpu.md

Each case is fitted to a NumPy array and to the same rows as a CUDA tensor, several
times in turn; the ratio is that of the medians, the difference that of coefficients,
means, components or objectives relative to the largest of them.
"""

import platform
import time
import warnings
from pathlib import Path

import numpy as np

ROUNDS = 5
PARAMETERS = (
    "coef_", "theta_", "cluster_centers_", "means_", "components_", "eigenvalues_",
    "kl_divergence_",
)  # fmt: skip


def numbers(n, d, dtype):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d), dtype=dtype)
    w = rng.standard_normal(d) / np.sqrt(d)
    return X, (X @ w + 0.5 * rng.standard_normal(n)).astype(dtype)


def counts(n, d, dtype):
    X, y = numbers(n, d, dtype)
    return X, np.random.default_rng(1).poisson(np.exp(0.3 * y)).astype(dtype)


def classes(k):
    def make(n, d, dtype):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((n, d), dtype=dtype)
        W = rng.standard_normal((d, k)) / np.sqrt(d)
        return X, np.argmax(X @ W + rng.gumbel(size=(n, k)), axis=1)

    return make


def groups(k):
    """Rows around k centres."""

    def make(n, d, dtype):
        rng = np.random.default_rng(0)
        z = rng.integers(0, k, n)
        X = 3 * rng.standard_normal((k, d))[z] + rng.standard_normal((n, d))
        return X.astype(dtype), z

    return make


def directions(n, d, dtype):
    """Rows whose columns vary less and less."""
    rng = np.random.default_rng(0)
    X = (
        rng.standard_normal((n, d), dtype=dtype)
        * np.arange(1, d + 1, dtype=dtype) ** -1
    )
    return X, np.zeros(n)


def starting(make, k, **how):
    """An estimator that starts from the first k rows of `groups(k)`."""
    from pansophy.cluster import KMeans

    def build(X):
        C = np.asarray(X[:k].cpu() if hasattr(X, "cpu") else X[:k])
        if make is KMeans:
            return make(k, init=C, **how)
        eye = np.stack([np.eye(C.shape[1])] * k)
        given = {"weights_init": np.full(k, 1 / k), "precisions_init": eye}
        return make(k, means_init=C, **given, **how)

    return build


def linear(name, **how):
    from pansophy import linear_model

    return lambda: getattr(linear_model, name)(**how)


def cases():
    """(name, maker, data, n, d, dtype)."""
    from pansophy import discriminant_analysis as da
    from pansophy.cluster import KMeans
    from pansophy.decomposition import PCA, KernelPCA
    from pansophy.kernels import RBF
    from pansophy.manifold import TSNE
    from pansophy.mixture import GaussianMixture
    from pansophy.naive_bayes import GaussianNB
    from pansophy.svm import LinearSVC

    f4, f8 = np.float32, np.float64
    rows = 2_000_000
    return [
        ("LinearRegression", linear("LinearRegression"), numbers, rows, 100, f8),
        ("LinearRegression", linear("LinearRegression"), numbers, rows, 100, f4),
        ("Ridge", linear("Ridge"), numbers, 500_000, 500, f8),
        ("RidgeCV", linear("RidgeCV"), numbers, 500_000, 200, f8),
        ("BayesianRidge", linear("BayesianRidge"), numbers, 500_000, 200, f8),
        ("LogisticRegression", linear("LogisticRegression"), classes(2), rows, 100, f4),
        (
            "LogisticRegression, 10 classes",
            linear("LogisticRegression"),
            classes(10),
            500_000,
            200,
            f4,
        ),
        ("PoissonRegressor", linear("PoissonRegressor"), counts, rows, 50, f4),
        ("LDA", da.LinearDiscriminantAnalysis, classes(10), rows, 100, f4),
        ("QDA", da.QuadraticDiscriminantAnalysis, classes(5), rows, 50, f4),
        ("GaussianNB", GaussianNB, classes(5), rows, 50, f4),
        ("LinearSVC", lambda: LinearSVC(dual=False), classes(2), 500_000, 100, f8),
        (
            "KMeans, k=64, 20 iterations",
            starting(KMeans, 64, max_iter=20, tol=0.0),
            groups(64),
            rows,
            32,
            f4,
        ),
        (
            "GaussianMixture, k=16, 20 iterations",
            starting(GaussianMixture, 16, max_iter=20, tol=0.0),
            groups(16),
            1_000_000,
            16,
            f4,
        ),
        ("PCA, 20 of 100", lambda: PCA(20), directions, rows, 100, f4),
        (
            "PCA, randomised, 20 of 2000",
            lambda: PCA(20, svd_solver="randomized", random_state=0),
            directions,
            100_000,
            2000,
            f4,
        ),
        (
            "KernelPCA, 10 of 8000",
            lambda: KernelPCA(10, kernel=RBF(5.0)),
            groups(10),
            8000,
            50,
            f4,
        ),
        (
            "TSNE, exact, 500 iterations",
            lambda: TSNE(method="exact", max_iter=500, init="random", random_state=0),
            groups(10),
            3000,
            50,
            f4,
        ),
    ]  # fmt: skip


def parameters(model):
    """Coefficients, means, components or an objective as one NumPy vector."""
    for name in PARAMETERS:
        if hasattr(model, name):
            value = getattr(model, name)
            value = value.cpu() if hasattr(value, "cpu") else value
            return np.asarray(value, dtype=float).ravel()
    raise AttributeError("nothing to compare")


def built(make, X):
    """A fresh estimator, by a maker that may want to see the rows."""
    return make(X) if getattr(make, "__name__", "") == "build" else make()


def timed(make, X, y, wait):
    model = built(make, X)
    begun = time.perf_counter()
    model.fit(X, y)
    wait()
    return time.perf_counter() - begun, parameters(model)


def measure(case):
    import torch

    name, make, data, n, d, dtype = case
    X, y = data(n, d, dtype)
    Xg, yg = torch.as_tensor(X).cuda(), torch.as_tensor(y).cuda()
    for a, b in ((X, y), (Xg, yg)):  # compile and warm up
        built(make, a).fit(a[:2000], b[:2000])
    cpu, gpu = [], []
    for _ in range(ROUNDS):
        seconds, ours = timed(make, X, y, lambda: None)
        cpu.append(seconds)
        seconds, theirs = timed(make, Xg, yg, torch.cuda.synchronize)
        gpu.append(seconds)
    apart = np.abs(ours - theirs).max() / np.abs(ours).max()
    a, b = float(np.median(cpu)), float(np.median(gpu))
    word = f"{n} x {d} {np.dtype(dtype).name}"
    return f"| {name} | {word} | {a:.3f} | {b:.4f} | **{a / b:.1f}** | {apart:.0e} |"


def main():
    import os

    import torch

    warnings.simplefilter("ignore")
    lines = [
        "# CUDA against CPU",
        "",
        f"Fits to NumPy arrays and to CUDA tensors of the same rows, in turn, medians "
        f"of {ROUNDS}. Device: {torch.cuda.get_device_name(0)}; CPU: "
        f"{os.cpu_count()} cores, {platform.machine()}. *Apart* is the largest "
        "difference of coefficients over the largest coefficient. LinearSVC fetches "
        "the rows to the CPU. Made by "
        "`python -m benchmarks.gpu`.",
        "",
        "| method | rows | CPU, s | CUDA, s | ratio | apart |",
        "|---|---|---|---|---|---|",
    ]
    for case in cases():
        try:
            lines.append(measure(case))
        except Exception as error:  # the other rows are still worth having
            lines.append(f"| {case[0]} | | | | failed: {error} | |")
        print(lines[-1], flush=True)
    out = Path(os.environ.get("OUT", Path(__file__).parent)) / "gpu.md"
    out.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
