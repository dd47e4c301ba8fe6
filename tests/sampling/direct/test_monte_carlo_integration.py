"""Monte Carlo integration: errors, variance reduction, tolerances."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import monte_carlo

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
