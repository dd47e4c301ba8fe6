"""Generalised linear models and robust regression against their peers."""

import warnings

import numpy as np

from .runner import Case

ALPHA = 1e-3


def signal(size, seed=0):
    n, d = size
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return rng, X, X @ rng.standard_normal(d)


def counts(size):
    rng, X, f = signal(size)
    return X, rng.poisson(np.exp(0.1 * f + 0.5)).astype(float)


def amounts(size):
    rng, X, f = signal(size)
    return X, rng.gamma(2.0, np.exp(0.1 * f + 0.5) / 2)


def heavy_tails(size):
    rng, X, f = signal(size)
    y = f + 1 + 0.5 * rng.standard_t(2, size=len(X))
    y[: len(X) // 50] += 30
    return X, y


def spoilt(size, share=0.2):
    rng, X, f = signal(size)
    y = f + 1 + 0.2 * rng.standard_normal(len(X))
    some = int(share * len(X))
    y[:some] += rng.uniform(5, 50, size=some)
    return X, y


def lightly_spoilt(size):
    """Few enough outliers for the median of subsets of d + 1 rows."""
    return spoilt(size, 0.05)


def quietly(fit):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fit()


def make(module, name, **options):
    """A function that fits the class of that name."""

    def fit(payload):
        cls = getattr(__import__(module, fromlist=[name]), name)
        return quietly(lambda: cls(**options).fit(*payload))

    return fit


def seeded(name, **options):
    """The same class of ours and of scikit-learn, where it draws subsets of rows."""

    def fit_of(module):
        def fit(payload, seed=0):
            return make(module, name, random_state=seed, **options)(payload)

        return fit

    return fit_of("pansophy.linear_model"), fit_of("sklearn.linear_model")


def both(name, theirs=None, **options):
    """The same class of ours and of scikit-learn."""
    ours = make("pansophy.linear_model", name, **options)
    return ours, make("sklearn.linear_model", name, **options, **(theirs or {}))


def glm_statsmodels(family):
    def fit(payload):
        import statsmodels.api as sm

        X, y = payload
        law = getattr(sm.families, family)(sm.families.links.Log())
        found = quietly(lambda: sm.GLM(y, sm.add_constant(X), family=law).fit())
        return found.params[1:], found.params[0]

    return fit


def quantile_statsmodels(payload):
    import statsmodels.api as sm

    X, y = payload
    found = quietly(lambda: sm.QuantReg(y, sm.add_constant(X)).fit(q=0.5))
    return found.params[1:], found.params[0]


def parts(model):
    model = getattr(model, "estimator_", model)
    return model if isinstance(model, tuple) else (model.coef_, model.intercept_)


def poisson_risk(payload, model):
    X, y = payload
    B, b = parts(model)
    f = X @ B + b
    return float(np.mean(np.exp(f) - y * f) + ALPHA / 2 * B @ B)


def gamma_risk(payload, model):
    X, y = payload
    B, b = parts(model)
    f = X @ B + b
    return float(np.mean(y * np.exp(-f) + f) + ALPHA / 2 * B @ B)


def huber_risk(payload, model, e=1.35):
    X, y = payload
    s = model.scale_
    z = np.abs(y - X @ model.coef_ - model.intercept_) / s
    bent = np.where(z <= e, z * z, 2 * e * z - e * e)
    return float(np.mean(s + s * bent))


def absolute_risk(payload, model):
    X, y = payload
    B, b = parts(model)
    return float(np.mean(np.abs(y - X @ B - b)))


def clean_error(payload, model):
    """Mean squared residual of the rows that are not outliers."""
    X, y = payload
    B, b = parts(model)
    some = len(X) // 5
    return float(np.mean((y - X @ B - b)[some:] ** 2))


poisson, poisson_sklearn = both("PoissonRegressor", alpha=ALPHA)
_, poisson_cholesky = both("PoissonRegressor", alpha=ALPHA, solver="newton-cholesky")
gamma, gamma_sklearn = both("GammaRegressor", alpha=ALPHA)
_, gamma_cholesky = both("GammaRegressor", alpha=ALPHA, solver="newton-cholesky")
huber, huber_sklearn = both("HuberRegressor")
quantile, quantile_sklearn = both("QuantileRegressor", alpha=0.0)
theil_sen, theil_sen_sklearn = seeded("TheilSenRegressor")
ransac, ransac_sklearn = seeded(
    "RANSACRegressor", residual_threshold=0.8, max_trials=500
)

CASES = [
    Case(
        name="poisson",
        what="Poisson regression, alpha=1e-3",
        sizes=[(2_000, 20), (20_000, 50), (200_000, 50)],
        data=counts,
        ours=poisson,
        peers={
            "sklearn": poisson_sklearn,
            "sklearn newton-cholesky": poisson_cholesky,
            "statsmodels": glm_statsmodels("Poisson"),
        },
        quality=poisson_risk,
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="gamma",
        what="Gamma regression, log link, alpha=1e-3",
        sizes=[(2_000, 20), (20_000, 50), (200_000, 50)],
        data=amounts,
        ours=gamma,
        peers={"sklearn": gamma_sklearn, "sklearn newton-cholesky": gamma_cholesky},
        quality=gamma_risk,
        tolerance=1e-6,
        target=2.0,
    ),
    Case(
        name="huber",
        what="Huber regression with its scale, 2 % outliers",
        sizes=[(2_000, 20), (20_000, 50), (100_000, 50)],
        data=heavy_tails,
        ours=huber,
        peers={"sklearn": huber_sklearn},
        quality=huber_risk,
        tolerance=1e-8,
        target=2.0,
    ),
    Case(
        name="quantile",
        what="median regression without penalty",
        sizes=[(500, 10), (2_000, 20), (20_000, 20)],
        data=heavy_tails,
        ours=quantile,
        peers={
            "sklearn highs": quantile_sklearn,
            "statsmodels QuantReg": quantile_statsmodels,
        },
        quality=absolute_risk,
        tolerance=1e-9,
        target=2.0,
    ),
    Case(
        name="theil_sen",
        what="Theil-Sen, 10 000 subsets, 5 % outliers",
        sizes=[(200, 1), (1_000, 2), (5_000, 5)],
        data=lightly_spoilt,
        ours=theil_sen,
        peers={"sklearn": theil_sen_sklearn},
        quality=clean_error,
        tolerance=0.005,
        target=2.0,
    ),
    Case(
        name="ransac",
        what="RANSAC with least squares, 20 % outliers",
        sizes=[(1_000, 3), (10_000, 5), (100_000, 10)],
        data=spoilt,
        ours=ransac,
        peers={"sklearn": ransac_sklearn},
        quality=clean_error,
        tolerance=0.01,
        target=2.0,
    ),
]
