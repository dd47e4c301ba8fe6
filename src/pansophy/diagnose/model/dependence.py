"""Partial dependence and individual conditional expectation of predictions.

With f the model, x_S the column and x_i the rest of row i,

    partial dependence   g(v) = mean_i f(v, x_i)                                   (1)
    of a single row      g_i(v) = f(v, x_i)                                        (2)

The values v occur in the column. Where columns are dependent, (v, x_i) may be
rows that never occur; the individual curves (2) show whether the mean hides opposite
effects.

Cost      a prediction of n rows for each value
Refs      [Friedman2001] (1); [Goldstein2015] (2)
"""

from typing import NamedTuple

import numpy as np
from sklearn.base import is_classifier

from ...core.arrays.codes import missing_mask
from ...core.random import make_rng
from ..data.column_access import (
    column_labels,
    column_position,
    column_values,
    indexable_rows,
    n_rows,
    select_rows,
    with_permuted_column,
)
from ..data.column_parts import holds_text


class Dependence(NamedTuple):
    """Predictions as a function of one column."""

    column: str
    values: list  # numbers, or texts of a category
    mean: np.ndarray  # (values, outputs): eq. (1)
    rows: np.ndarray  # (rows, values, outputs): eq. (2)
    outputs: list[str]

    def __str__(self):
        low = self.mean[:, -1].min()
        high = self.mean[:, -1].max()
        return (
            f"Along '{self.column}' the mean prediction of {self.outputs[-1]} goes "
            f"from {low:.4g} to {high:.4g}."
        )


def partial_dependence(
    model, X, columns, *, names=None, points=20, most=500, random_state=0
) -> list[Dependence]:
    """Partial dependence and individual curves of predictions on some columns.

    Parameters
    ----------
    model : fitted estimator
        Probabilities are taken where it gives them: of the second of two classes, or
        of every class.
    X : table of rows, better those that the model has not seen
    columns : names or places
    names : of the columns, where X has none
    points : int
        Values of a column of numbers, at quantiles; the commonest of a category.
    most : int
        Rows asked about.
    random_state : seed
        Chooses them.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.diagnose import partial_dependence
    >>> from pansophy.linear_model import LinearRegression
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> model = LinearRegression().fit(X, 2 * X[:, 0] + X[:, 1])
    >>> d = partial_dependence(model, X, [0])[0]
    >>> slope = np.polyfit(d.values, d.mean[:, 0], 1)[0]
    >>> print(f"{slope:.3f}")
    2.000
    """
    X = indexable_rows(X)
    rng = make_rng(random_state)
    names = column_labels(X, names)
    n = n_rows(X)
    sampled = np.sort(rng.permutation(n)[:most])
    return [
        response_along_column(
            model, X, column_position(names, c), names, sampled, points
        )
        for c in columns
    ]


def response_along_column(model, X, j, names, some, points) -> Dependence:
    """Partial dependence of one column, eqs. (1) and (2), over the rows in `some`."""
    rows, values = representative_rows(column_values(X, j), points)
    m = len(some)
    stacked = select_rows(
        X, np.concatenate([some, rows])
    )  # those asked about, those with values
    answers = []
    for k in range(len(rows)):  # every row gets the value of the k-th of the latter
        alike = with_permuted_column(stacked, j, np.full(m + len(rows), m + k))
        answers.append(predictions_matrix(model, alike)[:m])
    G = np.stack(answers, axis=1)
    outputs = ["prediction"]
    if is_classifier(model) and hasattr(model, "predict_proba"):
        outputs = [str(c) for c in model.classes_][-G.shape[2] :]
    return Dependence(names[j], values, G.mean(0), G, outputs)


def predictions_matrix(model, X) -> np.ndarray:
    """Probabilities or predicted numbers as a matrix (n, outputs)."""
    if is_classifier(model) and hasattr(model, "predict_proba"):
        p = np.asarray(model.predict_proba(X), float)
        return p[:, 1:] if p.shape[1] == 2 else p
    p = np.asarray(model.predict(X), float)
    return p[:, None] if p.ndim == 1 else p


def representative_rows(v, points):
    """Rows that hold the values of the grid, and the values themselves."""
    known = np.flatnonzero(~missing_mask(v))
    if len(known) == 0:
        return [0], ["missing"]
    seen = v[known]
    if holds_text(seen) or seen.dtype.kind == "b":
        text = seen.astype(str)
        levels, first, size = np.unique(text, return_index=True, return_counts=True)
        kept = np.sort(np.argsort(-size, kind="stable")[: max(points, 1)])
        return known[first[kept]], levels[kept].tolist()
    number = seen.astype(float)
    order = np.argsort(number, kind="stable")
    positions = np.linspace(0.02, 0.98, points) * (len(order) - 1)
    _, first = np.unique(
        number[order[positions.round().astype(int)]], return_index=True
    )
    rows = known[order[positions.round().astype(int)[first]]]
    return rows, [float(x) for x in v[rows]]
