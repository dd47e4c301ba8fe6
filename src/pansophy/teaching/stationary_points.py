"""Optimum by stationarity: all critical points of a function, and the closed form.

At an unconstrained minimum of a smooth f the gradient vanishes,

    g(x) = 0                                                                     (1)

so the least of all solutions of eq. (1) is the minimum, if there is one. The
eigenvalues of the Hessian there tell minima (all above 0), maxima (all below 0) and
saddle points (both signs) apart; an eigenvalue of 0 leaves it open ("degenerate").

`critical_points` looks for all solutions in a box: for one variable between the points
of a grid at which g changes its sign or nearly touches 0; for several variables by
Powell's hybrid method from points spread over the box. It finds all that are well
apart; no method that only evaluates g can prove that there are no more.

`solve_convex` minimises any smooth convex f. If f is quadratic, g(x) = H x - c, eq. (1)
is a linear system with a closed form; that is tested by g at random points. Otherwise
eq. (1) is solved by the iterations of `minimize`.

Shapes    x, g (d,)   H (d, d)
Refs      [Nocedal2006] ch. 2, 11
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core.drivers.iterate import Result
from ..core.random import make_rng
from ..optim.black_box.point_search import latin_hypercube
from ..optim.constraints.duality import bounds_array
from ..optim.minimize import minimize, value_and_gradient
from ..optim.numeric_derivatives import numeric_jacobian
from ..optim.smooth.gradient import size_of

GRID = 4000  # intervals of the grid over one variable
SAME = 1e-6  # distance of two points, relative to the box, up to which they are one
FLAT = 1e-6  # eigenvalue, relative to the largest, that counts as 0
LINEAR = 1e-7  # departure of g from a straight line that counts as rounding


class CriticalPoint(NamedTuple):
    """A solution of eq. (1)."""

    position: np.ndarray
    objective: float
    kind: str  # "minimum", "maximum", "saddle" or "degenerate"
    slope: float  # max |g_j|, what rounding has left of it


def critical_points(
    f: Callable,
    bounds,
    *,
    gradient=None,
    hessian: Callable | None = None,
    n_starts: int | None = None,
    random_state=0,
) -> list[CriticalPoint]:
    """All solutions of eq. (1) in a box, from the lowest f to the highest.

    Parameters
    ----------
    f : function of x (d,)
        Gives a number, or a pair (value, gradient).
    bounds : pairs (low, high), one per coordinate
        The box to search; both ends are finite. It is no constraint: points of its
        border count only if the gradient is 0 there.
    gradient : function of x, "numeric", "autodiff" or None
        As in `minimize`.
    hessian : function x -> H or None
        None takes differences of the gradient.
    n_starts : int or None
        Starts for several variables; None is 50 for each.
    random_state : int, Generator or None
        For the starts.

    Examples
    --------
    >>> from pansophy import teaching
    >>> f = lambda x: x[0] ** 4 - 2 * x[0] ** 2
    >>> for point in teaching.critical_points(f, [(-3, 3)]):
    ...     print(point.position.round(6) + 0.0, round(point.objective, 6), point.kind)
    [-1.] -1.0 minimum
    [1.] -1.0 minimum
    [0.] 0.0 maximum
    """
    box = np.asarray(bounds_array(bounds, len(bounds)), dtype=float)
    if not np.all(np.isfinite(box)) or np.any(box[:, 0] >= box[:, 1]):
        raise ValueError(
            "bounds must be pairs (low, high) of finite numbers, low first."
        )
    value_and_slope, value = value_and_gradient(f, box.mean(axis=1), gradient)
    g = lambda x: np.asarray(value_and_slope(x)[1], dtype=float).reshape(len(box))
    if len(box) == 1:
        result = _roots_on_grid(lambda t: float(g(np.array([t]))[0]), *box[0])
    else:
        starts = 50 * len(box) if n_starts is None else n_starts
        points = latin_hypercube(
            [tuple(pair) for pair in box], starts, random_state=make_rng(random_state)
        )
        result = _roots_from_starts(g, points, box)
    H = hessian or (lambda x: numeric_jacobian(g, x))
    critical = []
    for x in _distinct_points(result, box):
        kind = _kind_of_point(np.atleast_2d(H(x)))
        critical.append(CriticalPoint(x, float(value(x)), kind, size_of(g(x))))
    return sorted(
        critical, key=lambda point: (round(point.objective, 12), *point.position)
    )


def _roots_on_grid(g, low, high):
    """Zeros of g between low and high: changes of sign, and touching minima of |g|."""
    from scipy.optimize import brentq, minimize_scalar

    t = np.linspace(low, high, GRID + 1)
    values = np.array([g(u) for u in t])
    scale = np.nanmax(np.abs(values), initial=0.0)
    results = [u for u, v in zip(t, values, strict=True) if v == 0]
    for i in np.flatnonzero(values[:-1] * values[1:] < 0):
        root = brentq(g, t[i], t[i + 1], xtol=1e-14, rtol=1e-14)
        if abs(g(root)) <= max(abs(values[i]), abs(values[i + 1])):  # not a pole
            results.append(root)
    size = np.abs(values)
    low_points = (size[1:-1] < size[:-2]) & (size[1:-1] <= size[2:])
    same_sign = (values[:-2] * values[1:-1] > 0) & (values[1:-1] * values[2:] > 0)
    for i in np.flatnonzero(low_points & same_sign) + 1:
        touching = minimize_scalar(
            lambda u: abs(g(u)),
            bounds=(t[i - 1], t[i + 1]),
            method="bounded",
            options={"xatol": 1e-12},
        )
        if touching.fun <= 1e-9 * scale:
            results.append(touching.x)
    return [np.array([u]) for u in results]


def _roots_from_starts(g, starts, box):
    """Zeros of g that Powell's hybrid method reaches from the starts, in the box."""
    from scipy.optimize import root

    scale = np.median([size_of(g(x)) for x in starts])
    margin = SAME * (box[:, 1] - box[:, 0])
    results = []
    for x in starts:
        with np.errstate(all="ignore"):
            run = root(g, x, method="hybr", options={"xtol": 1e-13})
        inside = np.all((run.x >= box[:, 0] - margin) & (run.x <= box[:, 1] + margin))
        if inside and size_of(g(run.x)) <= 1e-7 * max(scale, 1e-300):
            results.append(run.x)
    return results


def _distinct_points(points, box):
    """One of each group of points that are the same up to `SAME`."""
    kept: list[Any] = []
    size = box[:, 1] - box[:, 0]
    for x in points:
        if not any(
            np.all(np.abs(x - kept_point) <= 100 * SAME * size) for kept_point in kept
        ):
            kept.append(np.asarray(x))
    return kept


def _kind_of_point(H) -> str:
    """Whether a minimum, a maximum, a saddle or degenerate, from the Hessian."""
    w = np.linalg.eigvalsh((H + H.T) / 2)
    if np.any(np.abs(w) <= FLAT * max(1.0, float(np.abs(w).max()))):
        return "degenerate"
    if w[0] > 0:
        return "minimum"
    return "maximum" if w[-1] < 0 else "saddle"


class ConvexState(NamedTuple):
    """The minimum of a convex function, and how it was found."""

    position: Any
    objective: float
    gradient: Any
    solver: str  # "closed" or "iterative"

    @property
    def slope(self) -> float:
        return size_of(self.gradient)


def solve_convex(
    f: Callable,
    x,
    *,
    gradient=None,
    hessian: Callable | None = None,
    solver: str = "auto",
    max_iter: int | None = None,
    tol: float = 1e-8,
) -> Result:
    """Minimise a smooth convex f, in closed form where it is quadratic.

    Parameters
    ----------
    f : function of x (d,)
        Gives a number, or a pair (value, gradient).
    x : array of shape (d,)
        Where iterations start; the closed form needs its shape only.
    gradient, hessian
        As in `minimize`.
    solver : {"auto", "closed", "iterative"}, default="auto"
        "auto" takes the closed form if f is quadratic; "closed" is refused if it is
        not. Without constraints; those go with `minimize`.
    max_iter, tol
        Of the iterations.

    Returns
    -------
    Result
        `state.position`, `state.objective`, `state.slope` (max |g_j|) and
        `state.solver`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import teaching
    >>> square = lambda x: (x[0] - 1) ** 2 + 2 * (x[1] + 3) ** 2
    >>> state = teaching.solve_convex(square, np.zeros(2)).state
    >>> state.position.round(6), state.solver
    (array([ 1., -3.]), 'closed')
    >>> other = lambda x: np.exp(x[0]) - 2 * x[0]
    >>> state = teaching.solve_convex(other, np.zeros(1)).state
    >>> state.position.round(6), state.solver
    (array([0.693147]), 'iterative')
    """
    if solver not in ("auto", "closed", "iterative"):
        raise ValueError(
            f"solver must be 'auto', 'closed' or 'iterative', got {solver!r}."
        )
    x = np.array(x, dtype=float)
    value_and_slope, value = value_and_gradient(f, x, gradient)
    g = lambda u: np.asarray(value_and_slope(u)[1], dtype=float)
    H = None if solver == "iterative" else _quadratic_hessian(g, x, hessian)
    if H is None:
        if solver == "closed":
            raise ValueError(
                "f is not quadratic: its minimum has no closed form, take "
                "solver='iterative'."
            )
        run = minimize(
            f, x, gradient=gradient, hessian=hessian, max_iter=max_iter, tol=tol
        )
        solution = run.state.position
        state = ConvexState(solution, run.objective, g(solution), "iterative")
        return run._replace(state=state)
    start = np.zeros_like(x)
    solution = start - np.linalg.lstsq(H, g(start), rcond=None)[0]
    solution = solution - np.linalg.lstsq(H, g(solution), rcond=None)[0]  # refined
    lowest = np.linalg.eigvalsh(H)[0]
    if lowest < -LINEAR * np.abs(H).max() or size_of(g(solution)) > np.sqrt(
        LINEAR
    ) * max(1.0, size_of(g(start))):
        raise ValueError("f is quadratic but has no minimum: it is not bounded below.")
    state = ConvexState(solution, float(value(solution)), g(solution), "closed")
    history = {"objective": np.array([state.objective])}
    return Result(state, 1, "tolerance", history)


def _quadratic_hessian(g, x, hessian):
    """H if g is linear, g(x) = H x - c; else None."""
    rng = make_rng(0)
    zero = np.zeros_like(x)
    at_zero = g(zero)
    H = np.atleast_2d(hessian(zero) if hessian else numeric_jacobian(g, zero))
    H = (H + H.T) / 2
    for size in (1e-1, 1.0, 1e2):
        u = size * rng.normal(size=x.shape)
        with np.errstate(all="ignore"):
            result = g(u)
        expected = at_zero + H @ u
        scale = float(np.max(np.abs(H) @ np.abs(u))) + size_of(at_zero)
        if not size_of(result - expected) <= LINEAR * 100 * max(scale, 1e-300):
            return None
    return H
