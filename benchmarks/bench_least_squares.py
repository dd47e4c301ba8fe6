"""Least squares, ridge, kernels and distances against their peers."""

import numpy as np

from .runner import Case


def regression(size):
    """Rows off centre, some noise, every column used."""
    n, d = size
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d)) + rng.standard_normal(d)
    return X, X @ rng.standard_normal(d) + 1 + rng.standard_normal(n)


def mean_square(payload, model):
    """Mean squared residual plus, for ridge, the penalty: what is minimised."""
    X, y = payload
    penalty = getattr(model, "alpha", 0.0) * float(model.coef_ @ model.coef_)
    return (float(np.sum((y - model.predict(X)) ** 2)) + penalty) / len(y)


def linear_ours(payload):
    from pansophy.linear_model import LinearRegression

    return LinearRegression().fit(*payload)


def linear_sklearn(payload):
    from sklearn.linear_model import LinearRegression

    return LinearRegression().fit(*payload)


def linear_sklearnex(payload):
    from sklearnex.linear_model import LinearRegression

    return LinearRegression().fit(*payload)


def ridge_ours(payload):
    from pansophy.linear_model import Ridge

    return Ridge().fit(*payload)


def ridge_sklearn(payload):
    from sklearn.linear_model import Ridge

    return Ridge().fit(*payload)


def ridge_sklearnex(payload):
    from sklearnex.linear_model import Ridge

    return Ridge().fit(*payload)


def summary_ours(payload):
    from pansophy.linear_model import LinearRegression

    X, y = payload
    return LinearRegression().fit(X, y).summary(X, y, cov_type="HC3")


def summary_statsmodels(payload):
    import statsmodels.api as sm

    X, y = payload
    return sm.OLS(y, sm.add_constant(X)).fit(cov_type="HC3", use_t=True)


def error_of_errors(payload, result):
    """Largest relative distance of the HC3 standard errors from a plain computation."""
    X, y = payload
    A = np.column_stack([np.ones(len(X)), X])
    Q, R = np.linalg.qr(A)
    r = (y - Q @ (Q.T @ y)) / (1 - np.sum(Q**2, axis=1))
    inverse = np.linalg.inv(R)
    right = np.linalg.norm(inverse @ (Q * r[:, None]).T, axis=1)
    got = result["std error"] if hasattr(result, "terms") else result.bse
    return float(np.max(np.abs(np.asarray(got) / right - 1)))


ALPHAS = np.logspace(-3, 3, 50)


def path_ours(payload):
    from pansophy.linear_model import ridge_path

    found = ridge_path(*payload, ALPHAS)
    return found.coefs.T, found.intercepts


def path_sklearn(payload):
    from sklearn.linear_model import Ridge

    fits = [Ridge(a).fit(*payload) for a in ALPHAS]
    return [f.coef_ for f in fits], [f.intercept_ for f in fits]


def path_sklearnex(payload):
    from sklearnex.linear_model import Ridge

    fits = [Ridge(a).fit(*payload) for a in ALPHAS]
    return [f.coef_ for f in fits], [f.intercept_ for f in fits]


def path_objective(payload, path):
    """Mean over the alphas of the ridge objective per row."""
    X, y = payload
    total = 0.0
    for a, coef, b in zip(ALPHAS, *path, strict=True):
        total += np.sum((y - X @ coef - b) ** 2) + a * coef @ coef
    return float(total / len(y) / len(ALPHAS))


def ridge_cv_ours(payload):
    from pansophy.linear_model import RidgeCV

    return RidgeCV(ALPHAS).fit(*payload)


def ridge_cv_sklearn(payload):
    from sklearn.linear_model import RidgeCV

    return RidgeCV(ALPHAS).fit(*payload)


def minus_score(payload, model):
    """The leave-one-out error of the chosen alpha."""
    return -float(model.best_score_)


def wampler(size):
    """A polynomial of degree 5 whose coefficients are all 1."""
    x = np.linspace(0, 20, size[0])
    X = np.vander(x, 6, increasing=True)[:, 1:]
    return X, X.sum(axis=1) + 1


def lost_digits(payload, model):
    """Digits of 16 that the worst coefficient lost."""
    error = np.max(np.abs(model.coef_ - 1))
    return 16 + float(np.log10(max(error, 1e-16)))


def cloud(size):
    n, m, d = size
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d)), rng.standard_normal((m, d))


def distance_error(payload, D):
    """Largest relative error on some rows, from differences in float64."""
    X, Z = payload
    right = np.sqrt(((X[:5, None] - Z[None]) ** 2).sum(axis=2))
    return float(np.max(np.abs(D[:5] - right) / right))


def distance_ours(payload):
    from pansophy.distances import euclidean

    return euclidean(*payload)


def distance_sklearn(payload):
    from sklearn.metrics import pairwise_distances

    return pairwise_distances(*payload, n_jobs=-1)


def distance_scipy(payload):
    from scipy.spatial.distance import cdist

    return cdist(*payload)


def rbf_ours(payload):
    from pansophy.kernels import RBF

    return RBF(gamma=0.05)(payload[0])


def rbf_sklearn(payload):
    from sklearn.metrics.pairwise import rbf_kernel

    return rbf_kernel(payload[0], gamma=0.05)


def rbf_error(payload, K):
    X = payload[0]
    right = np.exp(-0.05 * ((X[:5, None] - X[None]) ** 2).sum(axis=2))
    return float(np.max(np.abs(K[:5] - right)))


CASES = [
    Case(
        name="least_squares",
        what="OLS with intercept, n=200k d=100 float64",
        sizes=[(2_000, 100), (20_000, 100), (200_000, 100)],
        data=regression,
        ours=linear_ours,
        peers={"sklearn": linear_sklearn, "sklearnex": linear_sklearnex},
        quality=mean_square,
        tolerance=1e-10,
        target=5.0,
        targets={"sklearnex": 1.0},
    ),
    Case(
        name="least_squares_wide",
        what="OLS of smallest norm with intercept, n=1000 d=20000 float64",
        sizes=[(100, 2_000), (300, 6_000), (1_000, 20_000)],
        data=regression,
        ours=linear_ours,
        peers={"sklearn": linear_sklearn},
        quality=mean_square,
        tolerance=1e-10,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="least_squares_robust",
        what="OLS with HC3 standard errors, n=200k d=50 float64",
        sizes=[(2_000, 50), (20_000, 50), (200_000, 50)],
        data=regression,
        ours=summary_ours,
        peers={"statsmodels": summary_statsmodels},
        quality=error_of_errors,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="least_squares_digits",
        what="OLS on a polynomial of degree 5 (NIST Wampler1), digits lost",
        sizes=[(21,), (2_001,), (20_001,)],
        data=wampler,
        ours=linear_ours,
        peers={"sklearn": linear_sklearn},
        quality=lost_digits,
        tolerance=0.5,
        target=1.0,
    ),
    Case(
        name="ridge",
        what="ridge alpha=1 with intercept, n=100k d=200 float64",
        sizes=[(1_000, 200), (10_000, 200), (100_000, 200)],
        data=regression,
        ours=ridge_ours,
        peers={"sklearn": ridge_sklearn, "sklearnex": ridge_sklearnex},
        quality=mean_square,
        tolerance=1e-10,
        target=1.5,
        targets={"sklearnex": 1.0},
    ),
    Case(
        name="ridge_wide",
        what="ridge alpha=1 with intercept, n=1000 d=20000 float64",
        sizes=[(100, 2_000), (300, 6_000), (1_000, 20_000)],
        data=regression,
        ours=ridge_ours,
        peers={"sklearn": ridge_sklearn},
        quality=mean_square,
        tolerance=1e-10,
        target=1.0,
    ),
    Case(
        name="ridge_path",
        what="ridge at 50 alphas with intercept, n=20k d=200 float64",
        sizes=[(1_000, 100), (5_000, 200), (20_000, 200)],
        data=regression,
        ours=path_ours,
        peers={"sklearn": path_sklearn, "sklearnex": path_sklearnex},
        quality=path_objective,
        tolerance=1e-10,
        target=5.0,
        rounds=3,
    ),
    Case(
        name="ridge_cv_tall",
        what="ridge, exact leave-one-out over 50 alphas, n=50k d=100 float64",
        sizes=[(2_000, 100), (10_000, 100), (50_000, 100)],
        data=regression,
        ours=ridge_cv_ours,
        peers={"sklearn": ridge_cv_sklearn},
        quality=minus_score,
        tolerance=1e-8,
        target=2.0,
        rounds=3,
    ),
    Case(
        name="ridge_cv_wide",
        what="ridge, exact leave-one-out over 50 alphas, n=1000 d=5000 float64",
        sizes=[(100, 500), (300, 1_500), (1_000, 5_000)],
        data=regression,
        ours=ridge_cv_ours,
        peers={"sklearn": ridge_cv_sklearn},
        quality=minus_score,
        tolerance=1e-3,
        target=1.0,
        rounds=3,
        notes="small alphas leave little to compare: both round there",
    ),
    Case(
        name="distances",
        what="Euclidean distances, n=8000 m=4000 d=64 float64",
        sizes=[(800, 400, 64), (2_500, 1_250, 64), (8_000, 4_000, 64)],
        data=cloud,
        ours=distance_ours,
        peers={"sklearn": distance_sklearn, "scipy": distance_scipy},
        quality=distance_error,
        tolerance=1e-9,
        target=1.0,
    ),
    Case(
        name="rbf_gram",
        what="Gram matrix of the RBF kernel, n=5000 d=20 float64",
        sizes=[(500, 1, 20), (1_600, 1, 20), (5_000, 1, 20)],
        data=cloud,
        ours=rbf_ours,
        peers={"sklearn": rbf_sklearn},
        quality=rbf_error,
        tolerance=1e-9,
        target=1.5,
    ),
]
