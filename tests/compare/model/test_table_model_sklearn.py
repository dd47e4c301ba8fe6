"""A kept model as an estimator of scikit-learn."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import permutation_importance
from sklearn.metrics import accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.utils.validation import check_is_fitted

import pansophy
from pansophy.compare.model.table_model import TableModel
from tests.compare.table_models import fitted, people

INPUTS = ["age", "pay", "city", "day", "note"]
TABLE = people()
FRAME = TABLE.select(INPUTS).to_pandas()
YES = TABLE.column("yes").to_pandas()
SCORE = TABLE.column("score").to_pandas()


@pytest.fixture(scope="module")
def yes() -> TableModel:
    return fitted(TABLE.select([*INPUTS, "yes"]), "yes", "logistic regression")


@pytest.fixture(scope="module")
def score() -> TableModel:
    return fitted(TABLE.select([*INPUTS, "score"]), "score", "linear regression")


def test_what_scikit_learn_asks_about(yes, score):
    assert is_classifier(yes) and is_regressor(score)
    assert yes.classes_.tolist() == ["no", "yes"]
    assert sorted(yes.feature_names_in_) == sorted(INPUTS) and yes.n_features_in_ == 5
    with pytest.raises(AttributeError, match="no classes_"):
        score.classes_  # noqa: B018
    check_is_fitted(yes)
    params = yes.get_params()
    assert params["method"] == "logistic regression" and "pipeline__model" in params
    assert set(yes.get_params(deep=False)) == {
        "method",
        "threshold",
        "schema",
        "pipeline",
    }


def test_score_is_accuracy_or_r2(yes, score):
    assert yes.score(FRAME, YES) == accuracy_score(YES, yes.predict(FRAME))
    w = np.arange(len(FRAME)) + 1.0
    weighted = accuracy_score(YES, yes.predict(FRAME), sample_weight=w)
    assert yes.score(FRAME, YES, sample_weight=w) == weighted
    assert score.score(FRAME, SCORE) == r2_score(SCORE, score.predict(FRAME))


def test_clone_is_not_fitted_and_fits_to_the_same_model(yes, score):
    for model, y in ((yes, YES), (score, SCORE)):
        again = clone(model)
        with pytest.raises(NotFittedError):
            check_is_fitted(again)
        assert "not fitted" in str(again) and again.conformal is None
        assert again.fit(FRAME, y) is again
        np.testing.assert_allclose(
            again.score(FRAME, y), model.score(FRAME, y), atol=1e-6
        )
        assert "fitted on 300 rows" in str(again)
        assert model.conformal is not None  # the original is untouched


def test_fit_refuses_unknown_labels_and_lengths(yes):
    again = clone(yes)
    with pytest.raises(ValueError, match="y holds 'perhaps'"):
        again.fit(FRAME, ["perhaps"] * len(FRAME))
    with pytest.raises(ValueError, match="X has 300 rows and y has 2"):
        again.fit(FRAME, ["yes", "no"])


def test_tools_of_scikit_learn_work_on_it(yes, score):
    found = permutation_importance(score, FRAME, SCORE, n_repeats=2, random_state=0)
    assert FRAME.columns[found.importances_mean.argmax()] in ("city", "age")
    for estimator in (yes, FrozenEstimator(yes)):
        model = CalibratedClassifierCV(estimator, cv=2).fit(FRAME, YES)
        p = model.predict_proba(FRAME)
        assert model.classes_.tolist() == ["no", "yes"]
        np.testing.assert_allclose(p.sum(1), 1)
        assert accuracy_score(YES, model.predict(FRAME)) > 0.7
    assert (cross_val_score(yes, FRAME, YES, cv=2) > 0.6).all()


def test_arrays_stand_for_the_columns_in_their_order(yes):
    X = FRAME[yes.feature_names_in_].to_numpy()
    assert (yes.predict(X[:20]) == yes.predict(FRAME[:20])).all()
    with pytest.raises(ValueError, match="X must have 5 columns"):
        yes.predict(X[:, :2])


def test_parameters_can_be_set(yes):
    model = clone(yes).set_params(pipeline__model__C=1e-3)
    assert model.get_params()["pipeline__model__C"] == 1e-3
    weak = model.fit(FRAME, YES).predict_proba(FRAME).std()
    assert weak < yes.predict_proba(FRAME).std()
    assert clone(yes).set_params(threshold=0.3).threshold == 0.3
    with pytest.raises(ValueError, match="no parameter of a kept model"):
        yes.set_params(colour="red")


def test_a_model_fitted_again_can_be_saved(yes, tmp_path):
    model = clone(yes).fit(FRAME, YES)
    pansophy.persist.save(model, tmp_path / "m.pansophy")
    again = pansophy.load(tmp_path / "m.pansophy")
    assert (again.predict(FRAME) == model.predict(FRAME)).all()


def test_probabilities_are_in_the_order_that_metrics_expect():
    """The rarer class is positive; metrics of scikit-learn sort the labels."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=300)
    y = np.where(x + rng.normal(size=300) > 1, "ill", "well")
    table = pa.table({"x": x, "y": y})
    model = fitted(table, "y", "logistic regression")
    assert model.schema.classes == ("well", "ill")
    assert model.classes_.tolist() == ["ill", "well"]
    p = model.predict_proba(table)
    assert np.array_equal(model.classes_[p.argmax(1)], model.predict(table))
    assert log_loss(y, p) < np.log(2) * 0.9
    assert roc_auc_score(y, p[:, 1]) > 0.7
    low = model.with_threshold(0.01).predict(table)
    assert (low == "ill").mean() > (y == "ill").mean()
    answers = model.answer(table)
    assert np.allclose(answers.column("p(ill)").to_numpy(), p[:, 0])
