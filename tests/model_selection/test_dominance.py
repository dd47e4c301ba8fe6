"""Dominance of curves: ROC iff precision-recall, known curves."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

from pansophy.compare import curve_dominance


@given(
    st.lists(
        st.tuples(st.booleans(), st.integers(0, 5), st.integers(0, 5)),
        min_size=2,
        max_size=12,
    ).filter(lambda rows: 0 < sum(r[0] for r in rows) < len(rows))
)
def test_roc_dominance_iff_pr_dominance(rows):
    y, a, b = (np.array(c, dtype=float) for c in zip(*rows))
    found = curve_dominance(y, a, b)
    assert found.roc == found.pr
    back = curve_dominance(y, b, a)
    turned = {"first": "second", "second": "first"}
    assert back.roc == turned.get(found.roc, found.roc)
    if found.roc == "first":
        assert sk.roc_auc_score(y, a) >= sk.roc_auc_score(y, b) - 1e-12


def test_dominance_of_known_curves(rng):
    y = np.array([1, 1, 1, 0, 0, 0])
    best, worst, flat = y + 0.0, 1.0 - y, np.zeros(6)
    assert curve_dominance(y, best, worst) == ("first", "first")
    assert curve_dominance(y, worst, flat) == ("second", "second")
    assert curve_dominance(y, best, 10 * best) == ("equal", "equal")
    crossing = curve_dominance(y, [9, 1, 1, 3, 3, 3], [5, 5, 5, 6, 1, 1])
    assert crossing == ("neither", "neither")
    y = rng.integers(0, 2, 200)
    pairs = [
        curve_dominance(y, *rng.normal(size=(2, 200)) + y * [[1], [0]])
        for _ in range(20)
    ]
    assert all(d.roc == d.pr for d in pairs)
    with pytest.raises(ValueError, match="both 0 and 1"):
        curve_dominance([1, 1], [1, 2], [2, 1])
