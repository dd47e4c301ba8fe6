"""Forecasting of many series at once: classical methods, global models, the job."""

import importlib

from .arima import ARIMA
from .exponential_smoothing import ExponentialSmoothing
from .forecast_blend import ForecastBlend, inverse_error_weights
from .frequency import Frequency, infer_frequency
from .global_forecaster import GlobalForecaster
from .intermittent import ADIDA, IMAPA, SBA, TSB, Croston
from .measures import mase, rmsse, skill, smape
from .naive import Drift, Naive, Naive2, SeasonalNaive, WindowAverage
from .panel import Panel
from .reconciliation import Hierarchy, aggregate_panel, reconcile
from .stl import MSTL, Decomposition, mstl, stl
from .theta import DynamicTheta, Theta

LATE = {  # the job imports all that `compare` needs
    "ForecastComparison": "comparison.run_forecast",
    "ForecastModel": "comparison.forecast_model",
    "forecast": "comparison.run_forecast",
}

__all__ = [
    "ADIDA",
    "ARIMA",
    "IMAPA",
    "SBA",
    "TSB",
    "Croston",
    "Decomposition",
    "Drift",
    "DynamicTheta",
    "ExponentialSmoothing",
    "ForecastComparison",
    "ForecastModel",
    "ForecastBlend",
    "Frequency",
    "GlobalForecaster",
    "Hierarchy",
    "MSTL",
    "Naive",
    "Naive2",
    "Panel",
    "SeasonalNaive",
    "Theta",
    "WindowAverage",
    "aggregate_panel",
    "forecast",
    "infer_frequency",
    "inverse_error_weights",
    "mase",
    "mstl",
    "reconcile",
    "rmsse",
    "skill",
    "smape",
    "stl",
]


def __getattr__(name):
    if name in LATE:
        return getattr(importlib.import_module(f".{LATE[name]}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)


def __dir__():
    return sorted({*globals(), *LATE})
