"""Integrals by draws: plain, antithetic, controlled, quasi-random, weighted."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import importance_sample, monte_carlo, pareto_smooth

CUBE = [(0, 1)] * 3
bump = lambda x: np.exp(x.sum(axis=1))
EXACT = (np.e - 1) ** 3


def test_circle_in_square():
    """A quarter circle in the unit square: pi / 4 = 0.785398."""
    inside = lambda x: (x**2).sum(axis=1) < 1
    run = monte_carlo(inside, [(0, 1), (0, 1)], 200_000, random_state=0)
    assert abs(run.value - 0.785398) < 4.5 * run.se
    assert run.interval[0] < 0.785398 < run.interval[1]
    p = np.pi / 4
    assert run.se == pytest.approx(np.sqrt(p * (1 - p) / 200_000), rel=0.01)
    wide = monte_carlo(inside, [(-1, 1), (-1, 1)], 200_000, random_state=0)
    assert abs(wide.value - np.pi) < 4.5 * wide.se  # the volume of the box counts


def test_error_falls_as_one_over_root_n():
    runs = [monte_carlo(bump, CUBE, n, random_state=0).se for n in (1000, 100_000)]
    assert runs[0] / runs[1] == pytest.approx(10, rel=0.1)


def test_reported_errors_are_right():
    """z scores of 200 runs have spread one, for each way; 0.8 to 1.2 is 4 sd."""
    ways = {
        "plain": {},
        "antithetic": {"method": "antithetic"},
        "control": {"control": lambda x: x, "control_mean": [0.5] * 3},
    }
    for how in ways.values():
        runs = [monte_carlo(bump, CUBE, 400, random_state=s, **how) for s in range(200)]
        z = np.array([(r.value - EXACT) / r.se for r in runs])
        assert 0.8 < z.std() < 1.2 and abs(z.mean()) < 0.35


def test_variance_is_reduced():
    n = 2**14
    run = lambda **how: monte_carlo(bump, CUBE, n, random_state=0, **how)
    plain = run()
    control = run(control=lambda x: x, control_mean=[0.5] * 3)
    others = run(method="antithetic"), control
    quasi = run(method="quasi")
    assert all(o.se < 0.5 * plain.se for o in others) and quasi.se < 0.02 * plain.se
    for r in (plain, *others, quasi):
        assert abs(r.value - EXACT) < 4.5 * r.se and r.n == n
    exact = run(control=bump, control_mean=EXACT)  # f itself as control
    assert exact.value == pytest.approx(EXACT) and exact.se < 1e-8


def test_several_integrals_and_laws():
    f = lambda x: np.stack([x, x**2], axis=1)
    run = monte_carlo(f, stats.norm(1, 2), 50_000, random_state=0)
    assert (np.abs(run.value - [1, 5]) < 4.5 * run.se).all()
    p = Normal([1.0, 0.0], [[2.0, 0.5], [0.5, 1.0]])
    product = lambda x: x[:, 0] * x[:, 1]
    for how in ({}, {"method": "antithetic"}, {"method": "quasi"}):
        run = monte_carlo(product, p, 2**15, random_state=0, **how)
        assert abs(run.value - 0.5) < 4.5 * run.se


def test_until_a_tolerance():
    run = monte_carlo(bump, CUBE, 100, tol=0.02, random_state=0)
    half = (run.interval[1] - run.interval[0]) / 2
    assert half <= 0.02 and run.converged and run.n > 10_000
    quasi = monte_carlo(bump, CUBE, 256, tol=1e-3, method="quasi", random_state=0)
    assert quasi.n < run.n and abs(quasi.value - EXACT) < 2e-3
    with pytest.warns(RuntimeWarning, match="raise max_n"):
        monte_carlo(bump, CUBE, 100, tol=1e-6, max_n=1000, random_state=0)


def test_monte_carlo_refuses():
    with pytest.raises(ValueError, match="go together"):
        monte_carlo(bump, CUBE, control=bump)
    with pytest.raises(TypeError, match="map of the unit cube"):
        monte_carlo(bump, lambda rng, n: rng.random((n, 3)), method="quasi")
    with pytest.raises(ValueError, match="finite sides"):
        monte_carlo(bump, [(0, np.inf)])
    with pytest.raises(ValueError, match="f is"):
        monte_carlo(lambda x: 0 * x[:, 0] + np.nan, CUBE)


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
    same = importance_sample(f, p.logpdf, p, 1000, random_state=0)  # q = p: plain
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


def test_values_that_are_all_the_same_are_not_believed():
    """A rare event that no draw has met is not 0 +- 0: the rule of three."""
    rare = lambda x: (x[:, 0] > 1 - 1e-4).astype(float)
    once = monte_carlo(rare, [(-1, 1)], 100, random_state=0)
    assert once.value == once.se == 0.0
    assert once.interval[1] == pytest.approx(2 * 0.0299573)
    run = monte_carlo(rare, [(0, 1)], 100, tol=1e-4, random_state=0)
    assert run.converged and run.n > 20_000
    assert run.interval[0] <= 1e-4 <= run.interval[1]
    flat = monte_carlo(lambda x: np.full(len(x), 5.0), [(0, 1)], 100, random_state=0)
    assert flat.value == 5.0 and flat.interval[1] == pytest.approx(5.14979)
    # a control that explains f wholly leaves no error, and that is right
    f = lambda x: 2 * x[:, 0]
    told = monte_carlo(f, [(0, 1)], 100, control=f, control_mean=1.0, random_state=0)
    assert told.interval == pytest.approx((1.0, 1.0))
