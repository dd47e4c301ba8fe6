"""Forward-backward of discrete chains: long sequences and underflow."""

import numpy as np
import pytest

from pansophy.core.chains import filtering, hidden_chain
from pansophy.core.chains.filtering import Chain, Evidence


@pytest.mark.parametrize("long", [10, 1000])
def test_products_too_small_are_done_again_in_logarithms(monkeypatch, long):
    """A chain that must make moves of probability 1e-200, time and again."""
    monkeypatch.setattr(hidden_chain, "LONG_SEQUENCE", long)
    chain = Chain(np.array([1.0, 0.0]), np.array([[1.0, 1e-200], [1e-200, 1.0]]))
    table = np.array([[0.0, -800.0], [-800.0, 0.0]])
    seen = Evidence(table, np.arange(12) % 2, np.array([12]))
    E, F = (filtering.expected_counts(chain, seen, log=log) for log in (False, True))
    for a, b in zip(E, F, strict=True):
        assert np.allclose(a, b)
    assert -5000 < E.loglik < -4000
    assert filtering.sequence_log_likelihoods(chain, seen)[0] == pytest.approx(E.loglik)
    assert np.allclose(filtering.filter_chain(chain, seen)[0].sum(1), 1)
