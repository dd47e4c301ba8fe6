"""The EM driver: a worked trace, and likelihoods that belong to their parameters."""

import math

import numpy as np
import pytest

from pansophy.core.drivers.em import EMState, em
from pansophy.distributions import Normal
from tests.oracles.mixture import mixture_em_steps


def test_trace_of_the_worked_example():
    """EM of two Normals on six numbers: responsibilities, log-likelihoods and limit."""
    X = np.array([-2.0, -1, 0, 4, 5, 6])[:, None]
    first = (np.array([0.5, 0.5]), Normal([[0.0], [1.0]], [[1.0], [1.0]], "diag"))
    expect, maximise = mixture_em_steps(X, Normal)
    R = np.exp(first[1].log_prob(X))
    gamma = (R / R.sum(1, keepdims=True))[:, 0]
    numbers = [0.924142, 0.817574, 0.622459, 0.029312, 0.010987, 0.004070]
    assert np.allclose(gamma, numbers, atol=1e-6)
    run = em(expect, maximise, first, max_iter=3, tol=0)
    trace = [expect(first)[1], *-run.history["objective"]]
    assert np.allclose(
        trace, [-36.373258, -13.517678, -12.601565, -11.569570], atol=1e-6
    )
    run = em(expect, maximise, run.state, max_iter=100, tol=1e-13)
    assert isinstance(run.state, EMState)
    w, parts = run.state.params
    assert -run.objective == pytest.approx(-11.456119, abs=1e-6)
    assert np.allclose(w, 0.5, atol=1e-4)
    assert np.allclose(parts.mean[:, 0], [-1, 5], atol=1e-3)
    assert np.allclose(parts.cov, 2 / 3, atol=1e-3)


def test_driver_keeps_likelihood_and_parameters_together():
    """The reported objective is that of the reported parameters, per row."""
    expect = lambda p: (p, -float(p))
    run = em(expect, lambda s: s / 2, 8.0, n=4.0, max_iter=3, tol=0)
    assert run.state.params == 1.0
    assert run.objective == 0.25
    assert run.n_iter == 3
    assert math.isclose(run.history["objective"][0], 1.0)
    stopped = em(expect, lambda s: s / 2, 8.0, n=4.0, max_iter=99, tol=0.3)
    assert stopped.converged
    assert stopped.state.params == 1.0
