"""The risk of linear models: derivatives, every kind of rows, loops against oracles."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from pansophy import losses
from pansophy.core.arrays.rows import DatasetRows
from pansophy.linear_model import _risk as loops
from pansophy.linear_model import risk
from pansophy.linear_model.risk import (
    Risk,
    block_jacobi_preconditioner,
    densest_columns,
    unsigned_csr,
    whitening_factor,
)
from pansophy.optim import check_gradient, lbfgs, newton_cg
from tests.oracles import logistic as oracle

POINTWISE = [loss for loss in losses.LOSSES if loss.domain != "label"]


def targets(loss, n, rng):
    if loss.domain == "sign":
        return rng.choice([-1.0, 1.0], size=n)
    if loss.domain == "label":
        return rng.integers(0, 3, size=n)
    return rng.uniform(0.1, 0.9, size=n)


def kinds(X, tmp_path):
    """The same rows in every form that a risk takes."""
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(X.shape[1])}), path)
    yield X
    yield np.asfortranarray(X)
    yield sp.csr_matrix(X)
    yield DatasetRows(path)
    torch = pytest.importorskip("torch")
    yield torch.as_tensor(X)


def values(J, x, u):
    """Everything a risk says at x."""
    value, g = J(x)
    return [value, g, J.hessian(x), J.hessian_product(x)(u), J.diagonal(x)]


@pytest.mark.parametrize("loss", [*POINTWISE, losses.softmax], ids=lambda a: a.name)
@pytest.mark.parametrize("intercept", [True, False])
def test_every_loss_on_every_kind_of_rows(loss, intercept, tmp_path, rng):
    n, d, k = 60, 4, 3 if loss.name == "softmax" else 1
    X, v = rng.normal(size=(n, d)), rng.uniform(size=n)
    X[rng.uniform(size=(n, d)) < 0.3] = 0.0
    y = targets(loss, n, rng)
    offset = 0.1 * rng.normal(size=(n, k) if k > 1 else n)
    x, u = 0.3 * rng.normal(size=(2, k * (d + 1)))
    if not intercept:
        x.reshape(k, -1)[:, d] = 0.0
    known = None
    for rows in kinds(X, tmp_path):
        parts = [y, v, offset]
        if hasattr(rows, "new_tensor"):
            parts = [pytest.importorskip("torch").as_tensor(a) for a in parts]
        J = Risk(rows, *parts[:2], loss, 0.3, k=k, intercept=intercept, offset=parts[2])
        found = values(J, x, u)
        if known is None:
            known = found
            straight = lambda t, J=J: J(x + t * u)[0]
            slope = (straight(1e-6) - straight(-1e-6)) / 2e-6
            if intercept and loss.smooth:
                assert slope == pytest.approx(found[1] @ u, rel=1e-6)
                assert check_gradient(J, x) < 1e-6
        for a, b in zip(found, known, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize(
    "loss", [x for x in POINTWISE if x.kind >= 0], ids=lambda a: a.name
)
def test_passes_match_the_oracle(loss, rng):
    n, d = 70, 3  # more than one chunk of rows
    X, v, w = rng.normal(size=(n, d)), rng.uniform(size=n), rng.normal(size=d)
    y, kind, a = targets(loss, n, rng), loops.loss_kind(loss), loss.parameter
    value, gradient = oracle.risk_pass(X, y, v, w, 0.3, loss)
    f, g = np.zeros(n), np.zeros(d + 1)
    got = loops.dense_loss_gradient(X, y, v, w, 0.3, kind, a, f, g)
    assert got == pytest.approx(value)
    np.testing.assert_allclose(g, gradient, rtol=1e-10)
    np.testing.assert_allclose(f, X @ w + 0.3, rtol=1e-12, atol=1e-12)
    f, g = np.zeros(n), np.zeros(d + 1)
    rows = unsigned_csr(sp.csr_matrix(X))
    got = loops.sparse_loss_gradient(*rows, y, v, w, 0.3, kind, a, f, g)
    assert got == pytest.approx(value)
    np.testing.assert_allclose(g, gradient, rtol=1e-10)
    H = oracle.curvature_matrix(X, y, v, w, 0.3, loss)
    h, u = np.empty(n), rng.normal(size=d + 1)
    loops.loss_curvature(kind, a, y, v, f, h)
    for product in (
        lambda g: loops.dense_hessian_product(X, h, u[:d], u[d], g),
        lambda g: loops.sparse_hessian_product(*rows, h, u[:d], u[d], g),
    ):
        g = np.zeros(d + 1)
        product(g)
        np.testing.assert_allclose(g, H @ u, rtol=1e-9, atol=1e-9)


def test_softmax_loops_match_the_oracle(rng):
    F, y, v = (
        rng.normal(size=(20, 4)),
        rng.integers(0, 4, size=20),
        rng.uniform(size=20),
    )
    loss, P, R = oracle.softmax_pass(F, y, v)
    found, out = F.copy(), np.empty_like(F)
    assert loops.softmax_loss_gradient(found, y, v, out) == pytest.approx(loss)
    np.testing.assert_allclose(found, P, atol=1e-14)
    np.testing.assert_allclose(out, R, atol=1e-14)
    D = rng.normal(size=(20, 4))
    own = [v[i] * (np.diag(P[i]) - np.outer(P[i], P[i])) @ D[i] for i in range(20)]
    loops.softmax_curvature_product(P, v, D)
    np.testing.assert_allclose(D, own, atol=1e-14)


def test_head_matches_the_oracle(rng):
    X = rng.normal(size=(30, 6)) * (rng.uniform(size=(30, 6)) < 0.5)
    h, top = rng.uniform(size=30), np.array([1, 4])
    place = np.full(6, -1, dtype=np.int32)
    place[top] = [0, 1]
    D, G = np.zeros(7), np.zeros((3, 3))
    loops.sparse_diagonal_and_block(*unsigned_csr(sp.csr_matrix(X)), h, place, D, G)
    Z = np.column_stack([X, np.ones(30)])
    H = Z.T @ (h[:, None] * Z)
    np.testing.assert_allclose(D, np.diagonal(H))
    np.testing.assert_allclose(G, np.tril(H[np.ix_([1, 4, 6], [1, 4, 6])]), atol=1e-14)


def test_blocks_and_threads_change_nothing(rng, monkeypatch, tmp_path):
    X, v = rng.normal(size=(3000, 4)), np.full(3000, 1 / 3000)
    y = (X[:, 0] + rng.logistic(size=3000) > 0).astype(float)
    x = rng.normal(size=5)
    one = Risk(X, y, v, losses.logistic)
    assert len(one.block_slices) == 3
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(4)}), path)
    disk = Risk(DatasetRows(path), y, v, losses.logistic)
    for a, b in zip(values(one, x, x), values(disk, x, x), strict=True):
        np.testing.assert_array_equal(a, b)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    for a, b in zip(values(one, x, x), values(disk, x, x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_rough_hessian_is_close(rng, monkeypatch):
    monkeypatch.setattr(risk, "ROUGH_ROWS", 1000)
    X, v = rng.normal(size=(5000, 3)), rng.uniform(size=5000)
    J = Risk(X, (X[:, 0] > 0) * 1.0, v, losses.logistic, 0.1)
    x = 0.1 * rng.normal(size=4)
    rough, exact = J.hessian(x, rough=True), J.hessian(x)
    assert not np.array_equal(rough, exact)
    np.testing.assert_allclose(rough, exact, atol=0.1 * np.abs(exact).max())


@pytest.mark.parametrize("k", [1, 3])
def test_preconditioned_steps_are_fewer(k, rng):
    n, d = 400, 200
    scale = 1 / np.arange(1, d + 1)
    X = sp.csr_matrix((rng.uniform(size=(n, d)) < scale) * rng.uniform(1, 2, (n, d)))
    y = rng.integers(0, max(k, 2), size=n)
    loss = losses.logistic if k == 1 else losses.softmax
    J = Risk(X, y, np.full(n, 1 / n), loss, 1 / n, k=k)
    assert set(densest_columns(X, 2)) == {0, 1}
    counts, found = [], []
    for M in (None, block_jacobi_preconditioner(J)):
        calls = []

        def product(x, calls=calls):
            times = J.hessian_product(x)
            return lambda u: (calls.append(1), times(u))[1]

        start = np.zeros(k * (d + 1))
        run = newton_cg(J, product, start, tol=1e-8, precondition=M)
        counts.append(len(calls))
        found.append(J.split(run.state.position)[0])
    assert counts[1] < (0.7 if k == 1 else 1.2) * counts[0]  # of softmax hardly any
    np.testing.assert_allclose(*found, atol=1e-5)


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("library", ["numpy", "csr", "torch"])
def test_whitened_steps_are_fewer(k, library, rng):
    n, d = 600, 20
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 3
    y = rng.integers(0, max(k, 2), size=n)
    v = np.full(n, 1 / n)
    if library == "torch":
        torch = pytest.importorskip("torch")
        X, y, v = (torch.as_tensor(a) for a in (X, y, v))
    X = sp.csr_matrix(X) if library == "csr" else X
    loss = losses.logistic if k == 1 else losses.softmax
    J = Risk(X, y, v, loss, 1e-3, k=k)
    x = np.zeros(k * (d + 1))
    plain = lbfgs(J, x, tol=1e-6)
    white = lbfgs(J, x, tol=1e-6, root=whitening_factor(J, x))
    assert white.n_iter < 0.6 * plain.n_iter
    assert np.abs(J(white.state.position)[1]).max() <= 1e-6
    np.testing.assert_allclose(white.state.position, plain.state.position, atol=1e-2)
    assert whitening_factor(Risk(X[:50], y[:50], v[:50], loss, k=k), x) is None
    with pytest.raises(ValueError, match="not both"):
        lbfgs(J, x, root=np.eye(d + 1), bounds=[(0, 1)])
