"""Regularization path of coefficients, and validation curve along a parameter."""

import numpy as np

from ..axes import get_axes
from ..style import (
    EDGE,
    ORANGE,
    draw_styled,
    log_axis,
    pale_grid,
    series_color,
    short_name,
)


@draw_styled
def regularization_path(alphas, coefs, *, names=None, limit=10, ax=None):
    """Coefficients against the penalty, strongest on the left.

    Parameters
    ----------
    alphas : array of shape (m,)
    coefs : array of shape (d, m) or (m, d)
        As `lasso_path` or `ridge_path` give them.
    names : d names, optional
        The `limit` largest coefficients are named in a legend.
    limit : int
        Most entries of the legend.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy import plot
    >>> from pansophy.linear_model import lasso_path
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> alphas, coefs, _ = lasso_path(X, X[:, 0])
    >>> plot.regularization_path(alphas, coefs).get_xlabel()
    'penalty'
    """
    alphas, C = np.asarray(alphas, float), np.asarray(coefs, float)
    if C.ndim != 2 or len(alphas) not in C.shape:
        raise ValueError(
            f"coefs must have one column for each of {len(alphas)} alphas, got shape "
            f"{C.shape}."
        )
    C = C if C.shape[1] == len(alphas) else C.T
    ax = get_axes(ax)
    last = C[:, int(np.argmin(alphas))]
    shown = set(np.argsort(-np.abs(last), kind="stable")[:limit])
    for j, line in enumerate(C):
        label = short_name(names[j]) if names is not None and j in shown else None
        ax.plot(alphas, line, lw=1.2, color=series_color(j), label=label)
    ax.axhline(0, color=EDGE, lw=0.8, zorder=0)
    if np.all(alphas > 0):
        log_axis(ax)
    ax.invert_xaxis()
    ax.set(xlabel="penalty", ylabel="coefficient")
    if names is not None:
        ax.legend()
    pale_grid(ax)
    return ax


@draw_styled
def validation_curve(values, train, test, *, label="value", log=False, ax=None):
    """Errors on training and held-out rows against a parameter, the best marked.

    Parameters
    ----------
    values : array of shape (m,)
    train, test : arrays of shape (m,) or (m, folds)
        Errors: lower is better.
    label : str
        Name of the parameter.
    log : bool
        Whether the axis of the values is logarithmic.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.validation_curve([1, 2, 3], [3, 2, 1], [3.5, 2.5, 4], label="degree")
    >>> ax.get_xlabel()
    'degree'
    """
    values, ax = np.asarray(values, float), get_axes(ax)
    means = {}
    for name, errors in {"training": train, "held out": test}.items():
        E = np.asarray(errors, float)
        E = E[:, None] if E.ndim == 1 else E
        if len(E) != len(values):
            raise ValueError(f"{len(values)} values but {len(E)} {name} errors.")
        means[name] = mean = E.mean(axis=1)
        ax.plot(values, mean, ".-", label=name)
        if E.shape[1] > 1:
            se = E.std(axis=1, ddof=1) / np.sqrt(E.shape[1])
            ax.fill_between(values, mean - se, mean + se, alpha=0.2)
    best = int(np.argmin(means["held out"]))
    ax.plot(values[best], means["held out"][best], "*", color=ORANGE, ms=12)
    ax.set(xlabel=short_name(label, 40), ylabel="error")
    if log:
        log_axis(ax)
    ax.legend()
    pale_grid(ax)
    return ax
