"""Extended, unscented and cubature Kalman filters for non-linear models.

    z_t = f(z_t-1) + q_t,   q_t ~ Normal(0, Q)                                    (1)
    x_t = h(z_t) + r_t,     r_t ~ Normal(0, R),      z_1 ~ Normal(m, P)           (2)

The belief in z_t is taken as Normal(a, P) throughout. All that a step needs of a
function g of such a z are three moments,

    mu = E g(z),   S = Cov g(z),   C = Cov(z, g(z))                               (3)

and then, as in the linear case,

    predict   a <- mu_f,  P <- S_f + Q                                            (4)
    update    K = C_h (S_h + R)^-1,  a <- a + K (x - mu_h),  P <- P - K (S_h + R) K'(5)
    reverse   J = C_f P_pred^-1,  a <- a + J (a+ - a_pred),  P <- P + J (P+ - P_pred) J'

The filters differ in how (3) is found:

    linearised  G = dg/dz at a:  mu = g(a), S = G P G', C = P G'                  (6)
    sigma       points s_i = a + L u_i with P = L L', weights w_i:
                mu = sum w_i g(s_i), S = sum v_i (g(s_i) - mu)(..)', C alike      (7)

The unscented points are 0 and +-sqrt(k + lambda) along each column of L, with lambda =
alpha^2 (k + kappa) - k; where lambda = 0 the middle one has no weight, which is the
cubature filter. (6)
is right to first order, (7) to second and, for polynomials of degree 3, in the mean
exactly. An extended update can be iterated: (6) taken again at the new a, a few
Gauss-Newton steps towards the mode of the posterior. Linear f and h make all of them
the Kalman filter.

Missing entries of x are left out of (5). Where rounding or bent functions spoil P, its
negative eigenvalues are set to 0.

Cost      (6) one call and a Jacobian a step, (7) 2 k + 1 calls; O(k^3)
Shapes    f: (k,) -> (k,)   h: (k,) -> (p,)   Q, P (k, k)   R (p, p)   X (n, p)
Refs      [Jazwinski1970] (6); [Julier1997] [Wan2000] unscented; [Arasaratnam2009]
          cubature; [Bell1993] iteration; [Sarkka2013]
"""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from math import isfinite, isnan
from typing import Any, NamedTuple

import numpy as np

from ...base import Estimator
from ...core.arrays.ragged import stack_sequences
from ...core.chains.filtering import bayes_filter, bayes_smoother
from ...core.random import make_rng
from ...params import (
    Count,
    Flag,
    NonNegative,
    Number,
    Positive,
    check_count,
    check_params,
)
from ...typing import ListLike, Matrix
from ..forecast import Beliefs, Forecast, check_interval_level
from .linear_gaussian import check_covariance, matrix_square_root, nearest_semidefinite


def _vectorized_function(g, inputs, batched, size, name):
    """g as a function of states (m, k) and the step, whose numbers are checked."""

    def rows(Z, t):
        u = () if inputs is None else (inputs[t],)
        if batched:
            Y = np.asarray(g(Z, *u), dtype=float)
        elif len(Z) == 1:
            Y = np.array(g(Z[0], *u), dtype=float).reshape(1, -1)
        else:
            Y = np.array([g(z, *u) for z in Z], dtype=float).reshape(len(Z), -1)
        if Y.shape != (len(Z), size):
            raise ValueError(f"{name} must give {size} numbers, got {Y.shape[1:]}.")
        if not isfinite(np.add.reduce(Y, axis=None)):
            raise ValueError(f"{name} gave numbers that are not finite at step {t}.")
        return Y

    return rows


def _jacobian_function(J, inputs):
    """A derivative as a function of one state and the step."""
    if J is None:
        return None

    def slope(z, t):
        G = J(z) if inputs is None else J(z, inputs[t])
        G = np.ascontiguousarray(G, dtype=float)
        return G if G.ndim > 1 else G.reshape(1, -1)

    return slope


DIFFERENCE_STEP = 6e-6  # of a difference, relative to the size of z: near eps^(1/3)


class NonlinearBelief(NamedTuple):
    """Normal(mean, cov) of z_t, and how it goes with z_t-1."""

    mean: np.ndarray
    cov: np.ndarray
    cross: Any = None  # C of eq. (3) for f, (k, k)
    t: int = 0


class LinearizedMoments(NamedTuple):
    """Moments by eq. (6)."""

    def __call__(self, loops, g, jacobian, belief, noise):
        a = belief.mean
        G = _finite_difference_jacobian(g, a) if jacobian is None else jacobian(a)
        S, C = loops.linear_map_moments(G, belief.cov, noise)
        return g(a[None])[0], S, C


class SigmaPointMoments(NamedTuple):
    """Moments by eq. (7), of unit points (m, k) with weights (m,)."""

    points: np.ndarray
    weights: np.ndarray  # of the mean, w
    spread: np.ndarray  # of the covariance, v

    def __call__(self, loops, g, jacobian, belief, noise):
        away = self.points @ loops.semidefinite_cholesky(belief.cov).T
        Y = g(belief.mean + away)
        mu = self.weights @ Y
        Y = Y - mu
        E = Y * self.spread[:, None]
        return mu, Y.T @ E + noise, away.T @ E


def _unscented_points(k, alpha, beta, kappa) -> SigmaPointMoments:
    """The points and weights of the unscented transform."""
    scale = alpha**2 * (k + kappa)  # k + lambda
    if not scale > 0:
        raise ValueError(f"alpha and kappa leave no room: k + kappa is {k + kappa}.")
    unit = np.sqrt(scale) * np.eye(k)
    w = np.r_[1 - k / scale, np.full(2 * k, 1 / (2 * scale))]
    v = w.copy()
    v[0] += 1 - alpha**2 + beta
    return SigmaPointMoments(np.vstack([np.zeros(k), unit, -unit]), w, v)


def _finite_difference_jacobian(g, a):
    """Jacobian of g at a by central differences."""
    h = DIFFERENCE_STEP * np.maximum(1.0, np.abs(a))
    Y = g(np.vstack([a + np.diag(h), a - np.diag(h)]))
    return np.ascontiguousarray(((Y[: len(a)] - Y[len(a) :]) / (2 * h[:, None])).T)


class GaussianFilter(NamedTuple):
    """A filter of `core.chains.filtering`: eq. (4), (5) with any way to moments."""

    f: Callable  # (Z (m, k), t) -> (m, k)
    h: Callable  # (Z (m, k), t) -> (m, p)
    f_jacobian: Any  # (z, t) -> (k, k), or None
    h_jacobian: Any  # (z, t) -> (p, k), or None
    Q: np.ndarray
    R: np.ndarray
    moments: Any
    n_iter: int  # times an update is linearised
    loops: Any  # `_nonlinear_kalman.py`: looked up once, not at every step

    def predict(self, belief):
        t = belief.t + 1
        J = None if self.f_jacobian is None else (lambda z: self.f_jacobian(z, t))
        f = lambda Z: self.f(Z, t)
        mu, S, C = self.moments(self.loops, f, J, belief, self.Q)
        return NonlinearBelief(mu, self.mended(S), C, t)

    def observed(self, belief):
        """Mean (p,) and covariance (p, p) of what a belief would show."""
        J = self.h_jacobian
        t = belief.t
        slope = None if J is None else (lambda z: J(z, t))
        g = lambda Z: self.h(Z, t)
        return self.moments(self.loops, g, slope, belief, self.R)[:2]

    def mended(self, P):
        """P symmetric, without negative eigenvalues."""
        P, good = self.loops.symmetrized_covariance(P)
        return P if good else nearest_semidefinite(P)

    def update(self, belief, x):
        a, P, cross, t = belief
        g = lambda Z: self.h(Z, t)
        J = None
        R = self.R
        if self.h_jacobian is not None:
            J = lambda z: self.h_jacobian(z, t)
        if isnan(sum(x.tolist())):  # quicker than an array of answers
            is_seen = ~np.isnan(x)
            if not is_seen.any():
                return belief, 0.0
            x, R = x[is_seen], np.ascontiguousarray(R[is_seen][:, is_seen])
            g = lambda Z: self.h(Z, t)[:, is_seen]
            if (full_J := J) is not None:
                J = lambda z: full_J(z)[is_seen]
        linearized_at = a
        cov = P
        good = True
        loglik = 0.0
        for i in range(self.n_iter):
            mu, S, C = self.moments(self.loops, g, J, belief, R)
            e = x - mu
            if i:  # what the function gives at a, seen from where it was taken
                e = e - self.loops.smoother_gain(P, C) @ (a - linearized_at)
            linearized_at, cov, good, result = self.loops.condition_normal(
                a, P, C, S, e
            )
            loglik, belief = loglik if i else result, NonlinearBelief(linearized_at, P)
        return NonlinearBelief(
            linearized_at, cov if good else nearest_semidefinite(cov), cross, t
        ), loglik

    def reverse(self, filtered, predicted, smoothed):
        cross = np.ascontiguousarray(predicted.cross.T)
        J = self.loops.smoother_gain(predicted.cov, cross)
        mean = filtered.mean + J @ (smoothed.mean - predicted.mean)
        cov = filtered.cov + J @ (smoothed.cov - predicted.cov) @ J.T
        return NonlinearBelief(mean, self.mended(cov), filtered.cross, filtered.t)


def _as_covariance(value, k, name):
    """A covariance (k, k) from a matrix, variances (k,) or a number, checked."""
    A = np.asarray(value, dtype=float)
    A = A * np.eye(k) if A.ndim == 0 else np.diag(A) if A.ndim == 1 else A
    if A.shape != (k, k):
        raise ValueError(f"{name} must have shape ({k}, {k}), got {np.shape(value)}.")
    return check_covariance(A, name)


class AbstractNonlinearKalman(Estimator):
    """Base class of filters of non-linear chains; a final class gives the moments."""

    @abstractmethod
    def _moments(self, k) -> Any:
        """The way to eq. (3) for k states."""

    def _member(self, X, inputs):
        from . import _nonlinear_kalman as loops

        check_params(self)
        m = np.atleast_1d(np.asarray(self.initial_state_mean, dtype=float))
        k = len(m)
        sizes = {"initial_state": k, "transition": k, "observation": X.shape[1]}
        P, Q, R = (
            _as_covariance(
                getattr(self, f"{name}_covariance"), size, f"{name}_covariance"
            )
            for name, size in sizes.items()
        )
        if inputs is not None and len(inputs) != len(X):
            raise ValueError(f"inputs must have {len(X)} rows, got {len(inputs)}.")
        f = _vectorized_function(self.transition, inputs, self.batched, k, "transition")
        h = _vectorized_function(
            self.observe, inputs, self.batched, X.shape[1], "observe"
        )
        Jf = _jacobian_function(getattr(self, "transition_jacobian", None), inputs)
        Jh = _jacobian_function(getattr(self, "observe_jacobian", None), inputs)
        n_iter = getattr(self, "n_updates", 1)
        member = GaussianFilter(f, h, Jf, Jh, Q, R, self._moments(k), n_iter, loops)
        return member, NonlinearBelief(m, P)

    def _width(self, inputs):
        """Numbers that `observe` gives."""
        z = np.atleast_1d(np.asarray(self.initial_state_mean, dtype=float))
        u = () if inputs is None else (inputs[0],)
        return np.size(self.observe(z[None] if self.batched else z, *u))

    def _run(self, X, lengths, inputs, smooth):
        X, ends = stack_sequences(X, lengths)
        inputs = None if inputs is None else np.asarray(inputs, dtype=float)
        means = []
        covs = []
        loglik = 0.0
        for begin, end in zip(np.r_[0, ends[:-1]], ends):
            part = None if inputs is None else inputs[begin:end]
            member, prior = self._member(X[begin:end], part)
            run = bayes_filter(member, prior, X[begin:end])
            result = bayes_smoother(member, run) if smooth else run.filtered
            means += [b.mean for b in result]
            covs += [b.cov for b in result]
            loglik += run.loglik
        return Beliefs(np.array(means), np.array(covs), loglik=loglik)

    def filter(self, X, lengths=None, inputs=None) -> Beliefs:
        """Belief in the state at every step given the past: means, covariances.

        X (n, p) may hold NaN; `inputs` (n, m) are handed to the functions row by row.
        """
        return self._run(X, lengths, inputs, smooth=False)

    def smooth(self, X, lengths=None, inputs=None) -> Beliefs:
        """Belief in the state at every step given whole sequences."""
        return self._run(X, lengths, inputs, smooth=True)

    def score(self, X, lengths=None, inputs=None) -> float:
        """Log-likelihood under the approximation."""
        return self.filter(X, lengths, inputs).loglik

    def forecast(self, n=1, X=None, *, level=0.95, inputs=None) -> Forecast:
        """Forecast the n rows after X, or the first n if there is no X.

        `inputs` has a row for each row of X and each of the n. Intervals take what is
        seen to be normal, as the filter does.
        """
        n = check_count("n", n)
        check_interval_level(level)
        u = None if inputs is None else np.asarray(inputs, dtype=float)
        past_X = np.empty((0, self._width(u))) if X is None else stack_sequences(X)[0]
        rows = np.vstack([past_X, np.full((n, past_X.shape[1]), np.nan)])
        member, prior = self._member(rows, u)
        coming = bayes_filter(member, prior, rows).filtered[-n:]
        results = [member.observed(belief) for belief in coming]
        z, V = np.array([b.mean for b in coming]), np.array([b.cov for b in coming])
        mean, S = (np.array(a) for a in zip(*results, strict=True))
        return Forecast(mean, S, level, z, V)

    def sample(self, n, random_state=None, inputs=None):
        """States (n, k) and observations (n, p) of eq. (1) and (2)."""
        rng = make_rng(random_state)
        member, prior = self._member(np.empty((n, self._width(inputs))), inputs)
        LQ, LR = matrix_square_root(member.Q), matrix_square_root(member.R)
        z = prior.mean + matrix_square_root(prior.cov) @ rng.standard_normal(
            len(prior.mean)
        )
        states, X = [], []
        for t in range(n):
            if t:
                z = member.f(z[None], t)[0] + LQ @ rng.standard_normal(len(z))
            states.append(z)
            X.append(member.h(z[None], t)[0] + LR @ rng.standard_normal(len(LR)))
        return np.array(states), np.array(X)


CovarianceLike = Matrix | ListLike | Positive | NonNegative


@dataclass(eq=False, repr=False)
class ExtendedKalmanFilter(AbstractNonlinearKalman):
    """Kalman filter of a non-linear chain, linearised at every step.

    Parameters
    ----------
    transition : function f(z) or f(z, u)
        Mean of the next state (k,), from a state and an input, if there are any.
    observe : function h(z) or h(z, u)
        Mean of the observation (p,).
    initial_state_mean : array of shape (k,)
    initial_state_covariance, transition_covariance, observation_covariance : arrays
        P, Q (k, k) and R (p, p); variances, or one number, will do.
    transition_jacobian, observe_jacobian : functions, optional
        Derivatives (k, k) and (p, k), called as f and h are. None takes differences.
    n_updates : int, default=1
        More than 1 iterates an update towards the mode of the posterior.
    batched : bool, default=False
        Whether f and h take states (m, k) at once, which is quicker.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import ExtendedKalmanFilter
    >>> model = ExtendedKalmanFilter(
    ...     np.sin, lambda z: z**2, initial_state_mean=[1.0],
    ...     transition_covariance=0.01, observation_covariance=0.1)
    >>> model.filter([1.1, 0.7, 0.6]).means.ravel().round(3)
    array([1.049, 0.857, 0.761])
    """

    transition: Callable
    observe: Callable
    _: KW_ONLY
    initial_state_mean: CovarianceLike
    initial_state_covariance: CovarianceLike = 1.0
    transition_covariance: CovarianceLike = 1.0
    observation_covariance: CovarianceLike = 1.0
    transition_jacobian: Callable | None = None
    observe_jacobian: Callable | None = None
    n_updates: Count = 1
    batched: Flag = False

    def _moments(self, k) -> Any:
        return LinearizedMoments()


@dataclass(eq=False, repr=False)
class UnscentedKalmanFilter(AbstractNonlinearKalman):
    """Kalman filter of a non-linear chain by points that carry the moments.

    The defaults of alpha, beta and kappa are those of the cubature filter.

    Parameters
    ----------
    transition, observe : functions
        As in `ExtendedKalmanFilter`; no derivatives are needed.
    initial_state_mean : array of shape (k,)
    initial_state_covariance, transition_covariance, observation_covariance : arrays
    alpha : float, default=1
        How far the points lie from the mean.
    beta : float, default=0
        Weight of the middle point in covariances; 2 is best for a normal belief and
        small alpha.
    kappa : float, default=0
        Moves the points further out; 3 - k matches fourth moments.
    batched : bool, default=False
        Whether f and h take states (m, k) at once, which is quicker.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import UnscentedKalmanFilter
    >>> model = UnscentedKalmanFilter(
    ...     np.sin, lambda z: z**2, initial_state_mean=[1.0], kappa=2.0,
    ...     transition_covariance=0.01, observation_covariance=0.1)
    >>> model.filter([1.1, 0.7, 0.6]).means.ravel().round(3)
    array([0.705, 0.665, 0.662])
    """

    transition: Callable
    observe: Callable
    _: KW_ONLY
    initial_state_mean: CovarianceLike
    initial_state_covariance: CovarianceLike = 1.0
    transition_covariance: CovarianceLike = 1.0
    observation_covariance: CovarianceLike = 1.0
    alpha: Positive = 1.0
    beta: Number = 0.0
    kappa: Number = 0.0
    batched: Flag = False

    def _moments(self, k) -> Any:
        return _unscented_points(k, self.alpha, self.beta, self.kappa)
