"""What every hidden Markov model does, whatever it emits."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.state_space import (
    GMMHMM,
    AutoregressiveHMM,
    CategoricalHMM,
    GaussianHMM,
    MixedHMM,
    MultinomialHMM,
    PoissonHMM,
)
from tests.state_space.hmm_fits import categorical_hmm, fit_quietly, largest_rise

TWO_STATES = ([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]])


def random_model(rng, k, m, **more):
    tables = [rng.dirichlet(np.ones(size), size=k) for size in (k, m)]
    return categorical_hmm(rng.dirichlet(np.ones(k)), *tables, **more)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), hard=st.booleans(), prior=st.sampled_from([1, 1.5]))
def test_learning_never_falls_and_is_never_nan(seed, hard, prior):
    rng = np.random.default_rng(seed)
    x = rng.integers(4, size=60).astype(float)
    x[rng.random(60) < 0.1] = np.nan
    priors = {f"{n}_prior": prior for n in ("startprob", "transmat", "emissionprob")}
    model = random_model(rng, 3, 4, n_iter=12, tol=0, **priors)
    model.transmat_ = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.0, 0.0, 1.0]])
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "CategoricalHMM: no step belongs")
        fit(model, x, [25, 35], hard=hard)
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
    assert model.monitor_.history[-1] == pytest.approx(model.log_likelihood_)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        table = getattr(model, name)
        assert np.isfinite(table).all()
        assert np.allclose(table.sum(-1), 1)
    assert (model.transmat_[np.tril_indices(3, -1)] == 0).all()  # zeros stay zeros


def test_hard_learning_counts_the_most_likely_path():
    emit = [[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]]
    x = np.array([2, 0, 2])
    model = fit(
        categorical_hmm(*TWO_STATES, emit, n_iter=1), x, hard=True
    )  # along 0, 1, 0
    assert np.allclose(model.transmat_, [[0, 1], [1, 0]])
    assert np.allclose(model.emissionprob_, [[0, 0, 1], [1, 0, 0]])
    assert model.decode(x)[0] == pytest.approx(0.0)


def test_counting_with_stops():
    """Counts of two labelled sequences; rows and stops sum to 1 together."""
    x, z = np.array([0, 1, 1, 0, 0, 1]), np.array([0, 0, 1, 2, 0, 1])
    model = CategoricalHMM(3).fit_labeled(x, z, [4, 2], stop=True)
    assert np.allclose(model.transmat_.sum(1) + model.stopprob_, 1)
    assert np.allclose(model.stopprob_, [0, 0.5, 1])
    assert np.allclose(model.transmat_[0], [1 / 3, 2 / 3, 0])
    assert model.emissionprob_[0, 0] == pytest.approx(2 / 3)
    assert np.isfinite(model.score(x, [4, 2]))
    again = CategoricalHMM(3).fit_labeled(x, z)
    assert not hasattr(again, "stopprob_")


def test_topologies(rng):
    x = rng.integers(3, size=120)
    model = fit(CategoricalHMM(3, random_state=0), x, topology="left-right")
    assert model.startprob_[0] == 1
    assert (model.transmat_[[1, 2, 2, 0], [0, 0, 1, 2]] == 0).all()
    mask = np.array([[1, 1, 0], [0, 1, 1], [1, 0, 1]])
    model = fit(CategoricalHMM(3, random_state=0), x, topology=mask)
    assert (model.transmat_[mask == 0] == 0).all()
    with pytest.raises(ValueError, match="left-right"):
        CategoricalHMM(2).fit(x, topology="ring")
    with pytest.raises(ValueError, match=r"\(2, 2\) matrix"):
        CategoricalHMM(2).fit(x, topology=np.zeros((2, 2)))


def test_the_best_of_several_starts_is_kept(rng):
    x = np.repeat(rng.integers(4, size=50), 4)
    how = {"n_components": 3, "random_state": 0, "n_iter": 15}
    many = fit(CategoricalHMM(**how), x, n_init=5)
    assert many.log_likelihood_ >= fit(CategoricalHMM(**how), x).log_likelihood_ - 5
    assert (
        many.log_likelihood_ == fit(CategoricalHMM(**how), x, n_init=5).log_likelihood_
    )
    with pytest.raises(ValueError, match="n_init"):
        CategoricalHMM(2).fit(x, n_init=0)


def test_a_state_that_is_never_visited_keeps_its_parameters(rng):
    emit = [[0.5, 0.5, 0.0], [0.4, 0.6, 0.0], [0.0, 0.0, 1.0]]
    model = categorical_hmm(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), emit)
    with pytest.warns(UserWarning, match="no step belongs to state 2"):
        fit(model, rng.integers(2, size=50))
    assert np.allclose(model.transmat_[2], 1 / 3)
    assert np.allclose(model.emissionprob_[2], [0, 0, 1])


def test_missing_symbols_are_filled_in():
    model = categorical_hmm([1, 0], [[0, 1], [1, 0]], [[0.9, 0.1], [0.2, 0.8]])
    x = np.array([0, np.nan, 0, np.nan])[:, None]
    assert model.fill(x)[:, 0].tolist() == [0, 1, 0, 1]


def test_a_million_steps_are_drawn_at_once():
    model = categorical_hmm(
        [0, 1], [[0.9, 0.1], [1.0, 0.0]], [[1, 0, 0], [0, 0.5, 0.5]]
    )
    X, z = model.sample(1_000_000, random_state=0)
    assert z[0] == 1
    assert not ((z[:-1] == 1) & (z[1:] == 1)).any()  # what cannot be is not drawn
    assert np.mean(z == 0) == pytest.approx(10 / 11, abs=2e-3)
    assert set(np.unique(X)) == {0, 1, 2}


def test_stationary_law_is_that_of_the_chain():
    model = CategoricalHMM(3)
    model.startprob_, model.emissionprob_ = np.full(3, 1 / 3), np.eye(3)
    model.transmat_ = np.array([[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]])
    found = model.get_stationary_distribution()
    np.testing.assert_allclose(found, [0.266667, 0.355556, 0.377778], atol=5e-7)
    model.transmat_ = np.eye(3)
    np.testing.assert_allclose(model.get_stationary_distribution(), np.full(3, 1 / 3))


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
    fit_quietly(model, X)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.score(X))
    assert np.isfinite(model.transmat_).all()
    assert largest_rise(model) < 1e-9


MODELS = (CategoricalHMM, GaussianHMM, PoissonHMM, MultinomialHMM, GMMHMM)


def counts_for(kind, n=60):
    """Rows that this kind of model can emit."""
    rng = np.random.default_rng(0)
    if kind is CategoricalHMM:
        return rng.integers(0, 3, (n, 1))
    if kind is MultinomialHMM:
        return rng.multinomial(5, [0.2, 0.3, 0.5], n)
    if kind is PoissonHMM:
        return rng.poisson(3, (n, 2))
    return rng.normal(size=(n, 2)) + 5 * (np.arange(n) // 20 % 2)[:, None]


@pytest.mark.parametrize("kind", MODELS)
def test_no_iterations_set_the_start_only(kind):
    X = counts_for(kind)
    start = kind(2, random_state=0, n_iter=0).fit(X)
    assert start.n_iter_ == 0 and len(start.history_["objective"]) == 0
    assert not start.converged_ and start.monitor_.history == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        more = kind(2, random_state=0, n_iter=5).fit(X)
    assert more.score(X) >= start.score(X) - 1e-9


@pytest.mark.parametrize("kind", MODELS)
def test_attributes_that_are_not_set_are_drawn(kind):
    X = counts_for(kind)
    model = kind(2, random_state=0, init_params="", n_iter=0)
    model.startprob_ = np.array([1.0, 0.0])
    model.fit(X)
    assert model.startprob_.tolist() == [1.0, 0.0]
    assert model.transmat_.shape == (2, 2) and np.isfinite(model.score(X))


@pytest.mark.parametrize("kind", MODELS)
def test_attributes_that_a_fit_overwrites_are_logged(kind, caplog):
    X = counts_for(kind)
    model = kind(2, random_state=0, n_iter=0).fit(X)
    assert not caplog.records
    kept = kind(2, random_state=0, n_iter=0, init_params="")
    for name in ("startprob_", "transmat_", *kind._letters):
        setattr(kept, name, getattr(model, name))
    kept.fit(X)
    assert not caplog.records
    model.set_params(init_params="s").fit(X)
    (record,) = caplog.records
    assert "'startprob_'" in record.getMessage()
    assert "will be overwritten" in record.getMessage()


def test_monitor_before_a_fit_and_one_of_the_users():
    X = counts_for(GaussianHMM)
    model = GaussianHMM(2, random_state=0, n_iter=50, tol=0.3)
    empty = model.monitor_
    assert (empty.iter, empty.history, empty.converged) == (0, [], False)
    assert (empty.tol, empty.n_iter) == (0.3, 50)

    class Twice:
        told: list = []
        converged = False

        def report(self, log_likelihood):
            self.told.append(log_likelihood)
            self.converged = len(self.told) == 2

    own = Twice()
    model.monitor_ = own
    model.fit(X)
    assert model.monitor_ is own and len(own.told) == 2 and own.converged
    assert model.n_iter_ <= 2
    with pytest.raises(TypeError, match="report"):
        model.monitor_ = 3


@pytest.mark.parametrize("shape", [(2,), (2, 1), (2, 1, 1), (2, 1, 1, 1)])
def test_spherical_covariances_may_have_any_number_of_axes(shape):
    model = GaussianHMM(2, "spherical", random_state=0)
    model.startprob_ = np.array([0.6, 0.4])
    model.transmat_ = np.array([[0.4, 0.6], [0.9, 0.1]])
    model.means_ = np.array([[3.0], [5.0]])
    model.covars_ = np.array([4.0, 3.0]).reshape(shape)
    np.testing.assert_array_equal(model.covars_.ravel(), [4, 3])
    assert model.sample(20)[0].shape == (20, 1)
