"""Random subsets of rows and their batched least squares."""

import itertools

import numpy as np
import pytest

from pansophy.linear_model.robust.random_subsets import (
    draw_row_subsets,
    least_squares_batch,
    least_squares_of_subsets,
)


def test_subsets_are_distinct_and_even(rng):
    for n, k in ((6, 2), (6, 5), (50, 3)):
        draws = 30_000
        index = draw_row_subsets(rng, n, k, draws)
        assert index.shape == (draws, k)
        assert np.all(np.diff(index, axis=1) > 0)
        counts = np.bincount(index.ravel(), minlength=n)
        # each count is binomial; one of 62 is off by five deviations in 4e-5 of runs
        deviation = np.sqrt(draws * k / n * (1 - k / n))
        np.testing.assert_allclose(counts, draws * k / n, atol=5 * deviation)


@pytest.mark.parametrize(("k", "intercept"), [(4, True), (3, False), (7, True)])
def test_batches_equal_one_by_one(k, intercept, rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    index = draw_row_subsets(rng, 30, k, 20)
    found = least_squares_of_subsets(X, y, index, intercept=intercept)
    for i, c in zip(index, found, strict=True):
        A = np.column_stack([np.ones(k), X[i]]) if intercept else X[i]
        np.testing.assert_allclose(c, np.linalg.lstsq(A, y[i])[0], atol=1e-8)


def test_singular_subsets_take_the_least_norm(rng):
    X = np.ones((5, 1))
    index = np.array(list(itertools.combinations(range(5), 2)))
    found = least_squares_batch(X, np.full(5, 4.0), index, intercept=True)
    np.testing.assert_allclose(found, 2.0)
