"""Walks through the codes of a generative model: what lies between two rows."""

from typing import Literal

import numpy as np

from ..axes import get_axes
from ..style import draw_styled
from .feature_maps import image_panels


def panel_images(rows):
    """Rows as images to draw: (n, h, w), or (n, h, w, 3) of values from 0 to 1."""
    rows = np.asarray(rows, float)
    if rows.ndim == 4 and rows.shape[3] == 1:
        return rows[..., 0]
    if rows.ndim == 4:
        low = rows.min()
        return (rows - low) / max(rows.max() - low, 1e-12)
    if rows.ndim == 2:
        side = round(rows.shape[1] ** 0.5)
        if side * side == rows.shape[1]:
            return rows.reshape(-1, side, side)
        raise ValueError(
            f"rows of {rows.shape[1]} numbers are no square images: fit the model to "
            "images (n, h, w)."
        )
    return rows


@draw_styled
def latent_walk(
    model,
    start,
    end,
    n_steps=8,
    *,
    kind: Literal["linear", "spherical"] = "linear",
    y=None,
    ax=None,
):
    """Images on the way from one code to another.

    Parameters
    ----------
    model : fitted model with `encode` and `decode`
        An autoencoder or a variational one, fitted to images.
    start, end : images (h, w[, channels]) or rows, or codes (n_components,)
        Images are encoded first.
    n_steps : int, default=8
    kind : {"linear", "spherical"}, default="linear"
    y : label or None
        For a conditional model.
    ax : array of matplotlib axes, optional

    Returns
    -------
    array of matplotlib axes, one for each step

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy import plot
    >>> from pansophy.generative import Autoencoder
    >>> images = load_digits().images[:100]
    >>> model = Autoencoder(3, n_epochs=2, random_state=0, device="cpu").fit(images)
    >>> len(plot.latent_walk(model, images[0], images[1], 5))
    5
    """
    from ...generative.vae.latent_sampling import latent_interpolation

    labels = None if y is None else [y]
    ends = []
    for point in (start, end):
        point = np.asarray(point, float)
        if point.ndim == 1 and len(point) == model.n_components:
            ends.append(point)
        else:
            row = point[None]
            code = model.encode(row) if y is None else model.encode(row, labels)
            ends.append(code[0])
    codes = latent_interpolation(ends[0], ends[1], n_steps, kind=kind)
    rows = model.decode(codes) if y is None else model.decode(codes, y)
    shares = [f"{t:.0%}" for t in np.linspace(0, 1, n_steps)]
    return image_panels(panel_images(rows), shares, ax=ax)


@draw_styled
def latent_grid(model, n_steps=9, *, limit=2.0, y=None, ax=None):
    """Images over a grid of codes of two numbers, as one picture.

    Parameters
    ----------
    model : fitted model with `decode` and n_components=2
    n_steps : int, default=9
        Images along each axis.
    limit : float, default=2
        The grid goes from -limit to limit.
    y : label or None
        For a conditional model.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy import plot
    >>> from pansophy.generative import VAE
    >>> images = load_digits().images[:100]
    >>> model = VAE(2, n_epochs=2, random_state=0, device="cpu").fit(images)
    >>> plot.latent_grid(model, 4).get_xlabel()
    'first number of the code'
    """
    if model.n_components != 2:
        raise ValueError(
            f"the grid is of codes of two numbers; the model has {model.n_components}."
        )
    t = np.linspace(-limit, limit, n_steps)
    codes = np.array([(a, b) for b in t[::-1] for a in t])
    rows = model.decode(codes) if y is None else model.decode(codes, y)
    images = panel_images(rows)
    h, w = images.shape[1:3]
    grid = images.reshape(n_steps, n_steps, h, w, *images.shape[3:])
    picture = np.moveaxis(grid, 2, 1).reshape(n_steps * h, n_steps * w, -1)
    ax = get_axes(ax)
    edges = (-limit, limit, -limit, limit)
    ax.imshow(np.squeeze(picture), cmap="Greys", extent=edges, aspect="equal")
    ax.set(xlabel="first number of the code", ylabel="second number of the code")
    return ax
