"""Weighted, centred design matrices as linear operators."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.optim.nonsmooth.centered_design import Design
from tests.optim.small_problems import weighted_problem

FORMS = {"C": np.ascontiguousarray, "F": np.asfortranarray, "csc": sp.csc_matrix}


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("centre", [False, True])
def test_products_and_lengths_of_a_design(form, centre):
    X, y, p = weighted_problem(3, 30, 50, shift=2.0)
    p = p / p.sum()
    design, some = Design(FORMS[form](X), p, centre=centre), np.array([3, 7, 40])
    A = np.sqrt(p)[:, None] * (X - p @ X if centre else X)
    np.testing.assert_allclose(design.lengths(), np.linalg.norm(A, axis=0))
    np.testing.assert_allclose(design.correlate_some(y, some), y @ A[:, some])
    np.testing.assert_allclose(design.correlate(y)[some], y @ A[:, some])
