"""Axes to draw on, axis limits, and contour lines of a function of two numbers."""

import numpy as np


def get_axes(ax=None):
    """The axes given, or those of a new figure."""
    if ax is not None:
        return ax
    from matplotlib import pyplot as plt

    return plt.subplots(layout="constrained")[1]


def axis_limits(points, bounds=None, margin=0.15):
    """(low, high) of both axes: the bounds, or what holds the points with a margin."""
    if bounds is not None:
        pairs = [bounds] * 2 if np.ndim(bounds[0]) == 0 else bounds
        return np.array(pairs, dtype=float)
    low = points.min(axis=0)
    high = points.max(axis=0)
    wide = np.maximum(high - low, 1e-6 + 0.1 * np.abs(high).max())
    return np.stack([low - margin * wide, high + margin * wide], axis=1)


def draw_contours(ax, f, limits, *, levels=25, resolution=80):
    """Contours of f(x) -> number, or -> (number, gradient), over a frame.

    Levels are spaced by rank, so that a steep wall does not hide a flat valley.
    """
    a, b = (np.linspace(low, high, resolution) for low, high in limits)
    A, B = np.meshgrid(a, b)

    def value(x):
        f_of_x = f(x)
        return float(f_of_x[0] if isinstance(f_of_x, tuple) else f_of_x)

    Z = np.array([value(np.array(x)) for x in zip(A.ravel(), B.ravel(), strict=True)])
    Z = Z.reshape(A.shape)
    cuts = np.unique(np.quantile(Z[np.isfinite(Z)], np.linspace(0, 1, levels)))
    if len(cuts) > 1:
        ax.contour(A, B, Z, levels=cuts, cmap="Blues_r", linewidths=0.8, alpha=0.8)
    ax.set_xlim(*limits[0])
    ax.set_ylim(*limits[1])
