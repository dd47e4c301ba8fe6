"""The blend has a held-out test of its own: no answer weighs what it is judged on."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeRegressor

import pansophy
from pansophy.compare import compare, corrected_interval
from pansophy.compare.execution import blend_trial
from pansophy.compare.execution.blend_trial import MIN_BLEND_ROWS, with_blend_trial
from pansophy.compare.execution.plan import ExecutionLimits
from pansophy.compare.execution.trials import Trial
from pansophy.compare.metrics import metrics_for
from pansophy.compare.report.formatting import describe_blend
from pansophy.compare.samples import Samples
from pansophy.compare.splits import Split, folds_of
from pansophy.tables import MixedFrame, Schema
from tests.compare.small_tables import table_of_numbers

QUICK = {"workers": 0, "repeats": 1, "progress": False}
SCHEMA = Schema("y", "regression", "", ())


def made(y, answers, kind="plain", repeats=2, folds=3):
    """Trials of methods with these answers (repeats, n), and the split."""
    cut = folds_of(y, "regression", folds, repeats, 0)
    split = Split(kind, "", cut, repeats)
    trials = []
    for name, p in answers.items():
        fits = [1.0] * len(cut)
        trials.append(
            Trial(SimpleNamespace(name=name), {}, fits, fits, all_predictions=p)
        )
    return trials, split


def blend(y, trials, split, weight=None):
    data = Samples(MixedFrame(np.zeros((len(y), 1))), y, weight)
    metrics = metrics_for("regression")
    return with_blend_trial(trials, data, SCHEMA, metrics, split, ExecutionLimits())


def noisy(n=MIN_BLEND_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=n)
    draw = lambda s: y + s * rng.normal(size=(2, n))
    return y, {"a": draw(1.0), "b": draw(1.0), "c": draw(1.5)}


def test_weights_of_a_fold_do_not_know_its_answers():
    y, answers = noisy()
    trials, split = made(y, answers)
    before = blend(y, trials, split)[0][-1]
    test = split.folds[1][1]
    other = y.copy()
    other[test] = trials[2].all_predictions[0, test]  # as if the worst were the best
    after = blend(other, trials, split)[0][-1]
    assert np.array_equal(
        before.all_predictions[0, test], after.all_predictions[0, test]
    )
    rest = split.folds[0][1]
    assert not np.array_equal(
        before.all_predictions[0, rest], after.all_predictions[0, rest]
    )


def test_along_time_only_earlier_folds_weigh():
    y, answers = noisy()
    trials, split = made(y, answers, "time-ordered", repeats=1)
    before = blend(y, trials, split)[0][-1]
    first, second = split.folds[0][1], split.folds[1][1]
    equal = np.mean([t.all_predictions[0, first] for t in trials], 0)
    assert np.allclose(before.all_predictions[0, first], equal)
    later = y.copy()
    later[split.folds[2][1]] = trials[2].all_predictions[0, split.folds[2][1]]
    after = blend(later, trials, split)[0][-1]
    assert np.array_equal(
        before.all_predictions[0, second], after.all_predictions[0, second]
    )


def test_scores_are_those_of_the_average_in_each_fold():
    y, answers = noisy()
    trials, split = made(y, answers)
    found = blend(y, trials, split)[0][-1]
    for f, (_, test) in enumerate(split.folds):
        p = found.all_predictions[f // 3, test]
        assert found.scores["rmse"][f] == pytest.approx(
            np.sqrt(np.mean((y[test] - p) ** 2))
        )
    best = min(np.mean((y - p) ** 2) for p in (answers["a"], answers["b"]))
    assert np.mean(found.losses) < 0.7 * best  # errors of two that err apart
    assert found.fit_seconds[0] >= 2 and found.method.blend_weights["a"] > 0


def test_rows_that_weigh_more_say_more():
    y, answers = noisy()
    w = np.where(np.arange(len(y)) < len(y) // 2, 9.0, 1.0)
    rng = np.random.default_rng(2)
    uneven = y + np.where(w > 1, 0.3, 3.0) * rng.normal(size=(2, len(y)))
    trials, split = made(y, {**answers, "a": uneven})
    share = lambda t: dict(zip([m.name for m in t.method.members], t.method.weights))
    plain, counted = (share(blend(y, trials, split, v)[0][-1]) for v in (None, w))
    assert plain.get("a", 0) + 0.2 < counted["a"]


def test_why_there_is_none():
    y, answers = noisy()
    trials, split = made(y, answers)
    alone = {"a": np.stack([y, y]), "b": np.stack([y, y]) + 1}
    assert blend(y, *made(y, alone))[1].reason == "no average is better than a alone"
    assert "two methods" in blend(y, trials[:1], split)[1].reason
    lost = [replace(trials[0], failure="died"), trials[1]]
    assert "two methods" in blend(y, lost, split)[1].reason
    assert (
        "memory"
        in blend(y, [replace(trials[0], all_predictions=None), *trials[1:]], split)[
            1
        ].reason
    )
    y, answers = noisy(MIN_BLEND_ROWS - 1)
    assert f"under {MIN_BLEND_ROWS:,} rows" in blend(y, *made(y, answers))[1].reason


def of_noise(seed, n=MIN_BLEND_ROWS, d=10):
    """Answers of ridges that have nothing but noise to learn from, and the ridges."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    ridges = {f"{k} columns, {s}": (k, s) for k in (2, 5, d) for s in (1.0, 300.0)}

    def fit(rows, k, s):
        A = X[rows, :k]
        return np.linalg.solve(A.T @ A + s * np.eye(k), A.T @ y[rows])

    answers = {name: np.empty((2, n)) for name in ridges}
    for f, (train, test) in enumerate(folds_of(y, "regression", 5, 2, 0)):
        for name, (k, s) in ridges.items():
            answers[name][f // 5, test] = X[test, :k] @ fit(train, k, s)
    return y, answers, {name: fit(slice(None), *r) for name, r in ridges.items()}


def test_what_a_blend_of_noise_promises_it_keeps():
    """Its score is not flattered by more than a hair, and its interval covers."""
    gaps, held = [], []
    for seed in range(100):
        y, answers, fitted = of_noise(seed)
        trials, split = made(y, answers, folds=5)
        trials, why = blend(y, trials, split)
        if why:
            continue
        method, beta = trials[-1].method, np.zeros(10)
        for m, a in zip(method.members, method.weights):
            beta[: len(fitted[m.name])] += a * fitted[m.name]
        truth = np.sqrt(1 + beta @ beta)  # columns and noise are standard Normal
        told = corrected_interval(trials[-1].scores["rmse"], split.ratio)
        gaps.append(told.mean - truth)
        held.append(told.low <= truth <= told.high)
    assert len(gaps) > 40
    assert abs(np.mean(gaps)) < 3 * np.std(gaps) / np.sqrt(len(gaps)) + 0.002
    assert np.mean(held) >= 0.89


class Memory(RegressorMixin, BaseEstimator):
    """Knows the answers of the rows it was fitted to, and nothing else."""

    def fit(self, X, y):
        self.known_ = dict(zip(X[:, 0].tolist(), y.tolist()))
        return self

    def predict(self, X):
        return np.array([self.known_.get(x, 0.0) for x in X[:, 0].tolist()])


OWN = {
    "line": LinearRegression(),
    "tree": DecisionTreeRegressor(min_samples_leaf=20, random_state=0),
    "memory": Memory(),
}


def test_from_a_table_to_a_saved_model_and_back(tmp_path):
    rows = table_of_numbers()
    found = compare(rows, "y", methods=OWN, blend=True, folder=tmp_path, **QUICK)
    first = found.leaderboard[0]
    assert first.method == found.winner == "blend" and "memory" not in first.blend
    assert first.fit_seconds > found.row("tree").fit_seconds
    new = table_of_numbers(20_000, seed=1)
    told, error = first.scores["rmse"], found.predict(new) - new["y"]
    assert told.low < np.sqrt(np.mean(error**2)) < told.high
    pansophy.save(found.model, tmp_path / "m.pansophy")
    model = pansophy.load(tmp_path / "m.pansophy")
    assert np.array_equal(model.predict(new), found.predict(new))
    assert "% line" in str(model)
    members = describe_blend(first.blend)
    assert f"blend: {members}." in str(found)
    page = found.report(tmp_path / "r.html").read_text("utf-8")
    assert f"An average of {members}" in page
    assert f"the average of {members}" in page
    assert found.trial("blend").model.predict(found.data.frame).shape == (
        MIN_BLEND_ROWS,
    )


def test_by_default_only_where_everything_is_tried(monkeypatch):
    rows = table_of_numbers(80)
    reason = dict(compare(rows, "y", **QUICK, max_fits=15).not_run)["blend"]
    assert "rows" in reason
    off = compare(rows, "y", **QUICK, max_fits=15, blend=False)
    assert dict(off.not_run)["blend"] == "turned off"
    named = compare(rows, "y", methods=["ridge", "lasso"], **QUICK)
    assert "blend" not in dict(named.not_run)
    assert len(named.leaderboard) == 3
    monkeypatch.setattr(blend_trial, "MIN_BLEND_ROWS", 10)
    found = compare(rows, "y", methods=["ridge", "lasso"], blend=True, **QUICK)
    assert "blend" in [r.method for r in found.leaderboard] + [
        n for n, _ in found.not_run
    ]
