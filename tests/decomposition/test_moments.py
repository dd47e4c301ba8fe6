"""Moments of extreme rows: zeros, overflow, equal rows, tables that are not read."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from pansophy.decomposition import (
    NMF,
    PCA,
    FactorAnalysis,
    FastICA,
    MatrixFactorization,
    ProbabilisticPCA,
    TruncatedSVD,
)


@pytest.mark.parametrize("solver", ["auto", "covariance_eigh", "arpack", "randomized"])
def test_a_sparse_matrix_of_zeros_has_no_variance(solver):
    model = PCA(2, svd_solver=solver, random_state=0).fit(sp.csr_array((30, 5)))
    np.testing.assert_array_equal(model.explained_variance_, 0)
    np.testing.assert_allclose(model.components_ @ model.components_.T, np.eye(2))


HUGE = [
    PCA(1, svd_solver="full"),
    PCA(1, svd_solver="covariance_eigh"),
    PCA(1, svd_solver="randomized"),
    TruncatedSVD(1),
    ProbabilisticPCA(1),
    ProbabilisticPCA(1, method="em"),
]


@pytest.mark.parametrize("model", HUGE, ids=lambda m: f"{type(m).__name__}")
def test_values_whose_squares_overflow_are_refused(model, rng):
    with pytest.raises(ValueError, match="their squares overflow float64"):
        model.fit(1e155 * rng.random((60, 6)))


@pytest.mark.parametrize("X", [np.ones((20, 4)), np.zeros((10, 3))], ids=["1", "0"])
@pytest.mark.parametrize(
    "model", [ProbabilisticPCA(1, method="em"), ProbabilisticPCA(1), FastICA(1)]
)
def test_rows_that_do_not_differ(model, X):
    Z = model.set_params(random_state=0).fit(X).transform(X)
    np.testing.assert_allclose(Z, 0, atol=1e-6)


@pytest.mark.parametrize(
    "model", [NMF(1), FastICA(1), FactorAnalysis(1), MatrixFactorization()]
)
def test_tables_are_refused_where_all_rows_are_needed(model, tmp_path):
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"a": np.arange(9.0), "b": np.ones(9)}), path)
    with pytest.raises(TypeError, match="needs its rows in memory"):
        model.fit(path)
