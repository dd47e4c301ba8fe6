"""Forecasting of many series at once: classical methods, global models, the job."""

from .arima import ARIMA
from .exponential_smoothing import ExponentialSmoothing
from .frequency import Frequency, infer_frequency
from .intermittent import ADIDA, IMAPA, SBA, TSB, Croston
from .naive import Drift, Naive, Naive2, SeasonalNaive, WindowAverage
from .panel import Panel
from .stl import MSTL, Decomposition, mstl, stl
from .theta import DynamicTheta, Theta

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
    "Frequency",
    "MSTL",
    "Naive",
    "Naive2",
    "Panel",
    "SeasonalNaive",
    "Theta",
    "WindowAverage",
    "infer_frequency",
    "mstl",
    "stl",
]
