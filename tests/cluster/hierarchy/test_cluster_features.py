"""Clusters as columns for a model that comes after."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from pansophy.cluster import ClusterFeatures


@pytest.mark.parametrize("append", [True, False])
@pytest.mark.parametrize("kind", ["distance", "similarity", "onehot"])
def test_columns_by_definition(kind, append, rng):
    X = rng.normal(size=(60, 3))
    model = ClusterFeatures(4, kind=kind, append=append, random_state=0).fit(X)
    F = model.transform(X)
    D = np.linalg.norm(X[:, None] - model.cluster_centers_, axis=2)
    s = np.sqrt((D.min(axis=1) ** 2).mean())
    want = {
        "distance": D,
        "similarity": np.exp(-(D**2) / (2 * s**2)),
        "onehot": D.argmin(axis=1)[:, None] == np.arange(4),
    }[kind]
    want = np.hstack([X, want]) if append else want
    np.testing.assert_allclose(F, want, rtol=1e-6)
    names = model.get_feature_names_out()
    assert len(names) == F.shape[1]
    assert names[-1] == f"{kind}3"
    assert names[0] == ("x0" if append else f"{kind}0")


def test_a_linear_model_learns_rings_from_similarities(rng):
    angle, y = rng.random(300) * 2 * np.pi, np.arange(300) % 2
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1) * (1 + 2 * y)[:, None]
    plain = LogisticRegression().fit(X, y).score(X, y)
    features = ClusterFeatures(12, kind="similarity", random_state=0)
    pipe = make_pipeline(features, LogisticRegression(C=100)).fit(X, y)
    assert plain < 0.65
    assert pipe.score(X, y) > 0.95


def test_pandas_out(rng):
    pd = pytest.importorskip("pandas")
    X = pd.DataFrame(rng.normal(size=(30, 2)), columns=["a", "b"])
    out = ClusterFeatures(2).set_output(transform="pandas").fit_transform(X)
    assert list(out.columns) == ["a", "b", "distance0", "distance1"]
