"""Regret curves."""

import numpy as np

from pansophy import plot
from pansophy.rl import UCB1, Bandit, play_bandit


def test_curves_bands_and_bound():
    arms = Bandit([0.9, 0.5], noise="bernoulli")
    run = play_bandit(arms, UCB1(), 300, n_runs=6, random_state=0)
    ax = plot.regret({"UCB1": run}, arms)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), run.mean_regret)
    assert len(ax.collections) == 1 and ax.get_xscale() == "log"
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["UCB1", "Lai and Robbins"]
    alone = plot.regret(play_bandit(arms, UCB1(), 50, random_state=0))
    assert len(alone.lines) == 1 and not alone.collections
