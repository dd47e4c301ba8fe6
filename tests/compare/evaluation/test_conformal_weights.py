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
    fit_conformal_scores,
)
from pansophy.linear_model import LinearRegression

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
    assert score_quantile([1.0, 2.0], 0.5, [1e100, 1e100]) == 2.0  # no counts: scaled


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
