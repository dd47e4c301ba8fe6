"""What every linear Gaussian chain does once its matrices are known.

A final class says what the matrices are (`_params`); here are sequences in their
various forms, and the methods that users call: filter, smoother, likelihood, one
step online, forecasts, draws.

Shapes    X (n, p) all sequences one after the other, ends (s,) where each ends
"""

from abc import abstractmethod

import numpy as np
from sklearn.utils.validation import check_array

from ..base import Density, Estimator
from ..core import arrays
from ..core.random import make_rng
from ..core.rows import as_rows, is_dataset
from .forecast import Beliefs, Forecast, check_level, observed, steps_ahead
from .kalman_parameters import NAMES, Parameters, read
from .kalman_passes import Forward, run_filter, run_smoother
from .linear_gaussian import Belief, Kalman, at, simulate, steady_state
from .sequences import joined, sequence_ends


def control_rows(control, n, name="control"):
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


def one_row(x, model):
    """One observation (p,), NaN where it is masked."""
    x = np.ma.filled(np.ma.asarray(x, dtype=float), np.nan).reshape(-1)
    p = model.H.shape[-2]
    if len(x) != p or np.isinf(x).any():
        raise ValueError(f"an observation has {p} finite numbers or NaN, got {x}.")
    return x


class AbstractKalman(Density, Estimator):
    """Filter, smoother and forecasts of a chain whose matrices `_params` gives."""

    @abstractmethod
    def _params(self, columns=None) -> Parameters:
        """The matrices as fitted, or as given where there was no fit."""

    def _sequences(self, X, lengths, *, reset=False):
        """Checked X (n, p) in floating point, and where the sequences end."""
        X, lengths = joined(X, lengths)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        if reset:
            X, _ = self._check_training_data(X, **check)
        elif hasattr(self, "n_features_in_"):
            X = self._check_new_data(X, **check)
        else:
            X = check_array(arrays.to_numpy(X), **check)
        X = (
            as_rows(X).take(np.arange(X.shape[0]))
            if is_dataset(X)
            else arrays.to_numpy(X)
        )
        return X, sequence_ends(len(X), lengths)

    def _checked_run(self, params, X, ends, u) -> Forward:
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
        u = control_rows(control, len(X))
        return self._checked_run(self._params(X.shape[1]), X, ends, u)

    def filter(self, X, lengths=None, *, control=None):
        """Belief in the state of each row given the rows up to it: means, covs.

        Where a long series has covariances that settle, and written out they would take
        more than 4 MB, covs is a `Repeated`: each is kept once, it reads like an array
        (indexing, arithmetic, functions of NumPy) but cannot be written to, and
        `numpy.array(covs)` is a plain one. The same holds for `smooth`.
        """
        run = self._run(X, lengths, control)
        return Beliefs(run.mean, run.covs, loglik=run.loglik)

    def smooth(self, X, lengths=None, *, control=None):
        """Belief in the state of each row given its whole sequence: means, covs.

        covs of a long series may be a `Repeated`, see `filter`.
        """
        return self.filter_smooth(X, lengths, control=control)[1]

    def filter_smooth(self, X, lengths=None, *, control=None):
        """What `filter` and `smooth` give, for the price of the second."""
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
        """The same as `score`."""
        return self.score(X)

    def standardized_residuals(self, X, lengths=None, *, control=None):
        """What the past did not tell of each row, as independent Normal(0, 1) numbers.

        Rows of the diffuse phase and missing entries are NaN.
        """
        return self._run(X, lengths, control).standardized

    def update(self, belief=None, x=None, *, control=None) -> Belief:
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
        step = Kalman(model)
        start = Belief(model.m, model.P) if belief is None else step.predict(belief)
        if x is None:
            return start
        return step.update(start, one_row(x, model))[0]

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
        own = {
            "transition_matrices": transition_matrix,
            "transition_offsets": transition_offset,
            "transition_covariance": transition_covariance,
            "observation_matrices": observation_matrix,
            "observation_offsets": observation_offset,
            "observation_covariance": observation_covariance,
        }
        params = self._params()
        now = {name: getattr(params, NAMES[name][0]) for name in NAMES}
        now |= {name: value for name, value in own.items() if value is not None}
        model = read(now).model(2)
        belief = Belief(
            np.asarray(filtered_state_mean, dtype=float),
            np.asarray(filtered_state_covariance, dtype=float),
        )
        new = Kalman(model).predict(belief)
        if observation is not None and observation is not np.ma.masked:
            new, _ = Kalman(model).update(new, one_row(observation, model))
        return Beliefs(new.mean, new.cov)

    def forecast(self, n=1, X=None, *, level=0.95, control=None) -> Forecast:
        """What the next n rows will be, after X or after the training data.

        `control` has the inputs of the rows of X and of the n to come.
        """
        n = steps_ahead(n)
        check_level(level)
        if X is None and not hasattr(self, "last_state_mean_"):
            raise ValueError("forecast needs X, or a model that was fitted.")
        before = np.empty((0, self._params().H.shape[-2]))
        before = before if X is None else self._sequences(X, None)[0]
        params = self._params(before.shape[1])
        rows = np.vstack([before, np.full((n + (X is None), before.shape[1]), np.nan)])
        u = None
        if control is not None:
            u = np.asarray(control, dtype=float).reshape(len(before) + n, -1)
            u = u if X is not None else np.vstack([u[:1], u])
        if X is None:
            last = {"m": self.last_state_mean_, "P": self.last_state_covariance_}
            params = params._replace(start="known", **last)
        run = self._checked_run(params, rows, np.array([len(rows)]), u)
        z, V, model = run.mean[-n:], run.covs[-n:], run.model
        last = np.arange(len(rows) - n, len(rows))
        H, R, d = at(model.H, last, 2), at(model.R, last, 2), at(model.d, last, 1)
        mean, S = observed(H, R, d, z, V)
        return Forecast(mean, S, level, z, V)

    def sample(self, n_timesteps=1, initial_state=None, random_state=None, *,
               control=None):  # fmt: skip
        """States (n, k) and observations (n, p) drawn from the model."""
        if n_timesteps < 1:
            raise ValueError(f"n_timesteps must be at least 1, got {n_timesteps}.")
        seed = self.random_state if random_state is None else random_state
        u = control_rows(control, n_timesteps)
        model = self._params().model(n_timesteps, u)
        return simulate(model, n_timesteps, make_rng(seed), initial_state)

    def steady_state(self):
        """Gain and covariances that the filter settles at, by the Riccati equation."""
        return steady_state(self._params().model(1))
