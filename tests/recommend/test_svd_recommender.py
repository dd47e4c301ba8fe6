"""The decomposition with missing ratings as zero."""

import numpy as np
import pytest
import scipy.sparse as sp

from pansophy.datasets import make_ratings
from pansophy.recommend import Ratings, SVDRecommender

A = np.array([[5.0, 4, 0], [4, 5, 0], [0, 0, 3]])


@pytest.mark.parametrize("form", ["full", "sparse"])
def test_worked_numbers(form):
    R = Ratings.from_matrix(A if form == "full" else sp.csr_array(A))
    one = SVDRecommender(1, center="none").fit(R)
    block = np.zeros((3, 3))
    block[:2, :2] = 4.5
    np.testing.assert_allclose(one.complete(), block, atol=1e-9)
    block[2, 2] = 3
    two = SVDRecommender(2, center="none").fit(R)
    np.testing.assert_allclose(two.complete(), block, atol=1e-9)
    full = SVDRecommender(3, center="none").fit(R)
    np.testing.assert_allclose(full.singular_values_, [9, 3, 1], atol=1e-9)
    np.testing.assert_allclose(full.complete(), A, atol=1e-9)


def test_best_of_its_rank():
    R = Ratings.from_frame(make_ratings(60, 40, 800))
    Z = R.csr.toarray()
    S = np.linalg.svd(Z, compute_uv=False)
    for k in (1, 5, 20, 40, 100):
        fitted = SVDRecommender(k, center="none", random_state=0).fit(R).complete()
        lost = ((Z - fitted) ** 2).sum()
        np.testing.assert_allclose(lost, (S[k:] ** 2).sum(), rtol=1e-4, atol=1e-8)


def test_fold_in_of_a_known_row():
    R = Ratings.from_frame(make_ratings(60, 40, 800))
    model = SVDRecommender(40, random_state=0).fit(R)
    again = model.fold_in(R[R.users == 7])
    np.testing.assert_allclose(again.complete([7]), model.complete([7]), atol=1e-6)


def test_equal_seeds_equal_answers_and_float32():
    R = Ratings.from_frame(make_ratings(60, 40, 800))
    a, b = (SVDRecommender(3, random_state=1).fit(R).user_factors_ for _ in range(2))
    np.testing.assert_array_equal(a, b)
    R32 = Ratings.from_matrix(R.csr.astype(np.float32))
    model = SVDRecommender(3, random_state=1).fit(R32)
    assert model.user_factors_.dtype == np.float32
