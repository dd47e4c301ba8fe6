"""Posteriors and intervals of the comparison against baycomp and MAPIE."""

import numpy as np

from .runner import Case


def differences(size):
    """Differences of two methods on as many tables."""
    return np.random.default_rng(0).normal(0.01, 0.02, size[0])


def ours_signed_rank(z):
    from pansophy.compare import bayesian_signed_rank

    return tuple(bayesian_signed_rank(z, 0.01, n_samples=20_000))


def baycomp_signed_rank(z):
    import baycomp

    zero = np.zeros(len(z))
    return baycomp.SignedRankTest.probs(zero, z, rope=0.01, nsamples=20_000)[::-1]


def distance_to_many_draws(z, result):
    """Largest gap to probabilities from ten times as many draws."""
    from pansophy.compare import bayesian_signed_rank

    truth = bayesian_signed_rank(z, 0.01, n_samples=200_000, random_state=1)
    return float(np.abs(np.subtract(result, truth)).max())


def rows(size):
    n, d, new = size
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n + new, d))
    y = X[:, 0] + rng.normal(size=n + new)
    return X, y, n


def ours_cv_plus(payload):
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold

    from pansophy.compare import ConformalRegressor

    X, y, n = payload
    model = ConformalRegressor(Ridge(), cv=KFold(5)).fit(X[:n], y[:n])
    return model.predict_interval(X[n:])


def mapie_cv_plus(payload):
    from mapie.regression import CrossConformalRegressor
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import KFold

    X, y, n = payload
    model = CrossConformalRegressor(
        Ridge(), confidence_level=0.9, method="plus", cv=KFold(5)
    ).fit_conformalize(X[:n], y[:n])
    return model.predict_interval(X[n:])[1][:, :, 0]


def mean_width(payload, ends):
    return float(np.diff(ends, axis=1).mean())


CASES = [
    Case(
        name="bayesian_signed_rank",
        what="three probabilities from 20,000 draws",
        sizes=[(5,), (20,), (50,)],
        data=differences,
        ours=ours_signed_rank,
        peers={"baycomp": baycomp_signed_rank},
        quality=distance_to_many_draws,
        tolerance=0.02,
        target=5.0,
    ),
    Case(
        name="cv_plus",
        what="fit, five folds, intervals of new rows (n, d, new)",
        sizes=[(500, 10, 500), (2000, 10, 2000), (5000, 10, 5000)],
        data=rows,
        ours=ours_cv_plus,
        peers={"mapie": mapie_cv_plus},
        quality=mean_width,
        tolerance=1e-9,
        target=1.0,
    ),
]
