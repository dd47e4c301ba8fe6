"""Regression by conditioning a joint mixture of inputs and targets.

With p(x, y) = sum_j w_j N((x, y); m_j, S_j) and blocks x, y of the coordinates,

    p(y | x) = sum_j g_j(x) N(y; c_j(x), C_j)                                    (1)
    g_j ~ w_j N(x; m_jx, S_jxx),   c_j(x) = m_jy + S_jyx S_jxx^-1 (x - m_jx)     (2)
    C_j = S_jyy - S_jyx S_jxx^-1 S_jxy

so the mean is a gated sum of linear functions, and the variance is

    E[y | x] = sum_j g_j c_j,  V[y | x] = sum_j g_j (C_j + c_j c_j') - E E'      (3)

One joint Normal gives linear regression. A value that is missing in x (NaN) is left
out of the block x, which is exact; so are values missing in y during the fit.

Time O(n k d^2) and O(k d^3) for each pattern of missing values; memory O(n k t).

Shapes    X (n, d)   y (n,) or (n, t)   g (n, k)   c (n, k, t)   C (k, t, t)
Refs      [Ghahramani1994]; [Bishop2006] section 2.3
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.base import clone

from ..base import Estimator, Regressor
from ..core.arrays import arrays
from ..core.numerics import logsumexp, softmax
from ..core.random import make_rng
from ..distributions.gaussian.missing import conditional_gain, missing_patterns
from ..distributions.gaussian.normal import Normal
from ..params import ParameterRule
from ..typing import Seed
from .gaussian_em import GaussianMixtureParams
from .gaussian_mixture import GaussianMixture

JointMixture = Annotated[
    Any,
    ParameterRule(
        "a GaussianMixture", lambda v: hasattr(v, "fit") and hasattr(v, "_params")
    ),
]


class ConditionalMixture(NamedTuple):
    """The conditional mixture of eq. (1) for each of some rows."""

    gates: np.ndarray  # g (n, k)
    means: np.ndarray  # c (n, k, t)
    covs: np.ndarray  # C (n, k, t, t)


def condition_on_inputs(p: GaussianMixtureParams, X, t: int) -> ConditionalMixture:
    """Eq. (2): the last t coordinates given the others, as far as they are seen."""
    q = p.normal
    n = len(X)
    k = q.k
    d = X.shape[1]
    S = np.broadcast_to(q.part.dense(q.covs, k, q.d), (k, q.d, q.d))
    a = np.arange(d, d + t)
    L = np.empty((n, k))
    M, C = np.empty((n, k, t)), np.empty((n, k, t, t))
    for b, rows in missing_patterns(X):
        Xb = X[np.ix_(rows, b)]
        seen = Normal(q.mean[:, b], S[:, b][:, :, b]) if len(b) else None
        L[rows] = np.log(p.weights) + (0 if seen is None else seen.log_prob(Xb))
        for j in range(k):
            gain, C[rows, j] = conditional_gain(S[j], a, b)
            M[rows, j] = q.mean[j, a] + (Xb - q.mean[j, b]) @ gain.T
    return ConditionalMixture(softmax(L, axis=1), M, C)


def conditional_moments(s: ConditionalMixture):
    """Eq. (3): (n, t) and (n, t, t)."""
    mean = np.einsum("nk,nkt->nt", s.gates, s.means)
    D = s.means - mean[:, None]
    inner = s.covs + D[..., :, None] * D[..., None, :]
    return mean, np.einsum("nk,nkst->nst", s.gates, inner)


@dataclass(eq=False, repr=False)
class MixtureRegressor(Regressor, Estimator):
    """Regression from a mixture of Normals over inputs and targets together.

    Parameters
    ----------
    estimator : GaussianMixture or None, default=None
        What is fitted to rows (x, y). None is `GaussianMixture()`, one joint Normal.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.

    Attributes
    ----------
    estimator_ : GaussianMixture
        The fitted joint mixture.
    n_targets_ : int
        Number of targets, t.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import MixtureRegressor
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = MixtureRegressor().fit(X, [1.0, 3.0, 5.0, 7.0])
    >>> model.predict([[4.0]]).round(4)
    array([9.])
    """

    estimator: JointMixture | None = None
    _: KW_ONLY
    random_state: Seed = None

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X, y, sample_weight=None):
        """Fit the joint mixture.

        Parameters
        ----------
        X : array of shape (n, d)
            Inputs; NaN is a value that is missing.
        y : array of shape (n,) or (n, t)
            Targets.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : MixtureRegressor
        """
        X, y, w = self._check_training_data(
            X,
            y,
            sample_weight,
            y_kind="numbers",
            ensure_all_finite="allow-nan",
            ensure_min_samples=2,
            order="C",
        )
        xp = arrays.namespace(X)
        Y = arrays.asarray(y, like=X)
        self._flat = Y.ndim == 1
        Y = Y[:, None] if self._flat else Y
        self.n_targets_ = int(Y.shape[1])
        model = GaussianMixture() if self.estimator is None else clone(self.estimator)
        own = {} if w is None else {"sample_weight": w}
        self.estimator_ = model.fit(xp.concat([X, Y], axis=1), **own)
        return self

    def _slice(self, X):
        """Eq. (1) for rows X, in float64 NumPy, and X."""
        X = self._check_new_data(X, ensure_all_finite="allow-nan", order="C")
        rows = arrays.to_numpy(X).astype(float)
        return condition_on_inputs(self.estimator_._params(), rows, self.n_targets_), X

    def _shaped(self, out, X):
        out = out[:, 0] if self._flat else out
        return arrays.asarray(out, like=X)

    def predict(self, X, return_std=False):
        """E[y | x] of each row, and its standard deviation if `return_std`, eq. (3)."""
        s, X = self._slice(X)
        mean, V = conditional_moments(s)
        if not return_std:
            return self._shaped(mean, X)
        std = np.sqrt(np.diagonal(V, axis1=1, axis2=2))
        return self._shaped(mean, X), self._shaped(std, X)

    def predict_variance(self, X):
        """V[y | x]: (n,), or matrices (n, t, t) for several targets, eq. (3)."""
        s, X = self._slice(X)
        V = conditional_moments(s)[1]
        return arrays.asarray(V[:, 0, 0] if self._flat else V, like=X)

    def conditional(self, X) -> ConditionalMixture:
        """Gates, means and covariances of eq. (1) for each row."""
        return self._slice(X)[0]

    def log_density(self, X, y):
        """log p(y | x) of each row, eq. (1): (n,)."""
        s, X = self._slice(X)
        Y = np.asarray(arrays.to_numpy(y), float).reshape(len(s.gates), -1)
        k = s.gates.shape[1]
        L = np.empty(s.gates.shape)
        for j in range(k):
            D = Y - s.means[:, j]
            L_ = np.linalg.cholesky(s.covs[:, j])
            Z = np.linalg.solve(L_, D[:, :, None])[:, :, 0]
            half = np.log(np.diagonal(L_, axis1=1, axis2=2)).sum(1)
            L[:, j] = -half - 0.5 * (Z * Z).sum(1)
        L -= 0.5 * self.n_targets_ * np.log(2 * np.pi)
        with np.errstate(divide="ignore"):
            out = logsumexp(L + np.log(s.gates), axis=1)
        return arrays.asarray(out, like=X)

    def sample(self, X):
        """One draw of y from p(y | x) for each row."""
        s, X = self._slice(X)
        rng = make_rng(self.random_state)
        edges = np.cumsum(s.gates, axis=1)
        u = rng.random(len(edges))[:, None] * edges[:, -1:]
        z = np.minimum((u >= edges).sum(1), edges.shape[1] - 1)
        at = np.arange(len(z))
        L = np.linalg.cholesky(s.covs[at, z])
        E = rng.standard_normal((len(z), self.n_targets_, 1))
        return self._shaped(s.means[at, z] + (L @ E)[:, :, 0], X)
