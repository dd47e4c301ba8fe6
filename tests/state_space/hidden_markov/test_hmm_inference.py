"""Inference in hidden Markov chains against worked numbers and enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.state_space import (
    backward_messages,
    enumerate_paths,
    forward_messages,
    k_best_paths,
)
from tests.state_space.hmm_fits import categorical_hmm

TWO_STATES = ([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]])


LIKELIHOOD = np.array([[0.4, 0.1], [0.2, 0.5], [0.4, 0.1]])  # of 2, 0, 2


STOPPING = {
    "start": [0.6, 0.4],
    "trans": [[0.5, 0.3], [0.2, 0.5]],
    "likelihood": np.array([[0.7, 0.1], [0.3, 0.9], [0.3, 0.9]]),  # of 0, 1, 1
    "stop": [0.2, 0.3],
}


def stopping():
    model = categorical_hmm(
        STOPPING["start"], STOPPING["trans"], [[0.7, 0.3], [0.1, 0.9]]
    )
    model.stopprob_ = np.array(STOPPING["stop"])
    return model


def random_model(rng, k, m, **more):
    tables = [rng.dirichlet(np.ones(size), size=k) for size in (k, m)]
    return categorical_hmm(rng.dirichlet(np.ones(k)), *tables, **more)


def test_messages_of_two_states_worked_numbers():
    a, b = (
        forward_messages(*TWO_STATES, LIKELIHOOD),
        backward_messages(*TWO_STATES, LIKELIHOOD),
    )
    numbers = [[0.32, 0.02], [0.0404, 0.069], [0.023496, 0.005066]]
    assert np.allclose(a, numbers, atol=1e-9)
    assert np.allclose(b[0], [0.0836, 0.0905])
    assert np.allclose((a * b).sum(1), 0.028562)


def test_messages_of_a_stopping_chain_worked_numbers():
    a = forward_messages(**STOPPING, inclusive=False)
    b = backward_messages(**STOPPING, inclusive=True)
    numbers = [[0.6, 0.4], [0.218, 0.146], [0.05898, 0.08532]]
    assert np.allclose(a, numbers, atol=1e-9)
    numbers = [[0.039438, 0.007281], [0.0333, 0.1323], [0.06, 0.27]]
    assert np.allclose(b, numbers, atol=1e-9)
    assert np.allclose((a * b).sum(1), 0.0265752)


def test_a_model_that_stops_worked_numbers():
    model, x = stopping(), np.array([0, 1, 1])
    assert math.exp(model.score(x)) == pytest.approx(0.0265752)
    assert model.score(x) == pytest.approx(-3.6277768, abs=1e-7)
    marginal = [0.89040910, 0.27316445, 0.13316174]
    assert np.allclose(model.smooth(x)[:, 0], marginal, atol=1e-8)
    pairs = model.pair_marginals(x).reshape(2, 4)
    one = [0.26314007, 0.62726903, 0.01002438, 0.09956651]
    two = [0.07382823, 0.19933622, 0.05933351, 0.66750203]
    assert np.allclose(pairs, [one, two], atol=1e-8)
    score, path = model.decode(x)
    assert list(path) == [0, 1, 1]
    assert math.exp(score) == pytest.approx(0.015309)
    score, path = model.decode(np.array([0, 1, 0]))
    assert (list(path), math.exp(score)) == ([0, 0, 0], pytest.approx(0.00441))
    assert list(model.decode(np.array([0, 1, 0]), method="posterior")[1]) == [0, 1, 0]


def test_umbrellas():
    """Rain on two days of umbrellas: .818, .883 filtered and .883 smoothed."""
    model = categorical_hmm(
        [0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]]
    )
    x = np.array([0, 0])
    assert np.allclose(model.filter(x)[:, 0], [0.818182, 0.883357], atol=1e-6)
    assert np.allclose(model.smooth(x)[0, 0], 0.883357, atol=1e-6)
    assert list(model.decode(np.array([0, 0, 1, 0, 0]))[1]) == [0, 0, 1, 0, 0]


def test_walk_shop_clean():
    """Rainy or sunny, seen through walk, shop, clean: sunny, rainy, rainy, .01344."""
    model = categorical_hmm(
        [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    )
    score, path = model.decode(np.array([0, 1, 2]))
    assert list(path) == [1, 0, 0]
    assert math.exp(score) == pytest.approx(0.01344)
    assert math.exp(model.score(np.array([0, 1, 2]))) == pytest.approx(0.033612)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 3), n=st.integers(1, 5))
def test_equals_enumeration(seed, k, n):
    """Models with zeros in them, messages, pairs, lags, the best three paths."""
    rng = np.random.default_rng(seed)
    model, x = random_model(rng, k, 3), rng.integers(3, size=n)
    A = np.where(rng.random((k, k)) < 0.3, 0.0, model.transmat_) + 1e-12 * np.eye(k)
    model.transmat_ = A = A / A.sum(1, keepdims=True)
    L = model.emissionprob_[:, x].T
    paths, log_p = enumerate_paths(model.startprob_, A, L)
    p = np.exp(log_p)
    share = p / p.sum()
    assert model.score(x) == pytest.approx(math.log(p.sum()))
    G = np.array([[share[paths[:, t] == j].sum() for j in range(k)] for t in range(n)])
    assert np.allclose(model.smooth(x), G)
    for t, pair in enumerate(model.pair_marginals(x)):
        both = paths[:, t] * k + paths[:, t + 1]
        assert np.allclose(pair.ravel(), np.bincount(both, share, minlength=k * k))
    best = np.sort(p[p > 0])[::-1][:3]
    scores, found = model.decode(x, k=3)
    assert np.allclose(np.exp(scores), best)
    assert all(log_p[np.all(paths == z, axis=1)] == pytest.approx(s)
               for z, s in zip(found, scores, strict=True))  # fmt: skip
    a, b = (
        forward_messages(model.startprob_, A, L),
        backward_messages(model.startprob_, A, L),
    )
    assert np.allclose((a * b).sum(1), p.sum())
    lagged = model.smooth(x, lag=1)
    for t in range(n):
        part = model.smooth(x[: t + 2])
        assert np.allclose(lagged[t], part[t])
    assert np.allclose(model.smooth(x, lag=n), G)
    assert np.allclose(model.smooth(x, lag=0), model.filter(x))


def test_enumeration_refuses_large_models():
    with pytest.raises(ValueError, match="more than 1000000 paths"):
        enumerate_paths(np.ones(2) / 2, np.eye(2), np.ones((30, 2)))
    with pytest.raises(ValueError, match=r"likelihood \(n, 2\)"):
        forward_messages([0.5, 0.5], np.eye(2), np.ones((3, 3)))
    with pytest.raises(ValueError, match="at least one path"):
        k_best_paths(*TWO_STATES, LIKELIHOOD, 0)


def test_a_sequence_of_probability_zero_has_no_posterior():
    model = categorical_hmm([1.0, 0.0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]])
    fine, not_possible = np.array([[0], [0]]), np.array([[0], [1], [1]])
    assert model.score([fine, not_possible]) == -np.inf
    for ask in (
        model.predict_proba, model.filter, model.predict, model.pair_marginals,
        lambda X: model.smooth(X, lag=1),
    ):  # fmt: skip
        ask([fine, fine])
        with pytest.raises(ValueError, match=r"^sequence 1 of 2 has probability 0 "):
            ask([fine, not_possible])
