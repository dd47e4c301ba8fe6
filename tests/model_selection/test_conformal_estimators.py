"""Conformal estimators: coverage, spread, MAPIE, frames, bad input."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import KFold

from pansophy.compare import (
    ConformalClassifier,
    ConformalRegressor,
    fit_prediction_sets,
    interval_quantile,
)
from pansophy.compare.evaluation.conformal import class_scores
from pansophy.ensemble import RandomForestRegressor
from pansophy.linear_model import LogisticRegression, Ridge
from tests.compare.evaluation.drawn_classes import drawn_classes


def numbers(rng, n):
    X = rng.normal(size=(n, 3))
    noise = (0.5 + np.abs(X[:, 0])) * rng.normal(size=n)
    return X, X @ [1.0, 2.0, 0.0] + noise


MODELS = {
    "cv+": {},
    "split": {"method": "split"},
    "jackknife+": {"method": "jackknife+"},
    "cqr": {"method": "cqr"},
    "spread": {"spread": RandomForestRegressor(10, max_depth=4, random_state=0)},
}


@pytest.mark.parametrize("name", list(MODELS))
def test_intervals_cover(name):
    rng = np.random.default_rng(0)
    held = []
    for i in range(6 if name in ("spread", "jackknife+") else 15):
        X, y = numbers(rng, 260)
        model = ConformalRegressor(level=0.8, random_state=i, **MODELS[name])
        ends = model.fit(X[:60], y[:60]).predict_interval(X[60:])
        held.append(np.mean((ends[:, 0] <= y[60:]) & (y[60:] <= ends[:, 1])))
    assert 0.74 <= np.mean(held) <= 0.9


def test_spread_widens_where_errors_are_large(rng):
    X, y = numbers(rng, 600)
    guess = RandomForestRegressor(20, max_depth=4, random_state=0)
    for how in ("cv+", "split"):
        model = ConformalRegressor(method=how, spread=guess, random_state=0).fit(X, y)
        low, high = model.predict_interval([[0.0, 0, 0], [2.5, 0, 0]]).T
        assert (high - low)[1] > 1.5 * (high - low)[0]
        flat = ConformalRegressor(method=how, random_state=0).fit(X, y)
        low, high = flat.predict_interval([[0.0, 0, 0], [2.5, 0, 0]]).T
        assert np.ptp(high - low) < 0.3


def test_against_mapie(rng):
    peer = pytest.importorskip("mapie.regression")
    X, y = numbers(rng, 80)
    theirs = peer.CrossConformalRegressor(
        LinearRegression(), confidence_level=0.9, method="plus", cv=KFold(5)
    ).fit_conformalize(X, y)
    ours = ConformalRegressor(LinearRegression(), cv=KFold(5)).fit(X, y)
    expected = theirs.predict_interval(X[:9])[1][:, :, 0]
    assert np.allclose(ours.predict_interval(X[:9]), expected)


def test_classifier(rng):
    X, y, _ = drawn_classes(rng, 500)
    names = np.array(["ant", "bee", "cat"])
    for how in ("cv+", "split"):
        model = ConformalClassifier(
            method=how, level=0.9, by_class=True, random_state=0
        )
        sets = model.fit(X[:300], names[y[:300]]).predict_set(X[300:])
        assert sets[np.arange(200), y[300:]].mean() > 0.85
        assert sets.shape == (200, 3) and model.classes_.tolist() == names.tolist()
        assert np.array_equal(model.predict(X[:5]), model.predict(X[:5]))
    plain = LogisticRegression().fit(X[:300], names[y[:300]])
    cross = ConformalClassifier().fit(X[:300], names[y[:300]])
    assert np.array_equal(cross.predict(X), plain.predict(X))


def test_pipelines_take_frames(rng):
    pd = pytest.importorskip("pandas")
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    frame = pd.DataFrame({"c": rng.choice(list("xyz"), 60)})
    pipe = make_pipeline(OneHotEncoder(), Ridge())
    model = ConformalRegressor(pipe).fit(frame, rng.normal(size=60))
    assert model.predict_interval(frame).shape == (60, 2)


def test_bad_input(rng):
    X, y = numbers(rng, 20)
    for wrong, words in [
        (lambda: interval_quantile([]), "no residuals"),
        (lambda: interval_quantile([np.nan, 1.0]), "finite"),
        (lambda: interval_quantile([1.0], 90), "level must be"),
        (lambda: fit_prediction_sets(np.ones((2, 2)) / 2, [0, 2]), "class codes"),
        (lambda: class_scores(np.ones((2, 2)), "raps"), "kind must be"),
        (
            lambda: ConformalRegressor(method="cqr", estimator=Ridge()).fit(X, y),
            "quantile",
        ),
        (lambda: ConformalRegressor(level=1.0).fit(X, y), "level of Conformal"),
        (lambda: ConformalRegressor().fit(X[:1], y[:1]), "two rows"),
        (lambda: ConformalRegressor().fit(X, y * np.nan), "without NaN"),
        (lambda: ConformalClassifier().fit(X, [0] * 19 + [1]), "rows of each class"),
        (lambda: ConformalClassifier(estimator=Ridge()).fit(X, y), "predict_proba"),
    ]:
        with pytest.raises(ValueError, match=words):
            wrong()
    few = ConformalRegressor().fit(X[:5], y[:5])
    assert np.all(np.isinf(few.predict_interval(X)))  # five rows promise nothing
