"""What every hidden Markov model does: worked numbers, enumeration, odd cases."""

import math
import warnings
from itertools import combinations, pairwise

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.core import filtering, hidden_chain
from pansophy.core.filtering import Chain, Evidence
from pansophy.state_space import (
    CategoricalHMM,
    backward_messages,
    enumerate_paths,
    forced_align,
    forward_messages,
    k_best_paths,
)
from pansophy.state_space.sequences import stack_sequences

X1 = ([0.8, 0.2], [[0.6, 0.4], [0.5, 0.5]])
L1 = np.array([[0.4, 0.1], [0.2, 0.5], [0.4, 0.1]])  # of 2, 0, 2

W23 = {
    "start": [0.6, 0.4],
    "trans": [[0.5, 0.3], [0.2, 0.5]],
    "likelihood": np.array([[0.7, 0.1], [0.3, 0.9], [0.3, 0.9]]),  # of 0, 1, 1
    "stop": [0.2, 0.3],
}


def model_of(start, trans, emit, **more):
    model = CategoricalHMM(len(start), init_params="", **more)
    model.startprob_, model.transmat_ = np.array(start), np.array(trans)
    model.emissionprob_ = np.array(emit)
    return model


def stopping():
    model = model_of(W23["start"], W23["trans"], [[0.7, 0.3], [0.1, 0.9]])
    model.stopprob_ = np.array(W23["stop"])
    return model


def random_model(rng, k, m, **more):
    tables = [rng.dirichlet(np.ones(size), size=k) for size in (k, m)]
    return model_of(rng.dirichlet(np.ones(k)), *tables, **more)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


# -- messages, K265


def test_messages_of_x1_of_002():
    a, b = forward_messages(*X1, L1), backward_messages(*X1, L1)
    numbers = [[0.32, 0.02], [0.0404, 0.069], [0.023496, 0.005066]]
    assert np.allclose(a, numbers, atol=1e-9)
    assert np.allclose(b[0], [0.0836, 0.0905])
    assert np.allclose((a * b).sum(1), 0.028562)


def test_messages_of_w23_of_000():
    a = forward_messages(**W23, inclusive=False)
    b = backward_messages(**W23, inclusive=True)
    numbers = [[0.6, 0.4], [0.218, 0.146], [0.05898, 0.08532]]
    assert np.allclose(a, numbers, atol=1e-9)
    numbers = [[0.039438, 0.007281], [0.0333, 0.1323], [0.06, 0.27]]
    assert np.allclose(b, numbers, atol=1e-9)
    assert np.allclose((a * b).sum(1), 0.0265752)


def test_a_model_that_stops_is_w23_of_000():
    model, x = stopping(), np.array([0, 1, 1])
    assert math.exp(model.score(x)) == pytest.approx(0.0265752)
    assert model.score(x) == pytest.approx(-3.6277768, abs=1e-7)
    marginal = [0.89040910, 0.27316445, 0.13316174]
    assert np.allclose(model.smooth(x)[:, 0], marginal, atol=1e-8)
    pairs = model.pair_marginals(x).reshape(2, 4)
    one = [0.26314007, 0.62726903, 0.01002438, 0.09956651]
    two = [0.07382823, 0.19933622, 0.05933351, 0.66750203]
    assert np.allclose(pairs, [one, two], atol=1e-8)
    score, path = model.decode(x)
    assert list(path) == [0, 1, 1]
    assert math.exp(score) == pytest.approx(0.015309)
    score, path = model.decode(np.array([0, 1, 0]))
    assert (list(path), math.exp(score)) == ([0, 0, 0], pytest.approx(0.00441))
    assert list(model.decode(np.array([0, 1, 0]), method="posterior")[1]) == [0, 1, 0]
    with pytest.raises(ValueError, match="does not learn when to stop"):
        model.fit(x)


def test_umbrellas():
    """Rain on two days of umbrellas: .818, .883 filtered and .883 smoothed."""
    model = model_of([0.5, 0.5], [[0.7, 0.3], [0.3, 0.7]], [[0.9, 0.1], [0.2, 0.8]])
    x = np.array([0, 0])
    assert np.allclose(model.filter(x)[:, 0], [0.818182, 0.883357], atol=1e-6)
    assert np.allclose(model.smooth(x)[0, 0], 0.883357, atol=1e-6)
    assert list(model.decode(np.array([0, 0, 1, 0, 0]))[1]) == [0, 0, 1, 0, 0]


def test_walk_shop_clean():
    """Rainy or sunny, seen through walk, shop, clean: sunny, rainy, rainy, .01344."""
    model = model_of(
        [0.6, 0.4], [[0.7, 0.3], [0.4, 0.6]], [[0.1, 0.4, 0.5], [0.6, 0.3, 0.1]]
    )
    score, path = model.decode(np.array([0, 1, 2]))
    assert list(path) == [1, 0, 0]
    assert math.exp(score) == pytest.approx(0.01344)
    assert math.exp(model.score(np.array([0, 1, 2]))) == pytest.approx(0.033612)


# -- everything against enumeration


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 3), n=st.integers(1, 5))
def test_equals_enumeration(seed, k, n):
    """Models with zeros in them, messages, pairs, lags, the best three paths."""
    rng = np.random.default_rng(seed)
    model, x = random_model(rng, k, 3), rng.integers(3, size=n)
    A = np.where(rng.random((k, k)) < 0.3, 0.0, model.transmat_) + 1e-12 * np.eye(k)
    model.transmat_ = A = A / A.sum(1, keepdims=True)
    L = model.emissionprob_[:, x].T
    paths, log_p = enumerate_paths(model.startprob_, A, L)
    p = np.exp(log_p)
    share = p / p.sum()
    assert model.score(x) == pytest.approx(math.log(p.sum()))
    G = np.array([[share[paths[:, t] == j].sum() for j in range(k)] for t in range(n)])
    assert np.allclose(model.smooth(x), G)
    for t, pair in enumerate(model.pair_marginals(x)):
        both = paths[:, t] * k + paths[:, t + 1]
        assert np.allclose(pair.ravel(), np.bincount(both, share, minlength=k * k))
    best = np.sort(p[p > 0])[::-1][:3]
    scores, found = model.decode(x, k=3)
    assert np.allclose(np.exp(scores), best)
    assert all(log_p[np.all(paths == z, axis=1)] == pytest.approx(s)
               for z, s in zip(found, scores, strict=True))  # fmt: skip
    a, b = (
        forward_messages(model.startprob_, A, L),
        backward_messages(model.startprob_, A, L),
    )
    assert np.allclose((a * b).sum(1), p.sum())
    lagged = model.smooth(x, lag=1)
    for t in range(n):
        part = model.smooth(x[: t + 2])
        assert np.allclose(lagged[t], part[t])
    assert np.allclose(model.smooth(x, lag=n), G)
    assert np.allclose(model.smooth(x, lag=0), model.filter(x))


def test_enumeration_refuses_large_models():
    with pytest.raises(ValueError, match="more than 1000000 paths"):
        enumerate_paths(np.ones(2) / 2, np.eye(2), np.ones((30, 2)))
    with pytest.raises(ValueError, match=r"likelihood \(n, 2\)"):
        forward_messages([0.5, 0.5], np.eye(2), np.ones((3, 3)))
    with pytest.raises(ValueError, match="at least one path"):
        k_best_paths(*X1, L1, 0)


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("k", [3, 11])
def test_a_long_sequence_is_worked_from_both_ends(monkeypatch, rng, dense, k):
    """As one sequence in a single pass, for every quantity."""
    n = 700
    chain = Chain(rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(k), size=k))
    table = np.log(rng.random((n if dense else 5, k)))
    index = None if dense else rng.integers(5, size=n)
    seen = Evidence(table, index, np.array([n]))
    results = []
    for long in (1 << 20, 100):
        monkeypatch.setattr(hidden_chain, "LONG_SEQUENCE", long)
        E = filtering.expected_counts(chain, seen)
        G, logliks = filtering.smooth_chain(chain, seen)
        path, scores = filtering.viterbi(chain, seen)
        path = path if dense else scores  # of symbols, many paths are equally likely
        again = filtering.sequence_log_likelihoods(chain, seen)
        results.append((*E, G, logliks, path, scores, again))
    for one, two in zip(*results, strict=True):
        assert np.allclose(one, two, rtol=1e-10)


@pytest.mark.parametrize("long", [10, 1000])
def test_products_too_small_are_done_again_in_logarithms(monkeypatch, long):
    """A chain that must make moves of probability 1e-200, time and again."""
    monkeypatch.setattr(hidden_chain, "LONG_SEQUENCE", long)
    chain = Chain(np.array([1.0, 0.0]), np.array([[1.0, 1e-200], [1e-200, 1.0]]))
    table = np.array([[0.0, -800.0], [-800.0, 0.0]])
    seen = Evidence(table, np.arange(12) % 2, np.array([12]))
    E, F = (filtering.expected_counts(chain, seen, log=log) for log in (False, True))
    for a, b in zip(E, F, strict=True):
        assert np.allclose(a, b)
    assert -5000 < E.loglik < -4000
    assert filtering.sequence_log_likelihoods(chain, seen)[0] == pytest.approx(E.loglik)
    assert np.allclose(filtering.filter_chain(chain, seen)[0].sum(1), 1)


# -- learning


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


def test_hard_learning_counts_the_likeliest_path():
    emit = [[0.2, 0.4, 0.4], [0.5, 0.4, 0.1]]
    x = np.array([2, 0, 2])
    model = fit(model_of(*X1, emit, n_iter=1), x, hard=True)  # along 0, 1, 0
    assert np.allclose(model.transmat_, [[0, 1], [1, 0]])
    assert np.allclose(model.emissionprob_, [[0, 0, 1], [1, 0, 0]])
    assert model.decode(x)[0] == pytest.approx(0.0)


def test_counting_with_stops():
    """Ex. B50 of 003 in two sequences; rows and stops sum to 1 together."""
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
    model = model_of(np.full(3, 1 / 3), np.full((3, 3), 1 / 3), emit)
    with pytest.warns(UserWarning, match="no step belongs to state 2"):
        fit(model, rng.integers(2, size=50))
    assert np.allclose(model.transmat_[2], 1 / 3)
    assert np.allclose(model.emissionprob_[2], [0, 0, 1])


def test_missing_symbols_are_filled_in():
    model = model_of([1, 0], [[0, 1], [1, 0]], [[0.9, 0.1], [0.2, 0.8]])
    x = np.array([0, np.nan, 0, np.nan])[:, None]
    assert model.fill(x)[:, 0].tolist() == [0, 1, 0, 1]


def test_a_million_steps_are_drawn_at_once():
    model = model_of([0, 1], [[0.9, 0.1], [1.0, 0.0]], [[1, 0, 0], [0, 0.5, 0.5]])
    X, z = model.sample(1_000_000, random_state=0)
    assert z[0] == 1
    assert not ((z[:-1] == 1) & (z[1:] == 1)).any()  # what cannot be is not drawn
    assert np.mean(z == 0) == pytest.approx(10 / 11, abs=2e-3)
    assert set(np.unique(X)) == {0, 1, 2}


# -- alignment, sequences


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 8), m=st.integers(1, 3))
def test_alignment_equals_enumeration_of_boundaries(seed, n, m):
    rng = np.random.default_rng(seed)
    L, y = np.log(rng.random((n, 4))), rng.integers(4, size=m)
    stay = rng.uniform(0.1, 0.9, size=4) if seed % 2 else None
    found = forced_align(L, y, stay=stay)
    best = -np.inf
    for inner in combinations(range(1, n), m - 1):
        value = 0.0
        for i, (a, b) in enumerate(pairwise([0, *inner, n])):
            value += L[a:b, y[i]].sum()
            if stay is not None:
                value += (b - a - 1) * np.log(stay[y[i]])
                value += np.log(1 - stay[y[i]]) * (i < m - 1)
        best = max(best, value)
    assert found.score == pytest.approx(best)
    assert np.all(np.diff(found.starts) > 0)
    assert np.array_equal(np.unique(found.path), np.arange(m))


def test_bad_alignments_are_named():
    with pytest.raises(ValueError, match="3 labels cannot be shown in 2 steps"):
        forced_align(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="from 0 to 2"):
        forced_align(np.zeros((4, 3)), [0, 3])
    with pytest.raises(ValueError, match="positive probability"):
        forced_align(np.full((4, 3), -np.inf), [0, 1])


def test_grouped_frames_are_sequences():
    columns = {"id": ["b", "a", "b", "a", "a"], "x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    frame, other = pd.DataFrame(columns), pl.DataFrame(columns)
    by_name = [[2.0], [4.0], [5.0], [1.0], [3.0]], [3, 5]
    as_seen = [[1.0], [3.0], [2.0], [4.0], [5.0]], [2, 5]
    for grouped, (X, ends) in (
        (frame.groupby("id"), by_name),
        (frame.groupby("id")["x"], by_name),
        (frame.groupby("id", sort=False), as_seen),
        (other.group_by("id"), as_seen),
        (other.group_by("id", maintain_order=True), as_seen),
    ):
        got = stack_sequences(grouped)
        assert got[0].tolist() == X
        assert got[1].tolist() == ends
    model = fit(CategoricalHMM(2, n_features=6, random_state=0), frame.groupby("id"))
    assert np.isfinite(model.score(other.group_by("id")))


def test_bad_sequences_are_named():
    with pytest.raises(ValueError, match="sequence 0 has no rows"):
        stack_sequences([np.zeros(0), np.ones(2)])
    with pytest.raises(ValueError, match="sequence 1 has length 0"):
        stack_sequences(np.ones(3), [3, 0])
    with pytest.raises(ValueError, match="same columns"):
        stack_sequences([np.ones((2, 1)), np.ones((2, 2))])
    with pytest.raises(ValueError, match="has its lengths already"):
        stack_sequences(pd.DataFrame({"a": [1], "x": [2]}).groupby("a"), [1])


def test_stationary_law_is_that_of_the_chain():
    model = CategoricalHMM(3)
    model.startprob_, model.emissionprob_ = np.full(3, 1 / 3), np.eye(3)
    model.transmat_ = np.array([[0.3, 0.5, 0.2], [0.1, 0.2, 0.7], [0.4, 0.4, 0.2]])
    found = model.get_stationary_distribution()
    np.testing.assert_allclose(found, [0.266667, 0.355556, 0.377778], atol=5e-7)
    model.transmat_ = np.eye(3)
    np.testing.assert_allclose(model.get_stationary_distribution(), np.full(3, 1 / 3))


def test_a_sequence_of_probability_zero_has_no_posterior():
    model = model_of([1.0, 0.0], np.eye(2), [[1.0, 0.0], [0.0, 1.0]])
    fine, not_possible = np.array([[0], [0]]), np.array([[0], [1], [1]])
    assert model.score([fine, not_possible]) == -np.inf
    for ask in (
        model.predict_proba, model.filter, model.predict, model.pair_marginals,
        lambda X: model.smooth(X, lag=1),
    ):  # fmt: skip
        ask([fine, fine])
        with pytest.raises(ValueError, match=r"^sequence 1 of 2 has probability 0 "):
            ask([fine, not_possible])
