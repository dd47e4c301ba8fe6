"""Hidden Markov model whose states emit Normals.

The model and its fit are those of `hmm`; the emission is a batch of k Normals,

    x_t | z_t = j  ~  N(m_j, S_j)                                                (1)

with S_j full, tied, diagonal, spherical or of low rank. With N_j = sum_t g_t(j) the
weight and x_j, C_j the mean and scatter of the rows under the posteriors g, the
M-step is the mode of the posterior of m and S,

    m_j = (N_j x_j + kappa m_0) / (N_j + kappa)                                  (2)
    S_j = (C_j + kappa N_j / (N_j + kappa) (x_j - m_0)(x_j - m_0)' + Psi) / (N_j + e)

where kappa = `means_weight`, m_0 = `means_prior`, Psi = `covars_prior` and e is
`covars_weight` less 1 (less d for full and tied covariances), or 0 if that is
negative. A tied S sums both sides over j, a sphere takes the mean over the columns.
The log of this prior is part of the objective, which never falls. These are the
formulas of hmmlearn but for a number as `covars_prior` of full or tied covariances:
it means a multiple of the identity, not a matrix of equal entries.

`normal_emission` has missing values, states without rows and covariances that
collapse. Time O(n k (k + d^2)) a turn (d for diagonals), memory O(n k).

Shapes    X (n, d)   m (k, d)   S by covariance_type
Refs      [Rabiner1989]; [GauvainLee1994] priors
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np

from ..base import Estimator
from ..distributions.covariance import ALL_SHAPES, factor_analysis
from ..distributions.normal import Normal
from ..distributions.normal_prior import NormalPrior
from ..params import Count, NonNegative, Number, Verbosity
from ..typing import ListLike, Matrix, Seed
from .abstract_hmm import AbstractHMM
from .normal_emission import NormalEmission
from .starts import centres, covariance, in_shape, letters

Letters = Annotated[str, letters("stmc")]


def covariance_prior(model, k: int, d: int, shape: str):
    """Psi and e of eq. (2) that the parameters of an estimator ask for."""
    given = np.asarray(model.covars_prior, float)
    flat = shape in ("diag", "spherical")
    extra = max(float(model.covars_weight) - (1 if flat else d), 0.0)
    if shape == "spherical":
        each = given if given.ndim < 2 else given.mean(axis=1)
        return d * fitting(each, (k,), "covars_prior"), extra
    if shape == "diag":
        return fitting(given, (k, d), "covars_prior"), extra
    psi = given * np.eye(d) if given.ndim == 0 else given
    if shape == "tied":
        return fitting(psi, (d, d), "covars_prior"), extra / k
    return fitting(psi, (k, d, d), "covars_prior"), extra


def prior_of(model, k: int, d: int, shape: str) -> NormalPrior:
    """What the parameters of an estimator say about k Normals in d columns."""
    m0, kappa = (np.asarray(a, float) for a in (model.means_prior, model.means_weight))
    m0 = m0[:, None] if d == 1 and m0.shape == (k,) else m0
    kappa = kappa[:, 0] if kappa.shape == (k, 1) else kappa
    m0, kappa = fitting(m0, (k, d), "means_prior"), fitting(kappa, (k,), "means_weight")
    return NormalPrior(m0, kappa, *covariance_prior(model, k, d, shape))


def fitting(value, shape, name):
    """A prior spread over the shape it is for."""
    try:
        return np.broadcast_to(value, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} must be a number or fit the shape {shape}, got {value.shape}."
        ) from error


def compact(value, shape: str, k: int, d: int, name="covars_"):
    """Covariances in the storage of a shape, from that storage or from matrices."""
    value = np.array(value, dtype=float)
    want = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    full = value.shape == (k, d, d) and shape != "low_rank"
    if full and shape != "full" and not (shape == "diag" and d == k == 1):
        value = {
            "tied": lambda C: C[0],
            "diag": lambda C: np.diagonal(C, axis1=1, axis2=2),
            "spherical": lambda C: np.diagonal(C, axis1=1, axis2=2).mean(axis=1),
        }[shape](value).copy()
    fits = value.shape == want.get(shape, (k, d, value.shape[-1] if value.ndim else 0))
    if not fits:
        raise ValueError(
            f"{shape} {name} must have shape {want.get(shape, (k, d, 'rank + 1'))}, "
            f"got {value.shape}."
        )
    square = shape in ("full", "tied")
    if square and not np.allclose(value, np.swapaxes(value, -1, -2)):
        raise ValueError(f"{name} must be symmetric.")
    low = np.linalg.eigvalsh(value) if square else value
    low = value[..., -1] if shape == "low_rank" else low
    if not np.isfinite(value).all() or (low <= 0).any():
        raise ValueError(f"{name} must be finite and positive (definite).")
    return value


@dataclass(eq=False, repr=False)
class GaussianHMM(AbstractHMM, Estimator):
    """Hidden Markov model with Normals as emissions, fitted by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    covariance_type : {"spherical", "diag", "full", "tied", "low_rank"}, default="diag"
        Shape of the covariances. "low_rank" has `rank` factors and noise for each
        state.
    min_covar : float, default=1e-3
        Floor of variances that collapse, at most 1e-8 of the variance of the column
        unless that is 0. Variances above it are left alone.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    means_prior, means_weight : float or array, default=0
        m_0 and kappa: where the means are expected, and how many rows that is worth.
    covars_prior : float or array, default=1e-2
        Psi, added to the scatters: a number (times the identity) or in the shape of
        the covariances.
    covars_weight : float, default=1
        How many rows Psi is worth: see the module text.
    algorithm : {"viterbi", "map"}, default="viterbi"
        What `predict` gives: the likeliest path, or the likeliest state of each step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start and of `sample`.
    n_iter : int, default=10
        Most turns of Baum-Welch.
    tol : float, default=1e-2
        Stop when a turn changes the objective by no more than this.
    verbose : int, default=0
        1 shows a progress bar.
    params : str, default="stmc"
        What `fit` estimates: s(tart), t(ransitions), m(eans), c(ovariances).
    init_params : str, default="stmc"
        What `fit` sets first: start and transitions at random, means by k-means,
        covariances at that of all rows; the rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.
    rank : int, default=1
        Factors of "low_rank".

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    means_ : array of shape (k, d)
        Means.
    covars_ : array of shape (k, d, d)
        Covariance matrices. May be set as such, or as (k,), (k, d), (d, d) by
        `covariance_type`.
    log_likelihood_ : float
        Log-likelihood plus log-prior reached.
    n_iter_, converged_, history_ : int, bool, dict
        How the fit went; history_["objective"] is minus the above after each turn.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import GaussianHMM
    >>> X = np.array([0.1, -0.2, 0.0, 5.1, 4.8, 5.0, 5.2, 0.2, -0.1, 0.1])
    >>> model = GaussianHMM(2, random_state=0, n_iter=50).fit(X)
    >>> z = model.predict(X)
    >>> bool((z[3:7] == z[3]).all() and (z[:3] != z[3]).all())
    True
    >>> model.means_[z[3]].round(2)
    array([5.03])
    """

    n_components: Count = 1
    covariance_type: Literal["spherical", "diag", "full", "tied", "low_rank"] = "diag"
    min_covar: NonNegative = 1e-3
    _: KW_ONLY
    startprob_prior: NonNegative | Matrix | ListLike = 1.0
    transmat_prior: NonNegative | Matrix | ListLike = 1.0
    means_prior: Number | Matrix | ListLike = 0.0
    means_weight: NonNegative | Matrix | ListLike = 0.0
    covars_prior: NonNegative | Matrix | ListLike = 1e-2
    covars_weight: NonNegative = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Count = 10
    tol: NonNegative = 1e-2
    verbose: Verbosity = False
    params: Letters = "stmc"
    init_params: Letters = "stmc"
    implementation: Literal["scaling", "log"] = "scaling"
    rank: Count = 1

    _letters: ClassVar[dict[str, str]] = {"means_": "m", "covars_": "c"}

    @property
    def covars_(self):
        """Covariance matrices (k, d, d)."""
        if not hasattr(self, "_covars_"):
            raise AttributeError("covars_ is neither fitted nor set.")
        k, d = np.shape(self.means_)
        C = compact(self._covars_, self.covariance_type, k, d)
        return np.array(ALL_SHAPES[self.covariance_type].dense(C, k, d))

    @covars_.setter
    def covars_(self, value):
        self._covars_ = np.array(value, dtype=float)

    def _check_columns(self, X, fitting):
        given = not fitting or "m" not in self.init_params
        if given and hasattr(self, "means_") and np.ndim(self.means_) == 2:
            d = np.shape(self.means_)[1]
            if X.shape[1] != d:
                raise ValueError(f"means_ has {d} columns, but X has {X.shape[1]}.")

    def _emission(self):
        k = self.n_components
        for name in ("means_", "_covars_"):
            if not hasattr(self, name):
                raise ValueError(
                    f"{name.replace('_c', 'c')} is neither fitted nor set: see "
                    "init_params."
                )
        M = np.asarray(self.means_, dtype=float)
        if M.ndim != 2 or len(M) != k or not np.isfinite(M).all():
            raise ValueError(
                f"means_ must hold finite numbers in {k} rows, got shape {M.shape}."
            )
        C = compact(self._covars_, self.covariance_type, k, M.shape[1])
        return NormalEmission(Normal(M, C, self.covariance_type), self.min_covar)

    def _first_emission(self, X, rng):
        k, shape = self.n_components, self.covariance_type
        M, C = centres(X, k, rng), covariance(X, self.min_covar)
        if shape == "low_rank":
            C = factor_analysis(in_shape(C, "full", k), min(self.rank, X.shape[1]))
            return NormalEmission(Normal(M, C, shape))
        return NormalEmission(Normal(M, in_shape(C, shape, k), shape))

    def _store_emission(self, emission):
        return {"means_": emission.normal.mean, "covars_": emission.normal.cov}

    def _emission_prior(self, emission):
        q = emission.normal
        return prior_of(self, q.k, q.d, q.shape)
