"""Rejection sampling: a target density under its envelope, and the accepted draws."""

import numpy as np

from ..axes import get_axes
from ..style import BLUE, GREY, INK, PINK, draw_styled, pale_grid


@draw_styled
def rejection_envelope(
    log_prob, proposal, *, log_k=0.0, bounds, n=400, random_state=0, ax=None
):
    """Density p' under k q, with points uniform under k q, those kept in colour.

    The share of points kept is the acceptance rate Z / k; where p' rises above k q the
    place is marked in red.

    Parameters
    ----------
    log_prob : function
        log p' of draws of the proposal.
    proposal : law of one variable
        As in `pansophy.sampling.rejection_sample`.
    log_k : float
    bounds : (low, high)
        Part of the axis to draw.
    n : int
        Number of points.
    random_state : int, Generator, RandomState or None
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import stats
    >>> from pansophy import plot
    >>> hill = lambda x: np.log(6 * x * (1 - x))
    >>> ax = plot.rejection_envelope(
    ...     hill, stats.uniform(), log_k=np.log(1.5), bounds=(0.01, 0.99)
    ... )
    >>> ax.get_legend().get_texts()[-1].get_text()
    'refused'
    """
    from ...core.random import make_rng
    from ...sampling.densities.distribution_interface import (
        as_distribution,
        draw_samples,
        log_density_function,
    )

    ax, q, rng = get_axes(ax), as_distribution(proposal), make_rng(random_state)
    log_q = log_density_function(q)
    shaped = draw_samples(q, 2, np.random.default_rng(0)).ndim
    t = np.linspace(*bounds, 400)
    grid = t if shaped == 1 else t[:, None]
    p = np.exp(np.asarray(log_prob(grid), dtype=float).reshape(len(t)))
    top = np.exp(log_k + log_q(grid))
    x = draw_samples(q, n, rng)
    height = rng.random(n) * np.exp(log_k + log_q(x))
    is_kept = height <= np.exp(np.asarray(log_prob(x), dtype=float).reshape(n))
    x = x.reshape(n)
    ax.plot(t, top, color=INK, lw=1.2, label="envelope k q")
    ax.plot(t, p, color=BLUE, lw=1.8, label="target p'")
    ax.fill_between(t, p, color=BLUE, alpha=0.12)
    exceeds = p > top * (1 + 1e-9)
    if exceeds.any():
        ax.fill_between(t, top, p, where=exceeds, color=PINK, alpha=0.5, label="above")
    ax.scatter(
        x[is_kept],
        height[is_kept],
        s=8,
        color=BLUE,
        label=f"kept: {is_kept.mean():.2f}",
    )
    ax.scatter(x[~is_kept], height[~is_kept], s=8, color=GREY, label="refused")
    ax.set(xlim=tuple(bounds), ylim=(0, None), xlabel="x", ylabel="density")
    ax.legend(fontsize="small")
    pale_grid(ax)
    return ax
