"""Forecasts that add up."""

import numpy as np
import pytest

from pansophy.forecasting import Panel, aggregate_panel, reconcile
from pansophy.forecasting.reconciliation import (
    bounded_solution,
    shrunk_error_covariance,
    summed_series,
)


def hierarchy():
    keys = {
        "region": np.array(["n", "n", "s"]),
        "store": np.array(["1", "2", "3"]),
    }
    rows = [np.arange(4.0), 10 + np.arange(4.0), 100 + np.arange(4.0)]
    return aggregate_panel(Panel.from_list(rows, keys=keys))


def test_totals_and_sums():
    h = hierarchy()
    assert h.levels.tolist() == [0, 1, 1, 2, 2, 2]
    np.testing.assert_array_equal(h.panel.series[0], 110 + 3 * np.arange(4.0))
    np.testing.assert_array_equal(h.sums[1], [1, 1, 0])
    assert h.panel.names.tolist()[:3] == ["(all)/(all)", "n/(all)", "s/(all)"]
    assert aggregate_panel(h.panel[[3, 4, 5]], ["region"]).levels.tolist() == [
        0,
        1,
        1,
        1,
    ]
    with pytest.raises(ValueError, match="no column 'x'"):
        aggregate_panel(h.panel, ["x"])


def test_series_of_different_ends_sum_while_all_are_there():
    panel = Panel.from_list([[1.0, 2.0, 3.0], [5.0]], start=[0, 1])
    start, total = summed_series(panel, [0, 1])
    assert start == 0 and total.tolist() == [1.0, 7.0]


@pytest.mark.parametrize("method", ["bottom-up", "ols", "mint"])
@pytest.mark.parametrize("non_negative", [False, True])
def test_children_sum_to_their_parent(method, non_negative, rng):
    h = hierarchy()
    y = rng.normal(0, 5, (6, 7))
    errors = rng.normal(0, 1, (40, 6))
    found = reconcile(y, h.sums, method, errors=errors, non_negative=non_negative)
    np.testing.assert_allclose(found[0], found[3:].sum(0), atol=1e-9)
    np.testing.assert_allclose(found[1], found[3:5].sum(0), atol=1e-9)
    if non_negative:
        assert (found >= 0).all()
    again = reconcile(found, h.sums, method, errors=errors, non_negative=non_negative)
    np.testing.assert_allclose(again, found, atol=1e-8)


def test_mint_solves_its_equations(rng):
    h = hierarchy()
    y = rng.normal(50, 5, (6, 2))
    errors = rng.normal(0, 1, (40, 6)) @ rng.normal(0, 1, (6, 6))
    W = np.linalg.inv(shrunk_error_covariance(errors))
    b = np.linalg.solve(h.sums.T @ W @ h.sums, h.sums.T @ W @ y)
    np.testing.assert_allclose(reconcile(y, h.sums, errors=errors), h.sums @ b)


def test_shrinkage_goes_from_the_sample_to_the_diagonal(rng):
    many = rng.normal(0, 1, (20000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    sample = many.T @ many / len(many)
    np.testing.assert_allclose(shrunk_error_covariance(many), sample, rtol=0.01)
    few = shrunk_error_covariance(rng.normal(0, 1, (8, 30)))
    off = few - np.diag(np.diag(few))
    assert np.abs(off).max() < 0.5 and np.linalg.eigvalsh(few).min() > 0
    np.testing.assert_array_equal(shrunk_error_covariance(np.ones((2, 2))), np.eye(2))


def test_wrong_arguments():
    S = hierarchy().sums
    with pytest.raises(ValueError, match="6 rows"):
        reconcile(np.ones((5, 1)), S)
    with pytest.raises(ValueError, match="one-step errors"):
        reconcile(np.ones((6, 1)), S)
    with pytest.raises(ValueError, match="last rows"):
        reconcile(np.ones((6, 1)), S[::-1], "ols")
    with pytest.raises(ValueError, match="method"):
        reconcile(np.ones((6, 1)), S, "x")
    np.testing.assert_allclose(
        bounded_solution(np.eye(2), np.array([1.0, -1.0]), np.array([1.0, -1.0])),
        [1, 0],
    )
