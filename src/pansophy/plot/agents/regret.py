"""Regret of bandit strategies against the number of pulls, with bounds."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, log_axis, series_color


@draw_styled
def regret(runs, bandit=None, *, quantiles=(0.1, 0.9), ax=None):
    """Draw the mean regret of strategies, with bands, and the bound of Lai and Robbins.

    Parameters
    ----------
    runs : BanditRun or dict of BanditRun
        Results of `rl.play_bandit`, by the name of the strategy.
    bandit : Bandit, optional
        Adds the lower bound.
    quantiles : tuple of float
        Of the runs, the edges of the band.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.rl import Bandit, ThompsonSampling, UCB1, play_bandit
    >>> arms = Bandit([0.9, 0.7], noise="bernoulli")
    >>> runs = {
    ...     name: play_bandit(arms, strategy, 500, n_runs=5, random_state=0)
    ...     for name, strategy in (("UCB1", UCB1()), ("Thompson", ThompsonSampling()))
    ... }
    >>> len(plot.regret(runs, arms).lines)
    3
    """
    ax = get_axes(ax)
    named = runs if isinstance(runs, dict) else {"": runs}
    for k, (name, run) in enumerate(named.items()):
        color = series_color(k)
        ax.plot(run.steps, run.mean_regret, color=color, label=name or None)
        if len(run.regret) > 1:
            low, high = np.quantile(run.regret, quantiles, axis=0)
            ax.fill_between(run.steps, low, high, color=color, alpha=0.2, linewidth=0)
    if bandit is not None:
        from ...rl import lai_robbins_bound

        steps = next(iter(named.values())).steps
        bound = lai_robbins_bound(bandit, steps)
        ax.plot(steps, bound, color=GREY, linestyle="--", label="Lai and Robbins")
    log_axis(ax)
    ax.set(xlabel="pulls", ylabel="regret")
    if any(named) or bandit is not None:
        ax.legend()
    return ax
