"""Verdicts on a fit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pansophy.diagnose import (
    compare_fits,
    fit_verdict,
    judge_fit,
    shows_overfitting,
    weight_norm,
)
from pansophy.linear_model import LinearRegression, Ridge

PAIRS = [(79.2, 79.2), (97.6, 95.0), (99.6, 94.7)]
WORDS = ["underfit", "balanced", "overfit"]


def test_the_three_forests():
    assert [fit_verdict(a, b, perfect=100).verdict for a, b in PAIRS] == WORDS
    fits = compare_fits(*zip(*PAIRS, strict=True), names=["small", "right", "large"])
    assert [v.verdict for v in fits.verdicts] == WORDS
    assert fits.best == 1 and fits.pairs == ((2, 1),)
    assert "Best on held-out rows: right." in str(fits)
    gaps = [v.gap for v in fits.verdicts]
    assert gaps == pytest.approx([0.0, 2.6, 4.9])


def test_what_is_known_changes_the_verdict():
    assert fit_verdict(0.6, 0.59, reference=0.58).verdict == "balanced"
    assert fit_verdict(0.6, 0.59, reference=0.9).verdict == "underfit"
    assert fit_verdict(0.99, 0.9, error=0.06).verdict == "balanced"  # few rows
    assert "noise looks the same" in str(fit_verdict(0.5, 0.5))
    with pytest.raises(ValueError, match="perfect"):
        fit_verdict(0.5, 0.5, chance=1)
    with pytest.raises(ValueError, match="finite"):
        fit_verdict(np.nan, 0.5)


scores = st.floats(0, 1)


@given(scores, scores, scores, scores)
def test_overfitting_is_antisymmetric(a, b, c, d):
    assert not (shows_overfitting((a, b), (c, d)) and shows_overfitting((c, d), (a, b)))


def test_weights_grow_with_overfitting(rng):
    def draw(n):
        x = rng.uniform(-1, 1, n)
        return np.vander(x, 15)[:, :-1], np.sin(3 * x) + 0.3 * rng.normal(size=n)

    (X, y), far = draw(20), draw(200)
    wild = judge_fit(LinearRegression().fit(X, y), X, y, *far)
    tame = judge_fit(Ridge(alpha=0.1).fit(X, y), X, y, *far)
    assert wild.verdict == "overfit" and wild.gap > tame.gap + 1
    assert wild.weight_norm > 100 * tame.weight_norm
    assert "Length of the weights" in str(wild)
    assert weight_norm(object()) is None
