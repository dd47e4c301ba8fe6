"""Hidden Markov model whose states emit mixtures of Normals.

The model and its fit are those of `hmm`; state j emits

    b_j(x) = sum_l w_jl N(x; m_jl, S_jl),   l = 1..m                             (1)

With g_t(j) the posterior of the state, component l of it has the responsibility

    r_tjl = g_t(j) w_jl N(x_t; m_jl, S_jl) / b_j(x_t)                            (2)

for row t, and the M-step is that of k m Normals under r
(`distributions.gaussian.normal_prior`) and w_jl in proportion to sum_t r_tjl + prior -
1. Covariances are taken about the new means, as the likelihood asks, so that the
objective never falls. (hmmlearn takes them about the old ones, and its default priors
of spherical covariances count components where they mean columns; with neither at work
both give the same numbers.)

Priors have hmmlearn's meaning: `means_prior` m_0 and `means_weight` kappa; of full and
tied covariances an inverse Wishart with scale `covars_prior` and degrees of freedom
`covars_weight`; of the others an inverse gamma with shape `covars_prior` and scale
`covars_weight`. None for both says nothing.

"tied" is one covariance for all components of a state, a different one for each state.

The k m Normals are one `NormalEmission`, with the log-weights added to its densities,
so that missing values, empty components and floors are treated as in `GaussianHMM`.

Shapes    X (n, d)   w (k, m)   means (k, m, d)   covariances by covariance_type
Refs      [Rabiner1989]; [GauvainLee1994] priors
"""

from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.rows import Rows
from ...core.chains.filtering import Evidence
from ...core.numerics import logsumexp, safe_log
from ...distributions.categorical import checked_probabilities
from ...distributions.gaussian.normal import Moments, Normal
from ...distributions.gaussian.normal_prior import NormalPrior, normal_log_prior
from ...params import Count, Natural, NonNegative, Number, Verbosity
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from .gaussian_hmm import (
    EMPTY_STATE,
    NormalEmission,
    broadcast_prior,
    stored_covariances,
)
from .hmm import AbstractHMM
from .hmm_initialization import (
    covariance_in_shape,
    data_covariance,
    impute_column_means,
    kmeans_centers,
    letters_rule,
    nearest_center,
)


class MixturePrior(NamedTuple):
    """Pseudo-counts of the weights, and what is believed of the k m Normals."""

    alpha: np.ndarray  # (k, m)
    normals: NormalPrior  # with leading axes (k, m), or (k,) for psi where tied


def _flatten_prior(prior: NormalPrior, tied: bool) -> NormalPrior:
    """The prior of all k m Normals as one batch."""
    join = lambda a: np.reshape(a, (-1, *np.shape(a)[2:]))
    psi = None if prior.psi is None or tied else join(prior.psi)
    return NormalPrior(join(prior.m0), join(prior.kappa), psi, join(prior.extra))


def _mixture_emission(weights, normal: Normal, min_covar, tied) -> "MixtureEmission":
    """Mixtures with these weights (k, m) of these k m Normals."""
    k, m = weights.shape
    names = tuple(
        f"component {c} of state {j}" if m > 1 else f"state {j}"
        for j in range(k)
        for c in range(m)
    )
    logs = safe_log(weights).reshape(-1)
    inner = NormalEmission(normal, min_covar, log_weights=logs, names=names)
    return MixtureEmission(weights, inner, tied)


@dataclass(frozen=True, eq=False)
class MixtureEmission:
    """Mixtures of Normals as the emission of a hidden Markov model."""

    weights: np.ndarray  # (k, m)
    inner: NormalEmission  # of k m Normals, full ones where tied
    tied: bool
    notes: tuple = ()
    last: list = field(default_factory=list)  # X, joint, log b of the last evidence

    def parts(self, X):
        """Joint (n, k m) of eq. (1) and its sums (n, k), kept for the statistics."""
        if not self.last or self.last[0] is not X:
            k, m = self.weights.shape
            joint = self.inner.log_prob(X)
            add = lambda J: logsumexp(J.reshape(-1, k, m), axis=2)
            L = Rows(joint).map(add)
            if self.inner.table(X).whole is not None:
                L[np.isnan(X).all(axis=1)] = 0.0
            self.last[:] = [X, joint, L]
        return self.last[1:]

    def log_prob(self, X):
        return self.parts(X)[1]

    def evidence(self, X, ends) -> Evidence:
        return Evidence(self.log_prob(X), None, ends)

    def stats(self, X, R) -> Moments:
        """`Moments` of all components under posteriors R (n, k) of the states."""
        k, m = self.weights.shape
        joint, L = self.parts(X)

        def split(J, L, R):
            gone = ~np.isfinite(L)
            E = np.exp(J.reshape(-1, k, m) - np.where(gone, 0.0, L)[:, :, None])
            E *= np.where(gone, 0.0, R)[:, :, None]
            return E.reshape(len(J), -1)

        return self.inner.stats(X, Rows(joint, L, R).map(split))

    def expected(self, X, counts) -> Moments:
        return self.stats(X, counts)

    def learn(self, stats: Moments, prior, letters) -> "MixtureEmission":
        """M-step of the weights ("w"), means ("m"), covariances ("c") or all ("e")."""
        (k, m) = self.weights.shape
        own_letters = set(letters)
        alpha = np.ones((k, m)) if prior is None else prior.alpha
        normals = NormalPrior() if prior is None else prior.normals
        w = self.weights
        if {"w", "e"} & own_letters:
            counts = np.maximum(stats.weight.reshape(k, m) + alpha - 1, 0.0)
            total = counts.sum(axis=1, keepdims=True)
            w = np.where(
                total > EMPTY_STATE, counts / np.maximum(total, EMPTY_STATE), w
            )
        inner = self.inner
        if {"m", "c", "e"} & own_letters:
            learn = self.tied_learn if self.tied else self.inner.learn
            inner = learn(
                stats, normals if self.tied else _flat_prior_or_none(prior), own_letters
            )
        inner = replace(inner, log_weights=safe_log(w).reshape(-1))
        return replace(self, weights=w, inner=inner, notes=inner.notes, last=[])

    def state(self, j) -> NormalEmission:
        """The Normals of state j, with one covariance for all."""
        m = self.weights.shape[1]
        components = slice(j * m, (j + 1) * m)
        q = self.inner.normal
        normal = Normal(q.mean[components], q.cov[j * m], "tied")
        return replace(
            self.inner,
            normal=normal,
            names=self.inner.names[components],
            log_weights=0.0,
        )

    def tied_learn(self, stats, prior, letters) -> NormalEmission:
        """State by state, where the components of a state share a covariance."""
        k, m = self.weights.shape
        means, covs, notes = [], [], []
        for j in range(k):
            components = slice(j * m, (j + 1) * m)
            state_stats = Moments(
                stats.weight[components],
                stats.mean[components],
                stats.scatter[components].sum(axis=0),
                "tied",
            )
            new = self.state(j).learn(state_stats, _prior_of_state(prior, j), letters)
            means.append(new.normal.mean)
            covs += [new.normal.cov] * m
            notes += [n.replace("covariance tied", f"covariance of state {j}")
                      for n in new.notes]  # fmt: skip
        normal = Normal(np.concatenate(means), np.stack(covs), "full")
        return replace(self.inner, normal=normal, notes=tuple(notes))

    def log_prior(self, prior) -> float:
        """The part of the objective that comes from the prior, up to a constant."""
        if prior is None:
            return 0.0
        has_term = (prior.alpha != 1) & (self.weights > 0)
        log_prior = float(
            ((prior.alpha - 1)[has_term] * np.log(self.weights[has_term])).sum()
        )
        if not self.tied:
            return log_prior + normal_log_prior(
                self.inner.normal, _flatten_prior(prior.normals, False)
            )
        state_priors = (
            normal_log_prior(self.state(j).normal, _prior_of_state(prior.normals, j))
            for j in range(len(self.weights))
        )
        return log_prior + sum(state_priors)

    def draw(self, z, rng):
        m = self.weights.shape[1]
        edges = np.cumsum(self.weights, axis=1)
        u = rng.random(len(z)) * edges[z, -1]
        c = np.minimum((u[:, None] >= edges[z]).sum(axis=1), m - 1)
        return self.inner.normal.draw(np.asarray(z) * m + c, rng)

    @property
    def free(self) -> dict:
        """Free numbers by letter."""
        (k, m) = self.weights.shape
        counts = self.inner.free
        if self.tied:
            counts = {**counts, "c": counts["c"] // m}
        return {**counts, "w": k * (m - 1)}


def _flat_prior_or_none(prior) -> NormalPrior | None:
    return None if prior is None else _flatten_prior(prior.normals, False)


def _prior_of_state(prior: NormalPrior, j) -> NormalPrior:
    """Prior of the Normals of one state."""
    entry_of = lambda a: a if np.ndim(a) == 0 else a[j]
    psi = None if prior.psi is None else prior.psi[j]
    return NormalPrior(
        entry_of(prior.m0), entry_of(prior.kappa), psi, entry_of(prior.extra)
    )


Letters = Annotated[str, letters_rule("stmcw")]


def _covars_shape(shape: str, k: int, m: int, d: int) -> tuple:
    """The shape of `covars_`."""
    return {
        "full": (k, m, d, d),
        "tied": (k, d, d),
        "diag": (k, m, d),
        "spherical": (k, m),
    }[shape]


def _mixture_prior(model, k, m, d) -> MixturePrior:
    """Prior of the mixtures, from the parameters of a GMMHMM."""
    shape, a, b = model.covariance_type, model.covars_prior, model.covars_weight
    m0 = broadcast_prior(np.asarray(model.means_prior, float), (k, m, d), "means_prior")
    kappa = broadcast_prior(
        np.asarray(model.means_weight, float), (k, m), "means_weight"
    )
    psi = None
    extra = np.zeros((k, m))
    if a is not None or b is not None:
        if shape in ("full", "tied"):
            m_shared = m if shape == "tied" else 1
            a = np.asarray(0.0 if a is None else a, float)
            b = np.asarray(-(m_shared + d + 1.0) if b is None else b, float)
            a = a * np.eye(d) if a.ndim == 0 else a
            psi = broadcast_prior(a, _covars_shape(shape, k, m, d), "covars_prior")
            b = b[:, None] if shape == "tied" and b.ndim == 1 else b
            extra = (
                m_shared + d + 1 + broadcast_prior(b, (k, m), "covars_weight")
            ) / m_shared
        else:
            width = d if shape == "spherical" else 1
            a = np.asarray(-(width + 2) / 2 if a is None else a, float)
            b = np.asarray(0.0 if b is None else b, float)
            psi = 2 * broadcast_prior(b, _covars_shape(shape, k, m, d), "covars_weight")
            extra = 1 + 2 * (broadcast_prior(a, (k, m), "covars_prior") + 1) / width
    alpha = broadcast_prior(
        np.asarray(model.weights_prior, float), (k, m), "weights_prior"
    )
    return MixturePrior(alpha, NormalPrior(m0, kappa, psi, extra))


@saved_state(
    weights_=FloatArray("n_components", "mixtures"),
    means_=FloatArray("n_components", "mixtures", "n_features_in_"),
    covars_=FloatArray("n_components", ...),
)
@dataclass(eq=False, repr=False)
class GMMHMM(AbstractHMM, Estimator):
    """Hidden Markov model with mixtures of Normals as emissions, by Baum-Welch.

    Parameters
    ----------
    n_components : int, default=1
        Number of states, k.
    n_mix : int, default=1
        Components of the mixture of each state, m.
    min_covar : float, default=1e-3
        Floor of variances that collapse, at most 1e-8 of the variance of the column
        unless that is 0. Variances above it are left alone.
    startprob_prior, transmat_prior : float or array, default=1
        Dirichlet priors of `startprob_` and of the rows of `transmat_`.
    weights_prior : float or array, default=1
        Dirichlet prior of the rows of `weights_`.
    means_prior, means_weight : float or array, default=0
        m_0 and kappa: where the means are expected, and how many rows that is worth.
    covars_prior, covars_weight : float, array or None, default=None
        Prior of the covariances, see the module text.
    covariance_type : {"spherical", "diag", "full", "tied"}, default="diag"
        Shape of the covariances; "tied" is one for each state.
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
    params : str, default="stmcw"
        What `fit` estimates: s(tart), t(ransitions), m(eans), c(ovariances), w(eights).
    init_params : str, default="stmcw"
        What `fit` sets first: start and transitions at random, means by k-means of
        the rows and then of each group, covariances at that of all rows, equal
        weights; the rest is taken from the attributes.
    implementation : {"scaling", "log"}, default="scaling"
        Rescaled products, or logarithms throughout: many times slower, for
        transition probabilities too small to be multiplied.

    Attributes
    ----------
    startprob_ : array of shape (k,)
        Probabilities of the first state.
    transmat_ : array of shape (k, k)
        Probabilities of moving from row to column.
    weights_ : array of shape (k, m)
        Weights of the components of each state.
    means_ : array of shape (k, m, d)
        Means.
    covars_ : array
        (k, m) if spherical, (k, m, d) if diagonal, (k, m, d, d) if full, (k, d, d)
        if tied.
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
    >>> from pansophy.state_space import GMMHMM
    >>> rng = np.random.default_rng(0)
    >>> z = np.repeat([0, 1, 0, 1], 50)  # one state has two places, the other one
    >>> X = np.where(z == 0, rng.choice([-3.0, 3.0], 200), 10.0) + rng.normal(size=200)
    >>> model = GMMHMM(2, n_mix=2, n_iter=50, random_state=0).fit(X)
    >>> found = model.predict(X)
    >>> bool(np.mean(found == z) in (0.0, 1.0))
    True
    """

    n_components: Count = 1
    n_mix: Count = 1
    min_covar: NonNegative = 1e-3
    _: KW_ONLY
    startprob_prior: NonNegative | NumericArray = 1.0
    transmat_prior: NonNegative | NumericArray = 1.0
    weights_prior: NonNegative | NumericArray = 1.0
    means_prior: Number | NumericArray = 0.0
    means_weight: NonNegative | NumericArray = 0.0
    covars_prior: Number | NumericArray | None = None
    covars_weight: Number | NumericArray | None = None
    covariance_type: Literal["spherical", "diag", "full", "tied"] = "diag"
    algorithm: Literal["viterbi", "map"] = "viterbi"
    random_state: Seed = None
    n_iter: Natural = 10
    tol: NonNegative = 1e-2
    verbose: Verbosity = False
    params: Letters = "stmcw"
    init_params: Letters = "stmcw"
    implementation: Literal["scaling", "log"] = "scaling"

    _letters: ClassVar[dict[str, str]] = {
        "weights_": "w",
        "means_": "m",
        "covars_": "c",
    }

    def _check_columns(self, X, fitting):
        is_given = not fitting or "m" not in self.init_params
        if is_given and hasattr(self, "means_") and np.ndim(self.means_) == 3:
            d = np.shape(self.means_)[2]
            if X.shape[1] != d:
                raise ValueError(f"means_ has {d} columns, but X has {X.shape[1]}.")

    def _emission(self):
        k, m, shape = self.n_components, self.n_mix, self.covariance_type
        for name in ("weights_", "means_", "covars_"):
            if not hasattr(self, name):
                raise ValueError(f"{name} is neither fitted nor set: see init_params.")
        w = checked_probabilities(np.asarray(self.weights_, dtype=float), "weights_")
        M = np.asarray(self.means_, dtype=float)
        if w.shape != (k, m):
            raise ValueError(f"weights_ must have shape {(k, m)}, got {w.shape}.")
        if M.shape[:2] != (k, m) or M.ndim != 3 or not np.isfinite(M).all():
            raise ValueError(
                f"means_ must hold finite numbers in shape ({k}, {m}, columns), got "
                f"{M.shape}."
            )
        d = M.shape[2]
        C = np.asarray(self.covars_, dtype=float)
        if C.shape != _covars_shape(shape, k, m, d):
            raise ValueError(
                f"{shape} covars_ must have shape {_covars_shape(shape, k, m, d)}, got "
                f"{C.shape}."
            )
        component_shape, count = ("full", k) if shape == "tied" else (shape, k * m)
        flat = C.reshape(count, *C.shape[1 if shape == "tied" else 2 :])
        C = stored_covariances(flat, component_shape, count, d)
        C = np.repeat(C, m, axis=0) if shape == "tied" else C
        normal = Normal(M.reshape(k * m, d), C, component_shape)
        return _mixture_emission(w, normal, self.min_covar, shape == "tied")

    def _initial_emission(self, X, rng):
        k, m, shape = self.n_components, self.n_mix, self.covariance_type
        F = impute_column_means(X)
        main = kmeans_centers(X, k, rng)
        z = nearest_center(F, main)
        M = np.empty((k * m, X.shape[1]))
        for j in range(k):
            state_rows = F[z == j] if (z == j).any() else main[j : j + 1]
            M[j * m : (j + 1) * m] = kmeans_centers(state_rows, m, rng)
        component_shape = "full" if shape == "tied" else shape
        C = covariance_in_shape(
            data_covariance(X, self.min_covar), component_shape, k * m
        )
        normal = Normal(M, np.array(C), component_shape)
        return _mixture_emission(
            np.full((k, m), 1 / m), normal, self.min_covar, shape == "tied"
        )

    def _emission_attributes(self, emission):
        (k, m) = emission.weights.shape
        q = emission.inner.normal
        C = q.cov.reshape(k, m, *q.cov.shape[1:])
        return {
            "weights_": emission.weights,
            "means_": q.mean.reshape(k, m, q.d),
            "covars_": C[:, 0] if emission.tied else C,
        }

    def _emission_prior(self, emission):
        k, m = emission.weights.shape
        return _mixture_prior(self, k, m, emission.inner.normal.d)
