"""The contract of forecasting methods, and what all of them share.

    fit(panel)                      a Panel, a vector or a list of vectors
    predict(horizon, X_future, level)   means and intervals, as a `PanelForecast`
    update(new)                     go on from further rows of the same series
    simulate(horizon, n_paths)      possible futures
    components()                    what a fit is made of, for every value

A method gives three things for the series it can fit: what it learns (`_fit_panel`),
the means ahead (`_means`), and how shocks of standard deviation sigma live on, psi:

    y_{T+h} = mean_h + e_{T+h} + psi_1 e_{T+h-1} + ... + psi_{h-1} e_{T+1}        (1)
    var_h = sigma^2 (1 + psi_1^2 + ... + psi_{h-1}^2)                             (2)

from which intervals and paths follow. Every series that comes in comes out, in order:
one with too few values for the method is forecast by its last season, or its last
value, or not at all where it has none, and `fallback_` says so.

Shapes    mean (s, h)   intervals (s, h, 2) by level   paths (p, s, h)
Refs      [Hyndman2021] 5.5
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import ndtri
from sklearn.utils.validation import check_is_fitted

from ..base import Estimator
from ..core.arrays.ragged import Ragged
from ..core.plain_text import counted_noun
from ..core.random import make_rng
from ..params import check_count, check_params
from .panel import Panel, as_panel, ragged_range
from .seasonality import season_of

EXPLODED = 1e3  # ranges of the known values beyond which no forecast is believed


class PanelForecast(NamedTuple):
    """Forecasts of every series of a panel; of a vector, without the leading axis."""

    mean: np.ndarray  # (s, h)
    intervals: dict  # level in percent -> (s, h, 2)
    stamps: np.ndarray  # (s, h) dates, or whole numbers
    keys: dict  # column of names -> (s,)
    reasons: np.ndarray  # (s,) why another method answered; "" if none did

    def to_table(self):
        """An Arrow table with a row for each series and step."""
        import pyarrow as pa

        s, h = self.stamps.shape
        columns: dict[str, Any] = {
            name: np.repeat(np.asarray(key), h) for name, key in self.keys.items()
        }
        columns["time"] = self.stamps.ravel()
        columns["mean"] = np.asarray(self.mean).ravel()
        for level, ends in self.intervals.items():
            flat = np.asarray(ends).reshape(s * h, 2)
            columns[f"low {level:g}"] = flat[:, 0]
            columns[f"high {level:g}"] = flat[:, 1]
        return pa.table({name: pa.array(column) for name, column in columns.items()})


class AbstractForecaster(Estimator):
    """A forecasting method: checks, fallbacks, intervals and paths of all methods."""

    _takes_panels = True
    panel_: Any
    fallback_: Any

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.two_d_array = False
        return tags

    # --- what a method gives -------------------------------------------------------

    def _least_values(self, panel) -> Any:
        """Values that a series needs: a number, or one for each series."""
        return 1

    def _fit_panel(self, panel) -> None:
        raise TypeError(f"{type(self).__name__} gives no _fit_panel.")

    def _refresh_panel(self, panel) -> None:
        """Go on to the end of a longer panel; what was learned stays if it can."""
        self._fit_panel(panel)

    def _means(self, horizon, X_future) -> np.ndarray:
        raise TypeError(f"{type(self).__name__} gives no _means.")

    def _shock_weights(self, horizon) -> tuple[np.ndarray, np.ndarray]:
        """sigma (s,) and psi (s, h) of eq. (1)."""
        raise TypeError(f"{type(self).__name__} gives no _shock_weights.")

    def _deviations(self, horizon, mean) -> np.ndarray:
        """Eq. (2): standard deviations (s, h)."""
        sigma, psi = self._shock_weights(horizon)
        return sigma[:, None] * np.sqrt(np.cumsum(psi**2, axis=1))

    def _ends(self, horizon, mean, levels) -> np.ndarray:
        """(s, h, levels, 2) ends of the intervals."""
        sd = self._deviations(horizon, mean)
        z = ndtri((1 + np.asarray(levels)) / 2)
        reach = sd[:, :, None] * z
        return np.stack([mean[:, :, None] - reach, mean[:, :, None] + reach], axis=-1)

    def _paths(self, horizon, X_future, n_paths, rng) -> np.ndarray:
        """(p, s, h) draws of eq. (1)."""
        mean = self._means(horizon, X_future)
        sigma, psi = self._shock_weights(horizon)
        shocks = rng.standard_normal((n_paths, *mean.shape)) * sigma[:, None]
        paths = np.zeros_like(shocks)
        for lag in range(horizon):
            paths[:, :, lag:] += psi[:, lag : lag + 1] * shocks[:, :, : horizon - lag]
        return mean + paths

    def _fitted(self) -> np.ndarray:
        """(n,) one-step forecasts of the values that were fitted."""
        raise TypeError(f"{type(self).__name__} gives no _fitted.")

    def _components(self) -> dict:
        """Name -> (n,) for the series that were fitted."""
        return {"fitted": self._fitted()}

    # --- what users call -----------------------------------------------------------

    def fit(self, panel, y=None):
        """Learn from every series of a panel.

        Parameters
        ----------
        panel : Panel, vector or list of vectors
            The series; NaN where a value is missing.
        y : None
            Ignored; present for compatibility with scikit-learn.

        Returns
        -------
        self : object
        """
        check_params(self)
        self.is_vector_ = not isinstance(panel, (Panel, Ragged)) and not (
            isinstance(panel, (list, tuple)) and np.ndim(panel[0] if panel else 0)
        )
        return self._learn(as_panel(panel), self._fit_panel)

    def _learn(self, panel, learn):
        if len(panel) == 0:
            raise ValueError(f"{type(self).__name__} needs at least one series.")
        observed = panel.observed()
        min_values = np.broadcast_to(self._least_values(panel), len(panel))
        self.able_ = observed >= np.maximum(min_values, 1)
        season = season_of(panel, getattr(self, "season_length", None))
        self.fallback_ = _fallback_reasons(observed, min_values, self.able_)
        self.panel_ = panel
        self.fallback_season_ = season
        if self.able_.any():
            learn(panel if self.able_.all() else panel[self.able_])
        return self

    def update(self, new):
        """Go on from further rows; parameters stay as learned where the method has any.

        Parameters
        ----------
        new : Panel, vector or list of vectors
            Rows after those that were fitted, of the same series.

        Returns
        -------
        self : object
        """
        check_is_fitted(self, "panel_")
        panel = self.panel_.extended(new)
        min_values = np.broadcast_to(self._least_values(panel), len(panel))
        is_unchanged = np.array_equal(
            panel.observed() >= np.maximum(min_values, 1), self.able_
        )
        return self._learn(
            panel, self._refresh_panel if is_unchanged else self._fit_panel
        )

    def predict(
        self, horizon, X_future=None, level: Sequence[float] = (80, 95)
    ) -> PanelForecast:
        """Means and intervals of the next steps of every series.

        Parameters
        ----------
        horizon : int
            Steps ahead.
        X_future : array of shape (s, horizon, l) or (horizon, l), optional
            Known covariates of those steps; None for those that the panel knows.
        level : sequence of float
            Shares of the intervals, in percent.

        Returns
        -------
        forecast : PanelForecast
        """
        horizon, X_future = self._check_horizon(horizon, X_future)
        levels = levels_as_shares(level)
        panel = self.panel_
        mean = np.full((len(panel), horizon), np.nan)
        ends = np.full((len(panel), horizon, len(levels), 2), np.nan)
        reasons = self.fallback_.copy()
        able = np.flatnonzero(self.able_)
        if len(able):
            part = self._means(horizon, X_future)
            mean[able] = part
            ends[able] = self._ends(horizon, part, levels)
            wild = able[_has_exploded(panel, able, mean[able])]
            reasons[wild] = "the forecast of the method grew beyond all bounds"
        rest = np.flatnonzero(reasons != "")
        if len(rest):
            mean[rest], ends[rest] = _last_season_forecast(
                panel[rest], self.fallback_season_, horizon, levels
            )
        intervals = {100 * share: ends[:, :, k] for k, share in enumerate(levels)}
        intervals = {round(k, 6): v for k, v in intervals.items()}
        if self.is_vector_:
            mean = mean[0]
            intervals = {k: v[0] for k, v in intervals.items()}
        return PanelForecast(
            mean, intervals, panel.stamps_ahead(horizon), panel.keys, reasons
        )

    def simulate(self, horizon, n_paths=100, random_state=None, X_future=None):
        """Possible futures (n_paths, s, horizon); (n_paths, horizon) of a vector.

        Series that a fallback answers for have paths of its normal steps.
        """
        horizon, X_future = self._check_horizon(horizon, X_future)
        n_paths = check_count("n_paths", n_paths)
        rng = make_rng(random_state)
        panel = self.panel_
        out = np.empty((n_paths, len(panel), horizon))
        able = self.able_
        if able.any():
            out[:, able] = self._paths(horizon, X_future, n_paths, rng)
        rest = np.flatnonzero(~able)
        if len(rest):
            levels = [2 * 0.8413447460685429 - 1]  # a standard deviation on each side
            mean, ends = _last_season_forecast(
                panel[rest], self.fallback_season_, horizon, levels
            )
            step = np.diff(ends[:, :1, 0], axis=-1)[:, :, 0] / 2
            shocks = rng.standard_normal((n_paths, *mean.shape)) * step
            out[:, rest] = mean + np.cumsum(shocks, axis=2)
        return out[:, 0] if self.is_vector_ else out

    def components(self) -> dict[str, Ragged]:
        """Parts of the fit by name, each a Ragged like the series; NaN by fallback."""
        check_is_fitted(self, "panel_")
        panel = self.panel_
        able = np.flatnonzero(self.able_)
        parts_by_name = {}
        rows = ragged_range(panel.offsets[able], panel.lengths[able])
        for name, values in (self._components() if len(able) else {}).items():
            full = np.full(len(panel.values), np.nan)
            full[rows] = values
            parts_by_name[name] = Ragged(full, panel.offsets)
        return parts_by_name

    def _check_horizon(self, horizon, X_future):
        check_is_fitted(self, "panel_")
        horizon = check_count("horizon", horizon)
        panel = self.panel_
        if X_future is None:
            if panel.known is None or not self._uses_known():
                return horizon, None
            X_future = panel.future_known(horizon)
        elif panel.known is None:
            raise ValueError(
                "X_future is given, but the panel that was fitted has no covariates."
            )
        X_future = np.asarray(X_future, dtype=float)
        if X_future.ndim == 2:
            X_future = np.broadcast_to(X_future, (len(panel), *X_future.shape))
        expected = (len(panel), horizon, panel.known.n_columns)
        if X_future.shape != expected:
            raise ValueError(f"X_future must be {expected}, got {X_future.shape}.")
        if not np.isfinite(X_future).all():
            raise ValueError("X_future holds missing or infinite values.")
        return horizon, X_future[self.able_]

    def _uses_known(self) -> bool:
        """Whether the method learns from known covariates."""
        return False


def levels_as_shares(level) -> list[float]:
    """Shares from percents, each between 0 and 100."""
    values = np.atleast_1d(np.asarray(level, dtype=float))
    if values.ndim != 1 or not ((values > 0) & (values < 100)).all():
        raise ValueError(f"level must be percents between 0 and 100, got {level!r}.")
    return [float(v) / 100 for v in values]


def _fallback_reasons(observed, least, able) -> np.ndarray:
    """(s,) why the method cannot fit a series; "" where it can."""
    reasons = np.full(len(observed), "", dtype=object)
    for i in np.flatnonzero(~able):
        reasons[i] = (
            "the series has no value"
            if observed[i] == 0
            else f"{counted_noun(observed[i], 'value')} "
            f"{'is' if observed[i] == 1 else 'are'} too few: the method needs "
            f"{least[i]}"
        )
    return reasons


def _has_exploded(panel, which, mean) -> np.ndarray:
    """Whether forecasts (k, h) are no numbers, or absurdly far from their series."""
    y = panel.values
    high = np.fmax.reduceat(y, panel.offsets[:-1])[which]
    low = np.fmin.reduceat(y, panel.offsets[:-1])[which]
    spread = np.maximum(high - low, np.maximum(np.abs(high), np.abs(low)))
    with np.errstate(invalid="ignore"):
        middle = (high / 2 + low / 2)[:, None]
        far = np.abs(mean - middle) > EXPLODED * (spread[:, None] + 1e-300)
    constant_zero = (spread == 0)[:, None] & (np.abs(mean) < 1e-9)
    return (~np.isfinite(mean) | (far & ~constant_zero)).any(axis=1)


def _last_season_forecast(panel, m, horizon, levels) -> tuple[np.ndarray, np.ndarray]:
    """Means (s, h) and ends (s, h, levels, 2) from the last season, or the last value.

    A season is repeated where a series has two of them; NaN where it has no value.
    """
    mean = np.full((len(panel), horizon), np.nan)
    sd = np.zeros((len(panel), horizon))
    steps = np.arange(horizon)
    for i in range(len(panel)):
        y = panel.series[i]
        known = np.flatnonzero(~np.isnan(y))
        if not len(known):
            sd[i] = np.nan
            continue
        lag = m if len(known) >= 2 * m else 1
        filled = y[
            np.maximum.accumulate(np.where(np.isnan(y), known[0], np.arange(len(y))))
        ]
        mean[i] = filled[len(y) - lag :][steps % lag]
        errors = y[lag:] - filled[:-lag] if len(y) > lag else np.zeros(0)
        errors = errors[~np.isnan(errors)]
        scale = np.sqrt(np.mean(errors**2)) if len(errors) else 0.0
        sd[i] = scale * np.sqrt(1 + steps // lag)
    reach = sd[:, :, None] * ndtri((1 + np.asarray(levels)) / 2)
    return mean, np.stack([mean[:, :, None] - reach, mean[:, :, None] + reach], axis=-1)
