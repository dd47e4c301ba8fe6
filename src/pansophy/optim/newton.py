"""Newton's method, damped, with a factor that is kept while it is good.

With gradient g and Hessian H at x, the model of f is lowest at

    x - H^-1 g                                                                   (1)

Far from the optimum the step is shortened until f falls (eq. 3 of `gradient.py`).
A Hessian costs many gradients, so its factor is used again while each step still
divides the gradient by `1/KEEP`, and made anew when it does not: the steps stay
descent steps, and the end is reached in fewer passes over the data. `hessian(x,
rough)` may give an approximation (of fewer rows, say) while `rough` is true; it is
asked for the exact one as soon as a rough step goes badly.

`newton_cg` solves eq. (1) by conjugate gradients from products H v, only as far as
the gradient is small, and needs no matrix.

Shapes    x, g (d,)   H (d, d)
Refs      [Nocedal2006] ch. 3, 7; [Dembo1982] how far to solve
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.iterate import Result, iterate
from ..core.linalg import cg, cholesky, solve_cholesky
from ..core.progress import SILENT, Task
from .gradient import State, at, line_search, size_of

KEEP = 0.2


class NewtonState(NamedTuple):
    """A point, f and g there, and the factor at hand."""

    position: Any  # x
    objective: float
    gradient: Any  # g
    factor: Any = None  # Cholesky factor of a Hessian, or None
    rough: bool = False

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
    task: Task = SILENT,
) -> Result:
    """Minimise f(x) -> (value, gradient) from x until max |g_j| <= tol.

    `hessian(x)` returns H, or with `rough` `hessian(x, rough)` as the module text
    says. A Hessian that is not positive definite beyond rounding raises
    `core.linalg.NotPositiveDefiniteError`.

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

    def step(s):
        factor, fresh = s.factor, s.factor is None
        if fresh:
            H = hessian(s.position, s.rough) if rough else hessian(s.position)
            factor = cholesky(H)[0]
        d = -solve_cholesky(factor, s.gradient)
        new = line_search(f, State(s.position, s.objective, s.gradient, 1.0), d)
        if new.eta == 0 and not (fresh and not s.rough):
            return s._replace(factor=None, rough=False)  # try again, exactly
        good = new.slope <= keep * s.slope
        still = s.rough and (good or not fresh)
        factor = factor if good else None
        return NewtonState(new.position, new.objective, new.gradient, factor, still)

    begin = at(f, x, 1.0)
    return iterate(
        step,
        NewtonState(begin.position, begin.objective, begin.gradient, None, rough),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.slope,
        task=task,
    )


def newton_cg(
    f: Callable,
    product: Callable,
    x,
    *,
    max_iter: int = 100,
    tol: float = 1e-8,
    precondition: Callable | None = None,
    task: Task = SILENT,
) -> Result:
    """Minimise f from x; `product(x)` returns the function v -> H v at x."""

    def step(s):
        size = float(np.linalg.norm(s.gradient))
        accuracy = min(0.5, np.sqrt(size))
        inner = cg(
            product(s.position),
            -s.gradient,
            tol=accuracy,
            max_iter=200,
            precondition=precondition,
        )
        return line_search(f, s, inner.state.X)

    return iterate(
        step,
        at(f, x, 1.0),
        max_iter=max_iter,
        tol=tol,
        change=lambda old, new: new.slope if new.eta > 0 else 0.0,
        task=task,
    )
