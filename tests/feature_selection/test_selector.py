"""Base class of the selectors: the kept columns come back."""

import warnings

import numpy as np

from pansophy.feature_selection import (
    CorrelationFilter,
    FilterWarning,
    MutualInformationFilter,
    SubsetSelector,
)


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


def test_kept_columns_are_returned(rng):
    X, y = problem(rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FilterWarning)
        for pick in (
            SubsetSelector(n_features_to_select=2),
            CorrelationFilter(2),
            MutualInformationFilter(0.25),
        ):
            kept = pick.fit_transform(X, y)
            np.testing.assert_array_equal(kept, X[:, pick.support_])
            assert kept.shape[1] == 2
