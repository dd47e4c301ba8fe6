"""Synthetic tables have the types of the training table, whatever library it is of."""

import datetime

import numpy as np
import pandas as pd
import pytest

from pansophy.generative.tabular.table_codec import learn_table_codec

N = 60
DAYS = pd.date_range("2020-01-01", periods=N)
GONE = np.arange(N) % 4 == 0

PANDAS = {
    "Int64": pd.Series(np.arange(N)).astype("Int64").mask(GONE),
    "Int64 of few values": pd.Series(np.arange(N) % 3).astype("Int64").mask(GONE),
    "boolean": pd.Series(np.arange(N) % 2 == 0).astype("boolean").mask(GONE),
    "float32": pd.Series(np.arange(N) / 7, dtype="float32").mask(GONE),
    "int8": pd.Series(np.arange(N) % 20, dtype="int8"),
    "string": pd.Series(["u", "v", "w"] * (N // 3), dtype="string").mask(GONE),
    "datetime": pd.Series(DAYS).mask(GONE),
    "datetime in a zone": pd.Series(DAYS.tz_localize("Asia/Tokyo")),
    "timedelta": pd.Series(pd.to_timedelta(np.arange(N), unit="h")).mask(GONE),
    "all missing": pd.Series(np.full(N, np.nan)),
}


@pytest.mark.parametrize("kind", list(PANDAS))
def test_pandas(kind):
    frame = pd.DataFrame({"x": PANDAS[kind]})
    codec = learn_table_codec(frame)
    back = codec.decode(codec.encode(frame))
    assert back.dtypes.tolist() == frame.dtypes.tolist()
    assert (back.x.isna() == frame.x.isna()).all()
    here = ~frame.x.isna()
    if kind.startswith("date") or kind == "timedelta":
        assert (back.x - frame.x)[here].abs().max() < pd.Timedelta(hours=20)
    elif kind in ("string", "boolean", "Int64 of few values"):
        assert (back.x == frame.x)[here].all()
    else:
        gap = (back.x.astype("Float64") - frame.x.astype("Float64"))[here].abs()
        assert not here.any() or gap.max() <= 1


def test_categories_keep_their_order_and_those_without_rows():
    size = pd.Categorical(["L", "S"] * 30, categories=["S", "M", "L"], ordered=True)
    frame = pd.DataFrame({"size": size})
    codec = learn_table_codec(frame)
    pd.testing.assert_frame_equal(codec.decode(codec.encode(frame)), frame)
    made = codec.decode(np.zeros((4, 1)))
    assert made["size"].cat.categories.tolist() == ["S", "M", "L"]


def test_days_are_days_again():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(i) for i in range(N)]
    frame = pd.DataFrame({"day": days})
    codec = learn_table_codec(frame)
    back = codec.decode(codec.encode(frame))
    assert type(back.day[5]) is datetime.date
    assert abs(back.day[5] - days[5]) <= datetime.timedelta(1)


def test_polars():
    pl = pytest.importorskip("polars")
    zone = pl.Datetime("ms", "Asia/Tokyo")
    frame = pl.DataFrame({
        "level": pl.Series(["x", "y", None] * 20, dtype=pl.Categorical),
        "day": pl.Series(DAYS.date.tolist()),
        "small": pl.Series(range(N), dtype=pl.Int16),
        "single": pl.Series(np.arange(N) / 7, dtype=pl.Float32),
        "flag": [True, False, None] * 20,
        "when": pl.Series(DAYS.to_pydatetime().tolist()).dt.replace_time_zone(
            "Asia/Tokyo"
        ).cast(zone),
        "span": pl.Series([datetime.timedelta(hours=i) for i in range(N)]),
    })  # fmt: skip
    codec = learn_table_codec(frame)
    back = codec.decode(codec.encode(frame))
    assert back.schema == frame.schema
    for name in ("level", "flag"):
        assert back[name].to_list() == frame[name].to_list()
    for name, most in (("span", 2), ("when", 30)):
        gap = (back[name] - frame[name]).abs().max()
        assert gap < datetime.timedelta(hours=most)


def test_arrow():
    pa = pytest.importorskip("pyarrow")
    moments = DAYS.to_pydatetime().tolist()
    table = pa.table({
        "level": pa.array(["x", None] * 30).dictionary_encode(),
        "small": pa.array(range(N), pa.int16()),
        "when": pa.array(moments, pa.timestamp("s")),
        "zoned": pa.array(moments, pa.timestamp("us", tz="UTC")),
        "flag": pa.array([True, None] * 30),
        "day": pa.array(DAYS.date.tolist(), pa.date32()),
    })  # fmt: skip
    codec = learn_table_codec(table)
    back = codec.decode(codec.encode(table))
    assert back.schema.types == table.schema.types
    assert back["level"].to_pylist() == table["level"].to_pylist()
    gap = back["when"][7].as_py() - moments[7]
    assert abs(gap) < datetime.timedelta(hours=30)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_arrays(dtype):
    X = (np.arange(3 * N).reshape(N, 3) % 23).astype(dtype)
    codec = learn_table_codec(X)
    back = codec.decode(codec.encode(X))
    assert back.dtype == X.dtype
    assert np.abs(back.astype(float) - X.astype(float)).max() <= 1


def test_integers_with_missing_values_stay_floats():
    X = np.array([[1.0, np.nan], [2.0, 3.0]] * 30)
    codec = learn_table_codec(X)
    np.testing.assert_array_equal(codec.decode(codec.encode(X)), X)


def test_a_table_without_columns_is_refused():
    with pytest.raises(ValueError, match="X has no columns"):
        learn_table_codec(pd.DataFrame(index=range(4)))
