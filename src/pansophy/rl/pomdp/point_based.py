"""Point-based value iteration: alpha vectors that are best at a growing set of beliefs.

Exact solutions keep every vector that is best somewhere. Here only the beliefs that can
be reached count: each belief b of a set gets the vector that a backup makes for it,

    alpha_b = argmax_a  b . ( r_a + gamma sum_o argmax_{g in G_{a,o}} b . g ),      (1)
    G_{a,o} = { T_a diag(Z_a(., o)) alpha : alpha in Gamma }

so a sweep costs no more than (beliefs) x (vectors), whatever the horizon. Started from
the value of taking one action for ever (`blind_policies`), every Gamma is a lower bound
of V*. Between sweeps the set grows: each belief is followed by one step of every action
with a drawn observation, and of the beliefs that this reaches the one farthest from the
set, in the sum of absolute differences, is added.

The fast informed bound from above and the vectors from below enclose the best value of
the first belief; their distance is reported.

Cost      of a sweep: O(A O S n (n + S)) for n beliefs
Refs      [Pineau2003]
"""

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...core.random import make_rng
from ...params import Count, NonNegative, check_argument
from ..planning.mdp import evaluate_policy
from .pomdp import POMDP, AlphaVectors, belief_update, observation_probabilities
from .qmdp import check_discount, fast_informed_bound


class PointBasedSolution(NamedTuple):
    """Result of `point_based_value_iteration`."""

    policy: AlphaVectors
    beliefs: np.ndarray  # (n, S)
    low: float  # value of the first belief, from below
    high: float  # and from above
    n_iter: int
    converged: bool


def point_based_value_iteration(
    model: POMDP,
    gamma=0.95,
    tol=1e-3,
    *,
    n_beliefs=128,
    max_iter=1000,
    random_state=None,
) -> PointBasedSolution:
    """A good policy of beliefs, with bounds on the value of the first one.

    Parameters
    ----------
    model : POMDP
    gamma : float
        Discount below 1.
    tol : float
        Greatest change of the value of a belief in a sweep at which to stop, once the
        set has grown.
    n_beliefs : int
        Beliefs to grow to.
    max_iter : int
        Greatest number of sweeps.
    random_state : int, Generator, RandomState or None
        Which observations are drawn when the set grows.

    Returns
    -------
    PointBasedSolution
        policy, beliefs, low, high, n_iter, converged.

    Examples
    --------
    >>> from pansophy.rl import point_based_value_iteration, tiger_problem
    >>> found = point_based_value_iteration(tiger_problem(), random_state=0)
    >>> 19.3 < found.low <= 19.38 < found.high
    True
    """
    check_discount(gamma)
    check_argument("tol", tol, NonNegative)
    check_argument("max_iter", max_iter, Count)
    check_argument("n_beliefs", n_beliefs, Count)
    rng = make_rng(random_state)
    beliefs = model.start[None]
    vectors = blind_policies(model, gamma)
    grown = n_beliefs == 1
    converged = False
    change = np.inf
    sweeps = 0
    while sweeps < max_iter and not converged:
        previous_values = vectors.value(beliefs)
        vectors = _backup_at(model, vectors, beliefs, gamma)
        sweeps += 1
        change = float((vectors.value(beliefs) - previous_values).max())
        if not grown:
            wider = _expand_beliefs(model, beliefs, n_beliefs, rng)
            grown = len(wider) in (len(beliefs), n_beliefs)
            beliefs = wider
        else:
            converged = change <= tol
    if not converged:
        warnings.warn(
            f"point_based_value_iteration still changes by {change:.3g} after "
            f"{sweeps} sweeps; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    low = float(vectors.value(model.start))
    high = float(fast_informed_bound(model, gamma).value(model.start))
    return PointBasedSolution(vectors, beliefs, low, high, sweeps, converged)


def blind_policies(model: POMDP, gamma) -> AlphaVectors:
    """Values of taking one action for ever: lower bounds of V* at every belief."""
    mdp = model.mdp()
    actions = np.arange(model.n_actions)
    rows = [
        evaluate_policy(mdp, np.full(model.n_states, a), gamma=gamma) for a in actions
    ]
    return AlphaVectors(np.array(rows), actions)


def _backup_at(model: POMDP, later: AlphaVectors, beliefs, gamma) -> AlphaVectors:
    """The best vector of each belief, eq. (1); a belief keeps its old one if better."""
    n, S = beliefs.shape
    best_value = np.full(n, -np.inf)
    best = np.empty((n, S))
    actions = np.empty(n, np.int64)
    for a in range(model.n_actions):
        total = np.repeat(model.r[:, a][None], n, axis=0)
        for o in range(model.n_observations):
            G = (later.vectors * model.Z[a][:, o]) @ model.T[a].T
            total += gamma * G[np.argmax(beliefs @ G.T, axis=1)]
        value = np.einsum("ns,ns->n", beliefs, total)
        better = value > best_value
        best_value[better] = value[better]
        best[better] = total[better]
        actions[better] = a
    old = beliefs @ later.vectors.T
    is_old_better = old.max(axis=1) > best_value
    best[is_old_better] = later.vectors[old[is_old_better].argmax(axis=1)]
    actions[is_old_better] = later.actions[old[is_old_better].argmax(axis=1)]
    unit = 1e-12 * max(float(np.abs(best).max()), np.finfo(float).tiny / 1e-12)
    _, first = np.unique((best / unit).round(), axis=0, return_index=True)
    return AlphaVectors(best[np.sort(first)], actions[np.sort(first)])


def _expand_beliefs(model: POMDP, beliefs, most, rng):
    """Up to twice the beliefs: from each the farthest of its drawn successors."""
    grown = list(beliefs)
    for b in beliefs:
        if len(grown) == most:
            break
        successors = []
        for a in range(model.n_actions):
            p = observation_probabilities(model, b, a)
            o = int(rng.choice(len(p), p=p / p.sum()))
            successors.append(belief_update(model, b, a, o))
        known = np.array(grown)
        apart = [np.abs(known - s).sum(axis=1).min() for s in successors]
        if max(apart) > 1e-6:
            grown.append(successors[int(np.argmax(apart))])
    return np.array(grown)
