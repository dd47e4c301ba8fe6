"""L-BFGS with SciPy's solver behind our driver.

Preconditioning: given a factor L L^T close to the Hessian of every block of coordinates
(one block, or one per class), the steps are taken in z = L^T x, where the problem is
well conditioned and needs fewer of them. The stopping rule still uses the gradient in
x.

SciPy runs the loop, so this wrapper does what `core.drivers.iterate` does for the other
solvers: the same `Result`, history and callbacks, and Ctrl-C keeps the last point.

Refs      [Liu1989] [Byrd1995]
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from ...core.drivers.iterate import Result
from ...core.drivers.progress import SILENT, FitTask


class LimitedMemoryState(NamedTuple):
    """A point and f there."""

    position: Any
    objective: float


class Rounded:
    """f as a function of the preconditioned coordinates z = L^T x, block by block."""

    def __init__(self, f, L):
        self.f = f
        self.L = L
        self.last: Any = None  # the last z, and max |g_j| in x there

    def blocks(self, x):
        """x with one column for each block."""
        return np.asarray(x, dtype=float).reshape(-1, len(self.L)).T

    def inner(self, x):
        """z = L^T x."""
        return (self.L.T @ self.blocks(x)).T.ravel()

    def outer(self, z):
        """x = L^-T z."""
        x = solve_triangular(self.L, self.blocks(z), lower=True, trans=1)
        return x.T.ravel()

    def __call__(self, z):
        value, g = self.f(self.outer(z))
        self.last = np.array(z), float(np.max(np.abs(g)))
        return value, solve_triangular(self.L, self.blocks(g), lower=True).T.ravel()

    def slope(self, z):
        """max |g_j| in x at z."""
        if self.last is None or not np.array_equal(self.last[0], z):
            self(z)
        return self.last[1]


def lbfgs(
    f: Callable,
    x,
    *,
    max_iter: int = 15000,
    tol: float = 1e-6,
    max_calls: int = 10**9,
    memory: int = 10,
    bounds=None,
    root=None,
    task: FitTask = SILENT,
) -> Result:
    """L-BFGS: minimise f(x) -> (value, gradient) from x until max |g_j| <= tol.

    `root` is the lower triangular preconditioner L (m, m) for blocks of m coordinates.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> bowl = lambda x: ((x - 1) @ (x - 1), 2 * (x - 1))
    >>> optim.lbfgs(bowl, np.array([3.0, -1.0])).state.position.round(6)
    array([1., 1.])
    """
    if root is not None and bounds is not None:
        raise ValueError("lbfgs takes bounds or a root, not both.")
    started = time.perf_counter()
    trace = []
    stopped_by = None
    last = LimitedMemoryState(np.array(x, dtype=float), np.inf)
    child = task.child("step 0")
    view = Rounded(f, root) if root is not None else None
    outer = view.outer if view else np.array

    def after_step(intermediate_result):
        nonlocal last, child, stopped_by
        z = intermediate_result.x
        last = LimitedMemoryState(outer(z), float(intermediate_result.fun))
        trace.append(last.objective)
        if child.end(last):
            stopped_by = "callback"
            raise StopIteration
        if view and view.slope(z) <= tol:
            stopped_by = "tolerance"
            raise StopIteration
        if len(trace) < max_iter:
            child = task.child(f"step {len(trace)}")

    options = {
        "maxiter": max_iter,
        "maxcor": memory,
        "gtol": 0.0 if view else tol,
        "maxls": 50,
        "ftol": 64 * np.finfo(float).eps,
        "maxfun": max_calls,
    }
    try:
        scipy_result = minimize(
            view or f,
            view.inner(x) if view else last.position,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=after_step,
            options=options,
        )
        last = LimitedMemoryState(outer(scipy_result.x), float(scipy_result.fun))
        reason = stopped_by or ("max_iter" if scipy_result.status == 1 else "tolerance")
        if not np.isfinite(scipy_result.fun):
            reason = "diverged"
    except KeyboardInterrupt:
        reason = "interrupted"
        if not np.isfinite(last.objective):
            last = LimitedMemoryState(last.position, float(f(last.position)[0]))
    history = {"objective": np.asarray(trace)}
    seconds = time.perf_counter() - started
    return Result(last, max(len(trace), 1), reason, history, seconds)
