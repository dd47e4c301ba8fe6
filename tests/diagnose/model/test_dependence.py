"""Partial dependence: exact for an additive model, categories, single rows."""

import numpy as np
import pytest

from pansophy.diagnose import partial_dependence
from pansophy.diagnose.model.dependence import predictions_matrix, representative_rows
from pansophy.linear_model import LinearRegression, LogisticRegression


def test_curves_of_rows_differ_by_the_rest(rng):
    X = rng.normal(size=(30, 2))
    model = LinearRegression().fit(X, X @ [3.0, -1.0])
    d = partial_dependence(model, X, ["b"], names=["a", "b"], points=5)[0]
    assert d.column == "b" and d.rows.shape == (30, 5, 1)
    np.testing.assert_allclose(d.mean, d.rows.mean(axis=0))
    shift = d.rows[:, :, 0] + np.array(d.values)
    np.testing.assert_allclose(shift, np.repeat(3 * X[:, :1], 5, axis=1), atol=1e-9)
    assert str(d).startswith("Along 'b' the mean prediction of prediction goes from")


def test_two_classes_have_one_output_and_three_have_three(rng):
    X = rng.normal(size=(60, 2))
    two = LogisticRegression().fit(X, np.where(X[:, 0] > 0, "yes", "no"))
    d = partial_dependence(two, X, [0], points=3)[0]
    assert d.outputs == ["yes"] and (np.diff(d.mean[:, 0]) > 0).all()
    three = LogisticRegression().fit(X, np.digitize(X[:, 0], [-0.5, 0.5]))
    np.testing.assert_allclose(predictions_matrix(three, X).sum(axis=1), 1)


def test_values_of_the_grid_occur_in_the_column():
    rows, values = representative_rows(np.array([5.0, np.nan, 1.0, 3.0]), 3)
    assert values == [1, 3, 5] and rows.tolist() == [2, 3, 0]
    words = np.array(["b", "a", "b", None, "c", "c"], dtype=object)
    rows, values = representative_rows(words, 2)
    assert values == ["b", "c"] and rows.tolist() == [0, 4]
    assert representative_rows(np.array([np.nan]), 3) == ([0], ["missing"])


def test_few_rows_are_asked_about(rng):
    X = rng.normal(size=(50, 1))
    model = LinearRegression().fit(X, X[:, 0])
    assert partial_dependence(model, X, [0], most=7)[0].rows.shape[0] == 7
    with pytest.raises((ValueError, KeyError, IndexError)):
        partial_dependence(model, X, ["nobody"])
