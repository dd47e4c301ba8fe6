"""HMM with multinomial emissions."""

import logging

import numpy as np
import pytest

from pansophy.state_space import (
    CategoricalHMM,
    MultinomialHMM,
)
from tests.state_space.hmm_fits import fit_quietly, put_parameters

logging.getLogger("hmmlearn").setLevel(logging.ERROR)


def test_multinomial_of_hmmlearn():
    peer = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(4)
    z = np.repeat(rng.integers(0, 2, 40), 10)
    X = rng.multinomial(6, np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])[z])
    first = {"emissionprob_": np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])}
    how = {"init_params": "", "n_iter": 8}
    a = put_parameters(
        peer.MultinomialHMM(2, n_trials=6, tol=-np.inf, **how), 2, **first
    ).fit(X)
    b = fit_quietly(
        put_parameters(MultinomialHMM(2, n_trials=6, tol=0.0, **how), 2, **first), X
    )
    assert np.allclose(a.emissionprob_, b.emissionprob_, atol=1e-8)
    assert np.allclose(a.transmat_, b.transmat_, atol=1e-8)
    Y, _ = b.sample(50, random_state=0)
    assert (Y.sum(axis=1) == 6).all()
    with pytest.raises(ValueError, match="row 3 of X sums to 7"):
        b.fit(X + np.array([[1, 0, 0]]) * (np.arange(400) == 3)[:, None])


def test_one_trial_is_a_symbol():
    rng = np.random.default_rng(5)
    x, first = rng.integers(0, 3, 200), {"emissionprob_": rng.dirichlet(np.ones(3), 2)}
    how = {"init_params": "", "n_iter": 5, "emissionprob_prior": 1.5}
    a = fit_quietly(put_parameters(CategoricalHMM(2, **how), 2, **first), x)
    b = fit_quietly(put_parameters(MultinomialHMM(2, **how), 2, **first), np.eye(3)[x])
    assert np.allclose(a.emissionprob_, b.emissionprob_)
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_)
