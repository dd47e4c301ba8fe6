"""Bayesian Gaussian mixture: a distribution over mixtures, fitted by variational turns.

The bound on the evidence, the two turns that raise it and why they do are in
`variational`; here they meet rows of every kind: an array on threads, a tensor on its
device, a Parquet file as it is read, with or without missing values. A turn is one
pass; time O(n k d^2) (O(n k d) for tied, diagonal and spherical shapes), memory
O(block) beyond the rows and O(n) numbers for the seeding.

Refs      [Attias2000]; [Blei2006]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..core import arrays
from ..core.em import em
from ..core.iterate import best_of
from ..core.random import rng_from, spawn
from ..core.rows import is_dataset
from ..distributions.normal import Normal
from ..params import Count, Flag, Natural, NonNegative, ParameterError, Positive, Verbosity
from ..typing import Matrix, Seed, Words
from .abstract_mixture import AbstractMixture
from .starts import initial_moments
from .gaussian_em import GaussianMixtureParams, checked_covariance_prior, sample_gaussian_mixture, map_log_joint, data_mean_and_covariance, prepare_em_data, checked_prior_array
from .variational import VariationalPosterior, VariationalPrior, posterior_attributes, prior_attributes, variational_m_step, expected_weights, expected_log_offsets, scaled_identity, variational_e_step


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
        Stop when a turn changes the bound by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance.
    max_iter : int, default=100
        Most turns.
    n_init : int, default=1
        Number of starts; the highest bound is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        How a start is found, default "kmeans".
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
        Begin `fit` from the last solution.
    verbose : int, default=0
        1 shows a progress bar, 2 also prints every `verbose_interval` turns.
    verbose_interval : int, default=10
        Turns between two lines.

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
        Turns of the best start.
    lower_bound_ : float
        Evidence bound of the fitted model, less constants.
    lower_bounds_ : list of float
        The same after each turn.
    history_ : dict of arrays
        What the driver recorded after each turn.
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
    mean_prior: Matrix | Words | None = None
    degrees_of_freedom_prior: Positive | None = None
    covariance_prior: Positive | Matrix | Words | None = None
    random_state: Seed = None
    warm_start: Flag = False
    verbose: Verbosity = 0
    verbose_interval: Count = 10

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Fit by variational turns.

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
        X, w = self._begin(
            X, sample_weight=sample_weight, ensure_min_samples=2,
            ensure_all_finite="allow-nan",
        )  # fmt: skip
        if X.shape[0] < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {X.shape[0]}"
            )
        t = prepare_em_data(X, w, self.covariance_type)
        prior = self._prior(t, X.dtype)
        result = self._run(t, w, X, prior)
        for name, value in {
            **prior_attributes(prior), **posterior_attributes(result.state.params, X)
        }.items():  # fmt: skip
            setattr(self, name, value)
        self.lower_bound_ = -result.objective
        self.lower_bounds_ = [-float(v) for v in result.history["objective"]]
        return self

    def _prior(self, t, dtype=np.float64) -> VariationalPrior:
        """The prior asked for, with defaults from the rows."""
        d, shape = t.rows.d, self.covariance_type
        m, C = data_mean_and_covariance(t, shape)
        m0 = checked_prior_array("mean_prior", self.mean_prior, (d,))
        psi = checked_covariance_prior(self.covariance_prior, shape, d)
        v0 = self.degrees_of_freedom_prior
        if v0 is not None and v0 <= d - 1:
            raise ParameterError(
                f"degrees_of_freedom_prior must be above {d - 1}, got {v0}."
            )
        a, beta0 = self.weight_concentration_prior, self.mean_precision_prior
        return VariationalPrior(
            self.weight_concentration_prior_type == "dirichlet_process",
            1.0 / self.n_components if a is None else a,
            m if m0 is None else m0,
            1.0 if beta0 is None else beta0,
            C + scaled_identity(d * rounding_variance(C, dtype), shape, d) if psi is None else psi,
            d if v0 is None else v0,
        )

    def _run(self, t, w, X, prior):
        """Every start to its end; the best as a Result."""
        warm = self.warm_start and hasattr(self, "converged_")
        n_init = 1 if warm else self.n_init
        rngs = spawn(rng_from(self.random_state), n_init)
        k, shape = self.n_components, self.covariance_type
        floor = max(self.reg_covar, rounding_variance(data_mean_and_covariance(t, shape)[1], X.dtype))

        def first(i):
            if warm:
                return self._posterior()
            guess = initial_moments(X, t, w, k, shape, self.init_params, rngs[i])
            return variational_m_step(guess, prior, floor)

        def one(i, task):
            result = em(
                self._told(lambda q: variational_e_step(t, q, prior, floor)),
                lambda stats: variational_m_step(stats, prior, floor),
                first(i),
                max_iter=self.max_iter,
                tol=self.tol,
                task=task,
            )
            return result._replace(reason="start") if self.max_iter == 0 else result

        return self._drive(
            lambda task: best_of(n_init, one, task=task),
            total=n_init if n_init > 1 else self.max_iter,
            X=None if is_dataset(X) else X,
            snapshot=lambda s: posterior_attributes(s.params, X),
        )

    def _told(self, expect):
        """`expect`, with a line printed every `verbose_interval` turns if asked."""
        if int(self.verbose) < 2:
            return expect
        turns = iter(range(1 << 62))

        def telling(q):
            stats, value = expect(q)
            i = next(turns)
            if i % self.verbose_interval == 0:
                print(f"turn {i}: bound {value:.6f}")
            return stats, value

        return telling

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
        X = self._ready(X, ensure_all_finite="allow-nan")
        q = self._posterior()
        return map_log_joint(X, GaussianMixtureParams(expected_weights(q), q.normal), function, expected_log_offsets(q))

    def sample(self, n_samples=1):
        """Draw rows and the components they come from, grouped by component."""
        check_is_fitted(self)
        q = self._posterior()
        rng = rng_from(self.random_state)
        return sample_gaussian_mixture(expected_weights(q), q.normal, n_samples, rng, self.means_)
