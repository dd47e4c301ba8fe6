"""Sequences in every form that users have them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    cross_val_score,
    train_test_split,
)
from sklearn.utils import shuffle

from pansophy import persist
from pansophy.core.arrays.ragged import Ragged, as_ragged, stack_sequences
from pansophy.core.arrays.rows import DatasetRows
from pansophy.graphical import ChainCRF
from pansophy.state_space import (
    GMMHMM,
    AutoRegressive,
    AutoregressiveHMM,
    CategoricalHMM,
    GaussianHMM,
    KalmanFilter,
    MixedHMM,
    MultinomialHMM,
    PoissonHMM,
    StructuralTimeSeries,
)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def test_grouped_frames_are_sequences():
    columns = {"id": ["b", "a", "b", "a", "a"], "x": [1.0, 2.0, 3.0, 4.0, 5.0]}
    frame, other = pd.DataFrame(columns), pl.DataFrame(columns)
    by_name = [[2.0], [4.0], [5.0], [1.0], [3.0]], [3, 5]
    as_seen = [[1.0], [3.0], [2.0], [4.0], [5.0]], [2, 5]
    for grouped, (X, ends) in (
        (frame.groupby("id"), by_name),
        (frame.groupby("id")["x"], by_name),
        (frame.groupby("id", sort=False), as_seen),
        (other.group_by("id"), as_seen),
        (other.group_by("id", maintain_order=True), as_seen),
    ):
        got = stack_sequences(grouped)
        assert got[0].tolist() == X
        assert got[1].tolist() == ends
    model = fit(CategoricalHMM(2, n_features=6, random_state=0), frame.groupby("id"))
    assert np.isfinite(model.score(other.group_by("id")))


@pytest.fixture
def table():
    columns = np.random.default_rng(0).integers(0, 4, (60, 2)).astype(float)
    return pa.table({"a": columns[:, 0], "b": columns[:, 1]})


@pytest.mark.parametrize(
    "model",
    [
        AutoregressiveHMM(2),
        GaussianHMM(2),
        GMMHMM(2),
        KalmanFilter(n_dim_state=1),
        MixedHMM(2, kinds=["normal", "poisson"]),
        MultinomialHMM(2),
        PoissonHMM(2),
        StructuralTimeSeries(),
    ],
    ids=repr,
)
def test_sequences_on_disk_are_refused_and_arrow_tables_are_arrays(
    tmp_path, table, model
):
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    for source in (path, str(path), ds.dataset(path), DatasetRows(path)):
        with pytest.raises(TypeError, match="needs its rows in memory"):
            model.fit(source)
    X = table.to_pandas().to_numpy()
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    expected = fit(model, X).score(X)
    assert fit(model, table).score(table) == expected
    with pytest.raises(TypeError, match="needs its rows in memory"):
        model.score(path)


def test_series_on_disk_are_refused(tmp_path, table):
    path = tmp_path / "x.parquet"
    pq.write_table(table, path)
    with pytest.raises(TypeError, match="needs its rows in memory"):
        as_ragged(str(path))
    assert as_ragged(table).shape == (60,)


def test_bad_sequences_are_named():
    with pytest.raises(ValueError, match="sequence 0 has no rows"):
        stack_sequences([np.zeros(0), np.ones(2)])
    with pytest.raises(ValueError, match="sequence 1 has length 0"):
        stack_sequences(np.ones(3), [3, 0])
    with pytest.raises(ValueError, match="same columns"):
        stack_sequences([np.ones((2, 1)), np.ones((2, 2))])
    with pytest.raises(ValueError, match="has its lengths already"):
        stack_sequences(pd.DataFrame({"a": [1], "x": [2]}).groupby("a"), [1])


X = np.random.default_rng(0).normal(size=(40, 2)).cumsum(axis=0)


def test_forms_of_one_series():
    """Lists, columns of frames and masks, as they come."""
    x, gaps = X[:, 0], X[:, 0] > 1
    want = KalmanFilter().score(X[:, :1])
    times = pd.date_range("2020-01-01", periods=len(x))
    for form in (x.tolist(), pd.Series(x, index=times), pl.Series("x", x)):
        assert KalmanFilter().score(form) == want
    holes = np.where(gaps, np.nan, x)
    want = KalmanFilter().score(holes)
    masked = np.ma.masked_array(x, gaps)
    assert KalmanFilter().score(masked) == want
    assert KalmanFilter().score([masked[:9], masked[9:]]) == pytest.approx(
        KalmanFilter().score(holes, [9, 31])
    )
    model = KalmanFilter(method=None).fit(x)
    last = model.last_state_mean_, model.last_state_covariance_
    unseen = model.filter_update(*last, np.ma.masked)
    np.testing.assert_array_equal(unseen.means, model.forecast(1).state_mean[0])
    with pytest.raises(ValueError, match="has 1 finite numbers"):
        model.filter_update(*last, [1.0, 2.0])


def test_what_is_no_series_is_refused():
    for bad, words in (
        (np.empty((0, 2)), "no values"),
        (np.array([1.0, np.inf]), "infinity"),
        (np.ones(3) + 1j, "complex"),
    ):
        with pytest.raises(ValueError, match=words):
            AutoRegressive().fit(bad)
    with pytest.raises(ValueError, match="column 1 of X has no value"):
        GaussianHMM(2).fit(np.c_[X[:, 0], np.full(40, np.nan)])
    for bad in ("ab", [[20, 20]], np.array([20, 20], dtype=object)):
        with pytest.raises(ValueError, match="positive whole numbers that sum to"):
            GaussianHMM(2).fit(X, bad)


SEQUENCES = [np.arange(6.0).reshape(3, 2), np.full((1, 2), 7.0), np.ones((4, 2))]


def same(a, b):
    return np.array_equal(a.values, b.values) and np.array_equal(a.offsets, b.offsets)


def test_ragged_from_every_form():
    X = Ragged.from_list(SEQUENCES)
    padded, mask = X.padded(fill=np.nan)
    assert padded.shape == (3, 4, 2) and mask.sum() == 8
    assert np.isnan(padded[~mask]).all()
    flat = np.concatenate(SEQUENCES)
    frame = pd.DataFrame(flat, columns=["a", "b"]).assign(id=[0] * 3 + [1] + [2] * 4)
    for other in (
        Ragged.from_lengths(flat, [3, 1, 4]),
        Ragged.from_padded(padded, [3, 1, 4]),
        as_ragged(SEQUENCES),
        as_ragged(flat, [3, 1, 4]),
        as_ragged(X),
        as_ragged(frame.groupby("id")),
    ):
        assert same(X, other)
    assert as_ragged(np.zeros((5, 3))).values.shape == (15,)  # rows are series
    assert as_ragged(np.zeros((5, 3, 2))).shape == (5,)
    assert X.padded(length=9)[0].shape == (3, 9, 2)
    assert [x.tolist() for x in X] == [x.tolist() for x in SEQUENCES]
    ends, rows = X.ends.tolist(), X.map(lambda v: 2 * v)
    assert ends == [3, 4, 8] and rows[1].tolist() == [[14.0, 14.0]]


def test_ragged_is_indexed_by_sequences():
    X = Ragged.from_list(SEQUENCES)
    assert np.array_equal(X[-1], SEQUENCES[2]) and np.array_equal(X[0], SEQUENCES[0])
    for key in ([2, 0, 2], np.array([2, 0, 2]), ([2, 0, 2], ...)):
        assert same(X[key], Ragged.from_list([SEQUENCES[i] for i in (2, 0, 2)]))
    for key in ([True, False, True], slice(None, None, 2), [0, -1]):
        assert same(X[key], Ragged.from_list([SEQUENCES[0], SEQUENCES[2]]))
    assert len(X[[]]) == len(X[:0]) == len(X[[False] * 3]) == 0
    assert repr(X[:0]) == "Ragged(0 sequences of 0 steps, 2 columns, float64)"
    for key in (3, [3], [True, False], (0, 1)):
        with pytest.raises(IndexError):
            X[key]
    with pytest.raises(TypeError, match="no rectangular array"):
        np.asarray(X)


@pytest.mark.parametrize(
    ("values", "offsets", "words"),
    [
        (np.ones(3), [0, 2], "go from 0 to the 3 rows"),
        (np.ones(3), [0, 2, 1, 3], "must ascend"),
        (np.ones(3), [0, 2, 2, 3], "sequence 1 has no rows"),
        (np.ones(3), [0.0, 3.0], "whole numbers"),
        (np.ones((3, 1, 1)), [0, 3], r"\(n,\) or \(n, d\)"),
    ],
)
def test_ragged_refuses_offsets_that_do_not_fit(values, offsets, words):
    with pytest.raises(ValueError, match=words):
        Ragged(values, offsets)


def test_ragged_refuses_other_columns_and_lengths():
    with pytest.raises(ValueError, match="same columns"):
        Ragged.from_list([np.ones((2, 2)), np.ones((2, 3))])
    with pytest.raises(ValueError, match="sum to the 3 rows"):
        Ragged.from_lengths(np.ones(3), [1, 1])
    with pytest.raises(ValueError, match="at most 2 steps"):
        Ragged.from_padded(np.ones((2, 2)), [1, 3])
    with pytest.raises(ValueError, match="more than length=2"):
        Ragged.from_list(SEQUENCES).padded(length=2)
    with pytest.raises(ValueError, match="no sequences"):
        Ragged.from_list([])


def test_ragged_is_saved(tmp_path):
    X = Ragged.from_list(SEQUENCES)
    persist.save(X, tmp_path / "x.model")
    assert same(persist.load(tmp_path / "x.model"), X)


def test_splitters_and_searches_divide_sequences(rng):
    signs = np.repeat([-1, 1], 12)
    X = Ragged.from_list([s * np.ones((rng.integers(2, 6), 1)) for s in signs])
    inside, outside, y, _ = train_test_split(X, signs, test_size=6, random_state=0)
    assert isinstance(inside, Ragged) and (len(inside), len(outside)) == (18, 6)
    assert [np.sign(x[0, 0]) for x in inside] == y.tolist()
    assert len(shuffle(X, random_state=0)) == 24
    for train, test in KFold(4).split(X):
        assert same(X[np.sort(np.r_[train, test])], X)


def test_chains_and_fields_take_ragged(rng):
    """HMM and CRF give the same for a Ragged as for the list of arrays."""
    parts = [rng.normal(size=(n, 2)) + 3 * (n % 2) for n in (5, 8, 6, 7, 9, 4)]
    X = Ragged.from_list(parts)
    one = fit(GaussianHMM(2, random_state=0, n_iter=3), parts)
    two = fit(GaussianHMM(2, random_state=0, n_iter=3), X)
    assert np.array_equal(one.means_, two.means_)
    assert one.score(X) == one.score(parts)
    assert np.array_equal(one.predict(X), one.predict(parts))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        scores = cross_val_score(GaussianHMM(2, random_state=0, n_iter=3), X, cv=3)
    assert np.isfinite(scores).all()
    y = X.with_values((X.values[:, 0] > 1).astype(int))
    field = ChainCRF().fit(X, y)
    assert np.allclose(field.coef_, ChainCRF().fit(parts, y.to_list()).coef_)
    assert field.score(X, y) > 0.8
    assert len(field.predict(X)) == 6
    search = GridSearchCV(ChainCRF(), {"c2": [0.1, 1.0]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.6
