"""A series coloured by its hidden state, with the posterior of the states below."""

import numpy as np

from ...core.arrays.arrays import to_numpy
from ..style import EDGE, draw_styled, series_color, short_name


@draw_styled
def regimes(states, posterior, x, *, times=None, names=None, ax=None):
    """A series coloured by its hidden states, with their posterior below.

    Parameters
    ----------
    states : array of shape (n,)
        State of each step, as `predict` gives.
    posterior : array of shape (n, k)
        Probabilities of the states, as `predict_proba` gives.
    x : array of shape (n,)
        The series.
    times : array of shape (n,), optional
        Where on the horizontal axis; None counts the steps.
    names : list of k str, optional
        What the states are called; "state 0", ... if None.
    ax : matplotlib axes, optional
        The lower fifth of it is taken for the posterior.

    Returns
    -------
    matplotlib axes
        Of the series; the band below is `ax.child_axes[0]`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> G = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9]])
    >>> ax = plot.regimes([0, 0, 1], G, [1.0, 1.2, 5.0])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['state 0', 'state 1']
    """
    from matplotlib import pyplot as plt

    z, G, x = (np.asarray(to_numpy(a)) for a in (states, posterior, x))
    n, k = G.shape
    if z.shape != (n,) or x.reshape(-1).shape != (n,):
        raise ValueError(f"states and x must have {n} entries, one for each step.")
    x = x.reshape(-1).astype(float)
    t = np.arange(n) if times is None else np.asarray(times)
    names = [f"state {j}" for j in range(k)] if names is None else list(names)
    names = [short_name(name) for name in names]
    colors = [series_color(j) for j in range(k)]
    ax = plt.subplots(figsize=(9, 4.5), layout="constrained")[1] if ax is None else ax
    ax.plot(t, x, color=EDGE, lw=0.8, zorder=1)
    for j in range(k):
        in_state = z == j
        ax.plot(
            t, np.where(in_state, x, np.nan), ".", ms=3, color=colors[j], label=names[j]
        )
    band = ax.inset_axes((0, -0.3, 1, 0.2), sharex=ax)
    band.stackplot(t, G.T, colors=colors, lw=0)
    band.set(ylim=(0, 1), yticks=[0, 1], ylabel="posterior")
    band.set_xlabel("time" if times is not None else "step")
    ax.tick_params(labelbottom=False)
    ax.margins(x=0)
    ax.legend(loc="upper left", markerscale=3, ncols=min(k, 5))
    return ax
