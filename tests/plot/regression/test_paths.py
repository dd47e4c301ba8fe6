"""Regularization paths and validation curves."""

import numpy as np
import pytest

from pansophy import plot


def test_regularization_path(rng):
    from pansophy.linear_model import lasso_path

    X = rng.normal(size=(40, 5))
    alphas, coefs, _ = lasso_path(X, X[:, 0] + 0.5 * X[:, 3])
    ax = plot.regularization_path(alphas, coefs, names=list("abcde"), limit=2)
    np.testing.assert_array_equal(ax.lines[3].get_ydata(), coefs[3])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "d"]
    low, high = ax.get_xlim()
    assert low > high  # strongest penalty on the left
    with pytest.raises(ValueError, match="one column for each of 100 alphas"):
        plot.regularization_path(alphas, coefs[:, :7])


def test_validation_curve(rng):
    test = rng.random((4, 5)) + np.array([[3.0], [1.0], [0.0], [2.0]])
    ax = plot.validation_curve([1, 2, 4, 8], test / 2, test, label="depth", log=True)
    assert ax.lines[-1].get_xdata()[0] == 4
    with pytest.raises(ValueError, match="3 values but 4 training errors"):
        plot.validation_curve([1, 2, 3], test, test)
