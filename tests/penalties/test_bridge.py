"""Bridge penalties: a search over a grid below q = 1, their ends, priors."""

import numpy as np
import pytest

from pansophy import penalties
from pansophy.penalties import lq


@pytest.mark.parametrize("q", [0.3, 0.5, 0.8])
@pytest.mark.parametrize("step", [0.05, 0.7, 4.0])
def test_prox_is_the_minimum(q, step):
    w = np.array([0.0, 0.1, 0.6, 1.5, 3.0, -8.0])
    u = lq(q).prox(w, step)
    grid = np.sign(w)[:, None] * np.linspace(0, 9, 90_001)
    cost = lambda v: step * np.abs(v) ** q + (v - w[:, None]) ** 2 / 2
    assert (cost(u[:, None])[:, 0] <= cost(grid).min(axis=1) + 1e-12).all()


def test_every_slope_is_one_at_zero():
    w = np.zeros(2)
    gradient = np.array([0.0, 5.0])
    np.testing.assert_array_equal(lq(0.5).distance(w, gradient), [0.0, 0.0])
    np.testing.assert_array_equal(lq(1.5).distance(w, gradient), [0.0, 5.0])


def test_lq_ends_and_flag():
    w = np.array([-3.0, 0.2, 2.0])
    np.testing.assert_allclose(penalties.lq(2, 0.5).prox(w), penalties.l2(1.0).prox(w))
    np.testing.assert_allclose(penalties.lq(1, 0.5).prox(w), penalties.l1(0.5).prox(w))
    assert penalties.lq(1, 0.5).prox(w)[1] == 0
    assert penalties.lq(0, 0.5).prox(w).tolist() == [-3, 0, 2]
    assert [penalties.lq(q).convex for q in (0, 0.5, 1, 1.5, 2)] == [0, 0, 1, 1, 1]
    near = [penalties.lq(q, 0.5).prox(w) for q in (1 + 1e-9, 2 - 1e-9)]
    np.testing.assert_allclose(near[0], penalties.l1(0.5).prox(w), atol=1e-7)
    np.testing.assert_allclose(near[1], penalties.l2(1.0).prox(w), atol=1e-7)


def test_priors_are_penalties(rng):
    """Sum of squares + penalty is 2 s^2 times minus the log posterior."""
    from scipy import stats

    s, b, q = 0.5, 0.5**0.5, 1.5
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    assert penalties.from_prior("normal", b, s).value(np.ones(1)) == pytest.approx(0.5)
    assert penalties.from_prior("laplace", b, s).value(np.ones(1)) == pytest.approx(
        2 * s * s / b
    )
    logs = {
        "normal": stats.norm(0, b).logpdf,
        "laplace": stats.laplace(0, b).logpdf,
        "power": stats.gennorm(q, 0, b).logpdf,
    }
    for name, log in logs.items():
        g = penalties.from_prior(name, b, s, q)

        def joint(w, log=log):
            fit = stats.norm(X @ w, s).logpdf(y).sum() + log(w).sum()
            return -2 * s * s * fit

        def risk(w, g=g):
            return float(np.sum((y - X @ w) ** 2) + g.value(w))

        u, v = rng.normal(size=3), rng.normal(size=3)
        assert risk(u) - risk(v) == pytest.approx(joint(u) - joint(v))
    with pytest.raises(ValueError, match="prior must be"):
        penalties.from_prior("cauchy")
    with pytest.raises(ValueError, match="scale of from_prior"):
        penalties.from_prior("normal", 0.0)
