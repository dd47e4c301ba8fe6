"""Leading singular triples: exactness, centring, signs, every kind of matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from pansophy.core.arrays.arrays import to_numpy
from pansophy.core.arrays.rows import DatasetRows
from pansophy.core.linalg.truncated_svd import (
    CentredMatrix,
    leading_eigenpairs,
    svd_flip,
    thin_svd,
    truncated_svd,
)
from pansophy.core.loops import threads


def low(n, d, r, seed=0, offset=3.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, r)) @ rng.standard_normal((r, d)) + offset


def table(X, folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / "x.parquet"
    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path)
    return DatasetRows(path)


SHAPES = [(60, 40), (40, 60), (500, 300), (300, 500), (40, 40), (5, 1), (1, 5)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("kind", ["numpy", "sparse", "torch", "array_api_strict"])
@pytest.mark.parametrize("centred", [False, True])
def test_low_rank_matrices_are_found_exactly(shape, kind, centred):
    n, d = shape
    X = low(n, d, min(4, n, d))
    m = X.mean(axis=0) if centred else None
    if kind == "sparse":
        A, c = sp.csc_array(X), m
    elif kind == "numpy":
        A, c = X, m
    else:
        xp = pytest.importorskip(kind)
        A, c = xp.asarray(X), None if m is None else xp.asarray(m)
    right = X - m if centred else X
    k = min(8, n, d)  # more than the rank: the rest is orthonormal all the same
    found = truncated_svd(A, k, np.random.default_rng(1), center=c)
    assert kind in ("numpy", "sparse") or type(found.U) is type(A)
    U, S, Vt = (to_numpy(a) for a in found)
    np.testing.assert_allclose((U * S) @ Vt, right, atol=1e-10)
    np.testing.assert_allclose(S, np.linalg.svd(right)[1][:k], atol=1e-9)
    np.testing.assert_allclose(U.T @ U, np.eye(k), atol=1e-12)
    np.testing.assert_allclose(Vt @ Vt.T, np.eye(k), atol=1e-12)
    assert (np.abs(Vt).max(axis=1) == Vt.max(axis=1)).all()


@pytest.mark.parametrize("shape", [(900, 700), (700, 900)], ids=str)
def test_a_slow_spectrum_is_followed_closely(shape, rng):
    Q, P = (np.linalg.qr(rng.standard_normal((s, 500)))[0] for s in shape)
    s = 1 / np.sqrt(1 + np.arange(500.0))
    A = (Q * s) @ P.T
    found = truncated_svd(A, 10, np.random.default_rng(0))
    np.testing.assert_allclose(found.S, s[:10], rtol=1e-8)
    more = truncated_svd(A, 10, np.random.default_rng(0), n_iter=12)
    np.testing.assert_allclose(more.S, s[:10], rtol=1e-10)
    right = truncated_svd(A, 10, np.random.default_rng(0), left=False)
    assert (right.U is None) is (shape[0] > shape[1])
    np.testing.assert_allclose(right.S, found.S, rtol=1e-10)
    np.testing.assert_allclose(np.abs(np.sum(right.Vt * found.Vt, axis=1)), 1)


POWER = {"sqrt": 0.5, "fourth root": 0.25, "one": 1.0, "flat": 0.0}


@pytest.mark.parametrize("power", POWER.values(), ids=POWER)
@pytest.mark.parametrize("k", [4, 25], ids=["few", "many"])
def test_no_spectrum_is_worse_off_than_with_subspace_iteration(power, k, rng):
    randomized_svd = pytest.importorskip("sklearn.utils.extmath").randomized_svd
    if power:
        Q, P = (np.linalg.qr(rng.standard_normal((s, 200)))[0] for s in (260, 200))
        A = (Q * (1 + np.arange(200.0)) ** -power) @ P.T
    else:
        A = rng.standard_normal((260, 200))
    best = np.sum(np.linalg.svd(A)[1][:k] ** 2)
    missed = lambda Vt: 1 - np.sum((A @ Vt.T) ** 2) / best
    ours = missed(truncated_svd(A, k, np.random.default_rng(0)).Vt)
    assert ours <= missed(randomized_svd(A, k, random_state=0)[2]) + 1e-11


def test_powers_end_when_they_tell_nothing_new(monkeypatch):
    X = low(400, 300, 6, offset=0.0)
    calls = []
    square = CentredMatrix.square
    monkeypatch.setattr(
        CentredMatrix, "square", lambda self, V: calls.append(1) or square(self, V)
    )
    truncated_svd(X, 6, np.random.default_rng(0), n_iter=8)
    assert len(calls) <= 2
    calls.clear()
    truncated_svd(X, 6, np.random.default_rng(0), n_iter=8, tol=0.0)
    assert len(calls) == 9


def test_tables_on_disk(tmp_path):
    X = low(3000, 12, 5)
    m = X.mean(axis=0)
    found = truncated_svd(
        table(X, tmp_path), 5, np.random.default_rng(0), center=m, n_iter=0
    )
    known = truncated_svd(X, 5, np.random.default_rng(0), center=m)
    np.testing.assert_allclose(found.S, known.S, rtol=1e-10)
    wide = low(20, 30, 4)
    found = truncated_svd(table(wide, tmp_path), 5, np.random.default_rng(0))
    np.testing.assert_allclose((found.U * found.S) @ found.Vt, wide, atol=1e-9)


def test_threads_and_seeds_do_not_change_the_answer():
    X = low(3000, 400, 30)
    run = lambda: truncated_svd(X, 5, np.random.default_rng(2))
    with threads.limit_threads(1):
        one = run()
    many, again = run(), run()
    np.testing.assert_array_equal(one.S, many.S)
    np.testing.assert_array_equal(many.Vt, again.Vt)


def test_single_precision_stays_single():
    X = low(400, 300, 6).astype(np.float32)
    found = truncated_svd(X, 6, np.random.default_rng(0), center=X.mean(axis=0))
    assert {a.dtype for a in found} == {np.dtype(np.float32)}
    right = np.linalg.svd((X - X.mean(axis=0)).astype(float))[1][:6]
    np.testing.assert_allclose(found.S, right, rtol=1e-5)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_products_with_a_centred_matrix(make, shape, rng):
    X = rng.standard_normal(shape) + 4
    m = X.mean(axis=0)
    A, C = CentredMatrix(make(X), m), X - m
    V, U = rng.standard_normal((shape[1], 3)), rng.standard_normal((shape[0], 3))
    np.testing.assert_allclose(A.times(V), C @ V, atol=1e-12)
    np.testing.assert_allclose(A.back(U), C.T @ U, atol=1e-12)
    if A.wide:
        np.testing.assert_allclose(A.square(U), C @ C.T @ U, atol=1e-11)
    else:
        np.testing.assert_allclose(A.square(V), C.T @ C @ V, atol=1e-11)


@given(st.integers(0, 10_000), st.floats(0, 14))
def test_thin_svd_keeps_its_digits(seed, power):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((30, 4)))[0]
    P = np.linalg.qr(rng.standard_normal((4, 4)))[0]
    s = 10.0 ** -np.linspace(0, power, 4)
    U, S, Vt = thin_svd((Q * s) @ P.T)
    np.testing.assert_allclose(S, s, atol=1e-14)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-13)
    np.testing.assert_allclose((U * S) @ Vt, (Q * s) @ P.T, atol=1e-14)


def test_flip_and_bad_ranks(rng):
    U, Vt = svd_flip(np.eye(2), np.array([[0.6, -0.8], [1.0, 0.0]]))
    np.testing.assert_array_equal(Vt, [[-0.6, 0.8], [1.0, 0.0]])
    np.testing.assert_array_equal(U, np.diag([-1.0, 1.0]))
    assert svd_flip(None, Vt)[0] is None
    for k in (0, 4):
        with pytest.raises(ValueError, match="k must be from 1 to 3"):
            truncated_svd(rng.standard_normal((5, 3)), k, rng)
    zeros = truncated_svd(np.zeros((40, 300)), 2, rng)
    np.testing.assert_array_equal(zeros.S, 0)
    np.testing.assert_allclose(zeros.Vt @ zeros.Vt.T, np.eye(2), atol=1e-12)


def symmetric_matrix(values, rng):
    Q = np.linalg.qr(rng.standard_normal((len(values), len(values))))[0]
    return (Q * values) @ Q.T


@pytest.mark.parametrize("k", [1, 5, 15])
@pytest.mark.parametrize("power", [0.7, 2.0])
def test_leading_eigenpairs_are_those_of_lapack(power, k, rng):
    values = np.arange(1.0, 601.0) ** -power
    C = symmetric_matrix(values, rng)
    found = leading_eigenpairs(C, k, rng, sharp=1e-9)
    assert found.converged
    np.testing.assert_allclose(found.values, values[:k], rtol=1e-11)
    V = found.vectors
    np.testing.assert_allclose(V.T @ V, np.eye(k), atol=1e-10)
    assert np.linalg.norm(C @ V - V * found.values, axis=0).max() <= 2e-9


def test_leading_eigenvalues_are_the_largest_not_those_of_largest_size(rng):
    C = symmetric_matrix(np.concatenate([[3.0, 2.0, -5.0], np.zeros(297)]), rng)
    found = leading_eigenpairs(C, 2, rng, sharp=1e-9)
    np.testing.assert_allclose(found.values, [3, 2])
    assert found.least == pytest.approx(-5)


def test_a_spectrum_without_gaps_is_said_not_to_have_converged(rng):
    C = symmetric_matrix(np.linspace(1, 2, 1200), rng)
    found = leading_eigenpairs(C, 3, rng, sharp=1e-13)
    assert not found.converged
    assert found.values[0] <= 2 * (1 + 1e-12)
