"""Rank and conditioning of a design."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.diagnose import conditioning


def test_worked_example():
    report = conditioning(np.array([[0.0, 1], [1, 1], [2, 1]]))
    assert report.kind == "tall full rank" and report.null_dimension == 0
    assert report.hessian_condition == pytest.approx(14.324555 / 1.675445, rel=1e-6)
    assert report.condition == pytest.approx(np.sqrt(14.324555 / 1.675445), rel=1e-6)
    even = conditioning(np.vstack([3 * np.eye(4), np.zeros((2, 4))]))
    assert even.condition == even.hessian_condition == pytest.approx(1)
    np.testing.assert_allclose(even.inflation, 1)


def test_tall_fat_and_deficient(rng):
    X = rng.standard_normal((30, 5))
    fat = conditioning(X.T)
    assert fat.kind == "fat" and fat.rank == 5 and fat.null_dimension == 25
    assert fat.null_dimension >= fat.shape[1] - fat.shape[0]
    assert fat.condition == pytest.approx(np.linalg.cond(X), rel=1e-9)
    low = conditioning(np.column_stack([X, X[:, 0] + X[:, 1], np.zeros(30)]))
    assert low.kind == "deficient" and low.rank == 5 and low.null_dimension == 2
    assert 6 in low.dependent and len(low.dependent) == 2
    assert np.isinf(low.inflation).all()
    assert "ill-posed" in str(low)
    constant = conditioning(np.column_stack([X, np.ones(30)]), fit_intercept=True)
    assert constant.kind == "deficient" and constant.dependent == (5,)


def test_condition_and_variance_inflation(rng):
    X = rng.standard_normal((200, 4)) * [1, 10, 1000, 1]
    X[:, 3] = X[:, 0] + 0.1 * X[:, 3]
    report = conditioning(X)
    assert report.condition == pytest.approx(np.linalg.cond(X), rel=1e-9)
    unit = X / np.linalg.norm(X, axis=0)
    assert report.scaled_condition == pytest.approx(np.linalg.cond(unit), rel=1e-9)
    np.testing.assert_allclose(
        report.inflation, np.diagonal(np.linalg.inv(unit.T @ unit)), rtol=1e-8
    )
    assert "most inflated variance" in str(report) and "digits" in str(report)
    w = rng.integers(0, 3, 200)
    a, b = conditioning(X, sample_weight=w), conditioning(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.singular_values, b.singular_values, rtol=1e-9)


def test_every_kind_of_rows(rng, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    X = rng.standard_normal((50, 3))
    right = conditioning(X).condition
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({f"x{j}": X[:, j] for j in range(3)}), path)
    torch = pytest.importorskip("torch")
    for A in (sp.csr_array(X), path, torch.tensor(X), X.tolist()):
        assert conditioning(A).condition == pytest.approx(right, rel=1e-9)
    with pytest.raises(ValueError, match="NaN"):
        conditioning(np.full((4, 2), np.nan))
    with pytest.raises(ValueError, match="two dimensions"):
        conditioning(np.ones(3))
