"""Votes: worked numbers, parity with scikit-learn, and the ambiguity decomposition."""

import numpy as np
import pytest
import sklearn.ensemble as peer
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pansophy import persist
from pansophy.core.arrays.weighted import weighted_median
from pansophy.ensemble import VotingClassifier, VotingRegressor
from pansophy.ensemble.voting import mean_of_members, vote_shares
from pansophy.params import ParameterError


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 4))
    y = X[:, 0] + np.sin(3 * X[:, 1]) + 0.2 * rng.normal(size=90)
    return X, y, np.array(["a", "b", "c"])[(y > -0.5).astype(int) + (y > 0.7)]


def classifiers():
    return [
        ("lr", LogisticRegression()),
        ("nb", GaussianNB()),
        ("scaled", make_pipeline(StandardScaler(), LogisticRegression(C=0.1))),
    ]


def regressors():
    return [("a", Ridge(1.0)), ("b", Ridge(100.0)), ("c", DummyRegressor())]


def test_worked_numbers():
    """y = 1, 2, 4 with .5, .3, .2 is 1.9; A, B, B with .5, .3, .3 is B."""
    X = np.zeros((6, 1))
    members = [
        (f"m{v}", DummyRegressor(strategy="constant", constant=v)) for v in (1, 2, 4)
    ]
    model = VotingRegressor(members, weights=[0.5, 0.3, 0.2]).fit(X, np.arange(6.0))
    np.testing.assert_allclose(model.predict(X), 1.9)
    constant = lambda c: DummyClassifier(strategy="constant", constant=c)
    members = [("1", constant(0)), ("2", constant(1)), ("3", constant(1))]
    model = VotingClassifier(members, weights=[0.5, 0.3, 0.3])
    model.fit(X, np.array(list("ABABAB")))
    assert set(model.predict(X)) == {"B"}
    np.testing.assert_allclose(model.vote_shares(X)[0], [0.5 / 1.1, 0.6 / 1.1])


@pytest.mark.parametrize("voting", ["hard", "soft"])
@pytest.mark.parametrize("weights", [None, [3, 1, 1], [0, 1, 0]])
def test_same_as_scikit_learn(voting, weights, data):
    X, _, c = data
    ours = VotingClassifier(classifiers(), voting=voting, weights=weights).fit(X, c)
    theirs = peer.VotingClassifier(classifiers(), voting=voting, weights=weights)
    theirs.fit(X, c)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    np.testing.assert_allclose(ours.transform(X), theirs.transform(X))
    names = ours.get_feature_names_out()
    np.testing.assert_array_equal(names, theirs.get_feature_names_out())
    if voting == "soft":
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(X))
    np.testing.assert_array_equal(ours.le_.classes_, theirs.le_.classes_)
    p = ours.vote_shares(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_regressor_same_as_scikit_learn(data):
    X, y, _ = data
    w = np.linspace(0.5, 2, len(y))
    for weights in (None, [0.5, 0.3, 0.2]):
        ours = VotingRegressor(regressors(), weights=weights).fit(X, y, w)
        theirs = peer.VotingRegressor(regressors(), weights=weights)
        theirs.fit(X, y, sample_weight=w)
        np.testing.assert_allclose(ours.predict(X), theirs.predict(X))
        np.testing.assert_allclose(ours.transform(X), theirs.transform(X))


def test_one_hot_weights_choose_a_member(data):
    X, y, _ = data
    model = VotingRegressor(regressors(), weights=[0, 1, 0]).fit(X, y)
    np.testing.assert_allclose(model.predict(X), Ridge(100.0).fit(X, y).predict(X))


def constants(values):
    """Regressors that predict one number each."""
    make = lambda v: DummyRegressor(strategy="constant", constant=float(v))
    return [(f"m{i}", make(v)) for i, v in enumerate(values)]


@pytest.mark.parametrize("weight", [0.1, 0.3, 0.7, 1.0])
@pytest.mark.parametrize("M", [2, 4, 6, 10, 14, 22, 46])
def test_equal_fractional_weights_give_the_plain_median(M, weight):
    """Sums of weights meet one half only within rounding; the tie must be seen."""
    X = np.zeros((2, 1))
    model = VotingRegressor(
        constants(range(M)), weights=[weight] * M, combine="median"
    ).fit(X, [0.0, 1.0])
    np.testing.assert_array_equal(model.predict(X), (M - 1) / 2)


@pytest.mark.parametrize("gap", [1e-9, 1e-6, 1e-2])
def test_unequal_weights_are_no_tie(gap):
    """A difference far above rounding decides for the heavier member."""
    X = np.zeros((2, 1))
    for weights, expected in (([1 + gap, 1], 3.0), ([1, 1 + gap], 8.0)):
        model = VotingRegressor(constants([3, 8]), weights=weights, combine="median")
        np.testing.assert_array_equal(model.fit(X, [0.0, 1.0]).predict(X), expected)


def test_median_ignores_a_bad_member(data):
    X, y, _ = data
    bad = DummyRegressor(strategy="constant", constant=1e6)
    members = [*regressors()[:2], ("bad", bad)]
    model = VotingRegressor(members, combine="median").fit(X, y)
    outputs = model.transform(X)
    np.testing.assert_allclose(model.predict(X), np.median(outputs, axis=1))
    assert model.predict(X).max() < 100


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(float, (6, 5), elements=st.floats(-1e3, 1e3)),
    hnp.arrays(int, 5, elements=st.integers(1, 4)),
)
def test_weights_are_repeated_members(outputs, w):
    many = np.repeat(outputs, w, axis=1)
    mean, median = mean_of_members(outputs, w), weighted_median(outputs, w, axis=1)
    np.testing.assert_allclose(mean, many.mean(axis=1), atol=1e-9)
    np.testing.assert_allclose(median, np.median(many, axis=1))
    assert np.all(mean <= outputs.max(axis=1) + 1e-9)
    assert np.all(mean >= outputs.min(axis=1) - 1e-9)
    labels = (outputs > 0).astype(int)
    shares = vote_shares(labels, w, 2)
    np.testing.assert_allclose(shares, vote_shares((many > 0) * 1, np.ones(w.sum()), 2))


def test_spread_is_that_of_a_normal_fitted_to_the_members(data):
    X, y, _ = data
    model = VotingRegressor(regressors()).fit(X, y)
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(std, model.transform(X).std(axis=1))
    np.testing.assert_allclose(mean, model.transform(X).mean(axis=1))


def test_members_by_name(data):
    X, _, c = data
    model = VotingClassifier(classifiers(), voting="soft")
    assert model.get_params()["lr__C"] == 1.0
    model.set_params(lr__C=3.0, nb="drop")
    assert model.named_estimators.lr.C == 3.0
    model.fit(X, c)
    assert len(model.estimators_) == 2
    assert model.named_estimators_["nb"] == "drop"
    assert model.named_estimators_["lr"].C == 3.0
    search = GridSearchCV(VotingClassifier(classifiers()), {"lr__C": [0.1, 1.0]}, cv=2)
    assert search.fit(X, c).best_params_["lr__C"] in (0.1, 1.0)


def test_what_is_refused(data):
    X, _, c = data
    cases = [
        ({"estimators": []}, "'estimators' should be a non-empty list"),
        ({"estimators": [("a", GaussianNB()), ("a", GaussianNB())]}, "unique"),
        ({"estimators": [("a__b", GaussianNB())]}, "a__b"),
        ({"estimators": [("voting", GaussianNB())]}, "voting"),
        ({"estimators": [("a", Ridge())]}, "should be a classifier"),
        ({"estimators": [("a", "drop")]}, "All estimators are dropped"),
        ({"estimators": classifiers(), "weights": [1.0]}, "must be equal"),
        ({"estimators": classifiers(), "weights": [1.0, -1.0, 1.0]}, "negative"),
        ({"estimators": classifiers(), "voting": "loud"}, "voting of"),
    ]
    for options, message in cases:
        with pytest.raises(ParameterError, match=message):
            VotingClassifier(**options).fit(X, c)
    from sklearn.neighbors import KNeighborsClassifier

    members = [("knn", KNeighborsClassifier())]
    with pytest.raises(TypeError, match="does not support sample weights"):
        VotingClassifier(members).fit(X, c, sample_weight=np.ones(len(c)))


def test_frames_go_to_the_members_as_they_are():
    pd = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    X = pd.DataFrame({"word": ["x", "y"] * 10, "number": np.arange(20.0)})
    y = np.arange(20) % 2
    columns = ColumnTransformer([("w", OneHotEncoder(), ["word"])], remainder="drop")
    members = [("p", make_pipeline(columns, LogisticRegression()))]
    model = VotingClassifier(members).fit(X, y)
    assert model.score(X, y) == 1.0
    assert list(model.feature_names_in_) == ["word", "number"]


def test_saved_without_pickle(data, tmp_path):
    X, y, c = data
    for model, target in (
        (VotingClassifier(classifiers(), voting="soft"), c),
        (VotingRegressor(regressors(), combine="median"), y),
    ):
        model.fit(X, target)
        persist.save(model, tmp_path / "m")
        again = persist.load(tmp_path / "m")
        np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_hard_votes_are_no_probabilities(data):
    X, _, c = data
    model = VotingClassifier(classifiers(), voting="hard").fit(X, c)
    assert not hasattr(model, "predict_proba")
    with pytest.raises(AttributeError, match="no attribute 'predict_proba'") as error:
        model.predict_proba(X)
    assert "vote_shares" in str(error.value.__cause__)
    shares = model.vote_shares(X)
    np.testing.assert_array_equal(
        model.classes_[shares.argmax(axis=1)], model.predict(X)
    )
    assert hasattr(model.set_params(voting="soft"), "predict_proba")
    with pytest.raises(ValueError, match="Multilabel"):
        model.fit(X, np.c_[c == c[0], c != c[0]].astype(int))


def test_progress_is_printed_on_demand_only(data, capsys):
    X, y, _ = data
    VotingRegressor([("ridge", Ridge())]).fit(X, y)
    assert capsys.readouterr().out == ""
    VotingRegressor([("ridge", Ridge())], verbose=True).fit(X, y)
    assert capsys.readouterr().out == "[Voting] fitted ridge\n"


def test_probabilities_in_three_dimensions_have_no_names(data):
    X, _, c = data
    model = VotingClassifier([("nb", GaussianNB())], voting="soft")
    assert len(model.fit(X, c).get_feature_names_out()) == 3
    model.set_params(flatten_transform=False)
    with pytest.raises(ValueError, match="not supported"):
        model.fit(X, c).get_feature_names_out()
