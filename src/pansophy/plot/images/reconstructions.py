"""Rows beside what a model with a code makes of them."""

import numpy as np

from ..chains.trace import panel_axes
from ..style import draw_styled
from .latent_walk import panel_images


@draw_styled
def reconstructions(model, X, *, y=None, n_shown=8, ax=None):
    """Images above their reconstructions.

    Parameters
    ----------
    model : fitted model with `reconstruct`
    X : images (n, h, w[, channels]), or rows that are square images
    y : labels (n,) or None
        For a conditional model.
    n_shown : int, default=8
        The first so many rows are drawn.
    ax : array of 2 * n_shown matplotlib axes, optional

    Returns
    -------
    array of matplotlib axes of shape (2, n_shown)

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pansophy import plot
    >>> from pansophy.generative import Autoencoder
    >>> images = load_digits().images[:100]
    >>> model = Autoencoder(8, n_epochs=2, random_state=0, device="cpu").fit(images)
    >>> plot.reconstructions(model, images, n_shown=5).shape
    (2, 5)
    """
    n = min(n_shown, len(X))
    rows = np.asarray(X)[:n]
    reconstructed = (
        model.reconstruct(rows) if y is None else model.reconstruct(rows, y[:n])
    )
    originals, rebuilt = panel_images(rows), panel_images(reconstructed)
    axes = panel_axes(ax, 2, n, height=1.35, width=1.2 * n)
    low, high = float(originals.min()), float(originals.max())
    for j in range(n):
        for i, image in enumerate((originals[j], rebuilt[j])):
            axes[i, j].imshow(image, cmap="Greys", vmin=low, vmax=high)
            axes[i, j].set(xticks=[], yticks=[])
            axes[i, j].set_frame_on(False)
    axes[0, 0].set_title("rows", fontsize=8)
    axes[1, 0].set_title("reconstructed", fontsize=8)
    return axes
