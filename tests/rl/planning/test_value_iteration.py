"""Planning: worked examples, oracles, certificates, every form of input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from pansophy.params import ParameterError
from pansophy.rl import (
    as_mdp,
    bellman_residual,
    greedy_path,
    greedy_policy,
    policy_iteration,
    q_from_v,
    q_iteration,
    shift_rewards,
    value_iteration,
)
from tests.oracles import value_iteration as slow
from tests.oracles.value_iteration import random_mdp

# T[s][a], R[s][a] as written there, axes moved to (A, S, S)
T25 = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.5, 0.5], [0, 1]]]).swapaxes(0, 1)


R25 = np.array([[[0, 1], [0, 2.0]], [[1, 0], [0, 0.5]]]).swapaxes(0, 1)


V25 = np.array([9.76377953, 8.89763780])


Q25 = np.array([[8.80944882, 9.76377953], [8.89763780, 8.50787402]])


# stay, or go, which succeeds with probability 0.8
T46 = np.array([[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]])


R46 = np.array([[0.0, 0], [1, 0]])


# a corridor of two cells and a goal worth 100
P45 = {
    0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 0.0, False)]},
    1: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 1, 100.0, True)]},
}


def test_worked_example_of_two_states():
    model = as_mdp(T25, R25)
    V = np.zeros(2)
    for want in ((1.6, 0.5), (2.248, 1.445), (3.04504, 2.16185)):
        V = q_from_v(model, V, 0.9).max(axis=1)
        np.testing.assert_allclose(V, want, atol=1e-9)
    got = value_iteration(T25, R25, gamma=0.9, tol=1e-9)
    np.testing.assert_allclose(got.V, V25, atol=2e-8)
    np.testing.assert_allclose(got.Q, Q25, atol=2e-8)
    np.testing.assert_array_equal(got.policy, [1, 0])
    np.testing.assert_array_equal(greedy_policy(got.Q), got.policy)
    assert bellman_residual(model, got.Q, 0.9) < 1e-8


def test_worked_policy_iteration():
    got = policy_iteration(T25, R25, gamma=0.9, policy=[0, 0])
    np.testing.assert_allclose(got.history["V"][0], [1.5625, 2.1875], atol=1e-12)
    np.testing.assert_allclose(got.history["V"][1], [6.34146341, 5], atol=1e-8)
    np.testing.assert_allclose(got.V, V25, atol=1e-8)
    assert got.converged and got.bound < 1e-10
    assert (np.diff(got.history["V"], axis=0) >= -1e-12).all()


def test_worked_stay_or_go():
    got = value_iteration(T46, R46, gamma=0.9, tol=1e-9)
    np.testing.assert_allclose(got.V, [8.780488, 10], atol=1e-6)
    want = [[7.902439, 8.780488], [10, 8.121951]]
    np.testing.assert_allclose(got.Q, want, atol=1e-6)


def test_worked_corridor():
    got = value_iteration(P45, gamma=0.9)
    np.testing.assert_allclose(got.Q, [[81, 90], [81, 100]], atol=1e-9)
    assert greedy_path(as_mdp(P45), got.policy, 0) == ([0, 1], True)
    assert greedy_path(as_mdp(P45), [1, 0], 0) == ([0, 1], False)  # round and round
    assert greedy_path(as_mdp(T46, R46), [0, 0], 1) == ([1], True)


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.5, 0.9]))
def test_equals_the_best_of_all_policies(seed, gamma):
    rng = np.random.default_rng(seed)
    T, r = random_mdp(rng, 4, 3, 2)
    got = value_iteration(T, r, gamma=gamma, tol=1e-9)
    best = slow.best_by_enumeration(T, r, gamma)
    assert np.abs(got.V - best).max() <= got.bound + 1e-12 <= 1e-9 + 1e-12
    np.testing.assert_allclose(policy_iteration(T, r, gamma=gamma).V, best, atol=1e-9)


@pytest.mark.parametrize("n_evaluations", [0, 1, 100])
@pytest.mark.parametrize("form", ["dense", "sparse", "dict"])
def test_bound_is_kept_in_every_form(form, n_evaluations, rng):
    T, r = random_mdp(rng, 40, 3, 4)
    exact = policy_iteration(T, r, gamma=0.95).V
    if form == "sparse":
        P, R = [sparse.csr_array(M) for M in T], r
    elif form == "dense":
        P, R = T, r
    else:
        P = {
            s: {
                a: [(T[a, s, k], k, r[s, a], False) for k in np.flatnonzero(T[a, s])]
                for a in range(3)
            }
            for s in range(40)
        }
        R = None
    for tol in (1e-2, 1e-8):
        got = value_iteration(P, R, gamma=0.95, tol=tol, n_evaluations=n_evaluations)
        assert np.abs(got.V - exact).max() <= got.bound + 1e-12 <= tol + 1e-12
        np.testing.assert_allclose(got.Q.max(axis=1), got.V, atol=1e-12)
        assert got.history["objective"][-1] == got.bound
        assert len(got.history["objective"]) == got.n_iter


def test_bound_is_kept_where_episodes_end(rng):
    P = {}
    for s in range(30):
        P[s] = {}
        for a in range(2):
            p, to = rng.dirichlet(np.ones(3)), rng.integers(30, size=3)
            ends = rng.random(3) < 0.2
            rows = zip(p, to, rng.normal(size=3), ends, strict=True)
            P[s][a] = [(float(x), int(y), float(z), bool(e)) for x, y, z, e in rows]
    exact = policy_iteration(P, gamma=0.97).V
    for tol in (0.1, 1e-7):
        got = value_iteration(P, gamma=0.97, tol=tol)
        assert np.abs(got.V - exact).max() <= got.bound + 1e-12 <= tol + 1e-12
    undiscounted = value_iteration(P, gamma=1, tol=1e-12)
    assert undiscounted.bound == np.inf
    np.testing.assert_allclose(
        undiscounted.V, policy_iteration(P, gamma=1.0).V, atol=1e-9
    )


def test_blocks_and_threads_change_nothing(rng, monkeypatch):
    import sys

    module = sys.modules["pansophy.rl.planning.value_iteration"]
    T, r = random_mdp(rng, 50, 3, 5)
    P = [sparse.csr_array(M) for M in T]
    whole = value_iteration(P, r, gamma=0.9)
    monkeypatch.setattr(module, "BLOCK", 37)
    cut = value_iteration(P, r, gamma=0.9)
    np.testing.assert_array_equal(whole.V, cut.V)
    np.testing.assert_array_equal(whole.Q, cut.Q)
    np.testing.assert_array_equal(whole.policy, cut.policy)


def test_sweep_is_a_contraction(rng):
    model = as_mdp(*random_mdp(rng, 12, 3, 4))
    for _ in range(20):
        V, W = rng.normal(size=(2, 12))
        a, b = (q_from_v(model, x, 0.9).max(axis=1) for x in (V, W))
        assert np.abs(a - b).max() <= 0.9 * np.abs(V - W).max() + 1e-12
        np.testing.assert_allclose(
            q_from_v(model, V, 0.9), slow.backup(model.T, model.r, V, 0.9)
        )


def test_start_and_shift(rng):
    T, r = random_mdp(rng, 20, 2, 3)
    first = value_iteration(T, r, gamma=0.99, tol=1e-8)
    again = value_iteration(T, r, gamma=0.99, tol=1e-7, V0=first.V)
    assert again.n_iter == 1
    shifted = value_iteration(shift_rewards(as_mdp(T, r), 0.5), gamma=0.99, tol=1e-8)
    np.testing.assert_allclose(shifted.V, first.V + 0.5 / 0.01, atol=1e-6)
    with pytest.raises(ValueError, match="cannot be shifted"):
        shift_rewards(as_mdp(P45), 1.0)


def test_errors_say_what_is_wrong():
    bad = T46.copy()
    bad[1, 0] = [0.2, 0.7]
    for arguments, words in (
        ((bad, R46), r"P of action 1 must be probabilities .*\(state 0: 0.9\)"),
        (([sparse.csr_array(M) for M in bad], R46), "P of action 1"),
        ((T46 * [1.0, np.nan], R46), "must be probabilities"),
        ((T46,), "R is needed"),
        ((P45, R46), "R must be left out"),
        ((T46, np.zeros((3, 2))), "R must have shape"),
        ((T46, R46 + np.inf), "R contains NaN"),
        ((T46[0], R46), r"shape \(A, S, S\)"),
        ((T46[:, :1], R46), "square"),
        (([[0, 5], [0, 1]], R46), "from 0 to 1"),
        ((T46, R46, 1.2), "gamma must be a number from 0 to 1"),
        ((T46, R46, 0.9, -1.0), "tol must be a number of at least 0"),
    ):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=words):
            value_iteration(*arguments)
    with pytest.raises(ValueError, match="V0 must hold 2"):
        value_iteration(T46, R46, V0=[1.0])
    with pytest.warns(ConvergenceWarning, match="after 2 sweeps"):
        got = value_iteration(T46, R46, gamma=0.99, max_iter=2, n_evaluations=0)
    assert not got.converged and "not converged after 2" in repr(got)


def test_small_rewards_have_a_best_policy_too():
    P, R = random_mdp(np.random.default_rng(3), 5, 3, 3)
    for scale in (1e-12, 1e12):
        found = policy_iteration(P, R * scale, 0.9)
        usual = policy_iteration(P, R, 0.9)
        np.testing.assert_array_equal(found.policy, usual.policy)
        np.testing.assert_allclose(found.V, usual.V * scale, rtol=1e-9)


def test_the_first_policy_may_be_probabilities():
    P, R = random_mdp(np.random.default_rng(3), 4, 2, 3)
    found = policy_iteration(P, R, 0.9, policy=np.full((4, 2), 0.5))
    np.testing.assert_allclose(found.V, policy_iteration(P, R, 0.9).V)


@pytest.mark.parametrize(
    ("name", "value"),
    [("gamma", "high"), ("gamma", None), ("tol", -1.0), ("max_iter", 2.5)],
)
def test_arguments_are_named(name, value):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        value_iteration([[0]], [1.0], **{name: value})


def test_plain_sweeps_are_the_iterates_of_the_textbook(rng):
    """V_k = max_a (r + gamma T V_{k-1}) from V_0 = 0, and Q_k with max_a Q_k = V_k."""
    T, R = random_mdp(rng, 5, 3, 2)
    V = np.zeros(5)
    iterates = []
    for k in range(1, 6):
        V = (R + 0.9 * np.einsum("ast,t->sa", T, V)).max(axis=1)
        iterates.append(V)
        with pytest.warns(ConvergenceWarning):
            found = value_iteration(T, R, 0.9, max_iter=k, n_evaluations=0)
        with pytest.warns(ConvergenceWarning):
            by_q = q_iteration(T, R, 0.9, max_iter=k)
        np.testing.assert_allclose(found.V, V, rtol=1e-12)
        np.testing.assert_allclose(by_q.Q.max(axis=1), V, rtol=1e-12)
        np.testing.assert_allclose(found.history["V"], iterates, rtol=1e-12)
        best = value_iteration(T, R, 0.9, tol=1e-10).V
        assert np.abs(found.V - best).max() <= found.bound * (1 + 1e-9)
    with pytest.warns(ConvergenceWarning):
        later = q_iteration(T, R, 0.9, max_iter=1, Q0=by_q.Q)
    expected = (R + 0.9 * np.einsum("ast,t->sa", T, V)).max(axis=1)
    np.testing.assert_allclose(later.V, expected, rtol=1e-12)
    with pytest.raises(ValueError, match="Q0 must have shape"):
        q_iteration(T, R, 0.9, Q0=[1.0])


def test_policy_iteration_finds_a_first_policy_without_a_discount():
    from pansophy.rl.envs import CliffWalking

    found = policy_iteration(CliffWalking(), gamma=1.0)
    assert found.V[36] == pytest.approx(-13.0)  # the way along the edge
    sweeps = value_iteration(CliffWalking(), gamma=1.0, tol=0)
    np.testing.assert_allclose(found.V, sweeps.V, atol=1e-9)
    endless = {0: {0: [(1.0, 0, 1.0, False)]}}
    with pytest.raises(ValueError, match="not finite"):
        policy_iteration(endless, gamma=1.0)
