"""Isolation forest and the embedding by random trees."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import ensemble as peers
from sklearn.metrics import roc_auc_score

from pansophy.core.loops import threads
from pansophy.ensemble import IsolationForest, RandomTreesEmbedding
from pansophy.ensemble.forests.isolation_forest import mean_path_length
from pansophy.params import ParameterError


@pytest.fixture(scope="module")
def rows():
    """400 usual rows and 20 outliers, which come last."""
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(400, 4))
    return np.concatenate([usual, rng.uniform(-6, 6, size=(20, 4))])


def test_mean_path():
    """c(m) is the mean depth of a leaf of a random search tree of m keys."""
    harmonic = lambda k: sum(1 / i for i in range(1, k + 1))
    for m in (10, 256, 1000):  # ln k + gamma stands for the k-th harmonic number
        exact = 2 * harmonic(m - 1) - 2 * (m - 1) / m
        assert abs(mean_path_length(m) - exact) < 1.2 / m
    np.testing.assert_array_equal(mean_path_length([0, 1, 2]), [0, 0, 1])


def test_scores_are_path_lengths(rows):
    model = IsolationForest(n_estimators=20, random_state=0).fit(rows)
    total = np.zeros(len(rows))
    for tree in (m.tree_ for m in model.estimators_):
        leaf = tree.apply(rows.astype(np.float32))
        total += tree.places[0][leaf] + mean_path_length(tree.n_node_samples[leaf])
    expected = -(2.0 ** -(total / 20 / mean_path_length(256)))
    np.testing.assert_allclose(model.score_samples(rows), expected)
    assert max(m.get_depth() for m in model.estimators_) <= 8
    assert all(m.tree_.n_node_samples[0] == 256 for m in model.estimators_)


def test_as_good_as_scikit_learns(rows):
    truth = np.arange(420) < 400
    mine = IsolationForest(random_state=0).fit(rows).score_samples(rows)
    peer = peers.IsolationForest(random_state=0).fit(rows).score_samples(rows)
    assert roc_auc_score(truth, mine) > roc_auc_score(truth, peer) - 0.01
    assert np.corrcoef(mine, peer)[0, 1] > 0.9
    assert abs(mine.mean() - peer.mean()) < 0.02


def test_contamination_sets_the_offset(rows):
    model = IsolationForest(contamination=0.05, random_state=0).fit(rows)
    assert np.sum(model.predict(rows) == -1) == 21
    np.testing.assert_allclose(
        model.decision_function(rows), model.score_samples(rows) - model.offset_
    )
    assert IsolationForest(n_estimators=2).fit(rows).offset_ == -0.5


def test_draws(rows):
    model = IsolationForest(
        n_estimators=5, max_samples=0.5, max_features=2, random_state=0
    ).fit(rows)
    assert model.max_samples_ == 210
    for t, columns in enumerate(model.estimators_features_):
        assert len(columns) == 2
        used = model.forest_.tree(t).feature
        assert set(used[used >= 0]) <= set(columns)
        own = model.estimators_[t].predict(rows[:, columns])
        whole = model.forest_.tree(t).predict(rows.astype(np.float32))
        np.testing.assert_array_equal(own, whole[:, 0, 0])
        assert len(np.unique(model.estimators_samples_[t])) == 210
    w = (np.arange(420) < 300).astype(float)
    for bootstrap in (False, True):
        light = IsolationForest(n_estimators=5, bootstrap=bootstrap, random_state=0)
        light.fit(rows, sample_weight=w)
        assert max(s.max() for s in light.estimators_samples_) < 300
    with pytest.warns(UserWarning, match="samples .420."):
        IsolationForest(n_estimators=2, max_samples=1000).fit(rows)
    with pytest.raises(ParameterError, match="max_features=9"):
        IsolationForest(max_features=9).fit(rows)


def test_threads_warm_start_sparse_missing(rows):
    with threads.limit_threads(1):
        one = IsolationForest(n_estimators=10, random_state=0).fit(rows)
    grown = IsolationForest(n_estimators=4, random_state=0, warm_start=True).fit(rows)
    grown.set_params(n_estimators=10).fit(rows)
    S = sp.csr_matrix(rows)
    sparse = IsolationForest(n_estimators=10, random_state=0).fit(S)
    for other in (grown.score_samples(rows), sparse.score_samples(S)):
        np.testing.assert_array_equal(one.score_samples(rows), other)
    holes = rows.copy()
    holes[::7, 1] = np.nan
    assert np.isfinite(
        IsolationForest(random_state=0).fit(holes).score_samples(holes)
    ).all()


def test_embedding(rows):
    model = RandomTreesEmbedding(10, max_depth=3, random_state=0)
    code = model.fit_transform(rows)
    assert sp.issparse(code)
    np.testing.assert_array_equal(code.sum(axis=1), 10)
    np.testing.assert_array_equal(model.transform(rows).toarray(), code.toarray())
    names = model.get_feature_names_out()
    assert len(names) == code.shape[1] == len(model.forest_.value)
    assert names[0].startswith("randomtreesembedding_0_")
    dense = RandomTreesEmbedding(10, max_depth=3, random_state=0, sparse_output=False)
    np.testing.assert_array_equal(dense.fit_transform(rows), code.toarray())
    # near rows share more leaves than far ones
    near = (code[:50] @ code[:50].T).toarray()
    apart = np.linalg.norm(rows[:50, None] - rows[None, :50], axis=2)
    assert np.corrcoef(near.ravel(), apart.ravel())[0, 1] < -0.5
    assert max(m.get_depth() for m in model.estimators_) <= 3
