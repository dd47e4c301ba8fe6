"""Gaussian processes against scikit-learn and GPyTorch.

    python -m benchmarks.bench_gaussian_process growth
        processor time and peak memory of every solver at three sizes
    python -m benchmarks.bench_gaussian_process exact [n]
        fitted hyper-parameters against scikit-learn and GPyTorch, in turns
    python -m benchmarks.bench_gaussian_process many [n]
        n rows of 8 columns against GPyTorch's SVGP at equal processor time

These count processor time, so that they can run on a busy machine.
"""

import subprocess
import sys
import time
import warnings

import numpy as np

from .runner import Case


def smooth_surface(size):
    """A smooth function of d columns with noise."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, d))
    return X, np.sin(2 * X).sum(axis=1) + 0.1 * rng.normal(size=n)


def many_rows(size):
    """A function of interactions; the last 2,000 rows are for the quality."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (n + 2000, d))
    f = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + np.cos(2 * X[:, 3] + X[:, 4])
    return X, f + 0.2 * rng.normal(size=n + 2000)


def two_classes(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (n, d))
    f = 3 * np.sin(2 * X[:, 0]) + 2 * X[:, 1]
    return X, (f + rng.logistic(size=n) > 0).astype(int)


def kernel_of(module, d, white):
    k = __import__(f"{module}", fromlist=["RBF"])
    if module == "pansophy.kernels":
        base = k.Constant(1.0) * k.RBF(np.ones(d))
        return base + k.White(1.0) if white else base
    base = k.ConstantKernel(1.0) * k.RBF(np.ones(d))
    return base + k.WhiteKernel(1.0) if white else base


def regression(package, kernels):
    """A fit of the kernel's parameters; both are given the same kernel."""

    def run(data):
        module = __import__(package, fromlist=["GaussianProcessRegressor"])
        kernel = kernel_of(kernels, data[0].shape[1], white=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module.GaussianProcessRegressor(kernel, random_state=0).fit(*data)

    return run


def classification(package, kernels):
    def run(data):
        module = __import__(package, fromlist=["GaussianProcessClassifier"])
        kernel = kernel_of(kernels, data[0].shape[1], white=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return module.GaussianProcessClassifier(kernel, random_state=0).fit(*data)

    return run


def gpytorch_regression(data):
    """GPyTorch with L-BFGS, exact by Cholesky, until the loss changes by 1e-6."""
    import gpytorch
    import torch

    X, y = (torch.as_tensor(a) for a in data)

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
    model = Model(likelihood).double()
    model.train()
    objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    optimizer = torch.optim.LBFGS(
        model.parameters(),
        max_iter=100,
        tolerance_change=1e-9,
        line_search_fn="strong_wolfe",
    )

    def closure():
        optimizer.zero_grad()
        loss = -objective(model(X), y)
        loss.backward()
        return loss

    with gpytorch.settings.fast_computations(False, False, False):
        optimizer.step(closure)
        value = float(objective(model(X), y).detach())
        model.log_marginal_likelihood_value_ = value * len(y)
    return model


def negative_evidence(data, model):
    """Per row; lower is better."""
    return -float(model.log_marginal_likelihood_value_) / len(data[1])


def fit_and_predict_many(data):
    from pansophy.gaussian_process import GaussianProcessRegressor

    X, y = data
    model = GaussianProcessRegressor("auto", normalize_y=True, random_state=0)
    model.fit(X[:-2000], y[:-2000])
    return model.predict(X[-2000:], return_std=True)


def ridge_of_features(data):
    """Nystroem features and Bayesian ridge regression: the usual way at this size."""
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import BayesianRidge
    from sklearn.pipeline import make_pipeline

    X, y = data
    model = make_pipeline(
        Nystroem(gamma=0.5, n_components=500, random_state=0), BayesianRidge()
    )
    model.fit(X[:-2000], y[:-2000])
    return model.predict(X[-2000:], return_std=True)


def negative_log_density(data, predicted):
    mean, std = predicted
    z = (data[1][-2000:] - mean) / std
    return float(np.mean(0.5 * z**2 + np.log(std) + 0.5 * np.log(2 * np.pi)))


def gpytorch_stochastic(data, seconds, inducing=500, batch=1024):
    """GPyTorch's SVGP by Adam until so much processor time is spent."""
    import gpytorch
    import torch

    X, y = (torch.as_tensor(a, dtype=torch.float32) for a in data)
    location, scale = y[:-2000].mean(), y[:-2000].std()
    target = (y - location) / scale
    train = torch.utils.data.TensorDataset(X[:-2000], target[:-2000])
    loader = torch.utils.data.DataLoader(train, batch_size=batch, shuffle=True)
    torch.manual_seed(0)

    class Model(gpytorch.models.ApproximateGP):
        def __init__(self):
            Z = X[torch.randperm(len(train))[:inducing]]
            q = gpytorch.variational.CholeskyVariationalDistribution(inducing)
            super().__init__(gpytorch.variational.VariationalStrategy(self, Z, q))
            self.mean_module = gpytorch.means.ConstantMean()
            self.covar_module = gpytorch.kernels.ScaleKernel(
                gpytorch.kernels.MaternKernel(nu=2.5, ard_num_dims=X.shape[1])
            )

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(
                self.mean_module(x), self.covar_module(x)
            )

    model = Model()
    likelihood = gpytorch.likelihoods.GaussianLikelihood()
    objective = gpytorch.mlls.VariationalELBO(likelihood, model, len(train))
    parameters = [*model.parameters(), *likelihood.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.01)
    begun = time.process_time()
    steps = 0
    while time.process_time() - begun < seconds:
        for x, t in loader:
            optimizer.zero_grad()
            (-objective(model(x), t)).backward()
            optimizer.step()
            steps += 1
            if time.process_time() - begun >= seconds:
                break
    model.eval()
    with torch.no_grad():
        found = likelihood(model(X[-2000:]))
    mean = (found.mean * scale + location).numpy()
    return (mean, (found.stddev * scale).numpy()), steps


def compare_many_rows(n=100_000):
    """Ours, then SVGP with the same processor time; log losses of 2,000 new rows."""
    data = many_rows((n, 8))
    begun, wall = time.process_time(), time.perf_counter()
    ours = fit_and_predict_many(data)
    spent = time.process_time() - begun
    wall = time.perf_counter() - wall
    loss = negative_log_density(data, ours)
    print(f"ours: {spent:.1f} s of a processor ({wall:.0f} s), log loss {loss:.4f}")
    theirs, steps = gpytorch_stochastic(data, spent)
    loss = negative_log_density(data, theirs)
    print(f"GPyTorch SVGP, {steps} steps in the same time: log loss {loss:.4f}")


def compare_exact_fits(n=2000, rounds=2):
    """Processor time of a fit, the least of some rounds in turns, and its quality."""
    data = smooth_surface((n, 3))
    fits = {
        "ours": regression("pansophy.gaussian_process", "pansophy.kernels"),
        "sklearn": regression(
            "sklearn.gaussian_process", "sklearn.gaussian_process.kernels"
        ),
        "gpytorch": gpytorch_regression,
    }
    least = dict.fromkeys(fits, np.inf)
    quality = {}
    for _ in range(rounds):
        for name, fit in fits.items():
            begun = time.process_time()
            model = fit(data)
            least[name] = min(least[name], time.process_time() - begun)
            quality[name] = negative_evidence(data, model)
    for name, seconds in least.items():
        ratio = seconds / least["ours"]
        print(f"{name}: {seconds:.2f} s, {ratio:.2f} x, {quality[name]:.6f} a row")


def solver_problem(name, n):
    """Rows, targets and a model for one solver."""
    from pansophy.gaussian_process import (
        GaussianProcessRegressor,
        InducingSolver,
        IterativeSolver,
        VariationalSolver,
    )
    from pansophy.kernels import RBF, Matern, White

    rng = np.random.default_rng(0)
    d = 1 if name == "chain" else 2
    X = rng.uniform(0, 10, (n, d))
    if name == "grid":
        side = int(np.sqrt(n))
        axis = np.linspace(0, 10, side)
        X = np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2)
    y = np.sin(X).sum(axis=1) + 0.2 * rng.normal(size=len(X))
    base = Matern(1.0, nu=2.5) if name == "chain" else RBF(np.ones(d))
    solvers = {
        "inducing": InducingSolver(100, learn_inputs=False),
        "iterative": IterativeSolver(rank=50),
        "variational": VariationalSolver(100, batch_size=1024, max_steps=100),
    }
    likelihood = "student_t" if name == "laplace" else "normal"
    noise = 1.0 * base if name == "laplace" else 1.0 * base + White(0.1)
    model = GaussianProcessRegressor(
        noise,
        solver=solvers.get(name, name),
        random_state=0,
        likelihood=likelihood,
    )
    return X, y, model


GROWTH = {
    "exact": (500, 1000, 2000),
    "laplace": (250, 500, 1000),
    "iterative": (500, 1000, 2000),
    "inducing": (2000, 4000, 8000),
    "variational": (4000, 8000, 16_000),
    "neighbors": (4000, 8000, 16_000),
    "chain": (4000, 16_000, 64_000),
    "grid": (2500, 10_000, 40_000),
}


def measure_growth(name, n):
    """One fit and prediction, in this process: processor seconds and MiB."""
    from .runner import forget_peak, peak

    X, y, model = solver_problem(name, 300)
    model.fit(X, y).predict(X[:10], return_std=True)  # compile and import
    X, y, model = solver_problem(name, n)
    before = forget_peak()
    begun = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    fitted = time.process_time()
    model.predict(X[:1000], return_std=True)
    done = time.process_time()
    print(
        f"| {name} | {len(X)} | {fitted - begun:.2f} | {done - fitted:.2f} "
        f"| {peak() - before:.0f} |",
        flush=True,
    )


def print_growth(names=()):
    """The table of `measure_growth`, each row from a process of its own."""
    print("| solver | rows | fit, s | predict 1000, s | MiB |")
    print("|---|---|---|---|---|", flush=True)
    for name in names or GROWTH:
        for n in GROWTH[name]:
            call = [sys.executable, "-m", "benchmarks.bench_gaussian_process"]
            subprocess.run([*call, "one", name, str(n)], check=False)


CASES = [
    Case(
        name="gaussian_process_exact",
        what="RBF with a scale per column and noise, fitted, full: n=2000 d=3",
        sizes=[(500, 3), (1000, 3), (2000, 3)],
        data=smooth_surface,
        ours=regression("pansophy.gaussian_process", "pansophy.kernels"),
        peers={
            "sklearn": regression(
                "sklearn.gaussian_process", "sklearn.gaussian_process.kernels"
            ),
            "gpytorch": gpytorch_regression,
        },
        quality=negative_evidence,
        tolerance=1e-4,  # a weak prior on the kernel's parameters
        target=5.0,
        rounds=3,
    ),
    Case(
        name="gaussian_process_classifier",
        what="Laplace, RBF with a scale per column, fitted, full: n=1000 d=3",
        sizes=[(250, 3), (500, 3), (1000, 3)],
        data=two_classes,
        ours=classification("pansophy.gaussian_process", "pansophy.kernels"),
        peers={
            "sklearn": classification(
                "sklearn.gaussian_process", "sklearn.gaussian_process.kernels"
            )
        },
        quality=negative_evidence,
        tolerance=1e-2,  # a weak prior on the kernel's parameters
        target=2.0,
        rounds=3,
    ),
    Case(
        name="gaussian_process_many_rows",
        what="fit and predict 2000 rows with intervals, full: n=100000 d=8",
        sizes=[(10_000, 8), (30_000, 8), (100_000, 8)],
        data=many_rows,
        ours=fit_and_predict_many,
        peers={"nystroem + ridge": ridge_of_features},
        written=("nystroem + ridge",),
        quality=negative_log_density,
        target=0.5,
        rounds=3,
    ),
]


if __name__ == "__main__":
    what, *rest = sys.argv[1:] or ["growth"]
    if what == "one":
        measure_growth(rest[0], int(rest[1]))
    elif what == "exact":
        compare_exact_fits(*map(int, rest))
    elif what == "many":
        compare_many_rows(*map(int, rest))
    else:
        print_growth(rest)
