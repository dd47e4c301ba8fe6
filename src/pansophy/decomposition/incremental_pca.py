"""PCA of rows that come in batches: only k axes and d sums are kept between them.

After n rows with mean m the model holds S V, the leading singular values times axes of
the centred rows. A batch B of b rows with mean c is added by the SVD of

    [ S V ;  B - 1 c^T ;  sqrt(n b / (n + b)) (m - c)^T ]                        (1)

whose Gram matrix is that of all n + b rows about their common mean, apart from what
was cut off. With k = d nothing is cut off and the answer is that of PCA. A stack of
more rows than columns is first folded to its triangle. Rows are taken in their order,
of a file as of an array, and all of them: with k < d what is cut off early is not
found again, so that k should leave room where the rows are sorted.

Cost      (k + b) d^2 a batch; memory (k + b) d, whatever n
Shapes    B (b, d)   V (k, d)   S (k,)   m, c (d,)
Refs      [Ross2008]; [Jolliffe2002]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from ..base import host_array
from ..core.arrays.arrays import is_foreign
from ..core.arrays.rows import as_rows, is_dataset
from ..core.linalg.least_squares_passes import triangle_of
from ..core.linalg.linalg import one_thread_if_small
from ..core.linalg.truncated_svd import svd_flip
from ..params import Count, Flag
from .abstract_pca import SPARSE, AbstractPCA
from .moments import refuse_overflowing_sum


def stack_svd(A):
    """S and Vt of a stack, by its triangle if it is tall."""
    A = triangle_of(A) if A.shape[0] > A.shape[1] else A
    with one_thread_if_small(min(A.shape)):
        _, S, Vt = scipy.linalg.svd(A, full_matrices=False, check_finite=False)
    return S, svd_flip(None, Vt)[1]


@dataclass(eq=False, repr=False)
class IncrementalPCA(AbstractPCA):
    """PCA by batches, for rows that do not fit in memory or that keep coming.

    Parameters
    ----------
    n_components : int or None, default=None
        k; None is the smaller of rows in the first batch and columns.
    whiten : bool, default=False
        Whether scores are divided by their standard deviation.
    copy : bool, default=True
        For compatibility with scikit-learn; X is never changed.
    batch_size : int or None, default=None
        Rows per batch in `fit`; None is 5 d.

    Attributes
    ----------
    components_, explained_variance_, explained_variance_ratio_, singular_values_,
    mean_, noise_variance_, n_components_ : as in `PCA`
    var_ : array of shape (d,)
        Variance of each column.
    n_samples_seen_, batch_size_, n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import IncrementalPCA
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> IncrementalPCA(batch_size=2).fit(X).singular_values_.round(6)
    array([2.828427, 1.414214])
    """

    n_components: Count | None = None
    _: KW_ONLY
    whiten: Flag = False
    copy: Flag = True
    batch_size: Count | None = None

    _on_devices = False

    def fit(self, X, y=None):
        """Go through the rows once, batch by batch.

        Parameters
        ----------
        X : array of shape (n, d), sparse matrix, tensor, or path of a Parquet file
        y : None
            Not used.
        """
        X, _ = self._check_training_data(X, **SPARSE, order="C")
        self._forget()
        n, d = X.shape
        self.batch_size_ = self.batch_size or 5 * d
        least = self.n_components or 1
        X = X.tocsr() if sp.issparse(X) else X
        if is_dataset(X):
            source = batches_of_table(X, self.batch_size_, least)
        else:
            source = (X[cut] for cut in batch_slices(n, self.batch_size_, least))
        for batch in source:
            self._add(batch.toarray() if sp.issparse(batch) else batch)
        return self

    def partial_fit(self, X, y=None, check_input=True):
        """Add one batch; `check_input=False` trusts that X is a dense float array."""
        first = not hasattr(self, "components_")
        if check_input:
            X = (
                self._check_training_data(X, **SPARSE, order="C")[0]
                if first
                else self._check_new_data(X, **SPARSE, order="C")
            )
            X = X.toarray() if sp.issparse(X) else X
        elif first:
            self.n_features_in_ = X.shape[1]
        self._add(X)
        return self

    def _forget(self):
        for name in ("components_", "n_samples_seen_", "mean_", "var_"):
            if hasattr(self, name):
                delattr(self, name)

    def _rank(self, b, d):
        """k for the first batch, or why it cannot be."""
        k = self.n_components
        if k is None:
            known = hasattr(self, "components_")
            return self.components_.shape[0] if known else min(b, d)
        if k > d:
            raise ValueError(
                f"n_components={k} invalid for n_features={d}, need more rows than "
                f"columns for IncrementalPCA processing, and at most {d} components."
            )
        if hasattr(self, "components_") and k != self.components_.shape[0]:
            raise ValueError(
                f"Number of input features has changed from "
                f"{self.components_.shape[0]} to {k} between calls to partial_fit: "
                "n_components of IncrementalPCA must stay the same."
            )
        if k > b and not hasattr(self, "components_"):
            raise ValueError(
                f"n_components={k} must be less or equal to the batch number of "
                f"samples {b} for the first partial_fit call."
            )
        return k

    def _add(self, X):
        """Eq. (1)."""
        dtype: Any = None if is_foreign(X) else X.dtype
        B = np.asarray(host_array(self, X), dtype=np.float64)
        b, d = B.shape
        k = self._rank(b, d)
        c = B.mean(axis=0)
        D = B - c
        with np.errstate(over="ignore"):
            spread = np.sum(D * D, axis=0)
        refuse_overflowing_sum(B, float(spread.sum()), "IncrementalPCA")
        if hasattr(self, "components_"):
            n = self.n_samples_seen_
            m, V, _, _ = self._axes()
            S = np.asarray(self.singular_values_, np.float64)
            bridge = np.sqrt(n * b / (n + b)) * (m - c)
            stack = np.vstack([S[:, None] * V, D, bridge])
            spread = spread + n * np.asarray(self.var_) + n * b / (n + b) * (m - c) ** 2
            mean = m + (c - m) * (b / (n + b))
        else:
            n = 0
            stack = D
            mean = c
        total = n + b
        S, Vt = stack_svd(stack)
        variance = S**2 / max(total - 1, 1)
        put = lambda a: np.asarray(a, dtype=dtype)
        self.n_samples_seen_ = total
        self.components_ = put(Vt[:k])
        self.singular_values_ = put(S[:k])
        self.mean_ = put(mean)
        self.var_ = spread / total
        self.explained_variance_ = put(variance[:k])
        whole = float(np.sum(spread))
        share = S[:k] ** 2 / whole if whole > 0 else np.zeros(k)
        self.explained_variance_ratio_ = put(share)
        self.n_components_ = k
        cut = k < min(b, d) and len(variance) > k
        self.noise_variance_ = float(variance[k:].mean()) if cut else 0.0

    @property
    def n_samples_(self):  # pyrefly: ignore[bad-override]
        """Rows seen."""
        return self.n_samples_seen_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def batches_of_table(X, size, least):
    """The rows of a table on disk in the batches of `batch_slices`."""
    blocks = (block for (block,) in as_rows(X, block=size).blocks())
    last = next(blocks)
    for block in blocks:
        if len(block) < least:
            last = np.concatenate([last, block])
        else:
            yield last
            last = block
    yield last


def batch_slices(n, size, least):
    """Slices of `size` rows; a tail shorter than `least` joins the one before."""
    start = 0
    while start < n:
        stop = min(start + size, n)
        stop = n if n - stop < least else stop
        yield slice(start, stop)
        start = stop
