"""Self-training."""

import numpy as np
import pytest
from sklearn import config_context
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.semi_supervised import SelfTrainingClassifier as Peer

from pansophy.linear_model import LogisticRegression
from pansophy.naive_bayes import GaussianNB
from pansophy.params import ParameterError
from pansophy.semi_supervised import (
    CoTraining,
    SelfTrainingClassifier,
)
from tests.semi_supervised.small_sets import partly_labelled


@pytest.mark.parametrize("criterion", ["threshold", "k_best"])
def test_rounds_equal_those_of_scikit_learn(criterion):
    X, _, y = partly_labelled(std=4.0)
    options = {"criterion": criterion, "k_best": 7, "max_iter": 6, "threshold": 0.9}
    mine = SelfTrainingClassifier(GaussianNB(), **options).fit(X, y)
    peer = Peer(GaussianNB(), **options).fit(X, y)
    np.testing.assert_array_equal(mine.transduction_, peer.transduction_)
    np.testing.assert_array_equal(mine.labeled_iter_, peer.labeled_iter_)
    assert mine.n_iter_ == peer.n_iter_
    stopped = mine.termination_condition_
    if mine.n_iter_ == 6 and mine.labeled_iter_.max() < 6:
        # the peer says "max_iter" also where the last round changed nothing
        assert (stopped, peer.termination_condition_) == ("no_change", "max_iter")
    else:
        assert stopped == peer.termination_condition_
    np.testing.assert_allclose(mine.predict_proba(X), peer.predict_proba(X))


@pytest.mark.filterwarnings("ignore:y contains no unlabeled samples")
def test_all_labels_known_is_the_supervised_fit():
    X, y, _ = partly_labelled()
    model = SelfTrainingClassifier(LogisticRegression()).fit(X, y)
    np.testing.assert_array_equal(
        model.estimator_.coef_, LogisticRegression().fit(X, y).coef_
    )
    assert model.n_iter_ == 0
    assert model.termination_condition_ == "all_labeled"


def test_revised_labels_end_when_they_stand_still():
    X, truth, y = partly_labelled(std=2.5)
    model = SelfTrainingClassifier(GaussianNB(), revise=True, max_iter=None).fit(X, y)
    assert model.termination_condition_ == "no_change"
    known = y >= 0
    np.testing.assert_array_equal(model.transduction_[known], truth[known])
    # a fixed point: fitting to these labels gives these labels
    sure = model.predict_proba(X).max(axis=1) > 0.75
    given = model.transduction_ >= 0
    np.testing.assert_array_equal(given, sure | known)
    guess = model.predict(X)
    np.testing.assert_array_equal(
        model.transduction_[given & ~known], guess[given & ~known]
    )


def test_rows_without_label_only_become_fewer():
    X, _, y = partly_labelled(std=3.0)
    model = SelfTrainingClassifier(GaussianNB(), max_iter=20).fit(X, y)
    left = model.history_["objective"]
    assert np.all(np.diff(left) <= 0)
    assert left[-1] == pytest.approx(np.mean(model.transduction_ < 0))


def test_text_labels_and_weights():
    X, _, y = partly_labelled()
    names = np.array(["", "a", "b", "c"])[y + 1]
    w = np.where(np.arange(len(y)) % 2, 1.0, 2.0)
    plain = SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=w)
    text = SelfTrainingClassifier(GaussianNB()).fit(X, names, sample_weight=w)
    np.testing.assert_array_equal(
        text.transduction_, np.array(["", "a", "b", "c"])[plain.transduction_ + 1]
    )


def test_bad_input():
    with pytest.raises(ValueError, match="no label at all"):
        SelfTrainingClassifier().fit([[0.0], [1.0]], [-1, -1])
    with pytest.raises(ParameterError, match="threshold"):
        SelfTrainingClassifier(threshold=1.0).fit([[0.0], [1.0]], [0, 1])


def test_minus_one_among_text_says_that_there_is_no_label():
    X = np.arange(12.0)[:, None]
    y = np.array(["a", "a", *[-1] * 8, "b", "b"], dtype=object)
    for model in (SelfTrainingClassifier(), CoTraining()):
        model.fit(X, y)
        assert model.classes_.tolist() == ["a", "b"]
        assert model.predict([[0.0], [11.0]]).tolist() == ["a", "b"]
        assert (model.fit(X, y.tolist()).classes_ == ["a", "b"]).all()


def test_missing_values_reach_a_classifier_that_takes_them():
    from sklearn.ensemble import HistGradientBoostingClassifier

    X, _, y = partly_labelled()
    X = X.copy()
    X[0, 0] = np.nan
    inner = HistGradientBoostingClassifier(max_iter=3)
    assert SelfTrainingClassifier(inner).fit(X, y).predict(X).shape == (len(X),)
    with pytest.raises(ValueError, match="NaN"):
        SelfTrainingClassifier().fit(X, y)


def test_rounds_are_counted_where_labels_are_thrown_away():
    X, _, y = partly_labelled(std=4.0)
    model = SelfTrainingClassifier(revise=True, threshold=0.6).fit(X, y)
    assert model.labeled_iter_.max() <= model.n_iter_
    assert ((model.labeled_iter_ < 0) == (model.transduction_ == -1)).all()


def test_nothing_to_label_is_warned_of():
    X, y, part = partly_labelled()
    with pytest.warns(UserWarning, match="no unlabeled samples"):
        SelfTrainingClassifier(GaussianNB()).fit(X, y)
    with pytest.warns(UserWarning, match="k_best is larger"):
        SelfTrainingClassifier(GaussianNB(), criterion="k_best", k_best=999).fit(
            X, part
        )


class TestMetadataRouting:
    methods = ("predict", "predict_proba", "predict_log_proba")

    def test_is_refused_when_it_is_off(self):
        X, _, y = partly_labelled()
        model = SelfTrainingClassifier(GaussianNB())
        with pytest.raises(ValueError, match="only supported if enable_metadata"):
            model.fit(X, y, metadata="a")
        model.fit(X, y)
        for name in self.methods:
            with pytest.raises(ValueError, match="only supported if enable_metadata"):
                getattr(model, name)(X, metadata="a")
        with pytest.raises(ValueError, match="only supported if enable_metadata"):
            model.score(X, y, metadata="a")

    def test_goes_to_the_classifier_that_asks(self):
        X, truth, y = partly_labelled()
        w = np.random.default_rng(0).integers(1, 5, len(y)).astype(float)
        plain = SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=w)
        weighted = plain.score(X, truth, sample_weight=w)
        with config_context(enable_metadata_routing=True):
            asks = GaussianNB().set_fit_request(sample_weight=True)
            asks = asks.set_score_request(sample_weight=True)
            model = SelfTrainingClassifier(asks).fit(X, y, sample_weight=w)
            # weights are cut to the rows that have a label
            np.testing.assert_array_equal(model.transduction_, plain.transduction_)
            np.testing.assert_array_equal(
                model.estimator_.theta_, plain.estimator_.theta_
            )
            assert model.score(X, truth, sample_weight=w) == weighted
            with pytest.raises(TypeError, match="other"):
                model.fit(X, y, other=w)
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                SelfTrainingClassifier(GaussianNB()).fit(X, y, sample_weight=w)


def test_verbose_says_how_many_labels_each_round_adds(capsys):
    X, _, part = partly_labelled()
    options = {"criterion": "k_best", "k_best": 50, "max_iter": None, "verbose": True}
    SelfTrainingClassifier(GaussianNB(), **options).fit(X, part)
    out = capsys.readouterr().out
    for i, added in ((1, 50), (2, 50), (3, 2)):
        assert f"End of iteration {i}, added {added} new labels." in out
