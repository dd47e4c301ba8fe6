"""Evaluation of recommenders."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from pansophy.datasets import make_ratings
from pansophy.recommend import (
    ALS,
    BiasModel,
    Ratings,
    average_precision_at_k,
    coverage_at_k,
    evaluate,
    hit_rate_at_k,
    ndcg_at_k,
    precision_at_k,
    recall_at_k,
    reciprocal_rank_at_k,
    temporal_split,
)


@pytest.mark.parametrize("threshold", [None, 4.0])
def test_the_report_is_made_of_the_measures(threshold):
    R = Ratings.from_frame(make_ratings(60, 40, 900), time="time")
    train, test = temporal_split(R)
    model = ALS(3, random_state=0).fit(train)
    report = evaluate(model, test, k=7, threshold=threshold)
    good = test if threshold is None else test[test.values >= threshold]
    users = np.unique(good.users)
    relevant = [set(good.items[good.users == u].tolist()) for u in users]
    ranked = model.recommend(R.user_names[users], 7).names.tolist()
    assert report.n_users == len(users) and report.k == 7
    for name, f in [("precision", precision_at_k), ("recall", recall_at_k),
                    ("ndcg", ndcg_at_k), ("average_precision", average_precision_at_k),
                    ("hit_rate", hit_rate_at_k),
                    ("reciprocal_rank", reciprocal_rank_at_k)]:  # fmt: skip
        names = [set(R.item_names[list(r)].tolist()) for r in relevant]
        assert getattr(report, name) == pytest.approx(f(names, ranked, 7)), name
    assert report.coverage == pytest.approx(coverage_at_k(ranked, 40, 7))
    error = model.predict(test) - test.values
    assert report.rmse == pytest.approx(np.sqrt((error**2).mean()))
    assert "ndcg" in str(report) and f"{len(users)} users" in str(report)


def test_strangers_in_the_test_part():
    train = Ratings.from_triplets([1, 1, 2], [10, 11, 10], [5, 4, 3.0])
    test = Ratings.from_triplets([9, 1], [10, 99], [5, 5.0])  # a new user, a new item
    report = evaluate(BiasModel().fit(train), test, k=2)
    assert report.recall == pytest.approx(0.5)  # 10 for user 9; 99 can't be found
    implicit = ALS(2, implicit=True, random_state=0).fit(train)
    assert np.isnan(evaluate(implicit, test, k=2).rmse)
    with pytest.raises(ValueError, match="no test rating is relevant"):
        evaluate(implicit, test, threshold=100)


def test_evaluate_refuses_and_weighs():
    R = Ratings.from_frame(make_ratings(30, 20, 200), time="time")
    with pytest.raises(NotFittedError):
        evaluate(BiasModel(), R)
    model = BiasModel().fit(R)
    with pytest.raises(ValueError, match="nothing to evaluate"):
        evaluate(model, R[:0])
    with pytest.raises(TypeError, match="k must be a whole number"):
        evaluate(model, R, k=2.5)
    w = np.arange(1.0, 201)
    heavy = evaluate(model, replace(R, weights=w), k=100, exclude_seen=False)
    error = model.predict(R) - R.values
    assert heavy.rmse == pytest.approx(np.sqrt(np.average(error**2, weights=w)))
    assert heavy.mae == pytest.approx(np.average(np.abs(error), weights=w))
    assert heavy.recall == 1 and heavy.coverage == 1  # k above the number of items
