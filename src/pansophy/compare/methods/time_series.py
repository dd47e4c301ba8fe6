"""Methods that see the past of the target, for folds along time.

Rows are predicted from the end of the training rows on: nothing that happens after it
is known, so that a fold judges what the kept model will be able to do. With y_t the
mean of the target at moment t, T the last moment of training and h the steps beyond it,

    last value        y_T                                                        (1)
    moving average    mean of the last w moments                                 (2)
    drift             y_T + (t - T) (y_T - y_1) / (T - 1), in units of time      (3)
    seasonal          y_{T + h - s ceil(h / s)}: the last season again           (4)

w and s are chosen on the training rows: w by the errors of forecasts as far ahead as
half of what a fold tests (`horizon`), s as the lag with the largest autocorrelation of
the differences, if that is significant. Without a season (4) is the last value.

**Lags.** `WithLags` gives a pipeline further columns: the last known value of the
target and its mean over the last 2, 4, 8, ... moments, the same one season ago, and the
age of that knowledge. A training row must not know more than a row to be predicted
will: its knowledge ends a random number of moments before it, from 1 to the horizon.
The model learns the change from the last known value, which a tree could not reach
beyond its training range.

Cost      O(n log n) and that of the pipeline
Refs      [Hyndman2021] ch. 5 (baselines), 12.8 (direct forecasts)
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from ...base import Estimator, Regressor
from ...core.random import make_rng
from ...tables import MixedFrame
from .wrappers import MIN_COUNT_SHARE

WINDOWS = (2, 4, 8, 16, 32)
MAX_SEASON = 400  # moments
FOLD_SHARE = 1 / 6  # of the rows: what one of five forward folds tests
SIGNIFICANT = 2.5  # standard errors of an autocorrelation


class History:
    """The mean target at each moment of the training rows, in order."""

    def __init__(self, times, y, weight=None):
        w = np.ones(len(y)) if weight is None else np.asarray(weight, dtype=float)
        self.moments, code = np.unique(np.asarray(times, float), return_inverse=True)
        code = code.ravel()
        mass = np.bincount(code, w)
        self.values = np.bincount(code, w * np.asarray(y, float)) / np.maximum(
            mass, 1e-300
        )
        span = self.moments[-1] - self.moments[0]
        self.step = float(span / (len(self.moments) - 1)) if span > 0 else 1.0

    def __len__(self):
        return len(self.moments)

    def places(self, times) -> np.ndarray:
        """The places of training rows among the moments."""
        return np.searchsorted(self.moments, np.asarray(times, float))


def steps_to_look_ahead(horizon, past) -> int:
    """The horizon, at most a sixth of the moments seen; that sixth if not known."""
    sixth = max(1, round(len(past) * FOLD_SHARE))
    return min(horizon, sixth) if horizon else sixth


def _steps_ahead(times, last_moment, step) -> np.ndarray:
    """Steps that rows lie beyond the last moment, at least 1: months are uneven."""
    ahead = np.round((np.asarray(times, float) - last_moment) / step)
    return np.maximum(ahead, 1).astype(int)


def _best_window(values, horizon) -> int:
    """w of eq. (2): the window with the smallest errors `horizon` moments ahead."""
    T = len(values)
    total = np.concatenate([[0.0], np.cumsum(values)])
    best = 1
    least_error = np.inf
    for w in (1, *WINDOWS, 64, 128):
        ends = np.arange(max(w, T // 3), T - horizon)
        if len(ends) < 5:
            break
        mean = (total[ends] - total[ends - w]) / w
        error = float(np.mean((values[ends + horizon] - mean) ** 2))
        if error < least_error * (1 - 1e-9):
            best, least_error = w, error
    return best


def _season_length(values) -> int:
    """s of eq. (4): the lag at which differences repeat themselves; 0 if none."""
    d = np.diff(values)
    T = len(d)
    max_lag = min(MAX_SEASON, T // 3)
    if max_lag < 3 or d.std() == 0:
        return 0
    x = d - d.mean()
    size = 1 << (2 * T - 1).bit_length()
    spectrum = np.abs(np.fft.rfft(x, size)) ** 2
    r = np.fft.irfft(spectrum, size)[: max_lag + 1]
    r = r / r[0]
    lags = np.arange(2, max_lag + 1)
    # a peak, not the shoulder of a slow wave
    peak = [
        s
        for s in lags
        if r[s] > SIGNIFICANT / np.sqrt(T)
        and r[s] >= r[s - 1]
        and (s == max_lag or r[s] >= r[s + 1])
    ]
    if not peak:
        return 0
    best = max(peak, key=lambda s: r[s])
    return int(best) if r[best] > 0.2 else 0


@dataclass(eq=False, repr=False)
class SeriesBaseline(Regressor, Estimator):
    """A forecast from the past of the target alone; see the module text.

    Parameters
    ----------
    kind : {"last value", "moving average", "drift", "seasonal"}
    time_column : int
        Column of the frame that holds the time.
    floored : bool
        Whether counts are predicted, which stay above 0.
    horizon : int
        Moments to look ahead, if fewer than a sixth of those seen; 0: not known.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.compare.methods.time_series import SeriesBaseline
    >>> from pansophy.tables import MixedFrame
    >>> t = np.arange(6.0)[:, None]
    >>> y = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    >>> model = SeriesBaseline("drift", time_column=0).fit(MixedFrame(t), y)
    >>> model.predict(MixedFrame(t + 6))
    array([ 7.,  8.,  9., 10., 11., 12.])
    """

    kind: Literal["last value", "moving average", "drift", "seasonal"] = "last value"
    _: KW_ONLY
    time_column: int = 0
    floored: bool = False
    horizon: int = 0

    def fit(self, frame, y, sample_weight=None, groups=None, times=None):
        times = _time_values(frame, self.time_column) if times is None else times
        past = History(times, y, sample_weight)
        self.floor_ = _smallest_count(y, sample_weight) if self.floored else -np.inf
        horizon = max(1, round(steps_to_look_ahead(self.horizon, past) / 2))
        self.last_moment_ = float(past.moments[-1])
        self.step_ = past.step
        self.level_ = float(past.values[-1])
        self.slope_ = 0.0
        self.season_ = np.empty(0)
        if self.kind == "moving average":
            w = _best_window(past.values, horizon)
            self.level_ = float(past.values[-w:].mean())
        elif self.kind == "drift" and len(past) > 1:
            span = past.moments[-1] - past.moments[0]
            self.slope_ = float((past.values[-1] - past.values[0]) / span)
        elif self.kind == "seasonal":
            s = _season_length(past.values)
            self.season_ = past.values[len(past) - s :] if s else self.season_
        return self

    def predict(self, frame) -> np.ndarray:
        ahead = _time_values(frame, self.time_column) - self.last_moment_
        if len(self.season_):
            steps = _steps_ahead(ahead, 0.0, self.step_) - 1
            return np.maximum(self.season_[steps % len(self.season_)], self.floor_)
        return np.maximum(self.level_ + self.slope_ * ahead, self.floor_)


def _time_values(frame, column) -> np.ndarray:
    """The time of each row of a frame."""
    return np.asarray(frame.values[:, column], dtype=float)


@dataclass(eq=False, repr=False)
class WithLags(Regressor, Estimator):
    """A pipeline with columns made of the past of the target; see the module text.

    Parameters
    ----------
    model : pipeline
        Takes frames with the further columns `LAG_COLUMNS` in front.
    time_column : int
        Column of the frame that holds the time.
    floored : bool
        Whether counts are predicted, which stay above 0.
    horizon : int
        Moments to look ahead, if fewer than a sixth of those seen; 0: not known.
    random_state : int

    The prediction is the last known value plus what the pipeline says of the change.
    """

    model: Any = None
    _: KW_ONLY
    time_column: int = 0
    floored: bool = False
    horizon: int = 0
    random_state: int = 0

    def fit(self, frame, y, sample_weight=None, groups=None, times=None):
        from .pipelines import fit_pipeline

        y = np.asarray(y, dtype=float)
        times = _time_values(frame, self.time_column) if times is None else times
        past = History(times, y, sample_weight)
        self.moments_ = past.moments
        self.values_ = past.values
        self.step_ = past.step
        self.floor_ = _smallest_count(y, sample_weight) if self.floored else -np.inf
        self.season_length_ = _season_length(past.values)
        horizon = steps_to_look_ahead(self.horizon, past)
        place = past.places(times)
        rng = make_rng(self.random_state)
        known = place - rng.integers(1, horizon + 1, len(y))
        usable = known >= 0
        if usable.sum() < max(10, len(y) // 4):  # too short a past to learn from
            known = place - 1
            usable = place >= 1
        lags = self._lags(known[usable], place[usable])
        part = _with_columns(frame[np.flatnonzero(usable)], lags)
        pick = lambda a: None if a is None else np.asarray(a)[usable]
        self.model_ = fit_pipeline(
            clone(self.model),
            part,
            y[usable] - lags[:, 0],
            pick(sample_weight),
            pick(groups),
            pick(times),
        )
        return self

    def _lags(self, known, place) -> np.ndarray:
        """Columns for rows at `place` when moments up to `known` are known."""
        v = self.values_
        total = np.concatenate([[0.0], np.cumsum(v)])
        last = v[known]
        columns = [last, place - known]
        for w in WINDOWS:
            start = np.maximum(known + 1 - w, 0)
            columns.append(
                (total[known + 1] - total[start]) / (known + 1 - start) - last
            )
        s = self.season_length_
        if s:
            back = place - s * np.ceil((place - known) / s).astype(int)
            columns.append(np.where(back >= 0, v[np.maximum(back, 0)] - last, 0.0))
        else:
            columns.append(np.zeros(len(known)))
        return np.column_stack(columns)

    def predict(self, frame) -> np.ndarray:
        last = len(self.moments_) - 1
        times = _time_values(frame, self.time_column)
        place = last + _steps_ahead(times, self.moments_[-1], self.step_)
        lags = self._lags(np.full(len(place), last), place)
        change = np.ravel(self.model_.predict(_with_columns(frame, lags)))
        return np.maximum(lags[:, 0] + change, self.floor_)


def _smallest_count(y, weight=None) -> float:
    """The least count that is predicted: see `wrappers.FlooredCounts`."""
    return max(MIN_COUNT_SHARE * float(np.average(y, weights=weight)), 1e-12)


LAG_COLUMNS = (
    "last value",
    "age of it",
    *(f"mean of {w}" for w in WINDOWS),
    "last season",
)


def _with_columns(frame, columns) -> MixedFrame:
    """A frame with further columns of numbers, in front of the others."""
    return MixedFrame(np.column_stack([columns, frame.values]), frame.texts)
