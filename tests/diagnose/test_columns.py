"""Single columns, pairs of columns, outliers and missing values."""

import datetime

import numpy as np
import pyarrow as pa
import pytest
import scipy.stats

from pansophy.diagnose import missingness, outliers
from pansophy.diagnose.column_checks import check_columns
from pansophy.diagnose.columns import numeric_matrix, table_view
from pansophy.diagnose.outliers import column_outliers, row_outliers
from pansophy.diagnose.related_columns import (
    Association,
    check_related,
    cramers_v,
    pairwise_correlation,
)

N = 600
LAWS = {
    "normal": lambda rng, n: rng.normal(size=n),
    "uniform": lambda rng, n: rng.random(n),
    "lognormal": lambda rng, n: np.exp(rng.normal(size=n)),
    "poisson": lambda rng, n: rng.poisson(3, n),
    "percent": lambda rng, n: rng.integers(0, 100, n),
    "two humps": lambda rng, n: rng.normal(size=n) + 9 * (rng.random(n) < 0.3),
}


def kinds(table):
    return {(f.column, f.kind) for f in check_columns(table_view(table))}


def test_clean_columns_raise_nothing(rng):
    table = {name: law(rng, N) for name, law in LAWS.items()}
    table |= {"kind": rng.choice(list("abc"), N), "yes": rng.random(N) < 0.3}
    seen = table_view(table)
    assert check_columns(seen) == [] and check_related(seen) == []


def test_planted_oddities_are_named(rng):
    age = rng.integers(18, 80, N)
    age[:30] = -999
    table = {
        "one": [7] * N,
        "nearly": np.r_[1, np.zeros(N - 1)],
        "gone": pa.nulls(N),
        "holes": np.where(rng.random(N) < 0.7, np.nan, rng.normal(size=N)),
        "age": age,
        "town": rng.choice(["Rome", "rome ", "Oslo"], N),
        "reply": rng.choice(["good", "bad", "unknown"], N),
        "price": [f"{i}.5" if i % 5 else "on request" for i in range(N)],
        "inf": np.r_[np.inf, 1e200, rng.normal(size=N - 2)],
        "tiny": 1e-9 * rng.normal(size=N),
        "street": rng.choice([f"street {i}" for i in range(150)], N),
        "a": rng.normal(size=N),
        "b": rng.normal(size=N),
        "list": pa.array([[i] for i in range(N)]),
    }
    found = kinds(table)
    assert found >= {
        ("one", "constant"),
        ("nearly", "nearly constant"),
        ("gone", "empty"),
        ("holes", "mostly missing"),
        ("age", "code for missing"),
        ("town", "spelling variants"),
        ("reply", "hidden missing"),
        ("price", "mixed types"),
        ("inf", "infinite"),
        ("tiny", "odd scale"),
        ("street", "many levels"),
        ("list", "other type"),
    }
    assert not {c for c, _ in found} & {"a", "b"}
    (text,) = [f.text for f in check_columns(table_view(table)) if f.column == "age"]
    assert "-999 in 30 rows" in text and "18 to 79" in text


def test_dates_in_the_future_and_far_away(rng):
    today = datetime.date.today()
    days = lambda k: today + datetime.timedelta(int(k))
    soon = [days(k) for k in rng.integers(-300, 30, N)]
    ends = [days(k) for k in rng.integers(-300, -1, N)]
    ends[:20] = [datetime.date(9999, 12, 31)] * 20
    past = [days(k) for k in rng.integers(-300, -1, N)]
    found = kinds({"soon": soon, "ends": ends, "past": past})
    assert found == {("soon", "future dates"), ("ends", "code for missing")}


def test_copied_and_related_columns(rng):
    a, kind = rng.normal(size=N), rng.choice(list("abc"), N)
    table = {
        "a": a,
        "again": a,
        "bent": np.exp(a),
        "kind": kind,
        "renamed": np.char.add("x", kind),
        "weight": np.where(kind == "a", 1.0, 5.0) + 0.01 * rng.normal(size=N),
    }
    found = [
        (f.kind, f.facts["of"], f.column) for f in check_related(table_view(table))
    ]
    assert ("duplicated column", "a", "again") in found
    assert ("duplicated column", "kind", "renamed") in found
    assert ("correlated columns", "a", "bent") in found
    assert any("weight" in pair for pair in found)


def test_association_against_scipy(rng):
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    for i, j in ((0, 1), (2, 3)):
        both = ~np.isnan(X[:, [i, j]]).any(axis=1)
        r = scipy.stats.pearsonr(X[both, i], X[both, j]).statistic
        assert pairwise_correlation(X)[i, j] == pytest.approx(r, abs=1e-12)
    a, b = rng.integers(0, 40, N), rng.integers(0, 40, N)
    assert cramers_v(a, b) < 0.1 and cramers_v(a, a) == pytest.approx(1)
    found = Association(table_view({"x": X[:, 0], "k": a.astype(str)}))
    assert found.matrix[0, 1] < 0.2


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


def test_map_of_missing_values(rng):
    x = rng.normal(size=N)
    gap = rng.random(N) < 0.2
    table = {
        "x": x,
        "a": np.where(gap, np.nan, 1.0),
        "b": np.where(gap, None, "u"),
        "c": np.where(x > 1, np.nan, rng.normal(size=N)),
        "d": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
    }
    found = missingness(table)
    assert found.together == [("a", "b", pytest.approx(1.0))]
    assert found.depends[0][:2] == ("c", "x") and found.depends[0][2] > 0.95
    assert {a for a, _, _ in found.depends} == {"c"}
    patterns = dict(found.patterns)
    assert sum(patterns.values()) == N and patterns[()] == found.complete
    assert "'c' is not missing at random" in str(found)
    assert str(missingness({"x": x})) == "No value is missing."
