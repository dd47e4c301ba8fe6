"""Shares of columns: they add up, and they are Shapley's values."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from pansophy import plot
from pansophy.compare.model.shapley import explain_rows
from tests.compare.table_models import fitted, people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people(200)


def model_of(target, name, inputs=INPUTS, **how):
    return fitted(TABLE.select([*inputs, target]), target, name, **how)


CASES = [
    ("yes", "logistic regression", "exact", "log odds"),
    ("yes", "decision tree", "exact", "probability"),
    ("yes", "naive Bayes", "sampled", "probability"),
    ("score", "linear regression", "exact", "score"),
    ("score", "huber", "exact", "score"),
    ("score", "random forest", "exact", "score"),
    ("score", "nearest neighbours", "sampled", "score"),
]


def on_scale(model, frame, scale):
    """The answer that shares are shares of."""
    p = model.scores(frame)
    if model.schema.task != "classification":
        return p
    return np.log(p[:, 1] / p[:, 0]) if scale == "log odds" else p[:, 1]


@pytest.mark.parametrize(("target", "name", "how", "scale"), CASES)
def test_shares_add_up_to_the_prediction(target, name, how, scale):
    model = model_of(target, name)
    some = TABLE.slice(0, 12)
    found = model.explain(some)
    assert (found.method, found.scale) == (how, scale)
    assert found.feature_names == INPUTS and found.values.shape == (12, 5)
    frame = model.schema.frame(some)
    assert np.allclose(found.predictions, on_scale(model, frame, scale), atol=1e-7)
    # the base is the mean of the background
    base = on_scale(model, model.background, scale)
    few = base[:32] if how == "sampled" else base
    assert np.isclose(found.base_values, few.mean(), atol=1e-7)
    assert (found.error is None) == (how == "exact")
    assert "shares of the" in str(found)


def brute_force(model, frame, Z, d):
    """Shapley's values by their definition, over all sets of columns."""
    f = lambda S: np.mean(
        [
            model.scores(
                type(frame)(
                    np.where([j in S for j in range(d)], frame.values, Z.values[b])
                )
            )[0]
            for b in range(len(Z))
        ]
    )
    value = {S: f(S) for k in range(d + 1) for S in combinations(range(d), k)}
    phi = np.zeros(d)
    for S, v in value.items():
        w = (
            factorial(len(S)) * factorial(d - len(S) - 1) / factorial(d)
            if len(S) < d
            else 0
        )
        for j in set(range(d)) - set(S):
            phi[j] += w * (value[tuple(sorted((*S, j)))] - v)
    return phi


@pytest.mark.parametrize(
    "name", ["linear regression", "decision tree", "nearest neighbours"]
)
def test_shares_are_shapley_values(name):
    model = model_of("score", name, ["age", "pay", "city"])
    frame = model.schema.frame(TABLE.slice(3, 1))
    if name == "nearest neighbours":
        Z = model.background[slice(0, 32)]
        runs = [explain_rows(model, frame, random_state=s) for s in range(12)]
        values = np.mean([r.values[0] for r in runs], axis=0)
        slack = 4 * runs[0].error[0].max() / np.sqrt(12)
    else:
        Z, slack = model.background, 1e-8
        values = model.explain(TABLE.slice(3, 1)).values[0]
    truth = brute_force(model, frame, Z, 3)
    assert np.abs(values - truth).max() <= slack


def test_a_column_that_the_model_ignores_has_no_share():
    model = model_of("yes", "naive Bayes", ["age", "city"])
    same = TABLE.slice(0, 4)
    city = model.background.values[0, 1]
    model.background.values[:, 1] = city  # all alike: knowing it changes nothing
    rows = model.schema.frame(same)
    rows.values[:, 1] = city
    found = explain_rows(model, rows)
    assert np.allclose(found.values[:, 1], 0)


def test_the_same_seed_gives_the_same_shares():
    model = model_of("yes", "naive Bayes", ["age", "pay", "city"])
    one, two = (model.explain(TABLE.slice(0, 3), random_state=5) for _ in range(2))
    assert (one.values == two.values).all()


def test_reasons_name_the_columns_in_the_words_of_the_table():
    model = model_of("yes", "logistic regression")
    row = model.answer(TABLE.slice(0, 2), explain=5).to_pylist()[0]
    told = " ".join(row[f"reason {k}"] for k in range(1, 6))
    assert f"city = {TABLE.column('city')[0].as_py()} (" in told
    assert f"age = {TABLE.column('age')[0].as_py():.4g} (" in told
    found = model.explain(TABLE.slice(0, 2))
    first = found.feature_names[np.argmax(np.abs(found.values[0]))]
    assert row["reason 1"].startswith(first)
    assert row["yes base"] == pytest.approx(found.base_values)


def test_figures_take_it():
    model = model_of("score", "linear regression")
    assert plot.shap_bar(model.explain(TABLE)).get_xlabel() == "mean |value|"


def test_what_the_reasons_are_for_is_said():
    yes = model_of("yes", "logistic regression")
    got = yes.answer(TABLE.slice(0, 40), explain=1).to_pydict()
    assert set(got["yes"]) == {"no", "yes"}  # whatever is predicted
    assert set(got["reasons for"]) == {"log odds of yes"}
    city = model_of("city", "logistic regression", ["age", "pay"])
    got = city.answer(TABLE.slice(0, 40), explain=1).to_pydict()
    assert got["reasons for"] == [f"score of {c}" for c in got["city"]]
    score = model_of("score", "linear regression")
    assert score.answer(TABLE.slice(0, 1), explain=1)["reasons for"][0].as_py() == (
        "score"
    )
