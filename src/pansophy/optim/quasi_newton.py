"""L-BFGS: Newton steps from the last few changes of the gradient, by SciPy.

SciPy owns the loop here, so this wrapper does for it what `core.iterate` does for the
others: the same `Result`, history, callbacks, and Ctrl-C that keeps the last point.

Refs      [Liu1989] [Byrd1995]
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize

from ..core.iterate import Result
from ..core.progress import SILENT, Task


class State(NamedTuple):
    position: Any
    objective: float


def lbfgs(
    f: Callable,
    x,
    *,
    max_iter: int = 15000,
    tol: float = 1e-6,
    max_calls: int = 10**9,
    memory: int = 10,
    bounds=None,
    task: Task = SILENT,
) -> Result:
    """Minimise f(x) -> (value, gradient) from x until max |g_j| <= tol.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> bowl = lambda x: ((x - 1) @ (x - 1), 2 * (x - 1))
    >>> optim.lbfgs(bowl, np.array([3.0, -1.0])).state.position.round(6)
    array([1., 1.])
    """
    begun = time.perf_counter()
    trace, ended = [], {"reason": None}
    last = [State(np.array(x, dtype=float), np.inf)]
    child = [task.child("step 0")]

    def heard(intermediate_result):
        last[0] = State(np.array(intermediate_result.x), float(intermediate_result.fun))
        trace.append(last[0].objective)
        if child[0].end(last[0]):
            ended["reason"] = "callback"
            raise StopIteration
        if len(trace) < max_iter:
            child[0] = task.child(f"step {len(trace)}")

    options = {"maxiter": max_iter, "maxcor": memory, "gtol": tol, "maxls": 50}
    options |= {"ftol": 64 * np.finfo(float).eps, "maxfun": max_calls}
    try:
        out = minimize(
            f,
            last[0].position,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            callback=heard,
            options=options,
        )
        last[0] = State(out.x, float(out.fun))
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
