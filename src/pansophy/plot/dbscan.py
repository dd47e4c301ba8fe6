"""DBSCAN clusters: core rows, border rows and noise."""

import numpy as np

from .axes import get_axes


def dbscan(X, labels, core, *, eps=None, ax=None):
    """Core rows as large dots, border rows as small ones, noise as grey crosses.

    Parameters
    ----------
    X : array of shape (n, d)
        The first two columns are drawn; a single column is drawn along a line.
    labels : array of shape (n,)
        `labels_` of a model.
    core : array
        `core_sample_indices_` of a model, or a flag for each row.
    eps : float, optional
        Draws the circle of this radius around every core row.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.cluster import DBSCAN
    >>> X = [[0.0], [0.5], [1.0], [1.55], [5.0]]
    >>> model = DBSCAN(eps=0.6, min_samples=3).fit(X)
    >>> ax = plot.dbscan(X, model.labels_, model.core_sample_indices_)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['core (2)', 'border (2)', 'noise (1)']
    """
    from matplotlib.collections import EllipseCollection

    X, z, ax = np.asarray(X, dtype=float), np.asarray(labels), get_axes(ax)
    flag = np.zeros(len(X), bool)
    flag[np.asarray(core)] = True
    P = X[:, :2] if X.shape[1] > 1 else np.column_stack([X[:, 0], np.zeros(len(X))])
    if eps is not None and flag.any():
        wide = np.full(int(flag.sum()), 2 * eps)
        style = {"facecolors": "none", "edgecolors": "0.8", "linewidths": 0.7}
        where = {"offsets": P[flag], "offset_transform": ax.transData, "units": "xy"}
        ax.add_collection(EllipseCollection(wide, wide, 0 * wide, **where, **style))
    colors = np.array([f"C{c % 10}" for c in z])
    kinds = {
        "core": (flag, {"s": 42, "c": colors[flag]}),
        "border": (~flag & (z >= 0), {"s": 14, "c": colors[~flag & (z >= 0)]}),
        "noise": (z < 0, {"s": 26, "c": "0.55", "marker": "x", "linewidths": 1}),
    }
    for name, (rows, style) in kinds.items():
        ax.scatter(*P[rows].T, label=f"{name} ({rows.sum()})", zorder=2, **style)
    if X.shape[1] > 1:
        ax.set(xlabel="$x_0$", ylabel="$x_1$")
        ax.set_aspect("equal" if eps is not None else "auto")
    else:
        ax.set(xlabel="$x_0$", yticks=[])
    legend = ax.legend()
    for handle in legend.legend_handles[:2]:
        handle.set_color("0.25")
    return ax
