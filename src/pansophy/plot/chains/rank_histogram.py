"""Rank histograms of Markov chains: do the chains share their draws evenly?"""

import numpy as np

from ..style import GREY, LINE, draw_styled, series_color
from .trace import draws_of, panel_axes


@draw_styled
def rank_histogram(draws, names=None, *, rows=4, bins=20, ax=None):
    """Histograms of the ranks of each chain's draws among those of all chains.

    If all chains draw from one law, the ranks of each are uniform: flat bars, within
    the band that holds 95 % of the bars of free draws. A slope is a chain that lies
    apart, a hill or a valley one that is too narrow or too wide. Chains with much
    autocorrelation leave the band more often.

    Parameters
    ----------
    draws : Draws, or array of shape (chains, draws[, d])
    names : list of str or None
    rows : int
        How many parameters to show.
    bins : int
    ax : array of one matplotlib axes a chain and parameter, optional

    Returns
    -------
    ndarray of matplotlib axes, shape (rows, chains)

    References
    ----------
    [Vehtari2021]

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> x = np.random.default_rng(0).normal(size=(4, 200, 2))
    >>> plot.rank_histogram(x).shape
    (2, 4)
    """
    from scipy.stats import binom, rankdata

    x, names = draws_of(draws, names)
    m, n, _ = x.shape
    d = min(rows, x.shape[2])
    axes = panel_axes(ax, d, m, width=2.2 * m)
    edges = np.linspace(0, m * n, bins + 1)
    low, high = binom.ppf((0.025, 0.975), n, 1 / bins)
    for j, row in enumerate(axes):
        ranks = rankdata(x[:, :, j]).reshape(m, n) - 0.5
        for c, panel in enumerate(row):
            panel.axhspan(low, high, color=LINE, zorder=0)
            panel.axhline(n / bins, color=GREY, lw=0.8, ls="--")
            panel.hist(
                ranks[c], bins=edges, color=series_color(c), edgecolor="w", lw=0.4
            )
            panel.set_yticks([])
            panel.set_xlim(0, m * n)
            if j == 0:
                panel.set_title(f"chain {c}", fontsize="small")
            if j < d - 1:
                panel.set_xticklabels([])
        highest = max(panel.get_ylim()[1] for panel in row)
        for panel in row:  # bars of all chains on one scale
            panel.set_ylim(0, max(highest, 1.8 * n / bins))
        row[0].set_ylabel(names[j])
    axes[-1, 0].set_xlabel("rank")
    return axes
