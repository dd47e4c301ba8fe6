"""Numerical derivatives by finite differences, and checks of analytic ones.

Central differences, with a step of the cube root of rounding times max(|x_j|, 1):

    df/dx_j = (f(x + h e_j) - f(x - h e_j)) / (2 h) + O(h^2)                     (1)

Taylor's model of order k around x along a step h is

    m(h) = sum_{j<=k} p^(j)(0) / j!,     p(t) = f(x + t h)                       (2)

whose terms come from the gradient and Hessian where given (k <= 2) and otherwise from
the polynomial through p at Chebyshev points: no subtraction of nearly equal numbers,
so high orders keep their digits. Eq. (2) is exact for polynomials of degree k; its
error is O(|h|^(k+1)).

Refs      [Nocedal2006] ch. 8
"""

import math
from collections.abc import Callable

import numpy as np

from ..params import check_count

STEP = float(np.finfo(float).eps) ** (1 / 3)
EXTRA = 8  # interpolation points beyond the order of a Taylor model


def numeric_gradient(f: Callable, x, step: float = STEP):
    """Gradient of f(x) -> number by central differences, eq. (1)."""
    x = np.array(x, dtype=float)
    g = np.empty_like(x)
    for j in np.ndindex(x.shape):
        h = step * max(abs(x[j]), 1.0)
        x_up = x.copy()
        x_down = x.copy()
        x_up[j] += h
        x_down[j] -= h
        g[j] = (float(f(x_up)) - float(f(x_down))) / (x_up[j] - x_down[j])
    return g


def numeric_jacobian(f: Callable, x, step: float = STEP):
    """Jacobian (m, d) of f(x) -> (m,) by central differences, eq. (1).

    Examples
    --------
    >>> numeric_jacobian(lambda x: np.array([x[0] * x[1], x[1]]), [2.0, 3.0]).round(6)
    array([[3., 2.],
           [0., 1.]])
    """
    x = np.array(x, dtype=float)
    columns = []
    for j in range(x.size):
        h = step * max(abs(x[j]), 1.0)
        x_up = x.copy()
        x_down = x.copy()
        x_up[j] += h
        x_down[j] -= h
        change = np.atleast_1d(f(x_up)) - np.atleast_1d(f(x_down))
        columns.append(change / (x_up[j] - x_down[j]))
    return np.stack(columns, axis=-1)


def numeric_hessian(f: Callable, x, step: float = STEP**0.75):
    """Hessian by central differences of eq. (1), made symmetric."""
    x = np.array(x, dtype=float)
    rows = []
    for j in range(x.size):
        h = step * max(abs(x[j]), 1.0)
        unit = np.zeros_like(x)
        unit[j] = h
        g_up = numeric_gradient(f, x + unit, h)
        g_down = numeric_gradient(f, x - unit, h)
        rows.append((g_up - g_down) / (2 * h))
    H = np.array(rows)
    return (H + H.T) / 2


def check_gradient(f: Callable, x) -> float:
    """Relative error of the gradient of f(x) -> (value, gradient).

    It is |g - numeric g| / (|g| + |numeric g|).
    """
    g = np.asarray(f(np.array(x, dtype=float))[1], dtype=float)
    numeric = numeric_gradient(lambda u: f(u)[0], x)
    total = np.linalg.norm(g) + np.linalg.norm(numeric)
    return float(np.linalg.norm(g - numeric) / total) if total > 0 else 0.0


def taylor_model(
    f: Callable, x, order: int = 2, *, gradient=None, hessian=None, radius=0.25
) -> Callable:
    """Taylor model m(h) of f(x) -> number, eq. (2), as a function of the step h.

    `gradient` and `hessian` are arrays or functions of x; without them f is
    interpolated within `radius` of x.

    Examples
    --------
    >>> model = taylor_model(lambda x: float(np.exp(x[0])), [0.0], order=3)
    >>> round(model([0.1]), 6), round(1 + 0.1 + 0.1**2 / 2 + 0.1**3 / 6, 6)
    (1.105167, 1.105167)
    """
    order = check_count("order", order, 0)
    x = np.array(x, dtype=float)
    f0 = float(f(x))
    value = lambda part: np.asarray(part(x) if callable(part) else part, dtype=float)
    if order == 0 or (gradient is not None and order <= 1 + (hessian is not None)):
        g = value(gradient) if order >= 1 else np.zeros_like(x)
        H = value(hessian) if order == 2 else np.zeros((x.size, x.size))

        def model(h):
            h = np.asarray(h, dtype=float)
            return f0 + float(g.ravel() @ h.ravel() + h.ravel() @ H @ h.ravel() / 2)

        return model
    t = np.cos(np.pi * np.arange(order + EXTRA + 1) / (order + EXTRA))

    def model(h):
        h = np.asarray(h, dtype=float)
        length = float(np.linalg.norm(h))
        if length == 0:
            return f0
        p = [float(f(x + s * radius * h / length)) for s in t]
        series = np.polynomial.chebyshev.Chebyshev.fit(t, p, len(t) - 1, domain=[-1, 1])
        terms = series.convert(kind=np.polynomial.Polynomial).coef[: order + 1].copy()
        terms[0] = f0
        powers = (length / radius) ** np.arange(len(terms))
        return math.fsum(terms * powers)

    return model
