"""Imbalanced classes: constant predictions are flagged, risks add up."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.diagnose import (
    imbalance,
    risk_by_class,
)

Y = np.r_[np.ones(10, int), np.zeros(90, int)]


H1 = np.zeros(100, int)


H2 = np.r_[np.ones(9, int), 0, np.ones(14, int), np.zeros(76, int)]


def test_a_constant_answer_does_not_win_unwarned():
    found = imbalance(Y, {"h1": H1, "h2": H2})
    first, second = found.answers
    assert (first.name, first.accuracy, first.recalls["1"]) == ("h1", 0.9, 0.0)
    assert (second.name, second.accuracy, second.recalls["1"]) == ("h2", 0.85, 0.9)
    assert found.misleading == (("h1", "h2"),)
    assert "ranks h1 above h2, which is misleading" in str(found)
    assert found.baseline == 0.9 and found.majority == "0"
    assert any("never finds 1" in f.text for f in found.findings)


def test_one_against_all_of_a_thousand():
    found = imbalance(np.repeat(np.arange(1000), 3))
    assert found.odds == 999 and "1 : 999" in str(found)
    assert not imbalance(np.arange(60) % 3).findings


@given(st.integers(0, 10**6))
def test_risk_is_the_sum_of_its_parts(seed):
    rng = np.random.default_rng(seed)
    y, losses = rng.integers(0, 4, 50), rng.exponential(size=50)
    parts = risk_by_class(losses, y)
    assert sum(parts.values()) == pytest.approx(losses.mean())
    assert imbalance(y, losses=losses).risks == parts


def test_imbalance_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="'h' has shape"):
        imbalance([0, 1], {"h": [0]})
    with pytest.raises(ValueError, match="labels of some rows"):
        imbalance([])
