"""Least squares in exact rational arithmetic: slow, obvious, right to the end."""

from fractions import Fraction

import numpy as np


def exact_least_squares(X, y, w=None, *, alpha=0, intercept=True):
    """coef (d,) and intercept of one target, from the normal equations in fractions."""
    rows = [[Fraction(float(v)) for v in row] for row in np.asarray(X)]
    if intercept:
        rows = [[Fraction(1), *row] for row in rows]
    y = [Fraction(float(v)) for v in y]
    w = [Fraction(1)] * len(y) if w is None else [Fraction(float(v)) for v in w]
    p = len(rows[0])
    A = [
        [sum(k * r[i] * r[j] for r, k in zip(rows, w)) for j in range(p)]
        for i in range(p)
    ]
    for i in range(int(intercept), p):
        A[i][i] += Fraction(float(alpha))
    b = [sum(k * r[i] * t for r, t, k in zip(rows, y, w)) for i in range(p)]
    x = [float(v) for v in solve(A, b)]
    return (np.array(x[1:]), x[0]) if intercept else (np.array(x), 0.0)


def solve(A, b):
    """Gauss elimination in fractions."""
    n = len(b)
    M = [[*row, v] for row, v in zip(A, b)]
    for k in range(n):
        at = next(i for i in range(k, n) if M[i][k] != 0)
        M[k], M[at] = M[at], M[k]
        for i in range(k + 1, n):
            f = M[i][k] / M[k][k]
            M[i] = [u - f * v for u, v in zip(M[i], M[k])]
    x = [Fraction(0)] * n
    for i in reversed(range(n)):
        x[i] = (M[i][n] - sum(M[i][j] * x[j] for j in range(i + 1, n))) / M[i][i]
    return x


def digits(got, right):
    """The fewest correct decimal digits over the entries."""
    got, right = np.asarray(got, float), np.asarray(right, float)
    with np.errstate(divide="ignore"):
        error = np.abs(got - right) / np.where(right == 0, 1.0, np.abs(right))
        return float(np.min(np.minimum(-np.log10(error), 16)))
