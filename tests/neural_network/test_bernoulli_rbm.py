"""Restricted Boltzmann machine: free energy by enumeration, learning, parity."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.neural_network import BernoulliRBM as SklearnRBM

from pansophy.neural_network import BernoulliRBM


def patterns(n=600, seed=0):
    """Rows of two prototypes with five per cent of their units turned over."""
    rng = np.random.default_rng(seed)
    X = np.repeat([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1.0]], n // 2, axis=0)
    return np.where(rng.random(X.shape) < 0.05, 1 - X, X)[rng.permutation(n)]


def test_free_energy_sums_over_hidden_units():
    model = BernoulliRBM(3, n_iter=2, random_state=0).fit(patterns(40))
    V = np.array(list(product([0.0, 1.0], repeat=6)))
    W, b, c = model.components_, model.intercept_visible_, model.intercept_hidden_
    total = np.zeros(len(V))
    for h in product([0.0, 1.0], repeat=3):
        h = np.array(h)
        total += np.exp(V @ b + h @ c + (V @ W.T) @ h)
    np.testing.assert_allclose(model.free_energy(V), -np.log(total))


def test_learns_patterns():
    """The exact likelihood, by enumeration of all visible states, rises a lot.

    Of states near one pattern: how much weight each pattern has drifts as the chain
    of the training, which seldom leaves the pattern where it is.
    """
    X = patterns()
    V = np.array(list(product([0.0, 1.0], repeat=6)))
    for pattern in (V[0b111000], V[0b000111]):
        near = lambda Z, p=pattern: Z[(p != Z).sum(axis=1) < 3]
        truth = []
        for n_iter in (0, 60):
            options = {"learning_rate": 0.05, "random_state": 0}
            model = BernoulliRBM(4, n_iter=n_iter, **options).fit(X)
            log_z = np.log(np.exp(-model.free_energy(near(V))).sum())
            truth.append((-model.free_energy(near(X)) - log_z).mean())
        assert truth[0] == pytest.approx(-np.log(22), abs=0.02)
        assert truth[1] > -1.7  # the entropy of the source is about 1.2 nats
    assert model.n_iter_ == 60 and len(model.history_["objective"]) == 60
    chain = X
    for seed in range(20):
        chain = model.gibbs(chain, random_state=seed).astype(float)
    ones = chain[:, :3].mean(1)
    assert ((ones < 0.2) | (ones > 0.8)).mean() > 0.6


def test_as_good_as_the_reference():
    X = patterns()
    options = {
        "n_components": 8,
        "learning_rate": 0.05,
        "n_iter": 20,
        "random_state": 0,
    }
    ours = BernoulliRBM(**options).fit(X)
    theirs = SklearnRBM(**options).fit(X)
    assert ours.score_samples(X).mean() > theirs.score_samples(X).mean() - 0.3
    theirs.components_ = ours.components_
    theirs.intercept_hidden_ = ours.intercept_hidden_
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))


def test_sparse_rows_and_batches():
    X = patterns(100)
    dense = BernoulliRBM(4, n_iter=3, random_state=0).fit(X)
    thin = BernoulliRBM(4, n_iter=3, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_allclose(dense.components_, thin.components_)
    np.testing.assert_allclose(
        dense.score_samples(X), thin.score_samples(sparse.csr_array(X))
    )
    single = BernoulliRBM(4, random_state=0, batch_size=20)
    for i in range(0, 100, 20):
        single.partial_fit(X[i : i + 20])
    assert single.transform(X).shape == (100, 4)
    assert BernoulliRBM(4, random_state=0).fit(X.astype("f4")).components_.dtype == "f4"


def test_gibbs_steps_go_on_and_begin_at_the_seed():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 6)) < 0.5).astype(float)
    machine = BernoulliRBM(4, random_state=3, n_iter=2).fit(X)
    first, second = machine.gibbs(X), machine.gibbs(X)
    assert (first != second).any()
    again = BernoulliRBM(4, random_state=3, n_iter=2).fit(X)
    assert np.array_equal(again.gibbs(X), first)
    assert np.array_equal(again.gibbs(X), second)
    given = [machine.gibbs(X, random_state=5) for _ in range(2)]
    assert np.array_equal(*given)


def test_both_precisions_make_the_same_draws():
    rng = np.random.default_rng(0)
    X = (rng.random((60, 6)) < 0.5).astype(float)
    double, single = (
        BernoulliRBM(4, random_state=3, n_iter=5).fit(X.astype(dtype)).components_
        for dtype in (np.float64, np.float32)
    )
    np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5)
