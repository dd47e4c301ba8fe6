"""The methods that `forecast` tries: which suit a panel, and why others are left out.

Classical methods fit every series by itself; global ones learn from all of them. What
costs too much for a panel is left out with a reason, never silently.
"""

from typing import Any, NamedTuple

import numpy as np

from ..seasonality import positive_series

REFERENCE = "seasonal naive"  # of the skill
BASELINES = ("naive", "seasonal naive", "drift", "window average")
MEDIAN = "median blend"
WEIGHTED = "weighted blend"
ZERO_SHARE = 0.3  # of zeros, from which methods of intermittent demand are tried
MAX_ARIMA_VALUES = 6_000  # in all, and of a series
MAX_ARIMA_LENGTH = 1_500
MAX_MSTL_VALUES = 300_000
MIN_BOOSTER_ROWS = 300
MAX_DIRECT = 30  # steps with models of their own
SHORT_SEASON = 24


class CandidateMethods(NamedTuple):
    """Methods by name, and those left out with a reason."""

    methods: dict[str, Any]
    skipped: dict[str, str]


def candidate_methods(panel, seasons, horizon, seed=0) -> CandidateMethods:
    """Methods for a panel; `seasons` are the lengths of its seasons, shortest first.

    Examples
    --------
    >>> import numpy as np
    >>> from pansophy.forecasting import Panel
    >>> from pansophy.forecasting.comparison.method_table import candidate_methods
    >>> found = candidate_methods(Panel.from_list([np.arange(20.0)]), [], 4)
    >>> "theta" in found.methods, found.skipped["MSTL"]
    (True, 'there is one season of at most 24 steps, or none')
    """
    from ..arima import ARIMA
    from ..exponential_smoothing import ExponentialSmoothing
    from ..global_forecaster import GlobalForecaster
    from ..intermittent import ADIDA, IMAPA, SBA, TSB
    from ..naive import Drift, Naive, SeasonalNaive, WindowAverage
    from ..stl import MSTL
    from ..theta import DynamicTheta, Theta

    m = max(round(seasons[0]), 1) if seasons else 1
    n = len(panel.values)
    methods: dict[str, Any] = {
        "naive": Naive(),
        REFERENCE: SeasonalNaive(m),
        "drift": Drift(),
        "window average": WindowAverage(max(m, 4)),
        "theta": Theta(m),
        "dynamic theta": DynamicTheta(m),
        "exponential smoothing": ExponentialSmoothing(season_length=m),
        "damped trend": ExponentialSmoothing(trend="add", damped=True, season_length=m),
    }
    skipped = {}
    longest = int(panel.lengths.max())
    cycles = [round(p) for p in seasons if 2 <= round(p) <= longest // 2]
    if not cycles or (len(cycles) == 1 and cycles[0] <= SHORT_SEASON):
        skipped["MSTL"] = "there is one season of at most 24 steps, or none"
    elif n > MAX_MSTL_VALUES:
        skipped["MSTL"] = f"{n:,} values are too many for its local regressions"
    else:
        methods["MSTL"] = MSTL(cycles)
    if n > MAX_ARIMA_VALUES or longest > MAX_ARIMA_LENGTH:
        skipped["ARIMA"] = (
            f"{n:,} values are too many for the exact likelihood of every series"
        )
    else:
        methods["ARIMA"] = ARIMA(season_length=m)
    zeros = np.nanmean(panel.values == 0) if n else 0.0
    intermittent = {
        "Croston (SBA)": SBA(),
        "TSB": TSB(),
        "ADIDA": ADIDA(),
        "IMAPA": IMAPA(),
    }
    if zeros >= ZERO_SHARE and np.nanmin(panel.values) >= 0:
        methods |= intermittent
    else:
        reason = f"{100 * zeros:.0f} % of the values are 0; it is for 30 % or more"
        skipped |= dict.fromkeys(intermittent, reason)
    direct = min(horizon, MAX_DIRECT)
    methods["global ridge"] = GlobalForecaster(horizon=direct, season_length=m)
    if n < MIN_BOOSTER_ROWS:
        skipped["global booster"] = f"{n} values are too few; it needs 300"
    else:
        from ...ensemble import HistGradientBoostingRegressor

        booster = HistGradientBoostingRegressor(
            max_iter=60, learning_rate=0.1, min_samples_leaf=20, random_state=seed
        )
        steps = direct if n * direct <= 1_000_000 else 1
        methods["global booster"] = GlobalForecaster(
            booster, horizon=steps, season_length=m
        )
    if not positive_series(panel).any():
        skipped["multiplicative forms"] = "no series has all its values above 0"
    return CandidateMethods(methods, skipped)


def chosen_methods(candidates, names) -> CandidateMethods:
    """Only the named methods, and the reference."""
    if names is None:
        return candidates
    known = {**candidates.methods}
    for name in names:
        if name in candidates.skipped:
            raise ValueError(f"{name!r} cannot be tried: {candidates.skipped[name]}.")
        if name not in known:
            raise ValueError(
                f"There is no method {name!r}; there are {', '.join(known)}."
            )
    kept = {k: v for k, v in known.items() if k in names or k == REFERENCE}
    left = dict.fromkeys(known.keys() - kept.keys(), "it was not asked for")
    return CandidateMethods(kept, {**candidates.skipped, **left})
