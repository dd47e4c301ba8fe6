"""LambdaRank against its definition, pair by pair, and what it does to a ranking."""

import numpy as np
import pytest
from sklearn.metrics import ndcg_score

import pansophy
from pansophy.ensemble import HistGradientBoostingRegressor
from pansophy.losses import LambdaRank
from pansophy.losses.ranking import query_lambdas


def pair_by_pair(y, f, truncation):
    """Eqs. (1) to (4) with loops."""
    order = sorted(range(len(y)), key=lambda i: -f[i])
    place = {row: r + 1 for r, row in enumerate(order)}
    ideal = sorted(y, reverse=True)
    best = sum((2**v - 1) / np.log2(1 + r) for r, v in enumerate(ideal, 1))
    gradient, curvature = np.zeros(len(y)), np.zeros(len(y))
    for i in range(len(y)):
        for j in range(len(y)):
            near = truncation is None or min(place[i], place[j]) <= truncation
            if y[i] > y[j] and near:
                p = 1 / (1 + np.exp(f[i] - f[j]))
                swap = 1 / np.log2(1 + place[i]) - 1 / np.log2(1 + place[j])
                Z = abs(2 ** y[i] - 2 ** y[j]) * abs(swap) / best
                gradient[i] -= p * Z
                gradient[j] += p * Z
                curvature[i] += p * (1 - p) * Z
                curvature[j] += p * (1 - p) * Z
    return gradient, curvature


@pytest.mark.parametrize("truncation", [None, 2])
def test_pairs(truncation):
    rng = np.random.default_rng(0)
    for m in (2, 5, 9):
        y = rng.integers(0, 4, m).astype(float)
        y[0] = 4.0
        f = rng.normal(size=m)
        mine = query_lambdas(y, f, truncation)
        np.testing.assert_allclose(mine, pair_by_pair(y, f, truncation), rtol=1e-12)
        assert abs(mine[0].sum()) < 1e-12
    assert not np.any(query_lambdas(np.ones(3), np.arange(3.0)))
    far = query_lambdas(np.array([1.0, 0.0]), np.array([-2000.0, 2000.0]))
    assert np.isfinite(far).all()


def test_a_ranking_is_learnt_within_queries():
    """Scores of a query are shifted by what is the same for its rows alone."""
    rng = np.random.default_rng(3)
    queries, m = 60, 15
    X = rng.normal(size=(queries * m, 3))
    level = np.repeat(rng.normal(size=queries) * 3, m)
    hidden = X[:, 0] + 0.5 * X[:, 1] ** 2 + 0.3 * rng.normal(size=len(X))
    X[:, 2] = level  # the same for all rows of a query: no use for its order
    y = np.clip(np.digitize(hidden, [0.5, 1.5, 2.5]), 0, 3).astype(float)
    half = queries // 2 * m
    group = [m] * (queries // 2)
    model = HistGradientBoostingRegressor(LambdaRank(group), max_iter=40)
    model.fit(X[:half], y[:half])
    matrix = lambda a: a[half:].reshape(-1, m)
    score = ndcg_score(matrix(y), matrix(model.predict(X)))
    chance = ndcg_score(matrix(y), matrix(rng.normal(size=len(X))))
    assert score > 0.85
    assert score > chance + 0.15
    assert abs(np.corrcoef(model.predict(X), level)[0, 1]) < 0.3


def test_what_is_no_ranking_is_said(tmp_path):
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(float)
    model = HistGradientBoostingRegressor(LambdaRank(np.array([20, 40])), max_iter=3)
    model.fit(X, y)
    pansophy.save(model, tmp_path / "ranker")
    again = pansophy.load(tmp_path / "ranker")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    with pytest.raises(ValueError, match="have 40 rows, but there are 60"):
        HistGradientBoostingRegressor(LambdaRank([40])).fit(X, y)
    with pytest.raises(ValueError, match="must hold relevances"):
        HistGradientBoostingRegressor(LambdaRank([60])).fit(X, X[:, 0])
    with pytest.raises(ValueError, match="group must hold the numbers of rows"):
        HistGradientBoostingRegressor(LambdaRank([0, 60])).fit(X, y)
