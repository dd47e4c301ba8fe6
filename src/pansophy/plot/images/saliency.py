"""Saliency maps: images, and how much each pixel moves the score of a class."""

from typing import Any

import numpy as np

from ..chains.trace import panel_axes
from ..style import draw_styled
from .feature_maps import image_panels


@draw_styled
def saliency(
    model, images, target=None, *, method: Any = "integrated", ax=None, **options
):
    """Images above, their saliency below: red raises the score, blue lowers it.

    Parameters
    ----------
    model : fitted estimator for images
    images : array of shape (n, h, w) or (n, h, w, channels)
    target : int, array of int or None
        Column of the score; None: that of the likeliest class.
    method : {"gradient", "integrated"}, default="integrated"
    ax : array of 2 x n matplotlib axes, optional
    **options
        `baseline` and `steps` of `nn.saliency`.

    Returns
    -------
    array of matplotlib axes of shape (2, n)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.neural_network import ConvClassifier
    >>> images = np.random.default_rng(0).random((20, 4, 4))
    >>> model = ConvClassifier((2,), n_epochs=1, device="cpu")
    >>> model = model.fit(images, np.arange(20) % 2)
    >>> plot.saliency(model, images[:3]).shape
    (2, 3)
    """
    from ...nn import saliency as pixel_saliency

    images = np.asarray(images)
    if images.ndim not in (3, 4):
        raise ValueError(
            "images must have the shape (n, h, w) or (n, h, w, channels), got "
            f"{images.shape}."
        )
    S = pixel_saliency(model, images, target, method=method, **options)
    grey = lambda a: a if a.ndim == 3 else a.mean(axis=3)
    n = len(images)
    axes = panel_axes(ax, 2, n, height=1.5, width=max(1.5 * n, 2.0))
    image_panels(grey(images), map(str, model.predict(images)), ax=axes[0])
    summed = S if S.ndim == 3 else S.sum(axis=3)
    image_panels(summed, [""] * n, ax=axes[1], symmetric=True)
    return axes
