"""Decision regions of a classifier in the plane of two columns."""

from functools import partial

import numpy as np

from ..axes import axis_limits, get_axes
from ..style import COLORS, INK, MARKS, draw_styled, short_name

ROWS = 1000  # largest number of rows shown
DEPTHS = (0.42, 0.2, 0.3, 0.5, 0.25, 0.12)  # shades that differ in grey print too


def over_grid(predict, limits, *, resolution=200, at=None, columns=(0, 1)):
    """Predictions on a grid over two columns: (predictions (r, r), x, y values).

    `at` holds the values of all columns if there are more than two.
    """
    a, b = (np.linspace(low, high, resolution) for low, high in limits)
    A, B = np.meshgrid(a, b)
    grid = np.column_stack([A.ravel(), B.ravel()])
    if at is not None:
        full = np.tile(np.asarray(at, float), (len(grid), 1))
        full[:, list(columns)] = grid
        grid = full
    return np.asarray(predict(grid)).reshape(A.shape), a, b


@draw_styled
def decision_regions(
    model,
    X,
    y=None,
    *,
    columns=(0, 1),
    names=None,
    bounds=None,
    resolution=200,
    margins=False,
    limit=None,
    ax=None,
):
    """Decision regions of a classifier or clusterer in the plane of two columns.

    Parameters
    ----------
    model : fitted estimator with `predict`
        A classifier or a clusterer.
    X : array of shape (n, d)
    y : labels of the rows, optional
    columns : two places
        The columns shown; others are held at their medians.
    names : names of the d columns, optional
    bounds : pairs (low, high) of both axes; None fits the rows
    resolution : int
        Grid points per axis at which the model predicts.
    margins : bool
        Whether to draw where the `decision_function` of two classes is -1 and 1.
    limit : int, optional
        Largest number of rows shown; None is 1000.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.tree import DecisionTreeClassifier
    >>> X, y = np.array([[0.0, 0], [1, 1], [3, 3], [4, 4]]), ["no", "no", "yes", "yes"]
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> ax = plot.decision_regions(model, X, y, names=["width", "height"])
    >>> ax.get_xlabel(), [t.get_text() for t in ax.get_legend().get_texts()]
    ('width', ['no', 'yes'])
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] < 2:
        raise ValueError(f"regions are drawn over two columns, got shape {X.shape}.")
    i, j = columns
    plane_point = None if X.shape[1] == 2 else np.nanmedian(X, axis=0)
    plane = X[:, [i, j]]
    limits = axis_limits(plane[np.isfinite(plane).all(axis=1)], bounds)
    on_grid = partial(
        over_grid, limits=limits, resolution=resolution, at=plane_point, columns=columns
    )
    grid, a, b = on_grid(model.predict)
    y = None if y is None else np.asarray(y)
    labels = np.unique(grid if y is None else np.concatenate([grid.ravel(), y.ravel()]))
    ax = get_axes(ax)
    _paint_regions(ax, np.searchsorted(labels, grid), a, b, len(labels))
    if margins:
        F, a, b = on_grid(model.decision_function)
        ax.contour(a, b, F, levels=[-1, 1], colors=INK, linestyles="--", linewidths=1.0)
    _scatter_by_class(
        ax, plane[: limit or ROWS], None if y is None else y[: limit or ROWS], labels
    )
    ax.set(xlim=limits[0], ylim=limits[1])
    titles = [f"x{k}" for k in range(X.shape[1])] if names is None else names
    ax.set(xlabel=short_name(titles[i], 40), ylabel=short_name(titles[j], 40))
    if plane_point is not None:
        ax.set_title("other columns at their medians", loc="right", fontsize=8.5)
    return ax


def _paint_regions(ax, codes, a, b, k):
    """Fill the regions with pale colours and draw their borders."""
    from matplotlib.colors import ListedColormap, to_rgb

    pale = lambda c: 1 - DEPTHS[c % 6] * (1 - np.array(to_rgb(COLORS[c % 6])))
    shades = ListedColormap([pale(c) for c in range(k)])
    ax.pcolormesh(a, b, codes, cmap=shades, vmin=-0.5, vmax=k - 0.5, rasterized=True)
    for c in np.unique(codes)[1:]:
        ax.contour(a, b, codes >= c, levels=[0.5], colors=INK, linewidths=0.7)


def _scatter_by_class(ax, plane, y, labels):
    """Scatter the rows with a colour and marker for each class, and a legend."""
    dots = {"s": 18, "edgecolors": "white", "linewidths": 0.5, "zorder": 3}
    if y is None:
        ax.scatter(*plane.T, color=INK, **dots)
        return
    for c, label in enumerate(labels):
        of_label = y == label
        style = {"color": COLORS[c % 6], "marker": MARKS[c % 6]}
        ax.scatter(*plane[of_label].T, label=short_name(label, 18), **style, **dots)
    if len(labels) <= 12:
        ax.legend(loc="best")
