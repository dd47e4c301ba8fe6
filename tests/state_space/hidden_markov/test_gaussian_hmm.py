"""GaussianHMM: parity with hmmlearn, one state, gaps, degenerate data, priors."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import persist
from pansophy.distributions import Normal
from pansophy.mixture import GaussianMixture
from pansophy.state_space import GaussianHMM
from tests.state_space.hmm_fits import fit_quietly, largest_rise

logging.getLogger("hmmlearn").setLevel(logging.ERROR)
SHAPES = ["spherical", "diag", "full", "tied"]


def regimes(rng, n=400, k=3, d=2):
    z = np.repeat(rng.integers(0, k, n // 8), 8)
    return rng.normal(size=(n, d)) * (1 + z[:, None]) + 3.0 * z[:, None], z


def put(model, k, M, C):
    model.startprob_ = np.full(k, 1 / k)
    model.transmat_ = np.full((k, k), 0.3 / k) + 0.7 * np.eye(k)
    model.means_, model.covars_ = M.copy(), C.copy()
    return model


def stored(C, shape, k):
    return {
        "full": np.tile(C, (k, 1, 1)),
        "tied": C,
        "diag": np.tile(np.diag(C), (k, 1)),
        "spherical": np.full(k, np.diag(C).mean()),
    }[shape]


@pytest.mark.parametrize("priors", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_path_of_hmmlearn(shape, priors):
    peer = pytest.importorskip("hmmlearn.hmm")
    X, _ = regimes(np.random.default_rng(0))
    k, lengths, turns = 3, [100, 180, 120], 8
    more = {"means_prior": 1.0, "means_weight": 2.0} if priors else {}
    more |= {"covars_prior": 0.5, "covars_weight": 6.0} if priors else {}
    M, C = X[[3, 50, 200]], stored(np.cov(X.T), shape, k)
    theirs = dict(more)
    if shape in ("full", "tied"):  # a number there is a matrix of equal entries
        theirs["covars_prior"] = more.get("covars_prior", 1e-2) * np.eye(2)
    how = {"init_params": "", "n_iter": turns}
    a = peer.GaussianHMM(k, shape, tol=-np.inf, **how, **theirs)
    b = GaussianHMM(k, shape, tol=0.0, **how, **more)
    put(a, k, M, C).fit(X, lengths)
    path = [put(b, k, M, C).score(X, lengths)]
    for turn in range(1, turns):
        b.set_params(n_iter=turn)
        path.append(fit_quietly(put(b, k, M, C), X, lengths).score(X, lengths))
    assert np.allclose(path, list(a.monitor_.history), rtol=0, atol=1e-6)
    fit_quietly(put(b.set_params(n_iter=turns), k, M, C), X, lengths)
    for name in ("startprob_", "transmat_", "means_"):
        assert np.allclose(getattr(a, name), getattr(b, name), atol=1e-8)
    theirs = a.covars_ if shape != "spherical" else a._covars_[:, :, None] * np.eye(2)
    assert np.allclose(theirs, b.covars_, atol=1e-8)
    assert largest_rise(b) < 1e-12
    assert b.bic(X, lengths) == pytest.approx(a.bic(X, lengths))
    assert b.aic(X, lengths) == pytest.approx(a.aic(X, lengths))


@pytest.mark.parametrize("shape", SHAPES)
def test_one_state_is_a_gaussian_fit(shape):
    X, _ = regimes(np.random.default_rng(1))
    model = fit_quietly(GaussianHMM(1, shape, covars_prior=0.0), X)
    one = Normal.from_stats(Normal(np.zeros(2), np.eye(2)).stats(X))
    assert np.allclose(model.means_[0], one.mean)
    expected = {
        "diag": np.diag(np.diag(one.cov)),
        "spherical": np.eye(2) * np.diag(one.cov).mean(),
    }.get(shape, one.cov)
    assert np.allclose(model.covars_[0], expected)
    q = Normal(one.mean, expected)
    assert model.score(X) == pytest.approx(q.log_prob(X).sum())


def test_equal_transitions_make_a_mixture():
    X, _ = regimes(np.random.default_rng(2))
    mix = GaussianMixture(2, random_state=0).fit(X)
    model = GaussianHMM(2, "full")
    model.startprob_, model.transmat_ = mix.weights_, np.tile(mix.weights_, (2, 1))
    model.means_, model.covars_ = mix.means_, mix.covariances_
    assert np.allclose(model.predict_proba(X), mix.predict_proba(X), atol=1e-9)
    assert model.score(X) == pytest.approx(mix.score_samples(X).sum())


@pytest.mark.parametrize("shape", [*SHAPES, "low_rank"])
def test_missing_values_are_integrated_out(shape):
    rng = np.random.default_rng(3)
    X, _ = regimes(rng, 160, d=3)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[10:15] = np.nan
    lengths = [60, 100]
    model = fit_quietly(
        GaussianHMM(2, shape, n_iter=15, random_state=0, tol=0.0), X, lengths
    )
    assert largest_rise(model) < 1e-12
    S, L = model.covars_, np.zeros((160, 2))
    for t, x in enumerate(X):
        b = ~np.isnan(x)
        for j in range(2 if b.any() else 0):
            q = Normal(model.means_[j][b], S[j][np.ix_(b, b)])
            L[t, j] = q.log_prob(x[b][None])[0]
    total = 0.0
    for part in (L[:60], L[60:]):
        belief = model.startprob_
        for t, row in enumerate(np.exp(part)):
            belief = (belief @ model.transmat_ if t else belief) * row
            total += np.log(belief.sum())
            belief = belief / belief.sum()
    assert model.score(X, lengths) == pytest.approx(total)
    assert np.isfinite(model.predict_proba(X, lengths)).all()


def test_what_is_not_named_stays():
    X, _ = regimes(np.random.default_rng(4))
    M, C = X[[3, 50, 200]], stored(np.cov(X.T), "diag", 3)
    for letters in ("st", "m", "c", "stm"):
        model = GaussianHMM(3, params=letters, init_params="", n_iter=5)
        fit_quietly(put(model, 3, M, C), X)
        assert np.array_equal(model.means_, M) == ("m" not in letters)
        diagonals = np.diagonal(model.covars_, axis1=1, axis2=2)
        assert np.array_equal(diagonals, C) == ("c" not in letters)
        assert largest_rise(model) < 1e-12


def test_empty_state_keeps_its_parameters_and_is_named():
    X, _ = regimes(np.random.default_rng(5), k=2)
    M = np.vstack([X[:2], [[1e4, 1e4]]])
    model = put(GaussianHMM(3, init_params="", n_iter=20), 3, M, np.ones((3, 2)))
    with pytest.warns(UserWarning, match=r"no row belongs to state 2"):
        fit_quietly(model, X)
    assert np.array_equal(model.means_[2], M[2])
    assert np.isfinite(model.covars_).all()
    assert np.allclose(model.transmat_.sum(axis=1), 1)


@pytest.mark.parametrize("shape", SHAPES)
def test_collapsed_covariance_stops_at_the_floor(shape):
    X = np.zeros((40, 2))
    X[20:] = 1.0
    model = GaussianHMM(2, shape, covars_prior=0.0, random_state=0, n_iter=30)
    with pytest.warns(UserWarning, match="floor"):
        fit_quietly(model, X)
    assert np.isfinite(model.covars_).all()
    assert np.linalg.eigvalsh(model.covars_).min() >= 0.9e-8 * 0.25
    assert len(set(model.predict(X)[:20])) == 1


@pytest.mark.filterwarnings("ignore::UserWarning")
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 2**31),
    n=st.integers(1, 30),
    d=st.integers(1, 3),
    k=st.integers(1, 4),
    shape=st.sampled_from([*SHAPES, "low_rank"]),
    kind=st.sampled_from(["rows", "few", "constant", "huge", "gaps", "line"]),
    prior=st.sampled_from([0.0, 1e-2]),
)
def test_never_nan_and_never_worse(seed, n, d, k, shape, kind, prior):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    if kind == "few":
        X = X[rng.integers(0, min(n, 2), n)]
    if kind == "constant":
        X[:, 0] = 7.0
    if kind == "huge":
        X = 1e100 * X
    if kind == "gaps":
        X[rng.random(X.shape) < 0.5] = np.nan
    if kind == "line":
        X = X[:, :1] * np.arange(1, d + 1)
    cut = int(rng.integers(0, n))
    lengths = [cut, n - cut] if cut else [n]
    model = GaussianHMM(k, shape, covars_prior=prior, random_state=0, n_iter=12)
    fit_quietly(model, X, lengths)
    for name in ("startprob_", "transmat_", "means_", "covars_"):
        assert np.isfinite(getattr(model, name)).all()
    assert np.isfinite(model.predict_proba(X, lengths)).all()
    assert largest_rise(model) < 1e-9


def test_weak_priors_and_repeated_sequences():
    X, _ = regimes(np.random.default_rng(6), 120)
    M, C = X[[3, 50]], stored(np.cov(X.T), "full", 2)
    how = {"init_params": "", "covars_prior": 0.0, "n_iter": 4}
    once = fit_quietly(put(GaussianHMM(2, "full", **how), 2, M, C), X)
    thrice = put(GaussianHMM(2, "full", **how), 2, M, C)
    fit_quietly(thrice, np.vstack([X] * 3), [120] * 3)
    assert np.allclose(once.means_, thrice.means_)
    assert np.allclose(once.covars_, thrice.covars_)


def test_known_states_and_samples():
    rng = np.random.default_rng(7)
    X, z = regimes(rng, 4000, k=2)
    model = GaussianHMM(2, "full", covars_prior=0.0).fit_labeled(X, z)
    assert np.allclose(model.means_[1], X[z == 1].mean(axis=0))
    assert np.allclose(model.covars_[0], np.cov(X[z == 0].T, bias=True))
    Y, s = model.sample(20_000, random_state=0)
    assert np.allclose(Y[s == 1].mean(axis=0), model.means_[1], atol=0.1)
    assert np.mean(model.predict(Y) == s) > 0.9


def test_bad_parameters_are_told():
    X, _ = regimes(np.random.default_rng(8), 40)
    M, C = X[:2], np.ones((2, 2))
    model = put(GaussianHMM(2, init_params=""), 2, M, -C)
    with pytest.raises(ValueError, match="positive"):
        model.fit(X)
    model = put(GaussianHMM(2), 2, M, C)
    del model._covars_
    with pytest.raises(ValueError, match="neither fitted nor set"):
        model.score(X)
    with pytest.raises(ValueError, match="columns"):
        put(GaussianHMM(2, init_params=""), 2, M, C).fit(X[:, :1])
    with pytest.raises(ValueError, match="too large to square"):
        GaussianHMM(2).fit(1e200 * X)
    with pytest.raises(ValueError, match="means_prior must be a number or fit"):
        GaussianHMM(2, means_prior=np.zeros(3), means_weight=1.0).fit(X)


def test_saved_and_read_again(tmp_path):
    X, _ = regimes(np.random.default_rng(9), 80)
    model = fit_quietly(GaussianHMM(2, "tied", random_state=0), X)
    persist.save(model, tmp_path / "model")
    again = persist.load(tmp_path / "model")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.covars_, model.covars_)
