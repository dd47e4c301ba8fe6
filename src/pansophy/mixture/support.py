"""What the families of a mixture can hold: one sentence for a value that none could.

A family outside of its support has no likelihood to raise; EM on it ends in numbers
that are none. Fractions are let through where they have a meaning of their own: shares
of a yes (grey values) for Bernoulli, weighted counts for the multinomial.
"""

import numpy as np

from ..core import arrays

SUPPORTS = {
    "Poisson": (lambda x: (x >= 0) & (x == np.floor(x)), "whole numbers of at least 0"),
    "Bernoulli": (lambda x: (x >= 0) & (x <= 1), "numbers from 0 to 1"),
    "Multinomial": (lambda x: x >= 0, "counts of at least 0"),
    "Gamma": (lambda x: x > 0, "numbers above 0"),
    "Beta": (lambda x: (x > 0) & (x < 1), "numbers between 0 and 1, ends excluded"),
    "Dirichlet": (
        lambda x: (x > 0) & (np.abs(x.sum(1, keepdims=True) - 1) < 1e-4),
        "numbers above 0 that sum to 1 in each row",
    ),
}


def check_support(data, groups, names=None):
    """Refuse rows (`core.rows`) that the family of a group of columns cannot hold."""
    kinds = [(g.columns, type(g.distribution).__name__) for g in groups]
    kinds = [(columns, kind) for columns, kind in kinds if kind in SUPPORTS]
    if not kinds:
        return

    def worst(X, *_):
        """(1, d): a value of each column that does not fit, or NaN."""
        X = arrays.to_numpy(X)
        found = np.full((1, X.shape[1]), np.nan)
        for columns, kind in kinds:
            wrong = ~SUPPORTS[kind][0](X[:, columns])
            rows, at = np.nonzero(wrong)
            found[0, columns[at]] = X[rows, columns[at]]
        return found

    found = arrays.to_numpy(data.map(worst))
    for columns, kind in kinds:
        for f in columns:
            bad = found[~np.isnan(found[:, f]), f]
            if len(bad):
                name = int(f) if names is None else names[f]
                raise ValueError(
                    f"column {name!r} of X holds {bad[0]:g}, but the {kind} family "
                    f"takes {SUPPORTS[kind][1]}."
                )
