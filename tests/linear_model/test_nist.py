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

EXTENDED = np.finfo(np.longdouble).eps < 1e-18  # as on x86
NOISELESS = ("Wampler1", "Wampler2")
# digits of the estimates and of their deviations, with extended precision
LEAST = {
    "Norris": (15, 13.5),
    "Pontius": (15, 13.5),
    "NoInt1": (15, 13.5),
    "NoInt2": (15, 13.5),
    "Filip": (10, 10),
    "Longley": (15, 13.5),
    "Wampler1": (13.5, 0),
    "Wampler2": (13.5, 0),
    "Wampler3": (13, 13),
    "Wampler4": (11, 13),
    "Wampler5": (9, 13),
}


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


@pytest.mark.parametrize("name", PROBLEMS)
def test_digits_of_estimates_and_deviations(name):
    model, got = fitted(name)
    beta, se, sigma = exact(name, True)
    least, least_se = LEAST[name]
    loss = 0 if EXTENDED else 4.5
    assert digits(got, beta) > least - loss
    s = model.summary()
    if name not in NOISELESS:
        assert digits(s["std error"], se) > least_se - loss
        assert digits(s["sigma"], sigma) > least_se - loss
        rel = 1e-9 if name == "Filip" else 1e-12  # decimals rounded to floats
        assert s["R2"] == pytest.approx(PROBLEMS[name].r2, rel=rel)


@pytest.mark.parametrize("name", PROBLEMS)
def test_certified_digits(name):
    """What NIST prints, as far as the rounding of its decimals to floats allows."""
    _, got = fitted(name)
    beta, _, _ = exact(name, True)
    possible = digits(beta, PROBLEMS[name].estimate)
    least = min(possible, LEAST[name][0] if EXTENDED else 8) - 0.3
    assert digits(got, PROBLEMS[name].estimate) > min(least, 14)
    assert least > (7 if name == "Filip" else 8)


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
