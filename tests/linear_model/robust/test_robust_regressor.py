"""RobustRegressor: the biweight objective falls and matches statsmodels."""

import numpy as np
import pytest

from pansophy.linear_model import RobustRegressor
from tests.linear_model.small_problems import rows_with_outliers


def test_biweight_objective_falls_and_matches_statsmodels(rng):
    sm = pytest.importorskip("statsmodels.api")
    X, y = rows_with_outliers(rng)
    model = RobustRegressor(tol=1e-10).fit(X, y)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    norm = sm.robust.norms.TukeyBiweight(4.685)
    # at our scale, theirs must not be better
    r = y - model.predict(X)
    ours = norm.rho(r / model.scale_).sum()
    fit = sm.RLM(y, sm.add_constant(X), M=norm).fit()
    theirs = norm.rho((y - fit.fittedvalues) / model.scale_).sum()
    assert ours <= theirs + 1e-8
