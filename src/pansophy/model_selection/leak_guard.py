"""A guard against leakage: fitting or tuning that touches test rows raises.

`LeakGuard(X, y, test=...)` hands out views `X` and `y` that can be cut like arrays.
Cutting out a locked row, or turning the whole view into an array as `fit` does, is a
`LeakError`. `test()` opens the lock once, at the end: from then on nothing may be
fitted any more, until `release()` gives everything for the final refit.

`parameters_of(model)` keeps what was set beforehand apart from what was learned.
"""

from typing import Any, NamedTuple

import numpy as np

from ..core.arrays.frames import rows_of_table
from ..core.random import make_rng


class LeakError(ValueError):
    """A fit or a search has touched rows that were kept for the test."""


def _row_count(X) -> int:
    """Number of rows; a sparse matrix has a shape but no length."""
    return X.shape[0] if hasattr(X, "tocsr") else len(X)


class LockedRows:
    """Rows that can be cut out, except those under lock."""

    def __init__(self, data, guard):
        self._data, self._guard = data, guard
        self.shape = (_row_count(data), *getattr(data, "shape", ())[1:])
        self.ndim = len(self.shape)

    def __len__(self):
        return self.shape[0]

    def __getitem__(self, key):
        rows, rest = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        row_numbers = np.arange(len(self))[rows]
        self._guard.check(np.atleast_1d(row_numbers))
        part = rows_of_table(self._data, row_numbers)
        return part[(slice(None), *rest)] if rest else part

    def __array__(self, *_, **__):
        self._guard.check(np.arange(len(self)))
        return np.asarray(self._data)

    def __iter__(self):
        self._guard.check(np.arange(len(self)))
        return iter(self._data)

    def __repr__(self):
        return f"Locked(shape={self.shape}, locked={len(self._guard.locked)})"


class LeakGuard:
    """Keeps test rows from every fit.

    Parameters
    ----------
    X : array, data frame, sparse matrix, or anything cut by rows
    y : array (n,) or None
    test : float, or array of row numbers or of bool
        A share is drawn at random.
    random_state : None, int, RandomState or Generator

    Attributes
    ----------
    X, y : Locked
    locked, free : arrays of row numbers
    opened : bool
        Whether the test rows have been read.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare import LeakGuard
    >>> from pansophy.linear_model import Ridge
    >>> X, y = np.arange(10.0)[:, None], np.arange(10.0)
    >>> guard = LeakGuard(X, y, test=[8, 9])
    >>> Ridge().fit(guard.X, guard.y)
    Traceback (most recent call last):
    ...
    pansophy.model_selection.leak_guard.LeakError: 2 of these rows are locked ...
    >>> model = Ridge().fit(guard.X[guard.free], guard.y[guard.free])
    >>> X_test, y_test = guard.test()
    >>> len(X_test)
    2
    """

    def __init__(self, X, y=None, *, test=0.2, random_state=0):
        n = _row_count(X)
        if y is not None and len(y) != n:
            raise ValueError(f"X has {n} rows, but y has {len(y)} entries.")
        if isinstance(test, (float, np.floating)):
            if not 0 < test < 1:
                raise ValueError(f"test must be between 0 and 1, got {test}.")
            k = max(1, round(test * n))
            test = make_rng(random_state).permutation(n)[:k]
        self.locked = np.unique(np.arange(n)[np.asarray(test)])
        self.free = np.setdiff1d(np.arange(n), self.locked)
        if len(self.locked) == 0 or len(self.free) == 0:
            raise ValueError("test must leave rows on both sides of the lock.")
        self._data = (X, y)
        self.opened = False
        self.X = LockedRows(X, self)
        self.y = None if y is None else LockedRows(np.asarray(y), self)

    def check(self, rows) -> None:
        """Raise unless all of these rows may be seen by a fit."""
        if self.opened:
            raise LeakError(
                "The test rows have been read: nothing may be fitted or tuned any more."
            )
        touched = np.intersect1d(rows, self.locked)
        if len(touched):
            raise LeakError(
                f"{len(touched)} of these rows are locked for the test, the first is "
                f"row {touched[0]}: fit and tune on the rows `free` only."
            )

    def test(self):
        """The test rows (X, y): once, at the end."""
        if self.opened:
            raise LeakError("The test rows have been read already: once is the rule.")
        self.opened = True
        X, y = self._data
        part = None if y is None else np.asarray(y)[self.locked]
        return rows_of_table(X, self.locked), part

    def release(self):
        """All rows (X, y) for the final refit, once the test is over."""
        if not self.opened:
            raise LeakError("The rows are released after the test has been read.")
        return self._data


class PresetAndFitted(NamedTuple):
    """Attributes that were set beforehand, and those learned from rows."""

    preset: dict[str, Any]
    fitted: dict[str, Any]

    def __str__(self):
        say = lambda d: ", ".join(d) or "none"
        return f"preset: {say(self.preset)}\nfitted: {say(self.fitted)}"


def parameters_of(model) -> PresetAndFitted:
    """Preset and fitted parameters of an estimator or pipeline, listed apart.

    Examples
    --------
    >>> from pansophy.compare import parameters_of
    >>> from pansophy.linear_model import Ridge
    >>> found = parameters_of(Ridge(alpha=2.0).fit([[0.0], [1.0]], [0.0, 1.0]))
    >>> found.preset["alpha"], "coef_" in found.fitted
    (2.0, True)
    """
    if not hasattr(model, "get_params"):
        raise TypeError(
            f"{type(model).__name__} is no estimator: it has no get_params."
        )
    parts = {k: v for k, v in model.get_params().items() if hasattr(v, "get_params")}
    preset = {k: v for k, v in model.get_params().items() if k not in parts}
    fitted = {}
    for prefix, part in {"": model, **parts}.items():
        for name, value in vars(part).items():
            if name.endswith("_") and not name.startswith("_"):
                fitted[f"{prefix}__{name}" if prefix else name] = value
    return PresetAndFitted(preset, fitted)
