"""Wasserstein distances three ways, and the dual."""

import math

import array_api_strict as strict
import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.distributions import js, kl, kr_dual, transport, wasserstein

torch = pytest.importorskip("torch")
quick = settings(max_examples=25, deadline=None)


def clouds(seed, n=12, m=9, d=2):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((n, d)), rng.standard_normal((m, d)) + 1
    return x, y, rng.dirichlet(np.ones(n)), rng.dirichlet(np.ones(m))


@pytest.mark.parametrize("theta", [-2.0, 0.5, 3.0])
def test_parallel_segments(theta):
    t = np.linspace(0, 1, 20)
    P, Q = np.column_stack([0 * t, t]), np.column_stack([0 * t + theta, t])
    assert wasserstein(P, Q) == pytest.approx(abs(theta))
    assert kr_dual(P, Q) == pytest.approx(abs(theta))
    # as distributions over the forty points their supports are disjoint
    p, q = np.repeat([1 / 20, 0], 20), np.repeat([0, 1 / 20], 20)
    assert kl(p, q) == kl(q, p) == math.inf
    assert js(p, q) == pytest.approx(math.log(2))
    assert wasserstein(P, P) == 0


@quick
@given(st.integers(0, 10**6))
def test_line_agrees_with_scipy_and_the_linear_program(seed):
    x, y, u, v = clouds(seed, d=1)
    x, y = x[:, 0], y[:, 0]
    peer = scipy.stats.wasserstein_distance
    assert wasserstein(x, y) == pytest.approx(peer(x, y))
    assert wasserstein(x, y, u, v) == pytest.approx(peer(x, y, u, v))
    for p in (1, 2, 3.5):
        assert wasserstein(x, y, u, v, p=p) == pytest.approx(
            wasserstein(x, y, u, v, p=p, method="lp"), rel=1e-7
        )
    assert wasserstein(x + 4.5, x) == pytest.approx(4.5)


@quick
@given(st.integers(0, 10**6))
def test_plans_and_duals(seed):
    x, y, u, v = clouds(seed)
    found = transport(x, y, u, v)
    np.testing.assert_allclose(found.plan.sum(axis=1), u, atol=1e-12)
    np.testing.assert_allclose(found.plan.sum(axis=0), v, atol=1e-12)
    C = np.linalg.norm(x[:, None] - y[None], axis=2)
    assert found.cost == pytest.approx(np.sum(found.plan * C))
    assert (found.f[:, None] + found.g <= C + 1e-9).all()
    assert u @ found.f + v @ found.g == pytest.approx(found.cost)
    assert kr_dual(x, y, u, v) == pytest.approx(found.cost)
    rng = np.random.default_rng(seed)
    w = rng.standard_normal(2)
    critics = [lambda z: z @ w, lambda z: np.sin(z[:, 0]), lambda z: z[:, 1] ** 2]
    for critic in critics:
        assert kr_dual(x, y, u, v, critic=critic) <= found.cost + 1e-9
    bound = kr_dual(x, y, u, v, critic=lambda z: z @ w, lipschitz=np.linalg.norm(w))
    assert bound <= found.cost + 1e-9
    assert kr_dual(x, y, critic=lambda z: 0 * z[:, 0]) == 0


def test_equal_masses_by_assignment_agree_with_the_program():
    x, y, _, _ = clouds(3, 15, 15)
    equal = np.full(15, 1 / 15)
    uneven = equal + np.linspace(-1, 1, 15) * 1e-9
    near = wasserstein(x, y, uneven / uneven.sum(), equal)
    assert wasserstein(x, y) == pytest.approx(near, abs=1e-7)
    assert wasserstein(x, y) == pytest.approx(
        scipy.stats.wasserstein_distance_nd(x, y), abs=1e-9
    )


@quick
@given(st.integers(0, 10**6))
def test_metric(seed):
    x, y, u, v = clouds(seed)
    z = np.random.default_rng(seed + 1).standard_normal((7, 2))
    assert wasserstein(x, y, u, v) == pytest.approx(wasserstein(y, x, v, u))
    direct = wasserstein(x, y, u, v)
    assert direct <= wasserstein(x, z, u) + wasserstein(z, y, v=v) + 1e-9


@pytest.mark.parametrize("library", ["numpy", "torch"])
def test_sinkhorn(library):
    x, y, u, v = clouds(0, 30, 20)
    exact = wasserstein(x, y, u, v)
    if library == "torch":
        x, y, u, v = (torch.asarray(a) for a in (x, y, u, v))
    found = transport(x, y, u, v, method="sinkhorn", reg=0.02)
    assert found.converged
    plan = np.asarray(found.plan)
    assert isinstance(found.plan, torch.Tensor) == (library == "torch")
    np.testing.assert_allclose(plan.sum(axis=1), np.asarray(u), atol=1e-12)
    np.testing.assert_allclose(plan.sum(axis=0), np.asarray(v), atol=1e-12)
    assert (plan >= 0).all()
    assert exact <= float(found.cost) <= exact + 0.02 * math.log(600)
    errors = [
        float(wasserstein(x, y, u, v, method="sinkhorn", reg=r)) - exact
        for r in (1.0, 0.1, 0.01)
    ]
    assert errors[0] > errors[1] > errors[2] > -1e-9 and errors[2] < 0.005


def test_sinkhorn_survives_tiny_regularisation_and_no_mass():
    x, y, u, v = clouds(1, 10, 10)
    u[0], v[3] = 0, 0
    u, v = u / u.sum(), v / v.sum()
    exact = wasserstein(x, y, u, v)
    found = transport(x, y, u, v, method="sinkhorn", reg=1e-5, max_iter=2000)
    assert exact - 1e-9 <= found.cost <= 1.02 * exact
    assert found.plan[0].sum() == pytest.approx(0, abs=1e-12)
    same = transport([1.0, 1.0], [1.0], method="sinkhorn")
    assert same.cost == 0


def test_costs_of_your_own():
    C = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert wasserstein([0, 1], [0, 1], [0.7, 0.3], [0.4, 0.6], cost=C) == pytest.approx(
        0.3
    )
    hamming = lambda a, b: (a[:, None] != b[None]).any(axis=2).astype(float)
    assert wasserstein([[0.0], [1.0]], [[0.0], [5.0]], cost=hamming) == pytest.approx(
        0.5
    )


@pytest.mark.parametrize("library", [torch, strict], ids=["torch", "strict"])
@pytest.mark.parametrize("method", ["sorted", "lp", "sinkhorn"])
def test_other_libraries(library, method):
    x, y, u, v = clouds(5, d=1)
    put = library.asarray
    how = {"p": 2, "method": method}
    found = wasserstein(put(x), put(y), put(u), put(v), **how)
    assert isinstance(found, type(put(x)))
    assert float(found) == pytest.approx(wasserstein(x, y, u, v, **how))
    bound = kr_dual(put(x), put(y), put(u), put(v))
    assert float(bound) == pytest.approx(wasserstein(x, y, u, v))


def test_refusals():
    with pytest.raises(ValueError, match="masses of x must sum to 1"):
        wasserstein([0.0, 1.0], [0.0], [0.5, 0.2])
    with pytest.raises(ValueError, match="2 points, but 3 masses"):
        wasserstein([0.0, 1.0], [0.0], [0.5, 0.25, 0.25])
    with pytest.raises(ValueError, match="at least 1"):
        wasserstein([0.0], [1.0], p=0.5)
    with pytest.raises(ValueError, match="one of auto"):
        wasserstein([[0.0, 1.0]], [[1.0, 1.0]], method="magic")
    with pytest.raises(ValueError, match="on a line"):
        wasserstein([[0.0, 1.0]], [[1.0, 1.0]], method="sorted")
    with pytest.raises(ValueError, match="shape"):
        wasserstein([0.0, 1.0], [0.0], cost=np.ones((2, 2)))
    with pytest.raises(ValueError, match="reg"):
        transport([0.0], [1.0], method="sinkhorn", reg=0.0)
