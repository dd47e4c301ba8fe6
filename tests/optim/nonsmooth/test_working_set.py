"""Working sets of the lasso: the gap bounds the distance, the exact step solves."""

import numpy as np
import pytest

from pansophy import optim, penalties
from pansophy.optim.nonsmooth import working_set as sets


def test_the_gap_bounds_the_distance_to_the_optimum(rng):
    X, y = rng.normal(size=(30, 6)), rng.normal(size=30)
    for penalty in (penalties.l1(3.0), penalties.elastic_net(4.0, 0.7)):
        a, b = penalty.a, penalty.b

        def primal(w, a=a, b=b):
            r = y - X @ w
            return r @ r / 2 + a * np.abs(w).sum() + b / 2 * w @ w

        best = primal(optim.coordinate_descent(X, y, penalty).state.position)
        for w in (np.zeros(6), rng.normal(size=6) / 5):
            r = y - X @ w
            square = r @ r + b * w @ w
            value, gap = sets.lasso_duality_gap(
                w, X.T @ r - b * w, square, y @ r, penalty
            )
            assert value == pytest.approx(primal(w))
            assert value - best <= gap * (1 + 1e-9)
            assert gap < value  # not the trivial bound


def test_correlations_of_either_sign():
    c = np.array([-3.0, 2.0])
    assert sets.largest_correlation(c, penalties.l1(1.0)) == 3
    assert sets.largest_correlation(c, penalties.elastic_net(1.0, 1.0, True)) == 2
    assert sets.squared_norm(np.array([[3.0], [4.0]])) == 25
