"""Trace plots of Markov chains: draws in order, with histograms beside them."""

import numpy as np

from ..style import draw_styled


def draws_of(draws, names=None):
    """Draws (m, n, d) and the names of the d parameters, from a run or an array."""
    x = np.asarray(getattr(draws, "positions", draws), dtype=float)
    x = x[:, :, None] if x.ndim == 2 else x
    if x.ndim != 3:
        raise ValueError(f"draws must have shape (chains, draws[, d]), got {x.shape}.")
    names = names if names is not None else getattr(draws, "names", None)
    names = [f"x{j}" for j in range(x.shape[2])] if names is None else list(names)
    if len(names) != x.shape[2]:
        raise ValueError(f"{len(names)} names were given for {x.shape[2]} parameters.")
    return x, names


def panel_axes(ax, rows, columns, width_ratios=None, height=1.6, width=8.0):
    """Axes (rows, columns): those given, or new ones."""
    if ax is not None:
        return np.asarray(ax, dtype=object).reshape(rows, columns)
    from matplotlib import pyplot as plt

    size = (width, max(height * rows, 2.0))
    return plt.subplots(
        rows,
        columns,
        figsize=size,
        squeeze=False,
        width_ratios=width_ratios,
        layout="constrained",
    )[1]


@draw_styled
def trace(draws, names=None, *, rows=5, ax=None):
    """Traces and histograms of the first parameters of a run of chains.

    Chains that have mixed lie on top of each other and look like noise; a chain that
    drifts, sticks or stays apart shows at once. R-hat and the bulk effective size of
    each parameter are in its title.

    Parameters
    ----------
    draws : Draws, or array of shape (chains, draws[, d])
    names : list of str or None
    rows : int
        How many parameters to show.
    ax : array of 2 matplotlib axes a parameter, optional

    Returns
    -------
    ndarray of matplotlib axes, shape (rows, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> x = np.random.default_rng(0).normal(size=(4, 200, 2))
    >>> plot.trace(x).shape
    (2, 2)
    """
    from ...sampling import ess_bulk, r_hat

    x, names = draws_of(draws, names)
    d = min(rows, x.shape[2])
    axes = panel_axes(ax, d, 2, (3, 1))
    for j, (path, density) in enumerate(axes):
        chains = x[:, :, j]
        bins = np.histogram_bin_edges(chains[np.isfinite(chains)], bins=30)
        for chain in chains:
            path.plot(chain, lw=0.5)
            density.hist(chain, bins=bins, histtype="step", density=True)
        path.set_ylabel(names[j])
        path.set_title(
            f"R-hat {r_hat(chains):.3f}, ESS {ess_bulk(chains):.0f}",
            fontsize="small",
            loc="right",
        )
        path.margins(x=0)
        density.set_yticks([])
    axes[-1, 0].set_xlabel("draw")
    return axes
