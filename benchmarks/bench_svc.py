"""Kernel support vector machines against libsvm and scikit-learn-intelex.

Each contender fits and then predicts as many rows as it was fitted to (at most 8,000).
The quality is the dual objective over n, computed in float64 from the fitted
multipliers; of many classes it is the error on the rows predicted.
"""

import warnings
from importlib import import_module

import numpy as np

from .runner import Case

TEST_ROWS = 8_000


def two_classes(size):
    """Ten informative columns, four that depend on them, noise, and wrong labels."""
    from sklearn.datasets import make_classification

    n, d = size
    test = min(n, TEST_ROWS)
    X, y = make_classification(
        n + test,
        d,
        n_informative=10,
        n_redundant=4,
        flip_y=0.05,
        class_sep=0.8,
        random_state=0,
    )
    return X[:n], y[:n], X[n:], y[n:]


def letters(size):
    """Rows like LetterRecognition: 26 classes of four styles each, 16 columns."""
    n, d = size
    test = min(n, TEST_ROWS)
    rng = np.random.default_rng(0)
    styles = rng.normal(size=(26, 4, d))
    y = rng.integers(0, 26, n + test)
    style = rng.integers(0, 4, n + test)
    X = styles[y, style] + 0.9 * rng.normal(size=(n + test, d))
    return X[:n], y[:n], X[n:], y[n:]


def numbers(size):
    """A smooth function of five columns with noise."""
    n, d = size
    test = min(n, TEST_ROWS)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + test, d))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3:5].sum(axis=1)
    y += 0.3 * rng.normal(size=n + test)
    return X[:n], y[:n], X[n:], y[n:]


def fit_and_predict(module, name="SVC", **options):
    """A function that fits a class of that module and predicts the other rows."""

    def run(data):
        X, y, T, _ = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(import_module(module), name)(**options).fit(X, y)
        return model, model.predict(T)

    return run


def dual_objective(C, *, epsilon=None):
    """The dual of one machine over n, in float64, by blocks of support vectors."""

    def value(data, result):
        X, y, _, _ = data
        model, _ = result
        V = X[np.asarray(model.support_)]
        a = np.asarray(model.dual_coef_)[0]
        gamma = 1 / (X.shape[1] * X.var())
        norms = (V * V).sum(axis=1)
        total = 0.0
        for start in range(0, len(V), 1000):
            rows = slice(start, start + 1000)
            off = norms[rows, None] + norms[None, :] - 2 * V[rows] @ V.T
            total += 0.5 * a[rows] @ np.exp(-gamma * np.maximum(off, 0)) @ a
        if epsilon is None:
            return float(total - np.abs(a).sum()) / len(y)
        own = y[np.asarray(model.support_)]
        return float(total + epsilon * np.abs(a).sum() - own @ a) / len(y)

    return value


def test_error(data, result):
    return float(np.mean(result[1] != data[3]))


def peers(name="SVC", **options):
    """libsvm, and Intel's."""
    libraries = {"sklearn": "sklearn.svm", "sklearnex": "sklearnex.svm"}
    return {
        library: fit_and_predict(module, name, **options)
        for library, module in libraries.items()
    }


CASES = [
    Case(
        name="svc_rbf",
        what="RBF kernel, C=1, fit and predict, full: n=8000 d=20",
        sizes=[(1_000, 20), (2_000, 20), (8_000, 20)],
        data=two_classes,
        ours=fit_and_predict("pansophy.svm"),
        peers=peers(),
        quality=dual_objective(1.0),
        tolerance=1e-6,
        target=3.0,
        targets={"sklearnex": 1.2},
    ),
    Case(
        name="svc_rbf_large",
        what="RBF kernel, C=1, fit and predict 8000 rows, full: n=50000 d=20",
        sizes=[(5_000, 20), (20_000, 20), (50_000, 20)],
        data=two_classes,
        ours=fit_and_predict("pansophy.svm"),
        peers=peers(),
        quality=dual_objective(1.0),
        tolerance=1e-6,
        target=1.5,
        rounds=1,
    ),
    Case(
        name="svc_rbf_high_cost",
        what="RBF kernel, C=100, fit and predict, full: n=8000 d=20",
        sizes=[(1_000, 20), (2_000, 20), (8_000, 20)],
        data=two_classes,
        ours=fit_and_predict("pansophy.svm", C=100.0),
        peers=peers(C=100.0),
        quality=dual_objective(100.0),
        tolerance=1e-4,
        target=1.0,
        rounds=3,
    ),
    Case(
        name="svc_26_classes",
        what="RBF kernel, C=1, 26 classes, fit and predict 8000 rows, full: n=20000",
        sizes=[(2_000, 16), (6_000, 16), (20_000, 16)],
        data=letters,
        ours=fit_and_predict("pansophy.svm"),
        peers=peers(),
        quality=test_error,
        tolerance=2e-3,
        target=1.5,
        rounds=1,
    ),
    Case(
        name="svr_rbf",
        what="RBF kernel, C=1, epsilon=0.1, fit and predict, full: n=8000 d=10",
        sizes=[(1_000, 10), (2_000, 10), (8_000, 10)],
        data=numbers,
        ours=fit_and_predict("pansophy.svm", "SVR"),
        peers=peers("SVR"),
        quality=dual_objective(1.0, epsilon=0.1),
        tolerance=1e-6,
        target=2.0,
    ),
]
