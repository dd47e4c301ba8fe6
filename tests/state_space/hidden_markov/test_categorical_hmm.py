"""CategoricalHMM: worked numbers, enumeration, parity with hmmlearn."""

import logging
import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.distributions import Categorical, Normal
from pansophy.params import ParameterError
from pansophy.state_space import CategoricalHMM
from pansophy.state_space.hidden_markov import hmm
from tests.oracles import hidden_chain as slow

logging.getLogger("hmmlearn").setLevel(logging.ERROR)


def model_of(start, trans, emit, cls=CategoricalHMM, **more):
    model = cls(len(start), init_params="", **more)
    model.startprob_ = np.array(start)
    model.transmat_ = np.array(trans)
    model.emissionprob_ = np.array(emit)
    return model


def random_model(rng, k, m, cls=CategoricalHMM, **more):
    return model_of(
        rng.dirichlet(np.ones(k)),
        rng.dirichlet(np.ones(k), size=k),
        rng.dirichlet(np.ones(m), size=k),
        cls,
        **more,
    )


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


TWO_STATES = {
    "start": [0.8, 0.2],
    "trans": [[0.6, 0.4], [0.5, 0.5]],
    "emit": [[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]],
}


def test_two_states_worked_numbers():
    model, x = model_of(**TWO_STATES), np.array([2, 0, 2])
    assert math.exp(model.score(x)) == pytest.approx(0.028562, abs=1e-9)
    gamma = [[0.936629, 0.063371], [0.396051, 0.603949], [0.822631, 0.177369]]
    assert np.allclose(model.predict_proba(x), gamma, atol=1e-6)
    score, path = model.decode(x)
    assert list(path) == [0, 1, 0]
    assert math.exp(score) == pytest.approx(0.0128)
    after = fit(model_of(**TWO_STATES, n_iter=1), x)
    assert np.allclose(after.startprob_, [0.936629, 0.063371], atol=1e-6)
    assert np.allclose(
        after.transmat_, [[0.537201, 0.462799], [0.753410, 0.246590]], atol=1e-6
    )
    numbers = [[0.183756, 0, 0.816244], [0.714996, 0, 0.285004]]
    assert np.allclose(after.emissionprob_, numbers, atol=1e-6)
    assert math.exp(after.score(x)) == pytest.approx(0.220007, abs=1e-6)
    assert after.log_likelihood_ == pytest.approx(after.score(x))


def with_stop(x):
    """A chain with a stop: a third state that emits a third symbol for ever."""
    start = [0.6, 0.4, 0.0]
    trans = [[0.5, 0.3, 0.2], [0.2, 0.5, 0.3], [0.0, 0.0, 1.0]]
    emit = [[0.7, 0.3, 0.0], [0.1, 0.9, 0.0], [0.0, 0.0, 1.0]]
    return model_of(start, trans, emit, n_iter=1), np.array([*x, 2])


def test_stopping_chain_worked_numbers():
    model, x = with_stop([0, 1, 1])
    assert math.exp(model.score(x)) == pytest.approx(0.0265752)
    marginal = [0.89040910, 0.27316445, 0.13316174]
    assert np.allclose(model.predict_proba(x)[:3, 0], marginal, atol=1e-8)
    score, path = model.decode(x)
    assert list(path) == [0, 1, 1, 2]
    assert math.exp(score) == pytest.approx(0.015309)
    fit(model, x)
    assert np.allclose(model.startprob_[:2], [0.89040910, 0.10959090], atol=1e-8)
    rows = [[0.25985897, 0.63745103, 0.10269000], [0.04072056, 0.45035193, 0.50892751]]
    assert np.allclose(model.transmat_[:2], rows, atol=1e-8)
    emit = [[0.68665448, 0.31334552], [0.06434167, 0.93565833]]
    assert np.allclose(model.emissionprob_[:2, :2], emit, atol=1e-8)
    assert model.score(x) == pytest.approx(-2.3551776, abs=1e-7)
    model, x = with_stop([0, 1, 0])
    assert list(model.decode(x)[1][:3]) == [0, 0, 0]
    assert list(model.decode(x, algorithm="map")[1][:3]) == [0, 1, 0]


def test_decoding_and_counting_worked_numbers():
    model = model_of(
        np.full(3, 1 / 3),
        [[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]],
        [[0.1, 0.9], [0.3, 0.7], [0.8, 0.2]],
    )
    x = np.array([0, 1, 0])
    assert math.exp(model.score(x)) == pytest.approx(0.11029, abs=1e-6)
    belief = model.filter(x)
    assert np.allclose(belief[0], [0.083333, 0.25, 0.666667], atol=1e-6)
    assert np.allclose(belief[1], [0.474341, 0.417476, 0.108183], atol=1e-6)
    assert np.allclose(belief[2], [0.049536, 0.237918, 0.712546], atol=1e-6)
    smoothed = model.predict_proba(x)
    assert np.allclose(smoothed[0], [0.098256, 0.148336, 0.753408], atol=1e-6)
    assert np.allclose(smoothed[1], [0.351437, 0.573125, 0.075437], atol=1e-6)
    score, path = model.decode(x)
    assert list(path) == [2, 1, 2]
    assert math.exp(score) == pytest.approx(0.0418133, abs=1e-7)
    stationary = [0.266667, 0.355556, 0.377778]
    assert np.allclose(model.get_stationary_distribution(), stationary, atol=1e-6)
    seen = CategoricalHMM(3).fit_labeled(
        [[0], [1], [1], [0], [0], [1]], [0, 0, 1, 2, 0, 1]
    )
    assert np.allclose(seen.transmat_, [[1 / 3, 2 / 3, 0], [0, 0, 1], [1, 0, 0]])
    assert np.allclose(seen.emissionprob_, [[2 / 3, 1 / 3], [0, 1], [1, 0]])


def test_tables_that_do_not_sum_to_one_are_rejected():
    """Start, transitions and emissions must be probabilities."""
    model = model_of([0.5, 0.5], np.eye(2), [[0.1, 0.4], [0.3, 0.7]])
    with pytest.raises(ValueError, match="emissionprob_ must sum to 1"):
        model.score(np.array([0, 1]))
    model = model_of([0.5, 0.6], np.eye(2), np.eye(2))
    with pytest.raises(ValueError, match="startprob_ must sum to 1"):
        model.score(np.array([0, 1]))


@given(seed=st.integers(0, 10_000), k=st.integers(1, 3))
def test_equals_enumeration(seed, k):
    rng = np.random.default_rng(seed)
    model, x = random_model(rng, k, 4), rng.integers(4, size=5)
    L = model.emissionprob_[:, x].T
    total, G, _, path, best = slow.everything(model.startprob_, model.transmat_, L)
    assert model.score(x) == pytest.approx(math.log(total))
    assert np.allclose(model.predict_proba(x), G)
    score, z = model.decode(x)
    assert np.array_equal(z, path)
    assert score == pytest.approx(math.log(best))
    log = random_model(np.random.default_rng(seed), k, 4, implementation="log")
    assert np.allclose(log.predict_proba(x), G)


@given(seed=st.integers(0, 10_000))
def test_a_missing_symbol_is_summed_over(seed):
    rng = np.random.default_rng(seed)
    model, x = random_model(rng, 3, 4), rng.integers(4, size=6).astype(float)
    gap = x.copy()
    gap[2] = np.nan
    each = []
    for v in range(4):
        x[2] = v
        each.append(model.score(x))
    assert model.score(gap) == pytest.approx(np.logaddexp.reduce(each))
    fit(model, gap)
    assert np.allclose(model.emissionprob_.sum(1), 1)


@pytest.mark.parametrize("implementation", ["scaling", "log"])
@pytest.mark.parametrize("prior", [1.0, 1.7])
def test_parity_with_hmmlearn(implementation, prior, rng):
    peer = pytest.importorskip("hmmlearn.hmm").CategoricalHMM
    k, m, lengths = 4, 6, [40, 1, 70, 89]
    x = rng.integers(m, size=(200, 1))
    pseudo = {f"{n}_prior": prior for n in ("startprob", "transmat", "emissionprob")}
    first = random_model(rng, k, m)
    start = (first.startprob_, first.transmat_, first.emissionprob_)
    a = model_of(*start, n_iter=7, tol=0, implementation=implementation, **pseudo)
    b = model_of(*start, peer, n_iter=7, tol=-np.inf, n_features=m, **pseudo)
    fit(a, x, lengths), b.fit(x, lengths)
    for name in ("startprob_", "transmat_", "emissionprob_"):
        assert np.allclose(getattr(a, name), getattr(b, name), rtol=1e-8, atol=1e-10)
    assert a.score(x, lengths) == pytest.approx(b.score(x, lengths), rel=1e-10)
    assert np.allclose(a.predict_proba(x, lengths), b.predict_proba(x, lengths))
    p, q = (h.decode(x, lengths) for h in (a, b))
    assert p[0] == pytest.approx(q[0])  # paths of equal score may differ
    assert np.mean(p[1] == q[1]) > 0.95
    p, q = (h.decode(x, lengths, algorithm="map") for h in (a, b))
    assert p[0] == pytest.approx(q[0])
    assert np.array_equal(p[1], q[1])
    assert a.aic(x, lengths) == pytest.approx(b.aic(x, lengths))
    assert a.bic(x, lengths) == pytest.approx(b.bic(x, lengths))
    assert np.allclose(a.get_stationary_distribution(), b.get_stationary_distribution())


def test_parameters_are_hmmlearns():
    peer = pytest.importorskip("hmmlearn.hmm").CategoricalHMM
    ours, theirs = CategoricalHMM().get_params(), peer().get_params()
    assert set(ours) == set(theirs)
    differ = {n for n in ours if ours[n] != theirs[n]}
    assert differ == {"implementation"}  # ours rescales unless told otherwise


def test_normal_emissions_are_hmmlearns_gaussian_hmm(rng):
    """The core with another distribution: one step, and one state is a Normal fit."""
    peer = pytest.importorskip("hmmlearn.hmm").GaussianHMM
    X = rng.normal(size=(120, 2)) + 3 * (np.arange(120) % 30 < 15)[:, None]
    A = np.array([[0.8, 0.2], [0.3, 0.7]])
    b = peer(2, "diag", init_params="", n_iter=1, covars_prior=0, covars_weight=1,
             min_covar=0, means_weight=0)  # fmt: skip
    b.startprob_, b.transmat_ = np.array([0.5, 0.5]), A
    b.means_, b.covars_ = np.array([[0.0, 0.0], [2.0, 2.0]]), np.ones((2, 2))
    first = Normal([[0.0, 0.0], [2.0, 2.0]], np.ones((2, 2)), "diag")
    p = hmm.HMMParams(np.array([0.5, 0.5]), A, first)
    stats, loglik = hmm.baum_welch_e_step(p, X, np.array([50, 120]))
    assert loglik == pytest.approx(b.score(X, [50, 70]))
    new = hmm.baum_welch_m_step(stats, p, hmm.HMMPriors(), "ste")
    b.fit(X, [50, 70])
    assert np.allclose(new.trans, b.transmat_)
    assert np.allclose(new.emission.mean, b.means_)
    assert np.allclose(new.emission.dense, b.covars_, rtol=1e-6)
    one = hmm.HMMParams(
        np.ones(1), np.ones((1, 1)), Normal(np.zeros((1, 2)), np.ones((1, 2)), "diag")
    )
    stats, _ = hmm.baum_welch_e_step(one, X, np.array([120]))
    alone = hmm.baum_welch_m_step(stats, one, hmm.HMMPriors(), "e").emission
    assert np.allclose(alone.mean[0], X.mean(0))
    assert np.allclose(alone.cov[0], X.var(0))


def test_sequences_may_come_in_several_forms(rng):
    k, lengths = 2, [30, 5, 65]
    x = rng.integers(3, size=100)
    parts = np.split(x, np.cumsum(lengths)[:-1])
    how = {"random_state": 0, "n_iter": 4, "tol": 0}
    a = fit(CategoricalHMM(k, **how), x[:, None], lengths)
    for X in (parts, [p[:, None] for p in parts]):
        b = fit(CategoricalHMM(k, **how), X)
        assert np.array_equal(a.transmat_, b.transmat_)
        assert a.score(X) == a.score(x, lengths)
    ones = fit(CategoricalHMM(k, **how), x, np.ones(100, int))
    assert np.isfinite(ones.score(x))
    y = rng.integers(5, size=100)  # scikit-learn's y, as long as X, is not lengths
    assert a.score(x, y) == a.score(x)


def test_only_the_letters_asked_for_change(rng):
    x = rng.integers(3, size=80)
    model = random_model(rng, 2, 3, params="t", n_iter=3)
    before = model.startprob_.copy(), model.transmat_.copy(), model.emissionprob_.copy()
    fit(model, x)
    assert np.array_equal(model.startprob_, before[0])
    assert not np.allclose(model.transmat_, before[1])
    assert np.array_equal(model.emissionprob_, before[2])


def test_identical_states_stay_identical(rng):
    x = rng.integers(3, size=60)
    model = model_of([0.5, 0.5], np.full((2, 2), 0.5), [[0.2, 0.3, 0.5]] * 2, n_iter=5)
    fit(model, x)
    assert np.allclose(model.emissionprob_[0], model.emissionprob_[1])
    assert np.allclose(model.transmat_, 0.5)


def test_renaming_symbols_changes_nothing(rng):
    x, names = rng.integers(4, size=90), np.array([2, 0, 3, 1])
    a = random_model(np.random.default_rng(0), 3, 4, n_iter=3, tol=0)
    b = model_of(a.startprob_, a.transmat_, a.emissionprob_[:, np.argsort(names)],
                 n_iter=3, tol=0)  # fmt: skip
    fit(a, x), fit(b, names[x])
    assert a.score(x) == pytest.approx(b.score(names[x]), rel=1e-12)


def test_recovers_what_it_sampled():
    truth = model_of(
        [0.5, 0.5], [[0.95, 0.05], [0.1, 0.9]], [[0.8, 0.1, 0.1], [0.1, 0.2, 0.7]]
    )
    X, z = truth.sample(20_000, random_state=0)
    assert X.shape == (20_000, 1)
    assert np.mean(truth.predict(X) == z) > 0.9
    model = fit(CategoricalHMM(2, n_iter=60, tol=0.01, random_state=1), X)
    order = np.argsort(-model.emissionprob_[:, 0])
    assert np.allclose(model.emissionprob_[order], truth.emissionprob_, atol=0.03)
    assert np.allclose(
        model.transmat_[np.ix_(order, order)], truth.transmat_, atol=0.03
    )
    again = fit(CategoricalHMM(2, n_iter=60, tol=0.01, random_state=1), X)
    assert np.array_equal(model.transmat_, again.transmat_)
    assert model.sample(3, random_state=0, currstate=1)[1].shape == (3,)


@pytest.mark.parametrize(
    ("X", "lengths", "match"),
    [
        ([[0.5], [1.0]], None, "whole numbers"),
        ([[-1], [1]], None, "Negative values"),
        ([[0, 1], [1, 0]], None, "one column"),
        ([[0], [1], [1]], [1, 1], "sum to the 3 rows"),
    ],
)
def test_bad_input_is_named(X, lengths, match):
    with pytest.raises(ValueError, match=match):
        CategoricalHMM(2).fit(X, lengths)


def test_bad_parameters_are_named():
    with pytest.raises(ParameterError, match="params of CategoricalHMM"):
        CategoricalHMM(2, params="xyz").fit([[0], [1]])
    with pytest.raises(ValueError, match="3 symbols only"):
        model_of(**TWO_STATES).score(np.array([0, 3]))
    model = model_of(**TWO_STATES)
    del model.transmat_
    with pytest.raises(ValueError, match="neither fitted nor set"):
        model.score([[0], [1]])
    with pytest.raises(ValueError, match="whole numbers from 0 to 1"):
        CategoricalHMM(2).fit_labeled([[0], [1]], [0, 2])
    assert isinstance(model_of(**TWO_STATES)._emission(), Categorical)
