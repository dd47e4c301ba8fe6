"""The convexity probe."""

import numpy as np
import pytest

from pansophy import losses, teaching


def test_verdicts():
    square = teaching.check_convex(lambda x: x[0] ** 2, [(-3, 3)])
    assert square and square.convex and square.strict
    line = teaching.check_convex(lambda x: 2 * x[0] - x[1] + 3, [(-3, 3)] * 2)
    assert line.convex and not line.strict
    flat = teaching.check_convex(lambda x: max(abs(x[0]) - 1, 0.0), [(-3, 3)])
    assert flat.convex and not flat.strict


def zero_one(w):
    X, y = np.array([[1.0, 0.5], [-1.0, 1.0], [0.3, -1.0]]), np.array([1, -1, 1])
    return float(np.sum(np.sign(X @ w) != y))


def k_means(c):
    x = np.array([1.0, 2, 4, 10, 11, 15])
    return float(np.sum(np.min((x[:, None] - c) ** 2, axis=1)))


saddle = lambda x: float(x[0] * x[1])
REJECTED = [
    (lambda x: np.sin(x[0]), [(0, 6)]),
    (zero_one, [(-2, 2)] * 2),
    (k_means, [(0, 16)] * 2),
    (saddle, [(-1, 1)] * 2),
]


@pytest.mark.parametrize(("f", "region"), REJECTED)
def test_counterexamples_are_real(f, region):
    found = teaching.check_convex(f, region)
    assert not found and found.test == "jensen" and "not convex" in str(found)
    x, y, t, gap = (found.counterexample[k] for k in ("x", "y", "t", "gap"))
    assert f((1 - t) * x + t * y) - (1 - t) * f(x) - t * f(y) == pytest.approx(gap)
    assert gap > 0


def test_first_order_and_hessian_probes():
    # one pair with t = 1/2 would not do: the probes see what Jensen's has not yet
    f, region = lambda x: float(x[0] ** 2 + 1e-3 * np.cos(80 * x[0])), [(-3, 3)]
    g = lambda x: 2 * x - 0.08 * np.sin(80 * x)
    H = lambda x: np.array([[2 - 6.4 * np.cos(80 * x[0])]])
    assert not teaching.check_convex(f, region)
    flat = lambda x: 0.0
    assert (
        teaching.check_convex(flat, region, gradient=lambda x: x).test == "first-order"
    )
    found = teaching.check_convex(flat, region, hessian=H)
    assert found.test == "hessian"
    v, x = found.counterexample["v"], found.counterexample["x"]
    assert v @ H(x) @ v < 0
    assert teaching.check_convex(lambda x: x[0] ** 2, region, gradient=lambda x: 2 * x)
    assert g(np.zeros(1)) == 0


def test_losses_called_convex_pass(rng):
    X, y = rng.normal(size=(10, 2)), rng.integers(0, 2, size=10).astype(float)
    f = lambda w: float(losses.logistic.value(y, X @ w).sum())
    assert teaching.check_convex(f, [(-3, 3)] * 2, n_probes=300)
    ball = lambda rng: rng.normal(size=2)
    assert teaching.check_convex(f, ball, n_probes=300).convex
    with pytest.raises(ValueError, match="region"):
        teaching.check_convex(f, [(1, 0)])
