"""Weighted, centred design matrices as linear operators."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.optim.centered_design import Design

FORMS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csc": sp.csc_matrix}


def problem(seed, n, d, shift=0.0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6) + shift
    X *= rng.uniform(0.2, 3, size=d)
    y = X[:, :4] @ rng.normal(size=4) + rng.normal(size=n)
    return X, y, rng.integers(0, 4, size=n) + 0.5


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("centre", [False, True])
def test_products_and_lengths_of_a_design(form, centre):
    X, y, p = problem(3, 30, 50, shift=2.0)
    p = p / p.sum()
    design, some = Design(FORMS[form](X), p, centre=centre), np.array([3, 7, 40])
    A = np.sqrt(p)[:, None] * (X - p @ X if centre else X)
    np.testing.assert_allclose(design.lengths(), np.linalg.norm(A, axis=0))
    np.testing.assert_allclose(design.correlate_some(y, some), y @ A[:, some])
    np.testing.assert_allclose(design.correlate(y)[some], y @ A[:, some])
