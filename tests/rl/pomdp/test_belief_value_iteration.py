"""Exact values of beliefs: enumeration of plans, pruning, the tiger."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.rl import (
    as_pomdp,
    belief_update,
    belief_value_iteration,
    finite_horizon_vectors,
    observation_probabilities,
    tiger_problem,
    value_iteration,
)
from pansophy.rl.pomdp.belief_value_iteration import envelope


def random_pomdp(rng, S, A, O):  # noqa: E741
    T = rng.dirichlet(np.ones(S), (A, S))
    Z = rng.dirichlet(np.ones(O), (A, S))
    return as_pomdp(T, Z, rng.normal(size=(S, A)))


def tree_value(model, belief, left, gamma):
    """Best value by the tree of all actions and observations."""
    if left == 0:
        return 0.0
    values = []
    for a in range(model.n_actions):
        value = belief @ model.r[:, a]
        p = observation_probabilities(model, belief, a)
        for o in np.flatnonzero(p > 1e-12):
            after = belief_update(model, belief, a, o)
            value += gamma * p[o] * tree_value(model, after, left - 1, gamma)
        values.append(value)
    return max(values)


@pytest.mark.parametrize("shape", [(2, 2, 2), (3, 2, 2)])
def test_vectors_are_the_values_of_the_tree(rng, shape):
    model = random_pomdp(rng, *shape)
    levels = finite_horizon_vectors(model, 3, gamma=0.9)
    for belief in rng.dirichlet(np.ones(shape[0]), 8):
        for left in (1, 2, 3):
            expected = tree_value(model, belief, left, 0.9)
            assert levels[left - 1].value(belief) == pytest.approx(expected)


def test_pruning_keeps_the_envelope(rng):
    """Two states, horizon 4, against every plan there is."""
    model = random_pomdp(rng, 2, 2, 2)
    pruned = finite_horizon_vectors(model, 4, gamma=0.9)[-1]
    every = finite_horizon_vectors(model, 4, gamma=0.9, prune=False)[-1]
    assert len(every.actions) == 2**15 and len(pruned.actions) < 30
    p = np.linspace(0, 1, 1001)
    beliefs = np.column_stack([p, 1 - p])
    np.testing.assert_allclose(pruned.value(beliefs), every.value(beliefs), atol=1e-9)


def test_envelope_of_vectors(rng):
    """What is kept is greatest somewhere, what is left out nowhere."""
    for S in (1, 2, 3, 4):
        vectors = rng.normal(size=(40, S))
        vectors = np.concatenate([vectors, vectors[:5], vectors[:5] - 1])
        kept = envelope(vectors)
        beliefs = np.concatenate([rng.dirichlet(np.full(S, 0.5), 4000), np.eye(S)])
        values = beliefs @ vectors.T
        np.testing.assert_allclose(values[:, kept].max(1), values.max(1), atol=1e-8)
        assert len(np.unique(vectors[kept], axis=0)) == len(kept)
        for i in kept:  # needed: without it something is lost
            others = np.setdiff1d(kept, [i])
            if S == 2:
                assert (values[:, i] > values[:, others].max(axis=1, initial=-9)).any()


def test_the_tiger():
    """Value 19.37 of the uniform belief, nine vectors; convex in the belief."""
    found = belief_value_iteration(tiger_problem(), 0.95, tol=1e-4)
    assert found.converged and found.bound <= 1e-4
    assert found.policy.value([0.5, 0.5]) == pytest.approx(19.371, abs=1e-3)
    assert len(found.policy.actions) == 9
    p = np.linspace(0, 1, 101)
    V = found.policy.value(np.column_stack([p, 1 - p]))
    assert (np.diff(V, 2) >= -1e-9).all()
    np.testing.assert_allclose(V, V[::-1], atol=1e-6)
    # the fixed point of the backup: V is what the best action earns
    b = np.array([0.7, 0.3])
    values = []
    for a in range(3):
        model = tiger_problem()
        value = b @ model.r[:, a]
        for o in range(2):
            p = observation_probabilities(model, b, a)[o]
            after = belief_update(model, b, a, o)
            value += 0.95 * p * found.policy.value(after)
        values.append(value)
    assert max(values) == pytest.approx(found.policy.value(b), abs=1e-3)
    assert np.argmax(values) == found.policy.action(b)


def test_states_that_are_seen_make_it_an_mdp(rng):
    T = rng.dirichlet(np.ones(2), (2, 2))
    model = as_pomdp(T, np.eye(2), rng.normal(size=(2, 2)))
    found = belief_value_iteration(model, 0.8, tol=1e-6)
    best = value_iteration(T, model.r, gamma=0.8, tol=1e-9)
    np.testing.assert_allclose(found.policy.value(np.eye(2)), best.V, atol=1e-5)


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="below 1"):
        belief_value_iteration(tiger_problem(), 1.0)
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        belief_value_iteration(tiger_problem(), 0.95, max_iter=3)
    with pytest.raises(ValueError, match="horizon"):
        finite_horizon_vectors(tiger_problem(), 0)
    with pytest.raises(ValueError, match="tol must be"):
        belief_value_iteration(tiger_problem(), 0.9, tol=-1)
    assert list(itertools.islice(finite_horizon_vectors(tiger_problem(), 1), 1))


def test_small_rewards_are_not_pruned_away():
    rng = np.random.default_rng(3)
    T = rng.dirichlet(np.ones(3), size=(3, 3))
    Z = rng.dirichlet(np.ones(3), size=(3, 3))
    R = rng.normal(size=(3, 3))
    b = np.array([0.2, 0.3, 0.5])
    usual = finite_horizon_vectors(as_pomdp(T, Z, R), 3)[-1].value(b)
    for scale in (1e-8, 1e8):
        found = finite_horizon_vectors(as_pomdp(T, Z, R * scale), 3)[-1]
        np.testing.assert_allclose(found.value(b), usual * scale, rtol=1e-6)
