"""Self-organising maps: a cell for each unit, columns by name, hits as dots."""

from types import SimpleNamespace

import numpy as np
import pytest

from pansophy import plot

MODEL = SimpleNamespace(
    topology="rectangular", positions_=np.array([[0.0, 0.0], [0.0, 1.0]]),
    prototypes_=np.array([[1.0, 5.0], [2.0, 7.0]]), hits_=np.array([3, 0]),
    feature_names_in_=["age", "pay"], u_matrix=lambda: np.array([0.5, 0.5]),
)  # fmt: skip


def test_columns_by_number_and_hits():
    ax = plot.som(MODEL, 1, hits=True, labels=["a", "b"])
    cells, dots = ax.collections
    np.testing.assert_array_equal(cells.get_array(), [5, 7])
    np.testing.assert_array_equal(dots.get_sizes(), [160, 0])
    assert ax.figure.axes[1].get_ylabel() == "pay"
    assert [t.get_text() for t in ax.texts] == ["a", "b"]
    centre = cells.get_paths()[1].vertices[:4].mean(axis=0)
    np.testing.assert_allclose(centre, [1, 0])  # columns across


def test_as_many_values_as_units():
    np.testing.assert_array_equal(plot.som(MODEL).collections[0].get_array(), 0.5)
    with pytest.raises(ValueError, match="2 units need as many values, got 3"):
        plot.som(MODEL, [1, 2, 3])
