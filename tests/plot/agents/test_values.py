"""Values by sweep."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.rl import q_iteration, value_iteration

T = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]
R = [[0, 0], [1, 0]]


def test_a_line_for_each_state():
    found = q_iteration(T, R, gamma=0.5)
    ax = plot.values(found, limit=found.V)
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), found.history["V"][:, 0])
    assert len(ax.lines) == 4
    assert len(plot.values(np.ones((3, 12))).lines) == 12
    with pytest.raises(ValueError, match="n_evaluations=0"):
        plot.values(value_iteration(T, R, gamma=0.5))
    with pytest.raises(ValueError, match="must have shape"):
        plot.values(np.ones(3))
    with pytest.raises(ValueError, match="limit must have shape"):
        plot.values(np.ones((3, 2)), limit=[1.0])
