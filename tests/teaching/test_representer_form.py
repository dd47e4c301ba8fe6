"""Functions in the span of a kernel: values, norms, descent stays inside."""

import numpy as np
import pytest

from pansophy.kernels import RBF, Linear
from pansophy.teaching import representer, rkhs_norm


def test_representer_form_and_norm(rng):
    X = rng.standard_normal((20, 3))
    a = rng.standard_normal(20)
    w = X.T @ a
    f = representer(Linear(), X, a, intercept=0.5)
    q = rng.standard_normal((6, 3))
    np.testing.assert_allclose(f(q), q @ w + 0.5)
    assert f.norm == pytest.approx(np.linalg.norm(w))
    K = RBF()(X)
    assert rkhs_norm(RBF(), X, a) ** 2 == pytest.approx(a @ K @ a)
    g = representer(RBF(), X, a)
    bound = g.norm * np.sqrt(RBF().diag(q))  # |f(x)| <= |f| sqrt(k(x, x))
    assert (np.abs(g(q)) <= bound + 1e-12).all()
    both = rkhs_norm(RBF(), X, np.column_stack([a, 2 * a]))
    assert both[1] == pytest.approx(2 * both[0])


def test_descent_stays_in_the_span(rng):
    X, y = rng.standard_normal((5, 8)), rng.standard_normal(5)
    w = np.zeros(8)
    for i in rng.integers(0, 5, 200):
        w -= 0.02 * (X[i] @ w - y[i]) * X[i]
    a = np.linalg.lstsq(X.T, w)[0]
    np.testing.assert_allclose(X.T @ a, w, atol=1e-12)
