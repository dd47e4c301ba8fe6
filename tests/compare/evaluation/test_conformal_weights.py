"""Weights in intervals and sets: whole ones are repeated rows, others are scaled."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.compare import (
    compare,
    fit_prediction_sets,
    interval_offsets,
    interval_quantile,
    score_quantile,
)
from pansophy.compare.evaluation.conformal_scores import (
    MAX_SCORES,
    fit_conformal_scores,
)
from pansophy.linear_model import LinearRegression
from pansophy.persist import load, save
from pansophy.tables import MixedFrame

LEVELS = (0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
levels = st.floats(0.02, 0.995)
counted = st.lists(
    st.tuples(st.integers(-6, 6), st.integers(0, 7)), min_size=1, max_size=40
).filter(lambda rows: any(k for _, k in rows))  # values tie


@given(counted, levels)
def test_whole_weights_are_repeated_rows(rows, level):
    r, k = np.array(rows).T
    many = np.repeat(r, k)
    for f in (score_quantile, interval_quantile, interval_offsets):
        assert f(r, level, weights=k) == f(many, level)


@given(counted, levels, st.sampled_from(["aps", "lac"]), st.booleans())
def test_sets_of_whole_weights_are_those_of_repeated_rows(rows, level, how, by_class):
    r, k = np.array(rows).T
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 13)[r + 6]  # rows tie
    y = r % 3
    a = fit_prediction_sets(p, y, level, how, by_class, weights=k)
    b = fit_prediction_sets(
        np.repeat(p, k, axis=0), np.repeat(y, k), level, how, by_class
    )
    assert a == b


def same(a, b):
    """Two promises that keep the very same scores."""
    assert (a.task, a.n) == (b.task, b.n) and a.lows is b.lows is None
    assert np.array_equal(a.ranks, b.ranks) and np.array_equal(a.scores, b.scores)
    for level in LEVELS:
        assert a.upper(level) == b.upper(level) and a.lower(level) == b.lower(level)


@pytest.mark.parametrize("most", [4, 60])  # fewer and more rows than are kept
def test_what_is_kept_of_whole_weights_is_what_is_kept_of_repeated_rows(rng, most):
    y, p, k = rng.normal(size=700), rng.normal(size=700), rng.integers(0, most, 700)
    many = [np.repeat(v, k) for v in (y, p)]
    kept = fit_conformal_scores("regression", y, p, weights=k)
    same(kept, fit_conformal_scores("regression", *many))
    assert len(kept.scores) <= MAX_SCORES and (kept.n > MAX_SCORES) == (most > 4)
    for level in LEVELS:  # on the safe side of what is left out
        low, high = interval_offsets(y - p, level, k)
        found = kept.interval(np.zeros(1), level)[0]
        assert found[0] <= low and high <= found[1]
        if most == 4:
            assert found.tolist() == [low, high]
    q, c, x = rng.dirichlet([1, 1, 1], 700), rng.integers(0, 3, 700), p[:, None]
    a = fit_conformal_scores("classification", c, q, MixedFrame(x), k)
    again = np.repeat(q, k, axis=0), MixedFrame(np.repeat(x, k, axis=0))
    b = fit_conformal_scores("classification", np.repeat(c, k), *again)
    same(a, b)
    assert (a.sets(q, 0.8, MixedFrame(x)) == b.sets(q, 0.8, MixedFrame(x))).all()


def slow_upper(r, w, level):
    """The first of the sorted scores whose scaled weights add up to the rank."""
    n = int((w > 0).sum())
    k, seen = int(np.ceil((n + 1) * level - 1e-9)), 0.0
    for i in np.argsort(r, kind="stable"):
        seen += w[i] * n / w.sum()
        if seen >= k - 1e-9:
            return r[i]
    return np.inf


@given(st.integers(1, 60), levels, st.integers(0, 100))
def test_other_weights_are_scaled_to_the_number_of_rows(n, level, seed):
    rng = np.random.default_rng(seed)
    r, w = rng.normal(size=n), rng.exponential(size=n) * (rng.random(n) < 0.8)
    w[0] += 0.3
    assert score_quantile(r, level, w) == slow_upper(r, w, level)
    assert score_quantile(r, level, w / w.sum()) == score_quantile(r, level, w)
    assert score_quantile(r, level, np.full(n, 1 / 3)) == score_quantile(r, level)
    kept, tail = (
        fit_conformal_scores("regression", r, np.zeros(n), weights=w),
        (1 + level) / 2,
    )
    assert kept.upper(level) == score_quantile(r, level, w)
    ends = [kept.lower(tail), kept.upper(tail)]
    assert ends == list(interval_offsets(r, level, w))
    y, p = rng.integers(0, 3, n), rng.dirichlet([1, 1, 1], n)
    q = fit_prediction_sets(p, y, level, "lac", by_class=True, weights=w).q
    own = 1 - p[np.arange(n), y]
    for k in range(3):
        some = (y == k) & (w > 0)
        expected = slow_upper(own[some], w[some], level) if some.any() else np.inf
        assert q[k] == expected


def test_other_weights_of_many_rows_are_thinned_on_the_safe_side(rng, tmp_path):
    r, w = rng.normal(size=20_000), rng.exponential(size=20_000)
    kept = fit_conformal_scores("regression", r, np.zeros_like(r), weights=w)
    assert len(kept.scores) <= MAX_SCORES and kept.lows is not None
    save(kept, tmp_path / "kept.pansophy")
    again = load(tmp_path / "kept.pansophy")
    for level in LEVELS:
        low, high = interval_offsets(r, level, w)
        found = kept.interval(np.zeros(1), level)[0]
        assert found[0] <= low and high <= found[1]
        assert np.allclose(found, [low, high], atol=0.02)
        assert (again.interval(np.zeros(1), level) == found).all()


def test_weighted_intervals_and_sets_cover_those_whom_the_weights_stand_for():
    """Rows are drawn uniformly, new ones mostly from where errors are large."""
    rng = np.random.default_rng(0)
    inside, kept, plain, hit = [], [], [], []
    for _ in range(200):
        x = rng.random(400)
        r, w = rng.normal(size=400) * (0.2 + 2 * x), 3 * x**2  # new x have density w
        new = rng.random(400) ** (1 / 3)
        t = rng.normal(size=400) * (0.2 + 2 * new)
        inside.append(np.mean(np.abs(t) <= interval_quantile(r, 0.8, w)))
        plain.append(np.mean(np.abs(t) <= interval_quantile(r, 0.8)))
        held = fit_conformal_scores("regression", r, np.zeros(400), weights=w)
        low, high = held.interval(np.zeros(1), 0.8)[0]
        kept.append(np.mean((low <= t) & (t <= high)))
        y, z = (rng.random(400) < 0.5 * v for v in (x, new))  # said: 10 % for all
        p = np.tile([0.9, 0.1], (400, 1)) + 1e-6 * rng.random((400, 1)) * [-1, 1]
        rule = fit_prediction_sets(p, y.astype(int), 0.8, weights=w)
        hit.append(rule.apply(p)[np.arange(400), z.astype(int)].mean())
    assert np.mean(inside) == pytest.approx(0.8, abs=0.012)
    assert np.mean(kept) == pytest.approx(0.8, abs=0.012)
    assert 0.79 < np.mean(hit) < 0.84
    assert np.mean(plain) < 0.75


def test_weights_that_cannot_be():
    for w in ([1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0], [np.inf, 1.0]):
        with pytest.raises(ValueError, match="weights must be 2 numbers"):
            score_quantile([1.0, 2.0], 0.5, w)
    assert score_quantile([1.0, 2.0], 0.5, [1e300, 1e300]) == 2.0  # no counts: scaled


def test_a_comparison_with_weights_keeps_the_intervals_of_repeated_rows(rng):
    n = 60
    x, k = rng.normal(size=n), rng.integers(1, 5, n)
    y = x + rng.normal(size=n) * (1 + (k > 2))
    once = {"x": x, "fold": np.arange(n) % 3, "y": y}
    asked = {
        "methods": {"line": LinearRegression()},
        "group": "fold",
        "folds": 3,
        "repeats": 1,
        "workers": 0,
        "progress": False,
        "keep": "best",
    }
    a = compare({**once, "w": k}, "y", weight="w", **asked)
    b = compare({c: np.repeat(v, k) for c, v in once.items()}, "y", **asked)
    new = {"x": np.linspace(-2, 2, 9)}
    for level in (0.5, 0.8, 0.9):
        ends = [c.model.predict_interval(new, level) for c in (a, b)]
        assert np.allclose(*ends, rtol=1e-9, atol=1e-9)
    bare = compare(once, "y", **asked)
    wide = [np.diff(c.model.predict_interval(new, 0.8)).mean() for c in (bare, a)]
    assert wide[0] != pytest.approx(wide[1], rel=1e-3)
