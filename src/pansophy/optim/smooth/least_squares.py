"""Ridge-penalised least squares, in closed form or by conjugate gradients.

    f(w) = |X w - y|^2 / 2 + alpha |w|^2 / 2                                     (1)
    gradient X^T (X w - y) + alpha w = 0                                         (2)

The closed form factors (QR or Cholesky, refined) in about n d^2 operations for n > d.
The iterative one runs conjugate gradients on (2), from products with X and X^T alone:
2 n d operations (or twice the stored entries, if sparse) for each of at most d steps,
usually far fewer, and no d x d matrix. `auto` takes the closed form unless its cost
exceeds `BUDGET` operations, or X is sparse and its square matrix would be larger than
X itself.

Shapes    X (n, d)   y (n,) or (n, t)   w (d,) or (d, t)
Refs      [Bjorck1996]; [Hestenes1952]
"""

import math
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from ...core.arrays.arrays import asarray, to_numpy
from ...core.drivers.iterate import Result
from ...core.drivers.progress import SILENT, FitTask
from ...core.linalg.cg import conjugate_gradients
from ...core.linalg.least_squares import least_squares
from .gradient import size_of

BUDGET = 2e11  # operations that the closed form may cost
STEPS = 200  # assumed number of conjugate gradient steps


class LeastSquaresState(NamedTuple):
    """Coefficients, objective and gradient, and the solver that found them."""

    position: Any  # w
    objective: float  # f, eq. (1)
    gradient: Any  # eq. (2)
    solver: str  # "closed" or "iterative"

    @property
    def slope(self) -> float:
        return size_of(self.gradient)


def closed_or_iterative(n: int, d: int, stored: int | None = None) -> str:
    """The cheaper solver of an n x d problem: "closed" or "iterative".

    `stored` is the number of stored entries of a sparse X.
    """
    small = min(n, d)
    closed = float(n) * d * small
    iterative = 4.0 * (stored if stored is not None else n * d) * min(STEPS, small)
    if stored is not None and closed > iterative and small**2 > 10 * stored:
        return "iterative"
    return "closed" if closed <= max(BUDGET, iterative) else "iterative"


def solve_least_squares(
    X,
    y,
    *,
    alpha: float = 0.0,
    solver: str = "auto",
    max_iter: int | None = None,
    tol: float = 1e-10,
    task: FitTask = SILENT,
) -> Result:
    """Ridge-penalised least squares, eq. (1); X dense or SciPy sparse.

    `solver` is "closed", "iterative" or "auto"; `state.solver` is the one used.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> X, y = np.array([[0.0, 1], [1, 1], [2, 1]]), np.array([1.0, 3, 5])
    >>> run = optim.solve_least_squares(X, y)
    >>> run.state.position.round(6), run.state.solver
    (array([2., 1.]), 'closed')
    """
    if solver not in ("auto", "closed", "iterative"):
        raise ValueError(
            f"solver must be 'auto', 'closed' or 'iterative', got {solver!r}."
        )
    if not (alpha >= 0 and math.isfinite(alpha)):
        raise ValueError(f"alpha must be a number of at least 0, got {alpha!r}.")
    n, d = X.shape
    if y.shape[0] != n:
        raise ValueError(f"X has {n} rows, y has {y.shape[0]}.")
    if solver == "auto":
        solver = closed_or_iterative(n, d, X.nnz if sp.issparse(X) else None)
    flat = y.ndim == 1
    Y = y[:, None] if flat else y
    XT = X.T.tocsr() if sp.issparse(X) else X.T
    n_iter = 1
    reason = "tolerance"
    history = None
    seconds = 0.0
    if solver == "closed":
        rows = sp.csr_matrix(X) if sp.issparse(X) else X
        fit = least_squares(rows, Y, alpha=alpha, intercept=False)
        W = asarray(fit.coef, like=Y)
    else:
        normal = lambda P: XT @ (X @ P) + alpha * P
        run = conjugate_gradients(
            normal, XT @ Y, tol=tol, max_iter=max_iter or 10 * d, task=task
        )
        W = run.state.X
        n_iter = run.n_iter
        reason = run.reason
        history = run.history
        seconds = run.seconds
    R = to_numpy(X @ W - Y)
    G = to_numpy(XT @ (X @ W - Y) + alpha * W)
    value = (float(np.sum(R * R)) + alpha * float(np.sum(to_numpy(W) ** 2))) / 2
    like_y = lambda A: A[:, 0] if flat else A
    state = LeastSquaresState(like_y(W), value, like_y(G), solver)
    history = history or {"objective": np.array([value])}
    return Result(state, n_iter, reason, history, seconds)
