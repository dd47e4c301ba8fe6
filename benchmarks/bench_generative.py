"""Naive Bayes and discriminant analysis against their peers: fit and predict."""

import numpy as np

from .runner import Case


def normal_rows(size):
    """Rows of k classes with some scatter of the means."""
    n, d, k = size
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d)) + 0.3 * rng.standard_normal((k, d))[y]
    return X, y


def category_rows(size):
    n, d, k = size
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    return np.minimum(rng.poisson(1.0 + 0.3 * y[:, None], (n, d)), 7), y


def documents(size):
    """Counts of words, 50 a row, some words more frequent than others."""
    import scipy.sparse as sp

    n, d, k = size
    rng = np.random.default_rng(0)
    y = rng.integers(0, k, n)
    words = d * rng.random((n, 50)) ** (1.5 + y[:, None] / k)
    ends = np.arange(0, 50 * n + 1, 50)
    X = sp.csr_matrix((np.ones(50 * n), words.astype(np.int32).ravel(), ends), (n, d))
    X.sum_duplicates()
    return X, y


def log_loss(payload, model):
    """Mean of -log P(y | x) over the first rows."""
    X, y = payload
    rows = min(X.shape[0], 20_000)
    L = model.predict_log_proba(X[:rows])
    return -float(
        np.mean(L[np.arange(rows), np.searchsorted(model.classes_, y[:rows])])
    )


def both(library, package, name, **options):
    """Fit and predict all rows with a class of a library."""

    def run(payload):
        import importlib

        cls = getattr(importlib.import_module(f"{library}.{package}"), name)
        X, y = payload
        model = cls(**options).fit(X, y)
        model.predict(X)
        return model

    return run


def fit_only(library, package, name, **options):
    def run(payload):
        import importlib

        cls = getattr(importlib.import_module(f"{library}.{package}"), name)
        return cls(**options).fit(*payload)

    return run


def case(name, what, sizes, data, cls, make=both, target=2.0, package="naive_bayes"):
    return Case(
        name=name,
        what=what,
        sizes=sizes,
        data=data,
        ours=make("pansophy", package, cls),
        peers={"sklearn": make("sklearn", package, cls)},
        quality=log_loss,
        tolerance=1e-9,
        target=target,
    )


TALL = [(5_000, 50, 5), (50_000, 50, 5), (500_000, 50, 5)]
WORDS = [(2_000, 5_000, 20), (20_000, 20_000, 20), (200_000, 50_000, 20)]
DISCRIMINANT = "discriminant_analysis"

CASES = [
    case(
        "gaussian_nb_fit",
        "GaussianNB fit, n=500k d=50 k=5",
        TALL,
        normal_rows,
        "GaussianNB",
        fit_only,
    ),
    case(
        "gaussian_nb",
        "GaussianNB fit and predict, n=500k d=50 k=5",
        TALL,
        normal_rows,
        "GaussianNB",
    ),
    case(
        "bernoulli_nb",
        "BernoulliNB fit and predict, n=500k d=50 k=5",
        TALL,
        normal_rows,
        "BernoulliNB",
    ),
    case(
        "categorical_nb",
        "CategoricalNB fit and predict, n=500k d=50 k=5, 8 values",
        TALL,
        category_rows,
        "CategoricalNB",
    ),
    case(
        "multinomial_nb",
        "MultinomialNB fit and predict, CSR n=200k d=50k k=20, 50 words a row",
        WORDS,
        documents,
        "MultinomialNB",
    ),
    case(
        "complement_nb",
        "ComplementNB fit and predict, CSR n=200k d=50k k=20, 50 words a row",
        WORDS,
        documents,
        "ComplementNB",
        target=1.5,
    ),
    case(
        "lda",
        "LinearDiscriminantAnalysis (svd) fit and predict, n=200k d=100 k=10",
        [(2_000, 100, 10), (20_000, 100, 10), (200_000, 100, 10)],
        normal_rows,
        "LinearDiscriminantAnalysis",
        package=DISCRIMINANT,
    ),
    case(
        "qda",
        "QuadraticDiscriminantAnalysis fit and predict, n=200k d=50 k=5",
        [(2_000, 50, 5), (20_000, 50, 5), (200_000, 50, 5)],
        normal_rows,
        "QuadraticDiscriminantAnalysis",
        package=DISCRIMINANT,
    ),
]
