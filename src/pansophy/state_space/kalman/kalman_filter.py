"""Kalman filter and smoother: a hidden state that moves linearly, observed with noise.

    z_t = F z_t-1 + c + B u_t + q_t,   x_t = H z_t + d + D u_t + r_t              (1)

The model and one step of it are in `linear_gaussian`, whole series in
`kalman_recursions`, the diffuse start in `kalman_diffuse`, EM and maximum likelihood in
`kalman_learning`. Names are those of pykalman, so that its users change the import line
only.

Two well-known methods are special cases: F = I and Q = 0 is recursive least
squares with the rows of the design as time-varying H, and F = H = 1 is exponential
smoothing, once the gain has converged.

Cost      see `kalman_recursions`
Shapes    X (n, p)   states (n, k)   control (n, l)
Refs      [Kalman1960]; [DurbinKoopman2012]; [Shumway1982]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np
from sklearn.utils.validation import check_array

from ...base import Density, Estimator
from ...core.arrays import arrays
from ...core.arrays.ragged import join_sequences, sequence_ends
from ...core.arrays.rows import rows_in_memory
from ...core.drivers.em import em
from ...core.random import make_rng
from ...optim import bfgs, lbfgs
from ...params import (
    Count,
    Flag,
    NonNegative,
    Number,
    ParameterRule,
    Verbosity,
    check_count,
)
from ...persist.saved_state import FloatArray, saved_state
from ...typing import NumericArray, Seed
from ..forecast import (
    Beliefs,
    Forecast,
    check_interval_level,
    observation_moments,
)
from .kalman_learning import (
    ParameterVector,
    kalman_e_step,
    kalman_m_step,
    kalman_objective,
)
from .kalman_parameters import (
    NAME_OF_LETTER,
    PARAMETERS,
    KalmanParameters,
    infer_sizes,
    initial_guess,
    read_parameters,
)
from .kalman_recursions import FilterPass, run_filter, run_smoother
from .linear_gaussian import (
    GaussianBelief,
    LinearGaussianFilter,
    at_time,
    simulate_linear_gaussian,
    steady_state,
)


def check_control(control, n, name="control"):
    """A control input (n, l), or None."""
    if control is None:
        return None
    u = np.asarray(control, dtype=float)
    u = u[:, None] if u.ndim == 1 else u
    if u.ndim != 2 or len(u) != n or not np.isfinite(u).all():
        raise ValueError(
            f"{name} must have a row of finite numbers for each of the {n} rows, got "
            f"shape {u.shape}."
        )
    return u


def _check_observation(x, model):
    """One observation (p,), NaN where it is masked."""
    x = np.ma.filled(np.ma.asarray(x, dtype=float), np.nan).reshape(-1)
    p = model.H.shape[-2]
    if len(x) != p or np.isinf(x).any():
        raise ValueError(f"an observation has {p} finite numbers or NaN, got {x}.")
    return x


MatrixLike = Number | NumericArray | None
LearnedNames = Annotated[
    Any,
    ParameterRule(
        f'"all", None or a list of names among {", ".join(PARAMETERS)}',
        lambda v: (
            v is None
            or v == "all"
            or (isinstance(v, (list, tuple, set)) and set(v) <= set(PARAMETERS))
        ),
    ),
]
MAX_BFGS_UNKNOWNS = 300  # unknowns from which the matrix of BFGS is not worth its price
DEFAULT_LEARNED = (
    "transition_covariance",
    "observation_covariance",
    "initial_state_mean",
    "initial_state_covariance",
)


def _parameter_letters(names, start) -> str:
    """The letters of parameter names."""
    if names == "all":
        return "FQHRcd" + ("mP" if start == "known" else "")
    letters = "".join(PARAMETERS[name][0] for name in names)
    if start != "known" and set(letters) & set("mP"):
        raise ValueError(
            f'start="{start}" leaves no initial_state_mean or covariance to learn.'
        )
    return letters


def _require_constant(params, letters):
    """Only matrices that do not change with time can be learned."""
    moving = {"FQHR": 2, "cd": 1}
    for letter, ndim in ((x, d) for group, d in moving.items() for x in group):
        name = NAME_OF_LETTER[letter]
        if letter in letters and getattr(params, letter).ndim > ndim:
            raise ValueError(f"{name} changes with time and cannot be learned.")
    for pair, rest in (("Fc", "FcB"), ("Hd", "HdD")):
        changes_in_time = any(x in letters for x in rest)
        for x, ndim in zip(pair, (2, 1), strict=True):
            if changes_in_time and getattr(params, x).ndim > ndim:
                raise ValueError(
                    f"{NAME_OF_LETTER[x]} changes with time, so that what it is added "
                    "to cannot be learned."
                )


def fitted_attributes(params: KalmanParameters) -> dict:
    """Fitted attributes by name."""
    return {f"{name}_": getattr(params, x) for name, (x, _, _) in PARAMETERS.items()}


@saved_state(
    transition_matrices_=FloatArray(..., "state", "state"),
    observation_matrices_=FloatArray(..., "n_features_in_", "state"),
    transition_covariance_=FloatArray(..., "state", "state"),
    observation_covariance_=FloatArray(..., "n_features_in_", "n_features_in_"),
    transition_offsets_=FloatArray(..., "state"),
    observation_offsets_=FloatArray(..., "n_features_in_"),
    initial_state_mean_=FloatArray("state"),
    initial_state_covariance_=FloatArray("state", "state"),
    control_matrices_=FloatArray(..., "state", "controls"),
    observation_control_matrices_=FloatArray(..., "n_features_in_", "controls"),
    last_state_mean_=FloatArray("state"),
    last_state_covariance_=FloatArray("state", "state"),
)
@dataclass(eq=False, repr=False)
class KalmanFilter(Density, Estimator):
    """Linear Gaussian state-space model: filter, smoother, forecasts and learning.

    Any array may have a leading time axis with an entry for each row of the data;
    those of the transition may have one entry less, see `kalman_parameters`. NaN in X
    is a missing observation. With the matrices given, `filter` and `smooth` need no
    `fit`. The default is a random walk seen through noise, one for each column.

    Parameters
    ----------
    transition_matrices : array of shape (k, k), default=None
        F; None is the identity. A number stands for that times the identity.
    observation_matrices : array of shape (p, k), default=None
        H; None is the identity.
    transition_covariance, observation_covariance : arrays (k, k), (p, p), default=None
        Q and R; None is the identity, or, where `fit` learns them, half the variance
        of a step of X.
    transition_offsets, observation_offsets : arrays (k,), (p,), default=None
        c and d; None is 0.
    initial_state_mean, initial_state_covariance : arrays (k,), (k, k), default=None
        Belief in the state of the first row, before it is seen, or in the state before
        that row if `start` is "previous"; None is 0 and the identity, or comes from X
        where it is learned.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.
    em_vars : list of str, "all" or None, default=None
        What `fit` learns, by parameter name; None is both covariances, and the first
        belief if `start` is "known".
    n_dim_state, n_dim_obs : int, default=None
        k and p where no array tells.
    control_matrices, observation_control_matrices : (k, l), (p, l), default=None
        B and D: what a control input adds to the state and to the observation.
    start : {"known", "previous", "diffuse", "stationary"}, default="known"
        Belief in the first state: as given; one prediction after a belief that is
        given (x_0 and P_0 of many textbooks, which filter by predict, update, predict,
        ...), where the transition cannot be learned; nothing known at all, treated
        exactly; or the stationary distribution of the transition.
    method : {"em", "ml"} or None, default="em"
        How `fit` learns: expectation-maximisation, maximum likelihood by BFGS with
        the exact gradient, or not at all.
    n_iter : int, default=100
        Greatest number of iterations of EM or BFGS.
    tol : float, default=1e-3
        EM stops when an iteration changes the log-likelihood per row by no more than
        this; BFGS when no derivative of it is larger.
    steady : bool, default=True
        Whether steps whose covariance has converged stop computing it.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    transition_matrices_, observation_matrices_, ... : arrays
        Every matrix parameter as fitted.
    log_likelihood_ : float
        Log-likelihood of the training data.
    last_state_mean_, last_state_covariance_ : arrays (k,), (k, k)
        Belief after the last training row, from where `forecast` goes on.
    n_iter_, converged_, history_ : int, bool, dict
        Convergence of the fit; history_["objective"] is minus the log-likelihood per
        row.
    n_features_in_ : int
        p.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import KalmanFilter
    >>> model = KalmanFilter(
    ...     transition_covariance=0.1, observation_covariance=0.5,
    ...     initial_state_mean=[0.0], initial_state_covariance=[[1.1]],
    ... )
    >>> means, covs = model.filter([[1.0], [0.5], [np.nan]])
    >>> means.ravel().round(6), covs.ravel().round(6)
    (array([0.6875  , 0.599338, 0.599338]), array([0.34375 , 0.235099, 0.335099]))

    The same from x_0 = 0 and P_0 = 1, one step before the first row:

    >>> model = KalmanFilter(
    ...     transition_covariance=0.1, observation_covariance=0.5,
    ...     initial_state_mean=[0.0], initial_state_covariance=1.0, start="previous",
    ... )
    >>> model.gains([[1.0], [0.5]]).ravel().round(6)
    array([0.6875  , 0.470199])
    """

    transition_matrices: MatrixLike = None
    observation_matrices: MatrixLike = None
    transition_covariance: MatrixLike = None
    observation_covariance: MatrixLike = None
    transition_offsets: MatrixLike = None
    observation_offsets: MatrixLike = None
    initial_state_mean: MatrixLike = None
    initial_state_covariance: MatrixLike = None
    random_state: Seed = None
    em_vars: LearnedNames = None
    n_dim_state: Count | None = None
    n_dim_obs: Count | None = None
    _: KW_ONLY
    control_matrices: MatrixLike = None
    observation_control_matrices: MatrixLike = None
    start: Literal["known", "previous", "diffuse", "stationary"] = "known"
    method: Literal["em", "ml"] | None = "em"
    n_iter: Count = 100
    tol: NonNegative = 1e-3
    steady: Flag = True
    verbose: Verbosity = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, lengths=None, y=None, *, control=None):
        """Learn what `em_vars` names, by `method`.

        Parameters
        ----------
        X : array of shape (n, p) or (n,), list of arrays or grouped dataframe
            Observations, sequences one after the other; NaN where one is missing.
        lengths : array of int, optional
            Length of each sequence; None for a single one.
        y : None
            Ignored; present for compatibility with scikit-learn.
        control : array of shape (n, l), optional
            Control input of each row.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        u = check_control(control, len(X))
        letters = self._letters(u)
        self._check_previous_start(ends, u, letters)
        matrices = {name: getattr(self, name) for name in PARAMETERS}
        k = infer_sizes(matrices, self.n_dim_state, self.n_dim_obs, X.shape[1])[0]
        if u is not None and matrices["control_matrices"] is None:
            matrices["control_matrices"] = np.zeros((k, u.shape[1]))
        if self.method is not None:
            learned = [name for name in PARAMETERS if PARAMETERS[name][0] in letters]
            matrices = initial_guess(matrices, learned, X, np.append(0, ends[:-1]), k)
        first = self._checked(matrices, X.shape[1])
        params = first
        if self.method is None:
            self.n_iter_ = 0
            self.history_ = {"objective": np.empty(0)}
            self.converged_, self.interrupted_ = True, False
        else:
            _require_constant(first, letters)
            run = self._em if self.method == "em" else self._ml
            params = run(first, letters, X, ends, u)
        return self._store(params, X, ends, u)

    def _em(self, first, letters, X, ends, u):
        if first.start == "stationary":
            raise ValueError(
                'method="em" cannot learn a chain whose start is "stationary", since '
                'the start moves with the matrices: use method="ml".'
            )
        run = lambda task: em(
            lambda p: kalman_e_step(p, X, ends, u, self.steady),
            lambda stats: kalman_m_step(stats, letters),
            first,
            n=len(X),
            max_iter=self.n_iter,
            tol=self.tol,
            task=task,
        )
        snapshot = lambda state: fitted_attributes(state.params)
        result = self._run_driver(run, total=self.n_iter, X=X, snapshot=snapshot)
        return result.state.params

    def _ml(self, first, letters, X, ends, u):
        vector = ParameterVector(first, letters)
        f = kalman_objective(vector, X, ends, u, self.steady)
        v = vector.pack()
        solver = bfgs if len(v) <= MAX_BFGS_UNKNOWNS else lbfgs
        run = lambda task: solver(f, v, max_iter=self.n_iter, tol=self.tol, task=task)
        snapshot = lambda state: fitted_attributes(vector.unpack(state.position)[0])
        result = self._run_driver(run, total=self.n_iter, X=X, snapshot=snapshot)
        return vector.unpack(result.state.position)[0]

    def em(self, X, y=None, n_iter=10, em_vars=None):
        """Exactly n_iter iterations of EM from where the matrices stand.

        What is learned is in `transition_matrices_` and so on, with an underscore.
        """
        X, ends = self._sequences(X, None, reset=not hasattr(self, "n_features_in_"))
        params = self._params(X.shape[1])
        letters = self._letters(None)
        letters = (
            letters if em_vars is None else _parameter_letters(em_vars, self.start)
        )
        _require_constant(params, letters)
        for _ in range(n_iter):
            params = kalman_m_step(
                kalman_e_step(params, X, ends, None, self.steady)[0], letters
            )
        self.n_iter_ = n_iter
        return self._store(params, X, ends, None)

    def _store(self, params, X, ends, u):
        for name, value in fitted_attributes(params).items():
            setattr(self, name, value)
        run = self._checked_run(params, X, ends, u)
        self.log_likelihood_ = float(run.logliks.sum())
        self.last_state_mean_ = run.mean[-1]
        self.last_state_covariance_ = run.covs[-1]
        return self

    def _letters(self, u) -> str:
        """Letters of the parameters that are learned."""
        usual = DEFAULT_LEARNED if self.start == "known" else DEFAULT_LEARNED[:2]
        letters = _parameter_letters(self.em_vars or usual, self.start)
        return letters + ("BD" if self.em_vars == "all" and u is not None else "")

    def _checked(self, given, columns=None):
        return read_parameters(
            given,
            n_state=self.n_dim_state,
            n_obs=self.n_dim_obs,
            columns=columns,
            start=self.start,
        )

    def _params(self, columns=None) -> KalmanParameters:
        """The matrices as fitted, or as given where there was no fit."""
        fitted = hasattr(self, "transition_matrices_")
        matrices = {n: getattr(self, f"{n}_" if fitted else n) for n in PARAMETERS}
        return self._checked(matrices, columns)

    def _sequences(self, X, lengths, *, reset=False):
        """Checked X (n, p) in floating point, and where the sequences end."""
        X, lengths = join_sequences(X, lengths)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        if reset:
            X, _ = self._check_training_data(X, **check)
        elif hasattr(self, "n_features_in_"):
            X = self._check_new_data(X, **check)
        else:
            X = check_array(arrays.to_numpy(X), **check)
        X = arrays.to_numpy(rows_in_memory(X))
        return X, sequence_ends(len(X), lengths)

    def _check_previous_start(self, ends, u, letters=""):
        """Refuse what start="previous" cannot do."""
        if self.start != "previous":
            return
        if self.method is not None and set(letters) & set("FQcB"):
            raise ValueError(
                'start="previous" makes the first belief depend on the transition, '
                'which then cannot be learned: use start="known", method=None, or name '
                "other em_vars."
            )
        if u is not None and len(ends) > 1:
            raise ValueError('start="previous" takes a control of one sequence only.')

    def _checked_run(self, params, X, ends, u) -> FilterPass:
        self._check_previous_start(ends, u)
        run = run_filter(params.model(len(X), u), X, ends, steady=self.steady)
        last = run.cov[run.slot[run.ends - 1]]
        if not np.isfinite(run.mean.sum() + run.logliks.max() + last.sum()):
            bad = ~np.isfinite(run.mean).all(axis=1) | np.isnan(run.logliks)
            bad |= ~np.isfinite(run.cov[run.slot]).all(axis=(1, 2))
            raise ValueError(
                f"the belief in the state overflows at row {int(bad.argmax())}: "
                "transition_matrices let an unseen part of it grow without limit."
            )
        return run

    def _run(self, X, lengths, control):
        X, ends = self._sequences(X, lengths)
        u = check_control(control, len(X))
        return self._checked_run(self._params(X.shape[1]), X, ends, u)

    def filter(self, X, lengths=None, *, control=None):
        """Belief in the state of each row given the rows up to it: means, covs.

        Where a long series has covariances that converge, and written out they would
        take more than 4 MB, covs is a `RepeatedArray`: each is kept once, it reads
        like an array (indexing, arithmetic, functions of NumPy) but cannot be written
        to, and `numpy.array(covs)` is a plain one. The same holds for `smooth`.
        """
        run = self._run(X, lengths, control)
        return Beliefs(run.mean, run.covs, loglik=run.loglik)

    def gains(self, X, lengths=None, *, control=None):
        """Kalman gains (n, k, p): what an error of each observed number adds to the
        state; 0 for numbers that are missing."""
        run = self._run(X, lengths, control)
        model = run.model
        if model.diffuse is not None:
            raise ValueError('a start="diffuse" has no gain in its first rows.')
        X, ends = self._sequences(X, lengths)
        first = np.zeros(len(X), bool)
        first[np.r_[0, ends[:-1]]] = True
        seen = ~np.isnan(X)
        covs = run.covs
        K = np.zeros((len(X), covs.shape[-1], X.shape[1]))
        for t in range(len(X)):
            F, Q, H, R = (at_time(getattr(model, x), t, 2) for x in "FQHR")
            V = model.P if first[t] else F @ np.asarray(covs[t - 1]) @ F.T + Q
            H, R = H[seen[t]], R[np.ix_(seen[t], seen[t])]
            if len(H):
                K[t][:, seen[t]] = np.linalg.solve(H @ V @ H.T + R, H @ V).T
        return K

    def smooth(self, X, lengths=None, *, control=None):
        """Belief in the state of each row given its whole sequence: means, covs.

        covs of a long series may be a `RepeatedArray`, see `filter`.
        """
        return self.filter_smooth(X, lengths, control=control)[1]

    def filter_smooth(self, X, lengths=None, *, control=None):
        """Results of `filter` and `smooth`, for the price of the second."""
        run = self._run(X, lengths, control)
        back = run_smoother(run)
        filtered = Beliefs(run.mean, run.covs, loglik=run.loglik)
        return filtered, Beliefs(back.mean, back.covs, loglik=run.loglik)

    def score_samples(self, X, lengths=None, *, control=None):
        """log p of each row given those before it (n,)."""
        return self._run(X, lengths, control).logliks

    def score(self, X, lengths=None, y=None, *, control=None):
        """Total log-likelihood of the sequences; y is ignored."""
        return float(self.score_samples(X, lengths, control=control).sum())

    def loglikelihood(self, X):
        """Log likelihood of X, an alias of `score`."""
        return self.score(X)

    def standardized_residuals(self, X, lengths=None, *, control=None):
        """Standardised one-step prediction errors: independent Normal(0, 1) numbers.

        Rows of the diffuse phase and missing entries are NaN.
        """
        return self._run(X, lengths, control).standardized

    def update(self, belief=None, x=None, *, control=None) -> GaussianBelief:
        """One step online: the belief after the next row x, None if it is missing.

        Without a belief, x is the first row of a sequence.
        """
        u = None if control is None else np.asarray(control, dtype=float).reshape(1, -1)
        t = 0 if belief is None else belief.t + 1
        params = self._params()
        model = params.model(t + 1, None if u is None else np.repeat(u, t + 1, axis=0))
        if model.diffuse is not None:
            raise ValueError(
                "update needs a proper belief to start from: filter the first rows."
            )
        step = LinearGaussianFilter(model)
        start = (
            GaussianBelief(model.m, model.P) if belief is None else step.predict(belief)
        )
        if x is None:
            return start
        return step.update(start, _check_observation(x, model))[0]

    def filter_update(
        self,
        filtered_state_mean,
        filtered_state_covariance,
        observation=None,
        transition_matrix=None,
        transition_offset=None,
        transition_covariance=None,
        observation_matrix=None,
        observation_offset=None,
        observation_covariance=None,
    ):
        """One step online from a mean and a covariance; matrices of this step, if any.

        Returns the next mean and covariance.
        """
        step_matrices = {
            "transition_matrices": transition_matrix,
            "transition_offsets": transition_offset,
            "transition_covariance": transition_covariance,
            "observation_matrices": observation_matrix,
            "observation_offsets": observation_offset,
            "observation_covariance": observation_covariance,
        }
        params = self._params()
        current = {name: getattr(params, PARAMETERS[name][0]) for name in PARAMETERS}
        current |= {
            name: value for name, value in step_matrices.items() if value is not None
        }
        model = read_parameters(current).model(2)
        belief = GaussianBelief(
            np.asarray(filtered_state_mean, dtype=float),
            np.asarray(filtered_state_covariance, dtype=float),
        )
        new = LinearGaussianFilter(model).predict(belief)
        if observation is not None and observation is not np.ma.masked:
            new, _ = LinearGaussianFilter(model).update(
                new, _check_observation(observation, model)
            )
        return Beliefs(new.mean, new.cov)

    def forecast(self, n=1, X=None, *, level=0.95, control=None) -> Forecast:
        """Forecast the next n rows, after X or after the training data.

        `control` has the inputs of the rows of X and of the n to come.
        """
        n = check_count("n", n)
        check_interval_level(level)
        if X is None and not hasattr(self, "last_state_mean_"):
            raise ValueError("forecast needs X, or a model that was fitted.")
        past = np.empty((0, self._params().H.shape[-2]))
        past = past if X is None else self._sequences(X, None)[0]
        params = self._params(past.shape[1])
        rows = np.vstack([past, np.full((n + (X is None), past.shape[1]), np.nan)])
        u = None
        if control is not None:
            u = np.asarray(control, dtype=float).reshape(len(past) + n, -1)
            u = u if X is not None else np.vstack([u[:1], u])
        if X is None:
            last = {"m": self.last_state_mean_, "P": self.last_state_covariance_}
            params = params._replace(start="known", **last)
        run = self._checked_run(params, rows, np.array([len(rows)]), u)
        z = run.mean[-n:]
        V = run.covs[-n:]
        model = run.model
        last = np.arange(len(rows) - n, len(rows))
        H, R, d = (
            at_time(model.H, last, 2),
            at_time(model.R, last, 2),
            at_time(model.d, last, 1),
        )
        mean, S = observation_moments(H, R, d, z, V)
        return Forecast(mean, S, level, z, V)

    def sample(self, n_timesteps=1, initial_state=None, random_state=None, *,
               control=None):  # fmt: skip
        """States (n, k) and observations (n, p) drawn from the model."""
        n_timesteps = check_count("n_timesteps", n_timesteps)
        seed = self.random_state if random_state is None else random_state
        u = check_control(control, n_timesteps)
        model = self._params().model(n_timesteps, u)
        return simulate_linear_gaussian(
            model, n_timesteps, make_rng(seed), initial_state
        )

    def steady_state(self):
        """Limits of the gain and the covariances, by the Riccati equation."""
        return steady_state(self._params().model(1))
