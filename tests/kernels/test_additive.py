"""Kernels on parts of the columns: maps, components, interactions."""

from itertools import combinations

import numpy as np

from pansophy import kernels as K
from pansophy.kernels import RBF, Linear


def test_all_subsets_is_its_map(rng):
    for d in (1, 4, 10):
        X, Z = rng.standard_normal((5, d)), rng.standard_normal((4, d))
        phi = K.AllSubsets().features(X)
        assert phi.shape == (5, 2**d)
        np.testing.assert_allclose(
            phi @ K.AllSubsets().features(Z).T, K.AllSubsets()(X, Z)
        )


def test_additive_functions_have_components(rows, rng):
    X, Z = rows
    V = rng.standard_normal(9)
    k = K.Additive([RBF(0.5), Linear(), K.Matern()])
    parts = k.components(X, Z, V)
    np.testing.assert_allclose(parts.sum(axis=1), k(X, Z) @ V)
    np.testing.assert_allclose(parts[:, 1], X[:, 1] * (Z[:, 1] @ V))
    moved = X.copy()
    moved[:, 0] += 1  # a component sees its own column only
    np.testing.assert_allclose(k.components(moved, Z, V)[:, 1:], parts[:, 1:])


def test_gaussians_on_blocks_are_one_gaussian(rows):
    X, Z = rows
    k = K.Blocks([RBF(0.7), RBF(0.7)], [[0, 2], [1]])
    np.testing.assert_allclose(k(X, Z), RBF(0.7)(X, Z))


def test_anova_sums_over_sets_of_columns(rows):
    X, Z = rows
    k = RBF(0.8)
    one = [k(X[:, [j]], Z[:, [j]]) for j in range(3)]
    for degree in (1, 2, 3):
        slow = sum(
            np.prod([one[j] for j in s], axis=0) for s in combinations(range(3), degree)
        )
        np.testing.assert_allclose(K.Anova(k, degree)(X, Z), slow)
    np.testing.assert_allclose(K.Anova(k, 4)(X, Z), 0)
