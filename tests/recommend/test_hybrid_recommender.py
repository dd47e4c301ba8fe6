"""Hybrid recommenders and cold starts."""

import numpy as np
import pytest

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
