"""Analysis of transition matrices."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.state_space import (
    MarkovChain,
    absorption_probabilities,
    communicating_classes,
    distance_to_stationary,
    hitting_times,
    is_reversible,
    mixing_time,
    stationary_distribution,
    time_reversal,
)

WEATHER = np.array([[0.7, 0.3], [0.2, 0.8]])


@st.composite
def matrices(draw, largest=6):
    k = draw(st.integers(1, largest))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    P = rng.dirichlet(np.full(k, 0.5), size=k)
    P[rng.random((k, k)) < draw(st.sampled_from([0, 0.4, 0.7]))] = 0
    P[P.sum(axis=1) == 0, 0] = 1
    return P / P.sum(axis=1, keepdims=True)


def test_eight_states_in_classes():
    names = list("abcdefgh")
    edges = ["ab", "ba", "cd", "cg", "de", "ef", "fd", "ga", "gc", "hc", "hh"]
    P = np.zeros((8, 8))
    for i, j in edges:
        P[names.index(i), names.index(j)] = 1
    found = communicating_classes(P / P.sum(axis=1, keepdims=True))
    of = lambda index: {names[i] for i in index}
    assert of(np.flatnonzero(found.transient)) == {"c", "g", "h"}
    recurrent = sorted(map(of, found.members()), key=min)
    assert recurrent == [{"a", "b"}, {"d", "e", "f"}]
    assert not found.ergodic and not found.irreducible
    assert sorted(found.period[found.recurrent]) == [2, 3]
    both = absorption_probabilities(P / P.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(both.sum(axis=1), 1)
    assert stationary_distribution(P / P.sum(axis=1, keepdims=True)).shape == (2, 8)


@given(matrices())
@settings(max_examples=40, deadline=None)
def test_limits_of_any_chain(P):
    found = communicating_classes(P)
    pis = np.atleast_2d(stationary_distribution(P))
    np.testing.assert_allclose(pis @ P, pis, atol=1e-12)
    assert len(pis) == found.recurrent.sum()
    np.testing.assert_allclose(absorption_probabilities(P).sum(axis=1), 1, atol=1e-9)
    if found.recurrent.sum() == 1:
        curve = distance_to_stationary(P, 30)
        assert (np.diff(curve) <= 1e-12).all()
        if found.ergodic and (n := mixing_time(P, 0.1)) < 30:
            assert curve[n] <= 0.1 + 1e-12
            assert n == 0 or curve[n - 1] > 0.1
        if found.irreducible:
            np.testing.assert_allclose(time_reversal(time_reversal(P)), P, atol=1e-9)
            np.testing.assert_allclose(
                stationary_distribution(time_reversal(P)), pis[0], atol=1e-9
            )


def test_detailed_balance():
    assert is_reversible(WEATHER)
    turning = [[0, 0.9, 0.1], [0.1, 0, 0.9], [0.9, 0.1, 0]]
    assert not is_reversible(turning)
    back = MarkovChain.from_matrix(turning).reverse()
    np.testing.assert_allclose(back.transmat_, np.transpose(turning))
    with pytest.raises(ValueError, match="transient"):
        time_reversal([[0.5, 0.5], [0, 1]])


def test_tiny_probabilities_keep_their_digits():
    P = np.array([[1 - 1e-18, 1e-18], [3e-18, 1 - 3e-18]])
    np.testing.assert_allclose(stationary_distribution(P), [0.75, 0.25], rtol=1e-14)


def test_hitting_times_of_the_gambler():
    k = 6
    P = np.zeros((k + 1, k + 1))
    P[0, 0] = P[k, k] = 1
    for i in range(1, k):
        P[i, i - 1] = P[i, i + 1] = 0.5
    i = np.arange(k + 1)
    np.testing.assert_allclose(hitting_times(P, [0, k]), i * (k - i))
    np.testing.assert_allclose(absorption_probabilities(P)[:, 1], i / k)
    assert np.isinf(hitting_times(P, k)[:k]).all()
