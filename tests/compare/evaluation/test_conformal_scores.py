"""Scores that are kept: by whole and other weights, thinned on the safe side."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.compare import score_quantile
from pansophy.compare.evaluation.conformal import fit_prediction_sets, interval_offsets
from pansophy.compare.evaluation.conformal_scores import (
    MAX_SCORES,
    fit_conformal_scores,
)
from pansophy.persist import load, save
from pansophy.tables import MixedFrame

LEVELS = (0.05, 0.3, 0.5, 0.8, 0.9, 0.95, 0.99, 0.999)
levels = st.floats(0.02, 0.995)


def same(a, b):
    """Two promises that keep the very same scores."""
    assert (a.task, a.n) == (b.task, b.n) and a.lows is b.lows is None
    assert np.array_equal(a.ranks, b.ranks) and np.array_equal(a.scores, b.scores)
    for level in LEVELS:
        assert a.upper(level) == b.upper(level) and a.lower(level) == b.lower(level)


@pytest.mark.parametrize("most", [4, 60])  # fewer and more rows than are kept
def test_what_is_kept_of_whole_weights_is_what_is_kept_of_repeated_rows(rng, most):
    y, p, k = rng.normal(size=700), np.zeros(700), rng.integers(0, most, 700)
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
    q, c, x = rng.dirichlet([1, 1, 1], 700), rng.integers(0, 3, 700), y[:, None]
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


@given(st.integers(1, 60), st.floats(0.05, 0.99), st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_kept_scores_are_those_of_the_conformal_functions(n, level, seed):
    rng = np.random.default_rng(seed)
    y, p = rng.normal(size=n), rng.normal(size=n)
    low, high = interval_offsets(y - p, level)
    found = fit_conformal_scores("regression", y, p).interval(np.zeros(1), level)[0]
    assert found.tolist() == [low, high]
    q = rng.dirichlet([1, 1, 1], n)
    k = rng.integers(0, 3, n)
    sets = fit_conformal_scores("classification", k, q).sets(q, level)
    assert (sets == fit_prediction_sets(q, k, level).apply(q)).all()


def test_scores_of_many_rows_are_thinned_on_the_safe_side():
    rng = np.random.default_rng(0)
    y = rng.normal(size=50_001)
    held = fit_conformal_scores("regression", y, np.zeros_like(y))
    assert len(held.scores) <= MAX_SCORES
    for level in (0.5, 0.9, 0.999):
        low, high = interval_offsets(y, level)
        found = held.interval(np.zeros(1), level)[0]
        assert found[0] <= low and high <= found[1]
        assert np.allclose(found, [low, high], atol=0.02)


def two_classes(p):
    return np.column_stack([1 - p, p])


# By chance the share that sets of 4,000 rows hold, calibrated on 2,000, lies more than
# 0.04 (over 4 standard errors of 0.0085) from the level in fewer than 1 in 10,000 runs.
def test_sets_of_two_classes_are_never_randomised():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 1, 6000)
    y = (rng.random(6000) < p).astype(int)
    frame = MixedFrame(rng.normal(size=(6000, 2)))
    held = fit_conformal_scores(
        "classification", y[:2000], two_classes(p[:2000]), frame[:2000]
    )
    assert held.kind == "lac"
    for level in (0.8, 0.9):
        sets = held.sets(two_classes(p[2000:]), level, frame[2000:])
        share = sets[np.arange(4000), y[2000:]].mean()
        assert level - 0.04 < share < level + 0.06
        order = np.argsort(p[2000:])
        assert (np.diff(sets[order, 1].astype(int)) >= 0).all()  # monotone in p
        assert (np.diff(sets[order, 0].astype(int)) <= 0).all()
        assert (sets == held.sets(two_classes(p[2000:]), level)).all()
    three = rng.dirichlet([1, 1, 1], 300)
    assert fit_conformal_scores("classification", y[:300], three).kind == "aps"


# Models of the folds that say about the same of all rows, and a kept one that says a
# little else: sets may hold too much, not too little.
def test_sets_of_two_classes_hold_where_all_rows_get_about_the_same():
    rng = np.random.default_rng(1)
    held = []
    for _ in range(40):
        y = (rng.random(400) < 0.3).astype(int)
        oof = np.repeat(0.3 + rng.uniform(-0.01, 0.01, 5), 80)
        kept = fit_conformal_scores("classification", y, two_classes(oof))
        new = np.full(400, 0.3 + rng.uniform(-0.01, 0.01))
        held.append(kept.sets(two_classes(new), 0.9)[np.arange(400), y].mean())
    assert min(held) == 1


def test_no_rows_leave_no_scores():
    assert fit_conformal_scores("regression", [], []) is None
    assert fit_conformal_scores("regression", [1.0, 2.0], [np.nan, np.nan]) is None
    assert fit_conformal_scores("classification", [], np.zeros((0, 2))) is None
