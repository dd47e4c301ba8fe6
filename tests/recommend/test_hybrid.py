"""Content, mixtures of recommenders, cold starts."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.recommend import (
    ALS,
    BiasModel,
    ContentRecommender,
    HybridRecommender,
    ItemKNN,
    Ratings,
    cold_start,
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


@pytest.mark.parametrize("weights", [(1, 0), (0, 1), (1, 3)])
def test_weights_of_zero_and_one_return_the_parts(weights):
    rng = np.random.default_rng(0)
    Y = rng.integers(1, 6, (8, 5)).astype(float)
    Y[rng.random(Y.shape) < 0.4] = np.nan
    R = Ratings.from_matrix(Y)
    parts = [ALS(2, random_state=0), ContentRecommender(Z)]
    model = HybridRecommender(parts, weights=weights).fit(R)
    a, b = (p.fit(R).complete() for p in parts)
    share = weights[0] / sum(weights)
    mixed = a if share == 1 else b if share == 0 else share * a + (1 - share) * b
    np.testing.assert_allclose(model.complete(), mixed, atol=1e-12)
    np.testing.assert_allclose(model.predict(R), mixed[R.users, R.items], atol=1e-12)
    new = model.fold_in([["new", 0], ["new", 2]], [5.0, 1.0])
    assert new.users_.tolist() == ["new"]
    assert np.isfinite(new.complete()).all()


def test_parts_with_different_catalogues():
    R = Ratings.from_triplets([1, 1, 2], [0, 1, 0], [5, 3, 4.0])
    content = ContentRecommender(Z)
    model = HybridRecommender([BiasModel(), content]).fit(R)
    assert model.items_.tolist() == [0, 1, 2, 3, 4]
    bias, full = BiasModel().fit(R), content.fit(R)
    right = 0.5 * (bias.predict(1, [4]) + full.predict(1, [4]))
    np.testing.assert_allclose(model.predict(1, [4]), right)
    np.testing.assert_allclose(model.complete([1])[0, 4], right[0])
    assert 4 in model.recommend(1, 5).names


def test_bad_mixtures():
    R = Ratings.from_triplets([1, 1, 2], [0, 1, 0], [5, 3, 4.0])
    assert HybridRecommender().fit(R).weights_.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="list of recommenders"):
        HybridRecommender([1]).fit(R)
    for weights in ([1], [1, -1], [0, 0]):
        with pytest.raises(ValueError, match="weights of HybridRecommender"):
            HybridRecommender([BiasModel(), ItemKNN()], weights=weights).fit(R)


def test_cold_start():
    R = Ratings.from_triplets(["a", "a", "b"], [1, 2, 1], [5, 3, 4])
    R = R.with_names(users=["a", "b", "c"])
    cold = cold_start(R, 2)
    assert cold.users.tolist() == ["b", "c"] and cold.items.tolist() == [2]
    assert cold_start(R, 1).users.tolist() == ["c"]
    assert len(cold_start(R, 0).users) == 0
