"""Filters against brute force: discrete chains by enumeration, linear Gaussian ones
by conditioning one large Normal."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.chains import filtering
from pansophy.core.chains.filtering import (
    Chain,
    Evidence,
    Filter,
    MarkovFilter,
    bayes_filter,
    bayes_smoother,
    expected_counts,
    filter_chain,
    smooth_chain,
    viterbi,
)
from pansophy.core.loops import threads
from pansophy.distributions import Normal
from tests.oracles import hidden_chain as slow


class Belief(NamedTuple):
    mean: np.ndarray
    cov: np.ndarray


class Kalman(NamedTuple):
    """z' = F z + Normal(0, Q), x = H z + Normal(0, R): the smallest useful one."""

    F: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    R: np.ndarray

    def predict(self, b):
        return Belief(self.F @ b.mean, self.F @ b.cov @ self.F.T + self.Q)

    def update(self, b, x):
        S = self.H @ b.cov @ self.H.T + self.R
        K = np.linalg.solve(S, self.H @ b.cov).T
        new = Belief(b.mean + K @ (x - self.H @ b.mean), b.cov - K @ self.H @ b.cov)
        return new, Normal(self.H @ b.mean, S).log_prob(x[None])[0]

    def reverse(self, filtered, predicted, smoothed):
        J = np.linalg.solve(predicted.cov, self.F @ filtered.cov).T
        mean = filtered.mean + J @ (smoothed.mean - predicted.mean)
        return Belief(mean, filtered.cov + J @ (smoothed.cov - predicted.cov) @ J.T)


def random_chain(rng, k, n):
    start, trans = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k)
    return start, trans, rng.random((n, k))


@given(seed=st.integers(0, 10_000), k=st.integers(1, 4), n=st.integers(1, 6))
def test_drivers_equal_enumeration(seed, k, n):
    start, trans, L = random_chain(np.random.default_rng(seed), k, n)
    total, G, _, _, _ = slow.everything(start, trans, L)
    model = MarkovFilter(trans, lambda t: L[t])
    assert isinstance(model, Filter)
    run = bayes_filter(model, start, range(n))
    assert np.allclose(run.loglik, math.log(total))
    assert np.allclose(run.filtered, slow.filtered(start, trans, L))
    assert np.allclose(bayes_smoother(model, run), G)


@given(seed=st.integers(0, 10_000), k=st.integers(1, 9), n=st.integers(1, 4))
def test_loops_equal_enumeration(seed, k, n):
    start, trans, L = random_chain(np.random.default_rng(seed), k, n)
    total, G, pairs, path, best = slow.everything(start, trans, L)
    chain, seen = Chain(start, trans), Evidence(np.log(L), None, np.array([n]))
    for log in (False, True):
        E = expected_counts(chain, seen, log=log)
        assert np.allclose(E.loglik, math.log(total))
        assert np.allclose(E.trans, pairs)
        assert np.allclose(E.counts, G)
        assert np.allclose(E.start, G[0])
        posterior, logliks = smooth_chain(chain, seen, log=log)
        assert np.allclose(posterior, G)
        assert np.allclose(logliks, math.log(total))
    belief, logliks = filter_chain(chain, seen)
    assert np.allclose(belief, slow.filtered(start, trans, L))
    assert np.allclose(logliks, math.log(total))
    z, score = viterbi(chain, seen)
    assert np.array_equal(z, path)
    assert np.allclose(score, math.log(best))


def test_a_table_of_symbols_is_the_same_as_a_row_per_step(rng):
    k, m, n = 5, 4, 300
    start, trans, table = random_chain(rng, k, m)
    x, ends = rng.integers(m, size=n), np.array([1, 90, 91, 300])
    chain = Chain(start, trans)
    short = expected_counts(chain, Evidence(np.log(table), x, ends))
    long = expected_counts(chain, Evidence(np.log(table)[x], None, ends))
    assert np.allclose(short.loglik, long.loglik)
    assert np.allclose(short.trans, long.trans)
    rows = np.zeros((m, k))
    np.add.at(rows, x, long.counts)
    assert np.allclose(short.counts, rows)
    parts = [
        expected_counts(chain, Evidence(np.log(table), x[a:b], np.array([b - a])))
        for a, b in zip([0, 1, 90, 91], ends, strict=True)
    ]
    assert np.allclose(short.trans, sum(p.trans for p in parts))


@pytest.mark.parametrize("log", [False, True])
def test_impossible_observations_say_so(log):
    chain = Chain(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.5, 0.5]]))
    table = np.array([[0.0, -np.inf], [-np.inf, 0.0]])
    seen = Evidence(table, np.array([0, 1, 0, 0]), np.array([2, 4]))
    E = expected_counts(chain, seen, log=log)
    assert E.loglik == -np.inf
    assert np.allclose(E.trans, [[1, 0], [0, 0]])  # of the possible sequence
    assert list(smooth_chain(chain, seen, log=log)[1]) == [-np.inf, 0.0]
    assert list(viterbi(chain, seen)[1]) == [-np.inf, 0.0]


def test_long_sequences_do_not_underflow(rng):
    """10^5 steps of likelihoods near 1e-200: both ways agree, and Viterbi is finite."""
    k, n = 3, 100_000
    start, trans, table = random_chain(rng, k, 4)
    seen = Evidence(np.log(table) - 460, rng.integers(4, size=n), np.array([n]))
    chain = Chain(start, trans)
    a, b = expected_counts(chain, seen), expected_counts(chain, seen, log=True)
    assert a.loglik == pytest.approx(b.loglik, rel=1e-12)
    assert a.trans.sum() == pytest.approx(n - 1, rel=1e-10)
    assert np.allclose(a.trans, b.trans, rtol=1e-4)  # logarithms of 1e7 lose digits
    path, score = viterbi(chain, seen)
    assert score[0] < a.loglik
    assert set(path) <= set(range(k))


def test_same_sums_for_any_number_of_threads(rng, monkeypatch):
    k, m, n = 6, 5, 40_000
    start, trans, table = random_chain(rng, k, m)
    ends = np.arange(500, n + 1, 500)
    seen = Evidence(np.log(table), rng.integers(m, size=n), ends)
    got = []
    for count in (1, 2, 3):
        monkeypatch.setattr(threads, "available_threads", lambda count=count: count)
        got.append(expected_counts(Chain(start, trans), seen))
    assert len(filtering.group_sequences(ends)) > 2
    for other in got[1:]:
        for a, b in zip(got[0], other, strict=True):
            assert np.array_equal(a, b)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 5), skip=st.integers(-1, 4))
def test_kalman_equals_one_large_normal(seed, n, skip):
    """Filter, smoother and likelihood; x_skip is missing."""
    rng = np.random.default_rng(seed)
    spd = lambda d: (lambda A: A @ A.T + 0.5 * np.eye(d))(rng.normal(size=(d, d)))
    model = Kalman(rng.normal(size=(2, 2)), spd(2), rng.normal(size=(1, 2)), spd(1))
    assert isinstance(model, Filter)
    m0, S0 = rng.normal(size=2), spd(2)
    x = rng.normal(size=(n, 1))
    mean, cov = slow.dense_gaussian(m0, S0, *model, n)
    whole = Normal(mean, cov)
    seen = [t for t in range(n) if t != skip]
    run = bayes_filter(
        model, Belief(m0, S0), [None if t == skip else x[t] for t in range(n)]
    )
    where = [2 * n + t for t in seen]
    if seen:
        expect = whole.marginal(where).log_prob(x[seen].T)[0]
        assert run.loglik == pytest.approx(float(expect), rel=1e-8, abs=1e-8)
    smoothed = bayes_smoother(model, run)
    for t in range(n):
        for belief, upto in ((run.filtered[t], t), (smoothed[t], n)):
            known = [s for s in seen if s <= upto]
            p = whole.marginal([2 * t, 2 * t + 1, *(2 * n + s for s in known)])
            if known:
                p = p.condition(range(2, 2 + len(known)), x[known, 0])
            assert np.allclose(belief.mean, p.mean[:2], atol=1e-7)
            assert np.allclose(belief.cov, p.dense[:2, :2], atol=1e-7)


def test_tiger_belief():
    """Ex. B51 of 003: listening twice, .5 -> .85 -> .969799."""
    model = MarkovFilter(np.eye(2), lambda x: np.array([[0.85, 0.15], [0.15, 0.85]])[x])
    run = bayes_filter(model, np.array([0.5, 0.5]), [0, 0])
    assert np.allclose([b[0] for b in run.filtered], [0.85, 0.969799], atol=1e-6)
