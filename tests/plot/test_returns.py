"""Returns along runs."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.rl import ReturnCurve


def test_lines_bands_and_reference():
    runs = [ReturnCurve(np.arange(4), np.full((4, 2), k)) for k in (1.0, 2.0, 6.0)]
    ax = plot.returns({"one": runs, "two": runs[:1]}, reference=0.5)
    assert len(ax.lines) == 3 and len(ax.collections) == 1
    np.testing.assert_allclose(ax.lines[0].get_ydata(), 3.0)
    assert plot.returns(runs[0]).get_xlabel() == "steps"
    other = ReturnCurve(np.arange(1, 5), np.ones((4, 2)))
    with pytest.raises(ValueError, match="different steps"):
        plot.returns({"one": [runs[0], other]})
