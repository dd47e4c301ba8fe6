"""Diversity: worked numbers, the ambiguity decomposition, and what agreement gives."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import cohen_kappa_score

from pansophy.ensemble import diversity

numbers = st.floats(-100, 100)


@settings(max_examples=25, deadline=None)
@given(
    hnp.arrays(float, (12, 4), elements=numbers),
    hnp.arrays(float, 12, elements=numbers),
    hnp.arrays(float, 4, elements=st.floats(0.1, 3)),
)
def test_error_is_mean_error_less_ambiguity(F, y, w):
    found = diversity(F, y, weights=w)
    size = max(1.0, found.member_error)
    gap = found.ensemble_error - (found.member_error - found.ambiguity)
    assert abs(gap) < 1e-13 * size
    assert found.ensemble_error <= found.member_error + 1e-12 * size
    f = F @ (w / w.sum())
    np.testing.assert_allclose(found.ensemble_error, np.mean((f - y) ** 2), atol=1e-9)


def test_nothing_to_gain_when_all_agree(rng):
    f = rng.normal(size=20)
    found = diversity(np.column_stack([f] * 3), f + 1)
    assert found.ambiguity == 0 and found.mean_disagreement == 0
    assert found.ensemble_error == pytest.approx(found.member_error)
    labels = rng.integers(0, 3, 20)
    found = diversity(np.column_stack([labels] * 3), labels)
    assert found.mean_disagreement == 0 and found.entropy == 0
    assert abs(found.ambiguity) < 1e-15
    np.testing.assert_allclose(found.kappa, 1.0)
    assert found.ensemble_error == 0


def test_pairs_by_hand():
    """Two members, four rows: both right, one, the other, none."""
    y = np.array([0, 0, 0, 0])
    F = np.array([[0, 0], [0, 1], [1, 0], [1, 1]])
    found = diversity(F, y)
    assert found.disagreement[0, 1] == 0.5
    assert found.q_statistic[0, 1] == 0.0  # (1 * 1 - 1 * 1) / 2
    assert found.q_statistic[0, 0] == 1.0
    assert found.kappa[0, 1] == pytest.approx(0.0)
    assert found.entropy == 0.5  # rows 2 and 3 are split evenly
    F = np.array([[0, 1], [0, 1], [1, 0], [1, 0]])
    assert diversity(F, y).q_statistic[0, 1] == -1.0
    assert diversity(F, y).kappa[0, 1] == pytest.approx(-1.0)
    assert diversity(F, y).entropy == 1.0


def test_kappa_is_scikit_learns(rng):
    F = rng.integers(0, 3, size=(50, 3))
    w = rng.uniform(0.5, 2, 50)
    found = diversity(F, sample_weight=w)
    for i in range(3):
        for j in range(3):
            peer = cohen_kappa_score(F[:, i], F[:, j], sample_weight=w)
            assert found.kappa[i, j] == pytest.approx(peer)


def test_weights_are_repeated_rows(rng):
    F, y = rng.integers(0, 3, size=(20, 3)), rng.integers(0, 3, 20)
    w = rng.integers(1, 4, 20)
    a = diversity(F, y, sample_weight=w)
    b = diversity(np.repeat(F, w, axis=0), np.repeat(y, w))
    for u, v in zip(a, b, strict=True):
        if not isinstance(u, str):
            np.testing.assert_allclose(u, v, atol=1e-12)


def test_words_and_prints(rng):
    words = np.array([["a", "b"], ["a", "a"], ["b", "b"]])
    found = diversity(words, np.array(["a", "a", "b"]))
    text = str(found)
    assert text.startswith("2 members, classes")
    assert "disagreement 0.3333 (share of rows)" in text and "kappa" in text
    assert "ambiguity" in str(diversity(rng.normal(size=(4, 2))))
    assert diversity([[1, 2]], kind="numbers").ambiguity == 0.25
    assert diversity([[1.0], [2.0]]).mean_disagreement == 0


def test_what_is_refused():
    with pytest.raises(ValueError, match="shape"):
        diversity([1.0, 2.0])
    with pytest.raises(ValueError, match="entries"):
        diversity([[1.0, 2.0]], [1.0, 2.0])
    with pytest.raises(ValueError, match="weights must hold 2"):
        diversity([[1.0, 2.0]], weights=[1.0])
    with pytest.raises(ValueError, match="kind must be"):
        diversity([[1.0, 2.0]], kind="words")
