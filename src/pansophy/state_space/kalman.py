"""Kalman filter and smoother: a hidden state that moves linearly, seen through noise.

    z_t = F z_t-1 + c + B u_t + q_t,   x_t = H z_t + d + D u_t + r_t              (1)

The model and one step of it are in `linear_gaussian`, whole series in
`kalman_passes`, the diffuse start in `diffuse`, learning in `kalman_learning` (EM)
and `kalman_likelihood` (maximum likelihood). Here are the methods that users call;
names are those of pykalman, so that its users change the import line.

Two models that everybody knows are members: F = I and Q = 0 is recursive least
squares with the rows of the design as time-varying H, and F = H = 1 is exponential
smoothing, once the gain has settled.

Cost      see `kalman_passes`
Shapes    X (n, p)   states (n, k)   control (n, l)
Refs      [Kalman1960]; [DurbinKoopman2012]; [Shumway1982]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal

import numpy as np

from ..base import Estimator
from ..core.em import em
from ..optim import bfgs, lbfgs
from ..params import Count, Flag, NonNegative, Number, ParameterRule, Verbosity
from ..typing import ListLike, Matrix, Seed
from .abstract_kalman import AbstractKalman, control_rows
from .kalman_learning import expect, maximise
from .kalman_likelihood import Vector, objective
from .kalman_parameters import BY_LETTER, NAMES, Parameters, guess, read, sizes

MatrixLike = Number | Matrix | ListLike | None
Learned = Annotated[
    Any,
    ParameterRule(
        f'"all", None or a list of names among {", ".join(NAMES)}',
        lambda v: (
            v is None
            or v == "all"
            or (isinstance(v, (list, tuple, set)) and set(v) <= set(NAMES))
        ),
    ),
]
MANY = 300  # unknowns from which the matrix of BFGS is not worth its price
USUAL = (
    "transition_covariance",
    "observation_covariance",
    "initial_state_mean",
    "initial_state_covariance",
)


def letters_of(names, start) -> str:
    """The letters of parameter names."""
    if names == "all":
        return "FQHRcd" + ("mP" if start == "known" else "")
    letters = "".join(NAMES[name][0] for name in names)
    if start != "known" and set(letters) & set("mP"):
        raise ValueError(
            f'start="{start}" leaves no initial_state_mean or covariance to learn.'
        )
    return letters


def refuse_moving(params, letters):
    """Only matrices that do not change with time can be learned."""
    moving = {"FQHR": 2, "cd": 1}
    for letter, ndim in ((x, d) for group, d in moving.items() for x in group):
        name = BY_LETTER[letter]
        if letter in letters and getattr(params, letter).ndim > ndim:
            raise ValueError(f"{name} changes with time and cannot be learned.")
    for pair, rest in (("Fc", "FcB"), ("Hd", "HdD")):
        some = any(x in letters for x in rest)
        for x, ndim in zip(pair, (2, 1), strict=True):
            if some and getattr(params, x).ndim > ndim:
                raise ValueError(
                    f"{BY_LETTER[x]} changes with time, so that what it is added to "
                    "cannot be learned."
                )


def attributes(params: Parameters) -> dict:
    """Fitted attributes by name."""
    return {f"{name}_": getattr(params, x) for name, (x, _, _) in NAMES.items()}


@dataclass(eq=False, repr=False)
class KalmanFilter(AbstractKalman, Estimator):
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
        Belief in the state of the first row, before it is seen; None is 0 and the
        identity, or comes from X where it is learned.
    random_state : int, RandomState, Generator or None, default=None
        Seed of `sample`.
    em_vars : list of str, "all" or None, default=None
        What `fit` learns, by parameter name; None is both covariances, and the first
        belief if `start` is "known".
    n_dim_state, n_dim_obs : int, default=None
        k and p where no array tells.
    control_matrices, observation_control_matrices : (k, l), (p, l), default=None
        B and D: what a control input adds to the state and to the observation.
    start : {"known", "diffuse", "stationary"}, default="known"
        Belief in the first state: as given; nothing known at all, treated exactly;
        or the stationary distribution of the transition.
    method : {"em", "ml"} or None, default="em"
        How `fit` learns: expectation-maximisation, maximum likelihood by BFGS with
        the exact gradient, or not at all.
    n_iter : int, default=100
        Most turns of EM, or steps of BFGS.
    tol : float, default=1e-3
        EM stops when a turn changes the log-likelihood per row by no more than this;
        BFGS when no derivative of it is larger.
    steady : bool, default=True
        Whether steps whose covariance has settled stop computing it.
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
        How the fit went; history_["objective"] is minus the log-likelihood per row.
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
    em_vars: Learned = None
    n_dim_state: Count | None = None
    n_dim_obs: Count | None = None
    _: KW_ONLY
    control_matrices: MatrixLike = None
    observation_control_matrices: MatrixLike = None
    start: Literal["known", "diffuse", "stationary"] = "known"
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
            Ignored, there for scikit-learn's sake.
        control : array of shape (n, l), optional
            Control input of each row.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        u = control_rows(control, len(X))
        letters = self._letters(u)
        given = {name: getattr(self, name) for name in NAMES}
        k = sizes(given, self.n_dim_state, self.n_dim_obs, X.shape[1])[0]
        if u is not None and given["control_matrices"] is None:
            given["control_matrices"] = np.zeros((k, u.shape[1]))
        if self.method is not None:
            learned = [name for name in NAMES if NAMES[name][0] in letters]
            given = guess(given, learned, X, np.append(0, ends[:-1]), k)
        first = self._checked(given, X.shape[1])
        params = first
        if self.method is None:
            self.n_iter_, self.history_ = 0, {"objective": np.empty(0)}
            self.converged_, self.interrupted_ = True, False
        else:
            refuse_moving(first, letters)
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
            lambda p: expect(p, X, ends, u, self.steady),
            lambda stats: maximise(stats, letters),
            first,
            n=len(X),
            max_iter=self.n_iter,
            tol=self.tol,
            task=task,
        )
        snapshot = lambda state: attributes(state.params)
        result = self._run_driver(run, total=self.n_iter, X=X, snapshot=snapshot)
        return result.state.params

    def _ml(self, first, letters, X, ends, u):
        vector = Vector(first, letters)
        f = objective(vector, X, ends, u, self.steady)
        v = vector.pack()
        solver = bfgs if len(v) <= MANY else lbfgs
        run = lambda task: solver(f, v, max_iter=self.n_iter, tol=self.tol, task=task)
        snapshot = lambda state: attributes(vector.unpack(state.position)[0])
        result = self._run_driver(run, total=self.n_iter, X=X, snapshot=snapshot)
        return vector.unpack(result.state.position)[0]

    def em(self, X, y=None, n_iter=10, em_vars=None):
        """Exactly n_iter turns of EM from where the matrices stand.

        What is learned is in `transition_matrices_` and so on, with an underscore.
        """
        X, ends = self._sequences(X, None, reset=not hasattr(self, "n_features_in_"))
        params = self._params(X.shape[1])
        letters = self._letters(None)
        letters = letters if em_vars is None else letters_of(em_vars, self.start)
        refuse_moving(params, letters)
        for _ in range(n_iter):
            params = maximise(expect(params, X, ends, None, self.steady)[0], letters)
        self.n_iter_ = n_iter
        return self._store(params, X, ends, None)

    def _store(self, params, X, ends, u):
        for name, value in attributes(params).items():
            setattr(self, name, value)
        run = self._checked_run(params, X, ends, u)
        self.log_likelihood_ = float(run.logliks.sum())
        self.last_state_mean_ = run.mean[-1]
        self.last_state_covariance_ = run.covs[-1]
        return self

    def _letters(self, u) -> str:
        """What is learned."""
        usual = USUAL if self.start == "known" else USUAL[:2]
        letters = letters_of(self.em_vars or usual, self.start)
        return letters + ("BD" if self.em_vars == "all" and u is not None else "")

    def _checked(self, given, columns=None):
        return read(
            given,
            n_state=self.n_dim_state,
            n_obs=self.n_dim_obs,
            columns=columns,
            start=self.start,
        )

    def _params(self, columns=None) -> Parameters:
        """The matrices as fitted, or as given where there was no fit."""
        fitted = hasattr(self, "transition_matrices_")
        given = {n: getattr(self, f"{n}_" if fitted else n) for n in NAMES}
        return self._checked(given, columns)
