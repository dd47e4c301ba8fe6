"""PolynomialRegression: the degree by leave-one-out and by splits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import (
    PolynomialRegression,
)


def test_worked_example_of_a_sine():
    x = np.linspace(0, 1, 10)
    y = np.sin(2 * np.pi * x)
    for degree, right in {0: 2.25, 1: 1.323577, 3: 0.032647, 9: 0.0}.items():
        model = PolynomialRegression(degree=degree).fit(x[:, None], y)
        half = np.sum((y - model.predict(x[:, None])) ** 2) / 2
        assert half == pytest.approx(right, abs=5e-7)


@pytest.mark.parametrize("cv", [None, 20])
def test_the_degree_is_chosen_on_held_out_rows(cv):
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 3, 40)
    y = 1 - 2 * x + 0.5 * x**3 + 0.3 * rng.standard_normal(40)
    model = PolynomialRegression(cv=cv).fit(x[:, None], y)
    error = model.validation_error_
    assert len(error) == 11 and np.argmin(error) == model.degree_
    # a degree too many is chosen by chance, one too few is not
    assert model.degree_ >= 3 and error[3] < 0.5 * error[:3].min()
    fitted = [PolynomialRegression(k).fit(x[:, None], y) for k in range(11)]
    training = [np.mean((y - f.predict(x[:, None])) ** 2) for f in fitted]
    assert np.argmin(training) == 10  # which would have been the choice
    powers = fitted[3].polynomial().convert().coef
    np.testing.assert_allclose(powers, [1, -2, 0, 0.5], atol=0.8)


@pytest.mark.parametrize("interactions", [True, False])
def test_leave_one_out_is_refitting(interactions, rng):
    X = rng.uniform(-1, 1, (30, 2))
    y = X[:, 0] * X[:, 1] + X[:, 0] ** 2 + 0.1 * rng.standard_normal(30)
    w = rng.integers(1, 3, 30).astype(float)
    model = PolynomialRegression(max_degree=3, interactions=interactions).fit(X, y, w)
    assert model.degree_ == 2 or not interactions
    for degree in (1, 2):
        total = 0.0
        for i in range(30):
            rest = np.arange(30) != i
            out = PolynomialRegression(degree, interactions=interactions)
            out.fit(X[rest], y[rest], w[rest])
            total += w[i] * (y[i] - out.predict(X[i : i + 1])[0]) ** 2
        assert model.validation_error_[degree] == pytest.approx(total / w.sum())
    with pytest.raises(ValueError, match="one column of X"):
        model.polynomial()


@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3), move=st.floats(-50, 50))
@settings(max_examples=15, deadline=None)
def test_moving_and_scaling_x_changes_nothing(seed, scale, move):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (25, 1))
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(25)
    a = PolynomialRegression().fit(x, y)
    b = PolynomialRegression().fit(x * scale + move, y)
    assert a.degree_ == b.degree_
    np.testing.assert_allclose(
        a.predict(x), b.predict(x * scale + move), rtol=1e-5, atol=1e-6
    )
