"""Attention maps: which keys each query looks at."""

import numpy as np

from ...core.arrays import arrays
from ..chains.trace import panel_axes
from ..style import draw_styled

NAMED = 30  # steps named at most on each side


@draw_styled
def attention(weights, queries=None, keys=None, *, ax=None):
    """Weights of attention as pictures, a panel for each head.

    Rows are queries, columns keys; each row sums to 1, or to 0 where a query may see
    no key.

    Parameters
    ----------
    weights : array or tensor of shape (L, S) or (heads, L, S)
        As `nn.MultiHeadAttention.attention_weights` gives them for one sequence.
    queries, keys : sequences of str, optional
        Names of the steps; keys are named as queries if there are as many.
    ax : array of one matplotlib axes a head, optional

    Returns
    -------
    ndarray of matplotlib axes, shape (heads,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> axes = plot.attention(np.tril(np.ones((2, 3, 3))) / [[1], [2], [3]])
    >>> [a.get_title() for a in axes]
    ['head 0', 'head 1']
    """
    A = np.asarray(arrays.to_numpy(weights), dtype=float)
    A = A[None] if A.ndim == 2 else A
    if A.ndim != 3:
        raise ValueError(
            f"weights must be (L, S) or (heads, L, S), got {A.ndim} dimensions: take "
            "one sequence."
        )
    heads, L, S = A.shape
    keys = queries if keys is None and L == S else keys
    axes = panel_axes(ax, 1, heads, height=2.6, width=2.8 * heads)[0]
    for h, panel in enumerate(axes):
        panel.imshow(A[h], cmap="Blues", vmin=0, vmax=max(A[h].max(), 1e-12))
        panel.set_xlabel("key")
        panel.set_title(f"head {h}" if heads > 1 else "")
        _name_steps(panel.xaxis, keys, S)
        _name_steps(panel.yaxis, queries, L)
    axes[0].set_ylabel("query")
    return axes


def _name_steps(axis, names, n):
    """Names at the ticks of an axis, not more than fit."""
    if names is None:
        return
    if len(names) != n:
        raise ValueError(f"{n} names of steps are needed, got {len(names)}.")
    step = -(-n // NAMED)
    axis.set_ticks(range(0, n, step), [str(names[i]) for i in range(0, n, step)])
    if axis.axis_name == "x":
        axis.set_tick_params(rotation=90)
