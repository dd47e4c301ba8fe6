"""Silhouette plot: how well each row fits its cluster."""

import numpy as np

from ..axes import get_axes
from ..style import PINK, draw_styled, pale_grid, series_color


@draw_styled
def silhouette(X, labels, *, ax=None):
    """Silhouettes of all rows as bars, sorted within clusters; their mean as a line.

    Rows labelled -1 (noise) are left out.

    Parameters
    ----------
    X : array of shape (n, d)
    labels : array of length n
        At least two clusters.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.silhouette([[0.0], [0.1], [5.0], [5.2]], [0, 0, 1, 1])
    >>> ax.get_xlabel()
    'silhouette'
    """
    from sklearn.metrics import silhouette_samples

    X = np.asarray(X, float)
    labels = np.asarray(labels)
    X = X[labels != -1]
    labels = labels[labels != -1]
    s = silhouette_samples(X, labels)
    ax = get_axes(ax)
    y = 0
    ticks = []
    groups = np.unique(labels)
    for q, j in enumerate(groups):
        values = np.sort(s[labels == j])
        span = np.arange(y, y + len(values))
        ax.fill_betweenx(span, 0, values, step="mid", color=series_color(q), alpha=0.8)
        ticks.append(y + len(values) / 2)
        y += len(values) + max(2, len(s) // 50)
    ax.axvline(s.mean(), color=PINK, ls="--", label=f"mean {s.mean():.2f}")
    ax.set_yticks(ticks, [str(j) for j in groups])
    ax.set(xlabel="silhouette", ylabel="cluster", xlim=(min(0, s.min()) - 0.02, 1))
    ax.legend(loc="lower right")
    pale_grid(ax, "x")
    return ax
