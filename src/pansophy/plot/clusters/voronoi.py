"""Voronoi cells of cluster centres in the plane."""

import numpy as np

from ..axes import axis_limits, get_axes
from ..style import INK, draw_styled, series_color


@draw_styled
def voronoi(centers, X=None, labels=None, *, bounds=None, ax=None):
    """Voronoi cells of centres in the plane, with rows coloured by their cell.

    Borders are the perpendicular bisectors between neighbouring centres: what the
    assignment of k-means looks like.

    Parameters
    ----------
    centers : array of shape (k, 2)
    X : array of shape (n, 2), optional
        Rows to draw.
    labels : array of length n, optional
        Colours of the rows; the nearest centre if not given.
    bounds : pairs (low, high) of both axes; None fits the rows
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.voronoi([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    >>> len(ax.patches)
    3
    """
    C = np.asarray(centers, dtype=float)
    if C.ndim != 2 or C.shape[1] != 2:
        raise ValueError(f"cells are drawn for two columns, got shape {C.shape}.")
    points = C if X is None else np.vstack([C, np.asarray(X, dtype=float)])
    ax = get_axes(ax)
    limits = axis_limits(points, bounds)
    for j, cell in enumerate(voronoi_polygons(C, limits)):
        ax.fill(*cell.T, facecolor=series_color(j), alpha=0.18, edgecolor=INK, lw=1)
    if X is not None:
        X = np.asarray(X, dtype=float)
        if labels is None:
            labels = ((X[:, None] - C) ** 2).sum(axis=2).argmin(axis=1)
        colors = [series_color(j) if j >= 0 else INK for j in np.asarray(labels)]
        ax.scatter(*X.T, c=colors, s=10, linewidths=0)
    ax.plot(*C.T, "kx", ms=9, mew=2)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel="x1", ylabel="x2")
    return ax


def voronoi_polygons(C, limits):
    """Polygon of each centre; four distant extra centres close the open cells."""
    from scipy.spatial import Voronoi

    distance = 10 * np.ptp(limits, axis=1).max()
    distant = limits.mean(axis=1) + distance * np.array(
        [[1, 1], [1, -1], [-1, 1], [-1, -1]]
    )
    distinct, back = np.unique(C, axis=0, return_inverse=True)
    diagram = Voronoi(np.vstack([distinct, distant]))
    polygons = []
    for j in back.ravel():
        corners = diagram.vertices[diagram.regions[diagram.point_region[j]]]
        angle = np.arctan2(*(corners - corners.mean(axis=0)).T)
        polygons.append(corners[np.argsort(angle)])
    return polygons
