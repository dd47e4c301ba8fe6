"""Averages of methods: weights from inner folds, no row of the test part seen."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline

import pansophy
from pansophy.compare.methods.blending import Blend, blend_of, greedy_weights
from pansophy.compare.methods.choice import Setting, choose
from pansophy.compare.methods.pipelines import decided, fit_pipeline, pipeline
from pansophy.compare.methods.tuning import loss_of
from pansophy.naive_bayes import GaussianNB
from pansophy.tables import Column, Frame, Schema
from pansophy.tree import DecisionTreeRegressor

squared = lambda y, p, w=None: float(np.average((y - p) ** 2, weights=w))


def piped(model):
    return Pipeline([("prepare", "passthrough"), ("model", model)])


class Spy(RegressorMixin, BaseEstimator):
    """Knows the answers of the rows it was fitted to, and remembers who asked."""

    seen: list = []

    def fit(self, X, y, sample_weight=None):
        self.known_ = dict(zip(X[:, 0].astype(int), y))
        Spy.seen.append(("fit", set(self.known_)))
        return self

    def predict(self, X):
        rows = X[:, 0].astype(int)
        Spy.seen.append(("predict", set(rows)))
        return np.array([self.known_.get(r, 1e3) for r in rows], dtype=float)


def test_outer_test_rows_are_never_seen_and_memory_earns_no_weight():
    Spy.seen.clear()
    rng = np.random.default_rng(0)
    X = np.c_[np.arange(100.0), rng.normal(size=100)]
    y = X[:, 1] + 0.1 * rng.normal(size=100)
    train, test = np.arange(0, 100, 2), np.arange(1, 100, 2)
    model = Blend([("line", piped(LinearRegression())), ("spy", piped(Spy()))])
    fit_pipeline(model, X[train], y[train])
    assert not set().union(*(rows for _, rows in Spy.seen)) & set(test)
    for (_, fitted), (_, asked) in zip(Spy.seen[0:6:2], Spy.seen[1:6:2]):
        assert not fitted & asked
    # perfect on rows it has seen, useless on others: out of fold that shows
    assert model.weights_ == {"line": 1.0} and len(model.members_) == 1
    assert decided(model) == {"weights": {"line": 1.0}}


def test_weights_by_hand():
    y = np.array([0.0, 0, 0, 0])
    P = np.array([[1.0, 1, 1, 1], [-2.0, -2, -2, -2], [9.0, 9, 9, 9]])
    a = greedy_weights(P, y, squared, rounds=30)
    assert a == pytest.approx([2 / 3, 1 / 3, 0])
    w = np.array([1.0, 0, 0, 0])
    Q = np.array([[0.0, 5, 5, 5], [1.0, 0, 0, 0]])
    assert greedy_weights(Q, y, squared, w).tolist() == [1, 0]
    assert greedy_weights(Q, y, squared).tolist()[1] > 0.9


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.integers(2, 5))
def test_never_worse_than_the_best_member_where_weights_are_found(seed, m):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    P = y + rng.normal(size=(m, 30)) * rng.uniform(0.1, 2, (m, 1))
    a = greedy_weights(P, y, squared)
    assert a.min() >= 0 and a.sum() == pytest.approx(1)
    assert squared(y, a @ P) <= min(squared(y, p) for p in P) + 1e-12


def test_a_blend_helps_where_members_err_apart():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    f = X[:, 0] + 2 * (X[:, 1] > 0) * (X[:, 2] > 0)
    y = f + 0.3 * rng.normal(size=600)
    members = [
        ("line", piped(LinearRegression())),
        ("tree", piped(DecisionTreeRegressor(min_samples_leaf=10))),
    ]
    model = Blend(members).fit(X[:300], y[:300])
    alone = [m.fit(X[:300], y[:300]).predict(X[300:]) for _, m in members]
    assert len(model.weights_) == 2
    assert squared(f[300:], model.predict(X[300:])) < 0.9 * min(
        squared(f[300:], p) for p in alone
    )


def test_classes_groups_weights_and_a_member_that_fails(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int)
    y[:3] = 2  # one group has this class alone
    g = np.r_[[0] * 3, np.arange(87) % 8 + 1]

    members = [
        ("logit", piped(LogisticRegression())),
        ("bayes", piped(GaussianNB())),
        ("broken", piped(LogisticRegression(C=-1.0))),
    ]
    model = Blend(members, task="classification")
    fit_pipeline(model, X, y, np.ones(90), g)
    p = model.predict_proba(X)
    assert p.shape == (90, 3) and np.allclose(p.sum(1), 1)
    assert list(model.failed_) == ["broken"] and "broken" not in model.weights_
    assert np.mean(model.predict(X) == y) > 0.6
    pansophy.save(model, tmp_path / "b.pansophy")
    assert np.array_equal(pansophy.load(tmp_path / "b.pansophy").predict_proba(X), p)
    with pytest.raises(ValueError, match="every member failed"):
        Blend([members[2]], task="classification").fit(X, y)


def test_the_blend_is_a_method_like_the_others():
    columns = (Column("x", "number", ""), Column("z", "number", ""))
    schema = Schema("y", "regression", "", columns)
    run, _ = choose(schema, 100, blend=True)
    assert run[-1].name == "blend" and run[-1].origin == "pansophy"
    run, _ = choose(schema, 100, ["ridge", "blend"])
    assert [m.name for m in run] == ["dummy", "ridge", "blend"]
    assert len(run[-1].members) >= 4 and all(m.trials == 0 for m in run[-1].members)
    assert blend_of(run[:1], "regression") == []
    quick = blend_of([m for m in choose(schema, 100)[0]
                      if m.name in ("ridge", "extra trees")], "regression")  # fmt: skip
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    model = pipeline(quick[0], schema, Setting("regression", 80, 0))
    fit_pipeline(model, Frame(X), X[:, 0])
    assert set(model.weights_) <= {"ridge", "extra trees"}
    assert loss_of("regression")(X[:, 0], model.predict(Frame(X))) < 0.1
