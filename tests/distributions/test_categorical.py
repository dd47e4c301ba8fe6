"""Categorical and multinomial: SciPy's numbers, what is impossible, no counts."""

import numpy as np
import pytest
from scipy import stats

from pansophy.distributions import Categorical, Dirichlet, Multinomial
from pansophy.distributions.categorical import estimated_probabilities, pick_rows

P = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])


def test_multinomial_is_scipys(rng):
    X = np.array([[2, 1, 0], [0, 0, 3], [0, 0, 0]])
    found = Multinomial(P).log_prob(X)
    for j in range(2):
        n = X.sum(axis=1)
        right = [
            stats.multinomial(m, P[j]).logpmf(x) for m, x in zip(n, X, strict=True)
        ]
        np.testing.assert_allclose(found[:, j], right)
        np.testing.assert_allclose(Multinomial(P[j]).log_prob(X), right)
    assert found[1, 0] == -np.inf and (found[2] == 0).all()
    draws = Multinomial(P[1], trials=7).sample(4000, rng)
    assert (draws.sum(axis=1) == 7).all()
    np.testing.assert_allclose(draws.mean(axis=0), 7 * P[1], atol=0.1)


def test_components_that_saw_nothing_are_uniform():
    counts = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 3.0]])
    found = estimated_probabilities(counts)
    np.testing.assert_allclose(found, [[1 / 3] * 3, [0.25, 0, 0.75]])
    # a Dirichlet below 1 would ask for negative counts: the mode is at the edge
    sparse = estimated_probabilities(counts[1], Dirichlet([0.5, 0.5, 0.5]))
    np.testing.assert_allclose(sparse, np.array([0.5, 0, 2.5]) / 3)


def test_draws_by_component(rng):
    z = np.array([0] * 5000 + [1] * 5000)
    x = pick_rows(P, z, rng)
    for j in range(2):
        share = np.bincount(x[z == j], minlength=3) / 5000
        np.testing.assert_allclose(share, P[j], atol=0.03)
    assert (x[z == 0] < 2).all()  # probability 0
    assert Categorical(P).draw(z[:3], rng).shape == (3, 1)


def test_summaries_and_refusals():
    p = Categorical(P)
    np.testing.assert_allclose(p.mean, [0.5, 1.3])
    np.testing.assert_array_equal(p.mode, [0, 2])
    np.testing.assert_allclose(p.entropy, stats.entropy(P, axis=1))
    assert p.free == 4 and p[1].free == 2
    for wrong in ([0.5, 0.6], [-0.5, 1.5]):
        with pytest.raises(ValueError, match="prob must"):
            Categorical(wrong)
    for x in ([3], [-1], [0.5]):
        with pytest.raises(ValueError, match="whole numbers from 0 to 2"):
            p.log_prob(x)
    with pytest.raises(ValueError, match="counts must not be negative"):
        Multinomial(P).log_prob([[1, -1, 0]])
