"""Hidden Markov model whose states are linear autoregressions.

The chain is that of `hmm`; in state j a row depends on the p rows before it,

    x_t | z_t = j, past  ~  N(b_j + A_j1 x_t-1 + ... + A_jp x_t-p, S_j)          (1)

so that states differ in dynamics where their means need not. Sequences are given
their first p rows: these have no past, and say nothing about their states. With the
lags put beside x_t as y_t, and means and scatters C under the posteriors g_t(j), the
M-step is weighted least squares, which is most likely whatever S is,

    A_j = C_xy C_yy^-1,   b_j = mean of x - A_j mean of y                        (2)

and S_j as for any Normals (`gaussian_hmm`) from the scatter about (1). p = 0 is
`GaussianHMM`. A row with a value missing, in itself or its lags, says nothing.

Time O(n k (k + (p d)^2)) for each iteration, memory O(n k).

Shapes    X (n, d)   A (k, p, d, d)   b (k, d)   with lags (n, (p + 1) d)
Refs      [Hamilton1989]; [Rabiner1989]
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.ragged import stack_sequences
from ...core.arrays.rows import as_rows
from ...core.chains.filtering import Chain, Evidence, filter_chain
from ...core.numerics import LOG_2PI
from ...distributions import natural_parameters
from ...distributions.gaussian.covariance import SHAPES
from ...distributions.gaussian.normal import Moments, Normal
from ...distributions.gaussian.normal_prior import NormalPrior
from ...params import Count, Natural, NonNegative, Verbosity, check_count
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from ..forecast import Forecast, check_interval_level
from ..kalman.switching_kalman_filter import (
    RegimeBeliefs,
    SwitchingModel,
    forecast_regimes,
)
from .gaussian_hmm import (
    EMPTY_STATE,
    NormalEmission,
    covariance_prior,
    prepare_gaussian_rows,
    stored_covariances,
)
from .hmm import AbstractHMM, emission_evidence
from .hmm_initialization import (
    covariance_in_shape,
    data_covariance,
    kmeans_centers,
    letters_rule,
)

Letters = Annotated[str, letters_rule("stmc")]


def _with_lags(X, ends, p: int):
    """X with its p rows before beside it (n, (p + 1) d), NaN where there are none."""
    n, d = X.shape
    out = np.full((n, (p + 1) * d), np.nan)
    out[:, :d] = X
    age = np.arange(n) - np.repeat(np.r_[0, ends[:-1]], np.diff(ends, prepend=0))
    for lag in range(1, p + 1):
        old = np.flatnonzero(age >= lag)
        out[old, lag * d : (lag + 1) * d] = X[old - lag]
    return out


@dataclass(frozen=True, eq=False)
class RegressionEmission:
    """Linear regressions on lags, a batch of k, as an emission."""

    noise: NormalEmission  # means b (k, d) and covariances S
    slopes: np.ndarray  # (k, d, p d), A with its lags side by side
    cache: list = field(default_factory=list)  # of one table

    @property
    def notes(self):
        return self.noise.notes

    def table(self, X):
        if not self.cache or self.cache[0].X is not X:
            self.cache[:] = [prepare_gaussian_rows(X, "full")]
        return self.cache[0]

    def log_prob(self, X):
        """log of eq. (1) for each state: (n, k); 0 for rows that say nothing."""
        t = self.table(X)
        q = self.noise.normal
        P = np.broadcast_to(q.part.dense(q.covs, q.k, q.d), (q.k, q.d, q.d))
        P = SHAPES["full"].factor(np.ascontiguousarray(P))
        half = np.log(np.diagonal(P, axis1=1, axis2=2)).sum(axis=1)
        # |P'(x - b - A y)|^2 of all states in one product: columns (j, coordinate)
        maps = np.concatenate([P, -np.swapaxes(self.slopes, 1, 2) @ P], axis=1)
        wide = np.ascontiguousarray(np.swapaxes(maps, 0, 1).reshape(X.shape[1], -1))
        shift = (q.mean[:, None, :] @ P)[:, 0, :].reshape(-1)

        def part(X):
            E = (X @ wide - shift).reshape(len(X), q.k, q.d)
            return half - 0.5 * (q.d * LOG_2PI + np.einsum("nkd,nkd->nk", E, E))

        if t.whole is None:
            return as_rows(X).map(part)
        out = np.zeros((len(X), q.k))
        if len(t.rows):
            out[t.whole] = as_rows(t.rows).map(part)
        return out

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R) -> Moments:
        """Full `Moments` of rows with their lags, under weights R (n, k)."""
        t = self.table(X)
        if t.frame is None:
            k = len(self.slopes)
            D = X.shape[1]
            return Moments(np.zeros(k), np.zeros((k, D)), np.zeros((k, D, D)), "full")
        R = R if t.whole is None else R[t.whole]
        S = natural_parameters.weighted_features(t.rows, R, t.frame)
        return natural_parameters.moments_from_features(S, t.frame, "full")

    def expected(self, X, counts) -> Moments:
        return self.stats(X, counts)

    def learn(self, stats: Moments, prior, letters) -> "RegressionEmission":
        """M-step of the regressions ("m"), the covariances ("c") or all ("e")."""
        q = self.noise.normal
        N = stats.weight
        d = q.d
        S = stats.scatter
        A = self.slopes
        b = q.mean
        mx, mean_y = stats.mean[:, :d], stats.mean[:, d:]
        if {"m", "e"} & set(letters):
            new = S[:, :d, d:] @ np.linalg.pinv(S[:, d:, d:], hermitian=True)
            empty = N < EMPTY_STATE
            A = np.where(empty[:, None, None], A, new)
            b = np.where(empty[:, None], b, mx - (A @ mean_y[:, :, None])[:, :, 0])
        G = np.concatenate([np.broadcast_to(np.eye(d), (len(A), d, d)), -A], axis=2)
        residual_mean = (
            mx - b - (A @ mean_y[:, :, None])[:, :, 0]
        )  # of the mean from its regression
        C = G @ S @ np.swapaxes(G, 1, 2)
        C = C + N[:, None, None] * residual_mean[:, :, None] * residual_mean[:, None, :]
        noise_stats = Moments(N, b, SHAPES[q.shape].compress(C), q.shape)
        self.noise.cache[:] = self.cache
        noise = self.noise.learn(noise_stats, prior, letters)
        return replace(self, noise=noise, slopes=A)

    def log_prior(self, prior) -> float:
        return self.noise.log_prior(prior)

    def draw(self, z, rng):
        """One row after the other, from where the first state would come to rest."""
        q = self.noise.normal
        (_, d, width) = self.slopes.shape
        shocks = q.draw(z, rng) - q.mean[z]
        total = self.slopes.reshape(-1, d, max(width // d, 1) * bool(width), d).sum(2)
        rest = np.linalg.lstsq(np.eye(d) - total[z[0]], q.mean[z[0]])[0]
        past = np.tile(rest, width // d)
        out = np.empty((len(z), d))
        for t, j in enumerate(z):
            out[t] = q.mean[j] + self.slopes[j] @ past + shocks[t]
            past = np.r_[out[t], past][:width]
        return out

    @property
    def free(self) -> dict:
        noise_counts = self.noise.free
        return {"m": noise_counts["m"] + self.slopes.size, "c": noise_counts["c"]}


@saved_state(
    intercept_=FloatArray("n_components", "n_features_in_"),
    coef_=FloatArray("n_components", "lags", "n_features_in_", "n_features_in_"),
    last_regimes_=FloatArray("n_components"),
    last_=FloatArray("lags", "n_features_in_"),
)
@dataclass(eq=False, repr=False)
class AutoregressiveHMM(AbstractHMM, Estimator):
    """Hidden Markov model with linear autoregressions as states, by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    order : int, default=1
        Number of earlier rows that a row depends on, p.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        Shape of the covariances of the noise.
    min_covar : float, default=1e-3
        Floor of variances that collapse, at most 1e-8 of the variance of the column
        unless that is 0. Variances above it are left alone.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    covars_prior : float or array, default=1e-2
        Added to the scatters: a number (times the identity) or in the shape of the
        covariances.
    covars_weight : float, default=1
        How many rows that is worth, as in `GaussianHMM`.
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
        What `fit` estimates: s(tart), t(ransitions), m(eans, that is regressions),
        c(ovariances).
    init_params : str, default="stmc"
        What `fit` sets first: start and transitions at random, regressions and their
        noise by those of all rows, moved apart; the rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    intercept_ : array of shape (k, d)
        b.
    coef_ : array of shape (k, p, d, d)
        A: `coef_[j, l] @ x` is what the row l + 1 steps before adds in state j.
    covars_ : array
        Covariances of the noise: (k,), (k, d), (k, d, d) or (d, d) by
        covariance_type.
    last_, last_regimes_ : arrays of shape (p, d) and (k,)
        Last rows of the training data and belief in the state, where `forecast`
        goes on.
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
    >>> from pansophy.state_space import AutoregressiveHMM
    >>> rng, x = np.random.default_rng(0), np.zeros(600)
    >>> for t in range(1, 600):  # swings for 300 steps, then drifts
    ...     x[t] = (-0.9 if t < 300 else 0.9) * x[t - 1] + rng.normal()
    >>> model = AutoregressiveHMM(2, random_state=0, n_iter=100).fit(x)
    >>> np.sort(model.coef_.ravel()).round(1)
    array([-0.9,  0.9])
    """

    n_components: Count = 1
    order: Natural = 1
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"
    _: KW_ONLY
    min_covar: NonNegative = 1e-3
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
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

    _letters: ClassVar[dict[str, str]] = {
        "intercept_": "m",
        "coef_": "m",
        "covars_": "c",
    }

    def _sequences(self, X, lengths, *, reset=False):
        """Rows with their lags beside them, and where the sequences end."""
        X, ends = super()._sequences(X, lengths, reset=reset)
        return _with_lags(X, ends, self.order), ends

    def _check_columns(self, X, fitting):
        is_given = not fitting or "m" not in self.init_params
        if is_given and hasattr(self, "intercept_"):
            d = np.shape(self.intercept_)[1]
            if X.shape[1] != d:
                raise ValueError(f"intercept_ has {d} columns, but X has {X.shape[1]}.")

    def _emission(self):
        k, p = self.n_components, self.order
        for name in ("intercept_", "coef_", "covars_"):
            if not hasattr(self, name):
                raise ValueError(f"{name} is neither fitted nor set: see init_params.")
        b = np.asarray(self.intercept_, dtype=float)
        A = np.asarray(self.coef_, dtype=float)
        if b.ndim != 2 or len(b) != k:
            raise ValueError(f"intercept_ must have {k} rows, got shape {b.shape}.")
        d = b.shape[1]
        if A.shape != (k, p, d, d):
            raise ValueError(f"coef_ must have shape {(k, p, d, d)}, got {A.shape}.")
        if not np.isfinite(b).all() or not np.isfinite(A).all():
            raise ValueError("intercept_ and coef_ must hold finite numbers.")
        C = stored_covariances(self.covars_, self.covariance_type, k, d)
        noise = NormalEmission(Normal(b, C, self.covariance_type), self.min_covar)
        return RegressionEmission(noise, np.swapaxes(A, 1, 2).reshape(k, d, p * d))

    def _initial_emission(self, X, rng):
        """Groups of rows with lags by k-means of how they move; a regression each."""
        k, p, shape = self.n_components, self.order, self.covariance_type
        d = X.shape[1] // (p + 1)
        targets = X[:, :d]
        C = data_covariance(targets, self.min_covar)
        noise = Normal(
            kmeans_centers(targets, k, rng), covariance_in_shape(C, shape, k), shape
        )
        first = RegressionEmission(NormalEmission(noise, self.min_covar),
                                   np.zeros((k, d, p * d)))  # fmt: skip
        is_complete = ~np.isnan(X).any(axis=1)
        if p == 0 or is_complete.sum() < 2 * k * (p + 1) * d:
            return first
        # neighbours in time share a state, mostly: a regression for each run of rows
        count = min(8 * k, int(is_complete.sum()) // (4 * (p + 1) * d))
        runs = np.array_split(np.flatnonzero(is_complete), max(count, k))
        R = np.zeros((len(X), len(runs)))
        for j, run in enumerate(runs):
            R[run, j] = 1.0
        tried = replace(first, slopes=np.zeros((len(runs), d, p * d)),
                        noise=_shared_noise(first.noise, len(runs)))  # fmt: skip
        result = tried.learn(tried.stats(X, R), None, "m")
        maps = np.c_[result.noise.normal.mean, result.slopes.reshape(len(runs), -1)]
        scale = np.where(maps.std(axis=0) > 0, maps.std(axis=0), 1.0)
        M = kmeans_centers(maps / scale, k, rng) * scale
        noise = Normal(M[:, :d], covariance_in_shape(C, shape, k), shape)
        return replace(first, noise=replace(first.noise, normal=noise),
                       slopes=M[:, d:].reshape(k, d, p * d))  # fmt: skip

    def _emission_attributes(self, emission):
        q = emission.noise.normal
        p = self.order
        A = emission.slopes.reshape(q.k, q.d, p, q.d)
        return {
            "intercept_": q.mean,
            "coef_": np.ascontiguousarray(np.swapaxes(A, 1, 2)),
            "covars_": q.cov,
        }

    def _finish(self, X, ends):
        """Store the end of the last sequence, from where `forecast` goes on."""
        X = X[np.append(0, ends)[-2] :]
        p = self._params()
        seen = emission_evidence(p.emission, X, np.array([len(X)]))
        self.last_regimes_ = filter_chain(Chain(p.start, p.trans), seen)[0][-1]
        d = X.shape[1] // (self.order + 1)
        self.last_ = X[-max(self.order, 1) :, :d].copy()

    def forecast(self, n=1, X=None, *, level=0.95) -> Forecast:
        """Forecast the n rows after X, or after the training data.

        Means and covariances are exact, over all paths of the regimes; intervals take
        them for a normal.
        """
        n = check_count("n", n)
        check_interval_level(level)
        if X is None:
            check_is_fitted(self, "last_")
            past, prob = self.last_, self.last_regimes_
        else:
            prob = self.filter(X)[-1]
            past = stack_sequences(X)[0][-max(self.order, 1) :]
        if len(past) < self.order or (self.order and np.isnan(past).any()):
            raise ValueError(
                f"a forecast goes on from {self.order} rows without missing values."
            )
        k = self.n_components
        d = past.shape[1]
        width = past.size
        p = self._params()
        F = np.tile(np.eye(width, k=-d), (k, 1, 1))
        q = p.emission.noise.normal
        F[:, :d] = p.emission.slopes if self.order else 0.0
        c, Q = np.zeros((k, width)), np.zeros((k, width, width))
        c[:, :d], Q[:, :d, :d] = q.mean, q.dense
        H = np.tile(np.eye(d, width), (k, 1, 1))
        no_noise = np.zeros((k, d))
        start = RegimeBeliefs(prob, np.tile(past[::-1].ravel(), (k, 1)), 0 * Q)
        R = no_noise[:, :, None] * no_noise[:, None, :]
        model = SwitchingModel(
            p.start, p.trans, F, c, Q, H, no_noise, R, start.mean, start.cov
        )
        result = forecast_regimes(model, start, n, level)
        return result._replace(state_mean=None, state_cov=None)  # the same as the rows

    def _emission_prior(self, emission):
        q = emission.noise.normal
        return NormalPrior(0.0, 0.0, *covariance_prior(self, q.k, q.d, q.shape))


def _shared_noise(noise: NormalEmission, k: int) -> NormalEmission:
    """One noise repeated for k states of mean 0."""
    q = noise.normal
    C = np.diagonal(q.dense[0])
    return replace(noise, normal=Normal(np.zeros((k, q.d)), np.tile(C, (k, 1)), "diag"))
