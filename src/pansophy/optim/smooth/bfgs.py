"""BFGS: quasi-Newton steps with a dense inverse Hessian approximation.

With s the last step and y the change of gradient, the nearest symmetric B to the old
one with B y = s is

    B <- (I - r s y^T) B (I - r y s^T) + r s s^T,     r = 1 / (y.s)              (1)
       = B + r (s v^T + v s^T),     v = (1 + r y.B y) s / 2 - B y                (2)

Strong Wolfe steps ensure y.s > 0, which keeps B positive definite. A B that is too
small would need many updates to grow, so it is first scaled up,

    B <- max(1, (y.s) / (y.B y)) B                                               (3)

which saves iterations on badly scaled problems. Eq. (2) costs O(d^2) for each step. For
thousands of unknowns use `lbfgs`, which stores the last few pairs (s, y) instead.

Shapes    x, g, s, y (d,)   B (d, d)
Refs      [Nocedal2006] ch. 6; [Oren1974] eq. (3), here upwards only
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.drivers.iterate import Result
from ...core.drivers.progress import SILENT, FitTask
from .conjugate_gradient import first_step
from .gradient import (
    GradientState,
    iterate_until_stationary,
    size_of,
    state_at_position,
)
from .strong_wolfe import strong_wolfe

LEAST = 1e-10  # pairs of smaller y.s / (|y| |s|) are skipped: rounding dominates


class BFGSState(NamedTuple):
    """A point, f and g there, and the inverse Hessian approximation."""

    position: np.ndarray  # x
    objective: float
    gradient: np.ndarray  # g
    eta: float  # step taken
    inverse: np.ndarray | None = None  # B

    @property
    def slope(self) -> float:
        return size_of(self.gradient)


def update_inverse_hessian(B, s, y):
    """B after the updates (3) and (2); None starts from B = (y.s / y.y) I."""
    ys = float(y @ s)
    yy = float(y @ y)
    if ys <= LEAST * (yy * float(s @ s)) ** 0.5:
        return B
    if B is None:
        B = np.diag(np.full(len(s), ys / yy))
    By = B @ y
    scale = max(1.0, ys / float(y @ By))  # eq. (3)
    By *= scale
    v = (1 + float(y @ By) / ys) / 2 * s - By
    half = np.multiply.outer(s / ys, v)
    B = scale * B
    B += half
    B += half.T
    return B


def bfgs(
    f: Callable,
    x,
    *,
    max_iter: int = 1000,
    tol: float = 1e-6,
    task: FitTask = SILENT,
) -> Result:
    """BFGS: minimise f(x) -> (value, gradient) from x until max |g_j| <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> def valley(x):
    ...     a, b = 1 - x[0], x[1] - x[0] ** 2
    ...     return a * a + 100 * b * b, np.array([-2 * a - 400 * x[0] * b, 200 * b])
    >>> optim.bfgs(valley, np.array([-1.2, 1.0])).state.position.round(6)
    array([1., 1.])
    """

    def step(s):
        restart = GradientState(s.position, s.objective, s.gradient, 1.0)
        if s.inverse is None:
            new = strong_wolfe(f, restart, -s.gradient, first_step(s.gradient))
        else:
            new = strong_wolfe(f, restart, -(s.inverse @ s.gradient))
            if new.eta == 0:  # no descent: restart from the steepest direction
                return s._replace(inverse=None, eta=1.0)
        B = s.inverse
        if new.eta > 0:
            B = update_inverse_hessian(
                B, new.position - s.position, new.gradient - s.gradient
            )
        return BFGSState(new.position, new.objective, new.gradient, new.eta, B)

    start = state_at_position(f, np.array(x, dtype=float), 1.0)
    start = BFGSState(start.position, start.objective, start.gradient, 1.0)
    return iterate_until_stationary(step, start, max_iter=max_iter, tol=tol, task=task)
