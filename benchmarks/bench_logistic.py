"""Logistic regression against its peers: dense, many classes, sparse L2 and L1, CV."""

import numpy as np

from .runner import Case


def classes(size):
    """Correlated Gaussian rows; labels from a softmax of linear scores."""
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


def ours(name="LogisticRegression", **options):
    def fit(data):
        from pansophy import linear_model

        return getattr(linear_model, name)(**options).fit(*data)

    return fit


def sklearn(name="LogisticRegression", **options):
    def fit(data):
        from sklearn import linear_model

        return getattr(linear_model, name)(**options).fit(*data)

    return fit


def sklearnex(**options):
    def fit(data):
        from sklearnex.linear_model import LogisticRegression

        return LogisticRegression(**options).fit(*data)

    return fit


class Plain:
    """A peer's coefficients with the scores that the quality needs."""

    def __init__(self, coef):
        self.coef_ = np.atleast_2d(coef)

    def decision_function(self, X):
        return X @ self.coef_[0]


def celer(data):
    from celer import LogisticRegression

    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-4)
    return Plain(model.fit(*data).coef_)


def skglm(data):
    from skglm import SparseLogisticRegression

    X, y = data
    model = SparseLogisticRegression(alpha=1 / len(y), fit_intercept=False, tol=1e-4)
    return Plain(model.fit(X.tocsc(), y).coef_)


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


def lost_score(data, model):
    """One minus the best mean score over the grid."""
    return 1 - float(np.max(np.mean(next(iter(model.scores_.values())), axis=0)))


SKLEARN = {
    "sklearn": sklearn(max_iter=1000),
    "sklearn newton-cg": sklearn(solver="newton-cg"),
}
CASES = [
    Case(
        name="logistic_dense",
        what="binary L2 logistic regression C=1, n=200k d=100",
        sizes=[(20_000, 100, 2), (60_000, 100, 2), (200_000, 100, 2)],
        data=classes,
        ours=ours(tol=3e-5),  # newton-cholesky goes further than its tol
        peers={
            "sklearn": sklearn(),
            "sklearn newton-cholesky": sklearn(solver="newton-cholesky"),
            "sklearnex": sklearnex(),
        },
        quality=objective(),
        tolerance=1e-6,
        target=2.0,
        targets={"sklearn newton-cholesky": 1.0, "sklearnex": 1.0},
    ),
    Case(
        name="logistic_multinomial",
        what="multinomial L2 logistic regression C=1, n=20k d=500 k=10",
        sizes=[(2000, 100, 10), (20_000, 100, 10), (20_000, 500, 10)],
        data=classes,
        ours=ours(),
        peers={**SKLEARN, "sklearnex": sklearnex(max_iter=1000)},
        quality=objective(),
        tolerance=1e-5,
        target=2.0,
        targets={"sklearn newton-cg": 1.0, "sklearnex": 1.0},
    ),
    Case(
        name="logistic_sparse_l2",
        what="binary L2 logistic regression C=1 on text-like CSR, n=50k d=100k",
        sizes=[(6000, 15_000), (20_000, 50_000), (50_000, 100_000)],
        data=words,
        ours=ours(),
        peers={**SKLEARN, "sklearn liblinear": sklearn(solver="liblinear")},
        quality=objective(),
        tolerance=1e-5,
        target=2.0,
        targets={"sklearn newton-cg": 1.0, "sklearn liblinear": 1.0},
    ),
    Case(
        name="logistic_sparse_l1",
        what="binary L1 logistic regression C=1 on text-like CSR, n=50k d=100k",
        sizes=[(6000, 15_000), (20_000, 50_000), (50_000, 100_000)],
        data=words,
        ours=ours(l1_ratio=1.0, fit_intercept=False),
        peers={
            "sklearn liblinear": sklearn(
                l1_ratio=1.0, solver="liblinear", fit_intercept=False
            ),
            "celer": celer,
            "skglm": skglm,
        },
        quality=objective(1.0),
        tolerance=1e-5,
        target=1.0,
        targets={"celer": 1.0, "skglm": 1.0},
    ),
    Case(
        name="logistic_cv",
        what="10 Cs, 5 folds, binary L2, n=20k d=50",
        sizes=[(2000, 50, 2), (6000, 50, 2), (20_000, 50, 2)],
        data=classes,
        ours=ours("LogisticRegressionCV"),
        peers={"sklearn": sklearn("LogisticRegressionCV")},
        quality=lost_score,
        tolerance=1e-3,
        target=2.0,
    ),
]
