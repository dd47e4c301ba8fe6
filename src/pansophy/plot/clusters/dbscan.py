"""DBSCAN clusters: core rows, border rows and noise."""

import numpy as np

from ..axes import get_axes
from ..style import EDGE, GREY, INK, draw_styled, series_color


@draw_styled
def dbscan(X, labels, core, *, eps=None, ax=None):
    """DBSCAN clusters: core rows as large dots, border rows as small ones, noise as x.

    Parameters
    ----------
    X : array of shape (n, d)
        The first two columns are drawn; a single column is drawn along a line.
    labels : array of shape (n,)
        `labels_` of a model.
    core : array
        `core_sample_indices_` of a model, or a flag for each row.
    eps : float, optional
        Draw circles of this radius around the core rows.
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

    ax = get_axes(ax)
    X = np.asarray(X, dtype=float)
    z = np.asarray(labels)
    is_core = np.zeros(len(X), bool)
    is_core[np.asarray(core)] = True
    is_border = ~is_core & (z >= 0)
    P = X[:, :2] if X.shape[1] > 1 else np.column_stack([X[:, 0], np.zeros(len(X))])
    if eps is not None and is_core.any():
        width = np.full(int(is_core.sum()), 2 * eps)
        circles = EllipseCollection(
            width,
            width,
            0 * width,
            units="xy",
            offsets=P[is_core],
            offset_transform=ax.transData,
            facecolors="none",
            edgecolors=EDGE,
            linewidths=0.7,
        )
        ax.add_collection(circles)
    colors = np.array([series_color(c) for c in z])
    kinds = {
        "core": (is_core, {"s": 42, "c": colors[is_core]}),
        "border": (is_border, {"s": 14, "c": colors[is_border]}),
        "noise": (z < 0, {"s": 26, "c": GREY, "marker": "x", "linewidths": 1}),
    }
    for name, (rows, style) in kinds.items():
        ax.scatter(*P[rows].T, label=f"{name} ({rows.sum()})", zorder=2, **style)
    if X.shape[1] > 1:
        ax.set(xlabel="x0", ylabel="x1")
        ax.set_aspect("equal" if eps is not None else "auto")
    else:
        ax.set(xlabel="x0", yticks=[])
    legend = ax.legend()
    for handle in legend.legend_handles[:2]:
        handle.set_color(INK)
    return ax
