"""Tables to numbers and back: kinds of columns, quantiles, missing values."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kstest, spearmanr

from pansophy.generative.tabular.table_codec import (
    as_numbers,
    count_decimals,
    learn_table_codec,
    smoothed_quantiles,
)

RNG = np.random.default_rng(0)
N = 400
FRAME = pd.DataFrame(
    {
        "income": np.round(np.exp(RNG.normal(8, 1, N)), 2),
        "age": RNG.integers(18, 90, N),
        "children": RNG.integers(0, 5, N),
        "member": RNG.random(N) < 0.3,
        "city": RNG.choice(["Bern", "Pune", "Lima"], N),
        "joined": pd.Timestamp("2020-01-01")
        + pd.to_timedelta(RNG.integers(0, 900, N), "D"),
    }
)


def with_gaps():
    frame = FRAME.copy()
    frame.loc[::7, "income"] = np.nan
    frame.loc[::5, "city"] = None
    return frame


def test_kinds_of_columns():
    codec = learn_table_codec(with_gaps())
    kinds = {c.name: c.kind for c in codec.columns}
    assert kinds == {
        "income": "number", "age": "number", "children": "level", "member": "level",
        "city": "level", "joined": "date",
    }  # fmt: skip
    by_name = {c.name: c for c in codec.columns}
    assert by_name["city"].levels == ["Bern", "Lima", "Pune", None]
    assert by_name["income"].decimals == 2 and by_name["age"].decimals == 0
    assert codec.encode(with_gaps()).shape == (N, 7), "one more for missing incomes"
    assert codec.places == [0, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("frame", [FRAME, with_gaps()], ids=["whole", "gaps"])
def test_round_trip(frame):
    codec = learn_table_codec(frame)
    back = codec.decode(codec.encode(frame))
    assert back.dtypes.astype(str).tolist() == frame.dtypes.astype(str).tolist()
    for name in ("children", "member", "city"):
        pd.testing.assert_series_equal(back[name], frame[name])
    assert (back.age - frame.age).abs().max() <= 1
    gone = frame.income.isna()
    assert (back.income.isna() == gone).all()
    close = np.isclose(back.income[~gone], frame.income[~gone], rtol=0.1)
    assert close.mean() > 0.98
    assert (back.joined - frame.joined).abs().max() <= pd.Timedelta(days=2)


def test_numbers_become_normal_scores():
    codec = learn_table_codec(FRAME[["income"]])
    z = codec.encode(FRAME[["income"]])[:, 0]
    assert kstest(z, "norm").pvalue > 0.5
    assert np.corrcoef(np.argsort(np.argsort(z)), np.argsort(np.argsort(FRAME.income)))[
        0, 1
    ] == pytest.approx(1, abs=1e-3)


def test_atoms_keep_their_mass():
    x = np.concatenate([np.zeros(300), RNG.uniform(1, 2, 100)])
    codec = learn_table_codec(x[:, None])
    made = codec.decode(RNG.normal(size=(20_000, 1)))[:, 0]
    assert (made == 0).mean() == pytest.approx(0.75, abs=0.015)
    assert made.min() == 0 and made.max() <= 2


def test_quantiles_count_weights_as_rows():
    x, w = RNG.normal(size=50), RNG.integers(1, 4, 50)
    np.testing.assert_allclose(
        smoothed_quantiles(x, w.astype(float)), smoothed_quantiles(np.repeat(x, w))
    )
    np.testing.assert_allclose(
        smoothed_quantiles(x, 3 * np.ones(50)), smoothed_quantiles(x)
    )


def test_single_values_are_interpolated():
    """Without repeated values nothing but the extremes is drawn twice."""
    x = RNG.normal(size=200)
    codec = learn_table_codec(x[:, None])
    made = codec.decode(RNG.normal(size=(5000, 1)))[:, 0]
    inside = (made > x.min()) & (made < x.max())
    assert np.isin(made[inside], x).mean() < 0.01


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_libraries(library):
    pytest.importorskip(library)
    if library == "polars":
        import polars as pl

        table = pl.DataFrame({"a": RNG.normal(size=30), "b": ["x", "y", None] * 10})
    else:
        import pyarrow as pa

        table = pa.table({"a": RNG.normal(size=30), "b": ["x", "y", None] * 10})
    codec = learn_table_codec(table)
    back = codec.decode(codec.encode(table))
    assert type(back) is type(table)
    names = back.columns if library == "polars" else back.column_names
    assert list(names) == ["a", "b"]
    column = back["b"].to_list() if library == "polars" else back["b"].to_pylist()
    assert column == ["x", "y", None] * 10


def test_arrays_and_nullable_numbers():
    X = np.column_stack([RNG.normal(size=40), np.arange(40) % 3])
    codec = learn_table_codec(X)
    back = codec.decode(codec.encode(X))
    assert back.dtype == float
    np.testing.assert_array_equal(back[:, 1], X[:, 1])
    mixed = np.empty((40, 2), dtype=object)
    mixed[:, 0], mixed[:, 1] = X[:, 0], "a"
    codec = learn_table_codec(mixed)
    assert codec.decode(codec.encode(mixed)).dtype == object
    assert as_numbers(pd.array([1, None, 3], dtype="Int64")).tolist()[::2] == [1, 3]
    dates = np.array([datetime.date(2020, 1, 2), None], dtype=object)
    assert as_numbers(dates)[0] == 18263 and np.isnan(as_numbers(dates)[1])
    assert as_numbers(np.array([True, False])) is None
    assert count_decimals(np.array([0.1, 2.25])) == 2
    assert count_decimals(np.array([np.pi])) == -1


def test_columns_that_cannot_be_modelled_are_named():
    ids = pd.DataFrame({"id": [f"C{i:05}" for i in range(200)], "a": range(200)})
    with pytest.raises(ValueError, match=r"column 'id' has 200 .*Drop"):
        learn_table_codec(ids)
    with pytest.raises(ValueError, match="column 0 of X contains infinity"):
        learn_table_codec(np.array([[np.inf], [1.0]]))
    codec = learn_table_codec(FRAME)
    with pytest.raises(ValueError, match="'city' holds 'Oslo', which training rows"):
        codec.encode(FRAME.assign(city="Oslo"))
    with pytest.raises(ValueError, match="'city' holds a missing value"):
        codec.encode(FRAME.assign(city=None))
    with pytest.raises(ValueError, match="'income' has missing values, but had none"):
        codec.encode(FRAME.assign(income=np.nan))
    with pytest.raises(ValueError, match="'age' held numbers in training"):
        codec.encode(FRAME.assign(age="old"))


@pytest.mark.parametrize(("unit", "step"), [("s", 1), ("min", 15), ("h", 1), ("ms", 5)])
def test_times_keep_their_unit(unit, step, rng):
    """What comes back, from any number, is a whole multiple of the unit."""
    steps = pd.to_timedelta(rng.integers(0, 50_000, 300) * step, unit=unit)
    frame = pd.DataFrame({"at": pd.Timestamp("2020-03-01") + steps, "took": steps})
    codec = learn_table_codec(frame)
    back = codec.decode(codec.encode(frame))
    inner = np.argsort(steps)[2:-2]  # the extremes may move inwards
    assert (back.astype(frame.dtypes).iloc[inner] == frame.iloc[inner]).all(axis=None)
    drawn = codec.decode(rng.standard_normal((200, 2)))
    one = pd.Timedelta(1, unit=unit)
    assert ((drawn["at"] - pd.Timestamp(0)) % one == pd.Timedelta(0)).all()
    assert (drawn["took"] % one == pd.Timedelta(0)).all()


@pytest.mark.parametrize("n", [40, 300, 500])
def test_keys_come_back_without_repeats(n, rng):
    """From any normal scores; in their range while that has room; in order."""
    keys = rng.permutation(np.arange(1000, 1400))[:300]
    table = pd.DataFrame({"key": keys, "age": rng.integers(18, 90, 300)})
    codec = learn_table_codec(table)
    assert [c.is_key for c in codec.columns] == [True, False]
    z = rng.normal(size=(n, 2))
    made = codec.decode(z)
    assert made.key.is_unique and not made.age.is_unique
    assert made.key.dtype == table.key.dtype
    assert made.key.min() >= keys.min()
    assert made.key.max() <= keys.max() or n > np.ptp(keys) + 1
    assert spearmanr(made.key, z[:, 0]).statistic > 0.999


def test_numbers_that_chance_leaves_without_repeats_are_no_keys(rng):
    wide = pd.DataFrame({"id": rng.choice(10**9, 300, replace=False)})
    assert not learn_table_codec(wide).columns[0].is_key
    keys = pd.DataFrame({"id": np.arange(100)})
    assert learn_table_codec(keys).columns[0].is_key
    assert not learn_table_codec(keys, np.full(100, 2)).columns[0].is_key
    assert not learn_table_codec(keys.astype("int8")).columns[0].is_key
    assert not learn_table_codec(keys / 2).columns[0].is_key
