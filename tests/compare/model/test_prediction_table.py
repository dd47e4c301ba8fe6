"""Predictions as columns: names that never hide each other, sets, reasons in words."""

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from pansophy.compare.model import shapley
from pansophy.compare.model.prediction_table import (
    add_distinct_columns,
    cell_formatter,
    conformal_columns,
    explained_output,
    explained_quantities,
    prediction_columns,
    prediction_table,
    reason_columns,
)
from pansophy.tree.explanation.shap import Explanation

P = np.array([[0.2, 0.5, 0.3], [0.7, 0.2, 0.1]])


class Model:
    """A model whose scores are given: only what a table of predictions asks for."""

    def __init__(self, task, p, classes=(), labels=(), held=None):
        self.schema = SimpleNamespace(
            task=task, target="y", classes=classes, labels=labels
        )
        self.p, self.held = p, held

    def raw_scores(self, frame):
        return self.p

    def decide(self, p):
        return (p > 0.5) * 1 if self.schema.task == "multilabel" else p.argmax(axis=1)

    def _conformal_scores(self, kind, instead):
        self.asked = kind, instead
        return self.held


CLASSES = Model("classification", P, classes=("a", "b", "c"))
LABELS = Model("multilabel", P, labels=("u", "v", "w"))
NUMBER = Model("regression", np.array([1.5, -2.0]))


def test_predictions_by_task():
    table = prediction_table(CLASSES, None, None)
    assert table.column_names == ["y", "p(a)", "p(b)", "p(c)"]
    assert table["y"].to_pylist() == ["b", "a"]
    assert table["p(c)"].to_pylist() == [0.3, 0.1]
    assert prediction_table(CLASSES, None, None, proba=False).column_names == ["y"]
    table = prediction_table(LABELS, None, None)
    assert table.column_names == ["u", "v", "w", "p(u)", "p(v)", "p(w)"]
    assert table["u"].to_pylist() == [0, 1]
    assert prediction_table(NUMBER, None, None).to_pydict() == {"y": [1.5, -2.0]}
    numbers = Model("classification", P, classes=(0, 5, 7))
    assert prediction_columns(numbers, P)["y"].to_pylist() == [5, 0]


def test_no_column_hides_another():
    got = add_distinct_columns({"p(a)": 1, "p(a)'": 2}, {"p(a)": 3, "z": 4})
    assert got == {"p(a)": 1, "p(a)'": 2, "p(a)''": 3, "z": 4}
    given = {"x": 1}
    add_distinct_columns(given, {"x": 2})
    assert given == {"x": 1}
    odd = Model("classification", P[:, :2], classes=("a", "b"))
    odd.schema.target = "p(a)"
    assert prediction_table(odd, None, None).column_names == ["p(a)", "p(a)'", "p(b)"]


def test_sets_and_intervals():
    sets = np.array([[True, False, True], [False, False, False]])
    seen = []

    class Held:
        def sets(self, p, level, frame):
            seen.append((level, frame))
            return sets

        def interval(self, p, level, frame):
            return np.stack([p - level, p + level], axis=1)

    model = Model("classification", P, ("a", "b", "c"), held=Held())
    got = conformal_columns(model, P, 0.9, "frame")
    assert got["y set"].to_pylist() == [["a", "c"], []]
    assert model.asked[0] == "classification" and seen == [(0.9, "frame")]
    number = Model("regression", NUMBER.p, held=Held())
    table = prediction_table(number, None, None, level=0.5)
    assert table.to_pydict() == {
        "y": [1.5, -2.0], "y low": [1.0, -2.5], "y high": [2.0, -1.5],
    }  # fmt: skip
    assert number.asked[0] == "number"


def explanation(values, base, scale=""):
    values = np.array(values, float)
    return Explanation(
        values, np.array(base, float), None, ["age", "city"], scale=scale
    )


TWO_COLUMNS = pa.table({"age": [31.25, None], "city": ["Rome", "x" * 50]})


def test_reasons_in_words(monkeypatch):
    found = explanation([[0.5, -2.0], [1.0, 0.25]], 0.125)
    monkeypatch.setattr(shapley, "explain_rows", lambda model, frame: found)
    got = reason_columns(NUMBER, TWO_COLUMNS, None, NUMBER.p, 2)
    assert list(got) == ["reasons for", "y base", "reason 1", "reason 2"]
    assert got["reasons for"].to_pylist() == ["y", "y"]
    assert got["y base"].to_pylist() == [0.125, 0.125]
    assert got["reason 1"].to_pylist() == ["city = Rome (-2)", "age = missing (+1)"]
    short = "x" * 37 + "..."
    assert got["reason 2"].to_pylist() == [
        "age = 31.25 (+0.5)",
        f"city = {short} (+0.25)",
    ]
    table = prediction_table(NUMBER, TWO_COLUMNS, None, explain=1)
    assert table.column_names == ["y", "reasons for", "y base", "reason 1"]
    every = prediction_table(NUMBER, TWO_COLUMNS, None, explain=True)
    assert every.column_names[-1] == "reason 2"  # three were asked for, two there are
    with pytest.raises(ValueError, match="explain must name 1 column or more, got -1"):
        prediction_table(NUMBER, TWO_COLUMNS, None, explain=-1)


def test_each_row_is_told_about_its_own_class():
    values = np.arange(12.0).reshape(2, 2, 3)
    found = explanation(values, [10, 20, 30], "probability")
    shares, base = explained_output(CLASSES, found, P)  # predicted: b and a
    assert shares.tolist() == [[1, 4], [6, 9]] and base.tolist() == [20, 10]
    assert explained_quantities(CLASSES, found, P) == [
        "probability of b", "probability of a",
    ]  # fmt: skip
    shares, base = explained_output(LABELS, found, P)  # the likeliest label
    assert shares.tolist() == [[1, 4], [6, 9]]
    assert explained_quantities(LABELS, found, P)[1] == "probability of u"


def test_of_two_classes_the_second_is_explained():
    model = Model("classification", P[:, :2], classes=("no", "yes"))
    found = explanation([[0.5, -2.0], [1.0, 0.25]], 0.125, "log odds")
    shares, base = explained_output(model, found, P[:, :2])
    assert shares is found.values and base.tolist() == [0.125, 0.125]
    told = explained_quantities(model, found, P[:, :2])
    assert told == ["log odds of yes", "log odds of yes"]


def test_cells():
    word = cell_formatter(pa.chunked_array([[1.23456, None, 2.0]]))
    assert [word(i) for i in range(3)] == ["1.235", "missing", "2"]
    words = cell_formatter(pa.array(["x" * 40, "x" * 41]))
    assert words(0) == "x" * 40 and words(1) == "x" * 37 + "..."
    assert cell_formatter(pa.array([True]))(0) == "True"
