"""Covariance ellipses: lines at the right Mahalanobis distance, one for each turn."""

import matplotlib as mpl
import numpy as np
import pytest

from pansophy import plot
from pansophy.mixture import GaussianMixture
from pansophy.plot.embeddings.ellipses import ellipse_points

mpl.use("Agg")


def test_outline_lies_at_its_level(rng):
    A = rng.normal(size=(2, 2))
    C, m = A @ A.T + np.eye(2), rng.normal(size=2)
    D = ellipse_points(m, C, 2.0).T - m
    assert np.allclose(np.einsum("na,ab,nb->n", D, np.linalg.inv(C), D), 4.0)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical", "low_rank"])
def test_ellipses_over_iterations(shape, rng):
    X = rng.normal(size=(90, 3)) + 6 * (np.arange(90) % 2)[:, None]
    model = GaussianMixture(
        2, covariance_type=shape, random_state=0, keep_path=True, tol=1e-2
    ).fit(X)
    turns = len(model.history_["means"])
    ax = plot.covariance_ellipses(model, X, columns=(0, 2), over_iterations=True)
    # ellipses of the turns before the last, ways and starts, two levels and a centre
    assert len(ax.get_lines()) == 2 * (turns - 1) + 4 + 2 * 3
    assert len(ax.collections) == 1
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("column 0", "column 2")
    alone = plot.covariance_ellipses(model, levels=(1.0,))
    assert len(alone.get_lines()) == 4
    first = alone.get_lines()[0].get_xydata()
    D = first - model.means_[0, :2]
    P = np.linalg.inv(model._params().normal.dense[0][:2, :2])
    assert np.allclose(np.einsum("na,ab,nb->n", D, P, D), 1.0)
    mpl.pyplot.close("all")


def test_iterations_must_have_been_kept(rng):
    model = GaussianMixture(2, random_state=0).fit(rng.normal(size=(40, 2)))
    with pytest.raises(ValueError, match="keep_path"):
        plot.covariance_ellipses(model, over_iterations=True)
