"""Methods that take tensors on a CUDA device against the same on its CPU.

    python -m benchmarks.studies.gpu            writes gpu.md
    python -m benchmarks.studies.gpu gaussian_process [n]
                                        prints the exact Gaussian process against
                                        GPyTorch's, n = 30,000 rows by default

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


def gpytorch_exact(X, y, new, length_scales, outputscale, noise):
    """log p(y) and its gradient, then predictions with variances: GPyTorch, dense."""
    import gpytorch

    class Model(gpytorch.models.ExactGP):
        def __init__(self, likelihood):
            super().__init__(X, y, likelihood)
            self.mean_module = gpytorch.means.ZeroMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.RBFKernel(ard_num_dims=X.shape[1])
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    model = Model(likelihood).to(dtype=X.dtype, device=X.device)
    model.covar_module.base_kernel.lengthscale = length_scales
    model.covar_module.outputscale = outputscale
    likelihood.noise = noise
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)

    def evidence():
        model.train()
        likelihood.train()
        model.zero_grad()
        value = objective(model(X), y) * len(y)
        value.backward()
        return float(value.detach())

    def predict():
        import torch

        model.eval()
        likelihood.eval()
        with torch.no_grad():
            found = model(new)
            return found.mean, found.variance

    return evidence, predict, gpytorch.settings.fast_computations(False, False, False)


def ours_exact(X, y, new, length_scales, outputscale, noise):
    """The same with our exact solver."""
    from pansophy.gaussian_process import ExactSolver
    from pansophy.gaussian_process.exact import GPData
    from pansophy.kernels import RBF, Constant, White

    kernel = Constant(outputscale) * RBF(length_scales.tolist()) + White(noise)
    data = GPData(X, y[:, None], 0.0 * y)
    solver = ExactSolver()
    evidence = lambda: solver.evidence(kernel, data).value

    def predict():
        posterior = solver.condition(kernel, data, None)
        mean, variance = posterior.moments(new)
        return mean[:, 0], variance - noise

    return evidence, predict


def seconds_of(call, wait, rounds=3):
    """The least time of a call over some rounds after a first one, and its answer."""
    call()
    times = []
    for _ in range(rounds):
        wait()
        begun = time.perf_counter()
        answer = call()
        wait()
        times.append(time.perf_counter() - begun)
    return min(times), answer


def gaussian_process(n=30_000, d=8, m=5000, device="cuda"):
    """Exact Gaussian process against GPyTorch's dense path, in both precisions."""
    import torch

    print("| what | precision | ours, s | GPyTorch, s | ratio | apart |")
    print("|---|---|---|---|---|---|")
    for dtype in (torch.float64, torch.float32):
        compare_exact_processes(dtype, n, d, m, device)


def compare_exact_processes(dtype, n, d, m, device):
    """Likelihood and gradient, prediction of m rows, and products K V.

    Prints the ratio of GPyTorch's time to ours and how far apart the answers are; for
    K V the rates of FLOPs and bytes that its time amounts to.
    """
    import torch

    from pansophy.kernels import RBF

    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    word = str(dtype).removeprefix("torch.")
    rng = torch.Generator().manual_seed(0)
    X = torch.rand(n + m, d, generator=rng, dtype=torch.float64) * 4 - 2
    y = torch.sin(2 * X).sum(1)
    y += 0.3 * torch.randn(n + m, generator=rng, dtype=torch.float64)
    X, y = (v.to(device, dtype) for v in (X, y))
    scales = torch.full((d,), 1.5, dtype=dtype, device=device)
    arguments = (X[:n], y[:n], X[n:], scales, 2.0, 0.1)
    ours = [seconds_of(call, wait) for call in ours_exact(*arguments)]
    try:
        evidence, predict, dense = gpytorch_exact(*arguments)
        with dense:
            theirs = [
                seconds_of(evidence, wait),
                # a new likelihood each time, so that predictions factor anew as ours
                seconds_of(lambda: (evidence(), predict())[1], wait),
            ]
    except ImportError as error:
        print(f"GPyTorch is not there: {error}")
        theirs = []
    for i, what in enumerate(("likelihood and gradient", f"predict {m} rows")):
        own, answer = ours[i]
        if not theirs:
            print(f"| {what} | {word} | {own:.3f} | | | |", flush=True)
            continue
        peer, other = theirs[i]
        peer -= theirs[0][0] if i else 0.0
        answer, other = ([v] if i == 0 else v for v in (answer, other))
        gap = max(
            float(abs(a - b).max() / abs(b).max()) if i else abs(a - b) / abs(b)
            for a, b in zip(answer, other, strict=True)
        )
        print(
            f"| {what} | {word} | {own:.3f} | {peer:.3f} | **{peer / own:.2f}** "
            f"| {gap:.0e} |",
            flush=True,
        )
    kernel = RBF(1.5)
    V = torch.ones(n, 16, dtype=dtype, device=device)
    own, _ = seconds_of(lambda: kernel.matmul(X[:n], X[:n], V), wait)
    rate = 2.0 * n * n * (d + 2 + 16) / own / 1e12
    # the tile is written by the product, read and written by exp, read by the product
    traffic = 4 * n * n * X.element_size() / own / 1e9
    print(
        f"| K V, 16 columns | {word} | {own:.4f} | {rate:.2f} TFLOP/s, "
        f"{traffic:.0f} GB/s | | |",
        flush=True,
    )


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
        "`python -m benchmarks.studies.gpu`.",
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
    import sys

    if sys.argv[1:2] == ["gaussian_process"]:
        gaussian_process(*map(int, sys.argv[2:3]))
    else:
        main()
