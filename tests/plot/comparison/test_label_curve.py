"""Label curves: one line for each report, names only where they are given."""

from types import SimpleNamespace

import numpy as np

from pansophy import plot


def test_one_line_for_each_report():
    report = SimpleNamespace(n_labels=[5, 10], scores=[0.5, 0.8])
    ax = plot.label_curve({"a": report, "b": report})
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[5, 0.5], [10, 0.8]])


def test_a_single_report_has_no_legend():
    report = SimpleNamespace(n_labels=[5], scores=[0.5])
    assert plot.label_curve(report).get_legend() is None
