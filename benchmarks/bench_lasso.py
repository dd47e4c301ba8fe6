"""The lasso family against its peers: paths, single fits, CV, multi-task, groups.

Celer 0.7.4 has no LassoCV and MultiTaskLasso that work with scikit-learn 1.9.
"""

import numpy as np

from .runner import Case


def regression(size):
    """Centred Gaussian rows, 1 in 100 features true, noise a third of the signal."""
    n, d = size
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, d)))
    w = np.zeros(d)
    w[rng.choice(d, max(d // 100, 3), replace=False)] = rng.standard_normal(
        max(d // 100, 3)
    )
    y = X @ w
    y += rng.standard_normal(n) * y.std() / 3
    X -= X.mean(axis=0)
    y -= y.mean()
    top = np.abs(X.T @ y).max() / n
    return X, y, top * np.geomspace(1, 1e-2, 100)


def text(size):
    """Text-like CSC columns, one entry in a thousand."""
    import scipy.sparse as sp

    n, d = size
    rng = np.random.default_rng(0)
    X = sp.random(n, d, density=1e-3, format="csc", rng=rng)
    X.data = 1 + np.log1p(X.data)
    w = np.zeros(d)
    w[rng.choice(d, 200, replace=False)] = rng.standard_normal(200)
    y = X @ w
    y += rng.standard_normal(n) * y.std() / 3
    top = np.abs(X.T @ y).max() / n
    return X, y, top * np.geomspace(1, 5e-2, 30)


def tasks(size):
    """t targets that share a hundredth of the features."""
    n, d, t = size
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, d)))
    W = np.zeros((d, t))
    W[: max(d // 100, 5)] = rng.standard_normal((max(d // 100, 5), t))
    Y = X @ W
    Y = np.asfortranarray(Y + rng.standard_normal((n, t)) * Y.std() / 3)
    X -= X.mean(axis=0)
    Y -= Y.mean(axis=0)
    return X, Y, np.linalg.norm(X.T @ Y, axis=1).max() / n


def path(module, name="lasso_path", tol=1e-5, **options):
    def run(data):
        X, y, alphas = data
        if module == "celer":
            from celer import celer_path

            return celer_path(X, y, "lasso", alphas=alphas, tol=tol, **options)
        if module == "skglm":
            from skglm import Lasso

            return Lasso(tol=tol, fit_intercept=False).path(X, y, alphas)
        models = __import__(module, fromlist=["linear_model"]).linear_model
        return getattr(models, name)(X, y, alphas=alphas, tol=tol, **options)

    return run


def model(module, name, strength=None, tol=1e-5, **options):
    """Fit an estimator at a share of the largest strength (or choose it by CV)."""

    def run(data):
        import importlib

        where = {"celer": "celer", "skglm": "skglm"}.get(module)
        found = importlib.import_module(where or f"{module}.linear_model")
        X, y, top = data
        top = np.max(top)
        how = (
            dict(options) if strength is None else {"alpha": strength * top, **options}
        )
        return getattr(found, name)(tol=tol, fit_intercept=False, **how).fit(X, y)

    return run


def largest_gap(ratio=1.0):
    """The largest duality gap on the path over |y|^2 / n, computed afresh."""

    def value(data, result):
        X, y, _ = data
        worst = 0.0
        for alpha, w in zip(result[0], np.asarray(result[1]).T, strict=True):
            a, b = len(y) * alpha * ratio, len(y) * alpha * (1 - ratio)
            r = y - X @ w
            square = r @ r + b * (w @ w)
            s = min(1.0, a / max(np.abs(X.T @ r - b * w).max(), 1e-300))
            primal = square / 2 + a * np.abs(w).sum()
            worst = max(worst, primal - s * (y @ r) + s * s / 2 * square)
        return worst / (y @ y)

    return value


def objective(strength, ratio=1.0, groups=None):
    """The penalised objective over |y|^2 / n."""

    def value(data, fit):
        X, Y, top = data
        alpha, W = strength * np.max(top), np.atleast_2d(fit.coef_)
        R = (Y if Y.ndim == 2 else Y[:, None]) - X @ W.T
        wide = W.reshape(-1, groups) if groups else W.T
        size = np.linalg.norm(wide, axis=1).sum()
        total = ratio * size + (1 - ratio) / 2 * np.sum(W * W)
        return (np.sum(R * R) / (2 * len(X)) + alpha * total) / (np.sum(Y * Y) / len(X))

    return value


def held_out(data, fit):
    """The least mean error on the path, relative to the variance of y."""
    return float(fit.mse_path_.mean(axis=-1).min() / np.var(data[1]))


CV = {"cv": 5, "alphas": 100, "eps": 1e-2}
ENET = {"l1_ratio": 0.5}
CASES = [
    Case(
        name="lasso_path",
        what="100 alphas down to alpha_max/100, n=1000 d=10000, 100 true features",
        sizes=[(250, 2500), (500, 5000), (1000, 10_000)],
        data=regression,
        ours=path("pansophy"),
        peers={
            "sklearn": path("sklearn", max_iter=10_000),
            "celer": path("celer"),
            "skglm": path("skglm"),
        },
        quality=largest_gap(),
        tolerance=1e-6,
        target=2.0,
        targets={"celer": 1.0, "skglm": 1.0},
    ),
    Case(
        name="enet_path",
        what="100 alphas down to alpha_max/100, l1_ratio=0.5, n=1000 d=10000",
        sizes=[(250, 2500), (500, 5000), (1000, 10_000)],
        data=regression,
        ours=path("pansophy", "enet_path", l1_ratio=0.5),
        peers={"sklearn": path("sklearn", "enet_path", l1_ratio=0.5, max_iter=10_000)},
        quality=largest_gap(0.5),
        tolerance=1e-5,
        target=2.0,
    ),
    Case(
        name="lasso_path_sparse",
        what="30 alphas down to alpha_max/20 on CSC of density 1e-3, n=10k d=100k",
        sizes=[(2000, 20_000), (5000, 50_000), (10_000, 100_000)],
        data=text,
        ours=path("pansophy", tol=1e-6),  # peers end below what they are asked for
        peers={
            "sklearn": path("sklearn", max_iter=10_000),
            "celer": path("celer"),
            "skglm": path("skglm"),
        },
        quality=largest_gap(),
        tolerance=1e-6,
        target=1.0,
        targets={"celer": 1.0, "skglm": 1.0},
        rounds=3,
    ),
    *(
        Case(
            name=name,
            what=f"l1_ratio=0.5, alpha=alpha_max/50, {shape}",
            sizes=sizes,
            data=regression,
            ours=model("pansophy", "ElasticNet", 0.02, **ENET),
            peers={
                "sklearn": model("sklearn", "ElasticNet", 0.02, **ENET, max_iter=10_000)
            },
            quality=objective(0.02, 0.5, groups=1),
            tolerance=1e-6,
            target=1.0,
        )
        for name, shape, sizes in (
            (
                "elastic_net",
                "n=5000 d=5000",
                [(1000, 1000), (2500, 2500), (5000, 5000)],
            ),
            (
                "elastic_net_tall",
                "n=100k d=100",
                [(5000, 100), (20_000, 100), (100_000, 100)],
            ),
            ("elastic_net_small", "n=200 d=20", [(50, 5), (100, 10), (200, 20)]),
        )
    ),
    Case(
        name="lasso_cv",
        what="5 folds, 100 alphas down to alpha_max/100, n=500 d=2000",
        sizes=[(200, 200), (500, 500), (500, 2000)],
        data=regression,
        ours=model("pansophy", "LassoCV", **CV),
        peers={
            "sklearn": model("sklearn", "LassoCV", **CV, max_iter=10_000, n_jobs=-1),
        },
        quality=held_out,
        tolerance=1e-3,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="multi_task_lasso",
        what="20 targets, alpha=alpha_max/10, n=500 d=5000",
        sizes=[(100, 500, 20), (200, 1000, 20), (500, 5000, 20)],
        data=tasks,
        ours=model("pansophy", "MultiTaskLasso", 0.1),
        peers={
            "sklearn": model("sklearn", "MultiTaskLasso", 0.1, max_iter=10_000),
        },
        quality=objective(0.1),
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="group_lasso",
        what="groups of 10, alpha=alpha_max/10 of the lasso, n=1000 d=10000",
        sizes=[(250, 2500), (500, 5000), (1000, 10_000)],
        data=regression,
        ours=lambda data: model(
            "pansophy",
            "GroupLasso",
            0.3,
            groups=10,
            weights=np.ones(data[0].shape[1] // 10),
        )(data),
        peers={
            "celer": model("celer", "GroupLasso", 0.3, groups=10),
            "skglm": model("skglm", "GroupLasso", 0.3, groups=10),
        },
        quality=objective(0.3, groups=10),
        tolerance=1e-6,
        target=1.0,
    ),
]
