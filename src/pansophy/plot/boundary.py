"""Where a classifier of two columns changes its mind."""

import numpy as np

from .axes import axes, frame


def decision_boundary(model, X, y=None, *, bounds=None, resolution=150, ax=None):
    """Regions of the classes in the plane, with margins for two classes by score.

    Parameters
    ----------
    model : fitted classifier
    X : array of shape (n, 2)
    y : labels (n,), optional
        Colours of the rows.
    bounds : pairs (low, high) of both axes; None fits the rows
    resolution : int
        Points per axis at which the model is asked.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.linear_model import LogisticRegression
    >>> X, y = np.array([[0.0, 0], [1, 1], [3, 3], [4, 4]]), [0, 0, 1, 1]
    >>> ax = plot.decision_boundary(LogisticRegression().fit(X, y), X, y)
    >>> ax.get_xlabel()
    '$x_1$'
    """
    X = np.asarray(X, dtype=float)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"a boundary is drawn for two columns, got shape {X.shape}.")
    ax, limits = axes(ax), frame(X, bounds)
    a, b = (np.linspace(low, high, resolution) for low, high in limits)
    A, B = np.meshgrid(a, b)
    grid = np.column_stack([A.ravel(), B.ravel()])
    classes = np.asarray(model.classes_)
    codes = np.searchsorted(classes, model.predict(grid)).reshape(A.shape)
    k = len(classes)
    ax.contourf(A, B, codes, levels=np.arange(k + 1) - 0.5, cmap="Pastel1", vmax=9)
    if k == 2 and hasattr(model, "decision_function"):
        F = np.asarray(model.decision_function(grid)).reshape(A.shape)
        styles = ["--", "-", "--"]
        ax.contour(A, B, F, levels=[-1, 0, 1], colors="0.3", linestyles=styles)
    color = None if y is None else np.searchsorted(classes, np.asarray(y))
    how = {} if color is None else {"cmap": "Set1", "vmax": 9, "vmin": 0}
    ax.scatter(X[:, 0], X[:, 1], c=color, s=14, edgecolors="k", linewidths=0.4, **how)
    ax.set(xlim=limits[0], ylim=limits[1], xlabel="$x_1$", ylabel="$x_2$")
    return ax
