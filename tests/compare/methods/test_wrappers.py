"""Wrappers of methods: rare classes, votes of pairs, constant labels."""

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.svm import SVC

from pansophy.compare.methods.method import FitContext
from pansophy.compare.methods.pipelines import make_pipeline
from pansophy.compare.methods.portfolio import METHODS
from pansophy.compare.methods.wrappers import (
    FlooredCounts,
    MultiLabel,
    ScoreCalibrated,
    SmoothedProbabilities,
    pairwise_votes,
)
from pansophy.svm import LinearSVC
from pansophy.tree import DecisionTreeClassifier
from tests.compare.methods.problems import problem


def test_rare_classes_do_not_stop_the_calibration():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    y[:2], y[2] = 2, 3  # two rows, and one
    p = ScoreCalibrated(LinearSVC()).fit(X, y).predict_proba(X)
    assert p.shape == (60, 4) and np.allclose(p.sum(1), 1)
    w = np.where(np.arange(60) < 30, 1.0, 0.0)
    assert np.isfinite(
        ScoreCalibrated(LinearSVC()).fit(X, y > 0, w).predict_proba(X)
    ).all()


def test_pairs_of_classes_vote_by_how_sure_they_are():
    F = np.array([[2.0, -1.0, 0.5]])  # 0 against 1, 0 against 2, 1 against 2
    sure = lambda z: -np.log1p(np.exp(-3.0 * z))
    expected = [[sure(2) + sure(-1), sure(-2) + sure(0.5), sure(1) + sure(-0.5)]]
    assert np.allclose(pairwise_votes(F, 3, 3.0), expected)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = np.eye(3)[y] * 2 + rng.normal(size=(300, 3))
    loss = {}
    for shape in ("ovo", "ovr"):
        model = ScoreCalibrated(SVC(decision_function_shape=shape)).fit(
            X[:200], y[:200]
        )
        loss[shape] = log_loss(y[200:], model.predict_proba(X[200:]))
    assert loss["ovo"] < loss["ovr"]


def test_a_label_that_is_always_the_same():
    X = np.arange(12.0)[:, None]
    Y = np.c_[X[:, 0] > 5, np.ones(12), np.zeros(12)].astype(int)
    for native in (True, False):
        model = MultiLabel(DecisionTreeClassifier(), native=native).fit(X, Y)
        assert np.array_equal(model.predict(X), Y)
    assert isinstance(FlooredCounts(LinearRegression()).fit(X, X[:, 0]), FlooredCounts)


def test_votes_leave_no_class_without_a_chance():
    X, y = np.repeat(np.eye(3), 5, axis=0), np.repeat([0, 1, 2], 5)
    model = SmoothedProbabilities(DecisionTreeClassifier()).fit(X, y)
    p = model.predict_proba(X)
    assert np.allclose(p.min(), 1 / 3 / 16) and np.allclose(p.sum(1), 1)
    w = np.full(15, 2.0)
    twice = SmoothedProbabilities(DecisionTreeClassifier()).fit(
        np.r_[X, X], np.r_[y, y]
    )
    heavy = SmoothedProbabilities(DecisionTreeClassifier()).fit(X, y, sample_weight=w)
    assert np.allclose(heavy.predict_proba(X), twice.predict_proba(X))
    for m in METHODS:
        if m.smoothed:
            steps = make_pipeline(m, problem(m.task)[0], FitContext(m.task, 50, 0))
            assert {m.prefix + name for name in m.space} <= set(steps.get_params())
