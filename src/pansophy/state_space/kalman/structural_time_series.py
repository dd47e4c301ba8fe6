"""Structural time series: a series as the sum of components, each a small chain.

    y_t = level_t + season_t + cycle_t + x_t'b + e_t,    e_t ~ Normal(0, s_e)      (1)
    level_t+1 = level_t + trend_t + Normal(0, s_l)
    trend_t+1 = trend_t + Normal(0, s_t)
    season_t+1 = -(season_t + ... + season_t-s+2) + Normal(0, s_s)       dummies   (2)
    (g, g*)_t+1 = rot(2 pi j / s) (g, g*)_t + Normal(0, s_s I)          harmonics (3)
    (c, c*)_t+1 = rho rot(w) (c, c*)_t + Normal(0, s_c I)               cycle     (4)

where rot(w) is the rotation by the angle w; the season of (3) is the sum of g over the
harmonics j. Together they are one linear Gaussian chain with blocks on the diagonal,
in which coefficients b are states that stay as they are. All start diffuse, but for a
damped cycle (rho < 1), which has a stationary start of variance s_c / (1 - rho^2).

The variances s, w and rho maximise the diffuse likelihood. In v they are roots of
variances in units of the series, so that a variance may be 0, and logits:

    d log p / ds = sum over the block of (d/dQ)_ii,  d/dw = <d/dF, dF/dw>          (5)

Filter, smoother and forecasts are those of `kalman_recursions`. Every column of X is a
series with components and variances of its own.

Cost      a step of BFGS is one filter and one smoother pass
Shapes    X (n, p), p series   exog (n, l)
Refs      [Harvey1989]; [DurbinKoopman2012] ch. 3
"""

from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import expit, logit
from sklearn.utils.validation import check_is_fitted

from ...base import Density, Estimator
from ...core.arrays import arrays
from ...core.arrays.ragged import join_sequences, sequence_ends
from ...core.arrays.rows import rows_in_memory
from ...core.drivers.iterate import Result, best_of
from ...core.information_criteria import aic, bic
from ...optim import bfgs
from ...params import (
    Count,
    Flag,
    NonNegative,
    ParameterRule,
    TwoOrMore,
    Verbosity,
    check_count,
)
from ...persist.saved_state import FloatArray, Whole, saved_state
from ..forecast import (
    Forecast,
    check_interval_level,
    normal_interval,
    observation_moments,
)
from .kalman_filter import check_control
from .kalman_learning import (
    gradient_by_covariance,
    gradient_by_noise,
    gradient_by_transition,
    rows_after_first,
)
from .kalman_recursions import run_filter, run_smoother
from .linear_gaussian import LinearGaussianModel


class Component(NamedTuple):
    """A component: its chain, what of it is seen, and which states have which noise."""

    name: str
    F: np.ndarray
    H: np.ndarray
    noise: dict  # name of a variance -> states that have it


def rotation(w):
    """Rotation by an angle."""
    return np.array([[np.cos(w), np.sin(w)], [-np.sin(w), np.cos(w)]])


def level_component(stochastic: bool, trend: str | None) -> Component:
    noise = {"level": [0]} if stochastic else {}
    if trend is None:
        return Component("level", np.eye(1), np.ones(1), noise)
    noise |= {"trend": [1]} if trend == "stochastic" else {}
    return Component("level", np.array([[1.0, 1.0], [0, 1]]), np.array([1.0, 0]), noise)


def _dummy_seasonal(period: int, stochastic: bool) -> Component:
    """Eq. (2)."""
    F = np.eye(period - 1, k=-1)
    F[0] = -1.0
    H = np.eye(period - 1)[0]
    return Component("seasonal", F, H, {"seasonal": [0]} if stochastic else {})


def _trigonometric_seasonal(
    period: int, number: int | None, stochastic: bool
) -> Component:
    """Eq. (3); the last harmonic of an even period has one state."""
    n_harmonics = period // 2
    if number is not None and number > n_harmonics:
        raise ValueError(
            f"a period of {period} has {n_harmonics} harmonics, not {number}."
        )
    blocks, seen = [], []
    for j in range(1, (number or n_harmonics) + 1):
        half = 2 * j == period
        blocks.append(np.array([[-1.0]]) if half else rotation(2 * np.pi * j / period))
        seen += [1.0] if half else [1.0, 0.0]
    F = scipy.linalg.block_diag(*blocks)
    noise = {"seasonal": list(range(len(F)))} if stochastic else {}
    return Component("seasonal", F, np.array(seen), noise)


def cycle_component(stochastic: bool) -> Component:
    noise = {"cycle": [0, 1]} if stochastic else {}
    return Component("cycle", np.eye(2), np.array([1.0, 0.0]), noise)


class ComponentLayout(NamedTuple):
    """The whole chain: blocks, and where each begins."""

    blocks: list
    irregular: bool
    damped: bool
    periods: tuple  # shortest and longest period of the cycle
    n_exog: int

    @property
    def k(self) -> int:
        return sum(len(b.H) for b in self.blocks) + self.n_exog

    def where(self, name) -> slice:
        """The states of a component."""
        begin = 0
        for b in self.blocks:
            if b.name == name:
                return slice(begin, begin + len(b.H))
            begin += len(b.H)
        return slice(begin, self.k)  # coefficients

    @property
    def variances(self) -> dict:
        """States that have the noise of each variance; none for the irregular."""
        states_by_name = {"irregular": []} if self.irregular else {}
        for b in self.blocks:
            begin = self.where(b.name).start
            states_by_name |= {
                name: [begin + i for i in rows] for name, rows in b.noise.items()
            }
        return states_by_name

    @property
    def has_cycle(self) -> bool:
        return any(b.name == "cycle" for b in self.blocks)


class LearnedValues(NamedTuple):
    """The numbers that are learned for one series."""

    variances: dict
    frequency: float = 0.0  # w of the cycle
    damping: float = 1.0  # rho


def _structural_model(
    layout: ComponentLayout, values: LearnedValues, exog=None
) -> LinearGaussianModel:
    """The chain of eq. (1) to (4)."""
    k = layout.k
    F = scipy.linalg.block_diag(*(b.F for b in layout.blocks), np.eye(layout.n_exog))
    if layout.has_cycle:
        cycle = layout.where("cycle")
        F[cycle, cycle] = values.damping * rotation(values.frequency)
    Q = np.zeros((k, k))
    for name, states in layout.variances.items():
        Q[states, states] = values.variances[name]
    H = np.concatenate([*(b.H for b in layout.blocks), np.zeros(layout.n_exog)])[None]
    if layout.n_exog and exog is not None:
        H = np.repeat(H[None], len(exog), axis=0)
        H[:, 0, k - layout.n_exog :] = exog
    R = np.array([[values.variances.get("irregular", 0.0)]])
    zero = np.zeros(k)
    P = np.zeros((k, k))
    free = np.eye(k)
    if layout.damped:
        cycle = layout.where("cycle")
        free[cycle, cycle] = 0.0
        P[cycle, cycle] = Q[cycle, cycle] / (1 - values.damping**2)
    return LinearGaussianModel(F, Q, H, R, zero, np.zeros(1), zero, P, free)


class VarianceVector(NamedTuple):
    """Values to and from the vector v that the solver moves."""

    layout: ComponentLayout
    unit: float  # standard deviation that stands for 1
    floor: float  # of the first variance, so that a perfect fit has a likelihood

    def first(self):
        n = len(self.layout.variances)
        v = np.full(n, 0.3)
        v[:1] = 0.7
        cycle = [0.0, 2.0][: 1 + self.layout.damped] if self.layout.has_cycle else []
        return np.concatenate([v, cycle])

    def values(self, v) -> LearnedValues:
        names = list(self.layout.variances)
        s = (v[: len(names)] * self.unit) ** 2
        s[:1] += self.floor
        variances = {name: float(x) for name, x in zip(names, s, strict=True)}
        if not self.layout.has_cycle:
            return LearnedValues(variances)
        low, high = self.angles
        w = low + (high - low) * expit(v[len(names)])
        rho = min(expit(v[-1]), 1 - 1e-9) if self.layout.damped else 1.0
        return LearnedValues(variances, float(w), float(rho))

    @property
    def angles(self):
        short, long = self.layout.periods
        return (0.0 if np.isinf(long) else 2 * np.pi / long), 2 * np.pi / short

    def slope(self, v, values, back):
        """Eq. (5)."""
        run = back.forward
        rho = values.damping
        G = np.diag(gradient_by_covariance(back, rows_after_first(run))).copy()
        names = self.layout.variances
        slopes = []
        GP = np.zeros(0)
        if self.layout.damped:
            cycle = self.layout.where("cycle")
            GP = np.diag(gradient_by_covariance(back, np.append(0, run.ends[:-1])))[
                cycle
            ]
            G[cycle] += GP / (1 - rho**2)
        for x, (name, states) in zip(v, names.items(), strict=False):
            g = gradient_by_noise(back) if name == "irregular" else G[states].sum()
            slopes.append(2 * g * x * self.unit**2)
        if self.layout.has_cycle:
            cycle = self.layout.where("cycle")
            GF = gradient_by_transition(back)[cycle, cycle]
            (low, high) = self.angles
            p = expit(v[len(names)])
            w = values.frequency
            by_w = rho * rotation(w + np.pi / 2)  # the derivative of a rotation
            slopes.append((GF * by_w).sum() * (high - low) * p * (1 - p))
            if self.layout.damped:
                wide = 2 * rho * values.variances["cycle"] / (1 - rho**2) ** 2
                slope = (GF * rotation(w)).sum() + GP.sum() * wide
                slopes.append(slope * rho * (1 - rho))
        return np.array(slopes)


def structural_objective(vector: VarianceVector, y, ends, exog, steady=True):
    """v -> (-log p / n, its gradient)."""

    def f(v):
        values = vector.values(v)
        run = run_filter(
            _structural_model(vector.layout, values, exog), y, ends, steady=steady
        )
        loglik = run.logliks.sum()
        if not np.isfinite(loglik):
            return np.inf, np.zeros_like(v)
        back = run_smoother(run, keep=True)
        return -loglik / len(y), -vector.slope(v, values, back) / len(y)

    return f


def _initial_vectors(vector: VarianceVector):
    """Vectors to start from: mostly noise, mostly movement, and slow or fast cycles."""
    v = vector.first()
    n = len(vector.layout.variances)
    flipped = v.copy()
    flipped[:n] = np.where(np.arange(n) < 1, 0.2, 0.6)
    vectors = [v, flipped]
    if vector.layout.has_cycle:
        for a in (logit(0.1), logit(0.02)):
            variant = v.copy()
            variant[n] = a
            vectors.append(variant)
    return vectors


PeriodBounds = Annotated[
    Any,
    ParameterRule(
        "a pair of periods, at least 2 and rising",
        lambda v: len(v) == 2 and 2 <= v[0] < v[1],
    ),
]
ComponentKind = Literal["stochastic", "fixed"]


class ComponentBand(NamedTuple):
    """A component of each row and series, with the ends of its band."""

    mean: np.ndarray  # (n, p)
    low: np.ndarray
    high: np.ndarray


class SeriesFits(NamedTuple):
    """The fits of all series."""

    columns: list  # of Result
    objective: float


@saved_state(n_exog_=Whole(), coef_=FloatArray("n_features_in_", "n_exog_"))
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

    level: ComponentKind = "stochastic"
    trend: ComponentKind | None = None
    _: KW_ONLY
    seasonal: TwoOrMore | None = None
    seasonal_form: Literal["dummy", "trigonometric"] = "dummy"
    harmonics: Count | None = None
    stochastic_seasonal: Flag = True
    cycle: ComponentKind | None = None
    cycle_period_bounds: PeriodBounds = (2, 100)
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
            Ignored; present for compatibility with scikit-learn.
        exog : array of shape (n, l), optional
            Regressors.

        Returns
        -------
        self : object
        """
        X, ends = self._sequences(X, lengths, reset=True)
        if np.abs(np.where(np.isnan(X), 0.0, X)).max() > 1e100:
            raise ValueError("X holds values above 1e100: scale it first.")
        exog = check_control(exog, len(X), "exog")
        layout = self._layout(0 if exog is None else exog.shape[1])
        run = lambda task: self._learn(layout, X, ends, exog, task)
        result = self._run_driver(run, total=self.n_iter, X=X)
        results = [
            _variance_vector(layout, x).values(r.state.position)
            for x, r in zip(X.T, result.state.columns, strict=True)
        ]
        names = layout.variances
        self.variances_ = {
            n: np.array([values.variances[n] for values in results]) for n in names
        }
        if layout.has_cycle:
            self.cycle_period_ = np.array([2 * np.pi / v.frequency for v in results])
            self.cycle_damping_ = np.array([v.damping for v in results])
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
        results = []
        stopped = False
        for x in X.T:
            vector = _variance_vector(layout, x)
            f = structural_objective(vector, x[:, None].copy(), ends, exog)
            firsts = (
                _initial_vectors(vector) if len(layout.variances) else [np.empty(0)]
            )
            # once the user has had enough, the series left take one step each
            firsts, max_rounds = (firsts[:1], 1) if stopped else (firsts, self.n_iter)

            def one(i, child, f=f, firsts=firsts, most=max_rounds):
                return bfgs(f, firsts[i], max_iter=most, tol=self.tol, task=child)

            results.append(best_of(len(firsts), one, task=task))
            stopped = stopped or results[-1].reason == "interrupted"
        last = results[-1]
        reasons = [r.reason for r in results if r.reason == "interrupted"]
        reached = SeriesFits(results, sum(r.objective for r in results))
        return Result(
            reached, last.n_iter, (reasons or [last.reason])[0], last.history,
            sum(r.seconds for r in results),
        )  # fmt: skip

    def _layout(self, n_exog) -> ComponentLayout:
        if self.harmonics is not None and self.seasonal_form == "dummy":
            raise ValueError('harmonics need seasonal_form="trigonometric".')
        blocks = [level_component(self.level == "stochastic", self.trend)]
        if self.seasonal is not None and self.seasonal_form == "dummy":
            blocks.append(_dummy_seasonal(self.seasonal, self.stochastic_seasonal))
        elif self.seasonal is not None:
            part = _trigonometric_seasonal(
                self.seasonal, self.harmonics, self.stochastic_seasonal
            )
            blocks.append(part)
        if self.cycle is not None:
            blocks.append(cycle_component(self.cycle == "stochastic"))
        damped = self.cycle == "stochastic"
        periods = tuple(self.cycle_period_bounds)
        return ComponentLayout(blocks, self.irregular, damped, periods, n_exog)

    def _sequences(self, X, lengths, *, reset=False):
        X, lengths = join_sequences(X, lengths)
        check = {"ensure_all_finite": "allow-nan", "dtype": np.float64}
        X = (
            self._check_training_data(X, **check)[0]
            if reset
            else self._check_new_data(X, **check)
        )
        X = arrays.to_numpy(rows_in_memory(X))
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
            values = LearnedValues(variances)
            if layout.has_cycle:
                wave = 2 * np.pi / self.cycle_period_[j], self.cycle_damping_[j]
                values = LearnedValues(variances, *map(float, wave))
            yield _structural_model(layout, values, exog)

    def _runs(self, X, ends, exog):
        columns = zip(self._models(exog), X.T, strict=True)
        return [run_filter(model, x[:, None].copy(), ends) for model, x in columns]

    def _given(self, X, lengths, exog):
        X, ends = self._sequences(X, lengths)
        return self._runs(X, ends, check_control(exog, len(X), "exog"))

    def score_samples(self, X, lengths=None, *, exog=None):
        """log p of each row given those before it, summed over series (n,)."""
        check_is_fitted(self)
        return sum(run.logliks for run in self._given(X, lengths, exog))

    def score(self, X, lengths=None, y=None, *, exog=None):
        """Total log-likelihood, exact diffuse; y is ignored."""
        return float(np.sum(self.score_samples(X, lengths, exog=exog)))

    def standardized_residuals(self, X, lengths=None, *, exog=None):
        """Standardised one-step prediction errors, in standard deviations (n, p)."""
        return np.hstack([run.standardized for run in self._given(X, lengths, exog)])

    def components(self, X, lengths=None, *, exog=None, probability=0.95):
        """Every component given the whole series, with its band.

        Returns a dict of `ComponentBand`: "level", "trend", "seasonal", "cycle" and
        "regression" as far as there are any, and "signal", their sum.
        """
        runs = self._given(X, lengths, exog)
        layout = self._layout(self.n_exog_)
        result: dict[str, list] = {}
        for run in runs:
            back = run_smoother(run)
            V = back.covs
            for name, H in _component_weights(layout, run.model.H).items():
                mean = np.einsum("...k,tk->t...", H, back.mean) if H.ndim == 1 else (
                    (H * back.mean).sum(axis=1))  # fmt: skip
                H = np.broadcast_to(H, back.mean.shape)
                var = np.einsum("ti,tij,tj->t", H, np.where(np.isinf(V), 0, V), H)
                result.setdefault(name, []).append((mean, np.sqrt(np.maximum(var, 0))))
        bands = {}
        for name, columns in result.items():
            mean, sd = (np.stack(a, axis=1) for a in zip(*columns, strict=True))
            bands[name] = ComponentBand(mean, *normal_interval(mean, sd, probability))
        return bands

    def forecast(self, n=1, X=None, *, exog=None, level=0.95) -> Forecast:
        """Forecast the next n rows, after X or after the training data.

        `exog` has the regressors of the rows to come, after those of X if it is given.
        """
        check_is_fitted(self)
        n = check_count("n", n)
        check_interval_level(level)
        past_X, past = self._last
        if X is not None:
            past_X = self._sequences(X, None)[0]
            past = None
        extended = np.vstack([past_X, np.full((n, past_X.shape[1]), np.nan)])
        if exog is not None:
            exog = np.asarray(exog, dtype=float).reshape(-1, self.n_exog_)
            exog = exog if past is None else np.vstack([past, exog])
        u = check_control(exog, len(extended), "exog")
        parts = []
        for run in self._runs(extended, np.array([len(extended)]), u):
            z = run.mean[-n:]
            V = run.covs[-n:]
            H = run.model.H
            H = H[-n:] if H.ndim == 3 else H
            parts.append(
                (*observation_moments(H, run.model.R, np.zeros(1), z, V), z, V)
            )
        mean = np.hstack([p[0] for p in parts])
        S = np.zeros((n, len(parts), len(parts)))
        for j, p in enumerate(parts):
            S[:, j, j] = p[1][:, 0, 0]
        z = np.hstack([p[2] for p in parts])
        V = np.stack([p[3] for p in parts], axis=1)
        return Forecast(mean, S, level, z, V)

    def _n_parameters(self):
        layout = self._layout(self.n_exog_)
        wave = (1 + layout.damped) * layout.has_cycle
        return self.n_features_in_ * (len(layout.variances) + wave + layout.k)

    def aic(self, X, lengths=None, *, exog=None):
        """Akaike information criterion; diffuse states count as parameters."""
        return aic(self.score(X, lengths, exog=exog), self._n_parameters())

    def bic(self, X, lengths=None, *, exog=None):
        """Bayesian information criterion."""
        n = int((~np.isnan(self._sequences(X, lengths)[0])).sum())
        return float(bic(self.score(X, lengths, exog=exog), self._n_parameters(), n))


def _variance_vector(layout, x) -> VarianceVector:
    """The unit of a series is the deviation of its steps."""
    step = np.diff(x)
    seen = x[~np.isnan(x)]
    step = step[~np.isnan(step)]
    size = float(np.sqrt((seen**2).mean())) if len(seen) else 0.0
    unit = float(np.sqrt((step**2).mean())) if len(step) else 0.0
    unit = unit if unit > 1e-9 * size else size
    return VarianceVector(layout, unit or 1.0, 1e-14 * (size or 1.0) ** 2)


def _component_weights(layout, H) -> dict:
    """For each component, what of the state it is: (k,), or (n, k) for regressors."""
    observed_row = H[0] if H.ndim == 2 else H[:, 0]
    weights = {}
    for b in layout.blocks:
        row = np.zeros(layout.k)
        row[layout.where(b.name)] = b.H
        weights[b.name] = row
        if b.name == "level" and len(b.H) == 2:
            weights["trend"] = np.eye(layout.k)[1]
    if layout.n_exog:
        mask = np.arange(layout.k) >= layout.k - layout.n_exog
        weights["regression"] = observed_row * mask
    return weights | {"signal": observed_row}
