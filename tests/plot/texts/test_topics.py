"""Panels of topics."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot
from pansophy.text import PLSA


def words(ax):
    return [t.get_text() for t in ax.get_yticklabels()]


def test_topics(rng):
    terms = [f"w{i}" for i in range(12)]
    X = rng.poisson(2.0, (30, 12))
    model = PLSA(3, random_state=0).fit(X)
    axes = plot.topics(model, terms, n_words=4, shares=model.topic_shares_)
    assert len(axes) == 3
    order = np.argsort(-model.topic_shares_)
    for ax, k in zip(axes, order):
        best = np.argsort(-model.components_[k])[:4]
        assert words(ax) == [terms[j] for j in best]
        widths = [bar.get_width() for bar in ax.patches]
        np.testing.assert_allclose(widths, model.components_[k][best])
        assert ax.get_title() == f"topic {k}, {model.topic_shares_[k]:.0%}"


def test_counts_become_shares_and_axes_are_used():
    _, given = plt.subplots(1, 2)
    axes = plot.topics([[6, 2, 0], [0, 1, 3]], ["a", "b", "c"], n_words=2, ax=given)
    assert axes[0] is given[0]
    assert [bar.get_width() for bar in axes[0].patches] == [0.75, 0.25]
    with pytest.raises(ValueError, match="3 terms"):
        plot.topics([[1.0, 2.0]], ["a", "b", "c"])
    with pytest.raises(ValueError, match="shares"):
        plot.topics([[1.0, 2.0]], ["a", "b"], shares=[1, 2])
    with pytest.raises(ValueError, match="panels"):
        plot.topics(np.eye(3), ["a", "b", "c"], ax=given)
