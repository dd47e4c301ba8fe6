"""Intervals and sets: ranks by hand, coverage by simulation, peers, estimators."""

from fractions import Fraction
from itertools import pairwise
from math import ceil

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import estimator_checks_generator

from pansophy.compare import (
    ConformalClassifier,
    ConformalRegressor,
    cv_plus_interval,
    cv_plus_sets,
    fit_prediction_sets,
    interval_offsets,
    interval_quantile,
    prediction_sets,
    score_quantile,
)
from pansophy.compare.evaluation.conformal import (
    class_scores,
    conformal_rank,
    quantile_scores,
)
from pansophy.linear_model import Ridge
from tests.compare.evaluation.drawn_classes import drawn_classes


@given(st.integers(1, 300), st.integers(1, 99))
def test_rank_is_exact(n, percent):
    assert conformal_rank(n, percent / 100) == ceil((n + 1) * Fraction(percent, 100))


def test_quantile_by_hand():
    scores = np.arange(1.0, 20)  # 19 rows: the 18th of 20 at 90 %
    assert score_quantile(scores, 0.9) == 18
    assert score_quantile(scores, 0.95) == 19
    assert score_quantile(scores, 0.96) == np.inf
    assert interval_quantile(-scores, 0.9) == 18
    low, high = interval_offsets(np.r_[-scores, 0, 10 * scores], 0.9)
    assert (low, high) == (-18, 180)


def test_coverage_is_between_its_bounds():
    """n = 19 at 90 %: exactly 18/20 of new rows, whatever the distribution."""
    rng = np.random.default_rng(0)
    for draw in (rng.normal, rng.exponential, rng.standard_cauchy):
        r = np.abs(draw(size=(4000, 20)))
        inside = [row[-1] <= score_quantile(row[:-1], 0.9) for row in r]
        assert np.mean(inside) == pytest.approx(0.9, abs=0.015)


def slow_cv_plus(centres, reach, fold, level):
    n, out = len(reach), []
    k = ceil((n + 1) * level - 1e-9)
    for row in centres:
        low = sorted(row[f] - r for f, r in zip(fold, reach))
        high = sorted(row[f] + r for f, r in zip(fold, reach))
        below = n - k  # floor((n + 1)(1 - level)) - 1, from 0
        out.append((low[below], high[k - 1]) if k <= n else (-np.inf, np.inf))
    return np.array(out)


def test_cv_plus_against_the_slow_way(rng):
    centres, fold = rng.normal(size=(7, 4)), np.arange(23) % 4
    reach = rng.exponential(size=23)
    for level in (0.5, 0.8, 0.9, 0.99):
        expected = slow_cv_plus(centres, reach, fold, level)
        assert np.allclose(cv_plus_interval(centres, reach, fold, level), expected)
    spread = np.full((7, 4), 2.0)
    twice = cv_plus_interval(centres, reach / 2, fold, 0.8, spread)
    assert np.allclose(twice, cv_plus_interval(centres, reach, fold, 0.8))


def test_cv_plus_sets_against_the_slow_way(rng):
    scores, fold = rng.random((6, 3, 4)), np.arange(20) % 3
    own, labels = rng.random(20), np.arange(20) % 4
    for by in (None, labels):
        sets = cv_plus_sets(scores, own, fold, 0.7, by)
        for x in range(6):
            for k in range(4):
                mine = np.ones(20, bool) if by is None else by == k
                below = sum(
                    own[i] < scores[x, fold[i], k] for i in np.flatnonzero(mine)
                )
                assert sets[x, k] >= (below < (mine.sum() + 1) * 0.7)


def test_scores_by_hand():
    p = np.array([[0.5, 0.3, 0.2], [0.25, 0.25, 0.5]])
    assert np.allclose(class_scores(p, "lac"), 1 - p)
    s = class_scores(p, "aps")
    above = np.array([[0, 0.5, 0.8], [0.5, 0.5, 0]])
    u = (s - above) / p
    assert np.allclose(u, u[:, :1]) and np.all((u >= 0) & (u < 1))
    assert quantile_scores(np.array([0.0, 5.0]), [1, 4], [2, 7]).tolist() == [1, -1]


@pytest.mark.parametrize("how", ["lac", "aps"])
@pytest.mark.parametrize("by_class", [False, True])
def test_sets_cover(how, by_class):
    rng = np.random.default_rng(0)
    held, sizes = [], []
    for _ in range(40):
        _, y, p = drawn_classes(rng, 600)
        rule = fit_prediction_sets(p[:300], y[:300], 0.85, how, by_class)
        sets = prediction_sets(p[300:], rule)
        hit = sets[np.arange(300), y[300:]]
        held.append([hit.mean(), *(hit[y[300:] == k].mean() for k in range(3))])
        sizes.append(sets.sum(1).mean())
    all_, *each = np.mean(held, axis=0)
    assert 0.84 <= all_ <= 0.91
    if by_class:
        assert min(each) >= 0.835
    assert 1 <= np.mean(sizes) < 2.5


def test_sets_are_never_empty_and_grow_with_the_level(rng):
    _, y, p = drawn_classes(rng, 200)
    sets = [
        fit_prediction_sets(p, y, level, "lac").apply(p)
        for level in (0.05, 0.5, 0.9, 0.999)
    ]
    assert all(s.any(1).all() for s in sets)
    assert all(np.all(a <= b) for a, b in pairwise(sets))
    assert sets[-1].all()  # too few rows for such a promise: every class
    rare = fit_prediction_sets(p[y != 2], y[y != 2], 0.9, by_class=True)
    assert rare.q[2] == np.inf


ESTIMATORS = [
    ConformalRegressor(method="split"),
    ConformalClassifier(method="split"),
    pytest.param(ConformalRegressor(cv=2, spread=Ridge()), marks=pytest.mark.slow),
    pytest.param(ConformalClassifier(cv=2), marks=pytest.mark.slow),
    pytest.param(ConformalRegressor(), marks=pytest.mark.slow),
    pytest.param(ConformalRegressor(method="cqr"), marks=pytest.mark.slow),
    pytest.param(
        ConformalClassifier(method="split", kind="lac"), marks=pytest.mark.slow
    ),
]


@pytest.mark.filterwarnings("ignore")  # the checks fit odd data on purpose
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
def test_scikit_learn_checks(estimator):
    for model, check in estimator_checks_generator(estimator):
        check(model)


def test_sets_of_a_saved_model_hold_where_all_rows_get_the_same_probabilities():
    """The kept model says other probabilities than those of the folds did."""
    from pansophy.compare.evaluation.conformal_scores import fit_conformal_scores
    from pansophy.tables import MixedFrame

    rng = np.random.default_rng(0)
    held = []
    for _ in range(30):
        x, y = MixedFrame(rng.normal(size=(400, 2))), rng.integers(0, 3, 400)
        shift = np.repeat(rng.uniform(-0.01, 0.01, 5), 80)  # one for each fold
        oof = np.column_stack([1 / 3 + shift, 1 / 3 - shift, np.full(400, 1 / 3)])
        kept = fit_conformal_scores("classification", y, oof, x)
        p = np.full((400, 3), [0.336, 0.333, 0.331])
        new = MixedFrame(rng.normal(size=(400, 2)))
        held.append(kept.sets(p, 0.8, new)[np.arange(400), y].mean())
    assert 0.78 < np.mean(held) < 0.83 and min(held) > 0.7


def test_digits_of_rows():
    from pansophy.tables import MixedFrame

    values = np.random.default_rng(0).normal(size=(2000, 3))
    values[:100, 1] = np.nan
    texts = (pa.array(["a", None] * 1000),)
    u = MixedFrame(values, texts).digits()
    assert u.min() >= 0 and u.max() < 1 and len(set(u)) == 2000
    assert abs(np.histogram(u, 10, (0, 1))[0] - 200).max() < 60
    rows = [5, 1999, 7]
    assert (MixedFrame(values, texts)[rows].digits() == u[rows]).all()
