"""Switching Kalman filter: regimes and states together, learned or given.

The model, its filter, smoother and EM are those of `switching`.

Refs      [Kim1994]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.em import em
from ..core.filtering import bayes_filter, bayes_smoother
from ..core.random import make_rng
from ..distributions.categorical import checked_probabilities
from ..params import Count, NonNegative, ParameterRule, Verbosity, check_params
from ..typing import ListLike, Matrix, Seed
from .forecast import Beliefs, Forecast, check_level, steps_ahead
from .linear_gaussian import covariance, roots
from .sequences import stacked
from .switching import (
    Model,
    Regimes,
    SwitchingFilter,
    apply,
    collapsed,
    expect,
    forecast,
    last_belief,
    maximise,
    regimes,
)

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
        Stop when a turn changes the mean log-likelihood of a row by no more.
    reg_covar : float, default=1e-9
        Added to the diagonal of learned covariances.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.
    verbose : int, default=0

    Attributes
    ----------
    startprob_, regime_matrix_ : arrays of shape (K,) and (K, K)
    last_ : Regimes
        Belief after the last training row, from where `forecast` goes on.
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
    initial_state_mean: Matrix | ListLike | None = None
    initial_state_covariance: Matrix | ListLike | None = None
    regime_matrix: Matrix | ListLike | None = None
    params: Letters = "stqr"
    n_iter: Count = 50
    tol: NonNegative = 1e-4
    reg_covar: NonNegative = 1e-9
    random_state: Seed = None
    verbose: Verbosity = 0

    def _first(self, X) -> Model:
        """The model as given, gaps filled from the data."""
        K, p = self.n_components, X.shape[1]
        H = self.observation_matrices
        k = p if H is None else np.shape(H)[-1]
        each = lambda name, shape, default: regimes(
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
        given = (
            A if self.regime_matrix is None else np.asarray(self.regime_matrix, float)
        )
        if given.shape != (K, K):
            raise ValueError(f"regime_matrix must have shape {(K, K)}.")
        model = Model(
            np.full(K, 1 / K),
            checked_probabilities(given, "regime_matrix"),
            each("transition_matrices", (k, k), np.eye(k)),
            each("transition_offsets", (k,), np.zeros(k)),
            each("transition_covariance", (k, k), spread),
            each("observation_matrices", (p, k), np.eye(p, k)),
            each("observation_offsets", (p,), np.zeros(p)),
            each("observation_covariance", (p, p), size * np.eye(p)),
            each("initial_state_mean", (k,), m),
            each("initial_state_covariance", (k, k), wide * np.eye(k)),
        )
        sure = lambda name, letter: covariance(
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
        X, ends = stacked(X, lengths)
        first = self._first(X)
        best: list[Any] = [-np.inf, first]

        def counted(model):
            stats, loglik = expect(model, X, ends)
            if loglik > best[0]:
                best[:] = loglik, model
            return (stats, model), loglik

        turn = lambda s: maximise(s[0], s[1], self.params, self.reg_covar)
        run = lambda task: em(
            counted,
            turn,
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
        self.last_ = last_belief(model, X[np.append(0, ends)[-2] :])
        return self

    def _model(self, X) -> Model:
        """The fitted model, or the given one before `fit`."""
        check_params(self)
        model = self._first(X)
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
        X, ends = stacked(X, lengths)
        model = self._model(X)
        member, prior = SwitchingFilter(model), Regimes(model.start, model.m, model.P)
        found, loglik = [], 0.0
        for begin, end in zip(np.r_[0, ends[:-1]], ends):
            run = bayes_filter(member, prior, X[begin:end])
            found += bayes_smoother(member, run) if smooth else run.filtered
            loglik += run.loglik
        whole = [collapsed(b.prob, b.mean, b.cov, 0) for b in found]
        return Beliefs(
            np.array([a for _, a, _ in whole]),
            np.array([P for _, _, P in whole]),
            loglik=loglik,
            regimes=np.array([b.prob for b in found]),
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
        """The likeliest regime of every step, (n,)."""
        return self.predict_proba(X, lengths).argmax(axis=1)

    def score(self, X, lengths=None) -> float:
        """Log-likelihood of the collapsed model."""
        return self.filter(X, lengths).loglik

    def forecast(self, n=1, X=None, *, level=0.95) -> Forecast:
        """What the n rows after X will be, or after the training data.

        Means and covariances are those of all regimes together; intervals take them
        for a normal.
        """
        n = steps_ahead(n)
        check_level(level)
        if X is None:
            check_is_fitted(self, "last_")
            model, belief = self._model(np.zeros((1, self.n_features_in_))), self.last_
        else:
            X, _ = stacked(X)
            model = self._model(X)
            belief = last_belief(model, X)
        return forecast(model, belief, n, level)

    def sample(self, n, random_state=None):
        """Observations (n, p), states (n, k) and regimes (n,)."""
        R = self.observation_covariance
        p = getattr(self, "n_features_in_", 1 if R is None else np.shape(R)[-1])
        model = self._model(np.zeros((1, p)))
        seed = self.random_state if random_state is None else random_state
        rng = make_rng(seed)
        k = model.m.shape[1]
        s, z = np.empty(n, int), np.empty((n, k))
        LQ, LR, LP = roots(model.Q), roots(model.R), roots(model.P)
        for t in range(n):
            law = model.A[s[t - 1]] if t else model.start
            s[t] = j = int(rng.choice(len(law), p=law / law.sum()))
            e = rng.standard_normal(k)
            if t:
                z[t] = model.F[j] @ z[t - 1] + model.c[j] + LQ[j] @ e
            else:
                z[t] = model.m[j] + LP[j] @ e
        noise = apply(LR[s], rng.standard_normal((n, p)))
        return apply(model.H[s], z) + model.d[s] + noise, z, s
