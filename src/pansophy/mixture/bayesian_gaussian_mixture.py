"""Bayesian Gaussian mixture: a distribution over mixtures, by variational inference.

With a Dirichlet (or a Dirichlet process, truncated after k sticks) on the weights and a
Normal-Wishart on each mean and precision, the posterior of parameters and memberships
is approximated by the product of one distribution for each that is closest in KL.
Coordinate ascent on the evidence bound alternates [Attias2000]:

    E   log r_ij = E[log w_j] + E[log N(x_i; m_j, S_j)] + const                  (1)
    M   beta_j = beta_0 + N_j,   v_j = v_0 + N_j,
        m_j = (beta_0 m_0 + N_j x_j) / beta_j,   S_j = (Psi + C_j + N_j a I +
              beta_0 N_j / beta_j (x_j - m_0)(x_j - m_0)') / v_j                 (2)

with N_j, x_j, C_j the weight, mean and scatter under r, and a = `reg_covar`. Since

    E[log N(x; m_j, S_j)] = log N(x; m_j, S_j) + (lambda_j - d / beta_j) / 2     (3)
    lambda_j = sum_{i<=d} digamma((v_j + 1 - i) / 2) + d log 2 - d log v_j

the E-step is that of an ordinary mixture with other numbers for log w_j, and runs by
the same code (`gaussian_em.py`), missing values included. The entropy of r follows from
the statistics, so an iteration is one pass over the rows.

(2) is exact for full covariances, for which the bound never falls. Tied, diagonal and
spherical ones follow scikit-learn's updates: (3) for all shapes, and for a tied one
N = sum_j N_j / k rows each.

Rows may be an array (on threads), a tensor (on its device) or a Parquet file. Time
O(n k d^2) an iteration (O(n k d) for tied, diagonal and spherical shapes), memory
O(block) beyond the rows and O(n) numbers for the initial guess.

Shapes    X (n, d)   r (n, k)   m (k, d)   S by covariance_type   beta, v (k,)
Refs      [Attias2000]; [Blei2006] the process; [Bishop2006] section 10.2
"""

import itertools
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import betaln, digamma, gammaln
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import arrays
from ..core.arrays.rows import is_dataset
from ..core.drivers.em import em
from ..core.random import make_rng, spawn_rngs
from ..distributions.gaussian.covariance import SHAPES
from ..distributions.gaussian.normal import Moments, Normal
from ..params import (
    Count,
    Flag,
    Natural,
    NonNegative,
    ParameterError,
    Positive,
    Verbosity,
)
from ..typing import NumericArray, Seed
from .abstract_mixture import AbstractMixture
from .gaussian_em import (
    EPS,
    EMData,
    GaussianMixtureParams,
    checked_covariance_prior,
    checked_prior_array,
    collapse_explained,
    data_mean_and_covariance,
    e_step,
    initial_moments,
    map_log_joint,
    mixture_attributes,
    prepare_em_data,
    sample_gaussian_mixture,
)


class VariationalPrior(NamedTuple):
    """Prior distribution of the parameters."""

    process: bool  # a Dirichlet process, else a Dirichlet
    a: float  # concentration
    m0: np.ndarray  # (d,)
    beta0: float
    psi: Any  # in the storage of one component
    v0: float


class VariationalPosterior(NamedTuple):
    """Posterior distribution of the parameters."""

    weights: Any  # concentrations (k,), or pairs of them (2, k) of the sticks
    beta: np.ndarray  # (k,)
    v: Any  # (k,), or a number if tied
    normal: Normal  # m, S


def variational_m_step(
    stats: Moments, prior: VariationalPrior, floor: float
) -> VariationalPosterior:
    """Eq. (2)."""
    N = stats.weight + EPS
    part = SHAPES[stats.shape]
    k, d = stats.mean.shape
    if prior.process:
        rest = np.append(np.cumsum(N[::-1])[-2::-1], 0.0)
        weights = np.stack([1 + N, prior.a + rest])
    else:
        weights = prior.a + N
    beta = prior.beta0 + N
    D = stats.mean - prior.m0
    mean = prior.m0 + D * (N / beta)[:, None]
    pull = part.outer(D, prior.beta0 * N / beta)
    S = stats.scatter + pull
    share = N
    if stats.shape == "tied":
        S, share = S / k, N.sum() / k
    if stats.shape == "spherical":
        S = S / d
    S = prior.psi + part.floor(S, 0.0) + scaled_identity(share * floor, stats.shape, d)
    v = prior.v0 + share
    lift = np.reshape(v, np.shape(v) + (1,) * (S.ndim - np.ndim(v)))
    return VariationalPosterior(weights, beta, v, Normal(mean, S / lift, stats.shape))


def scaled_identity(x, shape, d):
    """x times the identity, in the storage of a shape."""
    if shape == "diag":
        return np.asarray(x)[..., None]
    if shape == "spherical":
        return x
    return np.multiply.outer(x, np.eye(d))


def expected_log_weights(q: VariationalPosterior):
    """E[log w_j]: (k,)."""
    if np.ndim(q.weights) == 1:
        return digamma(q.weights) - digamma(q.weights.sum())
    a, b = q.weights
    total = digamma(a + b)
    left = np.append(0.0, np.cumsum(digamma(b) - total)[:-1])
    return digamma(a) - total + left


def expected_log_offsets(q: VariationalPosterior):
    """Eq. (3) less the log-density of the Normal, with E[log w_j]: (k,)."""
    d = q.normal.d
    steps = digamma(0.5 * (np.reshape(q.v, (-1, 1)) - np.arange(d))).sum(1)
    inner = steps + d * np.log(2) - d * np.log(np.ravel(q.v))
    return expected_log_weights(q) + 0.5 * (inner - d / q.beta)


def expected_weights(q: VariationalPosterior):
    """The weights that are expected: (k,), summing to 1."""
    if np.ndim(q.weights) == 1:
        return q.weights / q.weights.sum()
    a, b = q.weights
    left = np.append(1.0, np.cumprod(b / (a + b))[:-1])
    w = a / (a + b) * left
    return w / w.sum()


def variational_e_step(
    data: EMData, q: VariationalPosterior, prior: VariationalPrior, floor: float
):
    """Eq. (1): statistics under r, and the bound for r with the posterior (2) of it."""
    log_w = expected_log_offsets(q)
    plug_in = GaussianMixtureParams(np.exp(expected_log_weights(q)), q.normal)
    stats, loglik = e_step(data, plug_in, log_w)
    D = stats.mean - q.normal.mean
    part, P = q.normal.part, q.normal.factor
    second = stats.scatter + part.outer(D, stats.weight)
    if q.normal.shape in ("diag", "spherical"):
        inside = (P * P * second).sum()
    else:
        inside = (P * (second @ P)).sum()
    d = q.normal.d
    N = stats.weight
    half = q.normal.half_log_det - 0.5 * d * np.log(2 * np.pi)
    joint = (N * (log_w + half)).sum() - 0.5 * inside  # sum of r log-joint
    return stats, (loglik - joint) + posterior_bound(
        variational_m_step(stats, prior, floor)
    )


def posterior_bound(q: VariationalPosterior) -> float:
    """The evidence bound right after (2), less the entropy of r and constants."""
    k, d = q.normal.mean.shape
    v = np.broadcast_to(q.v, (k,))
    log_det = np.broadcast_to(q.normal.half_log_det, (k,)) - 0.5 * d * np.log(v)
    gammas = gammaln(0.5 * (v[:, None] - np.arange(d))).sum(1)
    wishart = -(v * log_det + 0.5 * v * d * np.log(2) + gammas)
    if np.ndim(q.weights) == 1:
        weights = gammaln(q.weights.sum()) - gammaln(q.weights).sum()
    else:
        weights = -betaln(*q.weights).sum()
    return float(-wishart.sum() - weights - 0.5 * d * np.log(q.beta).sum())


def prior_attributes(prior: VariationalPrior) -> dict:
    """The priors as fitted attributes."""
    return {
        "weight_concentration_prior_": prior.a,
        "mean_precision_prior_": prior.beta0,
        "mean_prior_": prior.m0,
        "degrees_of_freedom_prior_": prior.v0,
        "covariance_prior_": prior.psi if np.ndim(prior.psi) else float(prior.psi),
    }


def posterior_attributes(q: VariationalPosterior, X) -> dict:
    """Fitted attributes in the library and dtype of X."""
    like = np.empty(0, X.dtype) if is_dataset(X) else X
    put = lambda a: arrays.asarray(a, like=like)
    pair = np.ndim(q.weights) == 2
    return {
        **mixture_attributes(GaussianMixtureParams(expected_weights(q), q.normal), X),
        "weight_concentration_": tuple(map(put, q.weights)) if pair else put(q.weights),
        "mean_precision_": put(q.beta),
        "degrees_of_freedom_": put(q.v) if np.ndim(q.v) else float(q.v),
    }


def rounding_variance(C, dtype) -> float:
    """A variance that sums over rows of covariance C cannot tell from 0.

    Where columns are constant or depend on one another the covariances, and the prior
    taken from the rows, are singular but for errors of this size, of either sign.
    """
    kind = np.float32 if "float32" in str(dtype) else np.float64
    variance = np.diagonal(C) if C.ndim == 2 else C
    return 4 * np.size(variance) * float(np.finfo(kind).eps * np.mean(variance))


@dataclass(eq=False, repr=False)
class BayesianGaussianMixture(AbstractMixture):
    """Gaussian mixture with priors, fitted by variational inference.

    Parameters
    ----------
    n_components : int, default=1
        Most components, k; those that the rows do not ask for get little weight.
    covariance_type : {"full", "tied", "diag", "spherical"}, default="full"
        A matrix each, one for all, a diagonal each, a number each.
    tol : float, default=1e-3
        Stop when an iteration changes the bound by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance.
    max_iter : int, default=100
        Most iterations.
    n_init : int, default=1
        Number of starts; the highest bound is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        How the initial parameters are found, default "kmeans".
    weight_concentration_prior_type : str, default="dirichlet_process"
        That, or "dirichlet_distribution".
    weight_concentration_prior : float or None, default=None
        Concentration of the weights: low for few components. None is 1 / k.
    mean_precision_prior : float or None, default=None
        beta_0, how many rows the prior on a mean is worth. None is 1.
    mean_prior : array of shape (d,), optional
        m_0. None is the mean of the rows.
    degrees_of_freedom_prior : float or None, default=None
        v_0, above d - 1. None is d.
    covariance_prior : float or array, optional
        Psi, in the storage of one component. None is the covariance of the rows.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts and of `sample`.
    warm_start : bool, default=False
        Start `fit` from the last solution.
    verbose : int, default=0
        1 shows a progress bar, 2 also prints every `verbose_interval` iterations.
    verbose_interval : int, default=10
        Iterations between two lines.

    Attributes
    ----------
    weights_ : array of shape (k,)
        Expected weights.
    means_ : array of shape (k, d)
        Expected means.
    covariances_, precisions_, precisions_cholesky_ : arrays
        S_j, their inverses (the expected precisions) and the factors P of those.
    weight_concentration_ : array of shape (k,), or pair of them
        Concentrations of the Dirichlet, or of the Beta of each stick.
    mean_precision_ : array of shape (k,)
        beta_j.
    degrees_of_freedom_ : array of shape (k,)
        v_j; one number if tied.
    weight_concentration_prior_, mean_precision_prior_, mean_prior_,
    degrees_of_freedom_prior_, covariance_prior_ : numbers and arrays
        The priors that were used.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Iterations of the best start.
    lower_bound_ : float
        Evidence bound of the fitted model, less constants.
    lower_bounds_ : list of float
        The same after each iteration.
    history_ : dict of arrays
        What the driver recorded after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import BayesianGaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [4, 2], [12, 4], [10, 7]])
    >>> model = BayesianGaussianMixture(n_components=2, random_state=42).fit(X)
    >>> model.predict([[0, 0]]) != model.predict([[9, 3]])
    array([ True])
    """

    _: KW_ONLY
    n_components: Count = 1
    covariance_type: Literal["full", "tied", "diag", "spherical"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Natural = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weight_concentration_prior_type: Literal[
        "dirichlet_process", "dirichlet_distribution"
    ] = "dirichlet_process"
    weight_concentration_prior: Positive | None = None
    mean_precision_prior: Positive | None = None
    mean_prior: NumericArray | None = None
    degrees_of_freedom_prior: Positive | None = None
    covariance_prior: Positive | NumericArray | None = None
    random_state: Seed = None
    warm_start: Flag = False
    verbose: Verbosity = 0
    verbose_interval: Count = 10

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Fit by coordinate ascent on the evidence bound.

        Parameters
        ----------
        X : array of shape (n, d), tensor, or table on disk
            Rows. NaN is a value that is missing (not in tensors).
        y : None
            Ignored, there for scikit-learn's sake.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : BayesianGaussianMixture
        """
        X, w = self._check_training_data(
            X,
            sample_weight=sample_weight,
            ensure_min_samples=2,
            ensure_all_finite="allow-nan",
            order="C",
        )
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        shape = self.covariance_type
        data = prepare_em_data(X, w, shape)
        prior = self._prior(data, X.dtype)
        covariance = data_mean_and_covariance(data, shape)[1]
        floor = max(self.reg_covar, rounding_variance(covariance, X.dtype))
        warm = self.warm_start and hasattr(self, "converged_")
        n_init = 1 if warm else self.n_init
        rngs = spawn_rngs(make_rng(self.random_state), n_init)

        def one_start(i, task):
            if warm:
                return self._run_em(data, self._posterior(), prior, floor, task)
            guess = initial_moments(
                X, data, w, self.n_components, shape, self.init_params, rngs[i]
            )
            initial = variational_m_step(guess, prior, floor)
            return self._run_em(data, initial, prior, floor, task)

        with collapse_explained():
            result = self._run_driver(
                one_start,
                n_init=n_init,
                total=self.max_iter,
                X=None if is_dataset(X) else X,
                snapshot=lambda state: posterior_attributes(state.params, X),
            )
        attributes = prior_attributes(prior)
        attributes |= posterior_attributes(result.state.params, X)
        for name, value in attributes.items():
            setattr(self, name, value)
        self.lower_bound_ = -result.objective
        self.lower_bounds_ = [-float(v) for v in result.history["objective"]]
        return self

    def _run_em(self, data, initial, prior, floor, task):
        """Coordinate ascent from one posterior."""
        iterations = itertools.count()

        def expect(posterior):
            stats, bound = variational_e_step(data, posterior, prior, floor)
            iteration = next(iterations)
            if int(self.verbose) >= 2 and iteration % self.verbose_interval == 0:
                print(f"iteration {iteration}: bound {bound:.6f}")
            return stats, bound

        result = em(
            expect,
            lambda stats: variational_m_step(stats, prior, floor),
            initial,
            max_iter=self.max_iter,
            tol=self.tol,
            task=task._replace(log=False),  # `verbose_interval` says when to print
        )
        return result._replace(reason="start") if self.max_iter == 0 else result

    def _prior(self, data, dtype=np.float64) -> VariationalPrior:
        """The prior that the parameters ask for, with defaults from the rows."""
        d = data.rows.d
        shape = self.covariance_type
        m, C = data_mean_and_covariance(data, shape)
        m0 = checked_prior_array("mean_prior", self.mean_prior, (d,))
        psi = checked_covariance_prior(self.covariance_prior, shape, d)
        v0 = self.degrees_of_freedom_prior
        if v0 is not None and v0 <= d - 1:
            raise ParameterError(
                "The parameter 'degrees_of_freedom_prior' should be greater than "
                f"{d - 1}, but got {v0:.3f}."
            )
        a, beta0 = self.weight_concentration_prior, self.mean_precision_prior
        return VariationalPrior(
            self.weight_concentration_prior_type == "dirichlet_process",
            1.0 / self.n_components if a is None else a,
            m if m0 is None else m0,
            1.0 if beta0 is None else beta0,
            C + scaled_identity(d * rounding_variance(C, dtype), shape, d)
            if psi is None
            else psi,
            d if v0 is None else v0,
        )

    def _posterior(self) -> VariationalPosterior:
        """The fitted posterior as float64 NumPy arrays."""
        double = lambda a: arrays.to_numpy(a).astype(float)
        pair = isinstance(self.weight_concentration_, tuple)
        weights = self.weight_concentration_
        weights = np.stack([double(a) for a in weights]) if pair else double(weights)
        normal = Normal(
            double(self.means_), double(self.covariances_), self.covariance_type
        )
        v = double(self.degrees_of_freedom_)
        return VariationalPosterior(
            weights, double(self.mean_precision_), v if v.ndim else float(v), normal
        )

    def _params(self) -> GaussianMixtureParams:
        """Expected weights and means, with S_j, as an ordinary mixture."""
        q = self._posterior()
        return GaussianMixtureParams(expected_weights(q), q.normal)

    def _map(self, X, function):
        """function(expected log-joint) for each block of rows, put together."""
        X = self._check_new_data(X, ensure_all_finite="allow-nan", order="C")
        q = self._posterior()
        return map_log_joint(
            X,
            GaussianMixtureParams(expected_weights(q), q.normal),
            function,
            expected_log_offsets(q),
        )

    def sample(self, n_samples=1):
        """Draw rows and the components they come from, grouped by component."""
        check_is_fitted(self)
        q = self._posterior()
        rng = make_rng(self.random_state)
        return sample_gaussian_mixture(
            expected_weights(q), q.normal, n_samples, rng, self.means_
        )
