"""Linear programming: the best values of a Markov decision process as an optimum.

V* is the least V that no action can improve on, so for any weights c > 0

    minimise    sum_s c(s) V(s)
    subject to  V(s) - gamma sum_s' T_a(s, s') V(s') >= r(s, a)  for all s and a

The multipliers d(s, a) of the constraints are the discounted numbers of times that the
best policy, started from c, takes action a in state s; they sum to sum(c) / (1 - gamma)
where episodes do not end. They are computed from the best policy, by a linear system
instead of the program, so that ties of actions do not blur them. One program of S
unknowns and S A constraints: exact, and a check on the iterative solvers, but slower
than they are beyond some thousand states.

Shapes    V (S,)   d (S, A)   c (S,)
Refs      [dEpenoux1963]
"""

import numpy as np
from scipy import sparse
from scipy.optimize import linprog

from .mdp import MDP, as_mdp, greedy_policy, q_from_v
from .value_iteration import (
    MDPSolution,
    bellman_sweep,
    check_solver_arguments,
    value_bound,
)


def linear_programming(P, R=None, gamma=0.99, *, start=None) -> MDPSolution:
    """Best values and policy by one linear program.

    Parameters
    ----------
    P, R, gamma
        As for `value_iteration`; gamma below 1.
    start : array of shape (S,) or None
        Weights c, such as the probabilities of the first state; None: all equal. They
        change the visits, not the values.

    Returns
    -------
    MDPSolution
        `history["visits"]` has d, of shape (S, A).

    Examples
    --------
    >>> from pansophy.rl import linear_programming
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> found = linear_programming(P, [[0, 0], [1, 0]], gamma=0.9)
    >>> found.V.round(6)
    array([ 8.780488, 10. ])
    >>> found.history["visits"].sum().round(6)
    np.float64(10.0)
    """
    model = as_mdp(P, R)
    check_solver_arguments(gamma, 0, 1, 0)
    if gamma == 1:
        raise ValueError("linear_programming needs gamma below 1.")
    S = model.n_states
    c = np.full(S, 1 / S) if start is None else np.asarray(start, dtype=float)
    if c.shape != (S,) or not (np.isfinite(c).all() and (c >= 0).all() and c.any()):
        raise ValueError(f"start must hold {S} weights of at least 0.")
    constraints = sparse.vstack(
        [sparse.eye_array(S) - gamma * M for M in matrices(model)]
    )
    unit = float(np.abs(model.r).max()) or 1.0  # tolerances of the program are absolute
    result = linprog(
        c + 1e-3 / S,  # a state that is never met must not be free
        A_ub=-constraints.tocsr(),
        b_ub=-model.r.T.ravel() / unit,
        bounds=(None, None),
        method="highs",
    )
    if result.x is None:
        raise ValueError(f"the linear program was not solved: {result.message}")
    V = result.x * unit
    Q = q_from_v(model, V, gamma)
    policy = greedy_policy(Q)
    last = bellman_sweep(model, V, gamma)
    visits = _discounted_visits(model, policy, c, gamma)
    return MDPSolution(
        V, Q, policy, value_bound(last, gamma), 1, True, {"visits": visits}
    )


def matrices(model: MDP):
    """T_a of every action as a CSR matrix."""
    return [sparse.csr_array(M) for M in model.T]


def _discounted_visits(model: MDP, policy, start, gamma):
    """d(s, a) of a deterministic policy: (I - gamma T_policy)' d = c."""
    S, A = model.r.shape
    pick = [sparse.diags_array((policy == a).astype(float)) for a in range(A)]
    T = sum(D @ M for D, M in zip(pick, matrices(model), strict=True))
    system = (sparse.eye_array(S) - gamma * T).T.tocsc()
    visits = np.zeros((S, A))
    visits[np.arange(S), policy] = sparse.linalg.spsolve(system, start)
    return visits
