"""A self-organising map: one square or hexagon for each unit, coloured by a value."""

import numpy as np

from ..axes import get_axes
from ..style import INK, ORANGE, draw_styled


@draw_styled
def som(model, values=None, *, labels=None, hits=False, ax=None, cmap="Blues"):
    """Units of a self-organising map, coloured by a value.

    Parameters
    ----------
    model : fitted SelfOrganizingMap
    values : array of one number per unit, int or None
        The colours: numbers of your own, a column of the prototypes by its number, or
        None for the U-matrix (mean distance to the prototypes around; high is a
        border between clusters).
    labels : array of one text per unit, optional
        Written on the units.
    hits : bool
        Whether dots show how many rows each unit has.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.cluster import SelfOrganizingMap
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> ax = plot.som(SelfOrganizingMap((3, 4)).fit(X))
    >>> len(ax.collections[0].get_paths())
    12
    """
    from matplotlib.collections import PolyCollection

    title = "distance to neighbours"
    if values is None:
        values = model.u_matrix()
    elif isinstance(values, (int, np.integer)):
        names = getattr(model, "feature_names_in_", None)
        title = f"x{values}" if names is None else str(names[values])
        values = model.prototypes_[:, values]
    else:
        title = ""
    values = np.asarray(values, dtype=float).ravel()
    places = model.positions_[:, ::-1]  # columns across, rows down
    if len(values) != len(places):
        raise ValueError(f"{len(places)} units need as many values, got {len(values)}.")
    if model.topology == "hexagonal":
        angle = np.pi / 6 + np.arange(6) * np.pi / 3
        corner = np.stack([np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(3)
    else:
        corner = np.array([[-0.5, -0.5], [0.5, -0.5], [0.5, 0.5], [-0.5, 0.5]])
    ax = get_axes(ax)
    cells = PolyCollection(
        places[:, None, :] + corner, array=values, cmap=cmap, edgecolors="face"
    )
    ax.add_collection(cells)
    ax.figure.colorbar(cells, ax=ax, label=title)
    if hits:
        size = 160 * model.hits_ / max(model.hits_.max(), 1e-300)
        ax.scatter(*places.T, s=size, c=ORANGE, edgecolors="white", linewidths=0.5)
    if labels is not None:
        dark = cells.to_rgba(values)[:, :3] @ [0.3, 0.6, 0.1] < 0.5
        for (x, y), text, on_dark in zip(places, np.ravel(labels), dark, strict=True):
            color = "white" if on_dark else INK
            ax.text(x, y, str(text), ha="center", va="center", fontsize=8, color=color)
    ax.set_xlim(places[:, 0].min() - 0.6, places[:, 0].max() + 0.6)
    ax.set_ylim(places[:, 1].max() + 0.65, places[:, 1].min() - 0.65)
    ax.set_aspect("equal")
    ax.set(xticks=[], yticks=[])
    for side in ax.spines.values():
        side.set_visible(False)
    return ax
