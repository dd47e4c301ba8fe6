"""Silhouette plot: how well each row fits its cluster."""

import numpy as np

from .axes import get_axes


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

    X, labels = np.asarray(X, float), np.asarray(labels)
    X, labels = X[labels != -1], labels[labels != -1]
    s = silhouette_samples(X, labels)
    ax, y, ticks = get_axes(ax), 0, []
    groups = np.unique(labels)
    for q, j in enumerate(groups):
        own = np.sort(s[labels == j])
        span = np.arange(y, y + len(own))
        ax.fill_betweenx(span, 0, own, step="mid", color=f"C{q % 10}", alpha=0.8)
        ticks.append(y + len(own) / 2)
        y += len(own) + max(2, len(s) // 50)
    ax.axvline(s.mean(), color="r", ls="--", label=f"mean {s.mean():.2f}")
    ax.set_yticks(ticks, [str(j) for j in groups])
    ax.set(xlabel="silhouette", ylabel="cluster", xlim=(min(0, s.min()) - 0.02, 1))
    ax.legend(loc="lower right")
    return ax
