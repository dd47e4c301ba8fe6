"""Biplot of principal components."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.decomposition import PCA


@pytest.fixture
def X():
    return np.random.default_rng(0).normal(size=(40, 5)) * [5, 3, 1, 1, 0.5]


def test_biplot(X):
    model = PCA().fit(X)
    labels = np.arange(40) % 2
    ax = plot.biplot(model, X, names=list("abcde"), labels=labels, limit=3)
    points = np.concatenate([c.get_offsets() for c in ax.collections])
    Z = model.transform(X)[:, :2]
    np.testing.assert_allclose(np.sort(points[:, 0]), np.sort(Z[:, 0]))
    words = [t.get_text() for t in ax.texts if t.get_text()]
    assert words == ["a", "b", "c"] or set(words) <= set("abcde")
    assert words[0] == "a" and len(words) == 3
    share = 100 * model.explained_variance_ratio_[0]
    assert ax.get_xlabel() == f"component 1 ({share:.0f} %)"
    assert (
        plot.biplot(model, X, components=(1, 2)).get_ylabel().startswith("component 3")
    )
    with pytest.raises(ValueError, match="two of 0 to 4"):
        plot.biplot(model, X, components=(0, 5))
    with pytest.raises(ValueError, match="5 columns but 2 names"):
        plot.biplot(model, X, names=["a", "b"])


def test_biplot_names_do_not_lie_over_each_other():
    from sklearn.datasets import load_iris, load_wine

    for data in (load_iris(as_frame=True).data, load_wine(as_frame=True).data):
        model = PCA(2).fit((data - data.mean()) / data.std())
        ax = plot.biplot(model, (data - data.mean()) / data.std())
        words = [t for t in ax.texts if t.get_text()]
        assert len(words) == min(12, data.shape[1])
        ax.figure.draw_without_rendering()
        boxes = [t.get_window_extent() for t in words]
        for i, a in enumerate(boxes):
            assert not any(a.overlaps(b) for b in boxes[:i])


def test_biplot_parts_give_the_table_back_at_any_scale(X):
    model = PCA(2).fit(X)
    for scale in (0.0, 0.5, 1.0):
        ax = plot.biplot(model, X, scale=scale)
        Z = np.asarray(ax.collections[0].get_offsets())
        tips = np.array([t.xy for t in ax.texts if not t.get_text()])
        order = [int(t.get_text()[1:]) for t in ax.texts if t.get_text()]
        R = (model.inverse_transform(model.transform(X)) - X.mean(axis=0))[:, order]
        ratio = (Z @ tips.T)[np.abs(R) > 1e-3] / R[np.abs(R) > 1e-3]
        np.testing.assert_allclose(ratio, ratio[0], rtol=1e-8)
    np.testing.assert_allclose(Z.std(axis=0), 1.0)
    with pytest.raises(ValueError, match="scale"):
        plot.biplot(model, X, scale=2)
