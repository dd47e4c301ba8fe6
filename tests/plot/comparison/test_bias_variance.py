"""Bias-variance curves, and concentration of distances."""

from collections import namedtuple

import numpy as np
import pytest

from pansophy import diagnose, plot


def labels(ax):
    return [t.get_text() for t in ax.get_legend().get_texts()]


def words(axis_labels):
    return [t.get_text() for t in axis_labels]


def test_bias_variance_and_concentration():
    T = diagnose.BiasVariance
    terms = [T("squared", 5, 4, 1, 0, 0, 0, 9), T("squared", 3, 1, 2, 0, 0, 0, 9)]
    ax = plot.bias_variance([0.1, 100], terms, label="<alpha>")
    assert ax.get_xscale() == "log" and ax.get_xlabel() == "<alpha>"
    assert labels(ax) == ["error", "bias²", "variance", "least error"]
    np.testing.assert_array_equal(ax.lines[-2].get_xydata()[0], [100, 3])
    plot.bias_variance(["a", "b"], terms)
    with pytest.raises(ValueError, match="values"):
        plot.bias_variance([1], terms)
    C = namedtuple("C", "dimension min mean max")
    path = [C(100, 3.0, 4.07, 5.13), C(10, 0.265, 1.26, 2.34)]
    ax = plot.concentration(path)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), [2.34 / 1.26, 5.13 / 4.07])
    assert words(ax.get_xticklabels()) == ["10", "100"]
    assert len(plot.concentration(path[0]).lines) == 3
    with pytest.raises(ValueError, match="at least one"):
        plot.concentration([])
