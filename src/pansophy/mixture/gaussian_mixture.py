"""Gaussian mixture: rows drawn from k Normals with unknown membership, fitted by EM.

    p(x) = sum_j w_j N(x; m_j, S_j),   sum_j w_j = 1                             (1)

Maximise sum_i log p(x_i) by alternating two steps [Dempster1977]:

    E   r_ij = w_j N(x_i; m_j, S_j) / p(x_i)                                     (2)
    M   w_j = N_j / n,   m_j = sum_i r_ij x_i / N_j,
        S_j = sum_i r_ij (x_i - m_j)(x_i - m_j)' / N_j + a I,  N_j = sum_i r_ij  (3)

Neither step can lower the likelihood when a = `reg_covar` is 0. A small a keeps a
component from collapsing onto one row, where the likelihood has no bound; in return the
likelihood may dip by as much as that costs. Covariance shapes are a part of the Normal;
they change S_j in (3) and nothing else. `gaussian_em.py` has the initial parameters and
the two steps, and what hard memberships, priors and missing values do to them.

An iteration is one pass over the rows in blocks: an array on threads, a tensor on its
device, a Parquet file as it is read. Time O(n k d^2) an iteration (O(n k d) for tied,
diagonal and spherical shapes), memory O(block) beyond the rows (and O(n) numbers for
the initial guess). Rows with missing values take O(k d^3) for each pattern of observed
columns.

Shapes    X (n, d)   r (n, k)   w (k,)   m (k, d)   S by covariance_type
Refs      [Dempster1977]; [McLachlan2000]; [Ghahramani1996] low rank
"""

import itertools
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ..core.arrays import arrays
from ..core.arrays.rows import is_dataset
from ..core.information_criteria import aic, bic
from ..core.random import make_rng, spawn_rngs
from ..distributions.gaussian.covariance import SHAPES, factor_analysis
from ..distributions.gaussian.normal import Normal
from ..params import (
    AtLeastOne,
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
    GaussianMixtureParams,
    collapse_explained,
    initial_moments,
    map_log_joint,
    mixture_attributes,
    posterior_modes,
    prepare_em_data,
    prior_from_estimator,
    run_gaussian_em,
    sample_gaussian_mixture,
    user_initial_params,
    with_parameter_path,
)


class DegenerateWarning(ConvergenceWarning):
    """A component has collapsed onto one point; only `reg_covar` keeps it from 0."""


def collapsed_components(p: GaussianMixtureParams, floor: float) -> list[int]:
    """Components with nothing but the floor in their covariance."""
    size = np.atleast_2d(p.normal.variance).mean(axis=1)
    return [] if floor == 0 else np.flatnonzero(size <= 1.5 * floor).tolist()


def lost_components(p: GaussianMixtureParams, n: float) -> list[int]:
    """Components that hold less than a millionth of a row."""
    return np.flatnonzero(p.weights * n < 1e-6).tolist()


@dataclass(eq=False, repr=False)
class GaussianMixture(AbstractMixture):
    """Gaussian mixture model, fitted by EM.

    Parameters
    ----------
    n_components : int, default=1
        Number of components, k.
    covariance_type : {"full", "tied", "diag", "spherical", "low_rank"}
        A matrix each (the default), one for all, a diagonal each, a number each, or
        `rank` factors and a diagonal each.
    tol : float, default=1e-3
        Stop when an iteration changes the mean log-likelihood by no more than this.
    reg_covar : float, default=1e-6
        Added to the diagonal of every covariance.
    max_iter : int, default=100
        Most iterations. 0 keeps the initial parameters.
    n_init : int, default=1
        Number of starts; the likeliest result is kept.
    init_params : {"kmeans", "k-means++", "random", "random_from_data"}
        How the initial parameters are found, default "kmeans".
    weights_init : array of shape (k,), optional
        Weights to start from.
    means_init : array of shape (k, d), optional
        Means to start from.
    precisions_init : array, optional
        Inverse covariances to start from, in the storage of `covariance_type`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts and of `sample`.
    warm_start : bool, default=False
        Start `fit` from the last solution.
    verbose : int, default=0
        1 shows a progress bar, 2 also prints every `verbose_interval` iterations.
    verbose_interval : int, default=10
        Iterations between two lines.
    rank : int, default=1
        Number of factors of a "low_rank" covariance.
    hard : bool, default=False
        Put each row wholly into its likeliest component in every iteration. What
        rises is then the log-likelihood of rows and components together.
    weight_concentration_prior : float or None, default=None
        a of a Dirichlet prior on the weights, at least 1.
    mean_precision_prior : float or None, default=None
        How many rows a Normal prior on each mean is worth; 1 if `mean_prior` is given.
    mean_prior : array of shape (d,) or None, default=None
        Its centre; the mean of the rows if `mean_precision_prior` is given.
    degrees_of_freedom_prior : float or None, default=None
        v of an inverse Wishart prior on each covariance; d if only Psi is given.
    covariance_prior : array or None, default=None
        Psi in the storage of one component; the covariance of the rows if only v is
        given. Any prior makes the fit a MAP estimate.
    keep_path : bool, default=False
        Keep the parameters after each iteration in `history_`: "weights", "means",
        "covariances".

    Attributes
    ----------
    weights_ : array of shape (k,)
        Weights of the components.
    means_ : array of shape (k, d)
        Means of the components.
    covariances_, precisions_, precisions_cholesky_ : arrays
        Covariances, their inverses and the factors P of those, precision = P P'.
    factors_, noise_variance_ : arrays of shape (k, d, rank) and (k, d)
        What a "low_rank" covariance is made of.
    converged_ : bool
        Whether `tol` was reached.
    n_iter_ : int
        Iterations of the best start.
    lower_bound_ : float
        Mean log-likelihood of the fitted model, with the log-prior if there is one;
        if `hard`, of rows and components together.
    lower_bounds_ : list of float
        The same after each iteration.
    history_ : dict of arrays
        What the driver recorded after each iteration.
    n_features_in_ : int
        Number of columns seen in `fit`.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.mixture import GaussianMixture
    >>> X = np.array([[1, 2], [1, 4], [1, 0], [10, 2], [10, 4], [10, 0]])
    >>> model = GaussianMixture(2, random_state=0).fit(X)
    >>> np.sort(model.means_[:, 0]).round(6)
    array([ 1., 10.])
    >>> model.predict([[0, 0]]) == model.predict([[1, 1]])
    array([ True])
    """

    n_components: Count = 1
    _: KW_ONLY
    covariance_type: Literal["full", "tied", "diag", "spherical", "low_rank"] = "full"
    tol: NonNegative = 1e-3
    reg_covar: NonNegative = 1e-6
    max_iter: Natural = 100
    n_init: Count = 1
    init_params: Literal["kmeans", "k-means++", "random", "random_from_data"] = "kmeans"
    weights_init: NumericArray | None = None
    means_init: NumericArray | None = None
    precisions_init: NumericArray | None = None
    random_state: Seed = None
    warm_start: Flag = False
    verbose: Verbosity = 0
    verbose_interval: Count = 10
    rank: Count = 1
    hard: Flag = False
    weight_concentration_prior: AtLeastOne | None = None
    mean_precision_prior: Positive | None = None
    mean_prior: NumericArray | None = None
    degrees_of_freedom_prior: Positive | None = None
    covariance_prior: Positive | NumericArray | None = None
    keep_path: Flag = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, y=None, sample_weight=None):
        """Fit by EM.

        Parameters
        ----------
        X : array of shape (n, d), tensor, or table on disk
            Rows. A path of a Parquet file is read block by block in every iteration.
            NaN is a value that is missing (not in tensors); it is integrated out.
        y : None
            Ignored, there for scikit-learn's sake.
        sample_weight : array of shape (n,), optional
            A weight of 3 counts as three copies of the row.

        Returns
        -------
        self : GaussianMixture
        """
        X, w = self._check_training_data(
            X,
            sample_weight=sample_weight,
            ensure_min_samples=2,
            ensure_all_finite="allow-nan",
            order="C",
        )
        self._check_sizes(X)
        data = prepare_em_data(X, w, self.covariance_type)
        prior = prior_from_estimator(self, data, self.covariance_type)
        warm = self.warm_start and hasattr(self, "converged_")
        n_init = 1 if warm else self.n_init
        rngs = spawn_rngs(make_rng(self.random_state), n_init)

        def one_start(i, task):
            if warm:
                return self._run_em(data, self._params(), prior, task)
            initial = self._initial_params(X, data, w, prior, rngs[i])
            return self._run_em(data, initial, prior, task)

        with collapse_explained():
            result = self._run_driver(
                one_start,
                n_init=n_init,
                total=self.max_iter,
                X=None if is_dataset(X) else X,
                snapshot=lambda state: mixture_attributes(state.params, X),
            )
        for name, value in mixture_attributes(result.state.params, X).items():
            setattr(self, name, value)
        self.lower_bound_ = -result.objective
        self.lower_bounds_ = [-float(v) for v in result.history["objective"]]
        lost = lost_components(result.state.params, data.weight)
        if lost:
            warnings.warn(
                f"GaussianMixture: components {lost} have lost all rows. Use fewer "
                "components, raise n_init or take another start.",
                DegenerateWarning,
                stacklevel=2,
            )
        collapsed = collapsed_components(result.state.params, self.reg_covar)
        if collapsed:
            warnings.warn(
                f"GaussianMixture: components {collapsed} have collapsed onto single "
                "points and are held up by reg_covar alone. Use fewer components "
                "or raise reg_covar.",
                DegenerateWarning,
                stacklevel=2,
            )
        return self

    def _run_em(self, data, initial, prior, task):
        """EM from one set of initial parameters."""
        path = []
        iterations = itertools.count()

        def on_e_step(params, mean_loglik):
            iteration = next(iterations)
            if self.keep_path:
                path.append(params)
            if int(self.verbose) >= 2 and iteration % self.verbose_interval == 0:
                print(f"iteration {iteration}: mean log-likelihood {mean_loglik:.6f}")

        result = run_gaussian_em(
            data,
            initial,
            floor=self.reg_covar,
            prior=prior,
            hard=self.hard,
            max_iter=self.max_iter,
            tol=self.tol,
            on_e_step=on_e_step,
            task=task._replace(log=False),  # `verbose_interval` says when to print
        )
        result = with_parameter_path(result, path)
        return result._replace(reason="start") if self.max_iter == 0 else result

    def _check_sizes(self, X):
        n, d = X.shape
        if n < self.n_components:
            raise ValueError(
                f"Expected n_samples >= n_components but got n_components = "
                f"{self.n_components}, n_samples = {n}"
            )
        if self.covariance_type == "low_rank" and self.rank > d:
            raise ParameterError(f"rank must be at most {d} columns, got {self.rank}.")

    def _initial_params(self, X, data, w, prior, rng) -> GaussianMixtureParams:
        """The parameters a start begins from: given ones take precedence."""
        k, shape = self.n_components, self.covariance_type
        W, M, C = user_initial_params(
            self.weights_init,
            self.means_init,
            self.precisions_init,
            k,
            data.rows.d,
            shape,
        )
        if W is None or M is None or C is None:
            guess = initial_moments(X, data, w, k, shape, self.init_params, rng)
            N = guess.weight + 1e-300
            mean, cov = posterior_modes(guess, prior)
            W = N / N.sum() if W is None else W
            M = mean if M is None else M
            C = SHAPES[guess.shape].floor(cov, self.reg_covar) if C is None else C
        if shape == "low_rank":
            C = factor_analysis(C, self.rank, floor=self.reg_covar)
        return GaussianMixtureParams(
            np.maximum(W, np.finfo(float).tiny), Normal(M, C, shape)
        )

    def _params(self) -> GaussianMixtureParams:
        """The fitted parameters as float64 NumPy arrays."""
        double = lambda a: arrays.to_numpy(a).astype(float)
        cov = double(self.covariances_)
        if self.covariance_type == "low_rank":
            noise = double(self.noise_variance_)[:, :, None]
            cov = np.concatenate([double(self.factors_), noise], axis=2)
        normal = Normal(double(self.means_), cov, self.covariance_type)
        return GaussianMixtureParams(double(self.weights_), normal)

    def _map(self, X, function):
        X = self._check_new_data(X, ensure_all_finite="allow-nan", order="C")
        return map_log_joint(X, self._params(), function)

    def sample(self, n_samples=1):
        """Draw rows and the components they come from, grouped by component."""
        check_is_fitted(self)
        p = self._params()
        rng = make_rng(self.random_state)
        return sample_gaussian_mixture(p.weights, p.normal, n_samples, rng, self.means_)

    def _n_parameters(self) -> int:
        """Free parameters: means, covariances, weights less one."""
        return int(self._params().normal.free + self.n_components - 1)

    def bic(self, X):
        """Bayesian information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(bic(s.sum(), self._n_parameters(), len(s)))

    def aic(self, X):
        """Akaike information criterion, to be minimised."""
        s = arrays.to_numpy(self.score_samples(X))
        return float(aic(s.sum(), self._n_parameters()))
