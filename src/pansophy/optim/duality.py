"""Lagrangian, dual function and the KKT conditions of a constrained problem.

Minimise f(x) subject to h_j(x) = 0 and g_i(x) <= 0. With prices p and a >= 0,

    L(x, p, a) = f(x) - p.h(x) + a.g(x)                                          (1)
    q(p, a) = min_x L(x, p, a) <= f(x) for every feasible x                      (2)

so that the best q bounds the best f from below, and meets it for convex problems with
an inner point. p_j is the rate at which the minimum rises with c in h_j(x) = c; a_i
the rate at which it falls with c in g_i(x) <= c. At a minimum (KKT), for some p, a:

    stationarity     grad f - J_h^T p + J_g^T a = 0                              (3)
    feasibility      h = 0, g <= 0                                               (4)
    sign             a >= 0                                                      (5)
    complementarity  a_i g_i = 0                                                 (6)

Prices that are not given are those that make (3) smallest under (5) and (6): least
squares with a >= 0 over the constraints that hold with equality.

Shapes    x (d,)   h, p (m,)   g, a (k,)   J_h (m, d)   J_g (k, d)
Refs      [Boyd2004] ch. 5
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..core.linalg import nonnegative_least_squares
from .check import numeric_gradient, numeric_jacobian


class Constraint(NamedTuple):
    """One function, or several in a vector, = 0 or <= 0."""

    function: Callable
    jacobian: Callable | None = None
    equality: bool = True

    def value(self, x):
        return np.atleast_1d(np.asarray(self.function(x), dtype=float))

    def slope(self, x):
        """Rows of partial derivatives."""
        if self.jacobian is None:
            return numeric_jacobian(self.value, x)
        return np.atleast_2d(np.asarray(self.jacobian(x), dtype=float))


def equal(h: Callable, jacobian: Callable | None = None) -> Constraint:
    """h(x) = 0."""
    return Constraint(h, jacobian, True)


def at_most(g: Callable, jacobian: Callable | None = None) -> Constraint:
    """g(x) <= 0."""
    return Constraint(g, jacobian, False)


def between(bounds, d) -> list[Constraint]:
    """Bounds on x as constraints; None or an infinite number is no bound."""
    if bounds is None:
        return []
    pairs = limits(bounds, d)
    out, eye = [], np.eye(d)
    for sign, b in ((-1.0, pairs[:, 0]), (1.0, pairs[:, 1])):
        at = np.flatnonzero(np.isfinite(b))
        if len(at):
            slope = sign * eye[at]
            inside = lambda x, s=sign, b=b, at=at: s * (x[at] - b[at])
            out.append(at_most(inside, lambda x, slope=slope: slope))
    return out


def limits(bounds, d):
    """Bounds as a (d, 2) array with infinities for None; one pair serves all."""
    rows = [bounds] * d if np.ndim(bounds[0]) == 0 else list(bounds)
    number = lambda b, none: none if b is None else float(b)
    pairs = [(number(a, -math.inf), number(b, math.inf)) for a, b in rows]
    if len(pairs) != d:
        raise ValueError(f"bounds has {len(pairs)} pairs for {d} coordinates.")
    pairs = np.array(pairs)
    if np.any(pairs[:, 0] > pairs[:, 1]):
        j = int(np.argmax(pairs[:, 0] > pairs[:, 1]))
        raise ValueError(f"bounds of coordinate {j} have low above high.")
    return pairs


class Parts(NamedTuple):
    """All constraints at one point."""

    h: np.ndarray
    Jh: np.ndarray
    g: np.ndarray
    Jg: np.ndarray


def parts(constraints, x) -> Parts:
    """Values and slopes, equalities first."""
    d = len(x)
    out = []
    for kind in (True, False):
        mine = [c for c in constraints if c.equality is kind]
        out.append(np.concatenate([c.value(x) for c in mine] or [np.empty(0)]))
        out.append(np.concatenate([c.slope(x) for c in mine] or [np.empty((0, d))]))
    return Parts(*out)


class KKT(NamedTuple):
    """Residuals of eqs (3) to (6), each the largest, and the prices they are at."""

    stationarity: float
    feasibility: float
    sign: float
    complementarity: float
    prices: tuple[np.ndarray, np.ndarray]  # p, a

    @property
    def worst(self) -> float:
        return max(self[:4])

    def __str__(self):
        names = self._fields[:4]
        return ", ".join(f"{n} {v:.1e}" for n, v in zip(names, self[:4], strict=True))


def best_prices(slope, held: Parts, tol) -> tuple[np.ndarray, np.ndarray]:
    """p and a of least |(3)|, a = 0 where g < -tol and a >= 0 elsewhere."""
    active = np.flatnonzero(held.g >= -tol)
    A, a = held.Jg[active], np.zeros(len(held.g))
    Q = np.linalg.qr(held.Jh.T)[0] if len(held.h) else np.zeros((len(slope), 0))
    away = lambda V: V - Q @ (Q.T @ V)  # what no p can cancel
    if len(active):
        a[active] = nonnegative_least_squares(away(A.T), -away(slope)[:, None])[:, 0]
    p = np.zeros(0)
    if len(held.h):
        p = np.linalg.lstsq(held.Jh.T, slope + held.Jg.T @ a, rcond=None)[0]
    return p, a


def kkt_residuals(
    f: Callable,
    x,
    constraints=(),
    *,
    gradient: Callable | None = None,
    bounds=None,
    prices=None,
    active: float = 1e-6,
) -> KKT:
    """Eqs (3) to (6) at x for f(x) -> number.

    `prices` is a pair (p, a), a ordered as the inequalities of `constraints`, then
    lower, then upper bounds; None finds the best. `active` is how close to 0 a
    constraint is taken to hold with equality.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> plane = optim.equal(lambda x: x.sum() - 1)
    >>> kkt = optim.kkt_residuals(lambda x: x @ x, [0.5, 0.5], [plane])
    >>> bool(kkt.worst < 1e-8), kkt.prices[0].round(6)
    (True, array([1.]))
    """
    x = np.array(x, dtype=float)
    g = numeric_gradient(f, x) if gradient is None else np.asarray(gradient(x), float)
    held = parts([*constraints, *between(bounds, len(x))], x)
    if prices is None:
        p, a = best_prices(g, held, active)
    else:
        p, a = (np.atleast_1d(np.asarray(v, dtype=float)) for v in prices)
    top = lambda v: float(np.max(v, initial=0.0)) + 0.0  # no -0.0
    return KKT(
        top(np.abs(g - held.Jh.T @ p + held.Jg.T @ a)),
        max(top(np.abs(held.h)), top(held.g)),
        top(-a),
        top(np.abs(a * held.g)),
        (p, a),
    )


class UnboundedError(Exception):
    """The Lagrangian has no minimum."""


def dual_function(
    f: Callable,
    constraints,
    x,
    *,
    gradient: Callable | None = None,
    tol: float = 1e-9,
    floor: float = -1e12,
) -> Callable:
    """q(p, a) of eq. (2), as a function; -inf where L falls below `floor`.

    The minimum over x is searched from `x` by BFGS: right for convex problems, an upper
    bound of q for others.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> plane = optim.equal(lambda x: x.sum() - 1)
    >>> q = optim.dual_function(lambda x: x @ x, [plane], np.zeros(2))
    >>> [round(q(p), 6) + 0.0 for p in ([0.0], [1.0], [2.0])]
    [0.0, 0.5, 0.0]
    """
    from .bfgs import bfgs

    x = np.array(x, dtype=float)
    down = gradient or (lambda u: numeric_gradient(f, u))

    def q(p=(), a=()) -> float:
        p = np.atleast_1d(np.asarray(p, dtype=float))
        a = np.atleast_1d(np.asarray(a, dtype=float))
        if np.any(a < 0):
            raise ValueError("prices a of inequalities must be at least 0.")

        def L(u):
            held = parts(constraints, u)
            value = float(f(u)) - p @ held.h + a @ held.g
            if value < floor:
                raise UnboundedError
            return value, down(u) - held.Jh.T @ p + held.Jg.T @ a

        try:
            return bfgs(L, x, tol=tol).objective
        except UnboundedError:
            return -math.inf

    return q
