"""Principal component analysis: the directions of largest variance.

With mean m and covariance S of the rows, maximise the variance along orthonormal axes,

    max_V  trace(V S V^T)    subject to  V V^T = I                               (1)

which is also the closest affine plane: sum_i |x_i - m - V^T V (x_i - m)|^2 is least.
The answer is the eigenvectors of S with the largest eigenvalues l_1 >= l_2 >= ...:

    S v_j = l_j v_j,    l_j = s_j^2 / (n - 1)  for  X - 1 m^T = U diag(s) V      (2)

and the mean squared error of k axes is the sum of the l_j left out (times (n - 1) / n).
Solvers, all without a centred copy of X:

    covariance_eigh    S summed over blocks, one pass, then its eigenvectors
    full               tall: the triangle of a blocked QR, its SVD. Wide: eigenvectors
                       of the n x n products of rows, carried over to the columns
    randomized         block Lanczos from a random start (`core.linalg.truncated_svd`)
    arpack             implicitly restarted Lanczos (SciPy) on products with X - 1 m^T

"auto" follows the shape as scikit-learn does. `n_components` between 0 and 1 keeps the
fewest axes whose share of the variance is above it; "mle" chooses k by the evidence of
[Minka2001]. Each axis has its largest entry positive.

Cost      n d^2 (covariance), n d min(n, d) (full), 12 to 24 n d (k + p) (randomized)
Memory    beyond X: d^2, or n^2 if wide; (k + p) min(n, d) for randomized
Shapes    X (n, d)   m (d,)   V (k, d)   l (k,)
Refs      [Pearson1901]; [Jolliffe2002]; [Minka2001]; [Halko2011]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator, svds
from scipy.special import gammaln

from ..core.arrays.arrays import asarray, is_foreign, namespace, to_numpy
from ..core.arrays.rows import is_dataset
from ..core.linalg.least_squares_passes import centred_triangle, prepare_least_squares
from ..core.linalg.linalg import one_thread_if_small
from ..core.linalg.ridge_spectrum import primal_from_dual, row_gram_matrix
from ..core.linalg.truncated_svd import CentredMatrix, svd_flip, truncated_svd
from ..core.random import make_rng
from ..params import Count, Flag, Natural, NonNegative, OpenFraction, ParameterError
from ..typing import Seed
from .abstract_pca import SPARSE, AbstractPCA
from .moments import (
    mean_and_scatter,
    mean_and_total_scatter,
    prototype_array,
    refuse_nonfinite,
    refuse_overflowing_sum,
)

HOST_WIDTH = 128  # columns up to which a device is slower at eigenvectors
WEAK = 1e-5  # S_j / S_1 below which products of rows no longer give an axis


class PrincipalAxes(NamedTuple):
    """Result of a solver, all in NumPy but V, which may be a tensor."""

    mean: np.ndarray  # m
    V: Any  # (k, d)
    squares: np.ndarray  # s_j^2 (k,), falling; all of them or the leading ones
    total: float  # sum of all s_j^2


def axes_by_covariance(X, k, name) -> PrincipalAxes:
    """Eq. (2) by the scatter; only k axes are found if k is far below d."""
    _, m, S = mean_and_scatter(X)
    refuse_nonfinite(X, m, name)
    xp = namespace(S)
    d = int(S.shape[0])
    on_device = is_foreign(S) and d > HOST_WIDTH
    like = S
    S = S if on_device else to_numpy(S)
    total = float(namespace(S).sum(namespace(S).linalg.diagonal(S)))
    refuse_overflowing_sum(X, total, name)
    if on_device:
        values, E = xp.linalg.eigh(S)
        values = to_numpy(values)
    else:
        few = {"subset_by_index": (d - k, d - 1)} if k and 4 * k < d else {}
        with one_thread_if_small(d):
            values, E = scipy.linalg.eigh(S, check_finite=False, **few)
    squares = np.maximum(values[::-1], 0.0)
    V = namespace(E).flip(namespace(E).matrix_transpose(E), axis=0)
    return PrincipalAxes(m, asarray(V, like=like), squares, total)


def axes_by_svd(X, name) -> PrincipalAxes:
    """Eq. (2) exactly, by a triangle (tall) or by products of rows (wide)."""
    n, d = X.shape
    _, m, total = mean_and_total_scatter(X)
    refuse_nonfinite(X, m, name)
    refuse_overflowing_sum(X, total, name)
    if n >= d:
        xp = namespace(prototype_array(X))
        device = {"device": X.device} if is_foreign(X) else {}
        none = xp.zeros((n, 1), dtype=xp.float64, **device)
        R = centred_triangle(prepare_least_squares(X, none)).R
        R = np.vstack([R, np.zeros((d - len(R), d))])  # n = d leaves one row less
        with one_thread_if_small(d):
            _, s, Vt = scipy.linalg.svd(R, check_finite=False)
        return PrincipalAxes(m, Vt, s**2, float(np.sum(s**2)))
    K, m = row_gram_matrix(X)
    with one_thread_if_small(n):
        U = scipy.linalg.eigh(K, overwrite_a=True, check_finite=False)[1][:, ::-1]
    B = primal_from_dual(X, None, m, np.ascontiguousarray(U))
    s = np.sqrt(np.sum(B * B, axis=0))
    if s[-1] > WEAK * s[0]:
        return PrincipalAxes(m, (B / s).T, s**2, float(np.sum(s**2)))
    Q, R = np.linalg.qr(B)  # B has Xc's singular values, whatever U's errors
    P, s, _ = scipy.linalg.svd(R, check_finite=False)
    return PrincipalAxes(m, (Q @ P).T, s**2, float(np.sum(s**2)))


def axes_by_lanczos(
    X, k, rng, name, *, solver, n_iter, oversample, tol
) -> PrincipalAxes:
    """The k leading axes, randomized or by ARPACK."""
    _, m, total = mean_and_total_scatter(X)
    refuse_nonfinite(X, m, name)
    refuse_overflowing_sum(X, total, name)
    c = asarray(m, like=prototype_array(X))
    if solver == "randomized" or total == 0:  # ARPACK needs something to start on
        S, Vt = truncated_svd(
            X, k, rng, center=c, left=False, n_iter=n_iter, oversample=oversample
        )[1:]
        return PrincipalAxes(m, Vt, to_numpy(S).astype(float) ** 2, total)
    A = CentredMatrix(X, c)
    one = lambda f: lambda v: f(np.reshape(v, (-1, 1)))[:, 0]
    wrapped = LinearOperator(
        A.shape,
        matvec=one(A.times),
        rmatvec=one(A.back),
        matmat=A.times,
        rmatmat=A.back,
        dtype=X.dtype,
    )
    start = rng.uniform(-1, 1, size=min(A.shape)).astype(X.dtype)
    _, s, Vt = svds(wrapped, k=k, tol=tol, v0=start)
    order = np.argsort(-s)
    return PrincipalAxes(m, Vt[order], s[order].astype(float) ** 2, total)


def minka_evidence(variances, n) -> np.ndarray:
    """Minka's log evidence of each k from 1 to d - 1, given all d variances."""
    d = len(variances)
    lam = np.maximum(variances, np.finfo(float).tiny)
    out = np.full(d, -np.inf)
    for k in range(1, d):
        if variances[k - 1] < 1e-15 * variances[0]:
            break
        rest = max(float(lam[k:].mean()), 1e-15 * lam[0])
        i = np.arange(1, k + 1)
        half = (d - i + 1) / 2
        sphere = -k * np.log(2) + np.sum(gammaln(half) - half * np.log(np.pi))
        fit = -n / 2 * (np.sum(np.log(lam[:k])) + (d - k) * np.log(rest))
        p = d * k - k * (k + 1) / 2  # free angles of k axes
        hat = np.concatenate([lam[:k], np.full(d - k, rest)])
        a, b = np.triu_indices(d, 1)
        a, b = a[a < k], b[a < k]
        gaps = (1 / hat[b] - 1 / hat[a]) * (lam[a] - lam[b])
        angles = np.sum(np.log(np.maximum(gaps, 1e-300))) + len(a) * np.log(n)
        free = (p + k) / 2 * np.log(2 * np.pi) - angles / 2 - k / 2 * np.log(n)
        out[k] = sphere + fit + free
    return out


def rank_for_variance_share(shares, target) -> int:
    """The fewest leading shares whose sum is above the target."""
    ratio = np.cumsum(shares)
    return min(int(np.searchsorted(ratio, target, side="right")) + 1, len(shares))


@dataclass(eq=False, repr=False)
class PCA(AbstractPCA):
    """Principal component analysis; the module text gives the method.

    Takes arrays, sparse matrices, tensors on any device, and tables on disk larger
    than memory (the path of a Parquet file). X is never changed or copied whole.

    Parameters
    ----------
    n_components : int, float in (0, 1), "mle" or None, default=None
        How many axes, 0 for none; a share of the variance to keep; Minka's choice; or
        all.
    copy : bool, default=True
        For compatibility with scikit-learn; X is never changed.
    whiten : bool, default=False
        Whether scores are divided by their standard deviation.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}
        See the module text, default "auto".
    tol : float, default=0.0
        Tolerance of "arpack".
    iterated_power : int or "auto", default="auto"
        Most powers kept by "randomized".
    n_oversamples : int, default=10
        Random columns of "randomized" beyond k.
    power_iteration_normalizer : {"auto", "QR", "LU", "none"}, default="auto"
        For compatibility with scikit-learn: "randomized" always keeps its powers apart
        by QR, which is at least as accurate as the others.
    random_state : int, RandomState, Generator or None, default=None
        Start of "randomized" and "arpack".

    Attributes
    ----------
    components_ : array of shape (k, d)
        V.
    explained_variance_ : array of shape (k,)
        l, with n - 1 in the denominator.
    explained_variance_ratio_ : array of shape (k,)
        Shares of the total variance.
    singular_values_ : array of shape (k,)
        Of the centred rows.
    mean_ : array of shape (d,)
        m.
    n_components_, n_samples_, n_features_in_ : int
        k, n and d.
    noise_variance_ : float
        Mean of the variances left out.
    solver_ : str
        The solver that was used.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import PCA
    >>> X = np.array([[2.0, 0.0], [0.0, 1.0], [-2.0, 0.0], [0.0, -1.0]])
    >>> model = PCA().fit(X)
    >>> model.singular_values_.round(6), model.explained_variance_ratio_
    (array([2.828427, 1.414214]), array([0.8, 0.2]))
    >>> PCA(0.75).fit_transform(X).ravel()
    array([ 2.,  0., -2.,  0.])
    """

    n_components: Natural | OpenFraction | Literal["mle"] | None = None
    _: KW_ONLY
    copy: Flag = True
    whiten: Flag = False
    svd_solver: Literal["auto", "full", "covariance_eigh", "arpack", "randomized"] = (
        "auto"
    )
    tol: NonNegative = 0.0
    iterated_power: Natural | Literal["auto"] = "auto"
    n_oversamples: Count = 10
    power_iteration_normalizer: Literal["auto", "QR", "LU", "none"] = "auto"
    random_state: Seed = None

    def fit(self, X, y=None):
        """Find the axes.

        Parameters
        ----------
        X : array of shape (n, d), sparse matrix, tensor, or path of a Parquet file
        y : None
            Not used.

        Returns
        -------
        self : PCA
        """
        checks = {"ensure_min_samples": 2, "ensure_all_finite": False}
        (X, _) = self._check_training_data(X, **SPARSE, **checks, order="C")
        X = X.tocsr() if sp.issparse(X) else X
        k = self._checked_components(X)
        self.solver_ = solver = self._solver(X, k)
        count = k if isinstance(k, int) and k > 0 else None
        name = type(self).__name__
        if solver == "covariance_eigh":
            axes = axes_by_covariance(X, count, name)
        elif solver == "full":
            axes = axes_by_svd(X, name)
        else:
            axes = axes_by_lanczos(
                X,
                self._iterative_rank(X, k),
                make_rng(self.random_state),
                name,
                solver=solver,
                n_iter=self.iterated_power,
                oversample=self.n_oversamples,
                tol=self.tol,
            )
        self._store(X, axes, k)
        return self

    def _checked_components(self, X):
        """n_components for this X, or one sentence why it cannot be."""
        n, d = X.shape
        k: Any = self.n_components
        if k is None or k == "mle":
            if k == "mle" and n < d:
                raise ValueError(
                    "n_components='mle' is only supported if n_samples >= n_features, "
                    f"got {n} x {d}."
                )
            return k
        if 0 < k < 1:
            return float(k)
        if k > min(n, d):
            solver = "full" if self.svd_solver == "auto" else self.svd_solver
            least = 1 if solver in ("arpack", "randomized") else 0
            raise ValueError(
                f"n_components={k} must be between {least} and min(n_samples, "
                f"n_features)={min(n, d)} with svd_solver={solver!r}."
            )
        return int(k)

    def _solver(self, X, k):
        n, d = X.shape
        given = self.svd_solver
        sparse = sp.issparse(X)
        if given in ("randomized", "arpack") and not (k is None or isinstance(k, int)):
            kind = "a string" if isinstance(k, str) else "a share of the variance"
            raise ParameterError(
                f"n_components={k!r} cannot be {kind} with svd_solver={given!r}, "
                "which needs a whole n_components."
            )
        if given == "arpack" and (is_foreign(X) or is_dataset(X)):
            raise ParameterError(
                "svd_solver='arpack' of PCA needs a NumPy array or a sparse matrix."
            )
        if sparse and given == "full":
            raise TypeError(
                'PCA only support sparse inputs with the "arpack" and '
                '"covariance_eigh" solvers, while "full" was passed; "randomized" '
                "takes them too."
            )
        if is_dataset(X) and given == "full" and n < d:
            raise ParameterError(
                "svd_solver='full' of PCA reads only tables with more rows than "
                "columns; take 'randomized'."
            )
        if given != "auto":
            return given
        if is_dataset(X) or (d <= 1000 and n >= 10 * d):
            return "covariance_eigh"
        if sparse:
            if k == 0:
                return "covariance_eigh"
            return "arpack" if k is None or isinstance(k, int) else "covariance_eigh"
        small = max(n, d) <= 500 or not isinstance(k, int) or k == 0
        return "full" if small or k >= 0.8 * min(n, d) else "randomized"

    def _iterative_rank(self, X, k):
        """Number of axes that an iterative solver computes."""
        limit = min(X.shape) - (self.solver_ == "arpack")
        k = limit if k is None else k
        if k > limit:
            raise ValueError(
                f"n_components={k} must be strictly less than min(n_samples, "
                f"n_features)={min(X.shape)} with svd_solver='arpack'."
            )
        if k < 1:
            raise ValueError(
                f"n_components={k} must be between 1 and min(n_samples, n_features)="
                f"{min(X.shape)} with svd_solver={self.solver_!r}."
            )
        return k

    def _store(self, X, axes, k):
        n, d = (int(s) for s in X.shape)
        rank = min(n, d)
        squares = axes.squares[:rank]
        variances = squares / (n - 1)
        total = axes.total / (n - 1)
        if k == "mle":
            k = max(int(np.argmax(minka_evidence(variances, n))), 1)
        elif k is None:
            k = len(squares)
        elif isinstance(k, float):
            k = rank_for_variance_share(
                variances / total if total > 0 else variances, k
            )
        put = lambda a: asarray(a, like=prototype_array(X))
        V = svd_flip(None, axes.V[:k, :])[1] if k else axes.V[:0, :]
        self.components_ = put(V if is_foreign(V) else np.ascontiguousarray(V))
        self.explained_variance_ = put(variances[:k])
        share = variances[:k] / total if total > 0 else np.zeros(k)
        self.explained_variance_ratio_ = put(share)
        self.singular_values_ = put(np.sqrt(squares[:k]))
        self.mean_ = put(axes.mean)
        self.n_components_ = int(k)
        self.n_samples_ = n
        left = max(total - float(np.sum(variances[:k])), 0.0)
        self.noise_variance_ = left / (rank - k) if k < rank else 0.0

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.svd_solver != "full"
        return tags
