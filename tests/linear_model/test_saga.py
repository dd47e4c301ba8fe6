"""SAGA and SAG epochs against a plain oracle."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.linear_model import _saga
from tests.oracles import saga as slow


@pytest.mark.parametrize("k", [1, 3])
@pytest.mark.parametrize("keep", [1.0, 1 / 25])
@pytest.mark.parametrize("strength", [(0.0, 1.0), (0.02, 1.0), (0.02, 0.9), (0.0, 0.9)])
def test_saga_epochs_match_the_oracle(k, keep, strength, rng):
    n, d = 25, 6
    X = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < 0.4)
    y, v = rng.integers(0, max(k, 2), size=n), rng.uniform(size=n) / n
    W, b, M = rng.normal(size=(k, d)), rng.normal(size=k), rng.normal(size=(n, k))
    A = np.column_stack([M.T @ X, M.sum(axis=0)]) / n
    order = rng.integers(n, size=4 * n)
    slow_state = [a.copy() for a in (W, b, M, A)]
    rule = (0.1, keep, *strength, True)
    slow.epoch(X, y, v, order, *slow_state, *rule)
    dense = [a.copy() for a in (W, b, M, A)]
    _saga.dense_saga_epoch(X, y, v, order, *dense, _saga.SAGAStep(*rule))
    S = sp.csr_matrix(X)
    csr = _saga.CSRArrays(S.data, S.indices.view("u4"), S.indptr.view("u4"))
    sparse = [np.array(W.T, order="C"), b.copy(), M.copy(), np.array(A.T, order="C")]
    last = np.zeros(d, np.int64)
    _saga.sparse_saga_epoch(csr, y, v, order, *sparse, last, _saga.SAGAStep(*rule))
    sparse[0], sparse[3] = sparse[0].T, sparse[3].T
    for found in (dense, sparse):
        for a, expected in zip(found, slow_state, strict=True):
            np.testing.assert_allclose(a, expected, rtol=1e-8, atol=1e-10)


@given(
    st.floats(-2, 2),
    st.floats(-0.5, 0.5),
    st.floats(0, 0.4),
    st.integers(0, 40),
    st.sampled_from([1.0, 0.99, 0.7]),
)
@settings(max_examples=200, deadline=None)
def test_many_steps_at_once(w, c, t, m, q):
    assert _saga.catch_up(w, c, t, q, m) == pytest.approx(
        slow.lag(w, c, t, q, m), abs=1e-9
    )
