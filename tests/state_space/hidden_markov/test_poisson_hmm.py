"""HMM with Poisson emissions."""

import logging

import numpy as np
import pytest

from pansophy.distributions import Poisson
from pansophy.state_space import (
    PoissonHMM,
)
from tests.state_space.hmm_fits import fit_quietly, largest_rise, put_parameters

logging.getLogger("hmmlearn").setLevel(logging.ERROR)


def test_poisson_of_hmmlearn():
    peer = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(3)
    z = np.repeat(rng.integers(0, 3, 60), 10)
    X = rng.poisson(np.array([[1, 8], [5, 2], [20, 9]])[z])
    first, lengths = {"lambdas_": np.array([[2.0, 5], [6, 6], [9, 3]])}, [250, 350]
    a = put_parameters(
        peer.PoissonHMM(3, n_iter=8, tol=-np.inf, init_params=""), 3, **first
    )
    a.fit(X, lengths)
    path = []
    for turns in range(1, 8):
        b = put_parameters(
            PoissonHMM(3, n_iter=turns, tol=0.0, init_params=""), 3, **first
        )
        path.append(fit_quietly(b, X, lengths).score(X, lengths))
    assert np.allclose(path, list(a.monitor_.history)[1:], rtol=0, atol=1e-6)
    # distinct rows give what every row for itself gives
    odd = X + 1e-3 * rng.random(X.shape)
    c = put_parameters(PoissonHMM(3, n_iter=7, tol=0.0, init_params=""), 3, **first)
    assert np.allclose(fit_quietly(c, odd, lengths).lambdas_, b.lambdas_, atol=0.01)


def test_poisson_prior_is_the_mode():
    X = np.array([[3.0], [5.0]])
    model = fit_quietly(PoissonHMM(1, lambdas_prior=2.0, lambdas_weight=1.0), X)
    assert model.lambdas_[0, 0] == pytest.approx((8 + 2) / (2 + 1))
    wide = PoissonHMM(2, lambdas_prior=2.0, lambdas_weight=1.0, random_state=0, tol=0.0)
    X = np.random.default_rng(0).poisson(3.0, size=(80, 2)).astype(float)
    X[::7, 0] = np.nan
    assert largest_rise(fit_quietly(wide.set_params(n_iter=30), X)) < 1e-12


def test_missing_counts_drop_out():
    model = put_parameters(
        PoissonHMM(2), 2, lambdas_=np.array([[1.0, 4.0], [6.0, 2.0]])
    )
    X = np.array([[2.0, np.nan]])
    one = Poisson(np.array([[1.0], [6.0]])).log_prob(X[:, :1])
    assert model.score(X) == pytest.approx(float(np.log(np.exp(one).mean())))
