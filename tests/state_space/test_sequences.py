"""Sequences in every form that users have them."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.state_space import (
    AutoRegressive,
    CategoricalHMM,
    GaussianHMM,
    KalmanFilter,
)
from pansophy.state_space.sequences import stack_sequences


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
