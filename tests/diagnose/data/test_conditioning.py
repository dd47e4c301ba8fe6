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


def dependent_designs():
    """Designs in which a column follows from the others."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 50))
    one = np.ones(50)
    return {
        "twice a column": np.c_[x, 2 * x],
        "a third of a column": np.c_[x, x / 3],
        "a copy in other units": np.c_[x, 1e10 * x],
        "a copy but for rounding": np.c_[x, x + 1e-17 * z],
        "a sum": np.c_[x, z, x + z],
        "a sum over scales": np.c_[x, 1e12 * z, x + 1e12 * z],
        "two constants": np.c_[x, one, 0.1 * one],
        "a column of zeros": np.c_[x, 0 * one],
        "all levels and a constant": np.c_[np.eye(3)[np.arange(50) % 3], one],
        "whole numbers": np.c_[np.arange(9), 2 * np.arange(9)],
        "single precision": np.c_[x, 2 * x].astype(np.float32),
        "equal rows, more columns": np.ones((2, 5)),
    }


@pytest.mark.parametrize("name", dependent_designs())
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_dependent_columns_have_infinite_condition(name, fit_intercept):
    report = conditioning(dependent_designs()[name], fit_intercept=fit_intercept)
    assert report.null_dimension > 0 and report.dependent
    assert report.condition == report.scaled_condition == np.inf
    assert report.hessian_condition == np.inf and "inf" in str(report)


def test_near_copies_and_scales_have_finite_condition(rng):
    x, z = rng.normal(size=(2, 50))
    for X in (np.c_[x, x + 1e-8 * z], np.c_[x, x + 1e-12 * z], np.c_[1e-20 * z, x]):
        report = conditioning(X)
        assert report.kind == "tall full rank" and not report.dependent
        assert report.condition == pytest.approx(np.linalg.cond(X), rel=1e-3)
    assert report.scaled_condition < 2
    assert conditioning(np.c_[1e-200 * z, x]).hessian_condition == np.inf
    fat = rng.normal(size=(3, 8))
    assert conditioning(fat).condition == pytest.approx(np.linalg.cond(fat))
    assert conditioning(fat).hessian_condition == np.inf
    centred = np.linalg.svd(fat - fat.mean(axis=0), compute_uv=False)[:2]
    assert conditioning(fat, fit_intercept=True).condition == pytest.approx(
        centred[0] / centred[1]
    )
