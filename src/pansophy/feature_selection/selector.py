"""Base class of the feature selectors, and helpers that they share.

It is not in `base.py` with the other roles because scikit-learn's `SelectorMixin` takes
half a second to import.
"""

import numpy as np
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator, Transformer, check_sparse_structure
from ..core.arrays.arrays import is_foreign, take_columns
from ..core.arrays.labels import plain_numbers
from ..core.arrays.open_rows import is_table_in_blocks
from ..core.arrays.unreadable import array_of_rows


class AbstractSelector(SelectorMixin, Transformer, Estimator):
    """Keeps some of the columns; `fit` sets `support_`, a mask over them."""

    _tensors = False

    def _get_support_mask(self):
        check_is_fitted(self)
        return self.support_

    def transform(self, X):
        """The columns of X that are kept."""
        if is_foreign(X):
            return take_columns(self._check_new_data(X), np.flatnonzero(self.support_))
        if sparse.issparse(X):
            check_sparse_structure(X)
        elif isinstance(X, (list, tuple)):
            X = array_of_rows(X, f"X of {type(self).__name__}")
        elif is_table_in_blocks(self, X):
            kept = self.get_support()
            return self._check_new_data(X).map(lambda x: x[:, kept], blas=False)
        return super().transform(X)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def checked_n_features(wanted, d, name, default):
    """The number of columns to keep, from None or "auto", a count or a fraction."""
    if wanted is None or wanted == "auto":
        return default
    k = int(wanted * d) if isinstance(wanted, float) else int(wanted)
    if not 0 < k <= d:
        raise ValueError(
            f"n_features_to_select of {name} must be from 1 to {d}, got {wanted}."
        )
    return k


def is_continuous_target(y) -> bool:
    """Whether y holds continuous numbers rather than classes."""
    try:
        return type_of_target(plain_numbers(y)).startswith("continuous")
    except (TypeError, ValueError):
        return False


def estimator_or_least_squares(estimator):
    """The estimator, or least squares for None."""
    if estimator is not None:
        return estimator
    from ..linear_model import LinearRegression

    return LinearRegression()
