"""Trustworthiness against an oracle and scikit-learn."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import manifold as peer

from pansophy.manifold import trustworthiness
from tests.oracles import manifold as oracle


def rows(n=60, d=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(8, 30), st.integers(1, 3))
def test_trustworthiness_equals_the_oracle(seed, n, k):
    rng = np.random.default_rng(seed)
    X, Y = rng.integers(0, 4, (n, 3)).astype(float), rng.normal(size=(n, 2))
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(
        oracle.trustworthiness(X, Y, k)
    )


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "canberra"])
def test_trustworthiness_equals_scikit_learn(metric):
    # one sign: numbers of two signs are at Canberra distance 1, tied but for rounding
    X, Y = np.abs(rows(80)), rows(80, 2, 1)
    ours = trustworthiness(X, Y, n_neighbors=7, metric=metric)
    theirs = peer.trustworthiness(X, Y, n_neighbors=7, metric=metric)
    assert ours == pytest.approx(theirs, abs=1e-12)
    with pytest.raises(ValueError, match="n_samples / 2"):
        trustworthiness(X, Y, n_neighbors=40)
