"""What estimators with a Gaussian process share: their kernel parameter and rows."""

from typing import Annotated, Any

import numpy as np

from ..base import Estimator, validate_rows
from ..core.overflow import refuse_overflowing_squares
from ..kernels import AbstractKernel
from ..kernels.base import holds_objects, object_rows
from ..kernels.lookup import is_sklearn_kernel
from ..params import ParameterRule

ProcessKernel = Annotated[
    Any,
    ParameterRule(
        'None, "auto", a kernel or a function',
        lambda v: (
            v is None
            or (isinstance(v, str) and v == "auto")
            or isinstance(v, AbstractKernel)
            or is_sklearn_kernel(v)
            or callable(v)
        ),
    ),
]


class AbstractGaussianProcess(Estimator):
    """A model with fields `kernel` and `copy_X_train`; X_train_ when fitted."""

    _tensors = False

    def _are_objects(self, X) -> bool:
        """Whether X is a list of objects that the kernel takes, not a table."""
        kernel: Any = self.kernel
        if getattr(kernel, "requires_vector_input", True):
            return False
        return np.asarray(X).ndim != 2 or holds_objects(np.asarray(X))

    def _check_rows(self, X, y, y_kind):
        """Training rows in float64, or objects of the kernel, and targets."""
        if self._are_objects(X):
            X, _ = object_rows(X)
            places = np.arange(len(X), dtype=float)[:, None]
            _, y, _ = self._check_training_data(places, y, y_kind=y_kind)
            return X, y
        X, y, _ = self._check_training_data(X, y, y_kind=y_kind)
        X = np.array(X, np.float64, copy=self.copy_X_train or None)
        refuse_overflowing_squares(self, X)
        return X, y

    def _check_new_rows(self, X):
        if self._are_objects(X):
            return object_rows(X)[0]
        if not hasattr(self, "X_train_"):
            return validate_rows(self, X, reset=False, dtype=np.float64)
        return np.asarray(self._check_new_data(X), np.float64)
