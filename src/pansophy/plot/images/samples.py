"""Samples of a generative model: a grid of images, points, or histograms."""

import inspect

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, pale_grid
from .feature_maps import image_panels

FEW_COLUMNS = 2


@draw_styled
def samples(
    model, n_samples=None, *, y=None, real=None, image_shape=None, random_state=0,
    ax=None,
):  # fmt: skip
    """Rows drawn from a generative model, as images or as points.

    Parameters
    ----------
    model : fitted generative model with `sample`, or an array of rows
    n_samples : int, optional
        32 images, or 1000 points, by default.
    y : label or array of labels, optional
        Classes to draw, of a conditional model.
    real : array of rows, optional
        Drawn in grey behind the points; not used for images.
    image_shape : (h, w) or (h, w, channels), optional
        What flat rows are.
    random_state : seed of the draws
    ax : matplotlib axes, or an array of them for images, optional

    Returns
    -------
    array of matplotlib axes for images; else axes: of a scatter plot of the first two
    columns, or of a histogram of one column

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> len(plot.samples(np.zeros((6, 8, 8))))
    6
    >>> points = np.random.default_rng(0).normal(size=(50, 2))
    >>> plot.samples(points).get_xlabel()
    'x0'
    """
    drawn = _drawn_samples(model, n_samples, y, image_shape, random_state)
    if drawn.ndim > FEW_COLUMNS:
        if drawn.ndim == 4 and drawn.shape[3] == 1:
            drawn = drawn[..., 0]
        if drawn.ndim == 4:  # colours are from 0 to 1, or bytes
            drawn = np.clip(drawn / (255 if drawn.max() > 2 else 1), 0, 1)
        return image_panels(drawn, [""] * len(drawn), ax=ax)
    ax = get_axes(ax)
    real_rows = None if real is None else np.asarray(real, float).reshape(len(real), -1)
    if drawn.shape[1] == 1:
        parts = drawn if real_rows is None else np.vstack([drawn, real_rows[:, :1]])
        bins = np.histogram_bin_edges(parts, 40)
        if real_rows is not None:
            ax.hist(
                real_rows[:, 0], bins, density=True, color=GREY, alpha=0.5, label="real"
            )
        ax.hist(drawn[:, 0], bins, density=True, histtype="step", label="samples")
        ax.set(xlabel="x0", ylabel="density")
    else:
        if real_rows is not None:
            ax.scatter(
                *real_rows[:, :2].T, s=4, color=GREY, alpha=0.5, lw=0, label="real"
            )
        ax.scatter(*drawn[:, :2].T, s=4, alpha=0.7, lw=0, label="samples")
        ax.set(xlabel="x0", ylabel="x1")
    pale_grid(ax)
    if real_rows is not None:
        ax.legend(loc="best")
    return ax


def _drawn_samples(model, n_samples, y, image_shape, random_state):
    """Rows (n, d) or images, drawn from a model or taken from an array."""
    if hasattr(model, "sample"):
        images = image_shape or getattr(model, "image_shape_", None)
        n = n_samples or (32 if images else 1000)
        if y is not None and np.ndim(y) == 1:
            n = len(y)
        options = {} if y is None else {"y": y}
        if "random_state" in inspect.signature(model.sample).parameters:
            options["random_state"] = random_state
        drawn = model.sample(n, **options)
        drawn = drawn[0] if isinstance(drawn, tuple) else drawn  # rows and their parts
    else:
        drawn = np.asarray(model)[:n_samples]
    drawn = np.asarray(drawn, float)
    drawn = drawn[:, None] if drawn.ndim == 1 else drawn
    return drawn if image_shape is None else drawn.reshape(len(drawn), *image_shape)
