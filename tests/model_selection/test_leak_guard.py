"""The guard of test rows: they are locked until the end."""

import numpy as np
import pytest

from pansophy.compare import (
    LeakError,
    LeakGuard,
    nested_cross_validation,
    tune_hyperparameters,
)
from pansophy.linear_model import Ridge


def test_guard_locks_the_test_rows(rng):
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    guard = LeakGuard(X, y, test=0.2)
    assert len(guard.locked) == 10 and len(guard.free) == 40
    space = {"alpha": [0.1, 1.0]}
    for leak in [
        lambda: Ridge().fit(guard.X, guard.y),
        lambda: tune_hyperparameters(Ridge(), space, guard.X, guard.y),
        lambda: nested_cross_validation(Ridge(), space, guard.X, guard.y),
        lambda: guard.X[guard.locked[0]],
        lambda: guard.X[:],
        lambda: guard.y[guard.locked[:1]],
        lambda: list(guard.X),
        lambda: guard.X[np.ones(50, bool), 0],
    ]:
        with pytest.raises(LeakError, match="locked for the test"):
            leak()
    found = tune_hyperparameters(
        Ridge(), space, guard.X[guard.free], guard.y[guard.free]
    )
    assert np.array_equal(guard.X[guard.free, 0], X[guard.free, 0])
    with pytest.raises(LeakError, match="after the test"):
        guard.release()
    X_test, y_test = guard.test()
    assert np.array_equal(X_test, X[guard.locked]) and len(y_test) == 10
    for late in (guard.test, lambda: guard.X[guard.free]):
        with pytest.raises(LeakError, match="have been read"):
            late()
    everything = guard.release()
    assert len(found.model.fit(*everything).coef_) == 3


def test_guard_of_frames(rng):
    pd = pytest.importorskip("pandas")
    pa = pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": np.arange(10.0), "b": list("abcdefghij")})
    for table in (frame, pa.table(frame)):
        guard = LeakGuard(table, test=[1, 3])
        assert len(guard.X[guard.free]) == 8
        with pytest.raises(LeakError, match="row 1"):
            guard.X[[0, 1]]
    mask = LeakGuard(frame, test=np.arange(10) < 2)
    assert mask.locked.tolist() == [0, 1]
    for wrong in ([], np.arange(10)):
        with pytest.raises(ValueError, match="both sides"):
            LeakGuard(frame, test=np.asarray(wrong, dtype=int))
