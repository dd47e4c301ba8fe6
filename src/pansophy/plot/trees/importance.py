"""Bar chart of feature importances with their standard errors."""

import numpy as np

from ..style import BLUE, GREY, INK, draw_styled, pale_grid, row_axes, short_names


@draw_styled
def importance(names, values=None, errors=None, *, limit=15, label=None, ax=None):
    """Importances of columns as bars, the largest on top.

    Parameters
    ----------
    names : sequence of d names, or a fitted estimator with `feature_importances_`
    values : array of shape (d,) or (d, repeats), optional
        Loss of score; several repeats give mean and spread. Those of an estimator are
        its own.
    errors : array of shape (d,), optional
        Half the length of each error bar.
    limit : int
        Most columns shown.
    label : str, optional
        Of the axis.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.importance(["a", "b"], [0.1, 0.3])
    >>> [t.get_text() for t in ax.get_yticklabels()]
    ['b', 'a']
    """
    if hasattr(names, "feature_importances_"):
        model = names
        values = model.feature_importances_ if values is None else values
        columns = [f"x{j}" for j in range(len(values))]
        names = getattr(model, "feature_names_in_", columns)
        label = "share of the gain" if label is None else label
    V = np.asarray(values, float)
    if V.ndim == 2:
        errors = V.std(axis=1) if errors is None else errors
        V = V.mean(axis=1)
    if len(names) != len(V):
        raise ValueError(f"{len(names)} names but {len(V)} importances.")
    order = np.argsort(-V, kind="stable")[:limit]
    ax = row_axes(ax, len(order))
    place = np.arange(len(order))
    colors = [BLUE if V[j] > 0 else GREY for j in order]
    ax.barh(place, V[order], color=colors, height=0.7)
    if errors is not None:
        spread = np.asarray(errors, float)[order]
        ax.errorbar(V[order], place, xerr=spread, fmt="none", ecolor=INK, lw=1)
    ax.axvline(0, color=INK, lw=0.8)
    ax.set_yticks(place, short_names([names[j] for j in order]))
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.tick_params(axis="y", length=0)
    ax.set_xlabel(label or "worse score when the column is shuffled")
    pale_grid(ax, "x")
    left = len(V) - len(order)
    if left > 0:
        ax.set_title(f"the {len(order)} largest of {len(V)}", loc="right", fontsize=8.5)
    return ax
