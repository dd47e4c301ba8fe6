"""GMMHMM, PoissonHMM, MultinomialHMM, MixedHMM, AutoregressiveHMM, choose_states."""

import logging
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy import persist
from pansophy.distributions import Poisson
from pansophy.state_space import (
    GMMHMM,
    AutoregressiveHMM,
    CategoricalHMM,
    GaussianHMM,
    MixedHMM,
    MultinomialHMM,
    PoissonHMM,
    choose_states,
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


def test_poisson_of_hmmlearn():
    peer = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(3)
    z = np.repeat(rng.integers(0, 3, 60), 10)
    X = rng.poisson(np.array([[1, 8], [5, 2], [20, 9]])[z])
    first, lengths = {"lambdas_": np.array([[2.0, 5], [6, 6], [9, 3]])}, [250, 350]
    a = put(peer.PoissonHMM(3, n_iter=8, tol=-np.inf, init_params=""), 3, **first)
    a.fit(X, lengths)
    path = []
    for turns in range(1, 8):
        b = put(PoissonHMM(3, n_iter=turns, tol=0.0, init_params=""), 3, **first)
        path.append(quiet(b, X, lengths).score(X, lengths))
    assert np.allclose(path, list(a.monitor_.history)[1:], rtol=0, atol=1e-6)
    # distinct rows give what every row for itself gives
    odd = X + 1e-3 * rng.random(X.shape)
    c = put(PoissonHMM(3, n_iter=7, tol=0.0, init_params=""), 3, **first)
    assert np.allclose(quiet(c, odd, lengths).lambdas_, b.lambdas_, atol=0.01)


def test_poisson_prior_is_the_mode():
    X = np.array([[3.0], [5.0]])
    model = quiet(PoissonHMM(1, lambdas_prior=2.0, lambdas_weight=1.0), X)
    assert model.lambdas_[0, 0] == pytest.approx((8 + 2) / (2 + 1))
    wide = PoissonHMM(2, lambdas_prior=2.0, lambdas_weight=1.0, random_state=0, tol=0.0)
    X = np.random.default_rng(0).poisson(3.0, size=(80, 2)).astype(float)
    X[::7, 0] = np.nan
    assert falls(quiet(wide.set_params(n_iter=30), X)) < 1e-12


def test_missing_counts_drop_out():
    model = put(PoissonHMM(2), 2, lambdas_=np.array([[1.0, 4.0], [6.0, 2.0]]))
    X = np.array([[2.0, np.nan]])
    one = Poisson(np.array([[1.0], [6.0]])).log_prob(X[:, :1])
    assert model.score(X) == pytest.approx(float(np.log(np.exp(one).mean())))


def test_multinomial_of_hmmlearn():
    peer = pytest.importorskip("hmmlearn.hmm")
    rng = np.random.default_rng(4)
    z = np.repeat(rng.integers(0, 2, 40), 10)
    X = rng.multinomial(6, np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])[z])
    first = {"emissionprob_": np.array([[0.5, 0.3, 0.2], [0.3, 0.3, 0.4]])}
    how = {"init_params": "", "n_iter": 8}
    a = put(peer.MultinomialHMM(2, n_trials=6, tol=-np.inf, **how), 2, **first).fit(X)
    b = quiet(put(MultinomialHMM(2, n_trials=6, tol=0.0, **how), 2, **first), X)
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
    a = quiet(put(CategoricalHMM(2, **how), 2, **first), x)
    b = quiet(put(MultinomialHMM(2, **how), 2, **first), np.eye(3)[x])
    assert np.allclose(a.emissionprob_, b.emissionprob_)
    assert a.log_likelihood_ == pytest.approx(b.log_likelihood_)


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
    quiet(model, X)
    assert falls(model) < 1e-10
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
    X, _ = places(np.random.default_rng(7))
    a = quiet(MixedHMM(2, random_state=0, n_iter=200, tol=1e-9), X)
    b = GaussianHMM(2, covars_prior=0.0, init_params="", n_iter=200, tol=1e-9)
    ((_, q),) = a.emissions_
    b.startprob_, b.transmat_ = a.startprob_, a.transmat_
    b.means_, b.covars_ = q.mean, q.cov
    assert a.score(X) == pytest.approx(b.score(X))
    assert quiet(b, X).score(X) == pytest.approx(a.score(X), abs=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_no_lags_is_gaussian(shape):
    X, _ = places(np.random.default_rng(8))
    C = {"full": np.tile(np.eye(2), (2, 1, 1)), "diag": np.ones((2, 2))}
    C = (C | {"spherical": np.ones(2), "tied": np.eye(2)})[shape]
    how = {"init_params": "", "n_iter": 6, "covariance_type": shape}
    a = put(GaussianHMM(2, **how), 2, means_=X[[0, 30]], covars_=C)
    b = put(AutoregressiveHMM(2, 0, **how), 2, intercept_=X[[0, 30]], covars_=C,
            coef_=np.zeros((2, 0, 2, 2)))  # fmt: skip
    quiet(a, X, [100, 200]), quiet(b, X, [100, 200])
    assert b.log_likelihood_ == pytest.approx(a.log_likelihood_, abs=1e-8)
    assert np.allclose(a.means_, b.intercept_)


def test_one_state_is_a_regression():
    rng = np.random.default_rng(9)
    X = np.cumsum(rng.normal(size=(200, 2)), axis=0)
    model = quiet(AutoregressiveHMM(1, 2, "full", covars_prior=0.0), X, [80, 120])
    rows = np.r_[2:80, 82:200]
    Z = np.column_stack([np.ones(len(rows)), X[rows - 1], X[rows - 2]])
    B, *_ = np.linalg.lstsq(Z, X[rows])
    assert np.allclose(model.intercept_[0], B[0])
    assert np.allclose(model.coef_[0, 0], B[1:3].T)
    assert np.allclose(model.coef_[0, 1], B[3:].T)
    E = X[rows] - Z @ B
    assert np.allclose(model.covars_[0], E.T @ E / len(rows))


def test_dynamics_are_told_apart():
    rng, x = np.random.default_rng(10), np.zeros(800)
    z = np.repeat([0, 1, 0, 1], 200)
    for t in range(1, 800):
        x[t] = [-0.8, 0.8][z[t]] * x[t - 1] + rng.normal()
    x[300] = np.nan
    model = quiet(AutoregressiveHMM(2, random_state=0, n_iter=100, tol=1e-8), x)
    assert falls(model) < 1e-10
    found = model.predict(x)
    assert max(np.mean(found == z), np.mean(found != z)) > 0.95
    Y, s = model.sample(500, random_state=1)
    assert np.mean(model.predict(Y) == s) > 0.8


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 25),
    k=st.integers(1, 3),
    which=st.sampled_from(["gmm", "tied", "poisson", "multinomial", "mixed", "ar"]),
    kind=st.sampled_from(["rows", "few", "zero", "gaps"]),
)
def test_never_nan_and_never_worse(seed, n, k, which, kind):
    rng = np.random.default_rng(seed)
    X = rng.poisson(2.0, size=(n, 2)).astype(float)
    if kind == "few":
        X = X[rng.integers(0, min(n, 2), n)]
    if kind == "zero":
        X[:] = 0.0
    if kind == "gaps":
        X[rng.random(X.shape) < 0.3] = np.nan
        X[0] = 1.0
    how = {"random_state": 0, "n_iter": 10}
    model = {
        "gmm": GMMHMM(k, 2, **how),
        "tied": GMMHMM(k, 2, covariance_type="tied", **how),
        "poisson": PoissonHMM(k, **how),
        "multinomial": MultinomialHMM(k, **how),
        "mixed": MixedHMM(k, kinds=["normal", "poisson"], **how),
        "ar": AutoregressiveHMM(k, **how),
    }[which]
    quiet(model, X)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.transmat_).all()
    assert falls(model) < 1e-9


def test_number_of_states():
    rng = np.random.default_rng(11)
    z = np.repeat(rng.integers(0, 3, 45), 10)
    X = rng.normal(size=450) + 6 * z
    base = GaussianHMM(random_state=0, n_iter=40)
    choice = choose_states(base, X, n_components=[1, 2, 3, 4], cv=3)
    assert choice.n_components == 3
    assert choice.held_out.argmax() >= 2
    best = choice.model
    assert choice.bic[2] == pytest.approx(best.bic(X))
    assert "*" in str(choice).splitlines()[3]
    assert not hasattr(base, "means_")
    X, how = [np.arange(9) % 3] * 4, {"n_init": 1, "n_components": [1, 2]}
    many = choose_states(PoissonHMM(random_state=0), X, criterion="held_out", **how)
    assert np.isfinite(many.held_out).all()
    with pytest.raises(ValueError, match="criterion"):
        choose_states(base, X, criterion="icl")
