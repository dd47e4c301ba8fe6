"""Correlation and mutual-information filters, and their warnings."""

import numpy as np
import pytest

from pansophy.feature_selection import (
    CorrelationFilter,
    FilterWarning,
    MutualInformationFilter,
)
from pansophy.feature_selection.filters import mutual_information_of_codes


def problem(rng, n=80, d=8, rho=0.6):
    X = rng.normal(size=(n, d)) + rho * rng.normal(size=(n, 1))
    w = np.where(np.arange(d) % 3 == 0, rng.normal(size=d) * 2, 0.0)
    return X, X @ w + 1 + rng.normal(size=n)


class TestFilters:
    def test_unchanged_by_shift_and_scale(self, rng):
        X, y = problem(rng)
        a = CorrelationFilter(3).fit(X, y)
        b = CorrelationFilter(3).fit(5 - 3 * X, 2 * y + 1)
        np.testing.assert_allclose(a.scores_, b.scores_, rtol=1e-10)
        want = [abs(np.corrcoef(x, y)[0, 1]) for x in X.T]
        np.testing.assert_allclose(a.scores_, want, rtol=1e-10)

    def test_warns_of_copies(self, rng):
        X, y = problem(rng, d=3)
        X = np.column_stack([X[:, 0], 2 * X[:, 0] + 1, X[:, 2]])
        with pytest.warns(FilterWarning, match="kept x0 and x1"):
            CorrelationFilter(threshold=0.0).fit(X, y)

    @pytest.mark.parametrize("make", [CorrelationFilter, MutualInformationFilter])
    def test_misses_exclusive_or_and_says_so(self, make, rng):
        X = rng.choice([-1.0, 1.0], size=(400, 3))
        X[:, 2] += 0.1 * rng.normal(size=400)
        y = (X[:, 0] * X[:, 1] > 0).astype(int)
        with pytest.warns(FilterWarning, match="dropped x0 and x1, which say nothing"):
            found = make(threshold=0.2).fit(X, y)
        assert not found.support_[:2].any()

    def test_information_sees_what_correlation_cannot(self, rng):
        x = rng.uniform(-1, 1, size=2000)
        X = np.column_stack([x, rng.normal(size=2000)])
        y = x**2 + 0.01 * rng.normal(size=2000)
        assert CorrelationFilter(1).fit(X, y).scores_[0] < 0.1
        found = MutualInformationFilter(1).fit(X, y)
        assert found.support_[0]
        assert found.scores_[1] < 0.02 < found.scores_[0]

    def test_information_of_known_tables(self):
        a = np.repeat([0, 0, 1, 1], [10, 20, 30, 40])
        b = np.repeat([0, 1, 0, 1], [10, 20, 30, 40])
        p = np.array([[0.1, 0.2], [0.3, 0.4]])
        free = np.outer(p.sum(1), p.sum(0))
        assert mutual_information_of_codes(a, b) == pytest.approx(
            np.sum(p * np.log(p / free))
        )
        assert mutual_information_of_codes(a, a) == pytest.approx(
            -(0.3 * np.log(0.3) + 0.7 * np.log(0.7))
        )

    def test_names_in_warnings(self, rng):
        import pandas as pd

        x = rng.normal(size=50)
        table = pd.DataFrame({"height": x, "metres": x / 100})
        with pytest.warns(FilterWarning, match="kept 'height' and 'metres'"):
            CorrelationFilter(threshold=0.0).fit(table, x + rng.normal(size=50))
