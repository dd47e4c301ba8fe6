"""Bernoulli and binomial distributions with known numbers."""

import math

import numpy as np
import pytest

from pansophy.distributions import (
    Bernoulli,
    Binomial,
)


def test_binomial_and_bernoulli_numbers():
    """A probability worked out by hand; one trial is Bernoulli."""
    assert math.exp(Binomial(5, 0.3).log_prob([2])[0]) == pytest.approx(0.3087)
    x = [0, 1, 1]
    assert np.allclose(Binomial(1, 0.3).log_prob(x), Bernoulli(0.3).log_prob(x))
