"""Splits by time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

from pansophy.datasets import make_ratings
from pansophy.recommend import (
    BiasModel,
    LeaveLastOut,
    Ratings,
    TemporalSplit,
    leave_last_out,
    temporal_split,
)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 3))
def test_nothing_is_learned_from_the_future(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (60, 2))
    times = rng.integers(0, 40, 60)
    for train, test in TemporalSplit(n).split(X, groups=times):
        assert len(train) and len(test)
        assert times[train].max() < times[test].min()
    ((train, test),) = LeaveLastOut(n).split(X, groups=times)
    assert sorted([*train, *test]) == list(range(60))
    for u in np.unique(X[:, 0]):
        own = X[:, 0] == u
        late = np.intersect1d(test, np.flatnonzero(own))
        early = np.intersect1d(train, np.flatnonzero(own))
        assert len(late) == (n if own.sum() > n else 0)
        if len(late):
            assert times[early].max() <= times[late].min()


def test_cross_validation_in_time():
    R = Ratings.from_frame(make_ratings(60, 40, 900), time="time")
    for cv in (TemporalSplit(3), LeaveLastOut(2)):
        scores = cross_val_score(
            BiasModel(), R.pairs(), R.values, groups=R.times, cv=cv
        )
        assert len(scores) == cv.get_n_splits() and (scores > -0.5).all()
    train, test = next(LeaveLastOut(2).split(R))
    a, b = leave_last_out(R, 2)
    np.testing.assert_array_equal(R[train].values, a.values)
    np.testing.assert_array_equal(R[test].values, b.values)


def test_splits_refuse():
    R = Ratings.from_triplets([1, 2], [1, 2], [1, 2])
    with pytest.raises(ValueError, match="times are needed"):
        temporal_split(R)
    timed = Ratings.from_triplets([1, 2], [1, 2], [1, 2], times=[1, 1])
    with pytest.raises(ValueError, match="test_size must be"):
        temporal_split(timed, 2)
    with pytest.raises(ValueError, match="same time"):
        next(TemporalSplit(1).split(timed))
    with pytest.raises(ValueError, match="need 4 rows"):
        next(TemporalSplit(3).split(timed))
    with pytest.raises(ValueError, match="no user has more"):
        next(LeaveLastOut().split(timed))
    with pytest.raises(ValueError, match="same time"):
        temporal_split(timed)
    with pytest.raises(ValueError, match="2 ratings are needed"):
        temporal_split(timed[:0])
    for n, error in ((0, ValueError), (1.5, TypeError)):
        for call in (leave_last_out, lambda R, n: next(LeaveLastOut(n).split(R)),
                     lambda R, n: next(TemporalSplit(n).split(R))):  # fmt: skip
            with pytest.raises(error, match="must be"):
                call(timed, n)
