"""Forced alignment against enumeration."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.state_space import (
    forced_align,
)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(3, 8), m=st.integers(1, 3))
def test_alignment_equals_enumeration_of_boundaries(seed, n, m):
    rng = np.random.default_rng(seed)
    L, y = np.log(rng.random((n, 4))), rng.integers(4, size=m)
    stay = rng.uniform(0.1, 0.9, size=4) if seed % 2 else None
    found = forced_align(L, y, stay=stay)
    best = -np.inf
    for inner in combinations(range(1, n), m - 1):
        value = 0.0
        for i, (a, b) in enumerate(pairwise([0, *inner, n])):
            value += L[a:b, y[i]].sum()
            if stay is not None:
                value += (b - a - 1) * np.log(stay[y[i]])
                value += np.log(1 - stay[y[i]]) * (i < m - 1)
        best = max(best, value)
    assert found.score == pytest.approx(best)
    assert np.all(np.diff(found.starts) > 0)
    assert np.array_equal(np.unique(found.path), np.arange(m))


def test_bad_alignments_are_named():
    with pytest.raises(ValueError, match="3 labels cannot be shown in 2 steps"):
        forced_align(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="from 0 to 2"):
        forced_align(np.zeros((4, 3)), [0, 3])
    with pytest.raises(ValueError, match="positive probability"):
        forced_align(np.full((4, 3), -np.inf), [0, 1])
