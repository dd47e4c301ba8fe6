"""Bayesian linear models and feature selection."""

import warnings

import numpy as np

from .runner import Case


def regression(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, X @ w + 1 + rng.normal(size=n)


def of(module, name, **how):
    """A function that fits an estimator of a library to a payload."""

    def run(payload):
        library = __import__(module, fromlist=[name])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return getattr(library, name)(**how).fit(*payload)

    return run


def evidence(payload, model):
    """Minus the log evidence at the strengths that were found, per row."""
    X, y = payload
    A, t = X - X.mean(axis=0), y - y.mean()
    n, d = A.shape
    lam = np.broadcast_to(np.asarray(model.lambda_, float), (d,))
    P = model.alpha_ * A.T @ A + np.diag(lam)
    m = np.linalg.solve(P, model.alpha_ * A.T @ t)
    r = t - A @ m
    fit = model.alpha_ * r @ r + lam @ m**2
    log = n * np.log(model.alpha_) + np.log(lam).sum() - np.linalg.slogdet(P)[1] - fit
    return float(-log / 2 / n)


def chosen_rss(payload, model):
    """Residual of least squares on the columns that were kept, per row."""
    X, y = payload
    A = np.column_stack([np.ones(len(X)), X[:, model.get_support()]])
    r = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return float(r @ r) / len(y)


def classes(size):
    X, y = regression(size)
    return X, (y > np.median(y)).astype(int)


def missed(payload, model):
    """How many of the ten columns that correlate most are not kept."""
    X, y = payload
    best = np.argsort(-np.abs(np.corrcoef(X.T, y)[-1, :-1]))[:3]
    return float(np.sum(~model.get_support()[best]))


def their_sequential(payload):
    from sklearn.feature_selection import SequentialFeatureSelector
    from sklearn.linear_model import LinearRegression

    return SequentialFeatureSelector(LinearRegression(), n_features_to_select=5).fit(
        *payload
    )


def our_sequential(payload):
    from pansophy.feature_selection import SequentialFeatureSelector
    from pansophy.linear_model import LinearRegression

    return SequentialFeatureSelector(LinearRegression(), n_features_to_select=5).fit(
        *payload
    )


def their_information(payload):
    from sklearn.feature_selection import SelectKBest, mutual_info_classif

    return SelectKBest(mutual_info_classif, k=10).fit(*payload)


CASES = [
    Case(
        name="bayesian_ridge",
        what="evidence of noise and penalty, n=100k d=100",
        sizes=[(2_000, 50), (20_000, 100), (100_000, 100)],
        data=regression,
        ours=of("pansophy.linear_model", "BayesianRidge"),
        peers={"sklearn": of("sklearn.linear_model", "BayesianRidge")},
        quality=evidence,
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="ard",
        what="one strength per column, n=2000 d=100",
        sizes=[(500, 30), (1_000, 60), (2_000, 100)],
        data=regression,
        ours=of("pansophy.linear_model", "ARDRegression"),
        peers={"sklearn": of("sklearn.linear_model", "ARDRegression")},
        quality=evidence,
        tolerance=1e-4,
        target=2.0,
    ),
    Case(
        name="forward_selection",
        what="5 of d columns for least squares, 5 folds, n=1000 d=30",
        sizes=[(200, 10), (500, 20), (1_000, 30)],
        data=regression,
        ours=our_sequential,
        peers={"sklearn": their_sequential},
        quality=chosen_rss,
        tolerance=1e-9,
        target=5.0,
    ),
    Case(
        name="information_filter",
        what="10 columns by mutual information, two classes, n=20k d=30",
        sizes=[(2_000, 20), (5_000, 30), (20_000, 30)],
        data=classes,
        ours=of(
            "pansophy.feature_selection",
            "MutualInformationFilter",
            n_features_to_select=10,
        ),
        peers={"sklearn": their_information},
        quality=missed,
        tolerance=0.0,
        target=2.0,
    ),
]
