"""Inputs at the edge of what decompositions can take: defined, or refused clearly."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.core import threads
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
    with pytest.raises(ValueError, match="scale the columns"):
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
def test_tensors_are_refused_where_they_are_not_read(model):
    torch = pytest.importorskip("torch")
    with pytest.raises(TypeError, match="takes X in memory as a NumPy array"):
        model.fit(torch.ones((10, 4), dtype=torch.float64))


def test_single_precision_nmf_stops_at_its_rounding(rng):
    X = rng.random((60, 6)) + 0.1
    small = NMF(1, random_state=0).fit(X.astype(np.float32))
    assert small.converged_
    known = NMF(1, random_state=0).fit(X).reconstruction_err_
    assert small.reconstruction_err_ == pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize("rank", [None, 3], ids=["far", "near"])
def test_the_error_of_sparse_nmf_is_exact(rank, rng):
    X = rng.random((80, 30)) * (rng.random((80, 30)) < 0.3)
    if rank:
        X = rng.random((80, rank)) @ rng.random((rank, 30))
    model = NMF(3, random_state=0, max_iter=500, tol=1e-4)
    W = model.fit_transform(sp.csr_array(X))
    right = np.linalg.norm(X - W @ model.components_)
    assert model.reconstruction_err_ == pytest.approx(right, rel=1e-6, abs=1e-9)


def test_sparse_nmf_does_not_depend_on_threads(rng):
    X = sp.random_array((3000, 200), density=0.05, rng=0).tocsr()
    run = lambda: NMF(4, random_state=0, tol=1e-2).fit(X).components_
    with threads.limit_threads(1):
        one = run()
    np.testing.assert_array_equal(one, run())


def test_probabilistic_pca_reads_a_table_on_disk(tmp_path, rng):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    X = rng.standard_normal((500, 2)) @ rng.standard_normal((2, 6)) + 3
    X += 0.1 * rng.standard_normal(X.shape)
    path = tmp_path / "x.parquet"
    parquet.write_table(pa.table({f"c{j}": X[:, j] for j in range(6)}), path)
    there, here = ProbabilisticPCA(2).fit(path), ProbabilisticPCA(2).fit(X)
    np.testing.assert_allclose(there.components_, here.components_, rtol=1e-8)
    assert there.noise_variance_ == pytest.approx(here.noise_variance_)
    np.testing.assert_allclose(there.transform(path), here.transform(X), atol=1e-8)
    assert there.score(path) == pytest.approx(here.score(X))
    with pytest.raises(TypeError, match="a table on disk"):
        ProbabilisticPCA(2, method="em").fit(path)
