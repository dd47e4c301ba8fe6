"""MMD and HSIC: formulas, levels and power."""

import numpy as np
import pytest

from pansophy.diagnose import mmd
from pansophy.kernel_model import hsic_test, median_distance, mmd_test
from pansophy.kernels import RBF, Linear, Spectrum


def test_statistics_by_their_formulas(rng):
    X, Z = rng.standard_normal((15, 2)), rng.standard_normal((11, 2)) + 0.5
    k = RBF(0.8)
    slow = k(X).mean() - 2 * k(X, Z).mean() + k(Z).mean()
    assert mmd_test(X, Z, kernel=k).statistic == pytest.approx(slow)
    linear = mmd_test(X, Z, kernel="linear").statistic
    assert linear == pytest.approx(np.sum((X.mean(axis=0) - Z.mean(axis=0)) ** 2))
    Y = rng.standard_normal((15, 3))
    J = np.eye(15) - 1 / 15
    slow = np.trace(k(X) @ J @ RBF(2.0)(Y) @ J) / 225
    found = hsic_test(X, Y, kernel=k, kernel_y=RBF(2.0))
    assert found.statistic == pytest.approx(slow)
    x, y = X[:, 0], Y[:, 0]
    cov = np.mean((x - x.mean()) * (y - y.mean()))
    both = hsic_test(x, y, kernel=Linear(), kernel_y=Linear())
    assert both.statistic == pytest.approx(cov**2)


def test_levels_are_kept(rng):
    p = [
        (
            mmd_test(
                *np.split(rng.standard_normal((30, 2)), 2), permutations=39
            ).pvalue,
            hsic_test(*rng.standard_normal((2, 20)), permutations=39).pvalue,
        )
        for _ in range(120)
    ]
    rejected = (np.array(p) <= 0.1).mean(axis=0)
    assert (rejected > 0.03).all() and (rejected < 0.2).all()


def test_power_texts_and_refusals(rng):
    x = rng.standard_normal(80)
    assert hsic_test(x, np.cos(3 * x)).pvalue < 0.02  # no correlation, dependence
    left = ["banana", "ananas", "bandana", "nana"] * 4
    right = ["pear", "peach", "peanut", "pea"] * 4
    assert mmd_test(left, right, kernel=Spectrum(2)).pvalue < 0.02
    with pytest.raises(ValueError, match="pairs of rows"):
        hsic_test(x, x[:5])
    with pytest.raises(ValueError, match="both samples"):
        mmd_test(np.empty((0, 2)), np.ones((2, 2)))
    assert median_distance(np.ones((4, 2))) == 1


def test_diagnose_uses_the_same_statistic(rng):
    X, Z = rng.standard_normal((30, 2)), rng.standard_normal((25, 2)) + 1
    other = mmd(X, Z, length_scale=0.9)
    ours = mmd_test(X, Z, kernel=RBF(0.9))
    assert ours.statistic == pytest.approx(other.value)
    assert ours.pvalue < 0.02 and other.p < 0.02


def test_mmd_of_images_is_that_of_their_pixels():
    A, B = np.random.default_rng(0).random((2, 20, 3, 4))
    flat = mmd(A.reshape(20, -1), B.reshape(20, -1))
    assert mmd(A, B) == flat
    with pytest.raises(ValueError, match="like columns"):
        mmd(A, B.transpose(0, 2, 1))


def test_samples_of_other_columns_are_refused():
    X = np.zeros((5, 2))
    for test in (mmd, mmd_test):
        with pytest.raises(
            ValueError, match=r"like columns, got \(5, 2\) and \(4, 3\)"
        ):
            test(X, np.zeros((4, 3)))


def test_samples_without_rows_are_refused():
    with pytest.raises(ValueError, match="must both have rows"):
        mmd(np.ones((3, 2)), np.ones((0, 2)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_samples_that_are_not_finite_are_refused(value):
    """Their discrepancy used to be 0, the best there is."""
    X = np.zeros((4, 2))
    X[1, 1] = value
    with pytest.raises(ValueError, match=r"Z (must hold numbers|holds infinite)"):
        mmd(np.ones((4, 2)), X)
