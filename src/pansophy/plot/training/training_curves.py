"""Training curves of a net: losses and scores by epoch."""

import numpy as np

from ..axes import get_axes
from ..style import GREY, draw_styled, line_style, pale_grid, short_name

SPEEDS = ("rows_per_second", "flops_per_second", "mfu")


@draw_styled
def training_curves(model, names=None, *, log=False, ax=None):
    """Metrics of a training run by epoch, with the best epoch marked.

    Parameters
    ----------
    model : fitted estimator with `history_`, or a result or dict of such a history
    names : sequence of str or None, default=None
        What to draw; names that were not measured are left out. None: all losses and
        scores, not speeds.
    log : bool, default=False
        Whether the axis is logarithmic.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> history = {"loss": [3.0, 2.0, 1.0], "valid_loss": [3.0, 2.5, 2.7]}
    >>> ax = plot.training_curves(history)
    >>> len(ax.lines), ax.get_xlabel()
    (3, 'epoch')
    """
    history = model if isinstance(model, dict) else None
    if history is None:
        history = getattr(model, "history_", getattr(model, "history", None))
    if not history:
        raise ValueError("there is no history: the model is not fitted, or has none.")
    if names is None:
        names = [name for name in history if name not in SPEEDS]
    shown = [name for name in names if name in history]
    if not shown:
        raise ValueError(
            f"nothing named {', '.join(names)} was measured; there is "
            f"{', '.join(history)}."
        )
    ax = get_axes(ax)
    for k, name in enumerate(shown):
        values = np.asarray(history[name], float)
        epochs = np.arange(1, len(values) + 1)
        ax.plot(epochs, values, label=short_name(name), **line_style(k))
    if "valid_loss" in shown and len(history["valid_loss"]):
        best = int(np.nanargmin(history["valid_loss"])) + 1
        ax.axvline(best, color=GREY, lw=1, ls=":", label=f"best epoch: {best}")
    if log:
        ax.set_yscale("log")
    ax.set(xlabel="epoch", ylabel="loss" if len(shown) > 1 else short_name(shown[0]))
    pale_grid(ax)
    ax.legend(loc="best")
    return ax
