"""Reachability plot of OPTICS, in which valleys are clusters."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, INK, draw_styled, pale_grid, series_color


@draw_styled
def reachability(model, *, eps=None, ax=None):
    """Reachability distances of OPTICS in cluster order.

    Parameters
    ----------
    model : a fitted `pansophy.cluster.OPTICS`
    eps : float, optional
        Where to draw a cut.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.cluster import OPTICS
    >>> X = [[1, 2], [2, 5], [3, 6], [8, 7], [8, 8], [7, 3]]
    >>> len(plot.reachability(OPTICS(min_samples=2).fit(X)).collections)
    2
    """
    r = model.reachability_[model.ordering_]
    labels = model.labels_[model.ordering_]
    ax = get_axes(ax)
    place = np.arange(len(r))
    finite = r[np.isfinite(r)]
    top = 1.08 * finite.max() if len(finite) and finite.max() > 0 else 1.0
    high = np.minimum(r, top)  # rows of infinite reachability go up to the edge
    for c in np.unique(labels):
        of_cluster = labels == c
        color = GREY if c < 0 else series_color(c)
        ax.vlines(
            place[of_cluster],
            0.0,
            high[of_cluster],
            colors=color,
            lw=max(0.4, 300 / len(r)),
        )
    if eps is not None:
        ax.axhline(eps, ls="--", lw=0.9, color=INK)
    ax.set(xlim=(-0.7, len(r) - 0.3), ylim=(0.0, top))
    ax.set(xlabel="place in the walk", ylabel="reachability")
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)
    pale_grid(ax, "y")
    return ax
