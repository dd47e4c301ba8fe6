"""HMM with mixture emissions against hmmlearn and its limits."""

import logging
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.state_space import (
    GMMHMM,
    GaussianHMM,
)

logging.getLogger("hmmlearn").setLevel(logging.ERROR)

SHAPES = ["spherical", "diag", "full", "tied"]


def quiet(model, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args)


def falls(model):
    path = model.history_["objective"]
    return np.diff(path).max(initial=0.0) / (np.abs(path).max() + 1)


def put(model, k, **found):
    model.startprob_ = np.full(k, 1 / k)
    model.transmat_ = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    for name, value in found.items():
        setattr(model, name, value.copy())
    return model


def places(rng, n=300):
    """Two states, one of them in two places."""
    z = np.repeat(rng.integers(0, 2, n // 10), 10)
    where = np.where(z == 0, rng.choice([-3.0, 3.0], n), 9.0)
    return where[:, None] + rng.normal(size=(n, 2)), z


def mixture_start(X, shape, k=2, m=2):
    C = np.cov(X.T)
    covars = {
        "full": np.tile(C, (k, m, 1, 1)),
        "tied": np.tile(C, (k, 1, 1)),
        "diag": np.tile(np.diag(C), (k, m, 1)),
        "spherical": np.full((k, m), C[0, 0]),
    }[shape]
    weights = np.array([[0.6, 0.4], [0.3, 0.7]])
    return {"weights_": weights, "means_": X[:4].reshape(2, 2, 2), "covars_": covars}


@pytest.mark.parametrize("letters", ["stmw", "stcw"])
@pytest.mark.parametrize("shape", SHAPES)
def test_mixtures_of_hmmlearn(shape, letters):
    """With means or covariances held: hmmlearn takes these about the old means."""
    peer = pytest.importorskip("hmmlearn.hmm")
    X, _ = places(np.random.default_rng(0))
    first, lengths = mixture_start(X, shape), [100, 200]
    how = {"params": letters, "init_params": "", "covariance_type": shape, "n_iter": 6}
    more = {"covars_prior": -2.0, "covars_weight": 0.0} if shape == "spherical" else {}
    a = put(peer.GMMHMM(2, 2, tol=-np.inf, **how, **more), 2, **first).fit(X, lengths)
    b = quiet(put(GMMHMM(2, 2, tol=0.0, **how), 2, **first), X, lengths)
    for name in ("startprob_", "transmat_", "weights_", "means_", "covars_"):
        assert np.allclose(getattr(a, name), getattr(b, name), atol=1e-7), name
    assert falls(b) < 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_mixtures_with_priors_never_fall(shape):
    X, _ = places(np.random.default_rng(1))
    X[5:9], X[20, 0] = np.nan, np.nan
    more = {"means_prior": 1.0, "means_weight": 3.0, "weights_prior": 2.0}
    more |= {"covars_prior": 4.0, "covars_weight": 5.0}
    model = GMMHMM(2, 2, covariance_type=shape, n_iter=25, random_state=0, tol=0.0)
    quiet(model.set_params(**more), X)
    assert falls(model) < 1e-12
    assert np.allclose(model.weights_.sum(axis=1), 1)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_component_is_gaussian(shape):
    X, _ = places(np.random.default_rng(2))
    C = {"full": np.tile(np.eye(2), (2, 1, 1)), "diag": np.ones((2, 2))}
    C |= {"spherical": np.ones(2), "tied": np.tile(np.eye(2), (2, 1, 1))}
    one = put(GMMHMM(2, 1, covariance_type=shape, init_params="", n_iter=5), 2,
              weights_=np.ones((2, 1)), means_=X[[0, 30], None],
              covars_=C[shape] if shape == "tied" else C[shape][:, None])  # fmt: skip
    own = "full" if shape == "tied" else shape  # tied: within the state
    other = put(GaussianHMM(2, own, init_params="", n_iter=5, covars_prior=0.0), 2,
                means_=X[[0, 30]], covars_=C[shape])  # fmt: skip
    quiet(one, X), quiet(other, X)
    assert one.score(X) == pytest.approx(other.score(X), abs=1e-8)
    assert one.aic(X) == pytest.approx(other.aic(X))
