"""Content-based recommender."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.recommend import (
    ContentRecommender,
    Ratings,
)

Z = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [2, 2, 0, 0], [1, 0, 0, 1]])


@pytest.mark.parametrize("center", ["none", "biases", "global"])
def test_a_twin_of_the_liked_item_comes_first(center):
    R = Ratings.from_triplets(["ann", "bob", "bob"], [0, 1, 2], [5, 2, 1])
    model = ContentRecommender(Z, center=center).fit(R)
    assert model.recommend("ann", 4).names[0] == 3
    twin, own = model.predict("ann", [3, 0])
    if center != "biases":  # an item nobody has rated has no bias
        assert twin == pytest.approx(own)
    assert model.similar_items(0, 1).names.tolist() == [3]


def test_profiles_are_ridge_regressions():
    R = Ratings.from_matrix([[5, 1, 4, np.nan, 2], [1, np.nan, 3, 4, 5.0]])
    model = ContentRecommender(Z, reg=0.5, center="global").fit(R)
    F = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    for u in range(2):
        rows = R.users == u
        V, t = F[R.items[rows]], R.values[rows] - R.mean
        right = np.linalg.solve(V.T @ V + 0.5 * np.eye(4), V.T @ t)
        np.testing.assert_allclose(model.user_factors_[u], right, atol=1e-10)


def test_names_sparse_features_and_items_nobody_rated():
    names = ["e", "d", "c", "b", "a"]
    R = Ratings.from_triplets(["ann"], ["e"], [1])
    model = ContentRecommender(sp.csr_array(Z), items=names, center="none").fit(R)
    assert model.items_.tolist() == sorted(names)
    assert model.recommend("ann", 1).names.tolist() == ["b"]  # row 3, twin of row 0
    with pytest.raises(
        ValueError, match="features of ContentRecommender must be given"
    ):
        ContentRecommender().fit(R)
    with pytest.raises(ValueError, match="every rated item needs a row"):
        ContentRecommender(Z, items=["a", "b", "c", "d", "x"]).fit(R)
    with pytest.raises(ValueError, match="5 different names"):
        ContentRecommender(Z, items=["a"]).fit(R)
    with pytest.raises(ValueError, match="NaN"):
        ContentRecommender(np.full((5, 2), np.nan), items=names).fit(R)
    with pytest.raises(ValueError, match="at most 5000"):
        ContentRecommender(np.ones((5, 5001)), items=names).fit(R)
