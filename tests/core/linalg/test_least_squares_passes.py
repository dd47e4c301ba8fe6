"""Passes over the rows: blocks, sources and threads; moments, gradient, triangle."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.core.arrays.rows import DatasetRows
from pansophy.core.linalg import least_squares as ls
from pansophy.core.linalg import least_squares_passes


@pytest.mark.parametrize("way", ["gram", "qr"])
def test_blocks_threads_and_sources_agree(way, rng, tmp_path, monkeypatch):
    X, Y = rng.standard_normal((3000, 4)) + 50, rng.standard_normal((3000, 2))
    w = rng.uniform(0, 2, 3000)
    monkeypatch.setattr(least_squares_passes, "BLOCK_BYTES", 10_000)
    monkeypatch.setattr(least_squares_passes, "COPY_BYTES", 10_000)
    fit = ls.least_squares(X, Y, w, solver=way)
    monkeypatch.setattr(
        least_squares_passes.Rows, "each", lambda s, f, **k: (f(*b) for b in s.blocks())
    )
    alone = ls.least_squares(X, Y, w, solver=way)
    np.testing.assert_array_equal(fit.coef, alone.coef)
    monkeypatch.undo()

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), path)
    disk = ls.least_squares(DatasetRows(path), Y, w, solver=way)
    thin = ls.least_squares(sp.csr_array(X), Y, w, solver=way)
    for other in (disk, thin):
        assert other.solver == way
        np.testing.assert_allclose(other.coef, fit.coef, rtol=1e-11)
        np.testing.assert_allclose(other.intercept, fit.intercept, rtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
def test_moments_gradient_and_triangle_are_their_sums(weighted, rng):
    X, Y = rng.standard_normal((40, 3)) + [1e4, 0, 0], rng.standard_normal((40, 2))
    w = rng.uniform(0.5, 2, 40) if weighted else np.ones(40)
    problem = least_squares_passes.prepare_least_squares(X, Y, w if weighted else None)
    assert problem.shift is not None and problem.weight == pytest.approx(w.sum())
    center = lambda A: A - np.average(A, axis=0, weights=w)
    A, B = center(X), center(Y)
    M = least_squares_passes.least_squares_moments(problem)
    np.testing.assert_allclose(M.gram, (A.T * w) @ A, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(M.cross, (A.T * w) @ B, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(M.power, w @ B**2)
    np.testing.assert_allclose(M.mean + problem.shift, np.average(X, axis=0, weights=w))
    T = least_squares_passes.centred_triangle(problem)
    np.testing.assert_allclose(T.R.T @ T.R, M.gram, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(T.R.T @ T.c, M.cross, rtol=1e-9, atol=1e-9)
    outside = M.power - np.sum(T.c**2, axis=0)
    np.testing.assert_allclose(T.residual, outside, rtol=1e-9)
    C, b = rng.standard_normal((3, 2)), rng.standard_normal(2)
    g, total, square = least_squares_passes.least_squares_gradient(problem, C, b)
    S = X - problem.shift
    r = Y - problem.offset - b - S @ C
    np.testing.assert_allclose(g, S.T @ (w[:, None] * r))
    np.testing.assert_allclose(total, w @ r)
    np.testing.assert_allclose(square, w @ r**2)


def test_shifts_are_numbers_of_few_bits():
    """So that x less the shift is exact for whole numbers."""
    found = least_squares_passes.round_to_few_bits(
        np.array([1000.3, np.inf, 0.0]), np.array([10.0, 1.0, 0.0])
    )
    assert found[0] == pytest.approx(1000.3, abs=10 / 256 * 2)
    assert (found[0] * 16).is_integer() and found[1:].tolist() == [0, 0]


def test_missing_values_on_disk_are_refused(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "rows.parquet"
    pq.write_table(
        pa.table({"a": [1.0, float("nan"), 2.0], "b": [1.0, 2.0, 3.0]}), path
    )
    with pytest.raises(ValueError, match="NaN"):
        ls.least_squares(DatasetRows(path), np.ones((3, 1)))
