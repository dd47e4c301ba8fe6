"""L1-penalised linear support vector machine (hinge) as a linear program.

    P(w) = |w|_1 + sum_i C_i max(0, 1 - y_i a_i w),   A = [X, s 1]                (1)

With w = u - v and slacks xi this is the linear program

    minimise  sum u + sum v + C^T xi   so that  y (A (u - v)) + xi >= 1,          (2)
              u, v, xi >= 0

whose dual has one multiplier a row and two conditions a column,

    maximise  sum theta   so that  |A^T (y theta)| <= 1,  0 <= theta <= C.        (3)

HiGHS solves either one, by the simplex method, and gives the multipliers of the other:
eq. (2) has a basis of n rows, eq. (3) one of 2 d, so the shorter is solved. A vertex
has coefficients that are exactly 0, and all of them are 0 if

    |sum_i C_i y_i a_ij| <= 1   for every column j.                               (4)

Whatever HiGHS returns, w is feasible for eq. (1) and the multipliers, cut to [0, C]
and divided by the largest slope if that exceeds 1, for eq. (3): the difference of both
values bounds the distance to the optimum. Where several w are optimal, one of them is
returned.

Shapes    X (n, d)   w (d + 1,) or (d,)   theta, xi (n,)
Refs      [Zhu2004] the problem; [Huangfu2018] the simplex method
"""

import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from ..core.drivers.iterate import Result

FEASIBILITY = (1e-10, 1e-7)  # tolerances that HiGHS takes, and its default


class L1HingeState(NamedTuple):
    """A point, its multipliers, and how far it is from optimal."""

    w: np.ndarray
    theta: np.ndarray
    objective: float  # P
    gap: float  # P less the dual value


def _l1_hinge_state(A, y, C, w, theta) -> L1HingeState:
    """The state at any w and any multipliers, eqs. (1) and (3)."""
    P = float(np.abs(w).sum() + C @ np.maximum(1 - y * (A @ w), 0))
    theta = np.clip(theta, 0, C)
    theta = theta / max(np.abs(A.T @ (y * theta)).max(initial=0.0), 1.0)
    return L1HingeState(w, theta, P, max(P - float(theta.sum()), 0.0))


def minimise_l1_hinge(
    X, y, C, *, scale, dual="auto", max_iter=1000, tol=1e-4
) -> Result:
    """Minimise eq. (1) by HiGHS with at most max_iter * n pivots."""
    from scipy.optimize import linprog

    start = time.perf_counter()
    A = sp.csc_array(X, dtype=float)
    n = A.shape[0]
    if scale:
        A = sp.hstack([A, sp.csc_array(np.full((n, 1), float(scale)))], format="csc")
    width = A.shape[1]
    signed = sp.csc_array(sp.diags_array(y) @ A)
    by_dual = 2 * width < n if dual == "auto" else dual
    accuracy = float(np.clip(tol, *FEASIBILITY))
    options = {
        "maxiter": max_iter * n,
        "primal_feasibility_tolerance": accuracy,
        "dual_feasibility_tolerance": accuracy,
    }
    if by_dual:
        program = linprog(
            -np.ones(n),
            A_ub=sp.vstack([signed.T, -signed.T], format="csc"),
            b_ub=np.ones(2 * width),
            bounds=np.column_stack([np.zeros(n), C]),
            method="highs-ds",
            options=options,
        )
    else:
        program = linprog(
            np.concatenate([np.ones(2 * width), C]),
            A_ub=-sp.hstack([signed, -signed, sp.eye_array(n)], format="csc"),
            b_ub=-np.ones(n),
            method="highs-ds",
            options=options,
        )
    w, theta = np.zeros(width), np.zeros(n)
    if program.x is not None:
        multipliers = -program.ineqlin.marginals
        if by_dual:
            w = multipliers[:width] - multipliers[width:]
            theta = program.x
        else:
            w = program.x[:width] - program.x[width : 2 * width]
            theta = multipliers
    state = _l1_hinge_state(A, y, C, w + 0.0, theta)
    return Result(
        state,
        int(np.atleast_1d(program.nit)[0]),
        "tolerance" if program.success else "max_iter",
        {"objective": np.array([state.objective])},
        time.perf_counter() - start,
    )
