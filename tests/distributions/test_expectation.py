"""Expectations, variances, group means and Gaussian integrals."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from pansophy.distributions import (
    Gamma,
    Normal,
    expectation,
    gaussian_integral,
    grouped_mean,
    variance,
)

torch = pytest.importorskip("torch")
quick = settings(max_examples=25, deadline=None)
EVERYWHERE = (-math.inf, math.inf)


def test_worked_total_expectation():
    assert expectation([70, 71], [0.47, 0.53]) == pytest.approx(70.53, abs=1e-12)
    assert grouped_mean([70, 71], weights=[0.47, 0.53]) == pytest.approx(70.53)


@pytest.mark.parametrize(
    ("a", "b", "c", "value"), [(2, -4, -2, 1.2533141), (2, 3, 1, 10.4938708)]
)
def test_worked_gaussian_integrals(a, b, c, value):
    # the first is exp(-2 (x + 1)^2), written out
    assert gaussian_integral(a, b, c) == pytest.approx(value, abs=5e-8)
    found = integrate.quad(lambda x: math.exp(-a * x * x + b * x + c), *EVERYWHERE)[0]
    assert gaussian_integral(a, b, c) == pytest.approx(found, rel=1e-9)
    assert gaussian_integral(a, b, c, log=True) == pytest.approx(math.log(found))


def test_gaussian_integral_in_two_dimensions():
    A, b = np.array([[1.0, 0.3], [0.3, 0.8]]), np.array([0.5, -1.0])
    f = lambda y, x: math.exp(-np.array([x, y]) @ A @ [x, y] + b @ [x, y] + 0.2)
    found = integrate.dblquad(f, -9, 9, -9, 9)[0]
    assert gaussian_integral(A, b, 0.2) == pytest.approx(found, rel=1e-7)
    for bad in (0.0, -1.0, [[1.0, 2.0], [2.0, 1.0]]):
        with pytest.raises(ValueError, match="positive"):
            gaussian_integral(bad)
    with pytest.raises(ValueError, match="square"):
        gaussian_integral(np.ones((2, 3)))


@quick
@given(st.integers(0, 10**6), st.floats(-5, 5), st.floats(-5, 5))
def test_laws(seed, a, b):
    rng = np.random.default_rng(seed)
    x, p = rng.standard_normal(6), rng.dirichlet(np.ones(6))
    line = lambda v: a * v + b
    assert expectation(x, p, line) == pytest.approx(a * expectation(x, p) + b)
    assert variance(x, p, line) == pytest.approx(a * a * variance(x, p), abs=1e-12)
    assert expectation(x, p, np.exp) >= math.exp(expectation(x, p)) - 1e-12  # Jensen
    second = expectation(x, p, np.square)
    assert variance(x, p) == pytest.approx(second - expectation(x, p) ** 2)
    y, groups = rng.standard_normal(30), rng.integers(0, 4, 30)
    assert grouped_mean(y, groups) == pytest.approx(y.mean())
    w = rng.integers(0, 3, 30)
    w[0] = 1
    assert grouped_mean(y, groups, w) == pytest.approx(np.average(y, weights=w))


def test_densities():
    p = Normal(1.0, 4.0)
    assert expectation(EVERYWHERE, p) == pytest.approx(1)
    assert variance(EVERYWHERE, p) == pytest.approx(4)
    assert variance((0, math.inf), Gamma(2.0, 0.5)) == pytest.approx(8)
    assert expectation((0, 1), lambda x: 2 * x, lambda x: x**2) == pytest.approx(0.5)
    assert expectation((0, 1), lambda x: 1.0, math.log) == pytest.approx(-1)


def test_values_of_several_coordinates_and_libraries():
    x, p = np.array([[0.0, 1.0], [2.0, 5.0]]), np.array([0.25, 0.75])
    np.testing.assert_allclose(expectation(x, p), [1.5, 4.0])
    np.testing.assert_allclose(variance(x, p), [0.75, 3.0])
    found = expectation(torch.tensor(x), torch.tensor(p))
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found, [1.5, 4.0])
    assert isinstance(grouped_mean(torch.tensor([1.0, 2.0]), [0, 1]), torch.Tensor)


def test_small_spread_keeps_its_digits():
    x = 1e8 + np.array([0.0, 1e-3])
    assert variance(x, [0.5, 0.5]) == pytest.approx((x[1] - x[0]) ** 2 / 4, rel=1e-12)


def test_refusals():
    with pytest.raises(ValueError, match="sum to 1"):
        expectation([1, 2], [0.3, 0.3])
    with pytest.raises(ValueError, match="3 values"):
        expectation([1, 2, 3], [0.5, 0.5])
    with pytest.raises(ValueError, match="group of each"):
        grouped_mean([1.0, 2.0])
    with pytest.raises(ValueError, match="3 numbers have 2 groups"):
        grouped_mean([1.0, 2.0, 3.0], [0, 1])
