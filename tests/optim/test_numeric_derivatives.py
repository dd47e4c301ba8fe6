"""Finite differences, gradient checks and Taylor models."""

import numpy as np
import pytest

from pansophy import optim
from tests.optim.small_problems import tanh_net


def test_numeric_gradient_and_hessian():
    f = lambda x: x[0] ** 2 + x[1] ** 2
    np.testing.assert_allclose(
        optim.numeric_gradient(f, [3.0, -1.0]), [6, -2], atol=1e-8
    )
    np.testing.assert_allclose(
        optim.numeric_hessian(f, [3.0, -1.0]), 2 * np.eye(2), atol=1e-5
    )
    J = optim.numeric_jacobian(lambda x: np.sin(x) * x[0], [0.3, 0.7])
    expected = [
        [np.sin(0.3) + 0.3 * np.cos(0.3), 0],
        [np.sin(0.7), 0.3 * np.cos(0.7)],
    ]
    np.testing.assert_allclose(J, expected, atol=1e-9)


THETA = np.array([0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8])


def test_gradient_check_on_the_worked_net():
    value, g = tanh_net(THETA)
    assert value == pytest.approx(1.1514526, abs=1e-7)
    second = [-0.4544193, 0.4544193, 0.8815239, -0.8815239]
    np.testing.assert_allclose(g[4:], second, atol=1e-7)
    np.testing.assert_allclose(
        g[:4], [0.6634728, 1.3269457, 1.6641758, 3.3283516], atol=1e-6
    )
    assert optim.check_gradient(tanh_net, THETA) < 1e-6
    flipped = lambda t: (tanh_net(t)[0], -tanh_net(t)[1])
    assert optim.check_gradient(flipped, THETA) == pytest.approx(1, abs=1e-6)
    assert optim.check_gradient(lambda t: tanh_net(t, -1.0), THETA) > 0.5


def test_taylor_is_exact_for_polynomials(rng):
    for order in range(6):
        c = rng.normal(size=(order + 1, 2))
        f = lambda x, c=c: sum(
            a * x[0] ** k + b * (x[0] - x[1]) ** k for k, (a, b) in enumerate(c)
        )
        x, h = rng.normal(size=(2, 2))
        assert optim.taylor_model(f, x, order)(h) == pytest.approx(f(x + h), abs=1e-7)
    assert optim.taylor_model(f, x, 3)(np.zeros(2)) == f(x)


@pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
def test_taylor_error_has_the_next_order(order):
    f = lambda x: float(np.exp(x[0]) * np.cos(x[1]))
    x, h = np.array([0.2, 0.4]), np.array([0.6, -0.5])
    model = optim.taylor_model(f, x, order)
    errors = [abs(model(s * h) - f(x + s * h)) for s in (0.5, 0.25)]
    # terms of higher order move the ratio by up to a third at these steps, and smaller
    # steps bring the rounding of the differences; a wrong order moves it by two
    assert errors[0] / errors[1] == pytest.approx(2 ** (order + 1), rel=0.35)


def test_taylor_from_given_derivatives():
    f = lambda x: float(np.exp(x[0]) + x[0] * x[1])
    x = np.array([0.1, 0.2])
    g = lambda x: np.array([np.exp(x[0]) + x[1], x[0]])
    H = lambda x: np.array([[np.exp(x[0]), 1], [1, 0]])
    h = np.array([0.3, -0.1])
    for order in (1, 2):
        given = optim.taylor_model(f, x, order, gradient=g, hessian=H)(h)
        assert given == pytest.approx(optim.taylor_model(f, x, order)(h), abs=1e-9)
    with pytest.raises(ValueError, match="order"):
        optim.taylor_model(f, x, -1)
