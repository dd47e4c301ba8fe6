"""Choosing, matching and reordering the components of mixtures."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from pansophy.mixture import (
    BayesianGaussianMixture,
    GaussianMixture,
    choose_components,
    match_components,
    reorder_components,
)


def fit(model, *args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*args, **kwargs)


def classes(rng, n=300):
    y = rng.integers(3, size=n)
    C = np.array([[0.0, 0], [4, 0], [0, 4]])
    return C[y] + rng.normal(size=(n, 2)) @ np.array([[1, 0.3], [0, 0.8]]), y


def test_all_criteria_find_three_blobs():
    """BIC, AIC and the held-out likelihood are all computed and select the truth."""
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
    """BIC against numbers worked by hand, in the form to be minimised."""
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
    """Matching recovers the permutation exactly; the likelihood stays the same."""
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


def test_only_plain_mixtures_are_reordered(rng):
    from pansophy.mixture import reorder_components

    model = BayesianGaussianMixture(n_components=2, max_iter=500).fit(classes(rng)[0])
    with pytest.raises(TypeError, match="reorder takes a GaussianMixture"):
        reorder_components(model, [1, 0])


def test_four_rows_and_no_folds():
    """The worked example: rows 0, 1, 4, 5; BIC in both forms; collapses not chosen."""
    X = [[0.0], [1.0], [4.0], [5.0]]
    choice = choose_components(X)
    assert choice.n_components == 2
    assert list(choice.n_components_tried) == [1, 2, 3, 4]
    assert list(choice.degenerate) == [False, False, True, True]
    np.testing.assert_allclose(choice.bic[:2] / -2, [-9.9558865, -9.1414900], atol=1e-5)
    assert choice.bic[1] == pytest.approx(18.282980, abs=1e-5)
    assert np.isnan(choice.held_out).all()
    assert len(choice.plot().get_legend().get_texts()) == 2
    few = choose_components(X, [1, 2], criterion="held_out")
    assert np.isfinite(few.held_out[0])
    with pytest.raises(ValueError, match="number of rows, 4"):
        choose_components(X, [7, 8])
