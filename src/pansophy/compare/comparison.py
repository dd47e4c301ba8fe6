"""The outcome: a leaderboard with intervals, a verdict in words, a model to keep."""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..diagnose.findings import as_dicts, plain
from ..tables import Schema
from .evaluation.bayesian_tests import default_rope
from .evaluation.ranking import (
    BaselineComparison,
    RankedMethod,
    Tradeoff,
    compare_with_baselines,
    decide,
    expected_best_score,
    paired_intervals,
    rank_methods,
    tradeoff_of_best,
)
from .metrics import Metric, metrics_for
from .model.table_model import TableModel, fit_table_model
from .samples import Samples

__all__ = [
    "BaselineComparison",
    "Comparison",
    "Tradeoff",
    "RankedMethod",
    "decide",
    "expected_best_score",
    "dataframe_library",
    "paired_intervals",
    "rank_methods",
]


def dataframe_library(table) -> str:
    """Of a dataframe: pandas or polars; arrow for all else."""
    home = type(table).__module__.split(".")[0]
    return home if home in ("pandas", "polars") else "arrow"


def fit_kept_model(c) -> TableModel:
    """The winner fitted on all rows, also those beyond a sample, and its threshold."""
    method = c.trial(c.winner).method
    if c.settings.get("sampled") and c.taken is not None:
        from .model.refit import refit_on_all_rows

        model = refit_on_all_rows(method, c.taken.source, c)
    else:
        model = fit_table_model(method, c.data, c)
    if c.settings.get("costs"):
        from .report.decisions import least_cost_threshold
        from .report.plot_data import held_out_predictions

        model = model.with_threshold(least_cost_threshold(c, held_out_predictions(c)))
    return model


@dataclass(repr=False)
class Comparison:
    """What `compare` returns.

    Attributes
    ----------
    leaderboard : list of Row
        Methods that finished every fold, best first.
    table : dataframe or Arrow table
        The same, of the kind that was compared.
    winner : str
        The method that is kept; see `ranking` for the rule.
    best : TableModel
        The winner, fitted on all rows; saved by `save`.
    verdict : str
        The answer in a sentence or two.
    disqualified : list of (name, reason)
        Methods that failed, ran out of time or memory, or were cut off.
    not_run : list of (name, reason)
        Methods that were not tried.
    findings : list of diagnose.Finding
        What looks suspicious in the table.
    notes : list of str
        What was done to the table.
    complete : bool
        False if the comparison was interrupted.
    expected : float or None
        The best score after allowing for having picked the best of several.
    """

    schema: Schema
    settings: dict
    leaderboard: list[RankedMethod]
    disqualified: list[tuple[str, str]]
    not_run: list[tuple[str, str]]
    notes: list[str]
    winner: str
    verdict: str
    complete: bool
    expected: float | None
    trials: list
    data: Samples
    findings: list = field(default_factory=list)
    overview: Any = None  # of diagnose.explore
    split: Any = None  # kind, why and folds
    folder: Any = None  # where the run is kept
    running: Any = None  # limits it ran under
    like: str = "arrow"  # kind of dataframe that was compared
    taken: Any = None  # the table itself, and where it came from
    second: Any = None  # what rows say about the dummy, where folds are few
    on_test: Any = None  # the ranked methods on a test table, if there is one
    _model: TableModel | None = None
    _views: dict = field(default_factory=dict)  # what pictures are drawn from

    @property
    def metric(self) -> str:
        """Name of what ranks."""
        return self.settings["metric"]

    @property
    def metrics(self) -> list[Metric]:
        return metrics_for(self.schema.task, self.metric)

    @property
    def ratio(self) -> float:
        """Test rows over training rows of a fold."""
        known = getattr(self.split, "ratio", None)
        return 1 / (self.settings["folds"] - 1) if known is None else known

    @property
    def rope(self) -> float:
        """Differences in the ranking metric up to this size do not matter."""
        return default_rope(self.metric, self.leaderboard[0].scores[self.metric].mean)

    @property
    def beats(self) -> list[BaselineComparison]:
        """The winner against the dummy and the plain linear model."""
        first = self.metrics[0]
        paired = paired_intervals(self.trials, first, self.ratio)
        names = [r.method for r in self.leaderboard]
        return compare_with_baselines(self.winner, names, paired, first.greater)

    @property
    def instead(self) -> Tradeoff | None:
        """What the top scorer would be expected to gain, if a simpler one is kept."""
        greater = self.metrics[0].greater
        return tradeoff_of_best(
            self.leaderboard, self.winner, greater, self.expected, self.metric
        )

    @property
    def model(self) -> TableModel:
        """The winner, fitted on all rows."""
        if self._model is None:
            self._model = fit_kept_model(self)
        return self._model

    best = model

    def trial(self, name):
        """Everything measured about one method."""
        for t in self.trials:
            if t.method.name == name:
                return t
        known = ", ".join(t.method.name for t in self.trials)
        raise ValueError(f"There is no method {name!r} here; there are {known}.")

    def row(self, name) -> RankedMethod:
        """The line of one method in the leaderboard."""
        for r in self.leaderboard:
            if r.method == name:
                return r
        raise ValueError(f"{name!r} is not in the leaderboard.")

    def predict(self, table):
        """Predictions of the winner for new rows."""
        return self.model.predict(table)

    def save(self, path) -> None:
        """Write the winner and its schema to a file for `pansophy.load`."""
        from ..persist import save

        save(self.model, path)

    def write(self, folder=None) -> dict[str, Path]:
        """Write results, report and model to a folder; their names and places."""
        import json

        place = Path(folder or self.folder or ".")
        place.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_dict(), indent=2, ensure_ascii=False)
        (place / "results.json").write_text(text + "\n", "utf-8")
        self.save(place / "model.pansophy")
        written = {"Report": self.report(place / "report.html")}
        written["Model"] = place / "model.pansophy"
        written["Results"] = place / "results.json"
        return {name: path.resolve() for name, path in written.items()}

    def report(self, path=None) -> Path:
        """Write everything as one HTML page that needs no other file.

        Without a path it goes to the folder of the run, or to `report.html` here.
        """
        from .report.html import write_report

        if path is None:
            path = Path(self.folder or ".") / "report.html"
        return write_report(self, path)

    def records(self) -> list[dict]:
        """The leaderboard as plain dicts, one per method."""
        out = []
        for row in self.leaderboard:
            flat = {"rank": row.rank, "method": row.method}
            for name, s in row.scores.items():
                key = name.replace(" ", "_")
                flat |= {key: s.mean, f"{key}_low": s.low, f"{key}_high": s.high}
            rows, odds = row.over_rows, row.odds
            flat |= {
                "rows_low": None if rows is None else rows.low,
                "rows_high": None if rows is None else rows.high,
                "p": row.p,
                "better": None if odds is None else odds.better,
                "equivalent": None if odds is None else odds.equivalent,
                "worse": None if odds is None else odds.worse,
                "verdict": row.verdict,
                "kept": row.method == self.winner,
                "fit_seconds": row.fit_seconds,
                "predict_micros": row.predict_micros,
                "remarks": row.remarks,
                "parts": row.parts,
            }
            out.append(flat)
        return out

    @property
    def table(self):
        """The leaderboard as a dataframe of the kind that was compared, or Arrow."""
        import pyarrow as pa

        rows = pa.Table.from_pylist(self.records())
        if self.like == "pandas":
            return rows.to_pandas()
        if self.like == "polars":
            import polars as pl

            return pl.from_arrow(rows)
        return rows

    def to_pandas(self):
        """The leaderboard as a pandas dataframe."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_dict(self) -> dict:
        """Everything but the rows, ready for JSON."""
        s = self.schema
        asked = ("group", "time", "weight")
        columns = [{"name": c.name, "role": c.role, "why": c.why} for c in s.columns]
        told = {
            "target": s.target,
            "task": s.task,
            "why": s.why,
            "columns": columns,
            "classes": list(s.classes),
            "labels": list(s.labels),
            **{k: getattr(s, k) for k in asked if getattr(s, k) is not None},
            "settings": self.settings,
            "leaderboard": self.records(),
            "winner": self.winner,
            "verdict": self.verdict,
            "beats": [b._asdict() for b in self.beats],
            "second_opinion": None if self.second is None else self.second._asdict(),
            "instead": None if self.instead is None else self.instead._asdict(),
            "rope": self.rope,
            "expected": self.expected,
            "complete": self.complete,
            "disqualified": self.disqualified,
            "not_run": self.not_run,
            "findings": as_dicts(self.findings),
            "notes": self.notes,
            "folds": {t.method.name: t.scores for t in self.trials if not t.failure},
            "on_test": None if self.on_test is None else asdict(self.on_test),
        }
        return plain(told)

    def __str__(self):
        from .report.terminal import render_text

        return render_text(self)

    def __repr__(self):
        from .report.terminal import one_line_summary

        return one_line_summary(self)

    def _repr_html_(self):
        from .report.notebook import render_notebook

        return render_notebook(self)

    # Pictures: each draws on the axes given, or on new ones, and gives them back.

    def plot_scores(self, ax=None):
        """Scores with their intervals, best on top."""
        return self._draw("scores", ax)

    def plot_quality_time(self, ax=None):
        """Score against the time of a fit; nothing better lies below the line."""
        return self._draw("quality_time", ax)

    def plot_roc(self, method=None, ax=None):
        """True against false positives of held-out rows."""
        return self._draw("roc", ax, method)

    def plot_precision_recall(self, method=None, ax=None):
        """Precision against recall of held-out rows."""
        return self._draw("precision_recall", ax, method)

    def plot_confusion(self, method=None, ax=None):
        """What was taken for what among held-out rows."""
        return self._draw("confusion", ax, method)

    def plot_calibration(self, method=None, ax=None):
        """How often what was given a probability came true, with a band."""
        return self._draw("calibration", ax, method)

    def plot_gain(self, method=None, ax=None):
        """What is found when the rows of highest probability are looked at first."""
        return self._draw("gain", ax, method)

    def plot_residuals(self, method=None, ax=None):
        """What was left over of held-out rows, against what was predicted."""
        return self._draw("residuals", ax, method)

    def plot_importance(self, method=None, ax=None):
        """How much worse held-out rows are predicted when a column is shuffled."""
        return self._draw("importance", ax, method)

    def plot_partial_dependence(self, column=None, method=None, ax=None):
        """The mean prediction as one column changes; the most important by default."""
        return self._draw("partial_dependence", ax, method, column)

    def plot_learning_curve(self, method=None, ax=None):
        """Score against the number of rows to learn from; takes fits of its own."""
        return self._draw("learning_curve", ax, method)

    def _draw(self, what, ax, *about):
        from .report import plots

        return getattr(plots, f"plot_{what}")(self, *about, ax=ax)
