"""Certified data: NIST's eleven problems, checked against exact rational arithmetic.

The oracle is Gauss elimination in fractions, on the printed decimals to check what we
hold as certified, and on the rounded floats to judge the fit: nobody can know more than
the floats say, and on Filip the rounding of x^10 alone costs eight digits.
"""

from fractions import Fraction
from functools import cache

import numpy as np
import pytest

from pansophy.linear_model import LinearRegression
from tests.linear_model.nist import PROBLEMS
from tests.oracles.least_squares import digits, solve

EPS = np.finfo(float).eps
LONG_EPS = float(np.finfo(np.longdouble).eps)
EXTENDED = LONG_EPS < 1e-18  # as on x86
STIFF = 1e4  # condition above which the triangle too has extended precision
NOISELESS = ("Wampler1", "Wampler2")


@cache
def exact(name, rounded):
    """Estimates and their deviations in exact arithmetic, then as floats."""
    p = PROBLEMS[name]
    keep = (lambda v: Fraction(float(v))) if rounded else (lambda v: v)
    A = [[Fraction(1)] * p.intercept + [keep(v) for v in row] for row in p.X]
    y = [keep(v) for v in p.y]
    k = len(A[0])
    G = [[sum(r[i] * r[j] for r in A) for j in range(k)] for i in range(k)]
    beta = solve(G, [sum(r[i] * t for r, t in zip(A, y)) for i in range(k)])
    rss = sum((t - sum(a * b for a, b in zip(r, beta))) ** 2 for r, t in zip(A, y))
    unit = lambda i: [Fraction(int(i == j)) for j in range(k)]
    diagonal = [solve(G, unit(i))[i] for i in range(k)]
    scale = rss / (len(A) - k)
    se = [root(scale * v) for v in diagonal]
    return [float(b) for b in beta], se, root(scale)


def root(q):
    """The square root of a fraction to the last digit of a float."""
    from math import isqrt

    wide = 1 << 240
    return float(Fraction(isqrt(int(q * wide * wide)), wide))


def fitted(name):
    p = PROBLEMS[name]
    X = np.array([[float(v) for v in row] for row in p.X])
    y = np.array([float(v) for v in p.y])
    model = LinearRegression(fit_intercept=p.intercept).fit(X, y)
    first = [model.intercept_] if p.intercept else []
    return model, np.array([*first, *model.coef_])


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_values_are_those_of_exact_arithmetic(name):
    p = PROBLEMS[name]
    beta, se, sigma = exact(name, False)
    assert digits(p.estimate, beta) > 14
    if name not in NOISELESS:
        assert digits(p.deviation, se) > 14
        assert digits(p.sigma, sigma) > 14


def design(p):
    """Columns as floats, that of ones included, and the targets."""
    A = np.array([[1.0] * p.intercept + [float(v) for v in row] for row in p.X])
    return A, np.array([float(v) for v in p.y])


def error_bounds(name):
    """How far rounding may move estimates, and deviations relative to themselves.

    With extended precision the estimates are those where A^T r = 0. Roundings add up as
    if by chance, so that residuals of rows i and the sums A^T r are wrong by about

        rho_i^2 = eps^2 (y_i^2 + sum_j (a_ij beta_j)^2),
        gamma_j^2 = eps^2 sum_i (a_ij r_i)^2,

    which moves the solution by A^+ rho + (A^T A)^-1 gamma; ten times their size is
    allowed. Without extended precision the bound is that of QR for columns of length 1
    with condition K, eps (K |beta| + K^2 |r|). Deviations have the condition of the
    triangle times its precision.
    """
    A, y = design(PROBLEMS[name])
    beta = np.array(exact(name, True)[0])
    length = np.linalg.norm(A, axis=0)
    S = A / length
    condition = np.linalg.cond(S)
    k = A.shape[1]
    r = y - A @ beta
    if EXTENDED:
        P = np.linalg.pinv(S, rcond=EPS)
        rho = LONG_EPS**2 * (y**2 + A**2 @ beta**2)
        gamma = LONG_EPS**2 * (S**2).T @ r**2
        moved = 10 * np.sqrt(P**2 @ rho + (P @ P.T) ** 2 @ gamma)
    else:
        size = np.linalg.norm(beta * length)
        moved = 4 * k * EPS * (condition * size + condition**2 * np.linalg.norm(r))
    fine = EXTENDED and condition > STIFF
    spread = 4 * k * condition * (LONG_EPS if fine else EPS)
    return moved / length + 2 * EPS * np.abs(beta), spread + 4 * EPS


@pytest.mark.parametrize("name", PROBLEMS)
def test_estimates_and_deviations_are_right_to_rounding(name):
    model, got = fitted(name)
    beta, se, sigma = exact(name, True)
    bound, spread = error_bounds(name)
    assert np.all(np.abs(got - beta) <= bound)
    s = model.summary()
    if name not in NOISELESS:
        np.testing.assert_allclose(s["std error"], se, rtol=spread)
        assert s["sigma"] == pytest.approx(sigma, rel=spread)
        rel = 1e-9 if name == "Filip" else 1e-12  # decimals rounded to floats
        assert s["R2"] == pytest.approx(PROBLEMS[name].r2, rel=rel)


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_digits(name):
    """What NIST prints, as far as the rounding of its decimals to floats allows."""
    printed = np.array(PROBLEMS[name].estimate)
    _, got = fitted(name)
    beta, _, _ = exact(name, True)
    assert digits(beta, printed) > (7 if name == "Filip" else 8)
    # NIST prints 15 digits
    possible = np.abs(beta - printed) + 1e-14 * np.abs(printed)
    assert np.all(np.abs(got - printed) <= possible + error_bounds(name)[0])


def test_a_repeated_column_is_named_and_takes_half():
    p = PROBLEMS["Longley"]
    X = np.array([[float(v) for v in row] for row in p.X])
    y = np.array([float(v) for v in p.y])
    with pytest.warns(np.exceptions.RankWarning, match="rank 6 with 7 columns: x[06]"):
        model = LinearRegression().fit(np.column_stack([X, X[:, 0]]), y)
    assert digits(model.coef_[0], p.estimate[1] / 2) > 9
    assert digits(model.coef_[1:6], p.estimate[2:]) > 9
    with pytest.raises(ValueError, match="rank 6 with 7 columns"):
        model.summary()
