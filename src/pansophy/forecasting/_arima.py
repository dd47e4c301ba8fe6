"""Compiled conditional least squares of seasonal ARMA models of one series."""

import numpy as np

from ..core.loops.compiled import compiled
from ._nelder_mead import make_simplex_search, start_search, take_value

LARGEST = 0.9995  # partial correlation: roots stay off the unit circle


@compiled(inner=True)
def _stable_polynomial(free, begin, order, work, out):
    """Coefficients of a stable polynomial from any numbers, by partial correlations."""
    for k in range(order):
        r = LARGEST * np.tanh(free[begin + k])
        for j in range(k):
            work[j] = out[j] - r * out[k - 1 - j]
        for j in range(k):
            out[j] = work[j]
        out[k] = r


@compiled(inner=True)
def _multiply_seasonal(short, n_short, long, n_long, m, sign, out):
    """Coefficients c of 1 - sum c_i B^i, the product of two such polynomials.

    `sign` is 1 for these, -1 for polynomials 1 + sum c_i B^i.
    """
    for i in range(len(out)):
        out[i] = 0.0
    for i in range(n_short):
        out[i] += short[i]
    for j in range(n_long):
        out[(j + 1) * m - 1] += long[j]
        for i in range(n_short):
            out[(j + 1) * m + i] -= sign * short[i] * long[j]


@compiled
def expand_polynomials(free, orders, m, work, ar, ma):
    """Full polynomials of (p, q, P, Q) and free numbers; ar as phi, ma as theta."""
    p, q, P, Q = orders[0], orders[1], orders[2], orders[3]
    _stable_polynomial(free, 0, p, work[0], work[1])
    _stable_polynomial(free, p + q, P, work[0], work[2])
    _multiply_seasonal(work[1], p, work[2], P, m, 1.0, ar)
    _stable_polynomial(free, p, q, work[0], work[1])
    _stable_polynomial(free, p + q + P, Q, work[0], work[2])
    for i in range(q):
        work[1, i] = -work[1, i]
    for i in range(Q):
        work[2, i] = -work[2, i]
    _multiply_seasonal(work[1], q, work[2], Q, m, -1.0, ma)


@compiled(inner=True)
def _squared_errors(w, ar, ma, e):
    """Eq. (3) of `arima`: sum of squares with zeros before the first value; count."""
    total = 0.0
    count = 0
    for t in range(len(w)):
        mean = 0.0
        for i in range(min(len(ar), t)):
            if ar[i] != 0.0:
                x = w[t - 1 - i]
                mean += ar[i] * (x if x == x else 0.0)
        for j in range(min(len(ma), t)):
            if ma[j] != 0.0:
                mean += ma[j] * e[t - 1 - j]
        e[t] = w[t] - mean
        if e[t] == e[t]:
            total += e[t] * e[t]
            count += 1
        else:
            e[t] = 0.0
        if not total < 1e200:
            return np.inf, count
    return total, count


@compiled
def least_squares_arma(w, orders, m, limit):
    """Free numbers of least conditional squares, the sum of squares and the count."""
    p, q, P, Q = orders[0], orders[1], orders[2], orders[3]
    d = p + q + P + Q
    ar = np.zeros(p + m * P)
    ma = np.zeros(q + m * Q)
    work = np.zeros((3, max(p, q, P, Q, 1)))
    e = np.empty(len(w))
    free = np.zeros(d)
    if d == 0:
        total, count = _squared_errors(w, ar, ma, e)
        return free, total, count
    search = make_simplex_search(d, limit)
    start_search(search, free, np.full(d, 0.3))
    count = 0
    is_done = False
    while not is_done:
        expand_polynomials(search.point, orders, m, work, ar, ma)
        value, count = _squared_errors(w, ar, ma, e)
        is_done = take_value(search, value, 1e-8)
    for k in range(d):
        free[k] = search.simplex[0, k]
    return free, search.values[0], count
