"""Biplot: principal component scores as points, loadings of the columns as arrows."""

import numpy as np

from ...core.arrays.arrays import to_numpy
from ..axes import get_axes
from ..style import EDGE, GREY, INK, draw_styled


@draw_styled
def biplot(
    model,
    X,
    *,
    components=(0, 1),
    names=None,
    labels=None,
    limit=12,
    scale=0.0,
    ax=None,
):
    """Biplot: scores on two components as points, column loadings as arrows.

    An arrow has the direction in which its column grows and the length of its loadings,
    all scaled by one factor to fit the points: the inner product of a point with an
    arrow approximates the centred value of the row in that column. With `scale=1` the
    scaling is exchanged: points have variance 1 along each component, and arrows have
    the columns' standard deviations as lengths and their correlations as cosines.

    Parameters
    ----------
    model : fitted PCA or another linear transformer with `components_`
    X : array of shape (n, d)
        Rows to show.
    components : pair of int, default=(0, 1)
    names : d names, optional
        Of the columns; those seen in `fit` if it saw any.
    labels : array of shape (n,), optional
        Groups to colour the rows by.
    limit : int, default=12
        Most arrows, the longest ones.
    scale : float from 0 to 1, default=0
        The power of the standard deviations along the components that the points are
        divided and the arrows multiplied by.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.decomposition import PCA
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> plot.biplot(PCA(2).fit(X), X).get_xlabel().split(" (")[0]
    'component 1'
    """
    V = np.asarray(to_numpy(model.components_), dtype=float)
    a, b = components
    if not (0 <= a < len(V) and 0 <= b < len(V)):
        raise ValueError(f"components must be two of 0 to {len(V) - 1}.")
    Z = np.asarray(to_numpy(model.transform(X)), dtype=float)[:, [a, b]]
    if not 0 <= scale <= 1:
        raise ValueError(f"scale must be from 0 to 1, got {scale}.")
    deviation = Z.std(axis=0) ** scale
    Z = Z / np.where(deviation > 0, deviation, 1.0)
    L = V[[a, b]].T * deviation
    names = getattr(model, "feature_names_in_", None) if names is None else names
    names = [f"x{j}" for j in range(len(L))] if names is None else list(names)
    if len(names) != len(L):
        raise ValueError(f"{len(L)} columns but {len(names)} names.")
    ax = get_axes(ax)
    groups = [None] if labels is None else list(np.unique(labels))
    for group in groups:
        of_group = slice(None) if group is None else np.asarray(labels) == group
        ax.scatter(*Z[of_group].T, s=14, alpha=0.6, linewidths=0, label=group)
    length = np.hypot(*L.T)
    longest = np.argsort(-length, kind="stable")[:limit]
    tips = L[longest] * 0.8 * np.abs(Z).max() / max(length.max(), 1e-300)
    arrow = {"arrowstyle": "->", "color": INK, "lw": 1.2, "shrinkB": 0}
    for tip in tips:
        ax.annotate("", tip, (0, 0), arrowprops=arrow)
    ax.update_datalim(tips)
    ax.axhline(0, color=EDGE, lw=0.8, zorder=0)
    ax.axvline(0, color=EDGE, lw=0.8, zorder=0)
    share = getattr(model, "explained_variance_ratio_", None)
    title = lambda j: (
        f"component {j + 1}"
        + ("" if share is None else f" ({100 * float(share[j]):.0f} %)")
    )
    ax.set(xlabel=title(a), ylabel=title(b))
    ax.margins(x=0.2, y=0.15)  # room for the names
    ax.set_aspect("equal", adjustable="datalim")
    if labels is not None:
        ax.legend()
    _name_tips(ax, tips, [str(names[j]) for j in longest])
    return ax


def _name_tips(ax, tips, words):
    """Label the arrow tips so that no label overlaps another.

    Positions at growing distances in 24 directions are scored in pixels. The best one
    overlaps neither earlier labels nor tips, lies inside the axes, off the arrows, and
    near the tip in its direction; a distant label gets a thin line to its tip.
    """
    ax.figure.canvas.figure.draw_without_rendering()  # the layout places the axes
    inch = ax.get_figure().dpi / 72  # pixels a point
    ends, (zero,) = ax.transData.transform(tips), ax.transData.transform([(0, 0)])
    frame = ax.get_window_extent()
    walls = np.array([frame.x0, frame.y0, frame.x1, frame.y1])
    angle = np.linspace(0, 2 * np.pi, 24, endpoint=False)
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    far = np.repeat([3.0, 9.0, 16.0, 25.0, 36.0, 50.0], len(directions))
    placed = np.column_stack([ends - 2 * inch, ends + 2 * inch])
    shafts = zero + np.linspace(0.1, 0.95, 18)[:, None, None] * (ends - zero)
    shafts = shafts.reshape(-1, 2)
    for tip, end, word in zip(tips, ends, words, strict=True):
        text = ax.annotate(word, tip, (0, 0), textcoords="offset points", fontsize=9)
        text.set_parse_math(False)
        text.set(ha="center", va="center", zorder=4)
        box = text.get_window_extent()
        half = np.array([box.width, box.height]) / 2 + inch
        way = np.tile(directions, (6, 1))
        centers = (
            end + far[:, None] * inch * way + way * half
        )  # the middle of the label
        low, high = centers - half, centers + half
        overlap = _overlap_areas(low, high, placed).sum(axis=1)
        outside = 4 * half.prod() - _overlap_areas(low, high, walls[None])[:, 0]
        inside = (shafts > low[:, None]) & (shafts < high[:, None])
        cross = inside.all(axis=2).sum(axis=1)
        bend = 1 - way @ (end - zero) / max(float(np.hypot(*(end - zero))), 1e-9)
        near = half.prod() * (0.5 * cross + far / 20 + bend)
        best = np.argmin(50 * overlap + 5 * outside + near)
        text.set_position((centers[best] - end) / inch)
        placed = np.vstack([placed, [*low[best], *high[best]]])
        if far[best] > 12:
            edge = np.clip(end, low[best], high[best])
            line = ax.transData.inverted().transform([end, edge])
            ax.plot(*line.T, color=GREY, lw=0.6, zorder=3)


def _overlap_areas(low, high, boxes):
    """Overlap areas (m, k) of m boxes low, high (m, 2) with k boxes (k, 4)."""
    wide = np.minimum(high[:, None], boxes[:, 2:]) - np.maximum(
        low[:, None], boxes[:, :2]
    )
    return np.maximum(wide, 0).prod(axis=2)
