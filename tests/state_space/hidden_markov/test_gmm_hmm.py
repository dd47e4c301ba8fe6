"""HMM with mixture emissions against hmmlearn and its limits."""

import logging

import numpy as np
import pytest

from pansophy.state_space import (
    GMMHMM,
    GaussianHMM,
)
from tests.state_space.hmm_fits import (
    fit_quietly,
    largest_rise,
    put_parameters,
    two_place_rows,
)

logging.getLogger("hmmlearn").setLevel(logging.ERROR)

SHAPES = ["spherical", "diag", "full", "tied"]


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
    X, _ = two_place_rows(np.random.default_rng(0))
    first, lengths = mixture_start(X, shape), [100, 200]
    how = {"params": letters, "init_params": "", "covariance_type": shape, "n_iter": 6}
    more = {"covars_prior": -2.0, "covars_weight": 0.0} if shape == "spherical" else {}
    a = put_parameters(peer.GMMHMM(2, 2, tol=-np.inf, **how, **more), 2, **first).fit(
        X, lengths
    )
    b = fit_quietly(
        put_parameters(GMMHMM(2, 2, tol=0.0, **how), 2, **first), X, lengths
    )
    for name in ("startprob_", "transmat_", "weights_", "means_", "covars_"):
        assert np.allclose(getattr(a, name), getattr(b, name), atol=1e-7), name
    assert largest_rise(b) < 1e-12


@pytest.mark.parametrize("shape", SHAPES)
def test_mixtures_with_priors_never_fall(shape):
    X, _ = two_place_rows(np.random.default_rng(1))
    X[5:9], X[20, 0] = np.nan, np.nan
    more = {"means_prior": 1.0, "means_weight": 3.0, "weights_prior": 2.0}
    more |= {"covars_prior": 4.0, "covars_weight": 5.0}
    model = GMMHMM(2, 2, covariance_type=shape, n_iter=25, random_state=0, tol=0.0)
    fit_quietly(model.set_params(**more), X)
    assert largest_rise(model) < 1e-12
    assert np.allclose(model.weights_.sum(axis=1), 1)
    assert np.isfinite(model.score(X))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_component_is_gaussian(shape):
    X, _ = two_place_rows(np.random.default_rng(2))
    C = {"full": np.tile(np.eye(2), (2, 1, 1)), "diag": np.ones((2, 2))}
    C |= {"spherical": np.ones(2), "tied": np.tile(np.eye(2), (2, 1, 1))}
    one = put_parameters(
        GMMHMM(2, 1, covariance_type=shape, init_params="", n_iter=5),
        2,
        weights_=np.ones((2, 1)),
        means_=X[[0, 30], None],
        covars_=C[shape] if shape == "tied" else C[shape][:, None],
    )
    own = "full" if shape == "tied" else shape  # tied: within the state
    other = put_parameters(
        GaussianHMM(2, own, init_params="", n_iter=5, covars_prior=0.0),
        2,
        means_=X[[0, 30]],
        covars_=C[shape],
    )
    fit_quietly(one, X), fit_quietly(other, X)
    assert one.score(X) == pytest.approx(other.score(X), abs=1e-8)
    assert one.aic(X) == pytest.approx(other.aic(X))
