"""Starts of emissions: gaps at column means, centres again, floors, shapes."""

import numpy as np
import pytest

from pansophy.state_space.hidden_markov import hmm_initialization as start


def test_gaps_are_filled_and_empty_rows_left_out():
    nan = np.nan
    X = np.array([[1.0, nan], [nan, nan], [3.0, 4.0]])
    np.testing.assert_array_equal(start.impute_column_means(X), [[1, 4], [3, 4]])


def test_centres_of_blobs_and_of_too_few_rows(rng):
    X = np.repeat([[0.0], [10.0]], 20, axis=0) + 0.1 * rng.normal(size=(40, 1))
    C = np.sort(start.kmeans_centers(X, 2, rng), axis=0)
    np.testing.assert_allclose(C, [[0], [10]], atol=0.2)
    assert start.kmeans_centers(np.array([[1.0], [1.0]]), 3, rng).shape == (3, 1)
    assert start.nearest_center(X[[0, -1]], C).tolist() == [0, 1]


def test_columns_that_do_not_vary_are_at_the_floor(rng):
    X = np.column_stack([rng.normal(size=50), np.ones(50)])
    C = start.data_covariance(X, 1e-3)
    assert C[1, 1] == pytest.approx(1e-3) and C[0, 0] == pytest.approx(
        X[:, 0].var(), rel=0.1
    )
    full = start.covariance_in_shape(C, "full", 2)
    assert full.shape == (2, 2, 2) and start.covariance_in_shape(
        C, "tied", 2
    ).shape == (2, 2)
    np.testing.assert_allclose(start.covariance_in_shape(C, "diag", 2)[1], np.diag(C))
    assert start.covariance_in_shape(C, "spherical", 2).shape == (2,)
