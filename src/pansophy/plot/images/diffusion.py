"""Denoising strip: rows of a diffusion model on their way from noise to samples."""

import numpy as np

from ..axes import axis_limits
from ..chains.trace import panel_axes
from ..style import COLORS, draw_styled

IMAGES_SHOWN = 4  # rows of images in a strip


@draw_styled
def diffusion(model, n_samples=None, *, y=None, n_frames=6, random_state=0, ax=None):
    """Moments of a sample path, one panel for each.

    Parameters
    ----------
    model : fitted DiffusionModel or DDPM, or the result of its `sample_path`
        Of images, or of rows of which the first two columns are shown.
    n_samples : int, optional
        Rows drawn; None is 4 images or 500 points.
    y : label, optional
        Class of the rows.
    n_frames : int
    random_state : seed
    ax : sequence of matplotlib axes, optional
        One for each frame; images take one for each frame of each row.

    Returns
    -------
    array of matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.generative.diffusion.diffusion import DenoisingPath
    >>> path = DenoisingPath(np.zeros((3, 10, 2)), np.array([80.0, 1.0, 0.0]))
    >>> [ax.get_title() for ax in plot.diffusion(path)]
    ['sigma 80', 'sigma 1', 'sigma 0']
    """
    path = model
    if hasattr(model, "sample_path"):
        images = model.image_shape_ is not None
        n = n_samples or (IMAGES_SHOWN if images else 500)
        path = model.sample_path(n, y, random_state, n_frames=n_frames)
    rows = np.asarray(path.rows, dtype=float)
    titles = [f"sigma {s:.2g}" for s in path.sigma]
    if rows.ndim >= 4:
        return _image_strip(rows, titles, ax)
    if rows.shape[2] < 2:
        rows = np.concatenate([rows, np.zeros_like(rows)], axis=2)
    axes = _strip_axes(ax, 1, len(rows))
    limits = axis_limits(rows[-1][:, :2])
    for panel, frame, title in zip(axes, rows, titles):
        panel.scatter(*frame[:, :2].T, s=4, color=COLORS[0], linewidths=0)
        panel.set_title(title, fontsize=9)
        panel.set(xlim=limits[0], ylim=limits[1], xticks=[], yticks=[])
    return axes


def _strip_axes(ax, n_rows, n_frames):
    """Axes of a strip, row by row: those given, or new ones."""
    needed = n_rows * n_frames
    if ax is None:
        width = 1.5 * n_frames
        return panel_axes(None, n_rows, n_frames, height=1.6, width=width).ravel()
    axes = np.asarray(ax, dtype=object).ravel()
    if len(axes) < needed:
        raise ValueError(
            f"{needed} panels are needed, but {len(axes)} axes were given."
        )
    return axes[:needed]


def _image_strip(rows, titles, ax):
    """One line of panels for each image (frames, n, h, w[, channels])."""
    n_frames, n = rows.shape[:2]
    axes = _strip_axes(ax, n, n_frames)
    low = rows[-1].min()
    high = rows[-1].max()
    grid = axes.reshape(n, n_frames)
    for i, j in np.ndindex(n, n_frames):
        image = np.clip((rows[j, i] - low) / max(high - low, 1e-12), 0, 1)
        grid[i, j].imshow(np.squeeze(image), cmap="Greys", vmin=0, vmax=1)
        grid[i, j].set(xticks=[], yticks=[])
    for panel, title in zip(grid[0], titles):
        panel.set_title(title, fontsize=9)
    return axes
