"""L-BFGS: Newton steps from the last few changes of the gradient, by SciPy.

With a factor L L^T of a matrix close to the Hessian of every block of coordinates (one
block, or one per class), the steps are taken in z = L^T x, where the problem is nearly
round: fewer of them are needed. The stop is still on the gradient in x.

SciPy owns the loop here, so this wrapper does for it what `core.iterate` does for the
others: the same `Result`, history, callbacks, and Ctrl-C that keeps the last point.

Refs      [Liu1989] [Byrd1995]
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize

from ..core.iterate import Result
from ..core.progress import SILENT, FitTask


class State(NamedTuple):
    position: Any
    objective: float


class Rounded:
    """f in z = L^T x, block by block of x."""

    def __init__(self, f, L):
        self.f, self.L = f, L
        self.seen: Any = None  # the last z, and max |g_j| in x there

    def blocks(self, x):
        return np.asarray(x, dtype=float).reshape(-1, len(self.L)).T

    def inner(self, x):
        """z of x."""
        return (self.L.T @ self.blocks(x)).T.ravel()

    def outer(self, z):
        """x of z."""
        x = solve_triangular(self.L, self.blocks(z), lower=True, trans=1)
        return x.T.ravel()

    def __call__(self, z):
        value, g = self.f(self.outer(z))
        self.seen = np.array(z), float(np.max(np.abs(g)))
        return value, solve_triangular(self.L, self.blocks(g), lower=True).T.ravel()

    def slope(self, z):
        """max |g_j| in x at z."""
        if self.seen is None or not np.array_equal(self.seen[0], z):
            self(z)
        return self.seen[1]


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
    """Minimise f(x) -> (value, gradient) from x until max |g_j| <= tol.

    `root` is L of the module text, (m, m) lower triangular, for blocks of m.

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
    begun = time.perf_counter()
    trace, ended = [], {"reason": None}
    last = [State(np.array(x, dtype=float), np.inf)]
    child = [task.child("step 0")]
    view = Rounded(f, root) if root is not None else None
    outer = view.outer if view else np.array

    def heard(intermediate_result):
        z = intermediate_result.x
        last[0] = State(outer(z), float(intermediate_result.fun))
        trace.append(last[0].objective)
        if child[0].end(last[0]):
            ended["reason"] = "callback"
            raise StopIteration
        if view and view.slope(z) <= tol:
            ended["reason"] = "tolerance"
            raise StopIteration
        if len(trace) < max_iter:
            child[0] = task.child(f"step {len(trace)}")

    options = {
        "maxiter": max_iter,
        "maxcor": memory,
        "gtol": 0.0 if view else tol,
        "maxls": 50,
    }
    options |= {"ftol": 64 * np.finfo(float).eps, "maxfun": max_calls}
    try:
        out = minimize(
            view or f,
            view.inner(x) if view else last[0].position,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=heard,
            options=options,
        )
        last[0] = State(outer(out.x), float(out.fun))
        reason = ended["reason"] or ("max_iter" if out.status == 1 else "tolerance")
        if not np.isfinite(out.fun):
            reason = "diverged"
    except KeyboardInterrupt:
        reason = "interrupted"
        if not np.isfinite(last[0].objective):
            last[0] = State(last[0].position, float(f(last[0].position)[0]))
    history = {"objective": np.asarray(trace)}
    seconds = time.perf_counter() - begun
    return Result(last[0], max(len(trace), 1), reason, history, seconds)
