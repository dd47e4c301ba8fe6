"""Beta and Dirichlet distributions with known numbers."""

import math

import numpy as np
import pytest

from pansophy.distributions import (
    Bernoulli,
    Beta,
    Categorical,
    Dirichlet,
)


def test_beta_numbers():
    """Under Beta(1, 1) the posterior mode is the ML estimate, the mean is not."""
    see = lambda *x: Bernoulli(0.5).stats(np.array(x))
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mode[0] == pytest.approx(2 / 3)
    assert Beta(2.0, 2.0).posterior(see(1, 1, 1, 0)).mean[0] == pytest.approx(0.625)
    assert Beta(5.0, 5.0).posterior(see(1)).mode[0] == pytest.approx(5 / 9)
    assert Beta(2.0, 2.0).posterior(see(1)).mean[0] == pytest.approx(0.6)
    assert Bernoulli.from_stats(see(1), prior=Beta(1.0, 1.0)).prob[0] == 1.0
    assert Bernoulli.from_stats(see(1)).prob[0] == 1.0


def test_dirichlet_numbers(rng):
    """Two symbols are a Beta; posterior, MAP and mean of counts."""
    x = rng.random(9)
    D, B = Dirichlet([2.0, 3.5]), Beta(2.0, 3.5)
    assert np.allclose(D.log_prob(np.c_[x, 1 - x]), B.log_prob(x))
    a, seen = np.array([2.0, 1.5, 3.0]), np.array([0, 0, 2, 1, 0])
    s = Categorical(np.full(3, 1 / 3)).stats(seen)
    n = np.array([3, 1, 1])
    post = Dirichlet(a).posterior(s)
    assert np.allclose(post.concentration, a + n)
    assert np.allclose(post.mean, (n + a) / (5 + a.sum()))
    assert np.allclose(post.mode, (n + a - 1) / (5 + (a - 1).sum()))
    assert np.allclose(Categorical.from_stats(s, prior=Dirichlet(a)).prob, post.mode)
    assert np.allclose(Dirichlet(np.ones(3)).log_prob([[0.0, 0.5, 0.5]]), math.log(2))
