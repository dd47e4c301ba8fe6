"""Moments and covariances of classes against sums over the rows of each class."""

import numpy as np
import pytest
import scipy.sparse as sp
import sklearn.covariance

from pansophy.discriminant_analysis.class_covariances import (
    BLOCK_ROWS,
    SUM_ROUNDING,
    blocks_with_classes,
    class_covariances,
    column_list,
    covariances_by_estimator,
    dense_unweighted_rows,
    finite_class_moments,
    fourth_powers_by_class,
    moment_precision,
    moments_of_all_classes,
    result_dtype,
    rounding_variance,
    variance_by_class,
    weight_by_class,
)
from pansophy.distributions import Moments


@pytest.fixture
def labelled(rng):
    """Rows of three classes of different size, place and spread."""
    codes = rng.permutation(np.repeat([0, 1, 2], [20, 12, 28]))
    X = rng.normal(size=(60, 3)) * (1 + codes[:, None]) + 5 * codes[:, None]
    return X, codes


def full_moments(X, codes, w=None, shape="full"):
    return finite_class_moments(X, codes, w, int(codes.max()) + 1, shape)


def test_moments_of_each_class(labelled):
    X, codes = labelled
    m = full_moments(X, codes)
    for c in range(3):
        own = X[codes == c]
        assert m.weight[c] == len(own)
        np.testing.assert_allclose(m.mean[c], own.mean(axis=0), rtol=1e-13)
        want = np.cov(own.T, bias=True) * len(own)
        np.testing.assert_allclose(m.scatter[c], want, rtol=1e-12)


def test_moments_are_merged_over_blocks(rng):
    n = BLOCK_ROWS + 500
    X = rng.normal(size=(n, 2)) + 100
    codes = rng.integers(0, 2, n)
    assert len(list(blocks_with_classes(X, codes, None).blocks())) == 2
    m = full_moments(X, codes)
    for c in range(2):
        own = X[codes == c]
        want = np.cov(own.T, bias=True) * len(own)
        np.testing.assert_allclose(m.scatter[c], want, rtol=1e-10)


def test_weights_are_repetitions(labelled, rng):
    X, codes = labelled
    w = rng.integers(1, 4, len(X))
    many = np.repeat(np.arange(len(X)), w)
    weighted = full_moments(X, codes, w.astype(float))
    repeated = full_moments(X[many], codes[many])
    for shrinkage in (None, 0.3, "auto"):
        got = class_covariances(
            weighted, blocks_with_classes(X, codes, w.astype(float)), shrinkage
        )
        rows = blocks_with_classes(X[many], codes[many], None)
        want = class_covariances(repeated, rows, shrinkage)
        np.testing.assert_allclose(got, want, rtol=1e-11)


def test_covariances(labelled):
    X, codes = labelled
    m = full_moments(X, codes)
    rows = blocks_with_classes(X, codes, None)
    plain = class_covariances(m, rows, None)
    shrunk = class_covariances(m, rows, 0.25)
    by_rows = class_covariances(m, rows, "auto")
    for c in range(3):
        own = X[codes == c]
        C = np.cov(own.T, bias=True)
        np.testing.assert_allclose(plain[c], C, rtol=1e-12)
        want = 0.75 * C + 0.25 * np.trace(C) / 3 * np.eye(3)
        np.testing.assert_allclose(shrunk[c], want, rtol=1e-12)
        # Ledoit and Wolf on standardised columns
        scale = own.std(axis=0)
        Z = (own - own.mean(axis=0)) / scale
        R = sklearn.covariance.ledoit_wolf(Z, assume_centered=True)[0]
        np.testing.assert_allclose(by_rows[c], R * np.outer(scale, scale), rtol=1e-11)


def test_a_flat_column_does_not_divide_by_zero(labelled):
    X, codes = labelled
    X = X.copy()
    X[codes == 1, 2] = 7.0
    m = full_moments(X, codes)
    got = class_covariances(m, blocks_with_classes(X, codes, None), "auto")
    assert np.isfinite(got).all() and 0 <= got[1, 2, 2] < got[0, 2, 2]


def test_fourth_powers(labelled, rng):
    X, codes = labelled
    M, spread, w = rng.normal(size=(3, 3)), 1 + rng.random((3, 3)), rng.random(60)
    got = fourth_powers_by_class(blocks_with_classes(X, codes, w), M, spread, 3)
    want = np.zeros(3)
    for x, c, v in zip(X, codes, w):
        want[c] += v * np.sum(((x - M[c]) / spread[c]) ** 2) ** 2
    np.testing.assert_allclose(got, want, rtol=1e-12)
    sparse = blocks_with_classes(sp.csr_array(X), codes, w)
    np.testing.assert_allclose(
        fourth_powers_by_class(sparse, M, spread, 3), want, rtol=1e-12
    )


@pytest.mark.parametrize("shape", ["full", "tied", "diag"])
def test_variances_of_the_columns(labelled, shape):
    X, codes = labelled
    m = full_moments(X, codes, shape=shape)
    own = np.stack([X[codes == c].var(axis=0) for c in range(3)])
    if shape == "tied":
        own = (np.bincount(codes) @ own / len(X))[None, :]
    np.testing.assert_allclose(variance_by_class(m), own, rtol=1e-12)
    np.testing.assert_array_equal(weight_by_class(m), [20, 12, 28])


def test_weight_of_a_class_is_that_of_its_best_known_column():
    X = np.array([[1.0, np.nan], [2.0, np.nan], [4.0, 1.0]])
    m = finite_class_moments(X[:, ::-1], np.array([0, 0, 0]), None, 1, "diag")
    assert weight_by_class(m).tolist() == [3.0]


@pytest.mark.parametrize("shape", ["full", "tied"])
def test_moments_of_all_rows(labelled, shape):
    X, codes = labelled
    w = np.linspace(0.5, 2, len(X))
    m = moments_of_all_classes(full_moments(X, codes, w, shape))
    assert m.shape == "full" and m.weight[0] == pytest.approx(w.sum())
    np.testing.assert_allclose(m.mean[0], np.average(X, axis=0, weights=w), rtol=1e-12)
    want = np.cov(X.T, aweights=w, bias=True) * w.sum()
    np.testing.assert_allclose(m.scatter[0], want, rtol=1e-11)


def test_a_constant_column_varies_by_less_than_rounding():
    x = np.full((BLOCK_ROWS + 1000, 1), 1e5 / 3)
    codes = np.zeros(len(x), np.int64)
    m = full_moments(x, codes)
    assert variance_by_class(m)[0, 0] <= rounding_variance(m)[0]
    hand = Moments(np.ones(2), np.array([[1.0, -8.0], [-2.0, 4.0]]), None, "full")
    want = (SUM_ROUNDING * 0.5 * np.array([2.0, 8.0])) ** 2
    np.testing.assert_allclose(rounding_variance(hand, eps=0.5), want, rtol=1e-15)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e200])
def test_moments_that_are_not_finite_are_refused(labelled, bad):
    X, codes = labelled
    X = X.copy()
    X[3, 1] = bad
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        full_moments(X, codes)


class Shouting:
    """No estimator of scikit-learn's: it has `fit` and `covariance_` alone."""

    def fit(self, X):
        self.covariance_ = X.var() if X.shape[1] == 1 else X.T @ X


def test_covariances_by_an_estimator(labelled):
    X, codes = labelled
    given = sklearn.covariance.OAS(store_precision=False)
    got = covariances_by_estimator(given, X, codes, 3)
    assert not hasattr(given, "covariance_")  # a copy was fitted
    for c in range(3):
        want = sklearn.covariance.oas(X[codes == c])[0]
        np.testing.assert_allclose(got[c], want, rtol=1e-12)
    plain = covariances_by_estimator(Shouting(), X, codes, 3)
    np.testing.assert_allclose(plain[1], X[codes == 1].T @ X[codes == 1], rtol=1e-12)
    assert covariances_by_estimator(Shouting(), X[:, :1], codes, 3).shape == (3, 1, 1)
    with pytest.raises(ValueError, match="Nothing does not have a covariance_"):
        covariances_by_estimator(Nothing(), X, codes, 3)


class Nothing:
    def fit(self, X):
        pass


def test_rows_for_an_estimator_of_others(labelled):
    X, _ = labelled
    assert dense_unweighted_rows(X, None) is X
    np.testing.assert_array_equal(dense_unweighted_rows(sp.csr_array(X), None), X)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        dense_unweighted_rows(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="as a NumPy array"):
        dense_unweighted_rows(X.tolist(), None)


def test_precisions():
    assert result_dtype(np.zeros(1, np.float32)) == np.float32
    assert result_dtype(np.zeros(1, np.int64)) == np.float64
    # sums over NumPy rows are made of doubles, those over tensors in their precision
    assert moment_precision(np.zeros(1, np.float32)) == np.finfo(np.float64).eps
    torch = pytest.importorskip("torch")
    assert moment_precision(torch.zeros(1)) == np.finfo(np.float32).eps
    assert moment_precision(torch.zeros(1).double()) == np.finfo(np.float64).eps


def test_tensors_give_numpy_moments(labelled):
    torch = pytest.importorskip("torch")
    X, codes = labelled
    m = full_moments(torch.tensor(X), torch.tensor(codes))
    want = full_moments(X, codes)
    for name in ("weight", "mean", "scatter"):
        got, right = getattr(m, name), getattr(want, name)
        assert isinstance(got, np.ndarray) and got.dtype == np.float64
        np.testing.assert_allclose(got, right, rtol=1e-10)


def test_columns_are_listed_by_name_or_number():
    class Model:
        pass

    model = Model()
    assert column_list(model, np.array([0, 3])) == "0, 3"
    assert column_list(model, range(5)) == "0, 1, 2, 3, 4"
    assert column_list(model, range(7)) == "0, 1, 2, 3, 4 and 2 more"
    assert column_list(model, range(3), most=2) == "0, 1 and 1 more"
    model.feature_names_in_ = np.array(["a", "b"], object)
    assert column_list(model, [1]) == "'b'"
