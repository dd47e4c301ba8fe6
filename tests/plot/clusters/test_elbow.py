"""Elbow curves: the chosen k, a chord or the other criterion."""

from types import SimpleNamespace

import numpy as np
import pytest

from pansophy import plot


@pytest.mark.parametrize("method", ["elbow", "gap"])
def test_the_star_is_at_the_chosen_k(method):
    choice = SimpleNamespace(
        ks=np.array([1, 2, 3]), costs=np.array([9.0, 3.0, 2.0]), k=2, method=method,
        scores=np.array([0.1, 0.5, 0.4]), errors=np.zeros(3),
    )  # fmt: skip
    ax = plot.elbow(choice)
    star = next(line for line in ax.lines if line.get_marker() == "*")
    np.testing.assert_array_equal(star.get_xydata(), [[2, 3]])
    names = [t.get_text() for t in ax.get_legend().get_texts()]
    assert f"k = 2 ({method})" in names and ("chord" in names) == (method == "elbow")
    assert len(ax.figure.axes) == (1 if method == "elbow" else 2)
