"""Polynomial features: scikit-learn's columns, and their size before they are made."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import preprocessing as peers

from pansophy import persist
from pansophy.feature_extraction import PolynomialFeatures, polynomial, polynomial_size


@pytest.mark.parametrize("degree", [0, 1, 2, 3])
@pytest.mark.parametrize("interaction_only", [False, True])
@pytest.mark.parametrize("include_bias", [False, True])
def test_columns_are_scikit_learn_s(degree, interaction_only, include_bias, rng):
    X = rng.normal(size=(9, 4))
    how = {"interaction_only": interaction_only, "include_bias": include_bias}
    mine, peer = (m.PolynomialFeatures(degree, **how) for m in (polynomial, peers))
    if degree == 0 and not include_bias:
        with pytest.raises(ValueError, match="no column"):
            mine.fit(X)
        return
    np.testing.assert_array_equal(mine.fit_transform(X), peer.fit_transform(X))
    np.testing.assert_array_equal(mine.powers_, peer.powers_)
    assert mine.n_output_features_ == peer.n_output_features_
    assert mine.n_output_features_ == polynomial_size(4, degree, **how)
    np.testing.assert_array_equal(
        mine.get_feature_names_out(), peer.get_feature_names_out()
    )
    np.testing.assert_allclose(
        mine.fit_transform(sp.csr_matrix(X)).toarray(), peer.fit_transform(X)
    )


def test_the_size_is_said_before_anything_is_made(monkeypatch):
    made = []
    monkeypatch.setattr(PolynomialFeatures, "_made", lambda self: made.append(1))
    with pytest.warns(UserWarning, match="180901 polynomial terms take 1.45 GB"):
        PolynomialFeatures(2).fit(np.zeros((1000, 600)))
    monkeypatch.setattr(polynomial, "memory_of_machine", lambda: 16e9)
    with pytest.raises(MemoryError, match="4504501 polynomial terms would take 36 GB"):
        PolynomialFeatures(2).fit(np.zeros((1000, 3000)))
    with pytest.raises(MemoryError, match="more than this machine has"):
        PolynomialFeatures(40).fit(np.zeros((10, 200)))
    fitted = PolynomialFeatures(2).fit(np.zeros((1, 3000)))
    with pytest.raises(MemoryError, match="36 GB"):
        fitted.transform(np.zeros((1000, 3000)))
    assert not made
    assert 1e8 < polynomial.memory_of_machine() <= np.inf


def test_powers_that_overflow_are_refused():
    with pytest.raises(ValueError, match="overflow"), np.errstate(over="ignore"):
        PolynomialFeatures(3).fit_transform([[1e200, 1.0]])


def test_middle_against_outside_is_separable_on_the_square():
    from pansophy.linear_model import LogisticRegression

    x = np.array([-3.0, -2.5, -2, -0.5, 0, 0.5, 2, 2.5, 3])[:, None]
    y = (np.abs(x[:, 0]) < 1).astype(int)
    Z = PolynomialFeatures(2, include_bias=False).fit_transform(x)
    assert LogisticRegression(C=100).fit(x, y).score(x, y) < 1
    assert LogisticRegression(C=100).fit(Z, y).score(Z, y) == 1


@pytest.mark.parametrize("change", [{"n_output_features_": 2**40}, {"degree": 10**6}])
def test_a_file_whose_size_is_not_that_of_its_degree_is_refused(change, tmp_path):
    model = PolynomialFeatures(2).fit(np.ones((3, 2)))
    vars(model).update(change)
    persist.save(model, tmp_path / "forged")
    with pytest.raises(persist.PersistError, match="contradicts itself"):
        persist.load(tmp_path / "forged")
