"""Tables of labels as codes, from every kind of table."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from pansophy.graphical import (
    BayesianNetwork,
    encode_table,
)
from pansophy.params import ParameterError

COLUMNS = {
    "word": ["b", "a", None, "b"],
    "number": [2.0, np.nan, 1.5, 2.0],
    "whole": [7, 3, 3, 5],
    "flag": [True, False, True, True],
}
CODES = [[1, 1, 2, 1], [0, -1, 0, 0], [-1, 0, 0, 1], [1, 1, 1, 1]]
STATES = (("a", "b"), (1.5, 2.0), (3, 5, 7), (False, True))


@pytest.mark.parametrize(
    "kind",
    [
        lambda c: c,
        pd.DataFrame,
        lambda c: pd.DataFrame(c).astype({"word": "category"}),
        lambda c: pl.DataFrame(c, strict=False),
        lambda c: pl.DataFrame(c, strict=False).cast({"word": pl.Categorical}),
        lambda c: pa.table(pd.DataFrame(c)),
        lambda c: np.array(pd.DataFrame(c), dtype=object),
    ],
)
def test_every_kind_of_table_gives_the_same_codes(kind):
    codes, space = encode_table(kind(COLUMNS))
    assert codes.tolist() == CODES
    assert space.states == STATES
    assert codes.dtype == np.int8 and codes.flags.f_contiguous


def test_states_beyond_a_byte_and_wide_numbers():
    column = np.arange(300)[::-1] * 10**6
    codes, space = encode_table(column[:, None])
    assert codes.dtype == np.int16 and codes[:, 0].tolist() == list(range(300))[::-1]
    assert space.sizes == (300,)


EDGES = [("cat", "word"), ("word", "yes"), ("yes", "x"), ("cat", "maybe")]


def odd_frame(n=120):
    """Categories in their own order (one never seen), words, booleans, holes."""
    rng = np.random.default_rng(0)
    order = pd.CategoricalDtype(["c", "a", "b", "d"], ordered=True)
    return pd.DataFrame(
        {
            "cat": pd.Series(rng.choice(list("abc"), n), dtype=order),
            "word": rng.choice(["u", "v"], n),
            "yes": rng.random(n) < 0.5,
            "x": rng.normal(size=n).astype(np.float32),
            "maybe": pd.array(rng.choice([1, 2, None], n), dtype="Int64"),
        }
    ).set_index(np.arange(n) + 1000)


def test_frames_come_back_as_they_came():
    frame = odd_frame()
    network = BayesianNetwork(EDGES).fit(frame)
    states = (("a", "b", "c", "d"), ("u", "v"), (False, True), (), (1, 2))
    assert network.space.states == states  # (EM met an empty row of a table)
    assert np.isfinite(network.score(frame.iloc[::-1, ::-1]))
    holes = frame.head(5).copy()
    holes.loc[1000, "cat"], holes.loc[1001, "x"] = None, np.nan
    filled = network.predict(holes)
    assert (filled.dtypes == frame.dtypes).all() and filled.index.equals(holes.index)
    kept = ["word", "yes"]
    assert filled[kept].equals(holes[kept]) and not filled.isna().any(axis=None)
    lent = pl.from_pandas(holes)
    assert network.predict(lent).schema == lent.schema


def test_columns_with_numbers_as_names_are_names():
    X = pd.DataFrame(np.random.default_rng(0).integers(0, 2, (30, 2)), columns=[1, 0])
    network = BayesianNetwork([(1, 0)]).fit(X)
    assert network.space.names == ("1", "0") and network.parents == ((), (0,))
    assert network.query(1, {0: 1}).names == ("1",)
    assert list(network.predict(X).columns) == [1, 0]


def test_an_edge_by_name_and_by_number_is_one_edge():
    X = np.array([[0, 0], [0, 1], [1, 1]])
    assert BayesianNetwork([("x0", "x1"), (0, 1)]).fit(X).parents == ((), (0,))


def test_words_and_categories_are_states_even_if_they_look_like_numbers():
    words = {"a": ["1.5", "2", "3"], "b": pd.Categorical(np.arange(3) + 0.5)}
    assert BayesianNetwork().fit(pd.DataFrame(words)).space.sizes == (3, 3)


def test_weight_zero_leaves_categories_alone():
    frame = odd_frame()
    w = np.arange(len(frame)) % 3
    a = BayesianNetwork(EDGES[:2]).fit(frame, sample_weight=w)
    b = BayesianNetwork(EDGES[:2]).fit(frame.iloc[np.repeat(np.arange(len(w)), w)])
    assert a.space == b.space
    assert np.allclose(a.table("word"), b.table("word"))


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"states": {"Word": ["u"]}}, "states names 'Word', which is no column"),
        ({"states": {"word": ["u", "u", "v"]}}, "each once"),
        ({"kinds": {"wrod": "discrete"}}, "kinds names 'wrod'"),
        ({"kinds": {"word": "gauss"}}, "got 'gauss' for 'word'"),
    ],
)
def test_nothing_told_about_columns_is_ignored(params, words):
    with pytest.raises((ValueError, ParameterError), match=words):
        BayesianNetwork(EDGES, **params).fit(odd_frame())


def test_columns_that_cannot_be_fitted():
    with pytest.raises(ValueError, match="missing in every row"):
        BayesianNetwork().fit(odd_frame().assign(word=None))
    with pytest.raises(ValueError, match="same number of rows"):
        BayesianNetwork().fit({"a": [0, 1, 1], "b": [0, 1]})
    with pytest.raises(ValueError, match="infinity"):
        BayesianNetwork().fit({"a": [0.0, 1.0, np.inf]})
    X = np.random.default_rng(0).integers(0, 2, (9, 40))
    with pytest.raises(ValueError, match="40 variables would have"):
        BayesianNetwork([(j, 39) for j in range(39)]).fit(X)
