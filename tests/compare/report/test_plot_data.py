"""Numbers of the pictures: importance finds the column that matters."""

import numpy as np
import pytest

from tests.compare.comparisons import ready


def test_importance_finds_the_column_that_matters():
    c = ready("regression")
    from pansophy.compare.report.plot_data import (
        partial_dependence_data,
        permutation_importances,
    )

    found = permutation_importances(c)
    assert found[0].column == "x0" and found[0].mean > 0.5
    assert all(abs(f.mean) < 1e-9 for f in found[1:])
    d = partial_dependence_data(c)
    slope = np.polyfit(d.values, d.mean[:, 0], 1)[0]
    assert slope == pytest.approx(3, abs=0.1)
