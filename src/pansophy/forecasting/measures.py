"""Measures of forecasts: scaled errors, percentage errors, coverage, skill.

With y the values, f the forecasts of one series, and c the mean absolute change over a
season within the values that were known,

    MASE    mean |y - f| / c                                                      (1)
    RMSSE   sqrt(mean (y - f)^2) / root mean square change over a season          (2)
    sMAPE   mean 200 |y - f| / (|y| + |f|), 0 where both are 0                    (3)
    skill   1 - exp(mean over series of log(error / error of seasonal naive))     (4)

(4) weighs every series alike, whatever its unit; ratios are held between 1/100 and 100,
so that no single series decides. MASE is right for most data; RMSSE where there are
many zeros, since |y - f| is least at the median, which may be 0. sMAPE is reported for
comparison with competitions. Missing values count in no mean.

Shapes    y, f (s, h)   scale (s,)
Refs      [Hyndman2006] (1); [Hewamalage2023] which measure for which data
"""

import numpy as np

MOST_RATIO = 100.0


def naive_scale(panel, m, *, squared=False) -> np.ndarray:
    """(s,) mean absolute change over m steps, or its root mean square.

    Over one step where a series is too short for m; NaN where nothing changes.
    """
    out = np.full(len(panel), np.nan)
    for i, y in enumerate(panel.series):
        for lag in (m, 1):
            change = np.abs(y[lag:] - y[:-lag]) if len(y) > lag else np.zeros(0)
            change = change[~np.isnan(change)]
            if len(change) and change.max() > 0:
                out[i] = np.sqrt(np.mean(change**2)) if squared else change.mean()
                break
    return out


def mean_over_steps(errors) -> np.ndarray:
    """(s,) mean of errors (s, h) that are known; NaN where none is."""
    known = ~np.isnan(errors)
    total = np.where(known, errors, 0.0).sum(axis=1)
    count = known.sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def mase(y, f, scale) -> np.ndarray:
    """Eq. (1) of each series (s,).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import mase
    >>> mase(np.array([[2.0, 4.0]]), np.array([[1.0, 1.0]]), np.array([2.0]))
    array([1.])
    """
    return mean_over_steps(np.abs(y - f)) / scale


def rmsse(y, f, scale) -> np.ndarray:
    """Eq. (2) of each series (s,).

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import rmsse
    >>> rmsse(np.array([[3.0, 5.0]]), np.array([[0.0, 1.0]]), np.array([1.0])).round(3)
    array([3.536])
    """
    return np.sqrt(mean_over_steps((y - f) ** 2)) / scale


def smape(y, f) -> float:
    """Eq. (3) over all values, in percent.

    Examples
    --------
    >>> from pansophy.forecasting import smape
    >>> round(smape([[100.0, 0.0]], [[50.0, 0.0]]), 2)
    33.33
    """
    y = np.asarray(y, dtype=float)
    f = np.asarray(f, dtype=float)
    size = np.abs(y) + np.abs(f)
    part = np.where(size > 0, 200 * np.abs(y - f) / np.where(size > 0, size, 1), 0.0)
    return float(np.mean(part[~np.isnan(y)]))


def log_error_ratios(errors, reference) -> np.ndarray:
    """Logarithms of errors over those of a reference, between -log 100 and log 100.

    0 where neither errs; NaN where one is not known.
    """
    errors = np.asarray(errors, dtype=float)
    reference = np.asarray(reference, dtype=float)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(errors) - np.log(reference)
    ratio = np.where((errors == 0) & (reference == 0), 0.0, ratio)
    limit = np.log(MOST_RATIO)
    return np.clip(ratio, -limit, limit)


def skill(errors, reference) -> float:
    """Eq. (4): share of the error of a reference that is saved; 0 is as good as it.

    Examples
    --------
    >>> from pansophy.forecasting import skill
    >>> round(skill([1.0, 2.0], [2.0, 4.0]), 3)
    0.5
    """
    return float(1 - np.exp(np.nanmean(log_error_ratios(errors, reference))))
