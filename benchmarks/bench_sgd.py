"""Stochastic gradient descent and the perceptron against scikit-learn, equal passes."""

import numpy as np

from .runner import Case

PASSES = 5
OPTIONS = {"max_iter": PASSES, "tol": None}


def rows(size):
    """Gaussian rows, k classes by the best of k noisy scores (a number for k = 1)."""
    n, d, k = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    F = X @ (rng.standard_normal((d, k)) * 2 / np.sqrt(d))
    F += rng.standard_normal((n, k))
    return X, (F[:, 0] if k == 1 else np.argmax(F, axis=1))


def words(size):
    """Text-like rows: about 50 of d words each, frequent ones more often."""
    import scipy.sparse as sp

    n, d = size
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, size=(n, 50)) - 1, d - 1).ravel()
    places = np.repeat(np.arange(n), 50)
    X = sp.csr_matrix((np.ones(n * 50), (places, columns)), shape=(n, d))
    X.data = 1 + np.log(X.data)
    X = sp.csr_matrix(X.multiply(1 / np.sqrt(X.multiply(X).sum(axis=1))))
    f = X @ rng.standard_normal(d)
    return X, (f > np.median(f)).astype(int)


def fit(library, name, **options):
    """Fit the estimator of that name of "pansophy" or "sklearn"."""

    def run(data, seed=0):
        module = __import__(f"{library}.linear_model", fromlist=[name])
        given = {**OPTIONS, **options, "random_state": seed}
        return getattr(module, name)(**given).fit(*data)

    return run


def chunks(library):
    """partial_fit over chunks of 100 rows."""

    def run(data, seed=0):
        module = __import__(f"{library}.linear_model", fromlist=["SGDClassifier"])
        X, y = data
        model = module.SGDClassifier(random_state=seed, alpha=1e-3)
        for i in range(0, len(y), 100):
            model.partial_fit(X[i : i + 100], y[i : i + 100], classes=[0, 1])
        return model

    return run


def mean_loss(name):
    """Mean loss of the model on its rows, one against the rest for several classes."""

    def value(data, model):
        X, y = data
        if name == "squared_error":
            return float(np.mean((model.predict(X) - y) ** 2) / 2)
        if name == "error":
            return float(np.mean(model.predict(X) != y))
        F = model.decision_function(X)
        F = F[:, None] if F.ndim == 1 else F
        k = F.shape[1]
        own = y[:, None] == (np.arange(k) if k > 1 else 1)
        Z = np.where(own, F, -F)
        loss = np.maximum(0, 1 - Z) if name == "hinge" else np.logaddexp(0, -Z)
        return float(loss.mean())

    return value


def case(name, what, sizes, data, score, tolerance, target=2.0, model=None, **options):
    model = model or "SGDClassifier"
    return Case(
        name=name,
        what=what,
        sizes=sizes,
        data=data,
        ours=fit("pansophy", model, **options),
        peers={"sklearn": fit("sklearn", model, **options)},
        quality=mean_loss(score),
        tolerance=tolerance,
        target=target,
    )


TALL = [(20_000, 50, 2), (60_000, 50, 2), (200_000, 50, 2)]
WIDE = [(2000, 500, 2), (6000, 500, 2), (20_000, 500, 2)]
TEXT = [(2000, 5000), (6000, 15_000), (20_000, 50_000)]
SOFT = {"alpha": 1e-3}

CASES = [
    case(
        "sgd_hinge_tall",
        "SGDClassifier hinge, 5 passes, n=200k d=50",
        TALL,
        rows,
        "hinge",
        0.02,
        **SOFT,
    ),
    case(
        "sgd_log_tall",
        "SGDClassifier log_loss, 5 passes, n=200k d=50",
        TALL,
        rows,
        "log_loss",
        0.02,
        loss="log_loss",
        **SOFT,
    ),
    case(
        "sgd_squared_tall",
        "SGDRegressor squared_error, 5 passes, n=200k d=50",
        [(n, d, 1) for n, d, _ in TALL],
        rows,
        "squared_error",
        0.02,
        model="SGDRegressor",
    ),
    case(
        "sgd_hinge_wide",
        "SGDClassifier hinge, 5 passes, n=20k d=500",
        WIDE,
        rows,
        "hinge",
        0.05,
        target=1.5,
        **SOFT,
    ),
    case(
        "sgd_log_wide",
        "SGDClassifier log_loss, 5 passes, n=20k d=500",
        WIDE,
        rows,
        "log_loss",
        0.05,
        target=1.5,
        loss="log_loss",
        **SOFT,
    ),
    case(
        "sgd_l1_wide",
        "SGDClassifier hinge with L1, 5 passes, n=20k d=500",
        WIDE,
        rows,
        "hinge",
        0.05,
        penalty="l1",
        **SOFT,
    ),
    case(
        "sgd_text",
        "SGDClassifier hinge on text-like CSR, 5 passes, n=20k d=50k",
        TEXT,
        words,
        "hinge",
        0.02,
        alpha=1e-4,
    ),
    case(
        "sgd_classes",
        "SGDClassifier log_loss, 10 classes, 5 passes, n=60k d=50",
        [(6000, 50, 10), (20_000, 50, 10), (60_000, 50, 10)],
        rows,
        "log_loss",
        0.02,
        loss="log_loss",
        **SOFT,
    ),
    case(
        "perceptron",
        "Perceptron, 5 passes, n=200k d=50",
        TALL,
        rows,
        "error",
        0.05,
        model="Perceptron",
    ),
    Case(
        name="sgd_partial_fit",
        what="SGDClassifier.partial_fit, 200 chunks of 100 rows, d=20",
        sizes=[(2000, 20, 2), (6000, 20, 2), (20_000, 20, 2)],
        data=rows,
        ours=chunks("pansophy"),
        peers={"sklearn": chunks("sklearn")},
        quality=mean_loss("hinge"),
        tolerance=0.05,
        target=1.0,
    ),
]
