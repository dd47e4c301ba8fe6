"""Fisher's direction."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    fisher_direction,
)
from tests.discriminant_analysis.labelled_rows import close, labelled_rows
from tests.oracles import generative as slow

ONE = [[1, 2], [2, 3], [3, 3], [2, 1]]
TWO = [[6, 5], [7, 8], [8, 6], [7, 7], [9, 8]]
X2 = np.array(ONE + TWO, dtype=float)
Y2 = np.array([1] * 4 + [0] * 5)


def test_fisher_by_hand():
    best = fisher_direction(X2, 1 - Y2)
    np.testing.assert_allclose(best.direction, [0.961639, 0.274319], atol=1e-6)
    assert abs(best.criterion - 4.277733) < 1e-6
    mean = fisher_direction(X2, 1 - Y2, whiten=False)
    np.testing.assert_allclose(mean.direction, [0.764728, 0.644354], atol=1e-6)
    assert abs(mean.criterion - 3.985192) < 1e-6
    model = LinearDiscriminantAnalysis().fit(X2, Y2)
    w = model.coef_[0] / np.linalg.norm(model.coef_[0])
    close(w, -best.direction)  # the same direction as the classifier's
    scaling = model.scalings_[:, 0] / np.linalg.norm(model.scalings_[:, 0])
    close(scaling, best.direction)
    cut = X2 @ best.direction > best.threshold
    np.testing.assert_array_equal(cut, Y2 == 0)
    w = np.repeat([1.0, 2.0, 0.5], 3)
    heavy = fisher_direction(X2, Y2, w * 2)
    close(heavy.direction, fisher_direction(X2, Y2, w).direction)
    with pytest.raises(ValueError, match="two classes"):
        fisher_direction(X2, np.arange(9))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_no_direction_beats_fisher(seed):
    rng = np.random.default_rng(seed)
    X, y = labelled_rows(rng, k=2, n=40, d=3)
    best = fisher_direction(X, y)
    gap = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    S = slow.class_scatters(X, y, 2).sum(axis=0)
    for v in (*rng.standard_normal((10, 3)), gap):
        assert (v @ gap) ** 2 / (v @ S @ v) <= best.criterion * (1 + 1e-9)
