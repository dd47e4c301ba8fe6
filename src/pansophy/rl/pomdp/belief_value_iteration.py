"""Belief value iteration: the exact value function of a POMDP, as pruned alpha vectors.

With alpha vectors Gamma for k steps to go, those for k + 1 are found by incremental
pruning. A plan takes action a and then, for every observation o, goes on by some alpha:

    G_{a,o} = prune { r_a / O + gamma T_a diag(Z_a(., o)) alpha : alpha in Gamma }   (1)
    Gamma'  = prune  union_a ( G_{a,1} (+) G_{a,2} (+) ... (+) G_{a,O} )             (2)

where (+) adds every vector of one set to every one of the other and prunes after each
addition. To prune is to keep the vectors that are greatest somewhere: those on the
upper envelope. For two states they are lines and one pass over the sorted slopes finds
them; otherwise Lark's filter asks a linear program for each candidate whether there is
a belief b at which it beats all that are kept,

    maximise d  subject to  b . (w - alpha) >= d for kept alpha,  b >= 0, sum b = 1. (3)

If no vector moves by more than delta in a sweep, V is within gamma delta / (1 - gamma)
of V*. The number of vectors can grow doubly exponentially with the horizon: exact
solutions are for small models, and the measure of the other solvers.

Refs      [Cassandra1997] incremental pruning; [Sondik1978]
"""

import warnings
from typing import NamedTuple

import numpy as np
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from ...core.drivers.iterate import iterate
from ...core.drivers.progress import SILENT
from ...params import Count, Fraction, NonNegative, check_argument
from .pomdp import POMDP, AlphaVectors
from .qmdp import check_discount

SLACK = 1e-9  # a vector must rise above the others by this, relative to the values


class BeliefValueState(NamedTuple):
    """State between two sweeps."""

    solution: AlphaVectors
    objective: float  # bound of the distance from V*


class BeliefSolution(NamedTuple):
    """Result of `belief_value_iteration`."""

    policy: AlphaVectors
    bound: float  # |V - V*| is at most this at every belief
    n_iter: int
    converged: bool


def belief_value_iteration(
    model: POMDP, gamma=0.95, tol=1e-3, *, max_iter=1000, prune=True, task=SILENT
) -> BeliefSolution:
    """Best values of all beliefs, to a stated distance.

    Parameters
    ----------
    model : POMDP
    gamma : float
        Discount below 1.
    tol : float
        Distance from the best values at which to stop.
    max_iter : int
        Greatest number of sweeps.
    prune : bool
        False keeps every vector, which grows too fast for anything but checks.

    Returns
    -------
    BeliefSolution
        policy (`AlphaVectors`), bound, n_iter, converged.

    Examples
    --------
    >>> from pansophy.rl import belief_value_iteration, tiger_problem
    >>> found = belief_value_iteration(tiger_problem(), gamma=0.95)
    >>> float(found.policy.value([0.5, 0.5]).round(2)), len(found.policy.actions)
    (19.37, 9)
    """
    check_discount(gamma)
    check_argument("tol", tol, NonNegative)
    check_argument("max_iter", max_iter, Count)

    def step(state):
        new = _backup_vectors(model, state.solution, gamma, prune=prune)
        moved = _greatest_move(state.solution.vectors, new.vectors)
        return BeliefValueState(new, gamma * moved / (1 - gamma))

    start = BeliefValueState(_no_steps_left(model), np.inf)
    bound = lambda old, new: new.objective
    run = iterate(step, start, max_iter=max_iter, tol=tol, change=bound, task=task)
    if not run.converged:
        warnings.warn(
            f"belief_value_iteration stopped ({run.reason}) after {run.n_iter} sweeps "
            f"with bound {run.objective:.3g} > tol; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return BeliefSolution(
        run.state.solution, float(run.objective), run.n_iter, run.converged
    )


def finite_horizon_vectors(
    model: POMDP, horizon, *, gamma=1.0, prune=True
) -> list[AlphaVectors]:
    """Alpha vectors for 1, 2, ..., `horizon` steps to go."""
    check_argument("horizon", horizon, Count)
    check_argument("gamma", gamma, Fraction)
    backups = [_no_steps_left(model)]
    for _ in range(horizon):
        backups.append(_backup_vectors(model, backups[-1], gamma, prune=prune))
    return backups[1:]


def _no_steps_left(model: POMDP) -> AlphaVectors:
    """The value 0 everywhere."""
    return AlphaVectors(np.zeros((1, model.n_states)), np.zeros(1, np.int64))


def _backup_vectors(
    model: POMDP, later: AlphaVectors, gamma, *, prune=True
) -> AlphaVectors:
    """Alpha vectors for one step more, eq. (1) and (2)."""
    O = model.n_observations  # noqa: E741 - the letter of the module text
    kept_vectors = envelope if prune else (lambda vectors: np.arange(len(vectors)))
    vectors, actions = [], []
    for a in range(model.n_actions):
        sums = np.zeros((1, model.n_states))
        for o in range(O):
            back = (later.vectors * model.Z[a][:, o]) @ model.T[a].T
            part = model.r[:, a] / O + gamma * back
            part = part[kept_vectors(part)]
            sums = (sums[:, None, :] + part[None, :, :]).reshape(-1, model.n_states)
            sums = sums[kept_vectors(sums)]
        vectors.append(sums)
        actions.append(np.full(len(sums), a))
    all_vectors = np.concatenate(vectors)
    kept = kept_vectors(all_vectors)
    return AlphaVectors(all_vectors[kept], np.concatenate(actions)[kept])


def _greatest_move(old, new) -> float:
    """Bound on the change of V anywhere: each vector to the nearest of the others."""
    apart = np.abs(new[:, None, :] - old[None, :, :]).max(axis=2)
    return float(max(apart.min(axis=1).max(), apart.min(axis=0).max()))


def envelope(vectors) -> np.ndarray:
    """Numbers of the vectors that are greatest at some belief."""
    if vectors.shape[1] == 1:
        return np.array([int(np.argmax(vectors))])
    # in units of the largest value, since the tolerances of programs are absolute
    vectors = vectors / (float(np.abs(vectors).max()) or 1.0)
    if vectors.shape[1] == 2:
        return np.sort(_line_envelope(vectors, SLACK))
    order = np.lexsort(vectors.T[::-1])[::-1]  # greatest first: of equals, the first
    rows = order[_undominated(vectors[order], SLACK)]
    return np.sort(rows[_lark_filter(vectors[rows], SLACK)])


def _undominated(vectors, slack) -> np.ndarray:
    """Numbers of the rows that no earlier kept row reaches in every state."""
    kept: list[int] = []
    for i, v in enumerate(vectors):
        if not kept or not (vectors[kept] >= v - slack).all(axis=1).any():
            kept.append(i)
    return np.array(kept)


def _line_envelope(vectors, slack) -> np.ndarray:
    """Numbers of the lines v_0 (1 - b) + v_1 b that are greatest for some b in [0, 1].

    In the order of falling v_0 a line counts only if its v_1 exceeds all before; then
    it is needed if it lies above the crossing of its neighbours.
    """
    order = np.lexsort((-vectors[:, 1], -vectors[:, 0]))
    rises = vectors[order, 1]
    previous_rise = np.maximum.accumulate(np.append(-np.inf, rises[:-1]))
    order = order[rises > previous_rise + slack]
    kept: list[int] = []
    lines = dict(zip(order.tolist(), vectors[order].tolist(), strict=True))
    for i, line in lines.items():
        while len(kept) > 1 and hidden(lines[kept[-2]], lines[kept[-1]], line, slack):
            kept.pop()
        kept.append(i)
    return np.array(kept)


def hidden(left, middle, right, slack) -> bool:
    """Whether a line lies below the crossing of its neighbours."""
    fall, rise = left[0] - right[0], right[1] - left[1]
    b = fall / (fall + rise)  # the neighbours differ: rise > 0
    return (
        middle[0] * (1 - b) + middle[1] * b <= left[0] * (1 - b) + left[1] * b + slack
    )


def _lark_filter(vectors, slack) -> np.ndarray:
    """Numbers of the rows on the upper envelope, eq. (3) for each candidate."""
    corners = {int(np.argmax(vectors[:, s])) for s in range(vectors.shape[1])}
    kept = sorted(corners)
    left = [i for i in range(len(vectors)) if i not in corners]
    while left:
        belief = _witness(vectors[left[-1]], vectors[kept], slack)
        if belief is None:
            left.pop()
            continue
        best = left[int(np.argmax(vectors[left] @ belief))]
        left.remove(best)
        kept.append(best)
    return np.array(kept)


def _witness(vector, kept, slack):
    """A belief at which a vector beats all that are kept; None if there is none."""
    S = len(vector)
    program = linprog(
        np.append(np.zeros(S), -1.0),
        A_ub=np.column_stack([kept - vector, np.ones(len(kept))]),
        b_ub=np.zeros(len(kept)),
        A_eq=np.append(np.ones(S), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, None)] * S + [(None, None)],
        method="highs",
    )
    if program.x is None or program.x[S] <= slack:
        return None
    return program.x[:S]
