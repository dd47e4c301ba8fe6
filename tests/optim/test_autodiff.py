"""Automatic differentiation with torch."""

import numpy as np
import pytest

from pansophy import optim
from tests.optim.small_problems import tanh_net

THETA = np.array([0.1, 0.2, 0.3, -0.4, 0.5, -0.6, 0.7, 0.8])


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

        np.testing.assert_allclose(optim.grad(f)(THETA), tanh_net(THETA)[1], atol=1e-12)
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
