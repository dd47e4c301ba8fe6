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

Log-densities of complete rows are one matrix product for all states, and so are their
statistics (`distributions.natural_parameters`), where that keeps nine digits; else they
are computed state by state. Of a row with some values missing the density of the others
counts, and its statistics are expected ones (`distributions.gaussian.missing`). A row
without any value says nothing about its state.

Two rules keep the M-step sound. A state to which no row belongs keeps its parameters.
A covariance that collapses stays above a floor, S - diag(f) >= 0: the most likely S of
that kind has the eigenvalues of f^-1/2 S f^-1/2 below 1 raised to 1, so that EM never
decreases its objective. f is `min_covar`, or 1e-8 of the variance of the column if that
is less. Both are reported as warnings.

Time O(n k (k + d^2)) for each iteration (d for diagonals), memory O(n k).

Shapes    X (n, d)   m (k, d)   S by covariance_type
Refs      [Rabiner1989]; [GauvainLee1994] priors; [LittleRubin2002] missing values
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.rows import as_rows
from ...core.chains.filtering import Evidence
from ...distributions import natural_parameters
from ...distributions.gaussian.covariance import ALL_SHAPES, factor_analysis
from ...distributions.gaussian.missing import expected_moments, observed_log_prob
from ...distributions.gaussian.normal import Moments, Normal
from ...distributions.gaussian.normal_prior import (
    NormalPrior,
    normal_log_prior,
    posterior_modes,
)
from ...params import Count, Natural, NonNegative, Number, Verbosity
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from .hmm import AbstractHMM
from .hmm_initialization import (
    covariance_in_shape,
    data_covariance,
    kmeans_centers,
    letters_rule,
)

EMPTY_STATE = 1e-8  # rows that belong to a state, below which it keeps what it has
COLLAPSED = 1e-8  # of the variance of a column


class PreparedRows(NamedTuple):
    """Rows made ready for E-steps."""

    X: np.ndarray  # as given
    whole: np.ndarray | None  # rows without gaps, None for all of them
    broken: np.ndarray  # rows with some values, not all
    rows: np.ndarray  # X[whole]
    frame: natural_parameters.Coordinates | None  # None where no row is whole
    variance: np.ndarray  # (d,) of what was seen of each column


def prepare_gaussian_rows(X, shape: str) -> PreparedRows:
    """Mask of the complete rows, and the coordinates for them."""
    gone = np.isnan(X)
    if gone.any():
        is_complete = np.flatnonzero(~gone.any(axis=1))
        broken = np.flatnonzero(gone.any(axis=1) & ~gone.all(axis=1))
        n_seen = np.maximum((~gone).sum(axis=0), 1)
        D = np.where(gone, 0.0, X - np.where(gone, 0.0, X).sum(axis=0) / n_seen)
        variance = (D * D).sum(axis=0) / n_seen
        part = X[is_complete]
    else:
        is_complete = None
        broken = np.zeros(0, np.int64)
        part = X
        variance = None
    frame = None
    if len(part):
        with np.errstate(over="ignore", invalid="ignore"):
            total = natural_parameters.pooled_moments(as_rows(part), shape)
        if not np.isfinite(total.scatter).all():
            raise ValueError("values of X are too large to square: scale its columns.")
        frame = natural_parameters.standard_coordinates(as_rows(part), shape, total)
        if variance is None:
            S = total.scatter / total.weight
            variance = np.diagonal(S) if S.ndim == 2 else S
    return PreparedRows(X, is_complete, broken, part, frame, variance)


@dataclass(frozen=True, eq=False)
class NormalEmission:
    """A batch of k Normals as the emission of a hidden Markov model."""

    normal: Normal
    min_covar: float = 0.0
    log_weights: Any = 0.0  # added to the log-densities: weights of mixtures
    notes: tuple = ()
    cache: list = field(default_factory=list)  # of one table, handed on by `learn`
    names: tuple = ()  # of the Normals in notes; "state 0", ... if there are none

    @cached_property
    def wide(self) -> Normal:
        """A copy in which each Normal has a covariance of its own."""
        q = self.normal
        return Normal(q.mean, q.dense, "full") if q.shape == "tied" else q

    def table(self, X) -> PreparedRows:
        """X made ready, once for all iterations of a fit."""
        if not self.cache or self.cache[0].X is not X:
            self.cache[:] = [prepare_gaussian_rows(X, self.wide.shape)]
        return self.cache[0]

    @cached_property
    def _coefficients(self) -> dict:
        return {}

    def quick(self, frame):
        """Natural parameters where they keep nine digits, else None."""
        if id(frame) not in self._coefficients:
            B, _, error = natural_parameters.natural_coefficients(
                self.wide, self.log_weights, frame
            )
            self._coefficients[id(frame)] = (
                B if error <= natural_parameters.ERROR else None
            )
        return self._coefficients[id(frame)]

    def log_prob(self, X):
        """log-densities (n, k) of what was seen of each row."""
        t = self.table(X)
        result = None
        if t.frame is not None:
            B = self.quick(t.frame)
            if B is not None:
                result = natural_parameters.log_densities(t.rows, t.frame, B)
            else:
                result = as_rows(t.rows).map(self.normal.log_prob) + self.log_weights
        if t.whole is None:
            return result
        out = np.zeros((len(X), self.normal.k))
        out[t.broken] = observed_log_prob(self.normal, X[t.broken]) + self.log_weights
        if result is not None:
            out[t.whole] = result
        return out

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R) -> Moments:
        """`Moments` of all states under weights R (n, k)."""
        t = self.table(X)
        parts = []
        if t.frame is not None:
            Rw = R if t.whole is None else R[t.whole]
            if self.quick(t.frame) is not None:
                S = natural_parameters.weighted_features(t.rows, Rw, t.frame)
                parts.append(
                    natural_parameters.moments_from_features(
                        S, t.frame, self.normal.shape
                    )
                )
            else:
                parts.append(as_rows(t.rows, Rw).sum(self.normal.stats))
        if len(t.broken):
            parts.append(expected_moments(self.normal, X[t.broken], R[t.broken]))
        if not parts:  # nothing was seen at all: no row, the means as they are
            no_rows = np.zeros((1, self.normal.d))
            parts.append(self.normal.stats(no_rows, np.zeros((1, self.normal.k))))
        return parts[0] if len(parts) == 1 else parts[0] + parts[1]

    def expected(self, X, counts) -> Moments:
        return self.stats(X, counts)

    @property
    def floor(self) -> np.ndarray:
        """f: what variances may not fall below, for each column."""
        low = np.full(self.normal.d, float(self.min_covar))
        V = self.cache[0].variance[: len(low)] if self.cache else 0 * low
        return np.where(V > 0, np.minimum(low, COLLAPSED * V), low)

    def learn(self, stats: Moments, prior, letters) -> "NormalEmission":
        """M-step of the means ("m"), the covariances ("c") or all ("e")."""
        q, prior = self.normal, NormalPrior() if prior is None else prior
        learn_means = bool({"m", "e"} & set(letters))
        learn_covariances = bool({"c", "e"} & set(letters))
        mean, cov = posterior_modes(stats, prior, None if learn_means else q.mean)
        empty = stats.weight < EMPTY_STATE
        mean = np.where(empty[:, None], q.mean, mean)
        notes = list(empty_state_notes(empty, self.names))
        if learn_covariances:
            cov, raised = _raise_to_floor(cov, stats.shape, self.floor)
            cov = _keep_empty_covariances(cov, q, empty, stats.shape)
            raised = raised if stats.shape == "tied" else raised & ~empty
            notes += _variance_floor_notes(raised, stats.shape, self.names)
            if q.shape == "low_rank":
                psi = q.cov[..., -1]
                rank = q.cov.shape[-1] - 1
                cov = factor_analysis(cov, rank, psi, floor=self.floor.min())
        else:
            cov = q.cov
        new = Normal(mean, cov, q.shape)
        return replace(self, normal=new, notes=tuple(notes))

    def log_prior(self, prior) -> float:
        return 0.0 if prior is None else normal_log_prior(self.normal, prior)

    def draw(self, z, rng):
        return self.normal.draw(z, rng)

    @property
    def free(self) -> dict:
        """Free numbers by letter."""
        q = self.normal
        return {"m": q.k * q.d, "c": q.free - q.k * q.d}


def _marked_states(which, names):
    """The Normals marked, in words."""
    states = np.flatnonzero(which)
    return (
        ", ".join(names[j] for j in states)
        if names
        else f"state {', '.join(map(str, states))}"
    )


def empty_state_notes(empty, names=()):
    if empty.any():
        states = _marked_states(empty, names)
        yield f"no row belongs to {states}, which keeps its old parameters."


def _variance_floor_notes(raised, shape, names=()):
    if raised.any():
        owner = "tied" if shape == "tied" else f"of {_marked_states(raised, names)}"
        yield f"covariance {owner} has collapsed and is kept at the floor, min_covar."


def _keep_empty_covariances(cov, old: Normal, empty, shape):
    """Covariances, those of states without rows as they were."""
    if not empty.any():
        return cov
    if shape == "tied":
        return old.cov if empty.all() else cov
    old_cov = old.dense if old.shape == "low_rank" else old.cov
    return np.where(empty.reshape(-1, *[1] * (cov.ndim - 1)), old_cov, cov)


def _raise_to_floor(cov, shape, floor):
    """The most likely covariances above diag(floor), and for which that mattered."""
    k = 1 if shape == "tied" else len(cov)
    if not floor.any():
        return cov, np.zeros(k, bool)
    if shape in ("diag", "spherical"):
        low = floor if shape == "diag" else floor.mean()
        is_below = cov < low
        return np.maximum(cov, low), is_below.any(
            axis=1
        ) if shape == "diag" else is_below
    root = np.sqrt(np.maximum(floor, np.finfo(float).tiny))
    scale = root[:, None] * root
    values, U = np.linalg.eigh(cov / scale)
    is_below = (values < 1).any(axis=-1).reshape(k)
    if not is_below.any():
        return cov, is_below
    C = (U * np.maximum(values, 1.0)[..., None, :]) @ np.swapaxes(U, -1, -2) * scale
    C = 0.5 * (C + np.swapaxes(C, -1, -2))
    return np.where(is_below[:, None, None], C, cov).reshape(cov.shape), is_below


Letters = Annotated[str, letters_rule("stmc")]


def covariance_prior(model, k: int, d: int, shape: str):
    """Psi and e of eq. (2) that the parameters of an estimator ask for."""
    scale = np.asarray(model.covars_prior, float)
    flat = shape in ("diag", "spherical")
    extra = max(float(model.covars_weight) - (1 if flat else d), 0.0)
    if shape == "spherical":
        diagonal_scale = scale if scale.ndim < 2 else scale.mean(axis=1)
        return d * broadcast_prior(diagonal_scale, (k,), "covars_prior"), extra
    if shape == "diag":
        return broadcast_prior(scale, (k, d), "covars_prior"), extra
    psi = scale * np.eye(d) if scale.ndim == 0 else scale
    if shape == "tied":
        return broadcast_prior(psi, (d, d), "covars_prior"), extra / k
    return broadcast_prior(psi, (k, d, d), "covars_prior"), extra


def _normal_prior(model, k: int, d: int, shape: str) -> NormalPrior:
    """Prior of k Normals in d columns, from the parameters of an estimator."""
    m0, kappa = (np.asarray(a, float) for a in (model.means_prior, model.means_weight))
    m0 = m0[:, None] if d == 1 and m0.shape == (k,) else m0
    kappa = kappa[:, 0] if kappa.shape == (k, 1) else kappa
    m0, kappa = (
        broadcast_prior(m0, (k, d), "means_prior"),
        broadcast_prior(kappa, (k,), "means_weight"),
    )
    return NormalPrior(m0, kappa, *covariance_prior(model, k, d, shape))


def broadcast_prior(value, shape, name):
    """A prior spread over the shape it is for."""
    try:
        return np.broadcast_to(value, shape)
    except ValueError as error:
        raise ValueError(
            f"{name} must be a number or fit the shape {shape}, got {value.shape}."
        ) from error


def stored_covariances(value, shape: str, k: int, d: int, name="covars_"):
    """Covariances in the storage of a shape, from that storage or from matrices."""
    value = np.array(value, dtype=float)
    want = {"full": (k, d, d), "tied": (d, d), "diag": (k, d), "spherical": (k,)}
    if shape == "spherical" and value.size == k == len(np.atleast_1d(value)):
        value = value.reshape(k)  # also (k, 1), (k, 1, 1), ...
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


@saved_state(means_=FloatArray("n_components", "n_features_in_"))
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
        What `predict` gives: the most probable path, or the most probable state of
        each step.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the start and of `sample`.
    n_iter : int, default=10
        Greatest number of iterations of Baum-Welch; 0 sets the start only.
    tol : float, default=1e-2
        Stop when an iteration changes the objective by no more than this.
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
        Convergence of the fit; history_["objective"] is minus the above after each
        iteration.
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
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    means_prior: Number | NumericArray = 0.0
    means_weight: NonNegative | NumericArray = 0.0
    covars_prior: NonNegative | NumericArray = 1e-2
    covars_weight: NonNegative = 1.0
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Natural = 10
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
        C = stored_covariances(self._covars_, self.covariance_type, k, d)
        return np.array(ALL_SHAPES[self.covariance_type].dense(C, k, d))

    @covars_.setter
    def covars_(self, value):
        self._covars_ = np.array(value, dtype=float)

    def _check_columns(self, X, fitting):
        is_given = not fitting or "m" not in self.init_params
        if is_given and hasattr(self, "means_") and np.ndim(self.means_) == 2:
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
        C = stored_covariances(self._covars_, self.covariance_type, k, M.shape[1])
        return NormalEmission(Normal(M, C, self.covariance_type), self.min_covar)

    def _initial_emission(self, X, rng):
        k, shape = self.n_components, self.covariance_type
        M = kmeans_centers(X, k, rng)
        C = data_covariance(X, self.min_covar)
        if shape == "low_rank":
            C = factor_analysis(
                covariance_in_shape(C, "full", k), min(self.rank, X.shape[1])
            )
            return NormalEmission(Normal(M, C, shape))
        return NormalEmission(Normal(M, covariance_in_shape(C, shape, k), shape))

    def _emission_attributes(self, emission):
        return {"means_": emission.normal.mean, "covars_": emission.normal.cov}

    def _emission_prior(self, emission):
        q = emission.normal
        return _normal_prior(self, q.k, q.d, q.shape)
