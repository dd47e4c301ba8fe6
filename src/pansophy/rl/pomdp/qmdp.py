"""QMDP and the fast informed bound: values of beliefs from above.

QMDP acts as if the state were seen after the next step. With Q* of the process with
states seen, alpha_a = Q*(., a):

    V(b) = max_a sum_s b(s) Q*(s, a)                                                 (1)

It never acts to learn something. The fast informed bound lets the next observation, but
not the state, be seen:

    Q(s, a) <- r(s, a) + gamma sum_o max_a' sum_s' T_a(s, s') Z_a(s', o) Q(s', a')   (2)

Both are upper bounds of the best value, and V* <= FIB <= QMDP at every belief.

Cost      of a sweep: O(A S^2) for (1), O(A^2 O S^2) for (2)
Refs      [Littman1995] (1); [Hauskrecht2000] (2)
"""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from ...params import FractionBelowOne, check_argument
from ..planning.value_iteration import check_solver_arguments, value_iteration
from .pomdp import POMDP, AlphaVectors


def qmdp(model: POMDP, gamma=0.95, tol=1e-8) -> AlphaVectors:
    """Values and policy of beliefs from the process with its states seen, eq. (1).

    Parameters
    ----------
    model : POMDP
    gamma : float
        Discount below 1.
    tol : float
        Distance from Q* at which to stop.

    Examples
    --------
    >>> from pansophy.rl import qmdp, tiger_problem
    >>> float(qmdp(tiger_problem(), gamma=0.95).value([0.5, 0.5]).round(4))
    189.0
    """
    check_discount(gamma)
    Q = value_iteration(model.mdp(), gamma=gamma, tol=tol).Q
    return AlphaVectors(np.ascontiguousarray(Q.T), np.arange(model.n_actions))


def fast_informed_bound(
    model: POMDP, gamma=0.95, tol=1e-8, *, max_iter=100_000
) -> AlphaVectors:
    """An upper bound that knows that states are not seen, eq. (2).

    Parameters
    ----------
    model, gamma
        As for `qmdp`.
    tol : float
        Distance from the fixed point of (2) at which to stop.
    max_iter : int
        Greatest number of sweeps.

    Examples
    --------
    >>> from pansophy.rl import fast_informed_bound, tiger_problem
    >>> bound = fast_informed_bound(tiger_problem(), gamma=0.95)
    >>> 19.37 < float(bound.value([0.5, 0.5])) < 189
    True
    """
    check_discount(gamma)
    check_solver_arguments(gamma, tol, max_iter, 0)
    Q = qmdp(model, gamma, tol).vectors  # (A, S), from above
    # joint[a, s, o, s']: T_a(s, s') Z_a(s', o)
    joint = np.einsum("ast,ato->asot", model.T, model.Z)
    change = np.inf
    for _ in range(max_iter):
        next_value = (joint @ Q.T).max(axis=-1).sum(axis=-1)  # (A, S)
        new = model.r.T + gamma * next_value
        change = float(np.abs(new - Q).max())
        Q = new
        if change * gamma <= tol * (1 - gamma):
            break
    else:
        warnings.warn(
            f"fast_informed_bound still changes by {change:.3g} after {max_iter} "
            "sweeps; raise max_iter or tol.",
            ConvergenceWarning,
            stacklevel=2,
        )
    return AlphaVectors(Q, np.arange(model.n_actions))


def check_discount(gamma):
    """gamma of an endless process must be below 1."""
    check_argument("gamma", gamma, FractionBelowOne)
