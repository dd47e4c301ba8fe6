"""Every penalty: the prox is optimal, firmly non-expansive if convex; distances."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy import penalties
from pansophy.penalties import PENALTIES, _separable
from pansophy.typing import Penalty

each = pytest.mark.parametrize("penalty", PENALTIES, ids=lambda p: p.name)
SEPARABLE = [p for p in PENALTIES if p.kind >= 0]
D = 6
vectors = st.lists(st.floats(-10, 10), min_size=D, max_size=D).map(np.array)
members = st.sampled_from(PENALTIES)
convex = st.sampled_from([p for p in PENALTIES if p.convex])


@each
def test_contract(penalty):
    assert isinstance(penalty, Penalty)


@given(members, vectors, st.floats(0.01, 5))
def test_prox_is_optimal(penalty, w, step):
    u = penalty.prox(w, step)
    cost = lambda x: step * float(penalty.value(x)) + float((x - w) @ (x - w)) / 2
    assert math.isfinite(cost(u))
    rng = np.random.default_rng(0)
    for size in (1e-3, 0.1, 1.0):
        other = penalty.prox(u + size * rng.normal(size=D), 1e-9)
        assert cost(u) <= cost(other) + 1e-8 * (1 + cost(u))
    # (w - u) / step is a sub-gradient at u, so minus it leaves no distance
    distance = np.max(penalty.distance(u, (u - w) / step))
    assert distance <= 1e-7 * (1 + np.abs(w).max() / step)


@given(convex, vectors, vectors, st.floats(0.01, 5))
def test_prox_is_firmly_nonexpansive(penalty, x, y, step):
    p, q = penalty.prox(x, step), penalty.prox(y, step)
    assert (p - q) @ (p - q) <= (p - q) @ (x - y) + 1e-9 * (1 + (x - y) @ (x - y))


@given(st.sampled_from([p for p in PENALTIES if p.indicator]), vectors)
def test_projections_are_idempotent(constraint, w):
    u = constraint.prox(w)
    assert constraint.value(u) == 0
    np.testing.assert_allclose(constraint.prox(u), u, atol=1e-12)


@pytest.mark.parametrize("penalty", SEPARABLE, ids=lambda p: p.name)
def test_compiled_twin(penalty, rng):
    for w in np.concatenate([rng.normal(size=20), [0.0, penalty.a, penalty.b]]):
        if not math.isfinite(w):
            continue
        g, step, one = rng.normal(), rng.uniform(0.1, 2), np.array([w])
        numbers = penalty.kind, penalty.a, penalty.b
        kind, a, b = numbers
        assert _separable.penalty_value(kind, w, a, b) == pytest.approx(
            penalty.value(one)
        )
        prox = _separable.penalty_prox(kind, w, step, a, b)
        assert prox == pytest.approx(penalty.prox(one, step)[0], abs=1e-15)
        distance = _separable.penalty_distance(kind, w, g, a, b)
        assert distance == pytest.approx(penalty.distance(one, np.array([g]))[0])


@each
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_backends_agree(penalty, library, rng):
    xp = pytest.importorskip(library)
    w, g = rng.normal(size=D), rng.normal(size=D)
    u = penalty.prox(w, 0.7)
    other = penalty.prox(xp.asarray(w), 0.7)
    np.testing.assert_allclose(u, np.asarray(other), atol=1e-12)
    assert float(penalty.value(u)) == pytest.approx(float(penalty.value(other)))
    there = penalty.distance(xp.asarray(u), xp.asarray(g))
    np.testing.assert_allclose(penalty.distance(u, g), np.asarray(there), atol=1e-12)


def test_worked_numbers():
    ball = penalties.ball(1.0)
    np.testing.assert_allclose(ball.prox(np.array([3.0, 4.0])), [0.6, 0.8])
    np.testing.assert_array_equal(ball.prox(np.array([0.3, 0.4])), [0.3, 0.4])
    simplex = penalties.simplex().prox(np.array([0.5, 0.5, 2.0]))
    np.testing.assert_allclose(simplex, [0, 0, 1])
    w = np.array([3.0, 4.0])
    np.testing.assert_allclose(
        penalties.group_l2(1.0).prox(w, 1.0), w * (1 - 2**0.5 / 5)
    )


def test_bad_parameters():
    for make in (
        lambda: penalties.l1(-1),
        lambda: penalties.l2(float("nan")),
        lambda: penalties.elastic_net(1, 2),
        lambda: penalties.box(1, 0),
        lambda: penalties.simplex(0),
        lambda: penalties.ball(-1),
    ):
        with pytest.raises(ValueError, match="must be"):
            make()
    with pytest.raises(ValueError, match="groups has 2 entries"):
        penalties.group_l2(1, groups=[0, 1]).value(np.ones(3))


@given(st.sampled_from([0.3, 0.5, 0.8, 1.2, 1.7, 2.5]), vectors, st.floats(0.05, 3))
def test_lq_prox_is_a_global_minimum(q, w, step):
    g = penalties.lq(q, 0.7)
    u = g.prox(w, step)
    grid = np.linspace(-10, 10, 2001)
    for wj, uj in zip(w, u, strict=True):
        cost = lambda x, wj=wj: step * 0.7 * np.abs(x) ** q + (x - wj) ** 2 / 2
        assert cost(uj) <= cost(grid).min() + 1e-9


def test_lq_ends_and_flag():
    w = np.array([-3.0, 0.2, 2.0])
    np.testing.assert_allclose(penalties.lq(2, 0.5).prox(w), penalties.l2(1.0).prox(w))
    np.testing.assert_allclose(penalties.lq(1, 0.5).prox(w), penalties.l1(0.5).prox(w))
    assert penalties.lq(1, 0.5).prox(w)[1] == 0
    assert penalties.lq(0, 0.5).prox(w).tolist() == [-3, 0, 2]
    assert [penalties.lq(q).convex for q in (0, 0.5, 1, 1.5, 2)] == [0, 0, 1, 1, 1]
    near = [penalties.lq(q, 0.5).prox(w) for q in (1 + 1e-9, 2 - 1e-9)]
    np.testing.assert_allclose(near[0], penalties.l1(0.5).prox(w), atol=1e-7)
    np.testing.assert_allclose(near[1], penalties.l2(1.0).prox(w), atol=1e-7)


def test_priors_are_penalties(rng):
    """Sum of squares + penalty is 2 s^2 times minus the log posterior."""
    from scipy import stats

    s, b, q = 0.5, 0.5**0.5, 1.5
    X, y = rng.normal(size=(20, 3)), rng.normal(size=20)
    assert penalties.from_prior("normal", b, s).value(np.ones(1)) == pytest.approx(0.5)
    assert penalties.from_prior("laplace", b, s).value(np.ones(1)) == pytest.approx(
        2 * s * s / b
    )
    logs = {
        "normal": stats.norm(0, b).logpdf,
        "laplace": stats.laplace(0, b).logpdf,
        "power": stats.gennorm(q, 0, b).logpdf,
    }
    for name, log in logs.items():
        g = penalties.from_prior(name, b, s, q)

        def joint(w, log=log):
            fit = stats.norm(X @ w, s).logpdf(y).sum() + log(w).sum()
            return -2 * s * s * fit

        def risk(w, g=g):
            return float(np.sum((y - X @ w) ** 2) + g.value(w))

        u, v = rng.normal(size=3), rng.normal(size=3)
        assert risk(u) - risk(v) == pytest.approx(joint(u) - joint(v))
    with pytest.raises(ValueError, match="prior must be"):
        penalties.from_prior("cauchy")
    with pytest.raises(ValueError, match="scale of from_prior"):
        penalties.from_prior("normal", 0.0)


def test_affine_projection(rng):
    A, b = rng.normal(size=(2, 5)), rng.normal(size=2)
    w = rng.normal(size=5)
    u = penalties.affine(A, b).prox(w)
    np.testing.assert_allclose(A @ u, b, atol=1e-12)
    best = w - A.T @ np.linalg.solve(A @ A.T, A @ w - b)
    np.testing.assert_allclose(u, best, atol=1e-12)
    twice = penalties.affine(np.vstack([A, A]), np.concatenate([b, b]))
    np.testing.assert_allclose(twice.prox(w), best, atol=1e-12)
    with pytest.raises(ValueError, match="must have a solution"):
        penalties.affine(np.vstack([A, A]), np.concatenate([b, b + 1]))
