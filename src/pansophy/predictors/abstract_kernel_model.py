"""Base class of kernel models: kernel, rows, and f(x) = sum_i a_i k(x, x_i).

The kernel is a name of scikit-learn's with `gamma`, `degree` and `coef0`, a kernel of
`pansophy.kernels`, one of `sklearn.gaussian_process`, a function, or "precomputed", in
which case X is the Gram matrix: (n, n) to fit, (m, n) to predict. Kernels of strings
and other objects take lists of them.
"""

import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.arrays.arrays import asarray, is_foreign, to_numpy
from ..core.arrays.overflow import refuse_overflowing_squares
from ..kernels import KERNEL_NAMES, AbstractKernel, get_kernel
from ..kernels.base import object_rows, takes_objects
from ..kernels.given import refuse_asymmetric
from ..kernels.lookup import SCALED_BY_COLUMNS, is_sklearn_kernel
from ..params import NonNegative, Number, ParameterRule
from ..persist.saved_state import AnyArray, saved_state

SPARSE = {"accept_sparse": "csr"}
SYMMETRIC_DIGITS = 1e-5  # share by which a matrix made in float32 may be asymmetric
NAMES_WITH_GAMMA = {*SCALED_BY_COLUMNS, "chi2"}
WORDS = ", ".join(repr(name) for name in (*KERNEL_NAMES, "precomputed"))


def is_kernel_parameter(value) -> bool:
    """Whether a value of the parameter `kernel` can be understood."""
    if isinstance(value, str):
        return value in (*KERNEL_NAMES, "precomputed")
    return (
        isinstance(value, AbstractKernel) or is_sklearn_kernel(value) or callable(value)
    )


KernelParameter = Annotated[
    str | AbstractKernel | Callable,
    ParameterRule(f"one of {WORDS}, a kernel or a function", is_kernel_parameter),
]


@saved_state(X_fit_=AnyArray("rows", ...))  # numbers, or strings and other objects
@dataclass(eq=False, repr=False)
class AbstractKernelModel(Estimator):
    """Parameters and helpers of the kernel models; `KernelRidge` describes them."""

    _: KW_ONLY
    kernel: KernelParameter = "rbf"
    gamma: NonNegative | None = None
    degree: NonNegative = 3
    coef0: Number = 0.0

    _tensors = False
    _symmetric = True  # whether a precomputed kernel must be
    _warns_of_unused_gamma = True  # scikit-learn's classes do not

    @property
    def _precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def _takes_objects(self) -> bool:
        return takes_objects(self.kernel)

    def _check_kernel_data(self, X, y, sample_weight, y_kind):
        """Checked X, y and weights; sets `kernel_` (None if precomputed)."""
        if self._takes_objects:
            rows, _ = object_rows(X)
            places = np.arange(len(rows), dtype=float)[:, None]
            _, y, w = self._check_training_data(places, y, sample_weight, y_kind=y_kind)
        else:
            rows, y, w = self._check_training_data(
                X, y, sample_weight, y_kind=y_kind, **SPARSE
            )
            if not self._precomputed:
                refuse_overflowing_squares(self, rows)
        self.kernel_ = self._make_kernel(rows)
        if self._precomputed and rows.shape[0] != rows.shape[1]:
            raise ValueError(
                f"a precomputed kernel must be a square matrix, got {rows.shape}."
            )
        if self._precomputed and self._symmetric:
            refuse_asymmetric(self._gram(rows), SYMMETRIC_DIGITS)
        return rows, y, w

    def _make_kernel(self, X) -> Any:
        self._check_gamma_is_used()
        if self._precomputed:
            return None
        d = None if self._takes_objects else int(X.shape[1])
        return get_kernel(
            self.kernel,
            gamma=self.gamma,
            degree=self.degree,
            coef0=self.coef0,
            params=getattr(self, "kernel_params", None),
            n_features=d,
        )

    def _check_gamma_is_used(self):
        """Warn of a gamma that the kernel does not have."""
        named = isinstance(self.kernel, str)
        used = named and self.kernel in NAMES_WITH_GAMMA
        if self.gamma is None or used or not self._warns_of_unused_gamma:
            return
        strength = next((p for p in ("C", "alpha") if hasattr(self, p)), None)
        advice = f" The strength of the penalty is set by {strength}." * bool(strength)
        kernel_text = f"kernel={self.kernel!r}" if named else "a kernel that is given"
        warnings.warn(
            f"gamma={self.gamma} has no effect in {type(self).__name__}: {kernel_text} "
            "does "
            f"not take it.{advice}",
            stacklevel=5,
        )

    def _gram(self, X):
        """k(X, X) of the training rows."""
        if self.kernel_ is not None:
            return self.kernel_(X)
        return X.toarray() if sparse.issparse(X) else X

    def _check_new_rows(self, X):
        if self._takes_objects:
            check_is_fitted(self)
            return object_rows(X)[0]
        X = self._check_new_data(X, **SPARSE)
        if not self._precomputed:
            refuse_overflowing_squares(self, X)
        return X

    def _expansion(self, X, V):
        """sum_i v_i k(x, x_i) of new rows, by tiles: (m,) or (m, k)."""
        if self.kernel_ is None:
            return X @ V
        Z: Any = self.X_fit_
        if is_foreign(X) and not is_foreign(Z):
            Z, V = (asarray(to_numpy(A), like=X) for A in (Z, V))
        elif is_foreign(Z) and not is_foreign(X):
            Z, V = to_numpy(Z), to_numpy(V)
        return self.kernel_.matmul(X, Z, V)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not self._takes_objects
        tags.input_tags.pairwise = self._precomputed
        return tags
