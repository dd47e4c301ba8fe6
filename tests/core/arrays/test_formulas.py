"""Formulas and what they have learnt from the training rows."""

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("formulaic")
from pansophy.core.arrays.formulas import (
    design_of_training_rows,
    is_formula,
)

FRAME = pd.DataFrame(
    {"y": [1.0, 2, 3, 4], "x": [0.0, 1, 2, 4], "g": ["b", "a", "c", "a"]}
)


def test_paths_are_no_formulas():
    assert is_formula("log(y) ~ x") and not is_formula("~/rows.parquet")
    assert not is_formula(FRAME)


def test_new_rows_are_coded_by_the_levels_of_training():
    design, X, y = design_of_training_rows("y ~ x * g", FRAME, True)
    assert X.columns.tolist() == ["x", "g[T.b]", "g[T.c]", "x:g[T.b]", "x:g[T.c]"]
    assert design.levels == {"g": ["a", "b", "c"]} and y.tolist() == [1, 2, 3, 4]
    terms = {term.name: term.columns for term in design.terms}
    assert terms == {"x": [0], "g": [1, 2], "x:g": [3, 4]}
    new = design.rows(pd.DataFrame({"x": [3.0], "g": ["c"]}))
    np.testing.assert_array_equal(new, [[3, 0, 1, 0, 3]])
    with pytest.raises(ValueError, match="has the level 'z', which the training"):
        design.rows(pd.DataFrame({"x": [3.0], "g": ["z"]}))


def test_expressions_on_the_left():
    _, _, y = design_of_training_rows("np.log(y) ~ x", FRAME, True)
    np.testing.assert_allclose(y, np.log(FRAME["y"]))


@pytest.mark.parametrize(("formula", "fit_intercept", "words"), [
    ("y ~ x", False, "has an intercept, but fit_intercept is False"),
    ("y ~ x - 1", True, "has no intercept, but fit_intercept is True"),
    ("y ~ x +* g", True, "cannot be read"),
])  # fmt: skip
def test_refusals(formula, fit_intercept, words):
    with pytest.raises(ValueError, match=words):
        design_of_training_rows(formula, FRAME, fit_intercept)


def test_gaps_and_arrays_are_refused():
    with pytest.raises(ValueError, match="have missing values"):
        design_of_training_rows("y ~ x", FRAME.assign(x=[0, 1, np.nan, 2]), True)
    with pytest.raises(TypeError, match="needs a data frame"):
        design_of_training_rows("y ~ x", np.ones(3), True)
