"""Ratings: every way in and out, duplicates, names, what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy import persist
from pansophy.recommend import BiasModel, Ratings
from pansophy.recommend.ratings import as_ratings

NAN = np.nan


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), words=st.booleans(), single=st.booleans())
def test_triplets_and_matrix_round_trip_exactly(seed, words, single):
    rng = np.random.default_rng(seed)
    Y = rng.normal(size=(6, 5)).astype(np.float32 if single else np.float64)
    Y[rng.random((6, 5)) < 0.5] = NAN
    Y[0, 0] = 0.0  # a known zero
    names = [f"u{i}" for i in rng.permutation(6)] if words else None
    R = Ratings.from_matrix(Y, user_names=names)
    assert R.values.dtype == Y.dtype
    back = R.to_matrix()
    order = np.argsort(names) if words else np.arange(6)
    np.testing.assert_array_equal(back, Y[order])
    u, i, r = R.to_triplets()
    again = Ratings.from_triplets(u, i, r)
    for a, b in zip(again.to_triplets(), (u, i, r)):
        np.testing.assert_array_equal(a, b)
    mixed = rng.permutation(len(u))
    shuffled = Ratings.from_triplets(u[mixed], i[mixed], r[mixed])
    np.testing.assert_array_equal(shuffled.to_triplets()[2], r[mixed])
    np.testing.assert_array_equal(shuffled.csr.toarray(), again.csr.toarray())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table, dict])
def test_frames(make):
    table = {"user": ["b", "a", "b"], "film": [7, 7, 9], "stars": [1.0, 2.0, 3.0],
             "day": [3, 1, 2]}  # fmt: skip
    R = Ratings.from_frame(make(table), item="film", rating="stars", time="day")
    u, i, r = R.to_triplets()
    assert u.tolist() == table["user"] and i.tolist() == table["film"]
    assert r.tolist() == table["stars"] and R.times.tolist() == table["day"]
    with pytest.raises(ValueError, match="no column 'item'"):
        Ratings.from_frame(make(table))


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_frames_out(backend):
    R = Ratings.from_triplets(["b", "a"], [1, 2], [4.0, 5.0], times=[2, 1])
    frame = R.to_frame(backend)
    back = Ratings.from_frame(frame, time="time")
    for a, b in zip(back.to_triplets(), R.to_triplets()):
        np.testing.assert_array_equal(a, b)


def test_sparse_matrices_keep_stored_zeros():
    C = sp.csr_array(([0.0, 2.0], [1, 0], [0, 1, 2]), shape=(2, 3))
    R = Ratings.from_matrix(C)
    assert len(R) == 2 and R.shape == (2, 3)
    np.testing.assert_array_equal(R.to_matrix(), [[NAN, 0, NAN], [2, NAN, NAN]])
    for kind in ("csc", "coo"):
        np.testing.assert_array_equal(
            Ratings.from_matrix(C.asformat(kind)).to_matrix(), R.to_matrix()
        )


@pytest.mark.parametrize(
    ("rule", "value", "weight"),
    [("mean", 3.0, 2.0), ("sum", 6.0, None), ("last", 1.0, None), ("first", 5.0, None),
     ("max", 5.0, None)],
)  # fmt: skip
def test_duplicates(rule, value, weight):
    u, i, r = ["a", "b", "a"], ["x", "x", "x"], [5.0, 4.0, 1.0]
    R = Ratings.from_triplets(u, i, r, duplicates=rule)
    assert R.to_triplets()[0].tolist() == ["a", "b"]
    assert R.values.tolist() == [value, 4.0]
    assert (None if R.weights is None else R.weights[0]) == weight
    timed = Ratings.from_triplets(u, i, r, times=[9, 1, 2], duplicates=rule)
    if rule in ("last", "first"):  # by time, not by row
        assert timed.values[0] == {"last": 5.0, "first": 1.0}[rule]
    assert timed.times.tolist() == [9, 1]


def test_weights_of_duplicates():
    cells = (["a", "b", "a"], ["x", "x", "x"], [1.0, 4.0, 5.0])
    made = lambda rule: Ratings.from_triplets(
        *cells, weights=[2.0, 3.0, 1.0], duplicates=rule
    )
    assert made("sum").values.tolist() == [7.0, 12.0]  # as if rows were repeated
    assert made("sum").weights is None
    assert made("max").values.tolist() == [5.0, 4.0]
    assert made("max").weights.tolist() == [1.0, 3.0]  # of the row that was kept
    assert made("mean").unweighted().weights is None


def test_duplicates_can_be_refused():
    with pytest.raises(ValueError, match="user a rated item x more than once"):
        Ratings.from_triplets(["a", "a"], ["x", "x"], [1, 2], duplicates="error")
    with pytest.raises(ValueError, match="duplicates must be one of"):
        Ratings.from_triplets([1], [1], [1], duplicates="some")


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_mean_keeps_the_loss_up_to_a_constant(seed):
    rng = np.random.default_rng(seed)
    u, i = rng.integers(0, 3, 12), rng.integers(0, 2, 12)
    r, w = rng.normal(size=12), rng.integers(1, 4, 12).astype(float)
    R = Ratings.from_triplets(u, i, r, weights=w)
    names = lambda f: f[R.user_names[R.users], R.item_names[R.items]]
    loss = lambda f: (w * (r - f[u, i]) ** 2).sum()
    short = lambda f: (R.weights * (R.values - names(f)) ** 2).sum()
    f, g = rng.normal(size=(2, 3, 2))
    np.testing.assert_allclose(loss(f) - loss(g), short(f) - short(g), atol=1e-9)


def test_weights_are_repetition_and_zero_is_absence():
    X = np.array([[1, 1], [1, 2], [2, 1], [2, 2], [3, 1]])
    y, w = np.array([1.0, 2, 3, 5, 4]), np.array([1, 2, 3, 1, 0])
    weighted = BiasModel().fit(X, y, sample_weight=w)
    repeated = BiasModel().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    ask = X[:4]
    np.testing.assert_array_equal(weighted.predict(ask), repeated.predict(ask))


def test_bad_names_and_values():
    with pytest.raises(TypeError, match="users must be all numbers or all text"):
        Ratings.from_triplets(np.array([1, "a"], object), [1, 2], [1, 2])
    with pytest.raises(ValueError, match="users contain NaN"):
        Ratings.from_triplets([1.0, NAN], [1, 2], [1, 2])
    with pytest.raises(ValueError, match="users contain NaN or nothing"):
        Ratings.from_triplets(["a", None], [1, 2], [1, 2])
    with pytest.raises(TypeError, match="users must be all numbers or all text"):
        BiasModel().fit([[3, 1], ["a", 2]], [1, 2])  # not 3 as the text "3"
    with pytest.raises(ValueError, match="ratings are too large"):
        Ratings.from_triplets([1, 2], [1, 2], [1e300, 2])
    days = np.array(["2020-01-01", "2020-01-02"], "M8[D]")
    with pytest.raises(TypeError, match="users are dates in this model, got numbers"):
        BiasModel().fit(Ratings.from_triplets(days, [1, 2], [3, 4])).recommend(1)
    with pytest.raises(ValueError, match="ratings contain NaN"):
        Ratings.from_triplets([1, 2], [1, 2], [1, NAN])
    with pytest.raises(ValueError, match="ratings must be numbers"):
        Ratings.from_triplets([1, 2], [1, 2], ["good", "bad"])
    with pytest.raises(ValueError, match="2 users, but 1 items"):
        Ratings.from_triplets([1, 2], [1], [1, 2])
    with pytest.raises(ValueError, match="must not be negative"):
        Ratings.from_triplets([1, 2], [1, 1], [1, 2], weights=[1, -1])
    with pytest.raises(ValueError, match="2 different names"):
        Ratings.from_matrix(np.eye(2), user_names=["a", "a"])
    with pytest.raises(TypeError, match="users are numbers in this model, got text"):
        BiasModel().fit([[1, 2]], [3]).predict([["1", "2"]])
    with pytest.raises(ValueError, match="one column, got 2"):
        Ratings.from_triplets(np.ones((2, 2)), [1, 2])
    with pytest.raises(ValueError, match="but 1 times"):
        Ratings.from_triplets([1, 2], [1, 2], times=[1])


def test_what_fit_takes():
    X, y = [["a", 1], ["b", 2]], [3.0, 4.0]
    pairs = as_ratings(X, y)
    three = as_ratings([["a", 1, 3.0], ["b", 2, 4.0]])
    frame = as_ratings(pd.DataFrame({"who": ["a", "b"], "what": [1, 2]}), y)
    table = as_ratings(pl.DataFrame({"u": ["a", "b"], "i": [1, 2], "r": y}))
    arrow = as_ratings(pa.table({"u": ["a", "b"], "i": [1, 2], "r": y}))
    for other in (three, frame, table, arrow):
        np.testing.assert_array_equal(other.to_matrix(), pairs.to_matrix())
        assert other.item_names.dtype.kind in "iu"
    assert as_ratings(pairs) is pairs
    three = np.ones((3, 3))
    for bad, match in [((np.ones((3, 4)),), "3 columns"), ((three, y), "2 col"),
                       ((np.ones(3), y), "2D array"), ((pairs, y), "y must be None"),
                       ((pairs.csr, y), "sparse X")]:  # fmt: skip
        with pytest.raises(ValueError, match=match):
            as_ratings(*bad)


def test_pairs_for_scikit_learn():
    R = Ratings.from_triplets(["a", "b"], [1, 2], [3, 4])
    again = as_ratings(R.pairs(), R.values)
    np.testing.assert_array_equal(again.to_matrix(), R.to_matrix())
    assert again.item_names.tolist() == [1, 2]
    assert Ratings.from_triplets([1], [2]).pairs().dtype.kind == "i"


def test_save_and_load(tmp_path):
    R = Ratings.from_triplets(["a", "b"], [1, 2], [3, 4], times=[5, 6])
    _ = R.csr
    persist.save(R, tmp_path / "r.pansophy")
    back = persist.load(tmp_path / "r.pansophy")
    np.testing.assert_array_equal(back.to_matrix(), R.to_matrix())
    assert back.times.tolist() == [5, 6] and repr(back) == repr(R)


def test_views():
    R = Ratings.from_triplets([1, 1, 2], [5, 6, 5], [1.0, 2, 3])
    np.testing.assert_array_equal(R.T.to_matrix(), R.to_matrix().T)
    assert R[R.values > 1].shape == R.shape and len(R[R.values > 1]) == 2
    assert R.user_counts.tolist() == [2, 1] and R.item_counts.tolist() == [2, 1]
    wide = R.with_names(items=[4, 5, 6])
    assert wide.shape == (2, 3) and wide.item_counts.tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="missing from the new list"):
        R.with_names(users=[1, 3])
