"""Grids of labels as pictures: spins, segmentations, marginal probabilities."""

import numpy as np

from ..axes import get_axes
from ..style import draw_styled, series_color


@draw_styled
def label_grid(pictures, *, titles=None, model=None, ax=None):
    """Draw one picture of a grid, or several beside each other.

    Parameters
    ----------
    pictures : array of shape (height, width) or (n, height, width), or dict of arrays
        Spins, labels or probabilities; a dict gives titles as well.
    titles : list of str, optional
    model : IsingGrid or PottsGrid, optional
        Writes the energy of each picture under it.
    ax : matplotlib axes, or one for each picture, optional

    Returns
    -------
    matplotlib axes, or an array of them for several pictures

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.graphical import IsingGrid
    >>> model = IsingGrid((16, 16), coupling=0.5)
    >>> ax = plot.label_grid(model.sample(random_state=0)[0], titles=["a sample"])
    >>> ax.get_title()
    'a sample'
    """
    if isinstance(pictures, dict):
        titles, pictures = list(pictures), list(pictures.values())
    is_list = isinstance(pictures, list) or np.ndim(pictures) == 3
    shown = [np.asarray(p) for p in pictures] if is_list else [np.asarray(pictures)]
    if any(p.ndim != 2 for p in shown):
        raise ValueError("a picture has shape (height, width).")
    if ax is None and is_list:
        from matplotlib import pyplot as plt

        size = (2.6 * len(shown), 3.0)
        ax = plt.subplots(1, len(shown), figsize=size, layout="constrained")[1]
    panels = np.atleast_1d(np.asarray(get_axes(ax), dtype=object)).ravel()
    if len(panels) != len(shown):
        raise ValueError(f"{len(shown)} pictures need as many axes, got {len(panels)}.")
    for k, (a, p) in enumerate(zip(panels, shown, strict=True)):
        if p.dtype.kind == "f":  # probabilities
            limits = (0.0, 1.0)
            colours = "Blues"
        else:
            limits = (p.min(), max(p.max(), p.min() + 1))
            colours = "Greys_r" if len(np.unique(p)) <= 2 else _label_colors(p)
        a.imshow(p, cmap=colours, vmin=limits[0], vmax=limits[1], interpolation="none")
        a.set(xticks=[], yticks=[])
        if titles is not None:
            a.set_title(titles[k])
        if model is not None:
            a.set_xlabel(f"energy {model.energy(p):.5g}")
    return panels if is_list else panels[0]


def _label_colors(p):
    """Colours of the labels from the least to the largest of a picture."""
    from matplotlib.colors import ListedColormap

    return ListedColormap([series_color(k) for k in range(int(p.max() - p.min()) + 1)])
