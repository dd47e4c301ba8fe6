"""Damped Newton's method that reuses the Cholesky factor while it is good.

With gradient g and Hessian H at x, the model of f is lowest at

    x - H^-1 g                                                                   (1)

Far from the optimum the step is shortened until f decreases (eq. 4 of `gradient.py`). A
Hessian costs as much as many gradients, so its factor is reused as long as each step
reduces the gradient to the share `KEEP`, and computed anew otherwise: the steps remain
descent steps, and fewer passes over the data are needed. `hessian(x, rough)` may return
an approximation (from a subset of the rows, say) while `rough` is true; the exact
Hessian is requested as soon as an approximate step fails.

`newton_cg` solves eq. (1) by conjugate gradients from products H v and needs no matrix.
Step i lowers the model q(z) = g.z + z.H z / 2 by e_i; the inner iteration ends when

    i e_i <= SHARE |q|                                                           (2)

that is when a step contributes little to the total decrease, or at a direction of
negative curvature.

Shapes    x, g (d,)   H (d, d)
Refs      [Nocedal2006] ch. 3, 7; [Nash1990] eq. (2)
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.drivers.iterate import Result, iterate
from ...core.drivers.progress import SILENT, FitTask
from ...core.linalg.linalg import cholesky, solve_cholesky
from .gradient import GradientState, line_search, size_of, state_at_position

KEEP = 0.2  # share of the gradient a step may leave for its factor to be reused
SHARE = 0.1  # of eq. (2)


class NewtonState(NamedTuple):
    """A point, f and g there, and the current Cholesky factor."""

    position: Any  # x
    objective: float
    gradient: Any  # g
    factor: Any = None  # Cholesky factor of a Hessian, or None
    rough: bool = False
    stuck: bool = False  # an exact step no longer lowers f: rounding error dominates

    @property
    def slope(self) -> float:
        return size_of(self.gradient)


def newton(
    f: Callable,
    hessian: Callable,
    x,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    rough: bool = False,
    keep: float = KEEP,
    task: FitTask = SILENT,
) -> Result:
    """Damped Newton: minimise f(x) -> (value, gradient) until max |g_j| <= tol.

    `hessian(x)` returns H, or with `rough` `hessian(x, rough)` as the module text
    says. newton(f, x, hessian) is the same, as it can be told which is which. A
    Hessian that is not positive definite beyond rounding raises
    `core.linalg.linalg.NotPositiveDefiniteError`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> A = np.array([[0.0, 1], [1, 1], [2, 1]])
    >>> b = np.array([1.0, 3, 5])
    >>> f = lambda w: (np.sum((A @ w - b) ** 2), 2 * A.T @ (A @ w - b))
    >>> run = optim.newton(f, lambda w: 2 * A.T @ A, np.array([7.0, -3.0]))
    >>> run.state.position.round(6), run.n_iter
    (array([2., 1.]), 1)
    """

    hessian, x = _function_and_start(hessian, x)

    def step(s):
        factor = s.factor
        fresh = factor is None
        if fresh:
            H = hessian(s.position, s.rough) if rough else hessian(s.position)
            factor = cholesky(H)[0]
        d = -solve_cholesky(factor, s.gradient)
        new = line_search(f, GradientState(s.position, s.objective, s.gradient, 1.0), d)
        # neither f nor its slope decreases: converged up to rounding
        stuck = new.eta == 0 or (
            new.objective >= s.objective and new.slope > 0.5 * s.slope
        )
        if stuck and not (fresh and not s.rough):
            return s._replace(factor=None, rough=False)  # try again, exactly
        good = new.slope <= keep * s.slope
        return NewtonState(
            position=new.position,
            objective=new.objective,
            gradient=new.gradient,
            factor=factor if good else None,
            rough=s.rough and (good or not fresh),
            stuck=stuck,
        )

    start = state_at_position(f, x, 1.0)
    return iterate(
        step,
        NewtonState(start.position, start.objective, start.gradient, None, rough),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: 0.0 if new.stuck else new.slope,
        task=task,
    )


def _function_and_start(function, x):
    """A function and a starting point, in this order, whichever came first."""
    return (x, function) if callable(x) and not callable(function) else (function, x)


def conjugate_steps(product, g, M, limit=200):
    """Truncated conjugate gradients: a step z that lowers the model of f, eq. (2).

    The preconditioner M(r) approximates H^-1 r.
    """
    z = np.zeros_like(g)
    r = -g
    model = 0.0
    s = M(r)
    p = s
    rho = float(np.vdot(r, s))
    for i in range(1, limit + 1):
        q = product(p)
        curvature = float(np.vdot(p, q))
        if not curvature > 0:
            return z if i > 1 else p
        a = rho / curvature
        z = z + a * p
        r = r - a * q
        fall = a * rho / 2
        model += fall
        if i * fall <= SHARE * model:
            break
        s = M(r)
        previous = rho
        rho = float(np.vdot(r, s))
        p = s + (rho / previous) * p
    return z


def newton_cg(
    f: Callable,
    product: Callable,
    x,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    precondition: Callable | None = None,
    task: FitTask = SILENT,
) -> Result:
    """Newton-CG: minimise f from x until max |g_j| <= tol.

    `product(x)` returns the function v -> H v at x, and `precondition(x)` one that
    approximates r -> H^-1 r there. newton_cg(f, x, product) is the same.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> H = np.diag([1.0, 10.0, 100.0])
    >>> bowl = lambda x: (x @ H @ x / 2, H @ x)
    >>> run = optim.newton_cg(bowl, lambda x: H.__matmul__, np.ones(3))
    >>> bool(np.abs(run.state.position).max() < 1e-8)
    True
    """

    product, x = _function_and_start(product, x)

    def step(s):
        M = precondition(s.position) if precondition else (lambda r: r)
        z = conjugate_steps(product(s.position), s.gradient, M)
        return line_search(f, s, z)

    return iterate(
        step,
        state_at_position(f, x, 1.0),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.slope if new.eta > 0 else 0.0,
        task=task,
    )
