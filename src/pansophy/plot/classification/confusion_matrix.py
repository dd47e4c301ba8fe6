"""Confusion matrix of true and predicted classes."""

import numpy as np
from sklearn import metrics

from ..axes import get_axes
from ..style import INK, draw_styled, short_names

SIDES = ("true", "predicted")
SHARES = (None, "rows", "columns", "all")
NAMED = 25  # classes named at most on each side


@draw_styled
def confusion_matrix(
    y,
    predicted=None,
    *,
    labels=None,
    rows="true",
    normalize=None,
    weights=None,
    ax=None,
):
    """Confusion matrix: counts or shares of true and predicted classes.

    Parameters
    ----------
    y : array of shape (n,), or counts of shape (K, K) without `predicted`
        Classes; counts have the true classes in rows.
    predicted : array of shape (n,)
    labels : sequence, optional
        Classes in the order shown; names for a matrix of counts.
    rows : {"true", "predicted"}
        Which classes are in the rows of the figure; the others are in its columns.
    normalize : {"rows", "columns", "all"}, optional
        Shares of a row, of a column or of everything instead of counts.
    weights : array of shape (n,), optional
        Row weights.
    ax : matplotlib axes, optional

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> from pansophy import plot
    >>> ax = plot.confusion_matrix(["a", "b", "b"], ["a", "a", "b"], rows="predicted")
    >>> ax.get_ylabel(), [t.get_text() for t in ax.texts]
    ('predicted', ['1', '1', '0', '1'])
    """
    if rows not in SIDES:
        raise ValueError(f"rows must be 'true' or 'predicted', got {rows!r}.")
    if normalize not in SHARES:
        raise ValueError(f"normalize must be one of {SHARES}, got {normalize!r}.")
    C, labels = _confusion_counts(y, predicted, labels, weights)
    C = C if rows == "true" else C.T
    shown = _normalized_counts(C, normalize)
    ax = get_axes(ax)
    K = len(C)
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=max(shown.max(), 1e-12))
    size = 9.5 if K <= 8 else 7.5
    if K <= 20:
        for i, j in np.ndindex(K, K):
            ink = "white" if shown[i, j] > 0.6 * shown.max() else INK
            text = f"{C[i, j]:g}" if normalize is None else f"{shown[i, j]:.0%}"
            ax.text(j, i, text, ha="center", va="center", color=ink, fontsize=size)
    names = short_names(labels, 16)
    step = -(-K // NAMED)
    wide = max(map(len, names)) * K > 40
    ax.set_yticks(range(0, K, step), names[::step], fontsize=size)
    ax.set_xticks(range(0, K, step), names[::step], fontsize=size)
    if wide:
        ax.tick_params(axis="x", rotation=90 if K > 6 else 30)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    ax.set(ylabel=rows, xlabel=SIDES[1 - SIDES.index(rows)])
    return ax


def _confusion_counts(y, predicted, labels, weights=None):
    """The matrix with true classes in rows, and their names."""
    if predicted is None:
        C = np.asarray(y)
        if C.ndim != 2 or C.shape[0] != C.shape[1]:
            raise ValueError(f"counts must form a square, got shape {C.shape}.")
        names = range(len(C)) if labels is None else labels
        if len(names) != len(C):
            raise ValueError(f"{len(C)} classes but {len(names)} labels.")
        return C, list(names)
    y, predicted = np.asarray(y), np.asarray(predicted)
    if labels is None:
        labels = np.unique(np.concatenate([y, predicted]))
    C = metrics.confusion_matrix(y, predicted, labels=labels, sample_weight=weights)
    return C, list(labels)


def _normalized_counts(C, normalize):
    """Counts divided by the sums of rows, columns or all; 0 where a sum is 0."""
    if normalize is None:
        return C
    axis = {"rows": 1, "columns": 0, "all": None}[normalize]
    total = C.sum(axis=axis, keepdims=True)
    return np.divide(C, total, out=np.zeros(C.shape), where=total > 0)
