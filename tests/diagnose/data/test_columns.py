"""Columns of tables of any kind as arrays, and their scores."""

import datetime
import decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.stats

from pansophy.diagnose.data import columns
from pansophy.diagnose.data.columns import (
    ColumnValues,
    TableView,
    as_arrow_table,
    balanced_scores,
    date_text,
    encode_texts,
    is_very_skewed,
    numeric_matrix,
    read_arrow_column,
    robust_scale,
    robust_scores,
    sample_rows,
    skewness_of,
    table_view,
)
from pansophy.tables import TableError

NAN = float("nan")


def read(values, type=None):
    return read_arrow_column(pa.array(values, type), "x")


def test_numbers():
    c = read([3, None, -1], pa.int32())
    assert (c.kind, c.type, c.whole, c.categorical) == ("number", "int32", True, False)
    np.testing.assert_array_equal(c.numbers, [3, NAN, -1])
    assert c.codes is None and c.missing.tolist() == [False, True, False]
    assert len(c) == 3
    floats = read([0.5, 1.5])
    assert (floats.kind, floats.whole) == ("number", False)
    money = read([decimal.Decimal("1.25"), None])
    np.testing.assert_array_equal(money.numbers, [1.25, NAN])


def test_infinite_and_huge_numbers_count_as_missing():
    c = read([1.0, np.inf, -np.inf, 1e151, -1e149, NAN, None])
    assert c.infinite == 3
    assert c.missing.tolist() == [False, True, True, True, False, True, True]
    assert read([1.0, NAN]).infinite == read([1.0]).infinite == 0
    assert read([1.0, 1e150]).missing.tolist() == [False, False]
    tiny = read([1e-151, -1e-151, 1e-149])
    assert tiny.numbers.tolist() == [0.0, 0.0, 1e-149]


def test_yes_or_no_dates_and_times():
    flags = read([True, None, False])
    assert flags.kind == "yes/no" and not flags.categorical and not flags.whole
    np.testing.assert_array_equal(flags.numbers, [1, NAN, 0])
    days = read([datetime.date(1970, 1, 3), None])
    assert days.kind == "date"
    np.testing.assert_array_equal(days.numbers, [2 * columns.DAY, NAN])
    assert days.show(days.numbers[0]) == "1970-01-03"
    stamp = read([datetime.datetime(1970, 1, 1, 0, 1)], pa.timestamp("ms"))
    assert stamp.kind == "date" and stamp.numbers.tolist() == [60.0]
    assert date_text(60) == "1970-01-01T00:01:00"
    assert date_text(-columns.DAY) == "1969-12-31"
    span = read([datetime.timedelta(seconds=5)])
    assert span.kind == "number" and span.numbers.tolist() == [5.0]


def test_texts():
    c = read(["b", "a", None, "b"])
    assert (c.kind, c.categorical, c.levels) == ("text", True, ("b", "a"))
    assert c.codes.tolist() == [0, 1, -1, 0] and c.codes.dtype == np.int64
    assert c.numbers is None and c.missing.tolist() == [False, False, True, False]
    assert c.labelled() is c.codes and c.show("b") == "'b'" and len(c) == 4
    coded = pa.array(["b", "a", None, "b"]).dictionary_encode()
    assert read_arrow_column(coded, "x").levels == ("b", "a")


def test_texts_of_numbers_and_dates_have_both():
    numbers = read(["1.5", "2.5", None] * 10)
    assert numbers.kind == "number" and numbers.levels == ("1.5", "2.5")
    np.testing.assert_array_equal(numbers.numbers[:3], [1.5, 2.5, NAN])
    assert numbers.codes[:3].tolist() == [0, 1, -1]
    dates = read(["2020-01-01", "2020-01-02"] * 10)
    assert dates.kind == "date" and dates.role == "date"
    assert dates.numbers[:2].tolist() == [1577836800.0, 1577923200.0]


def test_texts_of_several_chunks():
    column = pa.chunked_array([["a", "b"], ["b", None, "c"], []], pa.string())
    codes, levels = encode_texts(column)
    assert codes.tolist() == [0, 1, 1, -1, 2] and levels == ("a", "b", "c")


def test_empty_and_other_columns():
    empty = read([None, None])
    assert empty.kind == "empty" and empty.missing.all() and not empty.whole
    blank = read([None, None], pa.string())
    assert blank.kind == "empty" and not blank.categorical
    lists = read([[1], None, [1], [2, 3]])
    assert lists.kind == "other" and lists.categorical
    assert lists.codes.tolist() == [0, -1, 0, 1] and lists.levels == ("[1]", "[2, 3]")


def test_labels_are_those_of_equal_values():
    c = read([2.0, None, -1.0, 2.0])
    codes = c.labelled()
    assert codes[0] == codes[3] != codes[2] and codes[1] == -1
    assert sorted(codes[codes >= 0].tolist()) == [0, 1, 1]
    assert c.show(0.12345678) == "0.123457"


def test_identifiers():
    ids = read(list(range(1000, 1400)))
    assert read_arrow_column(pa.array(range(1000, 1400)), "customer_id").role == "id"
    assert ids.numbers[-1] == 1399


def test_views_of_tables():
    seen = table_view({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    assert (seen.n, seen.names) == (3, ["a", "b"]) and table_view(seen) is seen
    part = seen.take(np.array([2, 0]))
    assert part.n == 2 and part["a"].numbers.tolist() == [3.0, 1.0]
    assert part["b"].codes.tolist() == [0, 0] and part["b"].levels == ("x", "y")
    assert seen.without(["a"]).names == ["b"] and seen.without(["a"]).n == 3
    with pytest.raises(TableError, match="'c'"):
        seen["c"]
    frame = table_view(pd.DataFrame({"a": [1.0, NAN]}))
    np.testing.assert_array_equal(frame["a"].numbers, [1.0, NAN])


def test_arrays_are_tables_of_numbered_columns():
    seen = table_view(np.array([[1, 2], [3, 4]]))
    assert seen.names == ["x0", "x1"] and seen["x1"].numbers.tolist() == [2.0, 4.0]
    mixed = as_arrow_table(np.array([[1, "a"], [None, 2.5]], dtype=object))
    assert mixed.column("x1").to_pylist() == ["a", "2.5"]
    assert mixed.column("x0").to_pylist() == [1, None]
    gaps = table_view(np.array([["a", 1], [NAN, 2]], dtype=object))
    assert gaps["x0"].missing.tolist() == [False, True]
    with pytest.raises(TableError, match="rows and columns, got"):
        table_view(np.zeros(3))
    with pytest.raises(TableError, match="rows and columns, got"):
        table_view(np.zeros((0, 2)))
    with pytest.raises(TableError, match="differ in length"):
        table_view([[1, 2], [3]])


def test_samples_of_rows():
    assert sample_rows(10, 10) is None and sample_rows(10, None) is None
    rows = sample_rows(10, 9)
    assert len(rows) == 9 and (np.diff(rows) > 0).all() and rows.max() < 10
    assert (sample_rows(1000, 5, 0) == sample_rows(1000, 5, 0)).all()
    assert (sample_rows(1000, 5, 0) != sample_rows(1000, 5, 1)).any()
    seen = table_view({"a": np.arange(50.0)})
    assert seen.sample(50) is seen
    some = seen.sample(7)
    assert (
        some.n == 7 and len(some["a"]) == 7 and (np.diff(some["a"].numbers) > 0).all()
    )


def test_robust_scale_of_a_normal_column():
    z = scipy.stats.norm.ppf((np.arange(4000) + 0.5) / 4000)
    assert robust_scale(5 + 3 * z) == pytest.approx(3.0, rel=1e-3)
    mostly = np.zeros(100)
    mostly[:5] = 1.0  # quartiles are equal: the standard deviation
    assert robust_scale(mostly) == pytest.approx(mostly.std())
    assert robust_scale(np.ones(9)) == robust_scale(np.ones(1)) == 0.0
    assert robust_scale(np.array([0.0, 2.0])) == pytest.approx(1 / 1.349)


def test_robust_scores():
    x = np.array([0.0, 1.0, 2.0, 3.0, 4.0, NAN, 1e6])
    known = x[~np.isnan(x)]
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    z = (x - middle) / ((high - low) / 1.349)
    got = robust_scores(x)
    np.testing.assert_allclose(got[:5], z[:5], rtol=1e-12)
    assert got[5] == 0.0  # missing: at the median
    assert got[6] == pytest.approx(8 * (1 + np.log(z[6] / 8)))
    np.testing.assert_allclose(robust_scores(-x), -got, rtol=1e-12)
    assert robust_scores(np.array([NAN, NAN])) is None
    assert robust_scores(np.array([2.0, 2.0, NAN])) is None


def test_skewness(rng):
    x = rng.exponential(size=200)
    assert skewness_of(x) == pytest.approx(scipy.stats.skew(x), rel=1e-12)
    assert skewness_of(-5 * x) == pytest.approx(-skewness_of(x), rel=1e-9)
    assert skewness_of(1e200 * x) == pytest.approx(skewness_of(x), rel=1e-9)
    assert skewness_of([]) == skewness_of([3.0, 3.0]) == 0.0


def test_very_skewed_columns(rng):
    x = rng.exponential(size=200) ** 2
    assert skewness_of(x) > 2 and is_very_skewed(x) and is_very_skewed(-x)
    assert not is_very_skewed(rng.normal(size=200))
    assert not is_very_skewed(np.r_[np.zeros(190), np.ones(10)])  # too few values


def test_skewness_needs_fifty_rows_of_ten_values():
    tail = np.arange(1.0, 10.0) ** 3  # with 0, ten values
    x = np.r_[np.zeros(41), tail]
    assert len(x) == 50 and is_very_skewed(x)
    assert not is_very_skewed(x[1:])
    assert not is_very_skewed(np.r_[np.zeros(42), tail[:-1]])


def test_a_skewness_of_two_is_not_yet_very_skewed(rng):
    x = rng.gamma(1.3, size=5000)
    assert 1.5 < skewness_of(x) < 2 and not is_very_skewed(x)
    x = rng.gamma(0.7, size=5000)
    assert 2 < skewness_of(x) < 3 and is_very_skewed(x)


def test_balanced_scores(rng):
    x = np.r_[rng.exponential(size=200) ** 2, NAN]
    z = balanced_scores(x)
    assert z[-1] == 0.0 and z.std() <= 1 + 1e-12
    # normal scores of the ranks: the order stays, the middle of the ranks is at 0
    assert (np.argsort(z[:-1]) == np.argsort(x[:-1])).all()
    assert z[:-1].mean() == pytest.approx(0.0, abs=1e-12)
    assert z.max() == pytest.approx(scipy.stats.norm.ppf(199.5 / 200), rel=1e-9)
    plain = np.array([0.0, 1.0, 2.0, 3.0, 40.0])
    robust = robust_scores(plain)
    assert robust.std() > 1
    np.testing.assert_allclose(balanced_scores(plain), robust / robust.std())
    assert balanced_scores(np.ones(5)) is None


def test_matrix_of_a_table(rng):
    n = 40
    colour = np.array(["red", "blue"])[rng.integers(0, 2, n)]
    table = {
        "size": rng.normal(size=n), "colour": colour, "flat": np.ones(n),
        "name": [f"n{i}" for i in range(n)], "none": pa.nulls(n),
    }  # fmt: skip
    M, owners = numeric_matrix(table_view(pa.table(table)))
    assert owners == ["size", "colour", "colour"]
    np.testing.assert_array_equal(M[:, 0], robust_scores(table["size"]))
    # a difference of category moves a row by the same as sqrt(2) in each of two columns
    first = colour[0]
    share = (colour == first).mean()
    want = np.where(colour == first, 1 - share, -share) * np.sqrt(2)
    np.testing.assert_allclose(M[:, 1], want, rtol=1e-12)
    np.testing.assert_allclose(M[:, 2], -want, rtol=1e-12)
    ten = {"ten": list("abcdefghij"), "x": np.arange(10.0)}
    assert numeric_matrix(table_view(ten))[1] == ["ten"] * 10 + ["x"]
    eleven = {"eleven": list("abcdefghijk"), "x": np.arange(11.0)}
    assert numeric_matrix(table_view(eleven))[1] == ["x"]
    _, without = numeric_matrix(table_view(pa.table(table)), most_levels=1)
    assert without == ["size"]
    empty, nobody = numeric_matrix(table_view({"flat": np.ones(3)}))
    assert empty.shape == (3, 0) and nobody == []


def test_balanced_matrix(rng):
    x = rng.exponential(size=100) ** 2
    seen = table_view({"x": x})
    (got,) = numeric_matrix(seen, balanced=True)[0].T
    np.testing.assert_array_equal(got, balanced_scores(x))
    (plain,) = numeric_matrix(seen)[0].T
    np.testing.assert_array_equal(plain, robust_scores(x))
    assert (got != plain).any()


def test_columns_are_taken_together():
    c = ColumnValues("x", "number", "string", np.arange(3.0), np.array([2, 1, 0]))
    got = TableView(3, (c,)).take(np.array([0, 2]))["x"]
    assert got.numbers.tolist() == [0.0, 2.0] and got.codes.tolist() == [2, 0]
