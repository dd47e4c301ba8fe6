"""The kept model of `forecast`: a fitted method, its intervals, and the user's columns.

It forecasts from the end of what it knows; new rows of the same columns move that end.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from ...core.plain_text import counted_noun
from ..abstract_forecaster import PanelForecast, levels_as_shares
from ..panel import Panel
from ..reconciliation import TOTAL, aggregate_panel, reconcile
from .backtest import LEVEL, implied_deviations
from .forecast_intervals import ForecastIntervals


@dataclass(eq=False, repr=False)
class ForecastModel:
    """A model that was kept by `pansophy.forecast`.

    Attributes
    ----------
    forecaster : forecaster
        Fitted to every value.
    intervals : ForecastIntervals
        Scores of earlier origins.
    method : str
        Its name.
    horizon : int
        Steps that are forecast unless others are asked for.
    columns : dict
        Names of the columns: "time", "target", "series" and "known".
    level : list of float
        Shares of the intervals, in percent.
    merge : {"sum", "mean"} or None
        What becomes of later rows with the same stamp.
    sums : array of shape (s, b) or None
        How the b bottom series, the last ones, sum to all s; None without a hierarchy.
    errors : array of shape (n, s) or None
        Errors at the earlier origins, by which the forecasts are reconciled.
    notes : list of str
        What was noticed in the later rows of `extended`.
    """

    forecaster: Any
    intervals: ForecastIntervals
    method: str
    horizon: int
    columns: dict = field(default_factory=dict)
    level: list = field(default_factory=lambda: [80, 95])
    merge: Any = None
    sums: Any = None
    errors: Any = None
    notes: list = field(default_factory=list)

    def __repr__(self):
        return f"ForecastModel({self.method}, {self.horizon} steps of {self.panel})"

    @property
    def panel(self) -> Panel:
        """The series up to the last value known."""
        return self.forecaster.panel_

    def predict(self, horizon=None, X_future=None, level=None) -> PanelForecast:
        """Means and conformal intervals of the next steps of every series."""
        horizon = self.horizon if horizon is None else horizon
        shares = levels_as_shares(self.level if level is None else level)
        forecast = self.forecaster.predict(horizon, X_future, level=[LEVEL])
        sd = implied_deviations(forecast)
        mean = self.intervals.means(forecast.mean)
        if self.sums is not None:
            mean = reconcile(
                mean,
                self.sums,
                errors=self.errors,
                non_negative=self.intervals.non_negative,
            )
        ends = {round(100 * q, 6): self.intervals.ends(mean, sd, q) for q in shares}
        return forecast._replace(mean=mean, intervals=ends)

    @property
    def level_sizes(self) -> list[int]:
        """Number of series of each level of the hierarchy, from the total down."""
        if self.sums is None:
            return []
        columns = [np.asarray(key) for key in self.panel.keys.values()]
        depth = np.sum([key != TOTAL for key in columns], axis=0)
        return np.bincount(depth).tolist()

    def predict_table(self, table=None, horizon=None, level=None):
        """Forecasts as an Arrow table with the user's names of columns.

        Parameters
        ----------
        table : data frame, Arrow table, dict of columns or file, optional
            Later rows of the same columns. Those with a value move the end of the
            series; those without give the known columns of the future.
        horizon : int, optional
        level : sequence of float, optional
        """
        model = self if table is None else self.extended(table)
        forecast = model.predict(horizon, level=level)
        flat = forecast.to_table()
        names = [
            {"time": self.columns["time"], "mean": self.columns["target"]}.get(c, c)
            for c in flat.column_names
        ]
        flat = flat.rename_columns(names)
        if not self.columns["series"]:
            flat = flat.drop_columns(["series"])
        return flat

    def extended(self, table) -> "ForecastModel":
        """The model after the rows of a table; this one stays as it is."""
        import copy

        from ...tables import read_table

        names = self.columns
        table = read_table(table)
        if names["target"] not in table.column_names:  # only what is known ahead
            empty = pa.nulls(table.num_rows, pa.float64())
            table = table.append_column(names["target"], empty)
        new = Panel.from_table(
            table,
            names["time"],
            names["target"],
            names["series"],
            known=names["known"],
            frequency=self.panel.frequency,
            merge=self.merge,
        )
        old = self.panel
        if self.sums is not None:  # totals follow from the bottom series
            old = old[slice(-self.sums.shape[1], None)]
        places = {name: i for i, name in enumerate(new.names)}
        unknown = [name for name in new.names if name not in set(old.names)]
        if unknown:
            raise ValueError(
                f"series {unknown[0]} was not there when the model was fitted: run "
                "`forecast` again."
            )
        notes = _later_notes(old, new, places)
        series = []
        known = []
        for i, name in enumerate(old.names):
            y = old.series[i]
            X = None if old.known is None else old.known[i]
            if name in places:
                y, X = joined_rows(old, i, new, places[name])
            series.append(y)
            known.append(X)
        from ...core.arrays.ragged import Ragged

        panel = Panel(
            Ragged.from_list(series),
            old.start,
            old.frequency,
            old.keys,
            None if old.known is None else Ragged.from_list(known),
            old.known_names,
        )
        if self.sums is not None:
            if (panel.ends < panel.ends.max()).any():
                raise ValueError(
                    "later rows of a hierarchy must bring all its series to the same "
                    "stamp, since totals are sums."
                )
            panel = aggregate_panel(panel, names["series"]).panel
            old = self.panel
        later_model = copy.copy(self)
        later_model.forecaster = copy.copy(self.forecaster)
        later_model.notes = notes
        unchanged = np.array_equal(panel.values, old.values, equal_nan=True)
        if unchanged:
            later_model.forecaster.panel_ = panel
        else:
            model = later_model.forecaster
            model._learn(panel, model._fit_panel)
        return later_model


def _later_notes(old, new, places) -> list[str]:
    """What was noticed in later rows; `places` are the series of `new` by name."""
    findings = new.findings._replace(gaps=0, uneven_ends=0, short=0, free_days=False)
    notes = findings.sentences()
    n_known_before = 0
    n_missing = 0
    for i, name in enumerate(old.names):
        if name in places:
            j = places[name]
            ordinals = new.start[j] + np.flatnonzero(~np.isnan(new.series[j]))
            later = ordinals[ordinals >= old.ends[i]]
            n_known_before += len(ordinals) - len(later)
            if len(later):
                n_missing += int(later[-1] + 1 - old.ends[i]) - len(later)
    if n_missing:
        verb = "has" if n_missing == 1 else "have"
        notes.append(
            f"{counted_noun(n_missing, 'grid point')} {verb} no value between the end "
            "of what the model knows and the last row."
        )
    if n_known_before:
        verb = "is" if n_known_before == 1 else "are"
        notes.append(
            f"{counted_noun(n_known_before, 'row')} {verb} not after the end of what "
            "the model knows of the series, and changed nothing."
        )
    return notes


def joined_rows(old, i, new, j) -> tuple[np.ndarray, Any]:
    """Values and covariates of a series, with those of later rows in their place."""
    first = int(new.start[j] - old.start[i])
    values = new.series[j]
    known = np.flatnonzero(~np.isnan(values))
    y = old.series[i]
    if len(known):
        length = max(len(y), first + known[-1] + 1)
        out = np.full(length, np.nan)
        out[: len(y)] = y
        place = first + known
        late = place >= len(y)
        if first < 0:
            raise ValueError(f"rows of series {old.names[i]} begin before its first.")
        out[place[late]] = values[known[late]]
        y = out
    if old.known is None:
        return y, None
    X = old.known[i]
    Z = new.known[j]
    length = max(len(X), first + len(Z))
    out = np.full((length, X.shape[1]), np.nan)
    out[: len(X)] = X
    out[first : first + len(Z)] = Z
    gaps = np.isnan(out[:, 0])
    place = np.maximum.accumulate(np.where(gaps, 0, np.arange(length)))
    return y, out[place]
