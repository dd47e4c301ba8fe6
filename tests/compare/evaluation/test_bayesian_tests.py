"""Posterior probabilities of better, equal, worse: closed form, peers, words."""

import numpy as np
import pytest
from scipy import stats

from pansophy.compare import (
    bayesian_correlated_t,
    bayesian_signed_rank,
    corrected_t_test,
)


def test_correlated_t_by_hand(rng):
    d, rho, r = rng.normal(0.01, 0.02, 25), 0.2, 0.01
    scale = np.sqrt((1 / 25 + rho / (1 - rho)) * d.var(ddof=1))
    posterior = stats.t(24, d.mean(), scale)
    p = bayesian_correlated_t(d, ratio=1 / 4, rope=r)
    expected = posterior.sf(r), posterior.cdf(r) - posterior.cdf(-r), posterior.cdf(-r)
    assert p == pytest.approx(expected)
    turned = bayesian_correlated_t(d, 1 / 4, r, greater=False)
    assert turned == pytest.approx(p[::-1])


def test_without_a_region_it_is_the_corrected_test(rng):
    d = rng.normal(0.5, 1, 10)
    p = bayesian_correlated_t(d, 1 / 9, rope=0.0)
    assert 2 * min(p.better, p.worse) == pytest.approx(corrected_t_test(d, 1 / 9)[1])
    assert p.equivalent == pytest.approx(0, abs=1e-12)


def test_no_doubt_is_left():
    assert bayesian_correlated_t([0.1, 0.1, 0.1], 0.25) == (1, 0, 0)
    assert bayesian_correlated_t([-0.1, -0.1], 0.25) == (0, 0, 1)
    assert bayesian_correlated_t([0.0, 0.0], 0.25) == (0, 1, 0)
    assert bayesian_correlated_t([0.0, 0.0], 0.25, rope=0) == (0.5, 0, 0.5)


def slow_signed_rank(z, rope, prior, draws, rng):
    wins = np.zeros(3)
    z = [0.0, *z]
    for _ in range(draws):
        w = rng.dirichlet([prior, *[1.0] * (len(z) - 1)])
        theta = np.zeros(3)
        for i, a in enumerate(z):
            for j, b in enumerate(z):
                k = 0 if a + b > 2 * rope else 2 if a + b < -2 * rope else 1
                theta[k] += w[i] * w[j]
        wins[theta.argmax()] += 1
    return wins / draws


def test_signed_rank_against_the_slow_way(rng):
    z = rng.normal(0.01, 0.02, 7)
    p = bayesian_signed_rank(z, 0.01)
    slow = slow_signed_rank(z, 0.01, 0.5, 1500, rng)
    assert np.allclose(p, slow, atol=0.04)
    assert sum(p) == pytest.approx(1)
    assert bayesian_signed_rank(z, 0.01, greater=False) == pytest.approx(p[::-1])


def test_against_baycomp(rng):
    peer = pytest.importorskip("baycomp")
    a, b = rng.normal(0.8, 0.03, (2, 50))
    worse, same, better = peer.two_on_single(a, b, rope=0.01, runs=5)
    assert bayesian_correlated_t(b - a, 1 / 9, 0.01) == pytest.approx(
        (better, same, worse)
    )
    a, b = rng.normal(0.8, 0.02, (2, 12))
    worse, same, better = peer.SignedRankTest.probs(a, b, rope=0.01, nsamples=5000)
    assert np.allclose(
        bayesian_signed_rank(b - a, 0.01), (better, same, worse), atol=0.03
    )


def test_signed_rank_edges():
    assert bayesian_signed_rank([0.0, 0.0, 0.0], 0.01) == (0, 1, 0)
    p = bayesian_signed_rank([0.0], rope=0.0)
    assert p.better == pytest.approx(p.worse) and p.equivalent == 0
    assert bayesian_signed_rank([0.2] * 20, 0.01).better > 0.99


def test_bad_input():
    for wrong, words in [
        (lambda: bayesian_correlated_t([0.1], 0.25), "two scores"),
        (lambda: bayesian_correlated_t([0.1, np.nan], 0.25), "finite"),
        (lambda: bayesian_correlated_t([0.1, 0.2], 0.25, rope=-1), "rope must be"),
        (lambda: bayesian_signed_rank([]), "no differences"),
        (lambda: bayesian_signed_rank([np.nan]), "finite"),
        (lambda: bayesian_signed_rank([0.1], prior=0), "prior must be"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
