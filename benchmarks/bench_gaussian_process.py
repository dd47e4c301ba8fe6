"""Gaussian processes against scikit-learn and GPyTorch."""

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
        model.log_marginal_likelihood_value_ = float(objective(model(X), y)) * len(y)
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
        quality=negative_log_density,
        target=0.5,
        rounds=3,
    ),
]
