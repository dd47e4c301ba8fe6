"""Outliers of columns and of rows."""

import numpy as np
import pytest

from pansophy.diagnose import outliers
from pansophy.diagnose.data.columns import numeric_matrix, table_view
from pansophy.diagnose.data.outliers import column_outliers, row_outliers

N = 600


LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "poisson": lambda rng, n: rng.poisson(3, n),
    "percent": lambda rng, n: rng.integers(0, 100, n),
    "two humps": lambda rng, n: rng.normal(size=n) + 9 * (rng.random(n) < 0.3),
}


@pytest.mark.parametrize("law", LAWS)
def test_laws_have_no_outliers(law):
    for seed in range(8):
        x = LAWS[law](np.random.default_rng(seed), N)
        assert column_outliers(table_view({"x": x}).columns[0]) is None


@pytest.mark.parametrize("law", ["normal", "lognormal"])
def test_planted_outliers(rng, law):
    x = LAWS[law](rng, N)
    x[[3, 50]] = 5000.0, 9000.0
    found = column_outliers(table_view({"x": x}).columns[0])
    assert sorted(found.rows) == [3, 50] and found.farthest == 9000.0
    (said,), _ = outliers({"x": x})
    assert "2 values are far" in said.text and "9000 in row 51" in said.text


def test_rows_odd_as_a_whole(rng):
    X = rng.normal(size=(1000, 8))
    assert len(row_outliers(numeric_matrix(table_view(X))[0]).rows) == 0
    X[:3] = 5.0
    assert sorted(row_outliers(numeric_matrix(table_view(X))[0]).rows[:3]) == [0, 1, 2]
