"""Bayesian search: expected improvement, minima, choices, failed trials."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from pansophy.gaussian_process import bayesian_search, expected_improvement
from pansophy.gaussian_process.bayesian_search import propose_point
from pansophy.optim import random_search


@pytest.mark.parametrize(("mean", "std", "best"), [(0.3, 0.5, 0.1), (-1.0, 0.2, 0.0)])
def test_expected_improvement_is_the_integral(mean, std, best):
    expected = quad(lambda v: (best - v) * norm(mean, std).pdf(v), mean - 9 * std, best)
    assert expected_improvement(mean, std, best) == pytest.approx(expected[0], abs=1e-8)


def branin(x):
    a, b = x
    curve = b - 5.1 * a * a / (4 * np.pi**2) + 5 * a / np.pi - 6
    return curve**2 + 10 * (1 - 1 / (8 * np.pi)) * np.cos(a) + 10


def test_fewer_evaluations_than_random_points():
    box = [(-5.0, 10.0), (0.0, 15.0)]
    run = bayesian_search(branin, box, 30, random_state=0)
    blind = random_search(branin, box, 30, random_state=0)
    assert run.state.objective < 0.397887 + 0.05
    assert run.state.objective < blind.objective
    assert len(run.state.values) == 30
    assert run.converged
    assert run.state.objective == run.state.values.min()
    again = bayesian_search(branin, box, 30, random_state=0)
    assert np.array_equal(run.state.values, again.state.values)


def test_choices_logarithms_and_failures():
    seen = []

    def f(p):
        seen.append((p["kind"], p["n"]))
        if p["kind"] == "broken":
            return float("nan")
        return (np.log10(p["rate"]) + 2) ** 2 + abs(p["n"] - 3)

    space = {
        "n": range(1, 6),
        "rate": (1e-4, 1.0, "log"),
        "kind": ["good", "broken"],
    }
    run = bayesian_search(f, space, 25, random_state=1)
    assert run.state.position["kind"] == "good"
    assert run.state.position["n"] == 3
    assert run.state.objective < 0.2
    assert len(seen) == 25


def test_all_trials_fail():
    run = bayesian_search(lambda x: np.nan, [(0.0, 1.0)], 6, random_state=0)
    assert np.isinf(run.state.values).all()


def test_no_point_is_tried_twice_while_others_are_left():
    """Even where all others look hopeless: a steep line, with one level left."""
    levels = np.array([6])
    U = (np.arange(5) + 0.5)[:, None] / 6
    for seed in range(3):
        rng = np.random.default_rng(seed)
        point = propose_point(levels, U, 10.0 * np.arange(5), rng)
        assert point[0] == pytest.approx(5.5 / 6)
