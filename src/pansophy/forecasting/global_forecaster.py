"""One regression for all series of a panel: lags in, differences out.

Series differ in level and size, and a tree cannot reach beyond what it was trained on.
So everything is said relative to the last value, and in units of c, the standard
deviation of the last L + 1 values before an origin, or the mean absolute change of the
series if that is more. With units of one step alone a smooth trend would be a huge
change, and a few such series would rule all others. For the step h = 1 .. H from the
origin t,

    target     (y_{t+h} - y_t) / c                                                (1)
    features   (y_{t-k} - y_t) / c for k = 1 .. L; the same for the last known value
               of the season of t + h, and for the mean of the last L values;
               sine and cosine of the usual seasons at t + h; known covariates of t + h

Each step has a model of its own (the direct strategy); forecasts beyond H go on from
the forecasts before them, so that H = 1 is the recursive strategy. A missing value
takes the one a season before, or the last one known; origins and targets that are
missing are no training rows, and a series that never changes stays as it is. If there
are more than 100,000 training rows, the latest of every series are kept.

Errors of the training rows, in units of c, give the standard deviation of each step.

Cost      H fits of n rows and L + 6 columns
Refs      [MonteroManso2021] global models; [Taieb2012] direct and recursive strategies
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from ..params import Count
from .abstract_forecaster import AbstractForecaster
from .panel import ragged_range
from .seasonality import season_of

MAX_ROWS = 100_000
LEAST_SPREAD = 1.0  # of a window, in mean changes of its series
MAX_LAGS = 36
SEASONS = 2  # usual seasons of which sine and cosine are features
HARMONICS = 2


def carried_forward(panel, m) -> np.ndarray:
    """(n,) values; where one is missing, that of a season before, or the last one."""
    filled = panel.values.copy()
    begins = np.repeat(panel.offsets[:-1], panel.lengths)
    place = np.arange(len(filled))
    for lag in (m, 1):
        gaps = np.flatnonzero(np.isnan(filled))
        for r in gaps:  # in order, so that what is filled is carried on
            if r - lag >= begins[r]:
                filled[r] = filled[r - lag]
    gaps = np.isnan(filled)
    if gaps.any():  # before the first value
        later = np.where(gaps, len(filled), place)
        later = np.minimum.accumulate(later[::-1])[::-1]
        ends = np.repeat(panel.offsets[1:], panel.lengths)
        known = later < ends
        filled[gaps & known] = filled[later[gaps & known]]
    return filled


def step_sizes(panel) -> np.ndarray:
    """Mean absolute change of each series, 0 where nothing changes."""
    y = panel.values
    change = np.abs(np.diff(y, prepend=np.nan))
    change[panel.offsets[:-1]] = np.nan
    count = np.add.reduceat(~np.isnan(change), panel.offsets[:-1])
    total = np.add.reduceat(np.nan_to_num(change), panel.offsets[:-1])
    size = total / np.maximum(count, 1)
    high = np.maximum.reduceat(np.nan_to_num(np.abs(y)), panel.offsets[:-1])
    return np.where(size > 1e-12 * high, size, 0.0)


@dataclass(eq=False, repr=False)
class GlobalForecaster(AbstractForecaster):
    """One regression on lags for all series together.

    Parameters
    ----------
    regressor : regressor or None, default=None
        Any with fit and predict, such as a booster; None for ridge regression.
    n_lags : int or None, default=None
        L; None for two seasons, at least 4 and at most 36, and at most half of the
        longest series.
    horizon : int, default=1
        H: steps with a model of their own.
    season_length : int or None, default=None
        Steps of the season; None for the shortest usual at the frequency of the panel.

    Attributes
    ----------
    regressors_ : list of regressor
        One for each step.
    step_sizes_ : array of shape (s,)
        Mean absolute change of each series.
    deviations_ : array of shape (H,)
        Root mean square of the errors of each step, in units of c.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import GlobalForecaster
    >>> series = [k + np.tile([1.0, 4.0, 2.0], 12) for k in range(5)]
    >>> model = GlobalForecaster(season_length=3).fit(series)
    >>> model.predict(3).mean[0].round(1)
    array([1., 4., 2.])
    """

    regressor: Any = None
    _: KW_ONLY
    n_lags: Count | None = None
    horizon: Count = 1
    season_length: Count | None = None

    def _uses_known(self):
        return True

    def _least_values(self, panel):
        return self._count_lags(panel) + 2

    def _count_lags(self, panel) -> int:
        if self.n_lags is not None:
            return self.n_lags
        m = season_of(panel, self.season_length)
        lags = int(np.clip(2 * m, 4, MAX_LAGS))
        return max(1, min(lags, int(panel.lengths.max()) // 2 - 1))

    def _remember(self, panel):
        m = season_of(panel, self.season_length)
        self.season_ = m
        self.filled_ = carried_forward(panel, m)
        self.offsets_ = panel.offsets
        self.start_ = panel.start
        self.cycles_ = [float(c) for c in panel.frequency.seasons[:SEASONS]]
        if not self.cycles_ and m > 1:
            self.cycles_ = [float(m)]

    def _fit_panel(self, panel):
        from ..linear_model import Ridge

        self.lags_ = self._count_lags(panel)
        self._remember(panel)
        self.step_sizes_ = step_sizes(panel)
        known = panel.known_rows()
        self.regressors_ = []
        self.deviations_ = np.zeros(self.horizon)
        base = Ridge(alpha=1.0) if self.regressor is None else self.regressor
        for h in range(1, self.horizon + 1):
            origin, series = self._training_origins(panel, h)
            if len(origin) < 3:  # too short for this step: the model of the last one
                self.regressors_.append(self.regressors_[-1] if h > 1 else None)
                self.deviations_[h - 1] = self.deviations_[h - 2] if h > 1 else 0.0
                continue
            place = origin - panel.offsets[series]
            size = self._window_sizes(self.filled_, origin, self.step_sizes_[series])
            X = self._features(
                self.filled_,
                origin,
                place,
                size,
                self.start_[series],
                h,
                None if known is None else known[origin + h],
            )
            target = (panel.values[origin + h] - self.filled_[origin]) / size
            model = clone(base).fit(X, target)
            self.regressors_.append(model)
            errors = target - model.predict(X)
            self.deviations_[h - 1] = np.sqrt(np.mean(errors**2))

    def _refresh_panel(self, panel):
        self._remember(panel)

    def _training_origins(self, panel, h):
        """Rows t with L values before them and a known value h later; their series."""
        lengths = np.maximum(panel.lengths - self.lags_ - h, 0)
        max_rows = max(MAX_ROWS // max(len(panel), 1), 1)
        kept = np.minimum(lengths, max_rows)
        origin = ragged_range(panel.offsets[:-1] + self.lags_ + lengths - kept, kept)
        series = np.repeat(np.arange(len(panel)), kept)
        y = panel.values
        usable = ~np.isnan(y[origin]) & ~np.isnan(y[origin + h])
        usable &= self.step_sizes_[series] > 0
        return origin[usable], series[usable]

    def _window_sizes(self, y, origin, step_size):
        """c of each origin: the spread of the last L + 1 values."""
        window = y[origin[:, None] - np.arange(self.lags_ + 1)]
        size = np.maximum(window.std(axis=1), LEAST_SPREAD * step_size)
        return np.where(size > 0, size, 1.0)

    def _features(self, y, origin, place, size, start, h, known):
        """Columns of eq. (1) for origins at row `origin`, at `place` in the series."""
        last = y[origin]
        lagged = y[origin[:, None] - np.arange(1, self.lags_ + 1)]
        columns = [(lagged - last[:, None]) / size[:, None]]
        columns.append(((lagged.mean(axis=1) - last) / size)[:, None])
        m = self.season_
        back = m * -(-h // m) - h  # steps from the origin back to the season of t + h
        usable = back <= place
        seasonal = np.where(usable, y[origin - np.where(usable, back, 0)] - last, 0.0)
        columns.append((seasonal / size)[:, None])
        t = start + place + h
        for period in self.cycles_:
            for k in range(1, HARMONICS + 1):
                if 2 * k <= period:
                    angle = 2 * np.pi * k * t / period
                    columns.append(np.column_stack([np.sin(angle), np.cos(angle)]))
        if known is not None:
            columns.append(known)
        return np.hstack(columns)

    def _means(self, horizon, X_future):
        s = len(self.step_sizes_)
        lengths = np.diff(self.offsets_)
        width = min(int(lengths.max()), max(self.lags_, self.season_) + 1)
        tail = np.empty((s, width + horizon))
        for i in range(s):
            y = self.filled_[self.offsets_[i] : self.offsets_[i + 1]]
            y = np.r_[np.full(max(width - len(y), 0), y[0]), y][-width:]
            tail[i, :width] = y
        flat_origin = np.arange(s) * tail.shape[1]
        H = len(self.regressors_)
        moves = self.step_sizes_ > 0
        for step in range(horizon):
            h = step % H + 1
            origin = width + step - h  # the column of the origin
            model = self.regressors_[h - 1]
            if model is None:
                tail[:, width + step] = tail[:, origin]
                continue
            size = self._window_sizes(
                tail.ravel(), flat_origin + origin, self.step_sizes_
            )
            X = self._features(
                tail.ravel(),
                flat_origin + origin,
                np.full(s, origin),
                size,
                self.start_ + lengths - width,
                h,
                None if X_future is None else X_future[:, step],
            )
            change = np.asarray(model.predict(X)) * np.where(moves, size, 0.0)
            tail[:, width + step] = tail[:, origin] + change
        return tail[:, width:]

    def _shock_weights(self, horizon):
        variance = np.maximum.accumulate(self.deviations_**2)
        unit_variance = variance[0] if variance[0] > 0 else 1.0
        added = np.diff(variance, prepend=0.0) / unit_variance
        rounds = -(-horizon // len(added))
        psi = np.sqrt(np.tile(added, rounds)[:horizon])
        ends = self.offsets_[1:] - 1
        size = self._window_sizes(self.filled_, ends, self.step_sizes_)
        size = np.where(self.step_sizes_ > 0, size, 0.0)
        return (
            size * np.sqrt(variance[0]),
            np.broadcast_to(psi, (len(self.step_sizes_), horizon)),
        )

    def _components(self):
        return {"filled": self.filled_}
