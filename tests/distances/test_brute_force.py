"""Neighbours by matrix products: how far a product may be off, and both precisions."""

import numpy as np
import pytest

from pansophy.distances import brute_force
from pansophy.distances.brute_force import (
    LARGE,
    center_for_products,
    k_nearest_by_products,
    pairs_within_radius,
    query_block,
)
from pansophy.distances.neighbor_search import build_index
from tests.oracles import neighbors as oracle


def normal_rows(n, d=20, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def squared_distances(Q, X):
    return ((Q[:, None, :] - X[None, :, :]) ** 2).sum(axis=-1)


def test_centred_rows():
    X = normal_rows(30, 4) + 100
    tiles = center_for_products(X)
    A = X - X.mean(axis=0)
    assert tiles.rows.dtype == np.float32 and tiles.rows.shape == (30, 5)
    np.testing.assert_allclose(tiles.center, X.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(tiles.rows[:, :4], -A, rtol=1e-6)
    np.testing.assert_allclose(tiles.rows[:, 4], (A**2).sum(axis=1) / 2, rtol=1e-6)
    assert tiles.longest == pytest.approx(np.linalg.norm(A, axis=1).max(), rel=1e-12)
    assert center_for_products(X, np.float64).rows.dtype == np.float64


def test_values_whose_squares_float32_cannot_hold():
    X = normal_rows(9, 3)
    X[0, 1] = LARGE
    assert center_for_products(X).rows.dtype == np.float64
    X[0, 1] = LARGE / 10
    assert center_for_products(X).rows.dtype == np.float32


def test_tiles_of_rows_are_put_together(monkeypatch):
    X = normal_rows(30, 4)
    whole = center_for_products(X)
    monkeypatch.setattr(brute_force, "ROWS", 7)
    parts = center_for_products(X)
    np.testing.assert_array_equal(whole.rows, parts.rows)
    assert whole.longest == parts.longest


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4])
def test_products_err_by_less_than_the_slack(dtype, scale):
    """2 s + |q|^2 is the squared distance, up to e of eq. (2)."""
    X, Q = scale * normal_rows(200) + 3 * scale, scale * normal_rows(50, seed=1)
    tiles = center_for_products(X, dtype)
    ask = query_block(tiles, Q)
    exact = squared_distances(Q, X)
    S = (ask.rows @ tiles.rows.T).astype(np.float64)
    error = np.abs(2 * S + ask.norms[:, None] - exact)
    assert (error <= ask.slack[:, None]).all()
    assert error.max() > 0  # a bound of products that do round
    unit = np.finfo(dtype).eps
    reach = np.linalg.norm(Q - X.mean(axis=0), axis=1) + tiles.longest
    np.testing.assert_allclose(ask.slack, 36 * unit * reach**2, rtol=1e-5)


def lists(X, Q, k, own=None):
    index = build_index(X, method="brute")
    own = np.full(len(Q), -1) if own is None else own
    return k_nearest_by_products(index, Q, own, k)


@pytest.mark.parametrize("k", [1, 9, 60])
def test_nearest_rows(k, monkeypatch):
    X, Q = normal_rows(150), normal_rows(23, seed=1)
    monkeypatch.setattr(brute_force, "QUERIES", 10)
    monkeypatch.setattr(brute_force, "ROWS", 40)
    got, at = lists(X, Q, k)
    want, where = oracle.k_nearest(squared_distances(Q, X), k)
    assert (at == where).all()
    np.testing.assert_allclose(got, want, rtol=1e-12)
    got, at = lists(X, X, k, np.arange(150))
    want, where = oracle.k_nearest(squared_distances(X, X), k, same=True)
    assert (at == where).all()


def test_groups_too_close_for_float32_are_done_again(monkeypatch):
    """Two far groups: within each, products in float32 cannot tell rows apart."""
    X = 1e-4 * normal_rows(400)
    X[200:] += 1000.0
    calls = []
    exact = brute_force.collect_block_exact

    def counted(*args):
        calls.append(1)
        exact(*args)

    monkeypatch.setattr(brute_force, "collect_block_exact", counted)
    got, at = lists(X, X[:5], 3)
    want, where = oracle.k_nearest(squared_distances(X[:5], X), 3)
    assert calls and (at == where).all()
    np.testing.assert_allclose(got, want, rtol=1e-12)
    calls.clear()
    lists(normal_rows(400), normal_rows(5, seed=1), 3)
    assert not calls


def test_doubles_too_large_for_float32():
    X, Q = 1e20 * normal_rows(60), 1e20 * normal_rows(7, seed=1)
    got, at = lists(X, Q, 4)
    want, where = oracle.k_nearest(squared_distances(Q, X), 4)
    assert (at == where).all()
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_pairs_within_a_radius(monkeypatch):
    X, Q = normal_rows(150), normal_rows(23, seed=1)
    monkeypatch.setattr(brute_force, "QUERIES", 10)
    monkeypatch.setattr(brute_force, "ROWS", 40)
    D = squared_distances(Q, X)
    r = np.quantile(D, 0.1) * np.linspace(0.5, 2, 23)
    index = build_index(X, method="brute")
    who, rows, far = (np.concatenate(p) for p in zip(*pairs_within_radius(index, Q, r)))
    near = r[:, None] >= D
    assert sorted(zip(who, rows)) == sorted(zip(*np.nonzero(near)))
    np.testing.assert_allclose(far, D[who, rows], rtol=1e-12)
