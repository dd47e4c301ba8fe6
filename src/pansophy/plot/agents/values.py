"""Values of states from sweep to sweep of a planner."""

import numpy as np

from ..axes import get_axes
from ..style import draw_styled, line_style, pale_grid

NAMED_STATES = 10  # more get no entry in the legend


@draw_styled
def values(iterates, *, limit=None, ax=None):
    """Values of every state by sweep.

    Parameters
    ----------
    iterates : array of shape (n_sweeps, S), or result of a planner
        V_1, V_2, ...; a result must have them as `history["V"]`, as those of
        `q_iteration`, `policy_iteration` and `value_iteration(n_evaluations=0)` do.
    limit : array of shape (S,) or None
        The best values, drawn as dotted lines.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.rl import q_iteration
    >>> P = [[[1, 0], [0, 1]], [[0.2, 0.8], [0.8, 0.2]]]  # stay, go
    >>> found = q_iteration(P, [[0, 0], [1, 0]], gamma=0.9)
    >>> len(plot.values(found, limit=found.V).lines)
    4
    """
    history = getattr(iterates, "history", None)
    if history is not None:
        if "V" not in history:
            raise ValueError(
                "the result has no values by sweep: use q_iteration, or "
                "value_iteration with n_evaluations=0."
            )
        iterates = history["V"]
    V = np.asarray(iterates, float)
    if V.ndim != 2 or not V.size:
        raise ValueError(f"iterates must have shape (n_sweeps, S), got {V.shape}.")
    S = V.shape[1]
    if limit is not None and np.shape(limit) != (S,):
        raise ValueError(f"limit must have shape ({S},), got {np.shape(limit)}.")
    ax = get_axes(ax)
    sweeps = np.arange(1, len(V) + 1)
    for s in range(S):
        label = f"state {s}" if S <= NAMED_STATES else None
        ax.plot(sweeps, V[:, s], label=label, **line_style(s))
        if limit is not None:
            ax.axhline(limit[s], color=line_style(s)["color"], lw=0.8, ls=":")
    ax.set(xlabel="sweeps", ylabel="value")
    pale_grid(ax)
    if S <= NAMED_STATES:
        ax.legend(loc="best")
    return ax
