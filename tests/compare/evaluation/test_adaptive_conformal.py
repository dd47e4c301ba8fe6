"""Intervals and sets along time keep their level where errors drift."""

from itertools import pairwise

import numpy as np
import pytest

from pansophy.compare.evaluation.adaptive_conformal import (
    MAX_BLOCK_SCORES,
    AdaptiveScores,
    fit_adaptive_scores,
)
from pansophy.compare.evaluation.conformal import score_quantile


def drifting_series(kind, rng, n):
    t = np.arange(n)
    noise = rng.normal(size=n)
    if kind == "stationary":
        return noise
    if kind == "growing":
        return noise * (1 + 3 * t / n)
    if kind == "walk":
        return np.cumsum(noise)
    return 20 * (t / n) ** 2 + noise  # a bend that a line misses


def forecast(kind, y, start, end):
    """As far as `end`, from what is known up to `start`."""
    if kind == "walk":
        return np.full(end - start, y[start - 1])
    if kind == "bend":
        line = np.polyfit(np.arange(start), y[:start], 1)
        return np.polyval(line, np.arange(start, end))
    return np.zeros(end - start)


def coverage(kind, n=280, tables=120, level=0.9):
    """Of the next block, by adapted intervals and by the plain quantile."""
    adapted = plain = 0.0
    edges = np.linspace(0, n, 8).round().astype(int)
    for seed in range(tables):
        y = drifting_series(kind, np.random.default_rng([3, seed]), n)
        p = np.full(n, np.nan)
        for a, b in pairwise(edges[1:]):
            p[a:b] = forecast(kind, y, a, b)
        block = np.repeat(np.arange(7), np.diff(edges)) - 1
        seen = slice(0, edges[-2])
        held = fit_adaptive_scores("regression", y[seen], p[seen], block[seen])
        last = slice(edges[-2], n)
        low, high = held.interval(p[last], level).T
        adapted += np.mean((low <= y[last]) & (y[last] <= high)) / tables
        q = score_quantile(held.scores, level)
        plain += np.mean(np.abs(y[last] - p[last]) <= q) / tables
    return adapted, plain


@pytest.mark.parametrize("kind", ["stationary", "growing", "walk", "bend"])
def test_the_next_block_is_held_within_five_points(kind):
    adapted, plain = coverage(kind)
    assert adapted == pytest.approx(0.9, abs=0.05)
    if kind in ("growing", "bend"):
        assert plain < 0.8  # without adapting it is not


@pytest.mark.parametrize("rows", [5, 25])
def test_with_answers_fed_back_the_long_run_keeps_the_level(rows):
    """Whatever the series does: here errors that swell and shrink a hundredfold."""
    rng = np.random.default_rng(0)
    n = 1500
    size = 10 ** (np.sin(np.arange(n) / 180) + 1)
    errors = np.abs(rng.normal(size=n)) * size
    held = fit_adaptive_scores(
        "regression", errors[:100], np.zeros(100), np.arange(100) // 25
    )
    inside = []
    for start in range(100, n, rows):
        block = errors[start : start + rows]
        inside += (block <= held.reach(0.8).quantile).tolist()
        held = held.extended(block)
    assert np.mean(inside) == pytest.approx(0.8, abs=0.05)


def test_sets_of_classes_grow_where_they_missed():
    rng = np.random.default_rng(1)
    n = 400
    block = np.arange(n) // 100
    p = np.tile([0.7, 0.2, 0.1], (n, 1))
    right = np.array([0.7, 0.7, 0.35, 0.3])[block]  # the model gets worse
    y = np.where(rng.random(n) < right, 0, rng.integers(1, 3, n))
    p += rng.normal(0, 0.01, p.shape)
    p = np.abs(p) / np.abs(p).sum(1, keepdims=True)
    held = fit_adaptive_scores("classification", y, p, block)
    early = fit_adaptive_scores("classification", y[:200], p[:200], block[:200])
    assert held.sets(p, 0.8).sum(1).mean() > early.sets(p, 0.8).sum(1).mean()
    assert 0 < held.backtest(0.8) < 1


def test_stored_scores_are_few_and_never_too_small():
    rng = np.random.default_rng(2)
    r = rng.exponential(size=5000)
    block = np.arange(5000) // 1000
    held = fit_adaptive_scores("regression", r, np.zeros(5000), block)
    assert len(held.scores) == 5 * MAX_BLOCK_SCORES
    assert held.counts.sum() == 5000
    whole = AdaptiveScores("regression", r, np.ones(5000), block)
    for level in (0.5, 0.9, 0.99):
        kept = held.reach(level).quantile
        assert whole.reach(level).quantile <= kept * 1.02
        assert kept == pytest.approx(whole.reach(level).quantile, rel=0.05)


def test_whole_weights_are_repeated_rows_and_too_few_rows_say_so():
    rng = np.random.default_rng(3)
    y = rng.normal(size=60)
    block = np.arange(60) // 15
    w = rng.integers(0, 3, 60)
    weighted = fit_adaptive_scores("regression", y, 0 * y, block, weights=w)
    repeated = fit_adaptive_scores(
        "regression", np.repeat(y, w), np.zeros(w.sum()), np.repeat(block, w)
    )
    assert weighted.reach(0.8) == pytest.approx(repeated.reach(0.8))
    few = fit_adaptive_scores("count", y[:4], 0 * y[:4], block[:4])
    assert few.interval(np.ones(2), 0.9).tolist() == [[0.0, np.inf]] * 2
    assert np.isnan(few.backtest(0.9))
    assert fit_adaptive_scores("multilabel", y, 0 * y, block) is None
