"""Importance sampling: errors, degenerate weights, Pareto smoothing."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import importance_sample, pareto_smooth


def test_importance_is_unbiased_and_knows_its_error():
    """P(z > 4) = 3.167e-5 by draws around 4; z scores of 100 runs."""
    rare = lambda x: x[:, 0] > 4
    p, q = Normal(0.0, 1.0), Normal(4.0, 1.0)
    how = {"normalised": True}
    runs = [
        importance_sample(rare, p.log_prob, q, 2000, random_state=s, **how)
        for s in range(100)
    ]
    z = np.array([(r.value - stats.norm.sf(4)) / r.se for r in runs])
    assert 0.75 < z.std() < 1.25 and abs(z.mean()) < 0.4


def test_zero_variance_for_the_best_law():
    """f >= 0 and q proportional to f p: every term is the integral itself."""
    p = stats.expon()
    f = lambda x: 3 * x  # x e^-x is Gamma(2)
    run = importance_sample(
        f, p.logpdf, stats.gamma(2), 1000, normalised=True, random_state=0
    )
    assert run.value == pytest.approx(3.0, rel=1e-12) and run.se < 1e-12
    assert run.ess == pytest.approx(1000)
    rng = np.random.default_rng(0)
    same = importance_sample(f, p.logpdf, p, 1000, random_state=rng)  # q = p: plain
    assert same.ess == pytest.approx(1000) and same.log_z == pytest.approx(0)
    x = p.rvs(1000, random_state=np.random.default_rng(0))
    assert same.value == pytest.approx(3 * x.mean())


def test_self_normalised_needs_no_constant():
    log_p = lambda x: -0.5 * (x - 1) ** 2 + 7.0
    run = importance_sample(lambda x: x, log_p, stats.t(4), 20_000, random_state=0)
    assert abs(run.value - 1) < 4.5 * run.se and run.k < 0.5
    assert run.log_z == pytest.approx(7 + 0.5 * np.log(2 * np.pi), abs=0.05)
    again = importance_sample(None, log_p, stats.t(4), 20_000, random_state=0)
    assert again.value == run.value
    x = run.resample(5000, random_state=0)
    assert abs(x.mean() - 1) < 0.06 and abs(x.std() - 1) < 0.06


def test_degenerate_weights_warn():
    p = stats.norm(0, 1)
    with pytest.warns(RuntimeWarning, match="degenerate.*Pareto"):
        run = importance_sample(
            None, p.logpdf, stats.norm(0, 0.3), 2000, random_state=0
        )
    assert run.k > 0.7
    with pytest.raises(ValueError, match="no draw"):
        importance_sample(None, lambda x: np.full(len(x), -np.inf), p, 10)


def test_pareto_shape_and_smoothing():
    """Weights u^-k of uniform u have a tail of shape k exactly."""
    rng = np.random.default_rng(0)
    for k in (0.2, 0.5, 0.9):
        found = [pareto_smooth(-k * np.log(rng.random(5000))).k for _ in range(20)]
        assert abs(np.mean(found) - k) < 0.06
    L = -0.9 * np.log(rng.random(2000))
    smooth = pareto_smooth(L)
    assert smooth.log_weights.max() <= L.max() + 1e-12
    assert np.sum(smooth.log_weights != L) <= np.ceil(3 * np.sqrt(2000))
    assert np.isnan(pareto_smooth(np.zeros(10)).k)


def test_smoothing_brings_down_the_error():
    """A proposal too narrow: mean square errors over 200 runs."""
    p, q = stats.norm(0, 1), stats.norm(0, 0.75)
    square = lambda x: x**2
    run = lambda s, smooth: importance_sample(
        square, p.logpdf, q, 500, smooth=smooth, random_state=s
    )
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        errors = [
            np.mean([(run(s, smooth).value - 1) ** 2 for s in range(200)])
            for smooth in (False, True)
        ]
    assert errors[1] < errors[0]
