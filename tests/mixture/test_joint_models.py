"""MixtureClassifier, MixtureRegressor, choosing k and matching components."""

import warnings

import numpy as np
import pytest
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression

from pansophy.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    Mixture,
    MixtureClassifier,
    MixtureRegressor,
    choose_components,
    match_components,
    reorder_components,
)
from pansophy.params import ParameterError


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def classes(rng, n=300):
    y = rng.integers(3, size=n)
    C = np.array([[0.0, 0], [4, 0], [0, 4]])
    return C[y] + rng.normal(size=(n, 2)) @ np.array([[1, 0.3], [0, 0.8]]), y


# -- classifier


def test_one_component_per_class_is_qda(rng):
    """K235."""
    X, y = classes(rng)
    model = MixtureClassifier(GaussianMixture(reg_covar=0.0)).fit(X, y)
    peer = QuadraticDiscriminantAnalysis(store_covariance=True).fit(X, y)
    for c, own in enumerate(model.estimators_):
        assert np.allclose(own.means_[0], peer.means_[c])
        gap = own.covariances_[0] - peer.covariance_[c]  # some divide by n - 1
        assert np.abs(gap).max() < 0.02
    assert (model.predict(X) == peer.predict(X)).mean() > 0.99
    assert np.allclose(model.class_prior_, peer.priors_)


def test_mixtures_bend_where_one_normal_cannot(rng):
    z = rng.integers(4, size=600)
    X = np.array([[0.0, 0], [12, 0], [6, 0], [18, 0]])[z] + rng.normal(size=(600, 2))
    y = np.where(z < 2, "first", "second")  # in turns along a line
    one = MixtureClassifier().fit(X, y).score(X, y)
    two = MixtureClassifier(GaussianMixture(2, n_init=3, random_state=0)).fit(X, y)
    assert two.score(X, y) > 0.97 > one
    L = two.predict_joint_log_proba(X)
    assert np.allclose(np.exp(L).sum(1), np.exp(two.score_samples(X)))
    assert np.allclose(np.exp(two.predict_log_proba(X)), two.predict_proba(X))


def test_classifier_with_other_densities_priors_and_gaps(rng):
    X, y = classes(rng)
    bayes = BayesianGaussianMixture(n_components=2, random_state=0)
    per_class = {0: GaussianMixture(2, random_state=0), 1: Mixture(1), 2: bayes}
    model = fit(MixtureClassifier(per_class, priors=[0.2, 0.3, 0.5]), X, y)
    assert model.score(X, y) > 0.9
    assert model.class_prior_.tolist() == [0.2, 0.3, 0.5]
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    gapped = MixtureClassifier().fit(gaps, y)
    assert gapped.score(gaps, y) > 0.85
    w = rng.integers(1, 4, len(X))
    a = MixtureClassifier().fit(X, y, sample_weight=w)
    b = MixtureClassifier().fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    assert np.allclose(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ParameterError, match="no density for class 2"):
        MixtureClassifier({0: Mixture(), 1: Mixture()}).fit(X, y)
    with pytest.raises(ParameterError, match="priors"):
        MixtureClassifier(priors=[0.5, 0.4, 0.3]).fit(X, y)


def test_classifier_takes_tensors(rng):
    torch = pytest.importorskip("torch")
    X, y = classes(rng)
    a = MixtureClassifier().fit(X, y)
    T, u = torch.asarray(X), torch.asarray(y)
    b = MixtureClassifier().fit(T, u)
    assert np.allclose(a.predict_proba(X), b.predict_proba(T))
    assert np.array_equal(a.predict(X), np.asarray(b.predict(T)))


# -- regressor


def test_one_joint_gaussian_is_linear_regression(rng):
    """K235."""
    X = rng.normal(size=(100, 3))
    Y = X @ rng.normal(size=(3, 2)) + rng.normal(size=(100, 2)) + 1
    model = MixtureRegressor(GaussianMixture(reg_covar=0.0))
    line = LinearRegression().fit(X, Y)
    assert np.allclose(model.fit(X, Y).predict(X), line.predict(X))
    residual = (Y - line.predict(X)).T @ (Y - line.predict(X)) / 100
    assert np.allclose(model.predict_variance(X[:1])[0], residual)
    one = model.fit(X, Y[:, 0])
    assert np.allclose(one.predict(X), line.predict(X)[:, 0])
    std = one.predict(X, return_std=True)[1]
    assert np.allclose(std, residual[0, 0] ** 0.5)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical", "low_rank"])
def test_a_slice_of_a_mixture_is_a_density(shape, rng):
    """K235: it integrates to 1, and its moments are those of eq. (3)."""
    x = rng.uniform(-3, 3, 400)
    y = np.where(rng.random(400) < 0.5, x**2, -(x**2)) + 0.3 * rng.normal(size=400)
    joint = GaussianMixture(6, covariance_type=shape, random_state=0)
    model = fit(MixtureRegressor(joint), x[:, None], y)
    at = np.array([[1.7]])
    v = np.linspace(-40, 40, 16_001)
    p = np.exp(model.log_density(np.repeat(at, len(v), axis=0), v))
    value = lambda power: np.trapezoid(v**power * p, v)
    assert value(0) == pytest.approx(1, abs=1e-5)
    mean, std = model.predict(at, return_std=True)
    assert value(1) == pytest.approx(mean[0], abs=1e-3)
    assert value(2) - value(1) ** 2 == pytest.approx(std[0] ** 2, abs=1e-3)
    s = model.conditional(at)
    assert s.gates.sum() == pytest.approx(1)
    draws = model.set_params(random_state=0).sample(np.repeat(at, 20_000, axis=0))
    assert draws.mean() == pytest.approx(mean[0], abs=0.1)
    assert draws.std() == pytest.approx(std[0], abs=0.1)


def test_a_missing_input_is_left_out(rng):
    X = rng.normal(size=(300, 2))
    X[:, 1] += X[:, 0]
    y = X @ [1.0, 2.0] + 0.1 * rng.normal(size=300)
    model = MixtureRegressor().fit(X, y)
    gap = np.array([[0.5, np.nan]])
    line = LinearRegression().fit(X[:, :1], y)
    assert model.predict(gap)[0] == pytest.approx(line.predict([[0.5]])[0], abs=1e-3)
    assert model.predict_variance(gap)[0] > model.predict_variance(X[:1])[0]
    nothing = model.predict([[np.nan, np.nan]])[0]
    assert nothing == pytest.approx(y.mean())
    gaps = X.copy()
    gaps[rng.random(X.shape) < 0.1] = np.nan
    assert MixtureRegressor().fit(gaps, y).score(X, y) > 0.98
    bayes = MixtureRegressor(BayesianGaussianMixture(n_components=2, random_state=0))
    assert fit(bayes, X, y).score(X, y) > 0.98


# -- choosing and matching


def test_all_criteria_find_three_blobs():
    """K232: both curves are there, and both peak at the truth."""
    rng = np.random.default_rng(1)
    C = np.array([[0.0, 0], [8, 0], [0, 8]])
    X = C[np.arange(240) % 3] + rng.normal(size=(240, 2))
    how = {"estimator": GaussianMixture(n_init=2, random_state=0), "cv": 3}
    choice = choose_components(X, range(1, 5), **how)
    assert choice.n_components == 3 == len(choice.model.weights_)
    assert choice.n_components_tried[np.argmin(choice.bic)] == 3
    assert choice.n_components_tried[np.argmax(choice.held_out)] == 3
    assert choose_components(X, [1, 3], criterion="held_out", **how).n_components == 3
    assert choice.bic[2] == pytest.approx(choice.model.bic(X))
    ax = choice.plot()
    assert [line.get_label() for line in ax.get_lines()[:2]] == ["BIC", "AIC"]
    assert ax.get_legend() is not None
    with pytest.raises(ValueError, match="criterion"):
        choose_components(X, [1], criterion="luck")
    with pytest.raises(ValueError, match="n_components"):
        choose_components(X, [])


def test_bic_numbers():
    """W22 of 000, in the form to be maximised; W12 of 004 to be minimised."""
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    shared = GaussianMixture(
        2, covariance_type="tied", reg_covar=0.0, tol=1e-12, random_state=0
    )
    one, two = (fit(shared.set_params(n_components=k), X).bic(X) / -2 for k in (1, 2))
    assert one == pytest.approx(-9.9558865, abs=1e-6)
    # a shared variance: 2 means, 1 variance, 1 weight
    assert two == pytest.approx(-5.6757541 - 0.5 * 4 * np.log(4), abs=1e-5)
    own = fit(GaussianMixture(2, reg_covar=0.0, tol=1e-12, random_state=0), X)
    assert own.bic(X) == pytest.approx(18.282980, abs=1e-4)
    assert own.bic(X) / -2 == pytest.approx(-9.1414900, abs=1e-4)


@pytest.mark.parametrize("shape", ["full", "tied", "diag", "spherical", "low_rank"])
def test_matching_recovers_a_permutation(shape, rng):
    """K231: exactly, and the likelihood stays the same."""
    X = rng.normal(size=(300, 2)) + rng.integers(4, size=(300, 1)) * [6.0, -4.0]
    model = fit(GaussianMixture(4, covariance_type=shape, random_state=0), X)
    for _ in range(5):
        order = rng.permutation(4)
        other = reorder_components(model, order)
        assert np.array_equal(order[match_components(model, other)], np.arange(4))
        assert np.allclose(other.score_samples(X), model.score_samples(X))
    tidy = reorder_components(model)
    assert np.all(np.diff(tidy.means_[:, 0]) >= 0)
    assert np.allclose(tidy.score_samples(X), model.score_samples(X))
    with pytest.raises(ValueError, match="order"):
        reorder_components(model, [0, 0, 1, 2])
    with pytest.raises(ValueError, match="differ"):
        match_components(model, fit(GaussianMixture(2, random_state=0), X))


def test_densities_for_labels_that_are_objects(rng):
    X, y = classes(rng)
    names = np.array(["a", "b", "c"], dtype=object)[y]
    densities = {name: GaussianMixture(random_state=0) for name in "abc"}
    assert fit(MixtureClassifier(densities), X, names).score(X, names) > 0.8
    with pytest.raises(ValueError, match="every row of class 'c' has sample_weight 0"):
        MixtureClassifier().fit(X, names, sample_weight=(y < 2) * 1.0)


def test_only_plain_mixtures_are_reordered(rng):
    from pansophy.mixture import BayesianGaussianMixture, reorder_components

    model = BayesianGaussianMixture(n_components=2, max_iter=500).fit(classes(rng)[0])
    with pytest.raises(TypeError, match="reorder takes a GaussianMixture"):
        reorder_components(model, [1, 0])
