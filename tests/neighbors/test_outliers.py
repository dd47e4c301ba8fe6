"""Outliers by neighbours: the definition, scikit-learn, and how they sit together."""

import numpy as np
import pytest
from sklearn.neighbors import LocalOutlierFactor as Peer

from pansophy.mixture import DensityOutlierDetector
from pansophy.neighbors import (
    HistogramDensity,
    KernelDensity,
    KNNOutlier,
    LocalOutlierFactor,
)
from tests.oracles import neighbors as oracle


def rows(n=120, d=3, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:3] += 6
    return X


def test_local_outlier_factor_is_its_definition():
    X = rows()
    model = LocalOutlierFactor(7).fit(X)
    want = oracle.local_outlier_factor(oracle.distances(X, X), 7)
    np.testing.assert_allclose(-model.negative_outlier_factor_, want, rtol=1e-9)


@pytest.mark.parametrize("contamination", ["auto", 0.05])
@pytest.mark.parametrize("metric", ["minkowski", "manhattan"])
def test_local_outlier_factor_of_scikit_learn(contamination, metric):
    X, Q = rows(), rows(40, seed=1)
    how = {"contamination": contamination, "metric": metric}
    a, b = LocalOutlierFactor(**how), Peer(**how)
    assert (a.fit_predict(X) == b.fit_predict(X)).all()
    assert a.offset_ == pytest.approx(b.offset_)
    a = LocalOutlierFactor(novelty=True, **how).fit(X)
    b = Peer(novelty=True, **how).fit(X)
    np.testing.assert_allclose(a.score_samples(Q), b.score_samples(Q), rtol=1e-9)
    np.testing.assert_allclose(
        a.decision_function(Q), b.decision_function(Q), rtol=1e-6, atol=1e-9
    )
    assert (a.predict(Q) == b.predict(Q)).all()


def test_new_rows_or_old_ones():
    old, new = LocalOutlierFactor(5).fit(rows()), LocalOutlierFactor(5, novelty=True)
    assert not hasattr(old, "predict")
    assert not hasattr(new, "fit_predict")
    with pytest.raises(AttributeError, match="score_samples"):
        old.score_samples(rows())


def test_few_rows_and_copies_are_told():
    with pytest.warns(UserWarning, match="greater than"):
        model = LocalOutlierFactor(20).fit(rows(8))
    assert model.n_neighbors_ == 7
    X = np.concatenate([np.zeros((30, 1)), [[1e-12]], [[5.0]]])
    with pytest.warns(UserWarning, match="Duplicate"):
        LocalOutlierFactor(3).fit(X)


@pytest.mark.parametrize("method", ["largest", "mean"])
def test_distances_to_neighbours(method):
    X = rows()
    model = KNNOutlier(4, method=method, contamination=0.03).fit(X)
    D, _ = oracle.k_nearest(oracle.distances(X, X), 4, same=True)
    want = -(D[:, -1] if method == "largest" else D.mean(axis=1))
    np.testing.assert_allclose(model.scores_, want, rtol=1e-12)
    # a query that is a fitted row scores as that row
    np.testing.assert_allclose(model.score_samples(X), model.scores_, rtol=1e-12)
    assert (model.fit_predict(X) == model.predict(X)).all()
    assert set(np.flatnonzero(model.predict(X) == -1)) >= {0, 1, 2}


@pytest.mark.parametrize(
    "density",
    [
        KernelDensity(bandwidth=0.7),
        HistogramDensity(8),
        HistogramDensity(4, joint=True),
    ],
    ids=["kernel", "histogram", "joint"],
)
def test_one_class_by_a_density(density):
    X = rows(200, 2)
    model = DensityOutlierDetector(density, contamination=0.05).fit(X)
    flagged = model.predict(X) == -1
    scores = model.score_samples(X)
    # at least 5 %, and fewer without the highest of them: rows of a cell are tied
    assert flagged.sum() >= 10
    assert scores[flagged].max() < scores[~flagged].min()
    assert np.sum(scores < scores[flagged].max()) < 10
    assert model.predict([[30.0, 30.0]]).tolist() == [-1]
    weight = np.ones(200)
    weight[5] = 2
    twice = DensityOutlierDetector(density, contamination=0.05).fit(np.r_[X, X[5:6]])
    once = DensityOutlierDetector(density, contamination=0.05).fit(X, None, weight)
    assert once.offset_ == pytest.approx(twice.offset_, rel=1e-9)
