"""Covariances that settle are kept once, and read as if they were written out."""

import copy
import operator
import pickle

import numpy as np
import pytest

from pansophy import persist
from pansophy.state_space import KalmanFilter
from pansophy.state_space.kalman.repeated_array import RepeatedArray


def rows():
    table = np.arange(24.0).reshape(3, 2, 4)
    which = np.array([0, 1, 2, 2, 2, 1])
    return RepeatedArray(table, which), table[which]


@pytest.mark.parametrize(
    "key",
    [0, -1, slice(1, 5), (slice(None), 1), (slice(1, 3), 0, slice(2)), [0, 3], (2, 1),
     np.array([True, False] * 3), (slice(None), [0, 1]), (..., 0), (None, 0),
     (0, 1, 2), slice(None, None, -1), (slice(5, 0, -2), 0), (True, 0), [],
     np.arange(48).reshape(6, 2, 4) % 3 == 0, np.array([[0, 1], [2, 3]]),
     [[[True] * 4, [False] * 4]] * 6],
)  # fmt: skip
def test_reads_as_the_array(key):
    few, all_ = rows()
    np.testing.assert_array_equal(few[key], all_[key])


def test_does_what_arrays_do():
    few, all_ = rows()
    assert few.shape == all_.shape and few.ndim == 3 and len(few) == 6
    assert few.dtype == all_.dtype and few.nbytes == all_.nbytes
    for got, want in [
        (2 * few + 1, 2 * all_ + 1),
        (few - all_, 0 * all_),
        (np.sqrt(few), np.sqrt(all_)),
        (few.mean(axis=0), all_.mean(axis=0)),
        (few.transpose(1, 2, 0), all_.transpose(1, 2, 0)),
        (np.diagonal(few, axis1=1, axis2=2), np.diagonal(all_, axis1=1, axis2=2)),
        (np.array(list(few)), all_),
        (pickle.loads(pickle.dumps(few)), all_),
        (copy.deepcopy(few), all_),
        (np.concatenate([few, few]), np.concatenate([all_, all_])),
        (np.stack([few, few]), np.stack([all_, all_])),
        (few == all_, all_ == all_),
        (few[few > 7.0], all_[all_ > 7.0]),
        (np.linalg.det(few[:, :, :2]), np.linalg.det(all_[:, :, :2])),
        (np.from_dlpack(few), all_),
    ]:
        np.testing.assert_array_equal(got, want)
    few[1][:] = -1.0  # a copy
    np.testing.assert_array_equal(few, all_)
    with pytest.raises(AttributeError):
        few.no_such_thing  # noqa: B018


@pytest.mark.parametrize(
    "write",
    [lambda r: r.__setitem__(0, 1.0), lambda r: operator.iadd(r, 1.0),
     lambda r: np.add(1.0, 1.0, out=r), lambda r: np.add.at(r, 0, 1.0),
     lambda r: r.fill(0.0), lambda r: r.sort(), lambda r: np.put(r, 0, 1.0)],
)  # fmt: skip
def test_cannot_be_written_to(write):
    few, all_ = rows()
    with pytest.raises(TypeError, match="cannot be written to; take"):
        write(few)
    with pytest.raises(ValueError, match="read-only"):
        few.flat[0] = 1.0
    np.testing.assert_array_equal(few, all_)


def test_answers_as_arrays_do_and_is_saved(tmp_path):
    few, all_ = rows()
    assert 23.0 in few and 24.0 not in few and not few.flags.writeable
    with pytest.raises(ValueError, match="ambiguous"):
        bool(few)
    persist.save(few, tmp_path / "few.pansophy")
    again = persist.load(tmp_path / "few.pansophy")
    assert isinstance(again, RepeatedArray)
    np.testing.assert_array_equal(again, all_)


def test_nothing_fitted_is_kept_so():
    X = np.random.default_rng(0).normal(size=(140_000, 1)).cumsum(axis=0) / 30
    model = KalmanFilter([[1, 1], [0, 0.9]], [[1, 0]], 0.1, 1.0, method=None).fit(X)
    assert isinstance(model.filter(X).covs, RepeatedArray)
    assert not any(isinstance(v, RepeatedArray) for v in vars(model).values())
    told = model.forecast(3)
    assert type(told.cov) is type(told.state_cov) is np.ndarray


@pytest.mark.parametrize("start", ["known", "diffuse"])
def test_a_long_series_keeps_settled_covariances_once(start):
    """Equal to those of a filter that computes every one; NaN begins anew."""
    F, H = np.array([[1.0, 1.0], [0.0, 0.9]]), np.array([[1.0, 0.0]])
    how = {"initial_state_mean": [0.0, 0.0]} if start == "known" else {}
    model = KalmanFilter(F, H, 0.1, 1.0, start=start, **how)
    X = np.random.default_rng(0).normal(size=(140_000, 1)).cumsum(axis=0) / 30
    X[70_000] = np.nan
    both = model.filter_smooth(X)
    for few in both:
        assert isinstance(few.covs, RepeatedArray)
        assert len(few.covs.table) < 500
        np.testing.assert_array_equal(
            few.sd[-3:], np.sqrt(few.covs[-3:, [0, 1], [0, 1]])
        )
    short = model.set_params(steady=False).filter_smooth(X[:300])
    np.testing.assert_allclose(both[0].covs[:300], short[0].covs, rtol=1e-9)
    np.testing.assert_allclose(both[1].covs[:200], short[1].covs[:200], rtol=1e-9)
    assert both[0].covs[70_000, 0, 0] > 1.2 * both[0].covs[69_999, 0, 0]
