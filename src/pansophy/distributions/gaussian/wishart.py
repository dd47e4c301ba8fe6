"""Normal-inverse-Wishart: the conjugate prior of a Normal's mean and covariance.

    S ~ InverseWishart(Psi, v),   m | S ~ Normal(m_0, S / kappa)                 (1)

After rows with weight N, mean x and scatter C about it the posterior is of the same
kind with kappa' = kappa + N, v' = v + N, m_0' = (kappa m_0 + N x) / kappa' and

    Psi' = Psi + C + (kappa N / kappa') (x - m_0)(x - m_0)'                      (2)

whose joint mode is m_0' and Psi' / (v' + d + 2), positive definite however few the
rows. As Psi -> 0, kappa -> 0, v -> -(d + 2) the mode becomes the maximum-likelihood
Normal.

Shapes    m_0 (d,)   Psi (d, d)   kappa, v numbers; a posterior of k has a leading k
Refs      [Murphy2012] section 4.6
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.special

from ...core.arrays import arrays
from ..base import as_events, float_parameter, require_all
from .covariance import SHAPES
from .normal import Moments, Normal, moments
from .student_t import StudentT


class MeanAndCovariance(NamedTuple):
    """A mean and a covariance matrix, or n of each."""

    mean: Any  # (d,) or (n, d)
    cov: Any  # (d, d) or (n, d, d)


@dataclass(frozen=True, eq=False)
class NormalInverseWishart:
    """Distribution of the mean and covariance of a Normal.

    Parameters
    ----------
    mean : array of shape (d,) or (k, d)
        m_0, where the mean is expected.
    kappa : float
        How many rows that expectation is worth.
    scale : array of shape (d, d) or (k, d, d)
        Psi.
    dof : float
        v, above d - 1 for a proper distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.distributions import Normal, NormalInverseWishart
    >>> prior = NormalInverseWishart(np.zeros(2), 1.0, np.eye(2), 4.0)
    >>> posterior = prior.posterior(np.array([[2.0, 0.0]]))
    >>> posterior.mode.mean, posterior.predictive().dof
    (array([1., 0.]), 4.0)
    >>> seen = Normal(np.zeros(2), np.eye(2)).stats(np.array([[2.0, 0.0]]))
    >>> Normal.from_stats(seen, prior=prior).mean
    array([1., 0.])
    """

    mean: Any
    kappa: Any
    scale: Any
    dof: Any

    def __post_init__(self):
        for name in ("mean", "kappa", "scale", "dof"):
            object.__setattr__(self, name, float_parameter(getattr(self, name)))
        require_all(self.kappa >= 0, "kappa must not be negative.")

    @property
    def d(self) -> int:
        return int(self.mean.shape[-1])

    @property
    def single(self) -> bool:
        return self.mean.ndim == 1

    @property
    def mode(self) -> MeanAndCovariance:
        """The mode: mean and covariance of highest joint density."""
        divisor = self.dof + self.d + 2
        return MeanAndCovariance(
            self.mean,
            self.scale / (divisor[:, None, None] if divisor.ndim else divisor),
        )

    def expected(self) -> MeanAndCovariance:
        """Mean of the mean and of the covariance, which needs dof > d + 1."""
        divisor = self.dof - self.d - 1
        require_all(divisor > 0, "the mean covariance exists for dof > d + 1 only.")
        return MeanAndCovariance(
            self.mean,
            self.scale / (divisor[:, None, None] if divisor.ndim else divisor),
        )

    def normal(self, shape: str = "full", floor: float = 0.0) -> Normal:
        """The Normal at the mode, its covariance pressed into a shape."""
        part = SHAPES[shape]
        d = self.d
        mean, cov = self.mode
        if shape in ("full", "tied") and self.single:
            return Normal(mean, part.floor(cov, floor), shape)
        xp = arrays.namespace(mean)
        S = cov[None, ...] if self.single else cov
        N = xp.ones(S.shape[0], dtype=S.dtype, device=arrays.device(S))
        C = part.floor(part.estimate(part.compress(S), N, d), floor)
        return Normal(mean, C[0, ...] if self.single and shape != "tied" else C, shape)

    def posterior(self, X, weights=None) -> "NormalInverseWishart":
        """Eq. (2), given rows (n, d), or `Moments` of one set of rows or of k."""
        stats = X if isinstance(X, Moments) else moments(as_events(X, self.d), weights)
        N, x = stats.weight, stats.mean
        xp = arrays.namespace(x)
        lift = (
            (lambda a, n: a.reshape(a.shape + (1,) * n)) if N.ndim else (lambda a, n: a)
        )
        kappa = self.kappa + N
        D = x - self.mean
        C = stats.scatter
        if stats.shape != "full" and not (stats.shape == "tied" and stats.single):
            C = _full_scatter_of(stats)
        pull = lift(self.kappa * N / kappa, 2) * D[..., :, None] * D[..., None, :]
        mean = self.mean + lift(N / kappa, 1) * D
        psi = self.scale + C + pull
        dof = self.dof + N
        return NormalInverseWishart(mean, xp.asarray(kappa), psi, xp.asarray(dof))

    def predictive(self) -> StudentT:
        """The distribution of the next row, which needs dof > d - 1 and kappa > 0."""
        if not self.single:
            raise TypeError("predict by one distribution at a time.")
        v = float(self.dof) - self.d + 1
        kappa = float(self.kappa)
        if v <= 0 or kappa <= 0:
            raise ValueError("the next row needs dof above d - 1 and kappa above 0.")
        scale = arrays.to_numpy(self.scale) * (kappa + 1) / (kappa * v)
        return StudentT(arrays.to_numpy(self.mean), scale, v)

    def log_prob(self, pair):
        """Log density (n,) of eq. (1) at n means (n, d) and covariances (n, d, d)."""
        m, S = (np.asarray(arrays.to_numpy(a), float) for a in pair)
        m = m.reshape(-1, self.d)
        S = S.reshape(-1, self.d, self.d)
        psi, m0 = arrays.to_numpy(self.scale), arrays.to_numpy(self.mean)
        v = float(self.dof)
        d = self.d
        sign, log_det = np.linalg.slogdet(S)
        require_all(sign > 0, "covariances must be positive definite.")
        inside = np.trace(
            np.linalg.solve(S, np.broadcast_to(psi, S.shape)), axis1=1, axis2=2
        )
        wishart = (
            0.5 * v * np.linalg.slogdet(psi)[1]
            - 0.5 * v * d * np.log(2)
            - scipy.special.multigammaln(0.5 * v, d)
            - 0.5 * (v + d + 1) * log_det
            - 0.5 * inside
        )
        centre = Normal(np.broadcast_to(m0, m.shape), S / float(self.kappa))
        return wishart + np.diagonal(centre.log_prob(m))

    def sample(self, n: int, rng: np.random.Generator) -> MeanAndCovariance:
        """n draws as `MeanAndCovariance(mean (n, d), cov (n, d, d))`."""
        psi = arrays.to_numpy(self.scale)
        d = self.d
        # Bartlett: A A' is Wishart(I, v) for A lower triangular with chi diagonal
        A = np.tril(rng.standard_normal((n, d, d)), -1)
        j = np.arange(d)
        A[:, j, j] = np.sqrt(rng.chisquare(float(self.dof) - j, size=(n, d)))
        half = np.linalg.solve(A, np.broadcast_to(np.linalg.cholesky(psi).T, A.shape))
        S = np.swapaxes(half, 1, 2) @ half
        L = np.linalg.cholesky(S / float(self.kappa))
        E = rng.standard_normal((n, d, 1))
        return MeanAndCovariance(arrays.to_numpy(self.mean) + (L @ E)[..., 0], S)


def _full_scatter_of(stats: Moments):
    """A scatter in diagonal or spherical storage as matrices."""
    if stats.shape == "tied":
        raise ValueError("a tied scatter belongs to all components: no NIW for each.")
    m = stats.batch()
    C = SHAPES[stats.shape].dense(m.scatter, m.mean.shape[0], m.mean.shape[1])
    C = C / m.mean.shape[1] if stats.shape == "spherical" else C
    return C[0, ...] if stats.single else C
