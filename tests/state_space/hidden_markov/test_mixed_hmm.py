"""HMM with columns of different kinds."""

import numpy as np
import pytest

from pansophy import persist
from pansophy.state_space import (
    GaussianHMM,
    MixedHMM,
)
from tests.state_space.hmm_fits import fit_quietly, largest_rise, two_place_rows


def mixed(rng, n=400):
    z = np.repeat(rng.integers(0, 2, n // 10), 10)
    columns = [rng.normal(3 * z), rng.poisson(2 + 6 * z), rng.random(n) < 0.2 + 0.6 * z]
    columns += [(rng.random(n) < 0.3 + 0.5 * z) + z, rng.gamma(2, 1 + 3 * z) + 1e-9]
    return np.column_stack(columns).astype(float), z


KINDS = ["normal", "poisson", "bernoulli", "categorical", "gamma"]


def test_columns_of_five_kinds(tmp_path):
    X, z = mixed(np.random.default_rng(6))
    X[::11, 1], X[5:8] = np.nan, np.nan
    model = MixedHMM(2, kinds=KINDS, random_state=0, n_iter=60, tol=1e-6)
    fit_quietly(model, X)
    assert largest_rise(model) < 1e-10
    found = model.predict(X)
    assert max(np.mean(found == z), np.mean(found != z)) > 0.97
    Y, s = model.sample(2000, random_state=0)
    assert Y.shape == (2000, 5)
    assert np.mean(model.predict(Y) == s) > 0.9
    persist.save(model, tmp_path / "model")
    assert np.array_equal(persist.load(tmp_path / "model").predict(X), found)
    with pytest.raises(ValueError, match="column 2 of X is bernoulli"):
        model.fit(X + 0.5)


def test_all_columns_normal_is_gaussian():
    X, _ = two_place_rows(np.random.default_rng(7))
    a = fit_quietly(MixedHMM(2, random_state=0, n_iter=200, tol=1e-9), X)
    b = GaussianHMM(2, covars_prior=0.0, init_params="", n_iter=200, tol=1e-9)
    ((_, q),) = a.emissions_
    b.startprob_, b.transmat_ = a.startprob_, a.transmat_
    b.means_, b.covars_ = q.mean, q.cov
    assert a.score(X) == pytest.approx(b.score(X))
    assert fit_quietly(b, X).score(X) == pytest.approx(a.score(X), abs=1e-6)


def test_a_state_of_equal_values_keeps_its_gamma(rng):
    """Its most likely shape is infinite."""
    X = np.r_[np.full(30, 2.0), rng.gamma(3.0, 5.0, 30) + 10, np.full(30, 2.0)]
    model = MixedHMM(2, kinds="gamma", random_state=0, n_iter=5)
    with pytest.warns(UserWarning, match="has shrunk to a point"):
        model.fit(X[:, None])
    assert np.isfinite(model.score(X[:, None]))
    found = model.predict(X[:, None])
    assert len({*found[:30], *found[60:]}) == 1 and found[0] != found[40]
