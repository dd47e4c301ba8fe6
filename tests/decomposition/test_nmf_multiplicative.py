"""Multiplicative updates: they never rise, match the slow ones, stop as they should."""

import numpy as np
import pytest
import sklearn.decomposition as peer

from pansophy.decomposition import NMF


def parts(n=60, d=20, k=4, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.random((n, k)) * (rng.random((n, k)) < 0.6)
    return W @ rng.random((k, d)) + noise * rng.random((n, d))


@pytest.mark.parametrize("beta", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_multiplicative_updates_never_rise_and_match(beta):
    X = parts() + 0.01
    how = {
        "solver": "mu",
        "beta_loss": beta,
        "init": "custom",
        "max_iter": 40,
        "tol": 0,
    }
    rng = np.random.default_rng(0)
    W, H = rng.random((60, 4)) + 0.1, rng.random((4, 20)) + 0.1
    ours, right = NMF(4, **how), peer.NMF(4, **how)
    A = ours.fit_transform(X, W=W.copy(), H=H.copy())
    B = right.fit_transform(X, W=W.copy(), H=H.copy())
    np.testing.assert_allclose(A, B, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(
        ours.components_, right.components_, rtol=1e-4, atol=1e-6
    )
    assert ours.reconstruction_err_ == pytest.approx(
        right.reconstruction_err_, rel=1e-5
    )
    J = ours.history_["objective"]
    assert (np.diff(J) <= 1e-9 * (1 + J[0])).all()


@pytest.mark.parametrize("loss", ["frobenius", "kullback-leibler"])
def test_multiplicative_updates_stop_where_scikit_learn_stops(loss):
    """From one start the path is the same, so are the iterations and the model."""
    X = parts()
    how = {"solver": "mu", "init": "nndsvda", "beta_loss": loss, "tol": 1e-2}
    ours = NMF(4, **how, random_state=0)
    theirs = peer.NMF(4, **how, random_state=0)
    W = ours.fit_transform(X)
    np.testing.assert_allclose(W, theirs.fit_transform(X), rtol=1e-6, atol=1e-9)
    assert ours.n_iter_ == theirs.n_iter_ and ours.n_iter_ % 10 == 0
    np.testing.assert_allclose(
        ours.transform(X[:20]), theirs.transform(X[:20]), rtol=1e-6, atol=1e-9
    )
