"""SHAP summary figures: bar chart and beeswarm of `tree.shap_values`."""

import numpy as np

from ..axes import get_axes
from ..style import EDGE, draw_styled, pale_grid


def _values_of_output(explanation, output):
    """Values (n, d) of one output; the last of several by default."""
    V = np.asarray(explanation.values, float)
    if V.ndim == 2:
        return V
    names = explanation.output_names
    if output is None:
        return V[:, :, -1]
    if names is not None and output in names:
        return V[:, :, list(names).index(output)]
    raise ValueError(f"output must be one of {names}, got {output!r}.")


def largest_features(V, limit):
    """Features by mean |value|, the largest last, at most `limit` of them."""
    size = np.abs(V).mean(axis=0)
    return np.argsort(-size, kind="stable")[:limit][::-1], size


@draw_styled
def shap_bar(explanation, *, output=None, limit=15, ax=None):
    """Bar chart of the mean absolute SHAP value of each feature.

    Parameters
    ----------
    explanation : Explanation
        As `tree.shap_values` gives it.
    output : name of an output, default=None
        Of several; None takes the last.
    limit : int, default=15
        Most features shown.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.tree import DecisionTreeRegressor, shap_values
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = DecisionTreeRegressor().fit(X, [0.0, 0.0, 2.0, 6.0])
    >>> plot.shap_bar(shap_values(model, X)).get_xlabel()
    'mean |value|'
    """
    V, ax = _values_of_output(explanation, output), get_axes(ax)
    shown, size = largest_features(V, limit)
    ax.barh([str(explanation.feature_names[j]) for j in shown], size[shown])
    ax.set_xlabel("mean |value|")
    pale_grid(ax, "x")
    return ax


@draw_styled
def shap_beeswarm(explanation, *, output=None, limit=15, ax=None):
    """Beeswarm of SHAP values: a dot per row and feature, coloured by its value.

    Parameters
    ----------
    explanation : Explanation
        As `tree.shap_values` gives it.
    output : name of an output, default=None
        Of several; None takes the last.
    limit : int, default=15
        Most features shown.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> from pansophy.tree import DecisionTreeRegressor, shap_values
    >>> X = [[0, 0], [0, 1], [1, 0], [1, 1]]
    >>> model = DecisionTreeRegressor().fit(X, [0.0, 0.0, 2.0, 6.0])
    >>> plot.shap_beeswarm(shap_values(model, X)).get_xlabel()
    'value'
    """
    V, ax = _values_of_output(explanation, output), get_axes(ax)
    shown, _ = largest_features(V, limit)
    data = features_as_numbers(explanation.data, V.shape)
    for row, j in enumerate(shown):
        ax.scatter(
            V[:, j],
            row + 0.35 * swarm_offsets(V[:, j]),
            c=scaled_ranks(data[:, j]),
            cmap="coolwarm",
            vmin=0,
            vmax=1,
            s=8,
        )
    ax.axvline(0, color=EDGE, lw=0.8, zorder=0)
    ax.set_yticks(range(len(shown)), [str(explanation.feature_names[j]) for j in shown])
    ax.set_xlabel("value")
    pale_grid(ax, "x")
    return ax


def swarm_offsets(v, bins=60):
    """Heights from -1 to 1 that spread out values which are close together."""
    span = np.ptp(v)
    cell = np.zeros(len(v), int) if span == 0 else ((v - v.min()) / span * bins)
    cell = np.asarray(cell, int)
    order = np.argsort(cell, kind="stable")
    _, first, size = np.unique(cell[order], return_index=True, return_counts=True)
    place = np.arange(len(v)) - np.repeat(first, size)
    out = np.empty(len(v))
    out[order] = (-1.0) ** place * ((place + 1) // 2)
    return out / max(1.0, np.abs(out).max())


def features_as_numbers(X, shape):
    """X as numbers; columns of anything else by the order of their values."""
    columns = X.to_numpy() if hasattr(X, "to_numpy") else X
    columns = columns.toarray() if hasattr(columns, "toarray") else np.asarray(columns)
    out = np.empty(shape)
    for j, column in enumerate(columns.T):
        try:
            out[:, j] = column.astype(float)
        except (TypeError, ValueError):
            out[:, j] = np.unique(column.astype(str), return_inverse=True)[1]
    return out


def scaled_ranks(x):
    """Places of values from 0 to 1; missing ones in the middle."""
    out = np.full(len(x), 0.5)
    seen = ~np.isnan(x)
    if seen.any():
        values, place = np.unique(x[seen], return_inverse=True)
        out[seen] = place / max(len(values) - 1, 1)
    return out
