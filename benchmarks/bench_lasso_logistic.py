"""Lasso path, lasso, elastic net and logistic regression against their peers."""

import numpy as np

from .runner import Case

# -- lasso and elastic net ---------------------------------------------------------


def regression(size):
    """Centred Gaussian rows, 1 in 100 features true, noise a third of the signal."""
    n, d = size
    rng = np.random.default_rng(0)
    X = np.asfortranarray(rng.standard_normal((n, d)))
    w = np.zeros(d)
    w[rng.choice(d, d // 100, replace=False)] = rng.standard_normal(d // 100)
    y = X @ w
    y += rng.standard_normal(n) * y.std() / 3
    X -= X.mean(axis=0)
    y -= y.mean()
    top = np.abs(X.T @ y).max() / n
    return X, y, top * np.geomspace(1, 1e-2, 100)


def path_ours(data, tol=1e-5):
    from pansophy.linear_model import lasso_path

    X, y, alphas = data
    return lasso_path(X, y, alphas=alphas, tol=tol)


def path_sklearn(data, tol=1e-5):
    from sklearn.linear_model import lasso_path

    X, y, alphas = data
    return lasso_path(X, y, alphas=alphas, tol=tol, max_iter=10_000)


def path_celer(data, tol=1e-5):
    from celer import celer_path

    X, y, alphas = data
    return celer_path(X, y, "lasso", alphas=alphas, tol=tol)


def largest_gap(data, result):
    """The largest duality gap on the path over |y|^2 / n, computed afresh."""
    X, y, _ = data
    worst = 0.0
    for alpha, w in zip(result[0], np.asarray(result[1]).T, strict=True):
        r = y - X @ w
        s = min(1.0, len(y) * alpha / np.abs(X.T @ r).max())
        primal = r @ r / 2 + len(y) * alpha * np.abs(w).sum()
        worst = max(worst, primal - s * (y @ r) + s * s / 2 * (r @ r))
    return worst / (y @ y)


def enet_ours(data):
    from pansophy.linear_model import ElasticNet

    X, y, alphas = data
    return ElasticNet(alpha=2 * alphas[-1], tol=1e-5, fit_intercept=False).fit(X, y)


def enet_sklearn(data):
    from sklearn.linear_model import ElasticNet

    X, y, alphas = data
    model = ElasticNet(alpha=2 * alphas[-1], tol=1e-5, fit_intercept=False)
    return model.set_params(max_iter=10_000).fit(X, y)


def enet_objective(data, model):
    X, y, alphas = data
    w, r = model.coef_, y - X @ model.coef_
    size = 0.5 * np.abs(w).sum() + 0.25 * w @ w
    return (r @ r / (2 * len(y)) + 2 * alphas[-1] * size) / (y @ y / len(y))


# -- logistic regression -----------------------------------------------------------


def classes(size):
    n, d, k = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    scores = X @ (2 * rng.standard_normal((d, k)) / np.sqrt(d))
    return X, np.argmax(scores + rng.gumbel(size=(n, k)), axis=1)


def words(size):
    """Text-like rows: about 50 of d words each, frequent ones more often."""
    import scipy.sparse as sp

    n, d = size
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, size=(n, 50)) - 1, d - 1).ravel()
    rows = np.repeat(np.arange(n), 50)
    X = sp.csr_matrix((np.ones(n * 50), (rows, columns)), shape=(n, d))
    X.data = 1 + np.log(X.data)
    w = rng.standard_normal(d) * (rng.uniform(size=d) < 0.05)
    f = X @ w
    return X, (f + rng.logistic(size=n) > np.median(f)).astype(int)


def ours(**options):
    def fit(data):
        from pansophy.linear_model import LogisticRegression

        return LogisticRegression(**options).fit(*data)

    return fit


def sklearn(**options):
    def fit(data):
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression(**options).fit(*data)

    return fit


def sklearnex(**options):
    def fit(data):
        from sklearnex.linear_model import LogisticRegression

        return LogisticRegression(**options).fit(*data)

    return fit


def objective(ratio=0.0):
    """Penalised negative log-likelihood over n, C = 1."""

    def value(data, model):
        X, y = data
        F = model.decision_function(X)
        if F.ndim == 1:
            loss = np.logaddexp(0, F) - y * F
        else:
            own = F[np.arange(len(y)), y]
            loss = np.logaddexp.reduce(F, axis=1) - own
        W = model.coef_
        size = ratio * np.abs(W).sum() + (1 - ratio) / 2 * (W**2).sum()
        return float(loss.sum() + size) / len(y)

    return value


CASES = [
    Case(
        name="lasso_path",
        what="100 alphas down to alpha_max/100, n=1000 d=10000, 100 true features",
        sizes=[(250, 2500), (500, 5000), (1000, 10_000)],
        data=regression,
        ours=path_ours,
        peers={"sklearn": path_sklearn, "celer": path_celer},
        quality=largest_gap,
        tolerance=1e-6,
        target=2.0,
        targets={"celer": 1.0},
    ),
    Case(
        name="elastic_net",
        what="l1_ratio=0.5, alpha=alpha_max/100, n=5000 d=5000",
        sizes=[(1000, 1000), (2500, 2500), (5000, 5000)],
        data=regression,
        ours=enet_ours,
        peers={"sklearn": enet_sklearn},
        quality=enet_objective,
        tolerance=1e-6,
        target=1.0,
    ),
    Case(
        name="logistic_dense",
        what="binary L2 logistic regression C=1, n=200k d=100",
        sizes=[(20_000, 100, 2), (60_000, 100, 2), (200_000, 100, 2)],
        data=classes,
        ours=ours(),
        peers={"sklearn": sklearn(), "sklearnex": sklearnex()},
        quality=objective(),
        tolerance=1e-6,
        target=1.5,
    ),
    Case(
        name="logistic_multinomial",
        what="multinomial L2 logistic regression C=1, n=20k d=100 k=10",
        sizes=[(2000, 100, 10), (6000, 100, 10), (20_000, 100, 10)],
        data=classes,
        ours=ours(tol=2e-5),  # sklearnex goes further than its tol
        peers={"sklearn": sklearn(), "sklearnex": sklearnex()},
        quality=objective(),
        tolerance=1e-5,
        target=1.0,
    ),
    Case(
        name="logistic_sparse_l2",
        what="binary L2 logistic regression C=1 on text-like CSR, n=20k d=50k",
        sizes=[(2000, 5000), (6000, 15_000), (20_000, 50_000)],
        data=words,
        ours=ours(),
        peers={
            "sklearn": sklearn(max_iter=500),
            "sklearn newton-cg": sklearn(solver="newton-cg"),
        },
        quality=objective(),
        tolerance=1e-5,
        target=1.0,
    ),
    Case(
        name="logistic_sparse_l1",
        what="binary L1 logistic regression C=1 on text-like CSR, n=20k d=50k",
        sizes=[(2000, 5000), (6000, 15_000), (20_000, 50_000)],
        data=words,
        ours=ours(l1_ratio=1.0, fit_intercept=False),
        peers={
            "sklearn liblinear": sklearn(
                l1_ratio=1.0, solver="liblinear", fit_intercept=False
            )
        },
        quality=objective(1.0),
        tolerance=1e-5,
        target=1.0,
    ),
]
