"""Columns against the target: parts of the rows, means, shares and intervals."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from pansophy.compare import Column
from pansophy.compare.report.column_views import (
    column_view,
    level_parts,
    parts_by_quantile,
    strongest_views,
)
from pansophy.compare.samples import Samples
from pansophy.diagnose.intervals import rate_interval
from pansophy.tables import MixedFrame
from tests.compare.comparisons import TASKS, made, ready


@pytest.mark.parametrize("task", TASKS)
def test_the_column_that_makes_the_target_tells_most(task):
    views = strongest_views(ready(task))
    assert len(views) == 4
    if task != "multilabel":
        assert views[0].column == "x0" and views[0].strength > 3 * views[1].strength
    for v in views:
        assert v.rows.sum() == 150 and (v.low <= v.mean).all()
        assert (v.mean <= v.high).all() and len(v.names) == v.mean.shape[1]


def test_means_and_intervals_of_a_part_are_those_of_its_rows():
    c = made("regression")
    view = column_view(c, "x1")
    x, y = c.data.frame.values[:, 1], c.data.y
    codes, _ = parts_by_quantile(x)
    own = y[codes == 2]
    low, high = stats.t.interval(0.95, len(own) - 1, own.mean(), stats.sem(own))
    assert view.mean[0, 2] == pytest.approx(own.mean())
    assert view.low[0, 2] == pytest.approx(low)
    assert view.high[0, 2] == pytest.approx(high)
    c = made("classification")
    view = column_view(c, "x1")
    codes, _ = parts_by_quantile(c.data.frame.values[:, 1])
    own = c.data.y[codes == 2]
    assert view.mean[0, 2] == pytest.approx(own.mean()) and view.outputs == ["k1"]
    ends = rate_interval(own.sum(), len(own))
    assert (view.low[0, 2], view.high[0, 2]) == pytest.approx((ends.low, ends.high))


def test_parts_of_numbers_have_rows_enough():
    rng = np.random.default_rng(0)
    lumpy = np.r_[np.zeros(100), np.ones(60), rng.normal(5, 1, 30), [0.5, 0.6, np.nan]]
    codes, names = parts_by_quantile(lumpy)
    counts = np.bincount(codes)
    assert names[-1] == "missing" and counts[-1] == 1
    assert (counts[:-1] >= 5).all() and counts.sum() == len(lumpy)
    codes, names = parts_by_quantile(np.array([2.0, 1.0, 1.0, np.nan]))
    assert names == ["1", "2", "missing"] and codes.tolist() == [1, 0, 0, 2]


def test_parts_of_levels_are_the_commonest_and_the_rest():
    x = np.repeat(np.arange(12.0), np.arange(12, 0, -1))
    column = Column("c", "category", "", levels=tuple("abcdefghijkl"))
    codes, names = level_parts(np.r_[x, np.nan, 99.0], column)
    assert names == [*"abcdefgh", "other", "missing"]
    assert np.bincount(codes).tolist() == [12, 11, 10, 9, 8, 7, 6, 5, 11, 1]


def test_weights_count_rows():
    c = made("regression")
    w = np.ones(150)
    w[:10] = 3.0
    data = c.data
    heavy = Samples(data.frame, data.y, w)
    again = np.r_[np.arange(150), np.tile(np.arange(10), 2)]
    frame = MixedFrame(data.frame.values[again])
    twice = Samples(frame, data.y[again])
    one = replace(c, dataset=c.dataset._replace(data=heavy), _views={})
    two = replace(c, dataset=c.dataset._replace(data=twice), _views={})
    codes, _ = parts_by_quantile(data.frame.values[:, 0])
    own = codes == 1
    expected = np.average(data.y[own], weights=w[own])
    assert column_view(one, "x0").mean[0, 1] == pytest.approx(expected)
    assert column_view(two, "x0").rows.sum() == 170


def test_an_unknown_column_is_named():
    with pytest.raises(ValueError, match="'nothing' is no column of values"):
        column_view(ready("regression"), "nothing")
    ax = ready("multiclass").plot_column()
    assert len(ax.get_legend().get_texts()) == 4


def test_dates_are_written_as_dates_on_every_axis():
    import pyarrow as pa

    from pansophy.compare import compare
    from pansophy.compare.report.plots import plot_partial_dependence

    rng = np.random.default_rng(0)
    day = np.datetime64("2020-01-01") + np.arange(80)
    y = np.arange(80.0) + rng.normal(size=80)
    table = pa.table({"day": day, "x": rng.normal(size=80), "y": y})
    r = compare(table, "y", methods=["linear regression"], repeats=1, workers=0)
    ax = plot_partial_dependence(r, column="day")
    ax.figure.canvas.draw()
    assert all(t.get_text()[:2] == "20" for t in ax.get_xticklabels())
