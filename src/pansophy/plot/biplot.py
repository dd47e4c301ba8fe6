"""Rows and columns of a table in one picture: scores as points, axes as arrows."""

import numpy as np

from ..core.arrays import to_numpy
from .axes import axes


def biplot(model, X, *, components=(0, 1), names=None, labels=None, limit=12, ax=None):
    """Scores on two components as points, loadings of the columns as arrows.

    An arrow points where its column grows; its length is that of the column's loading
    times the standard deviation along each component, scaled as one to fit the points.

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
    L = V[[a, b]].T * Z.std(axis=0)
    names = getattr(model, "feature_names_in_", None) if names is None else names
    names = [f"x{j}" for j in range(len(L))] if names is None else list(names)
    if len(names) != len(L):
        raise ValueError(f"{len(L)} columns but {len(names)} names.")
    ax = axes(ax)
    groups = [None] if labels is None else list(np.unique(labels))
    for group in groups:
        some = slice(None) if group is None else np.asarray(labels) == group
        ax.scatter(*Z[some].T, s=14, alpha=0.6, linewidths=0, label=group)
    length = np.hypot(*L.T)
    scale = 0.75 * np.abs(Z).max() / max(length.max(), 1e-300)
    for j in np.argsort(-length, kind="stable")[:limit]:
        tip = scale * L[j]
        ax.annotate(
            "",
            tip,
            (0, 0),
            arrowprops={"arrowstyle": "->", "color": "0.2", "lw": 1.2},
        )
        side = "left" if tip[0] >= 0 else "right"
        ax.text(*(1.04 * tip), str(names[j]), ha=side, va="center", fontsize=9)
    ax.axhline(0, color="0.85", lw=0.8, zorder=0)
    ax.axvline(0, color="0.85", lw=0.8, zorder=0)
    share = getattr(model, "explained_variance_ratio_", None)
    title = lambda j: (
        f"component {j + 1}"
        + ("" if share is None else f" ({100 * float(share[j]):.0f} %)")
    )
    ax.set(xlabel=title(a), ylabel=title(b))
    ax.margins(x=0.25, y=0.1)  # room for the names
    ax.set_aspect("equal", adjustable="datalim")
    if labels is not None:
        ax.legend()
    return ax
