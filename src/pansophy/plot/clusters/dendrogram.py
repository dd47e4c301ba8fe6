"""Dendrogram of a hierarchical clustering."""

import numpy as np

from ...cluster.hierarchy.linkage import cut_tree, leaf_order, linkage_children
from ..axes import get_axes
from ..style import GREY, INK, draw_styled, series_color


@draw_styled
def dendrogram(tree, *, k=None, height=None, names=None, horizontal=False, ax=None):
    """Dendrogram of a hierarchical clustering; a cut colours its clusters.

    Parameters
    ----------
    tree : array of shape (n - 1, 4), or a fitted estimator
        From `pansophy.cluster.linkage_matrix`, or a model with `linkage_matrix_` or
        with `children_` and `distances_`.
    k, height : int, float
        Where to cut: into k clusters, or at a height. None colours nothing.
    names : list of n str, optional
        Written under the rows; their numbers if None, nothing for more than 60.
    horizontal : bool
        Whether the tree grows from left to right.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.cluster import linkage_matrix
    >>> Z = linkage_matrix([[0.0], [1.0], [3.0], [7.0]], "single")
    >>> len(plot.dendrogram(Z, k=2).collections)
    2
    """
    from matplotlib.collections import LineCollection

    Z = _as_tree(tree)
    n = len(Z) + 1
    ax = get_axes(ax)
    lines, rows = merge_brackets(Z)
    groups = np.full(n, -1)
    line = None
    if k is not None or height is not None:
        groups = cut_tree(Z, k, height=height)
        line = cut_height(Z, k) if height is None else height
    owner = np.where(Z[:, 2] <= (np.inf if line is None else line), groups[rows], -1)
    lines = lines[:, :, ::-1] if horizontal else lines
    for c in np.unique(owner):
        color = GREY if c < 0 else series_color(c)
        ax.add_collection(LineCollection(lines[owner == c], colors=color, lw=1.3))
    if line is not None:
        (ax.axvline if horizontal else ax.axhline)(line, ls="--", lw=0.9, color=INK)
    _label_dendrogram_axes(ax, Z, names, horizontal)
    return ax


def _as_tree(tree):
    """Linkage matrix of an array or a fitted model."""
    Z = getattr(tree, "linkage_matrix_", None)
    if Z is None and hasattr(tree, "children_"):
        if len(tree.children_) != tree.n_leaves_ - 1:
            raise ValueError("the tree is not full: set compute_full_tree=True.")
        Z = np.column_stack([tree.children_, tree.distances_, tree.distances_])
    Z = np.asarray(tree if Z is None else Z, dtype=float)
    if Z.ndim != 2 or Z.shape[1] != 4 or len(Z) == 0:
        raise ValueError("expected merges of shape (n - 1, 4) or a fitted tree.")
    return Z


def merge_brackets(Z):
    """Corner points (n - 1, 4, 2) of the bracket of each merge, and a row below it."""
    n = len(Z) + 1
    place, foot, row = np.empty((3, 2 * n - 1))
    place[leaf_order(Z)] = np.arange(n)
    foot[:n] = 0.0
    row[:n] = np.arange(n)
    lines = np.empty((n - 1, 4, 2))
    for t, (a, b) in enumerate(linkage_children(Z)):
        top = Z[t, 2]
        lines[t] = [
            (place[a], foot[a]),
            (place[a], top),
            (place[b], top),
            (place[b], foot[b]),
        ]
        place[n + t] = (place[a] + place[b]) / 2
        foot[n + t] = top
        row[n + t] = row[a]
    return lines, row[n:].astype(int)


def cut_height(Z, k):
    """Height that cuts the tree into k clusters: between two successive merges."""
    n = len(Z) + 1
    low = Z[n - k - 1, 2] if k < n else 0.0
    return (low + Z[n - k, 2]) / 2 if k > 1 else low * 1.02


def _label_dendrogram_axes(ax, Z, names, horizontal):
    """Set the limits, the row labels and the label of the height axis."""
    n = len(Z) + 1
    top = Z[:, 2].max()
    order = leaf_order(Z)
    sides = (-0.7, n - 0.3), (0.0, 1.05 * top if top > 0 else 1.0)
    ax.set(xlim=sides[horizontal], ylim=sides[not horizontal])
    words = [str(i) if names is None else str(names[i]) for i in order]
    if names is None and n > 60:
        words = []
    places = range(len(words))
    size = 7 if n > 30 else None
    if horizontal:
        ax.set_yticks(places, words, fontsize=size)
        ax.set_xlabel("height")
    else:
        angle = 90 if max(map(len, words), default=0) > 3 or n > 30 else 0
        ax.set_xticks(places, words, rotation=angle, fontsize=size)
        ax.set_ylabel("height")
    for edge in ("top", "right", "left" if horizontal else "bottom"):
        ax.spines[edge].set_visible(False)
