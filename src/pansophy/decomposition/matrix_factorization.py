"""Matrix factorisation under a constraint: SVD, PCA, k-means and NMF as one problem.

    J(Z, B) = sum_i |x_i - B^T z_i|^2    over codes Z (n, k) and vectors B (k, d)  (1)

    constraint          condition                          the method
    None                nothing                            truncated SVD, and PCA on
    "orthogonal"        B B^T = I                          centred rows
    "one_hot"           each z one 1, the rest 0           k-means
    "nonnegative"       Z >= 0 and B >= 0                  NMF

Each iteration is two half steps, and each half step takes the best of one factor given
the other, so J never rises. Codes: z = (B B^T)^-1 B x (least squares), B x if B is
orthonormal, the nearest vector, or nonnegative coordinate descent. Vectors: least
squares on the codes; for orthonormal B the polar factor of Z^T X (Procrustes); the
means of the clusters; coordinate descent. An empty cluster takes the worst row.

On centred rows PCA with k vectors leaves no more than k-means with k + 1: the k + 1
centres lie in an affine plane of k dimensions.

Cost      4 n d k an iteration, without forming X - Z B
Shapes    X (n, d)   Z (n, k)   B (k, d)
Refs      [Eckart1936]; [DingHe2004] k-means and PCA; [LeeSeung1999]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal, NamedTuple

import numpy as np
import scipy.linalg
from sklearn.utils.validation import check_is_fitted, check_non_negative

from ..base import Estimator, PrefixedOutput, Transformer
from ..core.arrays.rows import as_rows
from ..core.drivers.iterate import iterate
from ..core.drivers.progress import SILENT
from ..core.random import make_rng, spawn_rngs
from ..params import Count, NonNegative
from ..typing import Seed
from .moments import refuse_table
from .nmf import nmf_coordinate_descent


class FactorizationState(NamedTuple):
    Z: np.ndarray
    B: np.ndarray
    objective: float  # J after both halves
    half: float = np.inf  # J after the codes


def factorization_error(X, Z, B):
    """J of eq. (1), from differences."""
    return as_rows(X, Z).sum(lambda x, z: float(np.sum((x - z @ B) ** 2)))


def gram_least_squares(G, R):
    """The least-norm solution of G A = R for a Gram matrix G."""
    return scipy.linalg.pinvh(G, check_finite=False) @ R


def free_codes(X, B, Z):
    return gram_least_squares(B @ B.T, (X @ B.T).T).T


def free_vectors(X, Z, B):
    return gram_least_squares(Z.T @ Z, Z.T @ X)


def orthogonal_codes(X, B, Z):
    return X @ B.T


def orthogonal_vectors(X, Z, B):
    """The orthonormal B with the largest trace(B X^T Z)."""
    U, _, Vt = scipy.linalg.svd(Z.T @ X, full_matrices=False, check_finite=False)
    return U @ Vt


def one_hot_codes(X, B, Z):
    nearest = np.argmin(np.sum(B * B, axis=1) - 2 * (X @ B.T), axis=1)
    return np.eye(len(B))[nearest]


def one_hot_vectors(X, Z, B):
    count = Z.sum(axis=0)
    new = np.array(B)
    full = count > 0
    new[full] = (Z.T @ X)[full] / count[full, None]
    gap = np.sum((X - Z @ new) ** 2, axis=1)
    for j in np.flatnonzero(~full):  # moves no code, so J stays
        worst = int(np.argmax(gap))
        new[j], gap[worst] = X[worst], 0.0
    return new


def nonnegative_codes(X, B, Z):
    order = np.arange(len(B))
    new, _ = nmf_coordinate_descent(Z, B @ B.T, X @ B.T, 0.0, 0.0, order, max_sweeps=20)
    return new


def nonnegative_vectors(X, Z, B):
    order = np.arange(len(B))
    new, _ = nmf_coordinate_descent(
        B.T, Z.T @ Z, X.T @ Z, 0.0, 0.0, order, max_sweeps=20
    )
    return new.T


HALVES = {
    None: (free_codes, free_vectors),
    "orthogonal": (orthogonal_codes, orthogonal_vectors),
    "one_hot": (one_hot_codes, one_hot_vectors),
    "nonnegative": (nonnegative_codes, nonnegative_vectors),
}


def initial_factors(X, k, constraint, rng):
    """Z and B to start from."""
    n, d = X.shape
    if constraint == "one_hot":
        return np.zeros((n, k)), X[rng.choice(n, k, replace=False)].copy()
    B = rng.standard_normal((k, d))
    if constraint == "nonnegative":
        size = np.sqrt(max(float(X.mean()), 0.0) / k)
        return np.full((n, k), size), np.abs(B) * size
    return np.zeros((n, k)), orthogonal_vectors(np.eye(d), B.T, B)


def alternate_half_steps(X, k, constraint, rng, *, max_iter, tol, task=SILENT):
    """Alternate half steps until J falls by at most tol times |X|^2."""
    codes, vectors = HALVES[constraint]
    power = float(np.vdot(X, X))

    def step(state):
        Z = codes(X, state.B, state.Z)
        half = factorization_error(X, Z, state.B)
        B = vectors(X, Z, state.B)
        return FactorizationState(Z, B, factorization_error(X, Z, B), half)

    def fall(old, new):
        return (old.objective - new.objective) / max(power, 1e-300)

    start = FactorizationState(*initial_factors(X, k, constraint, rng), np.inf)
    return iterate(
        step,
        start,
        max_iter=max_iter,
        tol=tol,
        change=fall,
        watch=("half",),
        task=task,
    )


@dataclass(eq=False, repr=False)
class MatrixFactorization(PrefixedOutput, Transformer, Estimator):
    """X as codes times vectors under a constraint, by alternating half steps.

    Parameters
    ----------
    n_components : int, default=2
        k.
    constraint : {"orthogonal", "one_hot", "nonnegative"} or None, default=None
        See the module text. Rows are not centred.
    n_init : int, default=1
        Starts, of which the best is kept.
    max_iter : int, default=500
        Most iterations.
    tol : float, default=1e-10
        Stop when J falls by at most this share of the sum of squares of X.
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    components_ : array of shape (k, d)
        B.
    objective_ : float
        J.
    n_iter_, history_, converged_, interrupted_
        How the iterations went; "half" is J after the codes, "objective" after both.
    n_features_in_ : int

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.decomposition import MatrixFactorization
    >>> X = np.array([[5.0, 4.0, 0.0], [4.0, 5.0, 0.0], [0.0, 0.0, 3.0]])
    >>> round(MatrixFactorization(1, random_state=0).fit(X).objective_, 6)
    10.0
    """

    n_components: Count = 2
    _: KW_ONLY
    constraint: Literal["orthogonal", "one_hot", "nonnegative"] | None = None
    n_init: Count = 1
    max_iter: Count = 500
    tol: NonNegative = 1e-10
    random_state: Seed = None

    _tensors = False

    def fit(self, X, y=None):
        """Find B."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X, y=None):
        """Find B, and the codes of the same rows."""
        X, _ = self._check_training_data(X, order="C")
        refuse_table(X, "MatrixFactorization")
        dtype = X.dtype
        X = X.astype(np.float64)
        k = self.n_components
        limit = min(X.shape)
        if self.constraint == "one_hot":
            limit = X.shape[0]
        if k > limit and self.constraint != "nonnegative":
            raise ValueError(
                f"n_components={k} must be at most {limit} for X of {len(X)} rows."
            )
        if self.constraint == "nonnegative":
            check_non_negative(X, "MatrixFactorization (input X)")
        rngs = spawn_rngs(make_rng(self.random_state), self.n_init)

        def one_start(i, task):
            return alternate_half_steps(
                X,
                k,
                self.constraint,
                rngs[i],
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )

        result = self._run_driver(
            one_start,
            n_init=self.n_init,
            total=self.max_iter,
            X=X,
        )
        self.components_ = result.state.B.astype(dtype)
        self.objective_ = float(result.objective)
        return self._codes(X).astype(dtype)

    def _codes(self, X):
        B = np.asarray(self.components_, np.float64)
        Z = np.zeros((len(X), len(B)))
        if self.constraint == "nonnegative":
            order = np.arange(len(B))
            C = X @ B.T
            return nmf_coordinate_descent(
                Z, B @ B.T, C, 0.0, 0.0, order, max_sweeps=1000, tol=1e-8
            )[0]
        return HALVES[self.constraint][0](X, B, Z)

    def transform(self, X):
        """The best codes of the rows, B fixed."""
        X = self._check_new_data(X, order="C")
        if self.constraint == "nonnegative":
            check_non_negative(X, "MatrixFactorization (input X)")
        return self._codes(X.astype(np.float64)).astype(X.dtype)

    def inverse_transform(self, X):
        """Rows Z B from codes."""
        check_is_fitted(self)
        return np.asarray(X) @ self.components_

    @property
    def _n_features_out(self):
        return int(self.components_.shape[0])

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.constraint == "nonnegative"
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
