"""ADMM: a loss of linear predictions plus a penalty, by their proximal operators.

    minimise  F(f) + g(z)   subject to  f = A x,  z = C x                        (1)

where C picks some coordinates of x (all but an intercept, say). With scaled duals u, v
and any rho > 0, one iteration is

    x <- argmin |A x - f + u|^2 + |C x - z + v|^2                                (2)
    f <- prox_{F/rho}(A x + u),   z <- prox_{g/rho}(C x + v)                     (3)
    u <- u + A x - f,             v <- v + C x - z                               (4)

The matrix A^T A + C^T C of eq. (2) is the same in every iteration and factored once.
Only proximal operators of F and g are used, so neither needs a gradient. The run ends
when the primal residuals f - A x and z - C x and the dual residuals (changes of f and
z) are small. rho is adapted after 10, 20, 40, ... iterations so that both kinds of
residual shrink alike; ever more rarely, since convergence is not guaranteed while rho
changes.

Shapes    A (n, m)   x (m,)   f, u (n,)   z, v (d,) with d <= m
Refs      [Boyd2011]
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask

RELAX = 1.6  # over-relaxation of A x and C x in eqs. (3) and (4)
FIRST = 10  # iterations before rho is adapted for the first time
RESETS = {FIRST * 2**k for k in range(20)}
MOST = 10.0  # largest factor of one adaptation


class ADMMState(NamedTuple):
    """State of ADMM after an iteration."""

    position: np.ndarray  # x
    f: np.ndarray
    z: np.ndarray
    u: np.ndarray
    v: np.ndarray
    rho: float
    count: int  # iterations so far
    objective: float  # F(f) + g(z)
    change: float  # the larger of the relative primal and dual residuals


def normal_factor(A, d):
    """Cholesky factor of A^T A + C^T C, C the first d coordinates."""
    M = A.T @ A
    M = np.asarray(M.toarray() if sp.issparse(M) else M, dtype=float)
    M[np.arange(d), np.arange(d)] += 1
    return scipy.linalg.cho_factor(M, overwrite_a=True, check_finite=False)


def admm(
    A,
    d: int,
    prox_f: Callable,
    prox_g: Callable,
    value: Callable,
    *,
    rho: float = 1.0,
    max_iter: int = 10000,
    tol: float = 1e-6,
    task: FitTask = SILENT,
) -> Result:
    """Minimise eq. (1) from 0; `prox_f(f, s)` and `prox_g(z, s)` take a step s.

    `value(f, z)` is F(f) + g(z). z is the solution for the first d coordinates: it has
    exact zeros where g produces them, while x only approximates it.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import penalties
    >>> y, g = np.array([1.0, 2.0, 2.0]), penalties.l1(0.5)
    >>> prox = lambda f, s: y + g.prox(f - y, 2 * s)  # of |y - f|_1
    >>> value = lambda f, z: np.abs(y - f).sum() + float(g.value(z))
    >>> run = admm(np.array([[1.0], [2.0], [3.0]]), 1, prox, g.prox, value)
    >>> run.state.z.round(4)
    array([0.6667])
    """
    factor = normal_factor(A, d)
    n, m = A.shape
    squares = A.multiply(A) if sp.issparse(A) else A * A
    longest_column = float(np.sqrt(squares.sum(axis=0).max()))

    def step(s):
        right = A.T @ (s.f - s.u)
        right[:d] += s.z - s.v
        x = scipy.linalg.cho_solve(factor, right, check_finite=False)
        Ax = A @ x
        Cx = x[:d]
        relaxed_f = RELAX * Ax + (1 - RELAX) * s.f
        relaxed_z = RELAX * Cx + (1 - RELAX) * s.z
        f = prox_f(relaxed_f + s.u, 1 / s.rho)
        z = prox_g(relaxed_z + s.v, 1 / s.rho)
        u = s.u + relaxed_f - f
        v = s.v + relaxed_z - z
        primal = np.sqrt(np.sum((Ax - f) ** 2) + np.sum((Cx - z) ** 2))
        moved = A.T @ (f - s.f)
        moved[:d] += z - s.z
        dual = s.rho * np.linalg.norm(moved)
        primal /= max(np.sqrt(f @ f + z @ z), 1e-12)
        dual_scale = longest_column * np.linalg.norm(u) + np.linalg.norm(v)
        dual /= max(s.rho * dual_scale, 1e-12)
        count = s.count + 1
        factor_rho = 1.0
        if count in RESETS and primal > 0 and dual > 0:
            factor_rho = float(np.clip((primal / dual) ** 0.5, 1 / MOST, MOST))
        return ADMMState(
            position=x,
            f=f,
            z=z,
            u=u / factor_rho,
            v=v / factor_rho,
            rho=s.rho * factor_rho,
            count=count,
            objective=float(value(f, z)),
            change=max(primal, dual),
        )

    start = ADMMState(
        position=np.zeros(m),
        f=prox_f(np.zeros(n), 1 / rho),
        z=np.zeros(d),
        u=np.zeros(n),
        v=np.zeros(d),
        rho=rho,
        count=0,
        objective=np.inf,
        change=np.inf,
    )
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.change,
        task=task,
    )
