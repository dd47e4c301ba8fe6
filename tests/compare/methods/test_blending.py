"""Averages of methods: greedy weights, and the estimator that holds the members."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import Pipeline

import pansophy
from pansophy.compare.methods.blending import (
    MAX_WEIGHT_ROWS,
    Blend,
    greedy_weights,
    make_blend,
)
from pansophy.compare.methods.method import FitContext
from pansophy.compare.methods.method_choice import choose_methods, wants_blend
from pansophy.compare.methods.pipelines import (
    fit_pipeline,
    learned_choices,
    make_pipeline,
)
from pansophy.naive_bayes import GaussianNB
from pansophy.tables import Column, MixedFrame, Schema

squared = lambda y, p, w=None: float(np.average((y - p) ** 2, weights=w))


def piped(model):
    return Pipeline([("prepare", "passthrough"), ("model", model)])


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
@given(st.integers(0, 1000), st.integers(2, 8), st.integers(1, 3))
def test_never_worse_than_the_best_member_and_never_more_than_wanted(seed, m, most):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=30)
    P = y + rng.normal(size=(m, 30)) * rng.uniform(0.1, 2, (m, 1))
    a = greedy_weights(P, y, squared, max_members=most)
    assert a.min() >= 0 and a.sum() == pytest.approx(1)
    assert 1 <= np.sum(a > 0) <= most
    assert squared(y, a @ P) <= min(squared(y, p) for p in P) + 1e-12


def test_many_rows_are_thinned_and_a_greater_score_is_as_good_as_a_lower_loss():
    rng = np.random.default_rng(0)
    y = rng.normal(size=3 * MAX_WEIGHT_ROWS)
    P = y + rng.normal(size=(3, len(y))) * [[1.0], [1.0], [3.0]]
    asked = []

    def loss(y, p, w=None):
        asked.append(len(y))
        return -1 / (1 + squared(y, p))  # below 0, as a score turned round is

    a = greedy_weights(P, y, loss)
    assert set(asked) == {MAX_WEIGHT_ROWS}
    assert a == pytest.approx([0.47, 0.47, 0.06], abs=0.04)  # inverse variances


def test_a_blend_is_the_weighted_mean_of_its_members(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3))
    y = (X[:, 0] + rng.normal(size=90) > 0).astype(int) + (X[:, 1] > 1)
    members = [("logit", piped(LogisticRegression())), ("bayes", piped(GaussianNB()))]
    model = Blend(members, [0.25, 0.75], task="classification")
    fit_pipeline(model, X, y, np.ones(90))
    p, q = (m.fit(X, y).predict_proba(X) for _, m in members)
    assert np.allclose(model.predict_proba(X), p / 4 + 3 * q / 4)
    assert np.array_equal(model.predict(X), (p / 4 + 3 * q / 4).argmax(1))
    assert learned_choices(model) == {"weights": {"logit": 0.25, "bayes": 0.75}}
    pansophy.save(model, tmp_path / "b.pansophy")
    again = pansophy.load(tmp_path / "b.pansophy")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    line = Blend([("line", piped(LinearRegression()))], [1.0]).fit(X, X[:, 0])
    assert line.predict(X) == pytest.approx(X[:, 0])


def test_the_blend_is_a_method_like_the_others():
    columns = (Column("x", "number", ""), Column("z", "number", ""))
    schema = Schema("y", "regression", "", columns)
    run, _ = choose_methods(schema, 100, ["ridge", "extra trees", "lasso", "blend"])
    assert [m.name for m in run] == ["dummy", "ridge", "lasso", "extra trees"]
    made = make_blend(run[1:], (0.5, 0.0, 0.5), "regression")
    assert [m.name for m in made.members] == ["ridge", "extra trees"]
    assert made.weights == (0.5, 0.5) and made.origin == "pansophy"
    X = np.random.default_rng(0).normal(size=(80, 2))
    model = make_pipeline(made, schema, FitContext("regression", 80, 0))
    fit_pipeline(model, MixedFrame(X), X[:, 0])
    assert model.weights_ == {"ridge": 0.5, "extra trees": 0.5}
    assert squared(X[:, 0], model.predict(MixedFrame(X))) < 0.1


def test_members_share_what_prepares_their_rows(tmp_path):
    columns = (Column("x", "number", ""), Column("z", "number", ""))
    schema, setting = (
        Schema("y", "regression", "", columns),
        FitContext("regression", 80, 0),
    )
    run, _ = choose_methods(schema, 100, ["ridge", "lasso", "gradient boosting"])
    X = np.random.default_rng(0).normal(size=(80, 2))
    X[::7, 1] = np.nan
    made = make_blend(run[1:], (0.5, 0.25, 0.25), "regression")
    model = fit_pipeline(make_pipeline(made, schema, setting), MixedFrame(X), X[:, 0])
    ridge, lasso, trees = (m[0] for m in model.members_)
    assert ridge is lasso and ridge is not trees
    alone = [
        fit_pipeline(make_pipeline(m, schema, setting), MixedFrame(X), X[:, 0])
        for m in made.members
    ]
    parts = [a * m.predict(MixedFrame(X)) for a, m in zip(made.weights, alone)]
    both = model.predict(MixedFrame(X)), np.sum(parts, axis=0)
    np.testing.assert_allclose(*both, rtol=1e-12, atol=1e-12)
    pansophy.save(model, tmp_path / "b.pansophy")
    again = pansophy.load(tmp_path / "b.pansophy")
    assert again.members_[0][0] is again.members_[1][0]
    assert np.array_equal(again.predict(MixedFrame(X)), model.predict(MixedFrame(X)))


@pytest.mark.parametrize(
    ("blend", "methods", "wanted"),
    [
        (None, None, True),
        (None, ["ridge", "lasso"], False),
        (None, ["ridge", "Blend"], True),
        (None, {"own": LinearRegression()}, False),
        (True, ["ridge", "lasso"], True),
        (False, None, False),
    ],
)
def test_when_a_blend_is_tried(blend, methods, wanted):
    assert wants_blend(blend, methods) is wanted
