"""How well do the forecasting methods do on the 3,003 series of the M3 competition?

    python -m benchmarks.studies.m3 m3.parquet [method ...]

The file has the columns series, period (YEARLY, QUARTERLY, MONTHLY, OTHER), t, value
and test (whether a point was to be forecast). The series are not part of this project:
they are those of the R package Mcomp (GPL-3). Every method sees the values before the
test points once, and sMAPE is the mean over all test points, as in the competition.
"choice" is `pansophy.forecast` itself on each of the four groups: origins, ranking and
blends within the values before the test points.
"""

import sys
import time

import numpy as np

from pansophy.forecasting import (
    ARIMA,
    DynamicTheta,
    ExponentialSmoothing,
    Frequency,
    GlobalForecaster,
    Naive,
    Naive2,
    Panel,
    SeasonalNaive,
    Theta,
    forecast,
    smape,
)

GROUPS = {
    "YEARLY": (Frequency("month", 12, 1), 6),
    "QUARTERLY": (Frequency("month", 3, 1), 8),
    "MONTHLY": (Frequency("month", 1, 1), 18),
    "OTHER": (Frequency("step", 1, 0), 8),
}


def booster():
    from pansophy.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(max_iter=60, random_state=0)


METHODS = {
    "naive": lambda h: Naive(),
    "seasonal naive": lambda h: SeasonalNaive(),
    "naive 2": lambda h: Naive2(),
    "theta": lambda h: Theta(),
    "dynamic theta": lambda h: DynamicTheta(),
    "exponential smoothing": lambda h: ExponentialSmoothing(),
    "damped trend": lambda h: ExponentialSmoothing(trend="add", damped=True),
    "global ridge": lambda h: GlobalForecaster(horizon=h),
    "global booster": lambda h: GlobalForecaster(booster(), horizon=h),
    "ARIMA (conditional)": lambda h: ARIMA(exact=False),
}
BLENDS = {
    "median of ETS, ARIMA, dynamic theta, damped trend": (
        "exponential smoothing", "ARIMA (conditional)", "dynamic theta", "damped trend",
    ),
    "median of ETS, dynamic theta, theta": (
        "exponential smoothing", "dynamic theta", "theta",
    ),
    "median of ETS, dynamic theta, ridge, booster": (
        "exponential smoothing", "dynamic theta", "global ridge", "global booster",
    ),
}  # fmt: skip


def read_groups(path):
    """Panel, values to forecast and horizon of every group."""
    import pyarrow.parquet as pq

    table = pq.read_table(path).to_pandas()
    groups = {}
    for name, (frequency, horizon) in GROUPS.items():
        part = table[table.period == name]
        split = {}
        for test, rows in part.groupby("test"):
            split[test] = [r.value.to_numpy() for _, r in rows.groupby("series")]
        panel = Panel.from_list(split[False], frequency=frequency)
        groups[name] = (panel, np.array(split[True]), horizon)
    return groups


def print_row(name, groups, means, seconds):
    """sMAPE of each group and of all points."""
    parts = [smape(y, means[g]) for g, (_, y, _) in groups.items()]
    sizes = [y.size for _, y, _ in groups.values()]
    cells = "  ".join(f"{v:6.2f}" for v in [*parts, np.average(parts, weights=sizes)])
    print(f"{name:50} {cells}  {seconds:7.1f} s", flush=True)


def automatic_choice(panel, horizon):
    """What `forecast` says of a group."""
    t = np.concatenate([np.arange(n) for n in panel.lengths])
    stamps = panel.frequency.stamps(t).astype(np.int64)
    dates = stamps.astype("M8[s]") if panel.frequency.has_dates else stamps
    table = {
        "t": dates,
        "series": np.repeat(np.arange(len(panel)), panel.lengths),
        "y": panel.values,
    }
    found = forecast(
        table, time="t", target="y", series=["series"], horizon=horizon, n_origins=1
    )
    print(f"    {found.kept}: {', '.join(found.members)}", flush=True)
    return found.forecast.mean


def main(path, *names):
    groups = read_groups(path)
    heads = "  ".join(f"{g:>6}" for g in ("year", "quart", "month", "other", "all"))
    print(f"{'sMAPE':50} {heads}")
    means = {}
    for name, make in METHODS.items():
        if names and name not in names:
            continue
        began = time.process_time()
        means[name] = {
            g: make(h).fit(panel).predict(h).mean for g, (panel, _, h) in groups.items()
        }
        print_row(name, groups, means[name], time.process_time() - began)
    for name, members in BLENDS.items():
        if all(m in means for m in members):
            blend = {
                g: np.median([means[m][g] for m in members], axis=0) for g in groups
            }
            print_row(name, groups, blend, 0.0)
    if not names or "choice" in names:
        began = time.process_time()
        found = {g: automatic_choice(p, h) for g, (p, _, h) in groups.items()}
        print_row(
            "choice of pansophy.forecast", groups, found, time.process_time() - began
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
