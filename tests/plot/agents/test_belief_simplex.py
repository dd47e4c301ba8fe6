"""Beliefs as pictures."""

import numpy as np
import pytest

from pansophy import plot
from pansophy.rl import AlphaVectors, solve_pomdp, tiger_problem


def test_two_states():
    policy = solve_pomdp(tiger_problem(), 0.95, method="exact")
    path = [[0.5, 0.5], [0.85, 0.15], [0.97, 0.03]]
    ax = plot.belief_simplex(policy, path, action_names=["listen", "left", "right"])
    V = ax.lines[-2].get_ydata()
    assert V.min() == pytest.approx(19.37, abs=0.1) and (np.diff(V, 2) >= -1e-9).all()
    np.testing.assert_allclose(ax.lines[-1].get_xdata(), [0.5, 0.85, 0.97])
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["listen", "left", "right"]


def test_three_states():
    """Each corner belongs to the action that is best there."""
    policy = AlphaVectors(np.eye(3), np.array([2, 0, 1]))
    ax = plot.belief_simplex(policy, np.eye(3), resolution=10)
    points = sum(len(c.get_offsets()) for c in ax.collections)
    assert points == 66 and len(ax.collections) == 3
    left = ax.collections[2].get_offsets()  # action 2: state 0, to the left
    assert left[:, 0].mean() < 0.4
    with pytest.raises(ValueError, match="over 4 states cannot be drawn"):
        plot.belief_simplex(AlphaVectors(np.eye(4), np.arange(4)))
