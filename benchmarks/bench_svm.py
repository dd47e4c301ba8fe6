"""Linear support vector machines against liblinear (scikit-learn) and skglm."""

import warnings

import numpy as np

from .runner import Case

C_TALL = 0.1


def tall(size):
    """Correlated Gaussian rows; labels from a logistic model."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) @ (np.eye(d) + 0.1 * rng.standard_normal((d, d)))
    f = X @ (2 * rng.standard_normal(d) / np.sqrt(d))
    return X, (f + rng.logistic(size=n) > 0).astype(int)


def text(size):
    """Text-like rows of length 1: about 50 words each, frequent ones more often."""
    import scipy.sparse as sp

    n, d = size
    rng = np.random.default_rng(0)
    columns = np.minimum(rng.zipf(1.3, size=(n, 50)) - 1, d - 1).ravel()
    rows = np.repeat(np.arange(n), 50)
    X = sp.csr_matrix((np.ones(n * 50), (rows, columns)), shape=(n, d))
    X.data = 1 + np.log(X.data)
    w = rng.standard_normal(d) * (rng.uniform(size=d) < 0.05)
    f = X @ w
    y = (f + rng.logistic(size=n) > np.median(f)).astype(int)
    lengths = np.sqrt(np.asarray(X.power(2).sum(axis=1)).ravel())
    return sp.csr_matrix(sp.diags(1 / lengths) @ X), y


def classes(size):
    n, d, k = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    scores = X @ (2 * rng.standard_normal((d, k)) / np.sqrt(d))
    return X, np.argmax(scores + rng.gumbel(size=(n, k)), axis=1)


def numbers(size):
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, X @ rng.standard_normal(d) + 0.5 * rng.standard_t(3, size=n)


def fit(module, name, **options):
    """A function that fits a class of that module; max_iter reached is no matter."""

    def run(data):
        from importlib import import_module

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = getattr(import_module(module), name)(**options)
            return model.fit(*data)

    return run


def ours(name="LinearSVC", **options):
    return fit("pansophy.svm", name, **options)


def sklearn(name="LinearSVC", **options):
    return fit("sklearn.svm", name, random_state=0, **options)


def objective(C, *, squared=False, l1=False, epsilon=None):
    """The problem's objective over n, penalised intercept included."""

    def value(data, model):
        X, y = data
        w, b = np.ravel(model.coef_), float(np.ravel(model.intercept_)[0])
        f = X @ w + b
        sign = np.where(y == model.classes_[1], 1.0, -1.0) if epsilon is None else None
        e = 1 - sign * f if epsilon is None else np.abs(y - f) - epsilon
        e = np.maximum(e, 0.0)
        loss = C * float(e @ e if squared else e.sum())
        size = np.abs(w).sum() + abs(b) if l1 else (w @ w + b * b) / 2
        return (float(size) + loss) / len(y)

    return value


def joint_objective(C):
    """Crammer and Singer's objective over n."""

    def value(data, model):
        X, y = data
        F = X @ model.coef_.T + model.intercept_
        own = F[np.arange(len(y)), y]
        F = F + 1.0
        F[np.arange(len(y)), y] -= 1.0
        size = (model.coef_**2).sum() + (model.intercept_**2).sum()
        return (size / 2 + C * float((F.max(axis=1) - own).sum())) / len(y)

    return value


def joint_case(name, C, target):
    how = {"multi_class": "crammer_singer", "C": C}
    return Case(
        name=name,
        what=f"Crammer-Singer C={C:g}, full: n=5000 d=50 k=10",
        sizes=[(500, 20, 5), (2_000, 50, 10), (5_000, 50, 10)],
        data=classes,
        ours=ours(**how),
        peers={"sklearn": sklearn(**how)},
        quality=joint_objective(C),
        tolerance=1e-7,
        target=target,
    )


def skglm_hinge(data):
    """skglm's dual hinge solver; it has no intercept."""
    from skglm import LinearSVC

    X, y = data
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LinearSVC(C=C_TALL, tol=1e-4, max_iter=300).fit(
            X, np.where(y > 0, 1, -1)
        )


HINGE = {"loss": "hinge", "C": C_TALL, "fit_intercept": False}
TEXT = [(2_000, 5_000), (10_000, 20_000), (20_000, 50_000)]

CASES = [
    Case(
        name="linear_svm_hinge",
        what="hinge C=0.1, no intercept, full: n=50000 d=50",
        sizes=[(2_000, 20), (20_000, 50), (50_000, 50)],
        data=tall,
        ours=ours(**HINGE),
        peers={"sklearn": sklearn(**HINGE), "skglm": skglm_hinge},
        quality=objective(C_TALL),
        tolerance=1e-6,
        target=3.0,
    ),
    Case(
        name="linear_svm_squared",
        what="squared hinge C=1, full: n=200000 d=50",
        sizes=[(5_000, 20), (50_000, 50), (200_000, 50)],
        data=tall,
        ours=ours(),
        peers={"sklearn": sklearn()},
        quality=objective(1.0, squared=True),
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="linear_svm_text_hinge",
        what="hinge C=1, sparse rows, full: n=20000 d=50000",
        sizes=TEXT,
        data=text,
        ours=ours(loss="hinge"),
        peers={"sklearn": sklearn(loss="hinge")},
        quality=objective(1.0),
        tolerance=1e-6,
        target=1.0,
    ),
    Case(
        name="linear_svm_text_squared",
        what="squared hinge C=1, sparse rows, full: n=20000 d=50000",
        sizes=TEXT,
        data=text,
        ours=ours(),
        peers={
            "sklearn": sklearn(),
            "sklearn primal": sklearn(dual=False),
        },
        quality=objective(1.0, squared=True),
        tolerance=1e-6,
        target=1.0,
    ),
    Case(
        name="linear_svm_l1",
        what="squared hinge with L1, C=0.01, full: n=50000 d=100",
        sizes=[(2_000, 20), (20_000, 50), (50_000, 100)],
        data=tall,
        ours=ours(penalty="l1", C=0.01),
        peers={"sklearn": sklearn(penalty="l1", C=0.01, dual=False)},
        quality=objective(0.01, squared=True, l1=True),
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="linear_svm_text_l1",
        what="squared hinge with L1, C=1, sparse rows, full: n=20000 d=50000",
        sizes=TEXT,
        data=text,
        ours=ours(penalty="l1"),
        peers={"sklearn": sklearn(penalty="l1", dual=False)},
        quality=objective(1.0, squared=True, l1=True),
        tolerance=1e-6,
        target=1.0,
    ),
    joint_case("linear_svm_joint_low_cost", 0.01, 1.0),
    joint_case("linear_svm_joint", 0.1, 2.0),
    Case(
        name="linear_svr",
        what="epsilon-insensitive 0.1, C=1, full: n=50000 d=20",
        sizes=[(2_000, 10), (20_000, 20), (50_000, 20)],
        data=numbers,
        ours=ours("LinearSVR", epsilon=0.1),
        peers={"sklearn": sklearn("LinearSVR", epsilon=0.1)},
        quality=objective(1.0, epsilon=0.1),
        tolerance=1e-6,
        target=2.0,
    ),
]
