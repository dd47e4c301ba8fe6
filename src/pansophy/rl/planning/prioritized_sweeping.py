"""Prioritised sweeping: update the state whose value is most wrong, then the next.

The error of a state is  e(s) = |(B V)(s) - V(s)|,  with B of `value_iteration` eq. (1).
A heap gives the state of the greatest error; its value is replaced by (B V)(s), which
changes the errors of the states that can lead to it, and only those. If all e(s) are at
most (1 - gamma) tol, V is within tol of V*.

Values spread backwards from where rewards are, so in large worlds with few rewards most
states are updated a few times, where a sweep updates all of them every time. Where
every state changes until the end, whole sweeps (`value_iteration`) are quicker.

Cost      of one update: O(A K) and for each of its predecessors O(A K + log S), K the
          successors of an action.
Refs      [Moore1993]
"""

import warnings

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from . import _prioritized_sweeping as loops
from .linear_programming import matrices
from .mdp import as_mdp
from .value_iteration import (
    MDPSolution,
    bellman_sweep,
    check_solver_arguments,
    value_bound,
)


def prioritized_sweeping(
    P, R=None, gamma=0.99, tol=1e-6, *, max_updates=None, V0=None
) -> MDPSolution:
    """Best values and policy, the most wrong state first.

    Parameters
    ----------
    P, R, gamma
        As for `value_iteration`.
    tol : float
        Distance from the best values at which to stop; with gamma 1, the greatest
        error of a state.
    max_updates : int or None
        Greatest number of updates; None: 10 000 for each state.
    V0 : array of shape (S,) or None
        Start; None is 0.

    Returns
    -------
    MDPSolution
        `n_iter` counts updates of one state.

    Examples
    --------
    >>> from pansophy.rl import prioritized_sweeping
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> prioritized_sweeping(P, [[0, 0], [1, 0]], gamma=0.9).V.round(5)
    array([ 8.78049, 10. ])
    """
    model = as_mdp(P, R)
    S, A = model.r.shape
    limit = 10_000 * S if max_updates is None else max_updates
    check_solver_arguments(gamma, tol, limit, 0)
    V = np.zeros(S) if V0 is None else np.array(V0, dtype=float)
    if V.shape != (S,) or not np.isfinite(V).all():
        raise ValueError(f"V0 must hold {S} finite numbers, got shape {V.shape}.")
    rows = sparse.vstack(matrices(model)).tocsr()  # row a S + s
    order = np.arange(A * S).reshape(A, S).T.ravel()
    forward = rows[order]  # row s A + a
    reach = sparse.csr_array((S, S))
    for M in matrices(model):
        reach = reach + (M > 0)
    backward = reach.T.tocsr()
    stop = tol * (1 - gamma) if gamma < 1 else tol
    arrays = loops.ModelRows(
        forward.indptr.astype(np.int64),
        forward.indices.astype(np.int64),
        forward.data,
        backward.indptr.astype(np.int64),
        backward.indices.astype(np.int64),
        model.r,
    )
    updates, error = loops.sweep_by_priority(arrays, V, float(gamma), stop, int(limit))
    converged = error <= stop
    if not converged:
        warnings.warn(
            f"prioritized_sweeping stopped after {updates} updates with error "
            f"{error:.3g} > {stop:.3g}; raise max_updates or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    last = bellman_sweep(model, V, gamma)
    return MDPSolution(
        V,
        np.ascontiguousarray(last.Q.T),
        last.policy,
        value_bound(last, gamma),
        int(updates),
        bool(converged),
        {},
    )
