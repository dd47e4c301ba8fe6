"""`forecast`: from a table with dates to forecasts of every series, honestly.

The table becomes a panel, aloud (`panel`). All methods that suit it forecast the same
origins (`backtest`). They are compared on the earlier ones, where blends of the best
are made too; the best is kept. The test block, the last horizon of values, has no say
in any of that, and tells how the kept method and its intervals fare on values that
nothing was chosen on. Then the kept method is fitted to all values.

Where there are no earlier origins, nothing can be chosen honestly: the median of
exponential smoothing and both Theta methods is kept.

Of a hierarchy the totals are series too. Methods are compared on all series; then the
forecasts of the kept one are reconciled (MinT), with the covariance of its errors at
the earlier origins, of which each leaves its own out when it is judged itself.
"""

import hashlib
import sys
import time as clock
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...params import check_count
from ..abstract_forecaster import PanelForecast, levels_as_shares
from ..forecast_blend import ForecastBlend, inverse_error_weights
from ..measures import naive_scale, skill
from ..panel import Panel
from ..reconciliation import aggregate_panel, reconcile
from ..seasonality import seasonal_adjustment
from . import backtest
from .forecast_intervals import (
    ForecastIntervals,
    conformal_scores,
    coverage_by_step,
    value_kinds,
)
from .forecast_model import ForecastModel
from .forecast_ranking import MethodErrors, rank_forecasters, series_errors
from .method_table import (
    BASELINES,
    MEDIAN,
    REFERENCE,
    WEIGHTED,
    candidate_methods,
    chosen_methods,
)

MOST_MEMBERS = 4  # of a blend
FEWEST_MEMBERS = 2
COVERAGE_LEVEL = 0.8


class SeasonEvidence(NamedTuple):
    """The seasons that were used, and how many series show the first."""

    lengths: tuple[float, ...]
    significant: int
    series: int
    given: bool


class ForecastComparison(NamedTuple):
    """The result of `forecast`."""

    panel: Panel
    target: str
    horizon: int
    season: SeasonEvidence
    origins: list
    together: bool  # whether all series were cut at the same stamps
    ranking: list
    kept: str
    chosen: bool  # whether on earlier origins
    members: list  # of blends
    forecast: PanelForecast
    coverage: dict  # level -> (h,) of the kept method in the test block
    test_skill: float  # of the kept method in the test block
    per_series: dict  # columns of the errors of the kept method
    skipped: dict
    failures: dict
    model: ForecastModel
    notes: list
    unreconciled_skill: float = np.nan  # in the test block, of a hierarchy

    def to_dict(self) -> dict:
        """Everything as plain data."""
        return {
            "target": self.target,
            "series": len(self.panel),
            "frequency": self.panel.frequency.name,
            "horizon": self.horizon,
            "season": self.season._asdict(),
            "origins": max(len(self.origins) - 1, 0),
            "findings": self.panel.findings.sentences(),
            "ranking": [
                {**r._asdict(), "skill": list(r.skill), "standing": str(r.standing)}
                for r in self.ranking
            ],
            "kept": self.kept,
            "members": self.members,
            "test_skill": self.test_skill,
            "levels": self.model.level_sizes,
            "unreconciled_skill": (
                self.unreconciled_skill
                if np.isfinite(self.unreconciled_skill)
                else None
            ),
            "coverage": {
                f"{k:g}": list(map(float, v)) for k, v in self.coverage.items()
            },
            "skipped": self.skipped,
            "failures": self.failures,
        }

    def table(self):
        """The forecasts as an Arrow table, with the user's names of columns."""
        return self.model.predict_table()

    def write(self, folder) -> dict[str, Path]:
        """Write report, forecasts, errors of every series, results and the model."""
        from .forecast_report import write_forecast

        return write_forecast(self, Path(folder))

    def __str__(self):
        from .forecast_report import forecast_text

        return forecast_text(self)

    def _repr_html_(self):
        from .forecast_report import render_forecast

        return render_forecast(self)


def forecast(
    table,
    *,
    time,
    target,
    horizon,
    series=(),
    known=(),
    hierarchy=None,
    season=None,
    level=(80, 95),
    merge=None,
    methods=None,
    n_origins=backtest.MAX_ORIGINS,
    **run,
) -> ForecastComparison:
    """Forecast every series of a table, by the method that did best before.

    Parameters
    ----------
    table : data frame, Arrow table, dict of columns or file
        A row for each series and stamp.
    time, target : str
        Columns of dates (or whole numbers) and of the values to forecast.
    horizon : int
        Steps ahead.
    series : list of str
        Columns that name the series; none for a single one.
    known : list of str
        Columns of numbers that are known in the future; rows without a target after
        the last value give them there.
    hierarchy : list of str, optional
        The columns of `series` from the coarsest to the finest. Totals by the first
        0, 1, ... of them are forecast too, and all forecasts add up.
    season : list of float, optional
        Lengths of the seasons in steps; None for those usual at the frequency.
    level : sequence of float
        Shares of the intervals, in percent.
    merge : {"sum", "mean"}, optional
        What becomes of rows of a series with the same stamp; they are refused if it
        is not given.
    methods : list of str, optional
        Names of the methods to try; None for all that suit the panel.
    n_origins : int
        Most earlier origins on which methods are compared.
    run
        `seed` (0), `folder` in which finished fits are kept, `resume` to go on with
        what is there, and `progress` to say on standard error what is done.

    Examples
    --------
    >>> import numpy as np
    >>> import pansophy
    >>> month = np.arange("2018-01", "2024-01", dtype="M8[M]").astype("M8[D]")
    >>> sales = 100 + np.arange(72) + 20 * np.tile(np.sin(np.arange(12) / 2), 6)
    >>> result = pansophy.forecast({"month": month.astype(str), "sales": sales},
    ...     time="month", target="sales", horizon=6,
    ...     methods=["theta", "exponential smoothing"])
    >>> result.panel.frequency.name, result.forecast.mean.shape
    ('monthly', (1, 6))
    """
    options = _checked_run_options(run)
    horizon = check_count("horizon", horizon)
    n_origins = check_count("n_origins", n_origins)
    levels = levels_as_shares(level)
    columns = _named_columns(time, target, series, known, hierarchy)
    panel, sums = _read_series(table, columns, merge, hierarchy, horizon)
    lengths = checked_seasons(panel, season)
    evidence = _season_evidence(panel, lengths, season is not None)
    candidates = candidate_methods(panel, lengths, horizon, options["seed"])
    candidates = chosen_methods(candidates, methods)
    m = max(round(lengths[0]), 1) if lengths else 1
    contest = _compare_methods(candidates, panel, horizon, m, n_origins, options)
    results, kept = contest.results, contest.kept
    forecaster = _kept_forecaster(kept, contest.members, candidates.methods, results, m)
    is_chosen = bool(contest.ranking)
    skill_before = results.test_skill(kept) if is_chosen else np.nan
    errors = results.reconcile_kept(kept, sums) if sums is not None else None
    model = ForecastModel(
        forecaster.fit(panel),
        results.intervals(kept, from_origin=0)._replace(
            **dict(zip(("non_negative", "whole"), value_kinds(panel.values)))
        ),
        kept,
        horizon,
        columns,
        [100 * q for q in levels],
        merge,
        sums,
        errors,
    )
    return ForecastComparison(
        panel,
        target,
        horizon,
        evidence,
        results.origins,
        backtest.common_end(panel),
        contest.ranking,
        kept,
        is_chosen,
        contest.members,
        model.predict(),
        results.coverage(kept, levels) if is_chosen else {},
        results.test_skill(kept) if is_chosen else np.nan,
        results.per_series(kept) if is_chosen else {},
        candidates.skipped,
        contest.failures,
        model,
        panel.findings.sentences(),
        np.nan if sums is None else skill_before,
    )


class MethodContest(NamedTuple):
    """Which method is kept, and what it was chosen on."""

    results: "Results"
    members: list  # of blends
    ranking: list
    kept: str
    failures: dict  # method -> why it failed


def _compare_methods(candidates, panel, horizon, m, n_origins, options):
    """Forecast the earlier origins by all methods, and choose where that is honest."""
    origins = backtest.make_origins(panel, horizon, least_history(m), n_origins)
    trials, failures = _run_origins(
        candidates.methods, panel, origins, horizon, options
    )
    past = backtest.cut_panel(panel, origins[0]) if origins else panel
    results = Results(panel, origins, trials, m, value_kinds(past.values))
    comparable = results.are_comparable()
    members = results.add_blends() if comparable else []
    ranking = results.ranking() if comparable else []
    kept = ranking[0].method if ranking else MEDIAN
    return MethodContest(results, members, ranking, kept, failures)


def _named_columns(time, target, series, known, hierarchy) -> dict[str, Any]:
    """The columns of the table by what they are."""
    series = [series] if isinstance(series, str) else list(series)
    known = [known] if isinstance(known, str) else list(known)
    series = _checked_hierarchy(hierarchy, series, known)
    return {"time": time, "target": target, "series": series, "known": known}


def _read_series(table, columns, merge, hierarchy, horizon):
    """The panel, with the totals of a hierarchy; which series add up to which."""
    names = columns["series"]
    panel = Panel.from_table(
        table,
        columns["time"],
        columns["target"],
        names,
        known=columns["known"],
        merge=merge,
    )
    _refuse_no_values(panel, columns["target"])
    sums = None
    if hierarchy:
        _refuse_uneven_ends(panel)
        panel, sums, _ = aggregate_panel(panel, names)
    if columns["known"]:
        panel.future_known(horizon)  # one sentence if they do not reach so far
    return panel, sums


def _checked_run_options(run) -> dict[str, Any]:
    options = {"seed": 0, "folder": None, "resume": False, "progress": False}
    unknown = [name for name in run if name not in options]
    if unknown:
        raise TypeError(f"forecast has no parameter {unknown[0]!r}.")
    return {**options, **run}


def _checked_hierarchy(hierarchy, series, known) -> list[str]:
    """Columns that name the series: those of a hierarchy, from coarse to fine."""
    if not hierarchy:
        return series
    columns = [hierarchy] if isinstance(hierarchy, str) else list(hierarchy)
    if series and set(series) != set(columns):
        raise ValueError(
            f"hierarchy must name the columns of series ({', '.join(series)}), from "
            f"the coarsest to the finest, got {', '.join(columns)}."
        )
    if known:
        raise ValueError(
            "hierarchy and known cannot be given together: what is known of a series "
            "is not known of its totals."
        )
    return columns


def _refuse_no_values(panel, target):
    if not panel.observed().any():
        raise ValueError(f"Column {target!r} has no value to learn from.")


def _refuse_uneven_ends(panel):
    """One sentence where totals of a hierarchy would not be known to the end."""
    empty = np.flatnonzero(panel.observed() == 0)
    if len(empty):
        raise ValueError(
            f"In a hierarchy every series needs values; {panel.names[empty[0]]} has "
            "none: leave it out."
        )
    early = np.flatnonzero(panel.ends < panel.ends.max())
    if len(early):
        raise ValueError(
            f"In a hierarchy all series must end together, since totals are sums; "
            f"{len(early)} end before the others, such as {panel.names[early[0]]}: "
            "give their last rows (0 where nothing was sold), or leave them out."
        )


def least_history(m) -> int:
    """Values before an origin from which most methods can learn."""
    return max(2 * m + 1, 8) if m <= 52 else m + 1


def checked_seasons(panel, season) -> list[float]:
    """Season lengths, shortest first."""
    if season is None:
        return list(panel.frequency.seasons)
    values = np.atleast_1d(np.asarray(season, dtype=float))
    if values.ndim != 1 or not (np.isfinite(values) & (values >= 1)).all():
        raise ValueError(f"season must be lengths of at least 1 step, got {season!r}.")
    return sorted(float(v) for v in values)


def _season_evidence(panel, lengths, given) -> SeasonEvidence:
    m = round(lengths[0]) if lengths else 1
    significant = 0
    if m > 1:
        significant = int(seasonal_adjustment(panel, m).found.sum())
    return SeasonEvidence(tuple(lengths), significant, len(panel), given)


def _run_origins(methods, panel, origins, horizon, options):
    """Forecasts by (method, origin), and why methods failed."""
    store = _open_store(methods, panel, origins, horizon, options)
    trials: dict[tuple[str, int], backtest.OriginForecast] = {}
    failures: dict[str, str] = {}
    began = clock.perf_counter()
    for number, (name, forecaster) in enumerate(methods.items()):
        if options["progress"]:
            print(
                f"{number + 1:3d}/{len(methods)}  {name}  "
                f"({clock.perf_counter() - began:.0f} s)",
                file=sys.stderr,
            )
        for origin in origins:
            result = store.read(name, origin) if store else None
            if result is None:
                result = backtest.forecast_origin(forecaster, panel, origin, horizon)
                if store:
                    store.write(name, origin, result)
            trials[name, origin.number] = result
            if result.failure:
                failures[name] = result.failure
                break
    if store:
        store.close()
    kept = {k: v for k, v in trials.items() if k[0] not in failures}
    return kept, failures


class OriginStore:
    """Forecasts of finished fits in the run folder that `compare` uses."""

    def __init__(self, folder, n_origins):
        self.folder = folder
        names = list(folder.plan["methods"])
        self.names = names
        self.done = {
            (names[o.method], o.fold): o
            for o in folder.finished(names, {}, n_origins)
            if o.predictions is not None
        }

    def read(self, name, origin):
        outcome = self.done.get((name, origin.number))
        if outcome is None:
            return None
        mean, sd = outcome.predictions
        return backtest.OriginForecast(
            mean, sd, outcome.fit_seconds, outcome.warned.get("fallback", 0)
        )

    def write(self, name, origin, found):
        from ...compare.execution.plan import FailureKind, FitOutcome

        failed = bool(found.failure)
        self.folder.write(
            name,
            FitOutcome(
                self.names.index(name),
                origin.number,
                {},
                float(found.seconds),
                0.0,
                None if failed else np.stack([found.mean, found.sd]),
                {"fallback": found.fallbacks},
                found.failure,
                FailureKind.ERROR if failed else FailureKind.NONE,
            ),
        )

    def close(self):
        self.folder.close()


def _open_store(methods, panel, origins, horizon, options) -> OriginStore | None:
    """The run folder, if one is asked for."""
    if options["folder"] is None:
        return None
    from ...compare.execution.plan import fingerprint, recorded_versions
    from ...compare.execution.run_folder import open_run

    total = hashlib.sha256(panel.values.tobytes() + panel.offsets.tobytes())
    total.update(panel.start.tobytes())
    if panel.known is not None:
        total.update(panel.known.values.tobytes())
    cuts = hashlib.sha256(b"".join(o.lengths.tobytes() for o in origins))
    plan = {
        "data_hash": total.hexdigest()[:16],
        "rows": len(panel.values),
        "target": f"{horizon} steps",
        "task": "forecasting",
        "split_hash": cuts.hexdigest()[:16],
        "seed": options["seed"],
        "limits": {},
        "methods": {
            name: fingerprint(
                (
                    type(f).__name__,
                    sorted((k, repr(v)) for k, v in f.get_params().items()),
                )
            )
            for name, f in methods.items()
        },
        "versions": recorded_versions(),
    }
    folder = open_run(options["folder"], plan, resume=options["resume"])
    return OriginStore(folder, len(origins))


class Results:
    """Forecasts of all methods at all origins, and what follows from them."""

    def __init__(self, panel, origins, trials, m, kinds):
        self.panel = panel
        self.origins = origins
        self.trials = trials
        self.kinds = kinds
        self.scales = [naive_scale(backtest.cut_panel(panel, o), m) for o in origins]

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(name for name, _ in self.trials))

    def _spread(self, origin, values) -> np.ndarray:
        """Values (k, h) of the series used at an origin, in the rows of all (s, h)."""
        out = np.full((len(self.panel), values.shape[1]), np.nan)
        out[origin.used] = values
        return out

    def errors(self, name, origins) -> MethodErrors:
        """Scaled errors of a method at some origins."""
        signed = []
        for o in origins:
            f = self._mean(name, o)
            e = (f - o.actual[o.used]) / self.scales[o.number][:, None]
            signed.append(self._spread(o, e))
        stacked = np.stack(signed)
        return MethodErrors(np.abs(stacked), stacked)

    def _mean(self, name, origin):
        mean = self.trials[name, origin.number].mean
        return np.maximum(mean, 0.0) if self.kinds[0] else mean

    def are_comparable(self) -> bool:
        """Whether some series has a scaled error at an earlier origin.

        None has where there is no such origin, or where no series changes before it.
        """
        if len(self.origins) < 2:
            return False
        return bool(
            np.isfinite(series_errors(self.errors(REFERENCE, self.origins[1:]))).any()
        )

    def reconcile_kept(self, name, sums) -> np.ndarray:
        """Errors (n, s) of a method at the earlier origins; its means there add up.

        The means at an origin are reconciled by the errors at the other earlier ones.
        Origins at which a series is not there yet stay as they are.
        """
        s = len(self.panel)
        errors = {
            o.number: (self._mean(name, o) - o.actual).T
            for o in self.origins
            if (name, o.number) in self.trials
            and len(o.used) == s
            and np.isfinite(self._mean(name, o)).all()
        }
        earlier = [k for k in errors if k > 0]
        for o in self.origins:
            if o.number not in errors:
                continue
            other_errors = [errors[k] for k in earlier if k != o.number]
            trial = self.trials[name, o.number]
            mean = reconcile(
                self._mean(name, o),
                sums,
                errors=np.concatenate([np.zeros((0, s)), *other_errors]),
                non_negative=self.kinds[0],
            )
            self.trials[name, o.number] = trial._replace(mean=mean)
        return np.concatenate([np.zeros((0, s)), *(errors[k] for k in earlier)])

    def add_blends(self) -> list[str]:
        """Blends of the best methods at the earlier origins; the names of members."""
        earlier = self.origins[1:]
        real = [n for n in self.names if n not in BASELINES]
        score = {
            n: float(np.nanmean(series_errors(self.errors(n, earlier)))) for n in real
        }
        members = sorted(real, key=lambda n: score[n])[:MOST_MEMBERS]
        if len(members) < FEWEST_MEMBERS:
            return []
        self.weights = inverse_error_weights([score[n] for n in members])
        for o in self.origins:
            parts = [self.trials[n, o.number] for n in members]
            if len(members) > 2:  # the median of two is their mean
                self.trials[MEDIAN, o.number] = backtest.blend_origins(parts)
            self.trials[WEIGHTED, o.number] = backtest.blend_origins(
                parts, self.weights
            )
        return members

    def intervals(self, name, *, from_origin=1) -> ForecastIntervals:
        """Conformal scores of the origins from a number on; 1 leaves the test out."""
        scores = [
            conformal_scores(
                o.actual[o.used], self._mean(name, o), self.trials[name, o.number].sd
            )
            for o in self.origins[from_origin:]
            if (name, o.number) in self.trials
        ]
        empty = np.zeros((0, 1))
        return ForecastIntervals(
            np.concatenate(scores) if scores else empty, self.kinds[0], self.kinds[1]
        )

    def test_ends(self, name, level) -> np.ndarray:
        """(k, h, 2) intervals of the test block from the earlier origins."""
        sd = self.trials[name, 0].sd
        return self.intervals(name).ends(self._mean(name, self.origins[0]), sd, level)

    def coverage(self, name, levels) -> dict:
        """By level in percent, the share held at every step of the test block."""
        o = self.origins[0]
        return {
            round(100 * q, 6): coverage_by_step(
                o.actual[o.used], self.test_ends(name, q)
            )
            for q in levels
        }

    def test_skill(self, name) -> float:
        test = self.origins[:1]
        mine, theirs = (series_errors(self.errors(n, test)) for n in (name, REFERENCE))
        return skill(mine, theirs)

    def ranking(self) -> list:
        earlier = self.origins[1:]
        horizon = self.origins[0].actual.shape[1]
        start = self.panel.start[:, None]
        moments = np.stack(
            [start + o.lengths[:, None] + np.arange(horizon) for o in earlier]
        )
        errors = {n: self.errors(n, earlier) for n in self.names}
        details = {}
        for n in self.names:
            held = self.coverage(n, [COVERAGE_LEVEL])[100 * COVERAGE_LEVEL]
            runs = [self.trials[n, o.number] for o in self.origins]
            details[n] = (
                self.test_skill(n),
                float(np.nanmean(held)),
                float(np.median([r.seconds for r in runs])),
                max(r.fallbacks for r in runs),
            )
        return rank_forecasters(errors, REFERENCE, moments, details)

    def per_series(self, name) -> dict[str, np.ndarray]:
        """Errors of the kept method for every series, earlier and in the test block."""
        earlier = self.errors(name, self.origins[1:])
        test = self.errors(name, self.origins[:1])
        base = self.errors(REFERENCE, self.origins[1:])
        return {
            **{k: np.asarray(v) for k, v in self.panel.keys.items()},
            "values": self.panel.observed(),
            "MASE": series_errors(earlier),
            "MASE of seasonal naive": series_errors(base),
            "MASE in the test block": series_errors(test),
        }


def _kept_forecaster(kept, members, methods, results, m):
    """The method to fit to all values."""
    if kept not in (MEDIAN, WEIGHTED):
        return methods[kept]
    if not members:
        from ..exponential_smoothing import ExponentialSmoothing
        from ..theta import DynamicTheta, Theta

        return ForecastBlend(
            [ExponentialSmoothing(season_length=m), Theta(m), DynamicTheta(m)]
        )
    parts = [methods[n] for n in members]
    if kept == MEDIAN:
        return ForecastBlend(parts)
    return ForecastBlend(parts, weights=[float(w) for w in results.weights])
