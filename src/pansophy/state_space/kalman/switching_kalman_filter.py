"""Switching Kalman filter: a Markov chain selects which linear Gaussian model acts.

    s_t | s_t-1 ~ A,    z_t = F_s z_t-1 + c_s + q_t,    x_t = H_s z_t + d_s + r_t  (1)

with q_t ~ Normal(0, Q_s) and r_t ~ Normal(0, R_s) for s = s_t, one of K regimes. The
exact belief is a mixture of K^t normals. Kim's filter keeps one for each regime: from
regime i to j the K^2 Kalman steps give normals (a_ij, P_ij) with likelihoods l_ij,

    w_ij = p_t-1(i) A_ij l_ij / sum of the same,    p_t(j) = sum_i w_ij          (2)
    a_j = sum_i w_ij / p_t(j) a_ij,    P_j = sum_i w_ij / p_t(j) (P_ij + e_ij e_ij') (3)

with e_ij = a_ij - a_j: the normal with the moments of the mixture. Backwards, with
p(s_t = i | s_t+1 = j, x) taken from the filter,

    w_ij = p_n,t+1(j) p_t(i) A_ij / sum_i p_t(i) A_ij                            (4)

and a Rauch-Tung-Striebel step for each pair, collapsed as in (3). The log-likelihood
sum_t log sum_ij p_t-1(i) A_ij l_ij is that of the collapsed model. With K = 1, or one
row, all of it is exact.

EM with these beliefs in place of the exact ones learns A, the start, Q_s and R_s, which
have closed forms given the smoothed moments. As the beliefs are approximate the
likelihood may fall; the best parameters seen are kept.
Cost      O(n K^2 k^3), memory O(n K k^2)
Shapes    A (K, K)   F, Q (K, k, k)   H (K, p, k)   R (K, p, p)   X (n, p)
Refs      [Kim1994]; [Murphy1998]
"""

from dataclasses import KW_ONLY, dataclass
from itertools import pairwise
from typing import Annotated, Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ...base import Estimator
from ...core.arrays.ragged import stack_sequences
from ...core.chains.filtering import bayes_filter, bayes_smoother
from ...core.drivers.em import em
from ...core.numerics import LOG_2PI, normalize_log_weights, safe_divide, safe_log
from ...core.random import make_rng
from ...distributions.categorical import checked_probabilities, estimated_probabilities
from ...params import (
    Count,
    NonNegative,
    ParameterRule,
    Verbosity,
    check_count,
    check_params,
)
from ...typing import ListLike, Matrix, NumericArray, Seed
from ..forecast import Beliefs, Forecast, check_interval_level
from .linear_gaussian import (
    check_covariance,
    matrix_square_root,
    nearest_semidefinite,
    symmetrize,
)


class SwitchingModel(NamedTuple):
    """Eq. (1), every array with a leading axis of K regimes."""

    start: np.ndarray  # (K,)
    A: np.ndarray
    F: np.ndarray
    c: np.ndarray
    Q: np.ndarray
    H: np.ndarray
    d: np.ndarray
    R: np.ndarray
    m: np.ndarray  # (K, k)
    P: np.ndarray  # (K, k, k)


class RegimeBeliefs(NamedTuple):
    """A normal for each regime, or for each pair of regimes before and now."""

    prob: np.ndarray  # (K,) or (K, K)
    mean: np.ndarray  # (..., k)
    cov: np.ndarray  # (..., k, k)
    pairs: Any = None  # what the smoother knows of steps t and t + 1 together


class RegimePairs(NamedTuple):
    """Beliefs in z_t and its covariance with z_t+1 for s_t = i, s_t+1 = j."""

    weight: np.ndarray  # w of eq. (4), (K, K)
    mean: np.ndarray
    cov: np.ndarray
    cross: np.ndarray  # Cov(z_t+1, z_t)


def _collapse_mixture(prob, mean, cov, axis):
    """Eq. (3): mixtures along an axis of pairs, each as one normal."""
    total = prob.sum(axis=axis)
    share = safe_divide(
        prob, np.expand_dims(total, axis) + 0 * prob, 1 / prob.shape[axis]
    )
    a = (share[..., None] * mean).sum(axis=axis)
    e = mean - np.expand_dims(a, axis)
    spread = cov + e[..., :, None] * e[..., None, :]
    return total, a, symmetrize((share[..., None, None] * spread).sum(axis=axis))


def _transpose_last(M):
    return M.swapaxes(-1, -2)


def _apply_matrices(M, v):
    """Matrices (..., p, k) times vectors (..., k)."""
    return (M @ v[..., None])[..., 0]


class SwitchingFilter(NamedTuple):
    """The member of `core.chains.filtering`, eq. (2) to (4)."""

    model: SwitchingModel

    def predict(self, belief):
        M = self.model
        prob = belief.prob[:, None] * M.A
        mean = _apply_matrices(M.F, belief.mean[:, None]) + M.c
        cov = M.F @ belief.cov[:, None] @ _transpose_last(M.F) + M.Q
        return RegimeBeliefs(prob, mean, symmetrize(cov))

    def update(self, belief, x):
        M = self.model
        prob, mean, cov, _ = belief
        if prob.ndim == 1:  # the first row: no regime before it
            prob, mean, cov = prob[None], mean[None], cov[None]
        is_seen = ~np.isnan(x)
        H, R = M.H[:, is_seen], M.R[:, is_seen][:, :, is_seen]
        e = x[is_seen] - _apply_matrices(H, mean) - M.d[:, is_seen]
        S = symmetrize(H @ cov @ _transpose_last(H) + R)
        K = _transpose_last(np.linalg.solve(S, H @ cov))
        G = np.eye(mean.shape[-1]) - K @ H
        new = _apply_matrices(K, e) + mean
        left = G @ cov @ _transpose_last(G) + K @ R @ _transpose_last(K)
        power = (e * np.linalg.solve(S, e[..., None])[..., 0]).sum(axis=-1)
        log_l = -0.5 * (power + np.linalg.slogdet(S)[1] + is_seen.sum() * LOG_2PI)
        w, loglik = normalize_log_weights(safe_log(prob) + log_l)
        if not np.isfinite(loglik):
            raise ValueError("no regime can have given a row of X: its density is 0.")
        return RegimeBeliefs(*_collapse_mixture(w, new, left, 0)), loglik

    def reverse(self, filtered, predicted, smoothed):
        M = self.model
        joint = filtered.prob[:, None] * M.A
        w = smoothed.prob * safe_divide(joint, joint.sum(axis=0) + 0 * joint)
        P = filtered.cov[:, None]
        J = _transpose_last(np.linalg.solve(predicted.cov, M.F @ P))
        mean = filtered.mean[:, None] + _apply_matrices(
            J, smoothed.mean - predicted.mean
        )
        cov = symmetrize(P + J @ (smoothed.cov - predicted.cov) @ _transpose_last(J))
        cross = smoothed.cov @ _transpose_last(J)
        weight = w / w.sum()
        pairs = RegimePairs(weight, mean, cov, cross)
        return RegimeBeliefs(*_collapse_mixture(weight, mean, cov, 1), pairs)


def _last_filtered_belief(model, X) -> RegimeBeliefs:
    """The filtered belief after the last row of one sequence."""
    prior = RegimeBeliefs(model.start, model.m, model.P)
    return bayes_filter(SwitchingFilter(model), prior, X).filtered[-1]


def forecast_regimes(model, belief, n, level) -> Forecast:
    """Moments of the n rows after a belief in regimes and states.

    Eq. (3) keeps the first two moments, so that without observations these are exact.
    """
    member = SwitchingFilter(model)
    rows = []
    for _ in range(n):
        prior = member.predict(belief)
        belief = RegimeBeliefs(*_collapse_mixture(*prior[:3], 0))
        a, P = belief.mean, belief.cov
        x = _apply_matrices(model.H, a) + model.d
        S = model.H @ P @ _transpose_last(model.H) + model.R
        seen = _collapse_mixture(belief.prob, x, S, 0)[1:]
        rows.append((*seen, *_collapse_mixture(belief.prob, a, P, 0)[1:], belief.prob))
    mean, cov, z, V, prob = (np.array(column) for column in zip(*rows, strict=True))
    return Forecast(mean, cov, level, z, V, prob)


def _switching_e_step(model, X, ends):
    """Sums that the M-step needs under smoothed beliefs, and the log-likelihood."""
    member = SwitchingFilter(model)
    total = None
    loglik = 0.0
    prior = RegimeBeliefs(model.start, model.m, model.P)
    for begin, end in zip(np.r_[0, ends[:-1]], ends):
        x = X[begin:end]
        run = bayes_filter(member, prior, x)
        back = bayes_smoother(member, run)
        sums = [
            back[0].prob,
            *_transition_statistics(model, back),
            *_observation_statistics(model, back, x),
        ]
        total = sums if total is None else [a + b for a, b in zip(total, sums)]
        loglik += run.loglik
    return total, loglik


def _transition_statistics(model, back):
    """Expected transitions (K, K), and scatter of the state noise with its weight."""
    K, k = model.m.shape
    N, S = np.zeros((K, K)), np.zeros((K, k, k))
    for current, following in pairwise(back):
        w, m, V, C = current.pairs
        F = model.F
        e = following.mean - _apply_matrices(F, m) - model.c
        FC = F @ _transpose_last(C)
        V2 = following.cov - FC - _transpose_last(FC) + F @ V @ _transpose_last(F)
        V2 = V2 + e[..., :, None] * e[..., None, :]
        N += w
        S += (w[..., None, None] * V2).sum(axis=0)
    return N, S


def _observation_statistics(model, back, x):
    """Weight and scatter of the observation noise of each regime, rows without gaps."""
    K, p = model.d.shape
    N, S = np.zeros(K), np.zeros((K, p, p))
    for b, row in zip(back, x):
        if np.isnan(row).any():
            continue
        e = row - _apply_matrices(model.H, b.mean) - model.d
        V = (
            model.H @ b.cov @ _transpose_last(model.H)
            + e[..., :, None] * e[..., None, :]
        )
        N += b.prob
        S += b.prob[:, None, None] * V
    return N, S


def _switching_m_step(stats, model, letters, floor):
    """New parameters of the letters s, t, q, r; a regime never seen keeps its own."""
    first, N, SQ, n, SR = stats
    new = {}
    if "s" in letters:
        new["start"] = first / first.sum()
    if "t" in letters:
        new["A"] = np.where(
            N.sum(1, keepdims=True) > 1e-9, estimated_probabilities(N), model.A
        )
    for letter, name, weight, S in (("q", "Q", N.sum(axis=0), SQ), ("r", "R", n, SR)):
        if letter in letters:
            old = getattr(model, name)
            is_seen = weight > 1e-9
            M = safe_divide(S, weight[:, None, None] + 0 * S)
            M = M + floor * np.eye(S.shape[-1])
            new[name] = np.where(is_seen[:, None, None], nearest_semidefinite(M), old)
    return model._replace(**new)


def _per_regime_array(value, K, shape, default, name):
    """One array for each regime, (K, ...), from one for all or from the default."""
    A = np.asarray(default if value is None else value, dtype=float)
    if A.shape not in (shape, (K, *shape)):
        raise ValueError(
            f"{name} must have shape {shape} or {(K, *shape)}, got {A.shape}."
        )
    if not np.isfinite(A).all():
        raise ValueError(f"{name} must hold finite numbers.")
    return np.ascontiguousarray(np.broadcast_to(A, (K, *shape)))


Letters = Annotated[
    str,
    ParameterRule(
        'made of the letters "s", "t", "q" and "r"',
        lambda v: isinstance(v, str) and set(v) <= set("stqr"),
    ),
]


@dataclass(eq=False, repr=False)
class SwitchingKalmanFilter(Estimator):
    """Linear Gaussian models that a Markov chain switches between.

    Parameters
    ----------
    n_components : int, default=2
        Number of regimes, K.
    transition_matrices, observation_matrices : array, optional
        F (k, k) and H (p, k), for all regimes or (K, ...) one for each. None is the
        identity.
    transition_covariance, observation_covariance : array, optional
        Q (k, k) and R (p, p), or one for each regime. None spreads the regimes over
        scales of the data and leaves the rest to `fit`.
    transition_offsets, observation_offsets : array, optional
        c and d, or one for each regime; None is 0.
    initial_state_mean, initial_state_covariance : array, optional
        None starts at the first row with a wide covariance where k = p.
    regime_matrix : array of shape (K, K), optional
        A. None stays in a regime with probability 0.95.
    params : str, default="stqr"
        What `fit` learns: s(tart), t(ransitions of regimes), q and r, the covariances.
    n_iter : int, default=50
    tol : float, default=1e-4
        Stop when an iteration changes the mean log-likelihood of a row by no more.
    reg_covar : float, default=1e-9
        Added to the diagonal of learned covariances.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.
    verbose : int, default=0

    Attributes
    ----------
    startprob_, regime_matrix_ : arrays of shape (K,) and (K, K)
    last_ : Regimes
        Belief after the last training row, from where `forecast_regimes` goes on.
    transition_covariance_, observation_covariance_ : arrays, one for each regime
    log_likelihood_ : float
        Of the parameters kept, under the collapsed beliefs.
    n_iter_, converged_, history_ : int, bool, dict

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import SwitchingKalmanFilter
    >>> rng = np.random.default_rng(0)
    >>> x = np.cumsum(rng.normal(size=300) * np.where(np.arange(300) < 150, 0.1, 2))
    >>> model = SwitchingKalmanFilter(2, observation_covariance=[[0.01]]).fit(x)
    >>> states = model.predict(x)
    >>> bool((states[10:140] == states[10]).mean() > 0.9)
    True
    """

    n_components: Count = 2
    _: KW_ONLY
    transition_matrices: Matrix | ListLike | None = None
    observation_matrices: Matrix | ListLike | None = None
    transition_covariance: Matrix | ListLike | None = None
    observation_covariance: Matrix | ListLike | None = None
    transition_offsets: Matrix | ListLike | None = None
    observation_offsets: Matrix | ListLike | None = None
    initial_state_mean: NumericArray | None = None
    initial_state_covariance: NumericArray | None = None
    regime_matrix: Matrix | ListLike | None = None
    params: Letters = "stqr"
    n_iter: Count = 50
    tol: NonNegative = 1e-4
    reg_covar: NonNegative = 1e-9
    random_state: Seed = None
    verbose: Verbosity = 0

    def _initial_model(self, X) -> SwitchingModel:
        """The model as given, gaps filled from the data."""
        K = self.n_components
        p = X.shape[1]
        H = self.observation_matrices
        k = p if H is None else np.shape(H)[-1]
        matrices_of = lambda name, shape, default: _per_regime_array(
            getattr(self, name), K, shape, default, name
        )
        steps = np.diff(X, axis=0)
        steps = steps[np.isfinite(steps).all(axis=1)]
        size = steps.var(axis=0).mean() if len(steps) else 1.0
        size = size if size > 0 else 1.0
        scales = size * 10.0 ** np.linspace(-1, 1, K) if K > 1 else np.full(1, size)
        known = X[np.isfinite(X).all(axis=1)]
        m = known[0] if len(known) and k == p else np.zeros(k)
        wide = 100 * max(size, float(np.nanvar(X)) if len(known) else 1.0)
        spread = scales[:, None, None] * np.eye(k)
        A = np.full((K, K), 0.05 / max(K - 1, 1))
        np.fill_diagonal(A, 0.95 if K > 1 else 1.0)
        probabilities = (
            A if self.regime_matrix is None else np.asarray(self.regime_matrix, float)
        )
        if probabilities.shape != (K, K):
            raise ValueError(f"regime_matrix must have shape {(K, K)}.")
        model = SwitchingModel(
            np.full(K, 1 / K),
            checked_probabilities(probabilities, "regime_matrix"),
            matrices_of("transition_matrices", (k, k), np.eye(k)),
            matrices_of("transition_offsets", (k,), np.zeros(k)),
            matrices_of("transition_covariance", (k, k), spread),
            matrices_of("observation_matrices", (p, k), np.eye(p, k)),
            matrices_of("observation_offsets", (p,), np.zeros(p)),
            matrices_of("observation_covariance", (p, p), size * np.eye(p)),
            matrices_of("initial_state_mean", (k,), m),
            matrices_of("initial_state_covariance", (k, k), wide * np.eye(k)),
        )
        sure = lambda name, letter: check_covariance(
            getattr(model, letter), f"{name}_covariance"
        )
        return model._replace(
            Q=sure("transition", "Q"),
            R=sure("observation", "R"),
            P=sure("initial_state", "P"),
        )

    def fit(self, X, lengths=None, y=None):
        """Learn the letters of `params` by EM from where the given matrices stand."""
        check_params(self)
        X, ends = stack_sequences(X, lengths)
        first = self._initial_model(X)
        best: list[Any] = [-np.inf, first]

        def counted(model):
            stats, loglik = _switching_e_step(model, X, ends)
            if loglik > best[0]:
                best[:] = loglik, model
            return (stats, model), loglik

        m_step = lambda s: _switching_m_step(s[0], s[1], self.params, self.reg_covar)
        run = lambda task: em(
            counted,
            m_step,
            first,
            n=len(X),
            max_iter=self.n_iter,
            tol=self.tol,
            task=task,
        )
        self._run_driver(run, total=self.n_iter, X=X)
        self.log_likelihood_, model = best
        self.n_features_in_ = X.shape[1]
        self.startprob_, self.regime_matrix_ = model.start, model.A
        self.transition_covariance_, self.observation_covariance_ = model.Q, model.R
        self.initial_state_mean_, self.initial_state_covariance_ = model.m, model.P
        self.last_ = _last_filtered_belief(model, X[np.append(0, ends)[-2] :])
        return self

    def _model(self, X) -> SwitchingModel:
        """The fitted model, or the given one before `fit`."""
        check_params(self)
        model = self._initial_model(X)
        if not hasattr(self, "regime_matrix_"):
            if (
                self.transition_covariance is None
                or self.observation_covariance is None
            ):
                check_is_fitted(self, "regime_matrix_")
            return model
        return model._replace(
            start=self.startprob_,
            A=self.regime_matrix_,
            Q=self.transition_covariance_,
            R=self.observation_covariance_,
            m=self.initial_state_mean_,
            P=self.initial_state_covariance_,
        )

    def _run(self, X, lengths, smooth) -> Beliefs:
        X, ends = stack_sequences(X, lengths)
        model = self._model(X)
        member = SwitchingFilter(model)
        prior = RegimeBeliefs(model.start, model.m, model.P)
        results = []
        loglik = 0.0
        for begin, end in zip(np.r_[0, ends[:-1]], ends):
            run = bayes_filter(member, prior, X[begin:end])
            results += bayes_smoother(member, run) if smooth else run.filtered
            loglik += run.loglik
        collapsed = [_collapse_mixture(b.prob, b.mean, b.cov, 0) for b in results]
        return Beliefs(
            np.array([a for _, a, _ in collapsed]),
            np.array([P for _, _, P in collapsed]),
            loglik=loglik,
            regimes=np.array([b.prob for b in results]),
        )

    def filter(self, X, lengths=None) -> Beliefs:
        """Regimes and states at every step given the past."""
        return self._run(X, lengths, smooth=False)

    def smooth(self, X, lengths=None) -> Beliefs:
        """Regimes and states at every step given whole sequences."""
        return self._run(X, lengths, smooth=True)

    def predict_proba(self, X, lengths=None):
        """Probability of the regimes at every step, (n, K)."""
        return self.smooth(X, lengths).regimes

    def predict(self, X, lengths=None):
        """The most likely regime of every step, (n,)."""
        return self.predict_proba(X, lengths).argmax(axis=1)

    def score(self, X, lengths=None) -> float:
        """Log-likelihood of the collapsed model."""
        return self.filter(X, lengths).loglik

    def forecast(self, n=1, X=None, *, level=0.95) -> Forecast:
        """Forecast the n rows after X, or after the training data.

        Means and covariances are those of all regimes together; intervals take them
        for a normal.
        """
        n = check_count("n", n)
        check_interval_level(level)
        if X is None:
            check_is_fitted(self, "last_")
            model = self._model(np.zeros((1, self.n_features_in_)))
            belief = self.last_
        else:
            X, _ = stack_sequences(X)
            model = self._model(X)
            belief = _last_filtered_belief(model, X)
        return forecast_regimes(model, belief, n, level)

    def sample(self, n, random_state=None):
        """Observations (n, p), states (n, k) and regimes (n,)."""
        R = self.observation_covariance
        p = getattr(self, "n_features_in_", 1 if R is None else np.shape(R)[-1])
        model = self._model(np.zeros((1, p)))
        seed = self.random_state if random_state is None else random_state
        rng = make_rng(seed)
        k = model.m.shape[1]
        s, z = np.empty(n, int), np.empty((n, k))
        LQ, LR, LP = (
            matrix_square_root(model.Q),
            matrix_square_root(model.R),
            matrix_square_root(model.P),
        )
        for t in range(n):
            law = model.A[s[t - 1]] if t else model.start
            s[t] = j = int(rng.choice(len(law), p=law / law.sum()))
            e = rng.standard_normal(k)
            if t:
                z[t] = model.F[j] @ z[t - 1] + model.c[j] + LQ[j] @ e
            else:
                z[t] = model.m[j] + LP[j] @ e
        noise = _apply_matrices(LR[s], rng.standard_normal((n, p)))
        return _apply_matrices(model.H[s], z) + model.d[s] + noise, z, s
