"""Truncated SVD, latent semantic analysis, and PCA by batches."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer

from pansophy.core.arrays.decoded_rows import row_memory
from pansophy.decomposition import PCA, IncrementalPCA, TruncatedSVD, svd

LSA = np.array([[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 3.0]])


def decaying(n, d, seed=0):
    rng = np.random.default_rng(seed)
    r = min(n, d)
    return (
        rng.standard_normal((n, r)) * 0.7 ** np.arange(r) @ rng.standard_normal((r, d))
    )


def test_latent_semantic_analysis():
    np.testing.assert_allclose(svd(LSA).S, [9, 3, 1])
    one = TruncatedSVD(1, random_state=0).fit(LSA)
    back = one.inverse_transform(one.transform(LSA))
    right = np.array([[4.5, 4.5, 0], [4.5, 4.5, 0], [0, 0, 0]])
    np.testing.assert_allclose(back, right, atol=1e-12)
    two = TruncatedSVD(2, random_state=0).fit(LSA)
    right[2, 2] = 3
    np.testing.assert_allclose(
        two.inverse_transform(two.transform(LSA)), right, atol=1e-12
    )


@pytest.mark.parametrize("n", [100, 103, 120])
def test_incremental_pca_takes_the_same_batches_from_a_file(tmp_path, n):
    X = decaying(n, 8)
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(8)}), tmp_path / "x.pq")
    held = IncrementalPCA(5, batch_size=50).fit(X)
    read = IncrementalPCA(5, batch_size=50).fit(tmp_path / "x.pq")
    np.testing.assert_array_equal(read.components_, held.components_)
    np.testing.assert_array_equal(read.singular_values_, held.singular_values_)


@pytest.mark.parametrize("far", [0.0, 1.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_file_is_fitted_without_its_scores(tmp_path, far, dtype):
    X = (decaying(300_000, 12) + far).astype(dtype)
    columns = {f"x{j}": X[:, j] for j in range(12)}
    pq.write_table(pa.table(columns), tmp_path / "x.parquet", row_group_size=30_000)
    ours = TruncatedSVD(6, random_state=0)
    held = ours.fit(X)
    names = ("components_", "singular_values_", "explained_variance_")
    names = (*names, "explained_variance_ratio_")
    right = [getattr(held, name) for name in names]
    tracemalloc.start()
    try:
        with row_memory(0):
            read = ours.fit(tmp_path / "x.parquet")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 300_000 * 6 * X.itemsize  # less than U would take
    room = 1e-9 if dtype is np.float64 else 5e-3
    for name, value in zip(names, right, strict=True):
        found = getattr(read, name)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, value, rtol=room, atol=room, err_msg=name)
    S = np.linalg.svd(X.astype(float), compute_uv=False)[:6]
    np.testing.assert_allclose(read.singular_values_, S, rtol=room / 10)
    Z = read.transform(tmp_path / "x.parquet")
    np.testing.assert_allclose(Z, X @ read.components_.T, rtol=room, atol=room)
    right = np.var(X.astype(float) @ read.components_.T.astype(float), axis=0)
    np.testing.assert_allclose(read.explained_variance_, right, rtol=room / 10)


@pytest.mark.parametrize("algorithm", ["randomized", "arpack"])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("shape", [(80, 50), (50, 80), (400, 300)], ids=str)
def test_parity(algorithm, make, shape):
    X = decaying(*shape)
    ours = TruncatedSVD(4, algorithm=algorithm, random_state=0).fit(make(X))
    right = peer.TruncatedSVD(4, algorithm="arpack", random_state=0).fit(X)
    for name in (
        "singular_values_",
        "explained_variance_",
        "explained_variance_ratio_",
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(right, name), rtol=1e-6)
    V = ours.components_
    along = np.abs(np.sum(V * right.components_, axis=1))
    np.testing.assert_allclose(along, 1, atol=1e-8)
    Z = ours.fit_transform(make(X))
    np.testing.assert_allclose(Z, ours.transform(make(X)), atol=1e-8)


def test_tensors_and_whole_decompositions():
    torch = pytest.importorskip("torch")
    X = decaying(60, 40)
    found = TruncatedSVD(3, random_state=0).fit(torch.asarray(X))
    known = TruncatedSVD(3, random_state=0).fit(X)
    np.testing.assert_allclose(found.components_.numpy(), known.components_, atol=1e-8)
    U, S, Vt = svd(torch.asarray(X))
    np.testing.assert_allclose(((U * S) @ Vt).numpy(), X, atol=1e-10)
    with pytest.raises(ValueError, match="NumPy array"):
        TruncatedSVD(3, algorithm="arpack").fit(torch.asarray(X))
    S = sp.csr_array(X)
    np.testing.assert_allclose(svd(S).S, svd(X).S, atol=1e-9)


def test_too_many_components():
    with pytest.raises(ValueError, match=r"must be <= min"):
        TruncatedSVD(4).fit(LSA)
    with pytest.raises(ValueError, match="below 3"):
        TruncatedSVD(3, algorithm="arpack").fit(LSA)


# --- by batches -----------------------------------------------------------------------


@pytest.mark.parametrize("size", [10, 33, 200])
def test_all_components_kept_is_pca(size):
    X = decaying(200, 8) + 5
    found, known = IncrementalPCA(batch_size=size).fit(X), PCA().fit(X)
    for name in ("components_", "explained_variance_", "singular_values_", "mean_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(known, name), atol=1e-9
        )
    np.testing.assert_allclose(found.var_, X.var(axis=0))
    assert found.n_samples_seen_ == 200


@pytest.mark.parametrize("k", [2, 5])
def test_batches_match_scikit_learn(k):
    X = decaying(300, 12) + 1
    ours, right = (
        IncrementalPCA(k, batch_size=40),
        peer.IncrementalPCA(k, batch_size=40),
    )
    ours.fit(X), right.fit(X)
    for name in (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "var_",
        "noise_variance_",
        "n_samples_seen_",
    ):
        np.testing.assert_allclose(
            getattr(ours, name), getattr(right, name), rtol=1e-6, atol=1e-9
        )
    np.testing.assert_allclose(ours.transform(X), right.transform(X), atol=1e-8)
    stream = IncrementalPCA(k)
    for part in np.array_split(X, 7):
        stream.partial_fit(part)
    other = peer.IncrementalPCA(k)
    for part in np.array_split(X, 7):
        other.partial_fit(part)
    np.testing.assert_allclose(stream.components_, other.components_, atol=1e-8)


def test_a_later_batch_may_be_one_row():
    X = decaying(31, 4)
    model = IncrementalPCA(3).partial_fit(X[:30]).partial_fit(X[30:])
    assert model.n_samples_seen_ == 31
    np.testing.assert_allclose(model.mean_, X.mean(axis=0))
    sparse = IncrementalPCA(3, batch_size=10).fit(sp.csr_array(X))
    np.testing.assert_allclose(sparse.mean_, X.mean(axis=0))
    with pytest.raises(ValueError, match="first partial_fit call"):
        IncrementalPCA(3).partial_fit(X[:2])
    with pytest.raises(ValueError, match="at most 4 components"):
        IncrementalPCA(5).fit(X)
