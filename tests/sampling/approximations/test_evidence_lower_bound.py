"""The three forms of the evidence lower bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pansophy.distributions import Normal
from pansophy.sampling import (
    elbo,
    likelihood_gain,
)


def tables(seed, n=3, k=4):
    """log p(z), log p(x, z) of n rows, and any q."""
    rng = np.random.default_rng(seed)
    prior = rng.dirichlet(np.ones(k))
    joint = prior * rng.random((n, k))
    return np.log(prior), np.log(joint), rng.dirichlet(np.ones(k), size=n)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_three_forms_agree_and_bound_the_evidence(seed):
    log_prior, log_joint, q = tables(seed)
    b = elbo(log_joint, q, log_prior=log_prior)
    np.testing.assert_allclose(b.forms, b.value, rtol=1e-10, atol=1e-10)
    exact = np.log(np.exp(log_joint).sum(axis=1)).sum()
    assert b.log_evidence == pytest.approx(exact) and b.gap > 0 < b.kl_prior
    assert b.gap == pytest.approx(b.kl_posterior)
    post = np.exp(log_joint) / np.exp(log_joint).sum(axis=1, keepdims=True)
    assert elbo(log_joint, post).gap == pytest.approx(0, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_gain_is_q_gain_plus_divergence(seed):
    old, new = tables(seed)[1], tables(seed + 1)[1]
    gain = likelihood_gain(old, new)
    assert gain.total == pytest.approx(gain.expected + gain.kl) and gain.kl >= 0
    assert likelihood_gain(old, old) == pytest.approx((0, 0, 0), abs=1e-12)


def test_elbo_by_draws():
    """z ~ N(0, 1), x | z ~ N(z, 1): p(x) = N(0, 2), posterior N(x/2, 1/2)."""
    x, prior = 1.4, Normal(0.0, 1.0)
    joint = lambda z: prior.log_prob(z) + stats.norm.logpdf(x, z[:, 0], 1)
    evidence, post = stats.norm.logpdf(x, 0, np.sqrt(2)), Normal(x / 2, 0.5)
    parts = {"log_prior": prior.log_prob, "log_posterior": post.log_prob}
    best = elbo(joint, post, log_evidence=evidence, random_state=0, **parts)
    np.testing.assert_allclose(best.forms, evidence, rtol=1e-12)
    assert best.se < 1e-12
    q = Normal(0.0, 1.0)
    b = elbo(joint, q, log_evidence=evidence, n=20_000, random_state=0, **parts)
    assert b.forms[1] == pytest.approx(b.value)
    assert abs(b.forms[2] - b.value) < 1e-9  # the same draws in each form
    kl = 0.5 * (2 + 2 * 0.49 - 1 - np.log(2))
    assert abs(b.kl_posterior - kl) < 4.5 * b.se and b.value < evidence


def test_elbo_refuses():
    with pytest.raises(ValueError, match="same shape"):
        elbo(np.zeros(3), np.ones(2) / 2)
    with pytest.raises(ValueError, match="sum to 1"):
        elbo(np.zeros(2), np.ones(2))
