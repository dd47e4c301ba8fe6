"""Correlogram: autocorrelation of Markov chain draws by lag."""

import numpy as np

from ..style import GREY, INK, LINE, draw_styled, series_color
from .trace import draws_of, panel_axes


@draw_styled
def autocorrelation(draws, names=None, *, lags=50, rows=5, ax=None):
    """Autocorrelation of each chain, and of all together, by lag.

    The effective size of n draws is about n over one plus twice the sum of these
    correlations, so what counts is how soon they fall to zero. The band is that of free
    draws, +- 1.96 / sqrt(n).

    Parameters
    ----------
    draws : Draws, or array of shape (chains, draws[, d])
    names : list of str or None
    lags : int
        Largest lag shown.
    rows : int
        How many parameters to show.
    ax : array of one matplotlib axes a parameter, optional

    Returns
    -------
    ndarray of matplotlib axes, shape (rows,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> x = np.random.default_rng(0).normal(size=(4, 200, 2))
    >>> plot.autocorrelation(x, lags=10)[0].lines[-1].get_ydata()[0]
    np.float64(1.0)
    """
    from ...sampling.chains.diagnostics import autocovariance

    x, names = draws_of(draws, names)
    m, n, _ = x.shape
    d, top = min(rows, x.shape[2]), min(lags, n - 1)
    axes = panel_axes(ax, d, 1, height=1.8, width=6.0)[:, 0]
    for j, panel in enumerate(axes):
        C = autocovariance(x[:, :, j])[:, : top + 1]
        start = np.where(C[:, :1] > 0, C[:, :1], 1.0)
        band = 1.96 / np.sqrt(n)
        panel.axhspan(-band, band, color=LINE, zorder=0)
        panel.axhline(0, color=GREY, lw=0.8)
        for c in range(m):
            panel.plot(C[c] / start[c], lw=0.7, alpha=0.6, color=series_color(c))
        mean = C.mean(axis=0)
        panel.plot(
            mean / (mean[0] if mean[0] > 0 else 1.0), color=INK, lw=1.4, label="all"
        )
        panel.set_ylabel(names[j])
        panel.set_xlim(0, top)
        panel.set_ylim(min(-0.1, -1.5 * band, panel.get_ylim()[0]), 1.05)
    axes[-1].set_xlabel("lag")
    return axes
