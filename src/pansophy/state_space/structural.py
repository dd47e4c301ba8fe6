"""Structural time series: level, trend, season, cycle and regressors, each with bands.

The components and the likelihood are in `structural_parts`; filter, smoother and
forecasts are those of `kalman_passes`. Here is the estimator: every column of X is a
series with components and variances of its own.

Cost      a step of BFGS is a filter and a smoother; see `kalman_passes`
Shapes    X (n, p), p series   exog (n, l)
Refs      [Harvey1989]; [DurbinKoopman2012]
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..base import Density, Estimator
from ..core import arrays
from ..core.iterate import Result, best_of
from ..core.rows import as_rows, is_dataset
from ..optim import bfgs
from ..params import Count, Flag, NonNegative, ParameterRule, Verbosity, number_rule
from .abstract_kalman import control_rows
from .forecast import Forecast, band, check_level, observed, steps_ahead
from .kalman_passes import run_filter, run_smoother
from .sequences import joined, sequence_ends
from .structural_parts import (
    Layout,
    Values,
    Vector,
    cycle,
    dummies,
    harmonics,
    level,
    model_of,
    objective,
    starts,
)

Period = Annotated[int, number_rule("a whole number of at least 2", 2, whole=True)]
Limits = Annotated[
    Any,
    ParameterRule(
        "a pair of periods, at least 2 and rising",
        lambda v: len(v) == 2 and 2 <= v[0] < v[1],
    ),
]
Kind = Literal["stochastic", "fixed"]


class Part(NamedTuple):
    """A component of each row and series, with the ends of its band."""

    mean: np.ndarray  # (n, p)
    low: np.ndarray
    high: np.ndarray


class Reached(NamedTuple):
    """The fits of all series."""

    columns: list  # of Result
    objective: float


@dataclass(eq=False, repr=False)
class StructuralTimeSeries(Density, Estimator):
    """A series as level, trend, season, cycle and regressors, learned by likelihood.

    Parameters
    ----------
    level : {"stochastic", "fixed"}, default="stochastic"
        Whether the level walks at random or stays.
    trend : {"stochastic", "fixed"} or None, default=None
        Slope of the level.
    seasonal : int or None, default=None
        Period of the season.
    seasonal_form : {"dummy", "trigonometric"}, default="dummy"
        A number for each season that sum to noise, or harmonics of the period.
    harmonics : int or None, default=None
        How many harmonics; None for all. Of the trigonometric form only.
    stochastic_seasonal : bool, default=True
        Whether the season changes over time.
    cycle : {"stochastic", "fixed"} or None, default=None
        A wave whose period is learned; a stochastic one is damped.
    cycle_period_bounds : pair of float, default=(2, 100)
        Shortest and longest period of the cycle, in rows.
    irregular : bool, default=True
        Whether there is noise in the observation itself.
    n_iter : int, default=200
        Most steps of BFGS, for each series and start.
    tol : float, default=1e-5
        BFGS stops when no derivative of the log-likelihood per row is larger.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    variances_ : dict of arrays of shape (p,)
        Of "irregular", "level", "trend", "seasonal", "cycle", as far as there are any.
    cycle_period_, cycle_damping_ : arrays of shape (p,)
        Where there is a cycle.
    coef_ : array of shape (p, l)
        Of the regressors.
    log_likelihood_ : float
        Exact diffuse log-likelihood of the training data, summed over series.
    n_iter_, converged_, history_ : int, bool, dict
        How the fit of the last series went.
    n_features_in_ : int
        p.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.state_space import StructuralTimeSeries
    >>> t = np.arange(40)
    >>> X = 10 + 0.5 * t + np.tile([3.0, -1.0, -4.0, 2.0], 10)
    >>> model = StructuralTimeSeries(trend="fixed", seasonal=4, level="fixed").fit(X)
    >>> model.forecast(4).mean.ravel().round(3)
    array([33. , 29.5, 27. , 33.5])
    """

    level: Kind = "stochastic"
    trend: Kind | None = None
    _: KW_ONLY
    seasonal: Period | None = None
    seasonal_form: Literal["dummy", "trigonometric"] = "dummy"
    harmonics: Count | None = None
    stochastic_seasonal: Flag = True
    cycle: Kind | None = None
    cycle_period_bounds: Limits = (2, 100)
    irregular: Flag = True
    n_iter: Count = 200
    tol: NonNegative = 1e-5
    verbose: Verbosity = False

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X, lengths=None, y=None, *, exog=None):
        """Learn the variances of every column by maximum likelihood.

        Parameters
        ----------
        X : array of shape (n, p) or (n,), list of arrays or grouped dataframe
            The series; NaN where a value is missing.
        lengths : array of int, optional
            Length of each sequence; None for a single one.
        y : None
            Ignored, there for scikit-learn's sake.
        exog : array of shape (n, l), optional
            Regressors.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        if np.abs(np.where(np.isnan(X), 0.0, X)).max() > 1e100:
            raise ValueError("X holds values above 1e100: scale it first.")
        exog = control_rows(exog, len(X), "exog")
        layout = self._layout(0 if exog is None else exog.shape[1])
        run = lambda task: self._learn(layout, X, ends, exog, task)
        result = self._run_driver(run, total=self.n_iter, X=X)
        found = [
            vector_of(layout, x).values(r.state.position)
            for x, r in zip(X.T, result.state.columns, strict=True)
        ]
        names = layout.variances
        self.variances_ = {
            n: np.array([values.variances[n] for values in found]) for n in names
        }
        if layout.has_cycle:
            self.cycle_period_ = np.array([2 * np.pi / v.frequency for v in found])
            self.cycle_damping_ = np.array([v.damping for v in found])
        self.n_exog_ = layout.n_exog
        runs = self._runs(X, ends, exog)
        self.log_likelihood_ = float(sum(run.logliks.sum() for run in runs))
        self.n_rows_ = int((~np.isnan(X)).sum())
        self.coef_ = np.array([run.mean[-1][layout.where("exog")] for run in runs])
        self._last = (X[: ends[0]] if len(ends) == 1 else X[ends[-2] :], exog)
        if exog is not None:
            self._last = (self._last[0], exog[-len(self._last[0]) :])
        return self

    def _learn(self, layout, X, ends, exog, task):
        results, stopped = [], False
        for x in X.T:
            vector = vector_of(layout, x)
            f = objective(vector, x[:, None].copy(), ends, exog)
            firsts = starts(vector) if len(layout.variances) else [np.empty(0)]
            # once the user has had enough, the series left take one step each
            firsts, most = (firsts[:1], 1) if stopped else (firsts, self.n_iter)

            def one(i, child, f=f, firsts=firsts, most=most):
                return bfgs(f, firsts[i], max_iter=most, tol=self.tol, task=child)

            results.append(best_of(len(firsts), one, task=task))
            stopped = stopped or results[-1].reason == "interrupted"
        last = results[-1]
        reasons = [r.reason for r in results if r.reason == "interrupted"]
        reached = Reached(results, sum(r.objective for r in results))
        return Result(
            reached, last.n_iter, (reasons or [last.reason])[0], last.history,
            sum(r.seconds for r in results),
        )  # fmt: skip

    def _layout(self, n_exog) -> Layout:
        if self.harmonics is not None and self.seasonal_form == "dummy":
            raise ValueError('harmonics need seasonal_form="trigonometric".')
        blocks = [level(self.level == "stochastic", self.trend)]
        if self.seasonal is not None and self.seasonal_form == "dummy":
            blocks.append(dummies(self.seasonal, self.stochastic_seasonal))
        elif self.seasonal is not None:
            part = harmonics(self.seasonal, self.harmonics, self.stochastic_seasonal)
            blocks.append(part)
        if self.cycle is not None:
            blocks.append(cycle(self.cycle == "stochastic"))
        damped, periods = self.cycle == "stochastic", tuple(self.cycle_period_bounds)
        return Layout(blocks, self.irregular, damped, periods, n_exog)

    def _sequences(self, X, lengths, *, reset=False):
        X, lengths = joined(X, lengths)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        X = (
            self._check_training_data(X, **check)[0]
            if reset
            else self._check_new_data(X, **check)
        )
        X = (
            as_rows(X).take(np.arange(X.shape[0]))
            if is_dataset(X)
            else arrays.to_numpy(X)
        )
        return X, sequence_ends(len(X), lengths)

    def _models(self, exog):
        """The chain of each series as fitted."""
        layout = self._layout(self.n_exog_)
        if (0 if exog is None else exog.shape[1]) != layout.n_exog:
            raise ValueError(
                f"the model was fitted with {layout.n_exog} regressors: exog must have "
                "as many columns."
            )
        for j in range(self.n_features_in_):
            variances = {n: float(v[j]) for n, v in self.variances_.items()}
            values = Values(variances)
            if layout.has_cycle:
                wave = 2 * np.pi / self.cycle_period_[j], self.cycle_damping_[j]
                values = Values(variances, *map(float, wave))
            yield model_of(layout, values, exog)

    def _runs(self, X, ends, exog):
        columns = zip(self._models(exog), X.T, strict=True)
        return [run_filter(model, x[:, None].copy(), ends) for model, x in columns]

    def _given(self, X, lengths, exog):
        X, ends = self._sequences(X, lengths)
        return self._runs(X, ends, control_rows(exog, len(X), "exog"))

    def score_samples(self, X, lengths=None, *, exog=None):
        """log p of each row given those before it, summed over series (n,)."""
        check_is_fitted(self)
        return sum(run.logliks for run in self._given(X, lengths, exog))

    def score(self, X, lengths=None, y=None, *, exog=None):
        """Total log-likelihood, exact diffuse; y is ignored."""
        return float(np.sum(self.score_samples(X, lengths, exog=exog)))

    def standardized_residuals(self, X, lengths=None, *, exog=None):
        """What the past did not tell, in standard deviations (n, p)."""
        return np.hstack([run.standardized for run in self._given(X, lengths, exog)])

    def components(self, X, lengths=None, *, exog=None, probability=0.95):
        """Every component given the whole series, with its band.

        Returns a dict of `Part`: "level", "trend", "seasonal", "cycle", "regression"
        as far as there are any, and "signal", their sum.
        """
        runs = self._given(X, lengths, exog)
        layout = self._layout(self.n_exog_)
        found: dict[str, list] = {}
        for run in runs:
            back = run_smoother(run)
            V = back.covs
            for name, H in weights(layout, run.model.H).items():
                mean = np.einsum("...k,tk->t...", H, back.mean) if H.ndim == 1 else (
                    (H * back.mean).sum(axis=1))  # fmt: skip
                H = np.broadcast_to(H, back.mean.shape)
                var = np.einsum("ti,tij,tj->t", H, np.where(np.isinf(V), 0, V), H)
                found.setdefault(name, []).append((mean, np.sqrt(np.maximum(var, 0))))
        out = {}
        for name, columns in found.items():
            mean, sd = (np.stack(a, axis=1) for a in zip(*columns, strict=True))
            out[name] = Part(mean, *band(mean, sd, probability))
        return out

    def forecast(self, n=1, X=None, *, exog=None, level=0.95) -> Forecast:
        """What the next n rows will be, after X or after the training data.

        `exog` has the regressors of the rows to come, after those of X if it is given.
        """
        check_is_fitted(self)
        n = steps_ahead(n)
        check_level(level)
        before, past = self._last
        if X is not None:
            before, past = self._sequences(X, None)[0], None
        extended = np.vstack([before, np.full((n, before.shape[1]), np.nan)])
        if exog is not None:
            exog = np.asarray(exog, dtype=float).reshape(-1, self.n_exog_)
            exog = exog if past is None else np.vstack([past, exog])
        u = control_rows(exog, len(extended), "exog")
        parts = []
        for run in self._runs(extended, np.array([len(extended)]), u):
            z, V, H = run.mean[-n:], run.covs[-n:], run.model.H
            H = H[-n:] if H.ndim == 3 else H
            parts.append((*observed(H, run.model.R, np.zeros(1), z, V), z, V))
        mean = np.hstack([p[0] for p in parts])
        S = np.zeros((n, len(parts), len(parts)))
        for j, p in enumerate(parts):
            S[:, j, j] = p[1][:, 0, 0]
        z, V = np.hstack([p[2] for p in parts]), np.stack([p[3] for p in parts], axis=1)
        return Forecast(mean, S, level, z, V)

    def _n_parameters(self):
        layout = self._layout(self.n_exog_)
        wave = (1 + layout.damped) * layout.has_cycle
        return self.n_features_in_ * (len(layout.variances) + wave + layout.k)

    def aic(self, X, lengths=None, *, exog=None):
        """Akaike information criterion; diffuse states count as parameters."""
        return -2 * self.score(X, lengths, exog=exog) + 2 * self._n_parameters()

    def bic(self, X, lengths=None, *, exog=None):
        """Bayesian information criterion."""
        n = int((~np.isnan(self._sequences(X, lengths)[0])).sum())
        penalty = self._n_parameters() * np.log(n)
        return -2 * self.score(X, lengths, exog=exog) + float(penalty)


def vector_of(layout, x) -> Vector:
    """The unit of a series is the deviation of its steps."""
    step, seen = np.diff(x), x[~np.isnan(x)]
    step = step[~np.isnan(step)]
    size = float(np.sqrt((seen**2).mean())) if len(seen) else 0.0
    unit = float(np.sqrt((step**2).mean())) if len(step) else 0.0
    unit = unit if unit > 1e-9 * size else size
    return Vector(layout, unit or 1.0, 1e-14 * (size or 1.0) ** 2)


def weights(layout, H) -> dict:
    """For each component, what of the state it is: (k,), or (n, k) for regressors."""
    whole = H[0] if H.ndim == 2 else H[:, 0]
    out = {}
    for b in layout.blocks:
        row = np.zeros(layout.k)
        row[layout.where(b.name)] = b.H
        out[b.name] = row
        if b.name == "level" and len(b.H) == 2:
            out["trend"] = np.eye(layout.k)[1]
    if layout.n_exog:
        mask = np.arange(layout.k) >= layout.k - layout.n_exog
        out["regression"] = whole * mask
    return out | {"signal": whole}
