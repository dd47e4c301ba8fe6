"""Methods that see the past of the target look as far ahead as the folds do."""

import numpy as np
import pyarrow as pa
import pytest

from pansophy.compare import compare
from pansophy.compare.methods.time_series import History, steps_to_look_ahead
from pansophy.compare.report.headline import headline_sentences
from pansophy.compare.splits import fold_horizon


def test_the_horizon_is_that_of_the_folds_and_at_most_a_sixth():
    past = History(np.arange(60.0), np.zeros(60))
    assert steps_to_look_ahead(0, past) == 10
    assert steps_to_look_ahead(3, past) == 3
    assert steps_to_look_ahead(25, past) == 10
    time = np.array([1.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 6.0])
    folds = [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5, 6, 7])]
    assert fold_horizon(folds, time) == 2 and fold_horizon(folds, None) == 0


@pytest.fixture(scope="module")
def cycle():
    """A cycle of changing length: the mean is best far ahead, the past near by."""
    rng = np.random.default_rng(0)
    t = np.arange(240.0)
    phase = np.cumsum(2 * np.pi / 11 * (1 + 0.35 * rng.normal(size=240)))
    return pa.table({"year": t, "y": 50 + 40 * np.sin(phase) + rng.normal(size=240)})


def test_nearer_forecasts_are_better_where_only_the_near_future_is_known(cycle):
    names = ["ridge with lags", "last value"]
    far, near = (
        compare(cycle, "y", time="year", methods=names, folds=k, workers=0)
        for k in (5, 60)
    )
    score = lambda r: r.row("ridge with lags").scores["rmse"].mean
    assert score(near) < 0.85 * score(far)
    assert "on new rows up to 40 steps of 'year' ahead expect" in str(far)
    assert "on new rows up to 4 steps of 'year' ahead expect" in str(near)
    assert near.winner == "ridge with lags" and near.model.pipeline.horizon == 4
    if far.winner == "dummy":
        assert "--folds 20" in headline_sentences(far)[-1]
