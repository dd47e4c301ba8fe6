"""Derivatives: numeric, automatic, checked; Taylor models; Woodbury's identity."""

import numpy as np
import pytest

from pansophy import optim


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


def net(theta, sign=1.0):
    """The 2-2-2 tanh net: summed squared losses at one point, weights in a vector."""
    W1, W2 = theta[:4].reshape(2, 2), theta[4:].reshape(2, 2)
    x, y = np.array([1.0, 2.0]), np.array([1.0, -1.0])
    v = np.tanh(W1 @ x)
    d2 = 2 * (W2 @ v - y)
    d1 = (W2.T @ d2) * (1 - v**2)
    value = float(np.sum((W2 @ v - y) ** 2))
    return value, np.append(sign * np.outer(d1, x).ravel(), np.outer(d2, v).ravel())


THETA = np.array([0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8])


def test_gradient_check_on_the_worked_net():
    value, g = net(THETA)
    assert value == pytest.approx(1.1514526, abs=1e-7)
    second = [-0.4544193, 0.4544193, 0.8815239, -0.8815239]
    np.testing.assert_allclose(g[4:], second, atol=1e-7)
    np.testing.assert_allclose(
        g[:4], [0.6634728, 1.3269457, 1.6641758, 3.3283516], atol=1e-6
    )
    assert optim.check_gradient(net, THETA) < 1e-6
    flipped = lambda t: (net(t)[0], -net(t)[1])
    assert optim.check_gradient(flipped, THETA) == pytest.approx(1, abs=1e-6)
    assert optim.check_gradient(lambda t: net(t, -1.0), THETA) > 0.5


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


def test_woodbury(rng):
    A, U, V = rng.normal(size=(5, 5)), rng.normal(size=(5, 2)), rng.normal(size=(2, 5))
    C = rng.normal(size=(2, 2))
    inv = np.linalg.inv
    np.testing.assert_allclose(optim.woodbury(inv(A), U, C, V), inv(A + U @ C @ V))
    P = A @ A.T + np.eye(5)
    np.testing.assert_allclose(optim.woodbury(inv(P), U), inv(P + U @ U.T))
    u = rng.normal(size=5)
    np.testing.assert_allclose(optim.woodbury(inv(P), u), inv(P + np.outer(u, u)))


class TestAutodiff:
    def setup_method(self):
        self.torch = pytest.importorskip("torch")

    def test_chain_rule(self):
        f = lambda x, y: (x + 2 * y**3) ** 2
        for x, y in [(1.0, 2.0), (-0.5, 0.3)]:
            dx, dy = optim.grad(f, argnums=(0, 1))(x, y)
            assert dx == pytest.approx(2 * (x + 2 * y**3))
            assert dy == pytest.approx(12 * y**2 * (x + 2 * y**3))
        assert optim.grad(f)(1.0, 2.0) == pytest.approx(34)

    def test_matrix_identities(self, rng):
        X, A, C = rng.normal(size=(3, 4, 4))
        a, b = rng.normal(size=(2, 4))
        t = self.torch.as_tensor
        cases = [
            (lambda X: (X @ t(C) @ X.T).trace(), X @ C + X @ C.T),
            (lambda X: (t(A) @ X).trace(), A.T),
            (lambda X: t(a) @ X @ t(b), np.outer(a, b)),
            (lambda X: (X * X).sum(), 2 * X),
            (lambda X: self.torch.logdet(X @ X.T), 2 * np.linalg.inv(X).T),
        ]
        for f, expected in cases:
            np.testing.assert_allclose(optim.grad(f)(X), expected, atol=1e-9)
            numeric = optim.numeric_gradient(lambda U, f=f: f(t(U)), X)
            np.testing.assert_allclose(numeric, expected, atol=1e-5)

    def test_products_with_the_jacobian(self, rng):
        f = lambda x: self.torch.stack([x[0] * x[1], x[1].sin(), x.sum() ** 2])
        x, v, u = rng.normal(size=2), rng.normal(size=2), rng.normal(size=3)
        J = optim.numeric_jacobian(lambda z: f(self.torch.as_tensor(z)).numpy(), x)
        y, pull = optim.vjp(f, x)
        np.testing.assert_allclose(pull(u), u @ J, atol=1e-8)
        y2, push = optim.jvp(f, x, v)
        np.testing.assert_allclose(push, J @ v, atol=1e-8)
        np.testing.assert_allclose(y, y2)
        assert u @ push == pytest.approx(pull(u) @ v)

    def test_each_node_is_visited_once(self):
        visits = []

        class Double(self.torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, name):
                ctx.name = name
                return 2 * x

            @staticmethod
            def backward(ctx, g):
                visits.append(ctx.name)
                return 2 * g, None

        def f(x):  # a diamond chain: 2^10 paths, 11 nodes
            y = Double.apply(x, 0)
            for k in range(1, 11):
                y = Double.apply(y + y, k)
            return y

        assert optim.grad(f)(1.0) == 2.0**21
        assert sorted(visits) == list(range(11))

    def test_tensors_stay_and_worked_net(self):
        torch = self.torch

        def f(theta):
            W1, W2 = theta[:4].reshape(2, 2), theta[4:].reshape(2, 2)
            x = torch.tensor([1.0, 2.0], dtype=theta.dtype)
            y = torch.tensor([1.0, -1.0], dtype=theta.dtype)
            return ((W2 @ torch.tanh(W1 @ x) - y) ** 2).sum()

        np.testing.assert_allclose(optim.grad(f)(THETA), net(THETA)[1], atol=1e-12)
        g = optim.grad(f)(torch.as_tensor(THETA))
        assert isinstance(g, torch.Tensor) and not g.requires_grad
        with pytest.raises(ValueError, match="one number"):
            optim.grad(lambda x: x)(np.ones(2))


def test_autodiff_without_torch_says_so(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "torch", None)
    for call in (
        lambda: optim.grad(lambda x: x)(1.0),
        lambda: optim.vjp(lambda x: x, 1.0),
        lambda: optim.jvp(lambda x: x, 1.0, 1.0),
    ):
        with pytest.raises(ImportError, match="need torch"):
            call()
