"""Lagrangian, dual function and the KKT conditions of a constrained problem.

Minimise f(x) subject to h_j(x) = 0 and g_i(x) <= 0. With multipliers ("prices") p and
a >= 0,

    L(x, p, a) = f(x) - p.h(x) + a.g(x)                                          (1)
    q(p, a) = min_x L(x, p, a) <= f(x) for every feasible x                      (2)

so that the largest q bounds the smallest f from below (weak duality), and equals it for
convex problems with a strictly feasible point (strong duality). p_j is the rate at
which the minimum rises with c in h_j(x) = c; a_i the rate at which it falls with c in
g_i(x) <= c. At a minimum (KKT), for some p, a:

    stationarity     grad f - J_h^T p + J_g^T a = 0                              (3)
    feasibility      h = 0, g <= 0                                               (4)
    sign             a >= 0                                                      (5)
    complementarity  a_i g_i = 0                                                 (6)

Multipliers that are not given are those that minimise the residual of (3) under (5) and
(6): least squares with a >= 0 over the active constraints.

Shapes    x (d,)   h, p (m,)   g, a (k,)   J_h (m, d)   J_g (k, d)
Refs      [Boyd2004] ch. 5
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ...core.linalg.linalg import nonnegative_least_squares
from ..numeric_derivatives import numeric_gradient, numeric_jacobian


class Constraint(NamedTuple):
    """A constraint, or a vector of constraints: function(x) = 0 or function(x) <= 0."""

    function: Callable
    jacobian: Callable | None = None
    equality: bool = True

    def value(self, x):
        """The constraint functions at x."""
        return np.atleast_1d(np.asarray(self.function(x), dtype=float))

    def slope(self, x):
        """Jacobian at x, by central differences if it was not given."""
        if self.jacobian is None:
            return numeric_jacobian(self.value, x)
        return np.atleast_2d(np.asarray(self.jacobian(x), dtype=float))


def equality_constraint(h: Callable, jacobian: Callable | None = None) -> Constraint:
    """The constraint h(x) = 0."""
    return Constraint(h, jacobian, True)


def inequality_constraint(g: Callable, jacobian: Callable | None = None) -> Constraint:
    """The constraint g(x) <= 0."""
    return Constraint(g, jacobian, False)


def bounds_as_constraints(bounds, d) -> list[Constraint]:
    """Bounds on x as constraints; None or an infinite number is no bound."""
    if bounds is None:
        return []
    pairs = bounds_array(bounds, d)
    constraints = []
    eye = np.eye(d)
    for sign, b in ((-1.0, pairs[:, 0]), (1.0, pairs[:, 1])):
        bounded = np.flatnonzero(np.isfinite(b))
        if len(bounded):
            slope = sign * eye[bounded]
            inside = lambda x, s=sign, b=b, at=bounded: s * (x[at] - b[at])
            constraints.append(
                inequality_constraint(inside, lambda x, slope=slope: slope)
            )
    return constraints


def bounds_array(bounds, d):
    """Bounds as a (d, 2) array with infinities for None; one pair is used for all."""
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


class ConstraintValues(NamedTuple):
    """Values and Jacobians of all constraints at one point."""

    h: np.ndarray
    Jh: np.ndarray
    g: np.ndarray
    Jg: np.ndarray


def evaluate_constraints(constraints, x) -> ConstraintValues:
    """Values and Jacobians of the constraints at x, equalities first."""
    d = len(x)
    values_and_slopes = []
    for equality in (True, False):
        chosen = [c for c in constraints if c.equality is equality]
        values_and_slopes.append(
            np.concatenate([c.value(x) for c in chosen] or [np.empty(0)])
        )
        values_and_slopes.append(
            np.concatenate([c.slope(x) for c in chosen] or [np.empty((0, d))])
        )
    return ConstraintValues(*values_and_slopes)


class KKT(NamedTuple):
    """Largest residuals of eqs (3) to (6), and the multipliers they belong to."""

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


def _best_prices(slope, held: ConstraintValues, tol) -> tuple[np.ndarray, np.ndarray]:
    """Multipliers p and a that minimise the residual of eq. (3).

    a = 0 for inactive constraints, g < -tol, and a >= 0 for active ones.
    """
    active = np.flatnonzero(held.g >= -tol)
    A = held.Jg[active]
    a = np.zeros(len(held.g))
    Q = np.linalg.qr(held.Jh.T)[0] if len(held.h) else np.zeros((len(slope), 0))
    project = lambda V: V - Q @ (Q.T @ V)  # the part that no p can cancel
    if len(active):
        a[active] = nonnegative_least_squares(project(A.T), -project(slope)[:, None])[
            :, 0
        ]
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
    """KKT residuals, eqs (3) to (6), at x for f(x) -> number.

    `prices` is a pair of multipliers (p, a), a ordered as the inequalities of
    `constraints`, then lower, then upper bounds; None finds the best. A constraint
    within `active` of 0 counts as active.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> plane = optim.equality_constraint(lambda x: x.sum() - 1)
    >>> kkt = optim.kkt_residuals(lambda x: x @ x, [0.5, 0.5], [plane])
    >>> bool(kkt.worst < 1e-8), kkt.prices[0].round(6)
    (True, array([1.]))
    """
    x = np.array(x, dtype=float)
    g = numeric_gradient(f, x) if gradient is None else np.asarray(gradient(x), float)
    held = evaluate_constraints(
        [*constraints, *bounds_as_constraints(bounds, len(x))], x
    )
    if prices is None:
        p, a = _best_prices(g, held, active)
    else:
        p, a = (np.atleast_1d(np.asarray(v, dtype=float)) for v in prices)
    largest = lambda v: float(np.max(v, initial=0.0)) + 0.0  # no -0.0
    return KKT(
        stationarity=largest(np.abs(g - held.Jh.T @ p + held.Jg.T @ a)),
        feasibility=max(largest(np.abs(held.h)), largest(held.g)),
        sign=largest(-a),
        complementarity=largest(np.abs(a * held.g)),
        prices=(p, a),
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
    """The dual function q(p, a) of eq. (2); -inf where L falls below `floor`.

    The minimum over x is computed by BFGS from `x`: exact for convex problems, an upper
    bound of q for others.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import optim
    >>> plane = optim.equality_constraint(lambda x: x.sum() - 1)
    >>> q = optim.dual_function(lambda x: x @ x, [plane], np.zeros(2))
    >>> [round(q(p), 6) + 0.0 for p in ([0.0], [1.0], [2.0])]
    [0.0, 0.5, 0.0]
    """
    from ..smooth.bfgs import bfgs

    x = np.array(x, dtype=float)
    grad_f = gradient or (lambda u: numeric_gradient(f, u))

    def q(p=(), a=()) -> float:
        p = np.atleast_1d(np.asarray(p, dtype=float))
        a = np.atleast_1d(np.asarray(a, dtype=float))
        if np.any(a < 0):
            raise ValueError("prices a of inequalities must be at least 0.")

        def L(u):
            held = evaluate_constraints(constraints, u)
            value = float(f(u)) - p @ held.h + a @ held.g
            if value < floor:
                raise UnboundedError
            return value, grad_f(u) - held.Jh.T @ p + held.Jg.T @ a

        try:
            return bfgs(L, x, tol=tol).objective
        except UnboundedError:
            return -math.inf

    return q
