"""Cascades: who answers at which threshold, who learns from what, at what cost."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from pansophy import persist
from pansophy.ensemble import CascadeClassifier
from pansophy.params import ParameterError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    flip = rng.random(300) < 0.05
    outside = ((X**2).sum(axis=1) > 1.4) ^ flip
    return X, np.where(outside, "out", "in")


def stages():
    return [
        ("cheap", LogisticRegression()),
        ("middle", GaussianNB()),
        ("dear", KNeighborsClassifier(15)),
    ]


def test_threshold_zero_asks_the_first_only(data):
    X, y = data
    model = CascadeClassifier(stages(), threshold=0.0).fit(X, y)
    assert not model.stage(X).any()
    first = LogisticRegression().fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), first.predict_proba(X))


def test_threshold_above_one_asks_the_last_only(data):
    X, y = data
    model = CascadeClassifier(stages(), threshold=1.1).fit(X, y)
    assert np.all(model.stage(X) == 2)
    last = KNeighborsClassifier(15).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), last.predict(X))


def test_a_row_stops_where_a_stage_is_sure(data):
    X, y = data
    first = LogisticRegression().fit(X, y).predict_proba(X).max(axis=1)
    half = np.median(first)  # so that the first stage answers half of the rows
    model = CascadeClassifier(stages(), threshold=[half, 0.8]).fit(X, y)
    p = [e.predict_proba(X) for e in model.estimators_]
    sure = [p[0].max(axis=1) >= half, p[1].max(axis=1) >= 0.8]
    expected = np.where(sure[0], 0, np.where(sure[1], 1, 2))
    np.testing.assert_array_equal(model.stage(X), expected)
    assert set(expected) == {0, 1, 2}
    chosen = np.stack(p)[expected, np.arange(len(X))]
    np.testing.assert_allclose(model.predict_proba(X), chosen)
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[chosen.argmax(axis=1)]
    )


def test_more_stages_are_better_and_dearer(data):
    X, y = data
    train, test = slice(0, 200), slice(200, 300)
    low = CascadeClassifier(stages(), threshold=0.0).fit(X[train], y[train])
    high = CascadeClassifier(stages(), threshold=0.9).fit(X[train], y[train])
    # a line cannot tell a ring from its middle: 0.22 to 0.53 over 20 seeds
    assert high.score(X[test], y[test]) > low.score(X[test], y[test])
    assert high.report(X[test]).mean_cost > low.report(X[test]).mean_cost == 1.0


def test_report(data):
    X, y = data
    model = CascadeClassifier(stages(), threshold=0.8, costs=[1, 5, 20]).fit(X, y)
    report, stage = model.report(X), model.stage(X)
    np.testing.assert_allclose(report.answered, np.bincount(stage, minlength=3) / 300)
    assert report.answered.sum() == pytest.approx(1.0) and report.reached[0] == 1.0
    cost = np.array([1, 6, 26])[stage].mean()
    assert report.mean_cost == pytest.approx(cost)
    text = str(report)
    assert "cheap" in text and "mean cost" in text and len(text.splitlines()) == 5


def test_later_stages_learn_from_rows_that_reach_them(data):
    X, y = data
    model = CascadeClassifier(
        stages()[:2], threshold=0.52, learn_from="reached", cv=4
    ).fit(X, y)
    codes = (y == "out").astype(int)
    p = cross_val_predict(LogisticRegression(), X, codes, cv=4, method="predict_proba")
    unsure = p.max(axis=1) < 0.52
    assert 0 < unsure.sum() < len(y)
    np.testing.assert_array_equal(model.n_learned_, [300, unsure.sum()])
    second = GaussianNB().fit(X[unsure], codes[unsure])
    np.testing.assert_allclose(model.estimators_[1].theta_, second.theta_)
    whole = CascadeClassifier(stages()[:2], threshold=0.52).fit(X, y)
    np.testing.assert_array_equal(whole.n_learned_, [300, 300])


def test_all_rows_where_too_few_would_reach(data):
    X, y = data
    model = CascadeClassifier(stages(), threshold=0.0, learn_from="reached").fit(X, y)
    np.testing.assert_array_equal(model.n_learned_, [300, 300, 300])


def test_weights_and_frames(data):
    pd = pytest.importorskip("pandas")
    X, y = data
    w = np.linspace(0.5, 2, 300)
    frame = pd.DataFrame(X, columns=["a", "b"])
    model = CascadeClassifier(stages()[:2], learn_from="reached").fit(frame, y, w)
    plain = CascadeClassifier(stages()[:2], learn_from="reached").fit(X, y, w)
    np.testing.assert_allclose(model.predict_proba(frame), plain.predict_proba(X))


def test_saved_without_pickle(data, tmp_path):
    X, y = data
    model = CascadeClassifier(threshold=0.95).fit(X, y)
    persist.save(model, tmp_path / "m")
    again = persist.load(tmp_path / "m")
    np.testing.assert_array_equal(again.stage(X), model.stage(X))


def test_what_is_refused(data):
    X, y = data
    cases = [
        ({"threshold": -1.0}, "threshold of"),
        ({"threshold": [0.5]}, "threshold of CascadeClassifier must hold 2"),
        ({"costs": [1.0]}, "costs of CascadeClassifier must hold 3"),
        ({"estimators": [("a", LinearSVC())]}, "no predict_proba"),
        ({"learn_from": "some"}, "learn_from of"),
    ]
    for options, message in cases:
        with pytest.raises(ParameterError, match=message):
            CascadeClassifier(**{"estimators": stages(), **options}).fit(X, y)


def test_classes_that_a_stage_never_saw():
    X = np.arange(12.0)[:, None]
    y = np.repeat(["a", "b", "c"], 4)
    never = DummyClassifier(strategy="prior")
    model = CascadeClassifier([("a", never), ("b", GaussianNB())], threshold=0.5)
    model.fit(X, y)
    assert model.predict_proba(X).shape == (12, 3) and np.all(model.stage(X) == 1)
