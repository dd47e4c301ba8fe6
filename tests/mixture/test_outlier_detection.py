"""Outliers by density or distance, tuned thresholds, classifiers with a flag."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.covariance import EmpiricalCovariance
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KernelDensity

from pansophy import persist
from pansophy.linear_model import LogisticRegression
from pansophy.mixture import (
    ClassifierWithOutliers,
    DensityOutlierDetector,
    GaussianMixture,
    best_threshold,
    threshold_curve,
)
from pansophy.mixture.outlier_detection import quantile_threshold
from pansophy.params import ParameterError

torch = pytest.importorskip("torch")
quick = settings(max_examples=25, deadline=None)


def labelled(rng, n=200, m=20):
    X = np.concatenate([rng.standard_normal((n, 2)), rng.uniform(-8, 8, (m, 2))])
    return X, np.repeat([1, -1], [n, m])


def test_flags_low_density_and_more_of_them_as_tau_grows(rng):
    X, _ = labelled(rng)
    log_p = GaussianMixture().fit(X).score_samples(X)
    before = np.zeros(len(X), bool)
    for tau in np.quantile(log_p, [0.0, 0.1, 0.3, 0.7, 1.0]):
        model = DensityOutlierDetector(threshold=tau).fit(X)
        flagged = model.predict(X) == -1
        np.testing.assert_array_equal(flagged, model.score_samples(X) < tau)
        np.testing.assert_allclose(model.score_samples(X), log_p)
        assert (flagged >= before).all()
        before = flagged
    assert model.offset_ == tau
    np.testing.assert_allclose(model.decision_function(X), log_p - tau)


@pytest.mark.parametrize("share", [0.05, 0.1, 0.5])
def test_contamination_is_the_share_flagged(share, rng):
    X = rng.standard_normal((200, 3))
    model = DensityOutlierDetector(contamination=share)
    assert (model.fit_predict(X) == -1).sum() == round(200 * share)


def test_threshold_is_halfway_to_the_next_score():
    """The middle of two scores, unless no number lies between them."""
    scores = np.array([4.0, -2.0, 1.0, 9.0])
    assert quantile_threshold(scores, 0.25) == -0.5
    assert quantile_threshold(scores, 0.5) == 2.5
    assert quantile_threshold(scores, 1.0) == 9.0
    above = np.nextafter(1.0, 2.0)
    assert quantile_threshold(np.array([1.0, above]), 0.5) == above


def test_thresholds_of_the_curve_are_halfway_too():
    curve = threshold_curve([3.0, -1.0, 0.0, 3.0], [False, True, False, False])
    assert curve.threshold.tolist() == [-0.5, 1.5, np.inf]
    assert curve.precision.tolist() == [1.0, 0.5, 0.25]
    assert curve.recall.tolist() == [1.0, 1.0, 1.0]
    np.testing.assert_allclose(curve.f1, [1.0, 2 / 3, 0.4])
    np.testing.assert_allclose(curve.false_positive_rate, [0.0, 1 / 3, 1.0])
    above = np.nextafter(1.0, 2.0)
    close = threshold_curve([1.0, above], [True, False])
    assert close.threshold.tolist() == [above, np.inf]
    assert best_threshold([3.0, -1.0, 0.0, 3.0], [0, 1, 0, 0]) == (-0.5, 1.0)


@quick
@given(st.integers(0, 10**6), st.floats(0.01, 0.5))
def test_quantiles_count_weights_as_copies(seed, share):
    rng = np.random.default_rng(seed)
    s, w = rng.integers(0, 8, 15).astype(float), rng.integers(0, 4, 15)
    w[0] = 1
    tau = quantile_threshold(s, share, w.astype(float))
    assert tau == quantile_threshold(np.repeat(s, w), share)
    if len(np.unique(s[w > 0])) > 1 and tau != s[w > 0].max():
        assert w[s < tau].sum() >= share * w.sum() * (1 - 1e-9)


def test_weights_are_copies_in_a_fit(rng):
    X, w = rng.standard_normal((60, 2)), rng.integers(0, 4, 60)
    a = DensityOutlierDetector().fit(X, sample_weight=w)
    b = DensityOutlierDetector().fit(np.repeat(X, w, axis=0))
    assert a.offset_ == pytest.approx(b.offset_, rel=1e-9)


def brute(scores, outlier):
    """F1 for a threshold above each score, by scikit-learn."""
    above = np.append(np.unique(scores)[1:], np.inf)
    return max(f1_score(outlier, scores < tau, zero_division=0) for tau in above)


@quick
@given(st.integers(0, 10**6))
def test_tuned_threshold_maximises_f1(seed):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 12, 30).astype(float)
    outlier = rng.random(30) < 0.3
    outlier[0] = True
    tau, f1 = best_threshold(scores, outlier)
    assert f1 == pytest.approx(brute(scores, outlier))
    assert f1_score(outlier, scores < tau) == pytest.approx(f1)
    curve = threshold_curve(scores, outlier)
    assert (np.diff(curve.recall) >= 0).all() and curve.recall[-1] == 1
    assert (np.diff(curve.false_positive_rate) >= 0).all()


def test_tune_takes_the_best_threshold_of_held_out_rows(rng):
    X, y = labelled(rng)
    model = DensityOutlierDetector().tune(X, y)
    scores = np.empty(len(X))
    for train, test in StratifiedKFold(5).split(X, y):
        inlier = train[y[train] == 1]
        scores[test] = GaussianMixture().fit(X[inlier]).score_samples(X[test])
    best = brute(scores, y == -1)
    assert model.f1_ == pytest.approx(best)
    assert f1_score(y == -1, scores < model.offset_) == pytest.approx(best)
    assert model.f1_ > 0.7
    whole = GaussianMixture().fit(X[y == 1])
    np.testing.assert_allclose(model.score_samples(X), whole.score_samples(X))
    assert f1_score(y, model.predict(X), pos_label=-1) > 0.7
    assert len(model.plot().lines) == 4
    plt.close("all")
    shuffled = DensityOutlierDetector().tune(X, y, cv=StratifiedKFold(3))
    assert shuffled.f1_ > 0.7


def test_tuning_refusals(rng):
    X, y = labelled(rng)
    with pytest.raises(ValueError, match="-1 for outliers"):
        DensityOutlierDetector().tune(X, np.where(y == 1, 0, 1))
    with pytest.raises(ValueError, match="-1 for outliers"):
        DensityOutlierDetector().tune(X, np.ones(len(X)))
    with pytest.raises(AttributeError, match="after tune"):
        DensityOutlierDetector().fit(X).plot()
    for bad in (0.0, 0.6, "auto"):
        with pytest.raises(ParameterError, match="contamination"):
            DensityOutlierDetector(contamination=bad).fit(X)
    with pytest.raises(TypeError, match="EmpiricalCovariance gives neither"):
        DensityOutlierDetector(EmpiricalCovariance()).fit(X)


def test_distances_and_other_densities(rng):
    X, y = labelled(rng)
    far = DensityOutlierDetector(KMeans(3, n_init=1, random_state=0)).fit(X)
    centres = far.estimator_.cluster_centers_
    gap = np.linalg.norm(X[:, None] - centres, axis=2).min(axis=1)
    np.testing.assert_allclose(far.score_samples(X), -gap, atol=1e-6)
    smooth = DensityOutlierDetector(KernelDensity(bandwidth=0.7)).tune(X, y)
    assert smooth.f1_ > 0.7


def test_tensors_give_tensors(rng):
    X, y = labelled(rng)
    a, b = (
        DensityOutlierDetector().fit(X),
        DensityOutlierDetector().fit(torch.tensor(X)),
    )
    assert isinstance(b.predict(torch.tensor(X)), torch.Tensor)
    np.testing.assert_array_equal(a.predict(X), b.predict(torch.tensor(X)))
    tuned = DensityOutlierDetector().tune(torch.tensor(X), torch.tensor(y))
    assert tuned.offset_ == pytest.approx(DensityOutlierDetector().tune(X, y).offset_)


def test_tuned_models_are_saved(rng, tmp_path):
    X, y = labelled(rng)
    model = DensityOutlierDetector().tune(X, y)
    persist.save(model, tmp_path / "m.pansophy")
    again = persist.load(tmp_path / "m.pansophy")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.curve_.f1, model.curve_.f1)


# --- a classifier with a flag --------------------------------------------------------


def classes(rng):
    X = np.concatenate([rng.normal(-2, 1, (80, 2)), rng.normal(2, 1, (80, 2))])
    return X, np.repeat(["left", "right"], 80)


@pytest.mark.parametrize(
    "detector",
    [None, DensityOutlierDetector(GaussianMixture(2, random_state=0)), "marginal"],
    ids=["default", "mixture", "marginal"],
)
def test_class_outputs_are_those_of_the_classifier(detector, rng):
    X, y = classes(rng)
    classifier = GaussianNB() if detector == "marginal" else LogisticRegression()
    model = ClassifierWithOutliers(classifier, detector=detector).fit(X, y)
    alone = (GaussianNB() if detector == "marginal" else LogisticRegression()).fit(X, y)
    Z = np.concatenate([X, [[40.0, -40.0]]])
    np.testing.assert_array_equal(model.predict(Z), alone.predict(Z))
    np.testing.assert_array_equal(model.predict_proba(Z), alone.predict_proba(Z))
    labels, flags = model.predict_flagged(Z)
    np.testing.assert_array_equal(labels, alone.predict(Z))
    assert flags[-1] and flags[:-1].mean() == pytest.approx(0.1, abs=0.01)
    assert model.score_samples(Z).argmin() == len(Z) - 1


def test_marginal_is_the_sum_over_classes(rng):
    X, y = classes(rng)
    model = ClassifierWithOutliers(GaussianNB(), detector="marginal").fit(X, y)
    joint = GaussianNB().fit(X, y).predict_joint_log_proba(X)
    np.testing.assert_allclose(model.score_samples(X), np.logaddexp(*joint.T))
    few = ClassifierWithOutliers(
        GaussianNB(), detector="marginal", contamination=0.05
    ).fit(X, y)
    assert few.flag(X).sum() == 8 and model.flag(X).sum() == 16


def test_classifier_refusals_and_methods(rng):
    X, y = classes(rng)
    assert hasattr(ClassifierWithOutliers(), "decision_function")
    assert not hasattr(ClassifierWithOutliers(GaussianNB()), "decision_function")
    own = ClassifierWithOutliers(detector=DensityOutlierDetector(), contamination=0.2)
    with pytest.raises(ParameterError, match="its own detector"):
        own.fit(X, y)
    with pytest.raises(TypeError, match="LogisticRegression gives neither"):
        ClassifierWithOutliers(detector="marginal").fit(X, y)
