"""Clusterers held against one another on one data set."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from pansophy.cluster import KMeans, KMedoids, SpectralClustering, kmeans_objective
from pansophy.compare import compare_clusterings


@pytest.fixture
def blobs(rng):
    y = np.arange(90) % 3
    return rng.normal(size=(90, 2)) + 6 * y[:, None], y


def test_table_and_agreement(blobs):
    X, y = blobs
    methods = {
        "k-means": KMeans(3),
        "medoids": KMedoids(3),
        "too many": KMeans(12, n_init=1),
        "dbscan": DBSCAN(eps=1.0),
    }
    c = compare_clusterings(X, methods, y=y, random_state=0)
    assert [r.method for r in c.rows] == list(methods)
    A = c.agreement
    np.testing.assert_array_equal(A, A.T)
    np.testing.assert_array_equal(np.diag(A), 1)
    assert A[0, 2] == adjusted_rand_score(c.labels["k-means"], c.labels["too many"])
    best = KMeans(3, random_state=0).fit(X)
    first, _, many, dbscan = c.rows
    assert first.cost == pytest.approx(kmeans_objective(X, best.cluster_centers_))
    assert many.cost < first.cost
    assert first.stability > 0.95 > many.stability
    assert first.silhouette > many.silhouette
    assert first.adjusted_rand > 0.95
    assert dbscan.n_noise == np.sum(c.labels["dbscan"] == -1)
    assert all(r.fit_seconds >= 0 for r in c.rows)


def test_text_records_and_names(blobs):
    X, _ = blobs
    c = compare_clusterings(X, [KMeans(2), KMeans(3)], n_resamples=2, random_state=1)
    assert [r.method for r in c.rows] == ["KMeans", "KMeans #2"]
    text = str(c)
    assert "KMeans #2" in text and "agreement" in text and "stability" in text
    assert "adjusted rand" not in text.split("agreement")[0]
    assert c.records()[0]["n_clusters"] == 2
    pd = pytest.importorskip("pandas")
    assert isinstance(c.to_pandas(), pd.DataFrame)


def test_default_methods_and_same_seed_same_table(blobs):
    X, _ = blobs
    one, two = (compare_clusterings(X, n_resamples=2, random_state=0) for _ in range(2))
    assert len(one.rows) == 3
    np.testing.assert_array_equal(one.agreement, two.agreement)
    assert [r.stability for r in one.rows] == [r.stability for r in two.rows]
    nothing = compare_clusterings(X, [KMeans(2)], n_resamples=0)
    assert np.isnan(nothing.rows[0].stability)
    assert "-" in str(nothing)


def test_failures_are_listed(blobs):
    X, _ = blobs
    c = compare_clusterings(X, [KMeans(3), SpectralClustering(500)], n_resamples=1)
    assert len(c.rows) == 1
    assert c.disqualified[0][0] == "SpectralClustering"
    assert "Disqualified: SpectralClustering" in str(c)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"methods": []}, "at least one"),
        ({"methods": [object()]}, "fit_predict"),
        ({"share": 0.0}, "share"),
    ],
)
def test_bad_parameters(how, match, blobs):
    with pytest.raises(ValueError, match=match):
        compare_clusterings(blobs[0], **how)
