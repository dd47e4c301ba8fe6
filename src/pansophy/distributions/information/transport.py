"""Optimal transport: the plan of least cost between two distributions.

For masses u at points x, v at points y and a cost c(x, y) = |x - y|^p

    W_p^p = min sum_ij P_ij c(x_i, y_j),   P >= 0,  P 1 = u,  P' 1 = v           (1)
          = max sum_i u_i f_i + sum_j v_j g_j,   f_i + g_j <= c(x_i, y_j)        (2)

(2) with p = 1 is the Kantorovich-Rubinstein form: the largest E_x f - E_y f over f
that are 1-Lipschitz, so any critic f with |f(a) - f(b)| <= K |a - b| gives the lower
bound (E_x f - E_y f) / K. Three ways to (1):

    sorted    on a line the best plan moves quantile to quantile: O(n log n)     (3)
    lp        the linear program, by HiGHS; equal masses by assignment: exact
    sinkhorn  min (1) + e sum P (log P - 1): P = diag(a) exp(-c / e) diag(b) with a
              and b fitted to the margins alternately, for falling e; the plan is then
              rounded to have exactly the margins, so its cost bounds (1) above  (4)

Scalings a, b are folded into potentials (f, g) before they can overflow.

Shapes    x (n,) or (n, d)   y (m,) or (m, d)   u (n,)   v (m,)   plan (n, m)
Refs      [Villani2009]; [Cuturi2013] eq. (4); [Altschuler2017] rounding;
          [Schmitzer2019] folding
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...core.arrays import arrays
from ...core.drivers.iterate import iterate
from ...core.numerics import logsumexp, safe_divide, safe_log
from ...distances import euclidean
from ..base import float_parameter
from .information import as_probabilities, unwrap_scalar

SWEEPS = 10  # of Sinkhorn between two looks at the margins
FOLD = 1e100  # scalings beyond this are folded into the potentials


class Transport(NamedTuple):
    """A plan, what it costs, and the potentials of eq. (2) if they were found."""

    cost: Any  # sum of P c, the p-th power of the distance
    plan: Any  # (n, m)
    f: Any = None  # (n,)
    g: Any = None  # (m,)
    converged: bool = True


def _weighted_points(x, w, what):
    """Points as (n, d) and their masses (n,), by default equal."""
    x = float_parameter(x)
    x = x[:, None] if x.ndim == 1 else x
    xp = arrays.namespace(x)
    if x.ndim != 2 or x.shape[0] == 0:
        raise ValueError(f"{what} must be points (n,) or (n, d), got {tuple(x.shape)}.")
    if w is None:
        return x, xp.full(
            (x.shape[0],), 1 / x.shape[0], dtype=x.dtype, device=arrays.device(x)
        )
    w = as_probabilities(arrays.asarray(w, like=x), -1, f"the masses of {what}")
    if w.shape != (x.shape[0],):
        raise ValueError(f"{what} has {x.shape[0]} points, but {w.shape[0]} masses.")
    return x, w


def _cost_matrix(x, y, cost, p):
    """c(x_i, y_j), from points, a function of points, or as given."""
    if cost is None:
        C = euclidean(x, y)
    elif callable(cost):
        C = cost(x, y)
    else:
        C = arrays.asarray(cost, like=x)
    if tuple(C.shape) != (x.shape[0], y.shape[0]):
        raise ValueError(f"the cost must have shape {(x.shape[0], y.shape[0])}.")
    return C if p == 1 else C**p


def _quantile_cost(x, y, u, v, p):
    """Eq. (3): the p-th power of the distance on a line; u, v None if all equal."""
    xp = arrays.namespace(x)
    if u is None and v is None and x.shape[0] == y.shape[0]:
        gap = xp.abs(xp.sort(x) - xp.sort(y))
        return xp.mean(gap if p == 1 else gap**p)
    x, cu = _sorted_cumulative(x, u)
    y, cv = _sorted_cumulative(y, v)
    cuts = xp.sort(xp.concat([cu, cv]))
    length = xp.concat([cuts[:1], cuts[1:] - cuts[:-1]])
    middle = cuts - length / 2
    values_at = lambda values, c: xp.take(
        values, xp.clip(xp.searchsorted(c, middle), 0, values.shape[0] - 1), axis=0
    )
    gap = xp.abs(values_at(x, cu) - values_at(y, cv))
    return xp.sum(length * (gap if p == 1 else gap**p))


def _sorted_cumulative(x, w):
    """Sorted values and the mass up to each."""
    xp = arrays.namespace(x)
    n = x.shape[0]
    if w is None:
        steps = xp.arange(1, n + 1, dtype=x.dtype, device=arrays.device(x))
        return xp.sort(x), steps / n
    order = xp.argsort(x)
    return xp.take(x, order, axis=0), xp.cumulative_sum(xp.take(w, order, axis=0))


def wasserstein(
    x, y, u=None, v=None, *, p: float = 1, cost=None, method="auto", **options
):
    """The Wasserstein distance W_p between two samples or histograms, eq. (1).

    Parameters
    ----------
    x, y : arrays of shape (n,) or (n, d), and (m,) or (m, d)
        Points.
    u, v : arrays of shape (n,) and (m,), optional
        Their masses; equal ones if not given.
    p : float, default=1
        At least 1: distances to this power are what moving costs.
    cost : array of shape (n, m) or function, optional
        Distances to use in place of Euclidean ones.
    method : {"auto", "sorted", "lp", "sinkhorn"}
        How; "auto" sorts points on a line and solves the linear program otherwise.
    **options
        Of `sinkhorn`: `reg`, `max_iter`, `tol`.

    Returns
    -------
    distance : float, or a 0-d array of the library of x

    Examples
    --------
    >>> from pansophy.distributions import wasserstein
    >>> float(wasserstein([0.0, 1.0], [3.0, 4.0]))
    3.0
    """
    if not p >= 1:
        raise ValueError(f"p must be at least 1, got {p}.")
    x2, u2 = _weighted_points(x, u, "x")
    y2, v2 = _weighted_points(y, v, "y")
    y2, v2 = arrays.asarray(y2, like=x2), arrays.asarray(v2, like=x2)
    line = x2.shape[1] == y2.shape[1] == 1 and cost is None
    if method == "sorted" and not line:
        raise ValueError("method 'sorted' is for points on a line, without a cost.")
    if method == "sorted" or (method == "auto" and line):
        u2, v2 = (None if u is None else u2), (None if v is None else v2)
        value = _quantile_cost(x2[:, 0], y2[:, 0], u2, v2, p)
    else:
        C = _cost_matrix(x2, y2, cost, p)
        value = _solve_transport(u2, v2, C, method, options).cost
    return unwrap_scalar(value if p == 1 else value ** (1 / p))


def transport(
    x, y, u=None, v=None, *, p: float = 1, cost=None, method="auto", **options
) -> Transport:
    """The plan of eq. (1) and its cost; arguments as in `wasserstein`.

    Examples
    --------
    >>> from pansophy.distributions import transport
    >>> transport([0.0, 1.0], [4.0, 3.0]).plan
    array([[0. , 0.5], [0.5, 0. ]])
    """
    x, u = _weighted_points(x, u, "x")
    y, v = _weighted_points(y, v, "y")
    y, v = arrays.asarray(y, like=x), arrays.asarray(v, like=x)
    return _solve_transport(u, v, _cost_matrix(x, y, cost, p), method, options)


def _solve_transport(u, v, C, method, options) -> Transport:
    if method not in METHODS:
        raise ValueError(f"method must be one of {', '.join(METHODS)}, got {method!r}.")
    return METHODS[method](u, v, C, **options)


def _exact_transport(u, v, C) -> Transport:
    """Eq. (1) by assignment where all masses are equal, else by `_linear_program`."""
    from scipy.optimize import linear_sum_assignment

    a, b, c = (arrays.to_numpy(t).astype(float) for t in (u, v, C))
    n, m = c.shape
    if n != m or np.ptp(a) > 1e-15 or np.ptp(b) > 1e-15:
        return _linear_program(u, v, C)
    rows, columns = linear_sum_assignment(c)
    plan = np.zeros((n, n))
    plan[rows, columns] = 1 / n
    cost = c[rows, columns].mean()
    return Transport(arrays.asarray(cost, like=C), arrays.asarray(plan, like=C))


def _linear_program(u, v, C) -> Transport:
    """Eq. (1) and (2) by HiGHS; points without mass are left out of the program."""
    from scipy import sparse
    from scipy.optimize import linprog

    a, b, c = (arrays.to_numpy(t).astype(float) for t in (u, v, C))
    i, j = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
    small = c[np.ix_(i, j)]
    n, m = small.shape
    row, column = (g.ravel() for g in np.indices((n, m)))
    positions = np.concatenate([row, n + column]), np.tile(np.arange(n * m), 2)
    A = sparse.csr_array((np.ones(2 * n * m), positions))[:-1]  # one margin is implied
    margins = np.concatenate([a[i] / a[i].sum(), (b[j] / b[j].sum())[:-1]])
    result = linprog(small.ravel(), A_eq=A, b_eq=margins, method="highs")
    if result.status != 0:
        raise RuntimeError(f"the linear program was not solved: {result.message}")
    plan = np.zeros_like(c)
    plan[np.ix_(i, j)] = np.maximum(result.x, 0).reshape(n, m)
    dual = np.append(result.eqlin.marginals, 0.0)
    # a feasible pair for all points, those without mass too
    g = np.min(c[i] - dual[:n, None], axis=0)
    f = np.min(c - g, axis=1)
    like_cost = lambda t: arrays.asarray(np.asarray(t), like=C)
    return Transport(like_cost(result.fun), like_cost(plan), like_cost(f), like_cost(g))


class SinkhornState(NamedTuple):
    """Potentials, scalings on top of them, their kernel; L1 error of the margins."""

    f: Any
    g: Any
    a: Any
    b: Any
    K: Any
    objective: float


def _absorb_scalings(f, g, C, reg):
    """A state with the scalings folded into the potentials."""
    xp = arrays.namespace(C)
    K = xp.exp((f[:, None] + g[None, :] - C) / reg)
    return SinkhornState(f, g, xp.ones_like(f), xp.ones_like(g), K, math.inf)


def _sinkhorn_iterations(s: SinkhornState, u, v, C, reg) -> SinkhornState:
    """Several iterations of eq. (4)."""
    xp = arrays.namespace(C)
    a, b = s.a, s.b
    for _ in range(SWEEPS):
        a = safe_divide(u, xp.matmul(s.K, b))
        b = safe_divide(v, xp.matmul(a, s.K))
    error = float(xp.sum(xp.abs(a * xp.matmul(s.K, b) - u)))
    top = float(xp.maximum(xp.max(a), xp.max(b)))
    if top < FOLD and error < 1.5:
        return SinkhornState(s.f, s.g, a, b, s.K, error)
    f, g = _soft_potentials(s, u, v, C, reg)
    return _absorb_scalings(f, g, C, reg)._replace(objective=min(error, 2.0))


def _soft_potentials(s, u, v, C, reg):
    """Potentials after one iteration in logarithms, which cannot overflow."""
    xp = arrays.namespace(C)
    g = s.g + reg * safe_log(xp.where(s.b > 0, s.b, xp.ones_like(s.b)))
    g = xp.where(xp.isfinite(g), g, s.g)
    f = reg * (safe_log(u) - logsumexp((g[None, :] - C) / reg, axis=1))
    g = reg * (safe_log(v) - logsumexp((f[:, None] - C) / reg, axis=0))
    return f, g


def sinkhorn(u, v, C, reg=None, max_iter: int = 5000, tol: float = 1e-6) -> Transport:
    """Eq. (4). `reg` is e, by default a thousandth of the mean cost.

    The cost found exceeds the least one by at most reg log(n m), plus what rounding
    the margins costs where `max_iter` came before `tol`.
    """
    xp = arrays.namespace(C)
    top, mean = float(xp.max(C)), float(xp.mean(C))
    reg = (1e-3 * mean if mean > 0 else 1.0) if reg is None else float(reg)
    if not reg > 0:
        raise ValueError(f"reg must be above 0, got {reg}.")
    u_, v_ = u / xp.sum(u), v / xp.sum(v)
    s = _absorb_scalings(xp.zeros_like(u), xp.zeros_like(v), C, max(top, reg))
    level = max(top, reg)
    n_iter = 0
    while True:
        f, g = _soft_potentials(s, u_, v_, C, level)
        s = _absorb_scalings(f, g, C, level)
        last = level <= reg
        result = iterate(
            lambda s, e=level: _sinkhorn_iterations(s, u_, v_, C, e),
            s,
            max_iter=max(1, (max_iter - n_iter) // SWEEPS),
            tol=tol if last else 1e-2,
            change=lambda old, new: new.objective,
        )
        s = result.state
        n_iter += SWEEPS * result.n_iter
        f, g = (
            s.f + level * _log_or_minus_inf(s.a),
            s.g + level * _log_or_minus_inf(s.b),
        )
        if last or n_iter >= max_iter:
            break
        s = s._replace(f=f, g=g, a=xp.ones_like(f), b=xp.ones_like(g))
        level = max(level / 4, reg)
    plan = _round_to_margins(s.a[:, None] * s.K * s.b[None, :], u_, v_)
    return Transport(xp.sum(plan * C), plan, f, g, last and result.converged)


def _log_or_minus_inf(a):
    xp = arrays.namespace(a)
    return xp.log(xp.where(a > 0, a, xp.ones_like(a)))


def _round_to_margins(P, u, v):
    """The plan nearest P that has exactly the margins u and v."""
    xp = arrays.namespace(P)
    ones_like = xp.ones_like
    share = safe_divide(u, xp.sum(P, axis=1), 1.0)
    P = P * xp.minimum(share, ones_like(share))[:, None]
    share = safe_divide(v, xp.sum(P, axis=0), 1.0)
    P = P * xp.minimum(share, ones_like(share))[None, :]
    left, right = u - xp.sum(P, axis=1), v - xp.sum(P, axis=0)
    left = xp.maximum(left, 0 * left)  # both are at least 0 but for rounding
    right = xp.maximum(right, 0 * right)
    total = xp.sum(xp.abs(left))
    return P + safe_divide(left[:, None] * right[None, :], total + 0 * P)


METHODS: dict[str, Callable[..., Transport]] = {
    "auto": _exact_transport,
    "lp": _exact_transport,
    "sinkhorn": sinkhorn,
}


def kr_dual(x, y, u=None, v=None, *, critic=None, lipschitz=None):
    """The Kantorovich-Rubinstein lower bound on W_1 given by a critic.

    Parameters
    ----------
    x, y : arrays of shape (n,) or (n, d), and (m,) or (m, d)
        Points.
    u, v : arrays of shape (n,) and (m,), optional
        Their masses; equal ones if not given.
    critic : function, optional
        f of rows (n, d), one number each; the best one if not given.
    lipschitz : float, optional
        A K with |f(a) - f(b)| <= K |a - b|; measured on the points if not given.

    Returns
    -------
    bound : float, or a 0-d array of the library of x
        (E_x f - E_y f) / K; W_1 itself for the best critic.

    Examples
    --------
    >>> from pansophy.distributions import kr_dual
    >>> float(kr_dual([0.0, 1.0], [3.0, 4.0], critic=lambda z: -2 * z[:, 0]))
    3.0
    """
    x, u = _weighted_points(x, u, "x")
    y, v = _weighted_points(y, v, "y")
    y, v = arrays.asarray(y, like=x), arrays.asarray(v, like=x)
    xp = arrays.namespace(x)
    Z = xp.concat([x, y])
    if critic is None:
        g = _linear_program(u, v, euclidean(x, y)).g
        values = xp.min(euclidean(Z, y) - g[None, :], axis=1)
        lipschitz = 1.0  # a minimum of 1-Lipschitz functions
    else:
        values = xp.reshape(arrays.asarray(critic(Z), like=x), (-1,))
    if lipschitz is None:
        D = euclidean(Z, Z)
        slopes = safe_divide(xp.abs(values[:, None] - values[None, :]), D)
        lipschitz = float(xp.max(slopes))
    if not lipschitz > 0:
        return unwrap_scalar(0 * values[0])  # a constant critic sees no difference
    n = x.shape[0]
    return unwrap_scalar((xp.sum(u * values[:n]) - xp.sum(v * values[n:])) / lipschitz)
