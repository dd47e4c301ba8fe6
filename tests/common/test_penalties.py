"""Every penalty: the prox is optimal, firmly non-expansive if convex; distances."""

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pansophy
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


@each
def test_pickles_copies_and_saves_as_the_call_that_makes_it(penalty, rng, tmp_path):
    w = rng.normal(size=D)
    pansophy.save([penalty, penalty], tmp_path / "penalty")
    first, second = pansophy.load(tmp_path / "penalty")
    assert first is second
    for other in (pickle.loads(pickle.dumps(penalty)), copy.deepcopy(penalty), first):
        assert (other.name, other.kind) == (penalty.name, penalty.kind)
        np.testing.assert_array_equal(other.value(w), penalty.value(w))
        np.testing.assert_array_equal(other.prox(w, 0.3), penalty.prox(w, 0.3))
