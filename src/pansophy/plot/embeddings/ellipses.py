"""Covariance ellipses of Gaussian components, also along the iterations of EM."""

import numpy as np

from ..axes import get_axes
from ..style import INK, draw_styled, series_color


def ellipse_points(mean, cov, level, points=100):
    """Points (2, points) at Mahalanobis distance `level` from the mean."""
    angle = np.linspace(0, 2 * np.pi, points)
    values, U = np.linalg.eigh(cov)
    root = U * np.sqrt(np.maximum(values, 0))
    return mean[:, None] + level * root @ np.stack([np.cos(angle), np.sin(angle)])


@draw_styled
def covariance_ellipses(
    model, X=None, *, columns=(0, 1), levels=(1.0, 2.0), over_iterations=False, ax=None
):
    """Covariance ellipses of a Gaussian mixture in two columns, also during EM.

    Parameters
    ----------
    model : fitted mixture
        With `means_`, `covariances_` and `weights_`.
    X : array of shape (n, d), optional
        Rows to draw below, coloured by their components.
    columns : pair of int, default=(0, 1)
        Which two coordinates.
    levels : list of float, default=(1.0, 2.0)
        Mahalanobis distances at which ellipses are drawn.
    over_iterations : bool, default=False
        Also draw the first level after each iteration of EM, fainter the earlier and
        the initial one dashed, and the paths of the means; the model must have been
        fitted with `keep_path=True`.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.mixture import GaussianMixture
    >>> X = np.array([[0, 0], [1, 2], [2, 1], [8, 8], [9, 7], [7, 9.0]])
    >>> model = GaussianMixture(2, random_state=0, keep_path=True).fit(X)
    >>> ax = plot.covariance_ellipses(model, X, over_iterations=True)
    >>> ax.get_xlabel()
    'column 0'
    """
    ax = get_axes(ax)
    shown_columns = np.asarray(columns)
    means = np.asarray(model.means_, float)
    k, d = means.shape
    covs = _model_covariances(model, k, d)
    colors = [series_color(j) for j in range(k)]
    if X is not None:
        z = np.asarray(model.predict(X))
        X = np.asarray(X, float)
        shades = [colors[j] for j in z]
        ax.scatter(*X[:, shown_columns].T, c=shades, s=8, alpha=0.4, lw=0)
    if over_iterations:
        _draw_iterations(ax, model.history_, shown_columns, colors, levels[0])
    for j in range(k):
        for level in levels:
            line = ellipse_points(
                means[j, shown_columns],
                covs[j][np.ix_(shown_columns, shown_columns)],
                level,
            )
            ax.plot(*line, color=colors[j], lw=1.8)
        ax.plot(*means[j, shown_columns], "o", color=colors[j], mec=INK, ms=6)
    names = getattr(model, "feature_names_in_", None)
    label = lambda i: f"column {i}" if names is None else str(names[i])
    ax.set(xlabel=label(columns[0]), ylabel=label(columns[1]))
    return ax


def _model_covariances(model, k, d):
    """Full covariance matrices (k, d, d) of a fitted mixture of any covariance type."""
    kind = getattr(model, "covariance_type", "full")
    cov = np.asarray(model.covariances_, float)
    if kind == "tied":
        return np.broadcast_to(cov, (k, d, d))
    if kind == "spherical":
        return cov[:, None, None] * np.eye(d)
    return cov[:, :, None] * np.eye(d) if kind == "diag" else cov


def _draw_iterations(ax, history, at, colors, level):
    """Draw the ellipses of all iterations but the last, and the paths of the means."""
    if "means" not in history:
        raise ValueError("there are no iterations to draw: fit with keep_path=True.")
    means = history["means"]
    covs = history["covariances"]
    n_iter = len(means)
    for t in range(n_iter - 1):
        shade = 0.12 + 0.45 * t / max(n_iter - 1, 1)
        style = {"ls": "--", "lw": 1.2} if t == 0 else {"lw": 0.8, "alpha": shade}
        for j, color in enumerate(colors):
            line = ellipse_points(means[t, j, at], covs[t, j][np.ix_(at, at)], level)
            ax.plot(*line, color=color, **style)
    for j, color in enumerate(colors):
        ax.plot(*means[:, j, at].T, "-", color=color, lw=1.0)
        ax.plot(*means[0, j, at], "x", color=color, ms=6)
