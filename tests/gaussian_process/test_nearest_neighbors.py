"""Predictions from the nearest training rows against eq. (1), row by row."""

import numpy as np
import pytest

from pansophy.gaussian_process import ExactSolver, nearest_neighbors
from pansophy.gaussian_process.exact import GPData
from pansophy.gaussian_process.nearest_neighbors import (
    NeighborPosterior,
    length_scales_of,
    neighbor_posterior,
)
from pansophy.kernels import RBF, Linear, Matern, White

KERNEL = 1.5 * RBF([0.4, 2.0]) + White(0.05)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (60, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.2 * rng.normal(size=60)
    return GPData(X, np.column_stack([y, y**2]), rng.uniform(0.01, 0.1, 60))


NEW = np.random.default_rng(1).uniform(-2, 2, (13, 2))


def nearest(x, X, scales, k):
    far = (((X - x) / scales) ** 2).sum(axis=1)
    return np.argsort(far, kind="stable")[:k]


def predicted(x, J, data, kernel=KERNEL):
    """Mean and variance of eq. (1), c = 1."""
    X = data.X[J]
    C = kernel(X) + np.diag(data.noise[J])
    cross = kernel(x[None, :], X)[0]
    w = np.linalg.solve(C, cross)
    return w @ data.Y[J], float(kernel.diag(x[None, :])[0] - w @ cross)


def test_length_scales():
    assert length_scales_of(KERNEL, 2).tolist() == [0.4, 2.0]
    assert length_scales_of(RBF(1.0), 2) is None
    assert length_scales_of(KERNEL, 3) is None
    assert length_scales_of(Linear(1.0) + Matern([3.0, 4.0]), 2).tolist() == [3.0, 4.0]
    two = RBF([1.0, 2.0]) * Matern([3.0, 4.0])
    assert length_scales_of(two, 2).tolist() == [1.0, 2.0]  # the first
    assert length_scales_of(RBF([1.0, 2.0]) ** 2, 2).tolist() == [1.0, 2.0]


def test_moments_are_those_of_the_nearest_rows(data, monkeypatch):
    monkeypatch.setattr(nearest_neighbors, "QUERIES", 5)  # several blocks
    scales = np.array([0.4, 2.0])
    p = NeighborPosterior(KERNEL, data.X, data.Y, data.noise, scales, 7, 3.0)
    mean, variance = p.moments(NEW)
    for i, x in enumerate(NEW):
        J = nearest(x, data.X, scales, 7)
        assert p.neighbors(NEW, 7)[i].tolist() == J.tolist()
        want, width = predicted(x, J, data)
        np.testing.assert_allclose(mean[i], want, rtol=1e-9)
        assert variance[i] == pytest.approx(3 * width, rel=1e-9)
    np.testing.assert_array_equal(p.mean(NEW), mean)
    np.testing.assert_array_equal(p.variance(NEW), variance)


def test_covariance_given_the_union_of_neighbours(data):
    scales = np.array([0.4, 2.0])
    p = NeighborPosterior(KERNEL, data.X, data.Y, data.noise, scales, 4, 2.0)
    union = sorted({j for x in NEW for j in nearest(x, data.X, scales, 4)})
    exact = ExactSolver().condition(KERNEL, data.take(np.array(union)), None)
    np.testing.assert_allclose(
        p.covariance(NEW), 2.0 * exact.covariance(NEW), rtol=1e-9
    )


def test_calibration(data):
    """c is the mean square of standardised errors of rows left out of their lists."""
    p = neighbor_posterior(KERNEL, data, 6, np.random.default_rng(0))
    assert p.k == 6 and p.scales.tolist() == [0.4, 2.0]
    ratios = []
    for i, x in enumerate(data.X):
        J = [j for j in nearest(x, data.X, p.scales, 7) if j != i]
        mean, variance = predicted(x, J, data)
        errors = data.Y[i] - mean
        ratios.append(np.mean(errors**2) / (variance + data.noise[i]))
    assert p.inflation == pytest.approx(np.mean(ratios), rel=1e-9)


def test_calibration_on_a_part_of_the_rows(data, monkeypatch):
    monkeypatch.setattr(nearest_neighbors, "CALIBRATION_ROWS", 10)
    values = [
        neighbor_posterior(KERNEL, data, 6, np.random.default_rng(s)).inflation
        for s in (0, 0, 1)
    ]
    assert values[0] == values[1] != values[2]


def test_scales_without_length_scales_are_those_of_the_columns(data):
    X = np.column_stack([data.X, np.ones(60)])
    wide = data._replace(X=X)
    p = neighbor_posterior(RBF(1.0), wide, 5, np.random.default_rng(0))
    np.testing.assert_allclose(p.scales, [*data.X.std(axis=0), 1.0], rtol=1e-12)


def test_more_neighbours_than_rows(data):
    few = data.take(np.arange(5))
    p = neighbor_posterior(KERNEL, few, 9, np.random.default_rng(0))
    exact = ExactSolver().condition(KERNEL, few, None)
    np.testing.assert_allclose(p.mean(NEW), exact.mean(NEW), rtol=1e-8)
    np.testing.assert_allclose(
        p.variance(NEW), p.inflation * exact.variance(NEW), rtol=1e-8
    )


def test_equal_rows_hide_a_row_from_its_own_list():
    """Of six equal rows five are neighbours of any: one too many, whoever is in."""
    X = np.r_[np.zeros((6, 1)), [[5.0], [6.0], [7.0]]]
    Y = np.r_[1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 0.5, -0.5, 0.5][:, None]
    data = GPData(X, Y, np.full(9, 0.1))
    p = neighbor_posterior(RBF(1.0), data, 3, np.random.default_rng(0))
    assert np.isfinite(p.inflation) and p.inflation > 0.5  # no row explains itself


def test_one_row_and_no_errors():
    one = GPData(np.zeros((1, 2)), np.ones((1, 1)), np.zeros(1))
    p = neighbor_posterior(KERNEL, one, 5, np.random.default_rng(0))
    assert p.inflation == 1.0 and p.k == 1
    flat = GPData(np.arange(6.0)[:, None], np.zeros((6, 1)), np.full(6, 0.1))
    p = neighbor_posterior(RBF(1.0), flat, 3, np.random.default_rng(0))
    assert p.inflation == 1.0  # targets of 0 are met exactly: nothing to learn c from
