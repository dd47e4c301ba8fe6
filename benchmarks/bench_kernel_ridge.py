"""Kernel ridge regression, Falkon and products with a kernel, and their peers."""

import numpy as np

from .runner import Case


def smooth_target(size):
    """Rows of noise and a smooth function of a few columns."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(n)
    return X, y


def ridge_ours(payload):
    from pansophy.kernel_ridge import KernelRidge

    X, y = payload
    return KernelRidge(0.1, kernel="rbf").fit(X, y)


def ridge_sklearn(payload):
    from sklearn.kernel_ridge import KernelRidge

    X, y = payload
    return KernelRidge(alpha=0.1, kernel="rbf").fit(X, y)


def ridge_cg(payload):
    from pansophy.kernel_ridge import KernelRidge

    X, y = payload
    return KernelRidge(0.1, kernel="rbf", solver="cg", tol=1e-8).fit(X, y)


def dual_residual(payload, model):
    """|(K + alpha I) a - y| / |y|."""
    from pansophy.kernels import RBF

    X, y = payload
    K = RBF(gamma=1 / X.shape[1])
    gap = K.matmul(X, None, model.dual_coef_) + 0.1 * model.dual_coef_ - y
    return float(np.linalg.norm(gap) / np.linalg.norm(y))


def falkon_ours(payload, seed=0):
    from pansophy.kernel_model import FalkonRegressor

    X, y = payload
    model = FalkonRegressor(0.1, n_components=300, random_state=seed, tol=1e-5)
    return model.fit(X, y)


def nystroem_sklearn(payload, seed=0):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    X, y = payload
    model = make_pipeline(
        Nystroem(n_components=300, random_state=seed), Ridge(alpha=0.1)
    )
    return model.fit(X, y)


def squared_error(payload, model):
    X, y = payload
    return float(np.mean((model.predict(X) - y) ** 2))


def product_ours(payload):
    from pansophy.kernels import RBF

    X, y = payload
    return RBF(gamma=1 / X.shape[1]).matmul(X, None, y)


def product_sklearn(payload):
    from sklearn.metrics.pairwise import rbf_kernel

    X, y = payload
    return rbf_kernel(X) @ y


def product_error(payload, result):
    X, y = payload
    D = ((X[:50, None] - X[None]) ** 2).sum(axis=2)
    right = np.exp(-D / X.shape[1]) @ y
    return float(np.abs(result[:50] - right).max() / np.abs(right).max())


CASES = [
    Case(
        name="kernel_ridge",
        what="Gaussian kernel, alpha=0.1, closed form, full: n=5000 d=20",
        sizes=[(1_250, 20), (2_500, 20), (5_000, 20)],
        data=smooth_target,
        ours=ridge_ours,
        peers={"sklearn": ridge_sklearn},
        quality=dual_residual,
        tolerance=1e-9,
        target=3.0,
        rounds=3,
    ),
    Case(
        name="kernel_ridge_cg",
        what="the same by conjugate gradients, no n x n matrix, full: n=5000 d=20",
        sizes=[(1_250, 20), (2_500, 20), (5_000, 20)],
        data=smooth_target,
        ours=ridge_cg,
        peers={"sklearn": ridge_sklearn},
        quality=dual_residual,
        tolerance=1e-7,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="falkon",
        what="Gaussian kernel, 300 centres, full: n=40000 d=10",
        sizes=[(10_000, 10), (20_000, 10), (40_000, 10)],
        data=smooth_target,
        ours=falkon_ours,
        peers={"sklearn": nystroem_sklearn},
        quality=squared_error,
        tolerance=0.01,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="kernel_product",
        what="K v of a Gaussian kernel by tiles, full: n=10000 d=20",
        sizes=[(2_500, 20), (5_000, 20), (10_000, 20)],
        data=smooth_target,
        ours=product_ours,
        peers={"sklearn": product_sklearn},
        quality=product_error,
        tolerance=1e-10,
        target=2.0,
        rounds=3,
    ),
]
