"""PCA: worked numbers, every solver, choice of k, density, tables, tensors, errors."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from pansophy import decomposition
from pansophy.decomposition import PCA, IncrementalPCA, KernelPCA, svd
from pansophy.decomposition.pca import minka_evidence, rank_for_variance_share
from pansophy.discriminant_analysis import LinearDiscriminantAnalysis

EIGHT = np.array(
    [[2, 0], [0, -2], [3, 1], [-1, -3], [1, -1], [1, -1], [2, -2], [0, 0]], float
)
FOUR = np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
WIDE = np.array([[1, 0, 2, 0, 1], [0, 1, 0, 3, 1], [2, 2, 1, 0, 0]], float)
SOLVERS = ["full", "covariance_eigh", "arpack", "randomized"]


def made(n, d, seed=0, offset=0.0):
    rng = np.random.default_rng(seed)
    r = min(n, d)
    scale = 0.8 ** np.arange(r)
    return rng.standard_normal((n, r)) * scale @ rng.standard_normal((r, d)) + offset


def table(X, path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({f"c{j}": X[:, j] for j in range(X.shape[1])}), path)
    return path


# --- worked examples ----------------------------------------------------------------


def test_eight_points():
    model = PCA().fit(EIGHT)
    n = len(EIGHT)
    np.testing.assert_allclose(model.mean_, [1, -1])
    covariance = model.get_covariance() * (n - 1) / n
    np.testing.assert_allclose(covariance, [[1.5, 1], [1, 1.5]], atol=1e-12)
    np.testing.assert_allclose(model.singular_values_**2 / n, [2.5, 0.5])
    np.testing.assert_allclose(model.components_[0], [0.707107, 0.707107], atol=1e-6)
    one = PCA(1).fit(EIGHT)
    assert one.reconstruction_error(EIGHT) == pytest.approx(0.5)
    Z = one.transform(EIGHT)
    assert np.mean(Z**2) == pytest.approx(2.5)  # projected variance
    back = one.inverse_transform(Z)
    np.testing.assert_allclose(one.inverse_transform(one.transform(back)), back)
    again = model.inverse_transform(model.transform(EIGHT))
    np.testing.assert_allclose(again, EIGHT, atol=1e-12)


def test_four_points():
    model = PCA().fit(FOUR)
    np.testing.assert_allclose(model.singular_values_**2 / 4, [2, 0.5])
    np.testing.assert_allclose(model.singular_values_, [2.828427, 1.414214], atol=1e-6)
    assert model.explained_variance_ratio_[0] == pytest.approx(0.8)
    assert PCA(1).fit(FOUR).reconstruction_error(FOUR) * 4 == pytest.approx(2)
    np.testing.assert_allclose(svd(FOUR).S, [2.828427, 1.414214], atol=1e-6)


def test_fewer_rows_than_columns():
    known = [3.060445, 1.161777]
    Xc = WIDE - WIDE.mean(axis=0)
    for values in (np.linalg.eigvalsh(Xc.T @ Xc), np.linalg.eigvalsh(Xc @ Xc.T)):
        np.testing.assert_allclose(values[::-1][:2] / 3, known, atol=1e-6)
    for solver in ("full", "covariance_eigh", "randomized"):
        model = PCA(2, svd_solver=solver, random_state=0).fit(WIDE)
        np.testing.assert_allclose(model.singular_values_**2 / 3, known, atol=1e-6)
    found = svd(WIDE, center=True)
    np.testing.assert_allclose(found.S[:2] ** 2 / 3, known, atol=1e-6)
    np.testing.assert_allclose(svd(WIDE, 2, center=True, random_state=0).S, found.S[:2])


# --- solvers ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(200, 12), (12, 200), (40, 40), (260, 240)], ids=str)
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("offset", [0.0, 1e5])
def test_solvers_agree_with_scikit_learn(shape, solver, offset):
    X = made(*shape, offset=offset)
    ours = PCA(5, svd_solver=solver, random_state=0).fit(X)
    right = peer.PCA(5, svd_solver="full").fit(X)
    near = {"rtol": 1e-6, "atol": 1e-6}
    for name in (
        "components_",
        "explained_variance_",
        "explained_variance_ratio_",
        "singular_values_",
        "mean_",
        "noise_variance_",
    ):
        np.testing.assert_allclose(getattr(ours, name), getattr(right, name), **near)
    np.testing.assert_allclose(ours.transform(X), right.transform(X), atol=1e-5)
    V = ours.components_
    np.testing.assert_allclose(V @ V.T, np.eye(5), atol=1e-9)


@pytest.mark.parametrize("solver", ["covariance_eigh", "arpack", "randomized"])
@pytest.mark.parametrize("shape", [(300, 20), (20, 300)], ids=str)
def test_sparse_rows(solver, shape):
    S = sp.random_array(shape, density=0.2, rng=np.random.default_rng(0), format="csc")
    ours = PCA(4, svd_solver=solver, random_state=0, iterated_power=12).fit(S)
    right = peer.PCA(4, svd_solver="full").fit(S.toarray())
    np.testing.assert_allclose(ours.explained_variance_, right.explained_variance_)
    np.testing.assert_allclose(
        ours.transform(S), right.transform(S.toarray()), atol=1e-6
    )
    assert ours.reconstruction_error(S) == pytest.approx(
        PCA(4).fit(S.toarray()).reconstruction_error(S.toarray())
    )
    with pytest.raises(TypeError, match="only support sparse inputs"):
        PCA(svd_solver="full").fit(S)


def test_auto_follows_the_shape():
    assert PCA().fit(made(300, 20)).solver_ == "covariance_eigh"
    assert PCA(2).fit(made(100, 90)).solver_ == "full"
    assert PCA(5).fit(made(600, 500)).solver_ == "randomized"
    assert PCA(0.9).fit(made(20, 600)).solver_ == "full"
    assert PCA(3).fit(sp.csr_array(made(40, 30))).solver_ == "arpack"


@given(st.integers(2, 12), st.integers(1, 9), st.integers(0, 10_000))
def test_full_is_exact_for_any_shape(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d))
    X[:, d // 2] = X[:, 0]  # dependent columns
    model = PCA(svd_solver="full").fit(X)
    k = model.n_components_
    np.testing.assert_allclose(
        model.components_ @ model.components_.T, np.eye(k), atol=1e-10
    )
    s = np.linalg.svd(X - X.mean(axis=0))[1]
    np.testing.assert_allclose(model.singular_values_, s, atol=1e-10)
    Z = model.transform(X)
    np.testing.assert_allclose(model.inverse_transform(Z), X, atol=1e-10)
    C = Z.T @ Z
    np.testing.assert_allclose(C, np.diag(np.diag(C)), atol=1e-9)  # uncorrelated


@given(st.integers(0, 10_000))
def test_turning_the_rows_turns_the_axes(seed):
    rng = np.random.default_rng(seed)
    X, Q = made(50, 4, seed), np.linalg.qr(rng.standard_normal((4, 4)))[0]
    a, b = PCA().fit(X), PCA().fit(X @ Q)
    np.testing.assert_allclose(a.explained_variance_, b.explained_variance_)
    along = np.abs(np.sum((a.components_ @ Q) * b.components_, axis=1))
    np.testing.assert_allclose(along, 1)
    shuffled = PCA().fit(X[rng.permutation(50)])
    np.testing.assert_allclose(shuffled.components_, a.components_, atol=1e-8)


def test_no_other_plane_is_closer(rng):
    X = made(60, 6)
    best = PCA(2).fit(X).reconstruction_error(X)
    Xc = X - X.mean(axis=0)
    for _ in range(50):
        Q = np.linalg.qr(rng.standard_normal((6, 2)))[0]
        assert best <= np.mean(np.sum((Xc - Xc @ Q @ Q.T) ** 2, axis=1))


# --- how many components ------------------------------------------------------------


def test_dropped_variance_is_the_error():
    X = made(100, 8)
    model = PCA().fit(X)
    lam = model.explained_variance_ * 99 / 100
    for k in range(1, 9):
        error = PCA(k).fit(X).reconstruction_error(X)
        assert error == pytest.approx(lam[k:].sum(), abs=1e-12)


@pytest.mark.parametrize("share", [0.3, 0.9, 0.999])
def test_energy(share):
    X = made(300, 12)
    model = PCA(share).fit(X)
    ratios = PCA().fit(X).explained_variance_ratio_
    k = model.n_components_
    assert ratios[:k].sum() >= share > ratios[: k - 1].sum()
    assert k == peer.PCA(share).fit(X).n_components_
    assert rank_for_variance_share(np.array([0.5, 0.5]), 0.999) == 2


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_mle(rank, rng):
    X = 3 * rng.standard_normal((500, rank)) @ rng.standard_normal((rank, 8))
    X += 0.5 * rng.standard_normal((500, 8))
    ours, right = PCA("mle").fit(X), peer.PCA("mle", svd_solver="full").fit(X)
    assert ours.n_components_ == right.n_components_ == rank
    assert ours.noise_variance_ == pytest.approx(right.noise_variance_)
    scores = minka_evidence(PCA().fit(X).explained_variance_, 500)
    assert int(np.argmax(scores)) == rank
    with pytest.raises(ValueError, match="n_samples >= n_features"):
        PCA("mle").fit(X[:5])


# --- density, whitening -------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 5])
def test_density_covariance_and_whitening(k):
    X = made(200, 5) + 3
    ours, right = PCA(k).fit(X), peer.PCA(k, svd_solver="full").fit(X)
    for name in ("get_covariance", "get_precision"):
        np.testing.assert_allclose(
            getattr(ours, name)(), getattr(right, name)(), rtol=1e-6, atol=1e-8
        )
    np.testing.assert_allclose(ours.score_samples(X), right.score_samples(X))
    assert ours.score(X) == pytest.approx(right.score(X))
    white = PCA(k, whiten=True).fit(X)
    Z = white.transform(X)
    np.testing.assert_allclose(np.cov(Z.T), np.eye(k), atol=1e-10)
    np.testing.assert_allclose(
        white.inverse_transform(Z), ours.inverse_transform(ours.transform(X))
    )


# --- where the rows are -------------------------------------------------------------


def test_tables_on_disk(tmp_path):
    X = made(5000, 6, offset=1e4)
    path = table(X, tmp_path / "x.parquet")
    known = PCA(3).fit(X)
    for solver in ("auto", "full", "randomized"):
        found = PCA(3, svd_solver=solver, random_state=0).fit(str(path))
        np.testing.assert_allclose(found.components_, known.components_, atol=1e-6)
        np.testing.assert_allclose(
            found.transform(str(path)), known.transform(X), atol=1e-6
        )
    assert found.reconstruction_error(str(path)) == pytest.approx(
        known.reconstruction_error(X)
    )
    batches = IncrementalPCA(6, batch_size=700).fit(str(path))
    np.testing.assert_allclose(batches.components_[:3], known.components_, atol=1e-6)
    X[7, 2] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        PCA().fit(str(table(X, tmp_path / "y.parquet")))
    with pytest.raises(ValueError, match="needs a NumPy array"):
        PCA(2, svd_solver="arpack").fit(str(path))


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
@pytest.mark.parametrize("shape", [(300, 8), (8, 300), (260, 240)], ids=str)
@pytest.mark.parametrize("solver", ["full", "covariance_eigh", "randomized"])
def test_tensors(library, shape, solver):
    xp = pytest.importorskip(library)
    X = made(*shape, offset=2.0)
    T = xp.asarray(X)
    found = PCA(3, svd_solver=solver, random_state=0).fit(T)
    known = PCA(3, svd_solver=solver, random_state=0).fit(X)
    assert type(found.components_) is type(T) is type(found.transform(T))
    near = {"rtol": 1e-7, "atol": 1e-7}
    np.testing.assert_allclose(np.asarray(found.components_), known.components_, **near)
    np.testing.assert_allclose(
        np.asarray(found.transform(T)), known.transform(X), **near
    )
    np.testing.assert_allclose(found.transform(X), known.transform(X), **near)
    back = found.inverse_transform(found.transform(T))
    np.testing.assert_allclose(
        np.asarray(back), known.inverse_transform(known.transform(X)), **near
    )
    np.testing.assert_allclose(
        np.asarray(found.score_samples(T)), known.score_samples(X), rtol=1e-5
    )
    assert found.reconstruction_error(T) == pytest.approx(known.reconstruction_error(X))


@pytest.mark.gpu
def test_tensors_stay_on_the_gpu():
    torch = pytest.importorskip("torch")
    T = torch.randn((20_000, 64), device="cuda")
    for solver in ("covariance_eigh", "randomized"):
        model = PCA(5, svd_solver=solver, random_state=0).fit(T)
        assert model.components_.device == T.device == model.transform(T).device


def test_single_precision():
    X = made(2000, 30, offset=100.0)
    small = PCA(4).fit(X.astype(np.float32))
    assert (
        small.components_.dtype == small.transform(X.astype("f4")).dtype == np.float32
    )
    right = PCA(4).fit(X.astype(np.float32).astype(float))
    np.testing.assert_allclose(
        small.explained_variance_, right.explained_variance_, rtol=1e-5
    )


@pytest.mark.parametrize(("solver", "k"), [("covariance_eigh", 5), ("randomized", 5)])
def test_no_centred_copy_is_made(solver, k):
    X = made(40_000, 60, offset=50.0)
    model = PCA(k, svd_solver=solver, random_state=0)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 2


# --- in a pipeline ------------------------------------------------------------------


def test_reducer_is_refitted_in_each_fold_and_k_is_tuned(rng, monkeypatch):
    from pansophy.linear_model import LogisticRegression

    X = made(90, 6)
    y = (X[:, 0] + 0.1 * rng.standard_normal(90) > 0).astype(int)
    for reducer in (PCA(svd_solver="full"), KernelPCA(kernel="rbf", gamma=0.05)):
        pipe = make_pipeline(reducer, LogisticRegression())
        name = type(reducer).__name__.lower()
        grid = {f"{name}__n_components": [1, 3]}
        search = GridSearchCV(pipe, grid, cv=3).fit(X, y)
        assert search.best_score_ > 0.7
        assert search.best_params_[f"{name}__n_components"] in (1, 3)
    seen, fit = [], PCA.fit_transform
    note = lambda self, X, y=None: seen.append(len(X)) or fit(self, X)
    monkeypatch.setattr(PCA, "fit_transform", note)
    pipe = make_pipeline(PCA(), LogisticRegression())
    GridSearchCV(pipe, {"pca__n_components": [2]}, cv=3).fit(X, y)
    assert seen == [60, 60, 60, 90]  # training rows only, then all
    monkeypatch.undo()
    kept, whole = PCA(3).fit(X).storage()
    assert (kept, whole) == (3 * (90 + 6) + 6, 540)


def test_fisher_projection_keeps_apart_what_pca_lets_overlap(rng):
    n = 200
    spread = rng.standard_normal((2 * n, 2)) * [0.3, 5.0]
    y = np.repeat([0, 1], n)
    X = spread + y[:, None] * [2.0, 0.0]
    lda = LinearDiscriminantAnalysis(solver="eigen").fit(X, y)
    z = lda.transform(X)[:, 0]
    # w maximises between over within variance: Sw^-1 (m1 - m0)
    Sw = sum(np.cov(X[y == c].T, bias=True) for c in (0, 1))
    w = np.linalg.solve(Sw, X[y == 1].mean(0) - X[y == 0].mean(0))
    assert abs(np.corrcoef(z, X @ w)[0, 1]) == pytest.approx(1)

    def gap(z):
        a, b = z[y == 0], z[y == 1]
        return abs(a.mean() - b.mean()) / np.sqrt(a.var() + b.var())

    assert abs(PCA(1).fit(X).components_[0, 1]) > 0.99
    assert gap(z) > 4 > 1 > gap(PCA(1).fit_transform(X)[:, 0])


def test_a_linear_autoencoder_learns_the_same_plane(rng):
    X = made(120, 5)
    Xc = (X - X.mean(axis=0)) / 2
    A, B = 0.3 * rng.standard_normal((5, 2)), 0.3 * rng.standard_normal((2, 5))
    for _ in range(6000):
        Z = Xc @ A
        R = (Z @ B - Xc) / len(Xc)
        A, B = A - 0.3 * Xc.T @ (R @ B.T), B - 0.3 * Z.T @ R
    V = PCA(2).fit(X).components_
    plane = np.linalg.qr(B.T)[0]
    np.testing.assert_allclose(plane @ plane.T, V.T @ V, atol=1e-4)
    error = 4 * np.mean(np.sum((Xc @ A @ B - Xc) ** 2, axis=1))
    assert error == pytest.approx(PCA(2).fit(X).reconstruction_error(X), rel=1e-5)


# --- errors -------------------------------------------------------------------------


def test_bad_requests():
    X = made(20, 5)
    for model, words in [
        (PCA(6), "between 0 and"),
        (PCA(0, svd_solver="arpack"), "between 1 and"),
        (PCA(1.5), "n_components"),
        (PCA(5, svd_solver="arpack"), "strictly less"),
        (PCA(0.5, svd_solver="randomized"), "whole n_components"),
        (PCA(2, power_iteration_normalizer="lu"), "power_iteration_normalizer"),
    ]:
        with pytest.raises(ValueError, match=words):
            model.fit(X)
    X[3, 2] = np.inf
    for solver in SOLVERS:
        with pytest.raises(ValueError, match="infinity"):
            PCA(2, svd_solver=solver).fit(X)
    with pytest.raises(ValueError, match="2 columns"):
        PCA(2).fit(EIGHT).inverse_transform(np.ones((2, 3)))


def test_constant_rows_have_no_variance():
    model = PCA().fit(np.ones((6, 3)))
    np.testing.assert_array_equal(model.explained_variance_, 0)
    np.testing.assert_array_equal(model.explained_variance_ratio_, 0)
    assert np.isfinite(model.score(np.ones((2, 3))))


def test_no_components():
    X = np.random.default_rng(0).normal(size=(30, 5))
    for A in (X, sp.csr_matrix(X), sp.csr_array(X)):
        model = PCA(0).fit(A)
        assert model.components_.shape == (0, 5)
        assert model.transform(A).shape == (30, 0)
        assert model.noise_variance_ == pytest.approx(X.var(axis=0, ddof=1).mean())
    with pytest.raises(ValueError, match="between 1 and min"):
        PCA(0, svd_solver="randomized").fit(X)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_sparse_rows_by_the_covariance(kind):
    X = np.random.default_rng(0).normal(size=(30, 5))
    a = PCA(svd_solver="covariance_eigh").fit(kind(X))
    b = PCA(svd_solver="covariance_eigh").fit(X)
    assert a.components_.shape == (5, 5)
    np.testing.assert_allclose(a.components_, b.components_, atol=1e-10)


@pytest.mark.parametrize(
    "model",
    [
        PCA(),
        PCA(svd_solver="covariance_eigh"),
        decomposition.FastICA(random_state=0, tol=1.0),
        decomposition.IncrementalPCA(),
        decomposition.ProbabilisticPCA(2),
        decomposition.NMF(2, random_state=0),
        decomposition.FactorAnalysis(2),
        decomposition.TruncatedSVD(2, random_state=0),
    ],
    ids=lambda m: type(m).__name__,
)
def test_the_order_in_memory_does_not_change_a_bit(model):
    X = np.abs(np.random.default_rng(0).normal(size=(60, 5)))
    a, b = clone(model).fit(X), clone(model).fit(np.asfortranarray(X))
    np.testing.assert_array_equal(a.components_, b.components_)
    np.testing.assert_array_equal(a.transform(X), a.transform(np.asfortranarray(X)))
