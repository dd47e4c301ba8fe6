"""Polynomial features: all monomials of the columns up to a degree.

    phi(x) = (x_1^p_1 ... x_d^p_d  for all p with  p_1 + ... + p_d <= k)         (1)

There are C(d + k, k) of them, with `interaction_only` (no power above 1) the sum of
C(d, j) for j <= k. That grows fast: 50,015,001 columns for d = 10,000 and k = 2. So the
size is computed before anything is made: a warning if the columns take more than
LARGE_BYTES, an error if they would not fit into memory. A model that needs only inner
products takes a kernel (`kernels.Polynomial`) and none of the columns.

The columns themselves are made by scikit-learn's `PolynomialFeatures`.

Cost      O(n C(d + k, k)) time and memory
Shapes    X (n, d)   phi (n, C(d + k, k))
"""

import math
import os
import warnings
from dataclasses import KW_ONLY, dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from ..base import Estimator, Transformer
from ..core.arrays import arrays
from ..params import Flag, Natural
from ..persist.saved_state import Whole, saved_state

MANY_COLUMNS = 1_000_000  # columns beyond which an expansion is worth a warning
MOST_FACTORS = 1000  # of both columns and degree, in a model file
LARGE_BYTES = 1 << 30  # bytes of the result beyond which there is a warning


def polynomial_size(
    d: int, degree: int, *, interaction_only=False, include_bias=True
) -> int:
    """Columns of all monomials of d variables up to a degree: C(d + degree, degree).

    Warns beyond a million.

    Examples
    --------
    >>> from pansophy.feature_extraction import polynomial_size
    >>> polynomial_size(3, 2), polynomial_size(3, 2, interaction_only=True)
    (10, 7)
    """
    if interaction_only:
        count = sum(math.comb(d, j) for j in range(min(d, degree) + 1))
    else:
        count = math.comb(d + degree, degree)
    count -= not include_bias
    if count > MANY_COLUMNS:
        warnings.warn(
            f"a polynomial of degree {degree} in {d} columns has {count} terms; a "
            "kernel of that degree needs none of them.",
            UserWarning,
            stacklevel=2,
        )
    return count


def memory_of_machine() -> float:
    """Bytes of memory of this machine or container; infinite where it does not say."""
    try:
        machine = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        machine = math.inf
    try:
        return min(machine, float(Path("/sys/fs/cgroup/memory.max").read_text()))
    except (OSError, ValueError):  # no container, or no limit ("max")
        return machine


def _check_expanded_size(rows, columns, itemsize):
    """Warn of a large result before it is made; raise MemoryError beyond all memory."""
    size = rows * columns * itemsize
    if size > memory_of_machine():
        raise MemoryError(
            f"{rows} rows of {columns} polynomial terms would take {size / 1e9:.3g} "
            "GB, more than this machine has: lower degree, choose columns, or take a "
            "polynomial kernel."
        )
    if size > LARGE_BYTES:
        warnings.warn(
            f"{rows} rows of {columns} polynomial terms take {size / 1e9:.3g} GB; a "
            "kernel of that degree needs none of them.",
            UserWarning,
            stacklevel=3,
        )


def _is_single(X) -> bool:
    """Whether an array of any library holds numbers of single precision."""
    return str(X.dtype).endswith("float32")


def _has_the_size_of_its_degree(model) -> bool:
    """Whether a loaded expansion counts the columns that its degree makes of X."""
    if not hasattr(model, "n_output_features_"):
        return True
    d, degree = model.n_features_in_, model.degree
    if min(d, degree) > MOST_FACTORS:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.n_output_features_ == polynomial_size(
            d,
            degree,
            interaction_only=model.interaction_only,
            include_bias=model.include_bias,
        )


@saved_state(n_output_features_=Whole(low=1), check=_has_the_size_of_its_degree)
@dataclass(eq=False, repr=False)
class PolynomialFeatures(Transformer, Estimator):
    """All monomials of the columns up to a degree, eq. (1).

    Parameters
    ----------
    degree : int, default=2
        Highest degree k.
    interaction_only : bool, default=False
        Whether to leave out monomials in which a column has a power above 1.
    include_bias : bool, default=True
        Whether to make the column of ones.

    Attributes
    ----------
    powers_ : array of shape (n_output_features_, n_features_in_)
        p of eq. (1).
    n_output_features_ : int
        Number of columns.
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features_in_,)

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.feature_extraction import PolynomialFeatures
    >>> poly = PolynomialFeatures(2).fit([[2.0, 3.0]])
    >>> poly.transform([[2.0, 3.0]])
    array([[1., 2., 3., 4., 6., 9.]])
    >>> poly.get_feature_names_out().tolist()
    ['1', 'x0', 'x1', 'x0^2', 'x0 x1', 'x1^2']
    """

    degree: Natural = 2
    _: KW_ONLY
    interaction_only: Flag = False
    include_bias: Flag = True

    def fit(self, X, y=None):
        """Count the columns; warn, or raise, if those of X would be too many."""
        X, _ = self._check_training_data(X, accept_sparse="csr")
        d = X.shape[1]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what counts is the size with the rows
            self.n_output_features_ = polynomial_size(
                d,
                self.degree,
                interaction_only=self.interaction_only,
                include_bias=self.include_bias,
            )
        if self.n_output_features_ == 0:
            raise ValueError(
                "PolynomialFeatures with degree 0 and include_bias=False makes no "
                "column."
            )
        self._check_size(X)
        self._check_powers(X)
        return self

    def _check_powers(self, X):
        """Raise if the highest power of the largest value overflows."""
        values = X.data if sp.issparse(X) else X
        xp = arrays.namespace(values)
        top = float(xp.max(xp.abs(values))) if math.prod(values.shape) else 0.0
        limit = np.finfo(np.float32 if _is_single(values) else float).max
        # an interaction is at most the product of as many columns
        if top > 1 and self.degree * math.log(top) >= math.log(limit):
            raise ValueError(
                f"powers of X up to degree {self.degree} overflow: scale the columns."
            )

    def _check_size(self, X):
        """The check before anything is made; a sparse X makes few entries."""
        if not sp.issparse(X):
            item = 4 if _is_single(X) else 8
            _check_expanded_size(X.shape[0], self.n_output_features_, item)

    def _made(self):
        """scikit-learn's transformer with the same parameters, fitted."""
        from sklearn.preprocessing import PolynomialFeatures

        peer = PolynomialFeatures(
            self.degree,
            interaction_only=self.interaction_only,
            include_bias=self.include_bias,
        )
        return peer.fit(np.zeros((1, self.n_features_in_)))

    @property
    def powers_(self):
        """Exponents p of eq. (1): (n_output_features_, n_features_in_)."""
        return self._made().powers_

    def transform(self, X):
        """The monomials, by degree: (n, n_output_features_)."""
        X = self._check_new_data(X, accept_sparse="csr")
        self._check_size(X)
        self._check_powers(X)
        if arrays.is_foreign(X):
            return arrays.asarray(self._made().transform(arrays.to_numpy(X)), like=X)
        return self._made().transform(X)

    def get_feature_names_out(self, input_features=None):
        """Names such as "x0^2" and "x0 x1"."""
        names = getattr(self, "feature_names_in_", None)
        names = names if input_features is None else input_features
        return self._made().get_feature_names_out(names)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
