"""`Comparison`: the data of a finished comparison, and its model.

The fields are numbers, enumerations and tables. Sentences, pages and figures are made
of them by `compare.report`, which is imported only when something is shown.
"""

from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..diagnose.findings import as_dicts, json_ready
from ..tables import Schema
from .evaluation.adaptive_conformal import AdaptiveScores
from .evaluation.bayesian_tests import default_rope
from .evaluation.paired_tests import DUMMY
from .evaluation.ranking import (
    BaselineComparison,
    KeepReason,
    KeptMethod,
    RankedMethod,
    Tradeoff,
    compare_with_baselines,
    tradeoff_of_best,
    without_selection_bias,
    without_share_optimism,
)
from .evaluation.statistics import Interval
from .metrics import Metric, metrics_for
from .model.table_model import TableModel, held_out_scores
from .samples import Samples


def dataframe_library(table) -> str:
    """Library of a dataframe: pandas or polars; arrow for anything else."""
    library = type(table).__module__.split(".")[0]
    return library if library in ("pandas", "polars") else "arrow"


@dataclass(repr=False)
class Comparison:
    """Result of `compare`.

    Attributes
    ----------
    dataset : LoadedDataset
        The table that was compared, its schema, and where it came from.
    split : Split
        The folds, and why they were chosen.
    leaderboard : list of RankedMethod
        Methods that finished every fold, best first.
    winner : str
        The method that is kept; see `evaluation.ranking` for the rule.
    keep_reason : KeepReason
        Why it is kept.
    estimates : ScoreEstimates
        The scores in the ranking metric with their covariance, for paired tests.
    selection_bias : float
        Part of the top score that is the luck of being picked as the best of several.
    trials : list of Trial
        Everything measured about each method, failed ones included.
    skipped : list of SkippedMethod
        Methods that were not run, with kind and reason.
    complete : bool
        False if the comparison was interrupted.
    findings : list of diagnose.Finding
        What looks suspicious in the table.
    notes : list of str
        What was done to the table.
    overview : diagnose.Overview or None
    settings : dict
        Options, data hash, versions and time, as in `results.json`.
    limits : ExecutionLimits
    holdout : HoldoutComparison or None
        The ranked methods on the test set, if there is one.
    shuffled_score : ShuffledScore or None
        The kept method on folds of shuffled rows, where a group or time was found.
    other_units_score : ShuffledScore or None
        Of a panel, the kept method for later rows of new units, or else of the same.
    folder : path or None
        The run folder.
    library : {"arrow", "pandas", "polars"}
        The kind of dataframe that was compared.
    """

    dataset: Any
    split: Any
    leaderboard: list[RankedMethod]
    winner: str
    keep_reason: KeepReason
    selection_bias: float
    trials: list
    settings: dict
    skipped: list = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    findings: list = field(default_factory=list)
    estimates: Any = None
    complete: bool = True
    overview: Any = None
    limits: Any = None
    holdout: Any = None
    shuffled_score: Any = None
    other_units_score: Any = None
    folder: Any = None
    library: str = "arrow"
    _model: TableModel | None = None
    written_to: list = field(default_factory=list, repr=False)  # folders of `write`
    _views: dict = field(default_factory=dict)  # computed for plots, see `report`

    # --- numbers -----------------------------------------------------------------

    @property
    def schema(self) -> Schema:
        """Columns, their roles, the task and the classes."""
        return self.dataset.schema

    @property
    def data(self) -> Samples:
        """The rows that were compared."""
        return self.dataset.data

    @property
    def kept(self) -> KeptMethod:
        """The method that is kept, and why."""
        return KeptMethod(self.winner, self.keep_reason)

    @property
    def disqualified(self) -> list[tuple[str, str]]:
        """(name, reason) of methods that failed, or ran out of time or memory."""
        return [(t.method.name, t.failure) for t in self.trials if t.failure]

    @property
    def not_run(self) -> list[tuple[str, str]]:
        """(name, reason) of methods that were not tried."""
        return [(s.name, s.reason) for s in self.skipped]

    @property
    def metric(self) -> str:
        """Name of the ranking metric."""
        return self.settings["metric"]

    @property
    def metrics(self) -> list[Metric]:
        """All metrics of the task, the ranking one first."""
        return metrics_for(self.schema.task, self.metric, ordered=self.schema.ordered)

    @property
    def rope(self) -> float:
        """Differences in the ranking metric up to this size do not matter."""
        return default_rope(self.metric, self.leaderboard[0].scores[self.metric].mean)

    @property
    def expected_score(self) -> Interval:
        """Score of the kept method to expect on new rows, with its interval.

        Where it was picked for scoring best, without the luck of being picked; of the
        dummy, without that of test rows that have the very shares of classes.
        """
        row = self.row(self.winner)
        score = row.scores[self.metric]
        stratified = self.split.kind.startswith("stratified")
        if row.method == DUMMY and self.metric == "log loss" and stratified:
            counts = np.bincount(self.data.y.astype(int), minlength=1)
            if self.data.weight is None and self.schema.task == "classification":
                return without_share_optimism(score, counts, row.df)
        picked = self.winner == self.leaderboard[0].method
        bias = self.selection_bias if picked else 0.0
        return without_selection_bias(score, bias, self.metrics[0])

    @property
    def baselines(self) -> list[BaselineComparison]:
        """The winner against the dummy and the linear baseline."""
        if self.estimates is None:
            return []
        greater = self.metrics[0].greater
        return compare_with_baselines(self.winner, self.estimates, greater)

    @property
    def level_promised(self) -> bool:
        """Whether prediction intervals and sets keep their level on new rows.

        Not along time: later rows need not be exchangeable with those seen.
        `level_reached` tells how intervals fared there.
        """
        return self.split.kind != "time-ordered"

    @property
    def adaptive_scores(self) -> AdaptiveScores | None:
        """Along time, the scores behind intervals and sets of the kept method."""
        if self.level_promised:
            return None
        result = held_out_scores(self, self.winner)
        return result if isinstance(result, AdaptiveScores) else None

    def level_reached(self, level=0.9) -> float | None:
        """Along time: the share of later rows that intervals or sets have held.

        Those of each fold are made from the folds before it; None where it is unknown.
        """
        scores = self.adaptive_scores
        if scores is None:
            return None
        held = scores.backtest(level)
        return None if np.isnan(held) else held

    @property
    def tradeoff(self) -> Tradeoff | None:
        """Expected gain of the top scorer, if a simpler method is kept."""
        greater = self.metrics[0].greater
        return tradeoff_of_best(
            self.leaderboard, self.winner, greater, self.selection_bias
        )

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

    def records(self) -> list[dict]:
        """The leaderboard as plain dicts, one per method."""
        from .report.formatting import describe_blend, describe_warnings

        rows = []
        for row in self.leaderboard:
            record = {"rank": row.rank, "method": row.method}
            for name, s in row.scores.items():
                key = name.replace(" ", "_")
                record |= {key: s.mean, f"{key}_low": s.low, f"{key}_high": s.high}
            odds = row.probabilities
            record |= {
                "p": row.p,
                "better": None if odds is None else odds.better,
                "equivalent": None if odds is None else odds.equivalent,
                "worse": None if odds is None else odds.worse,
                "verdict": str(row.standing),
                "kept": row.method == self.winner,
                "fits": row.n_fits,
                "stopped": row.stopped is not None,
                "fit_seconds": row.fit_seconds,
                "predict_micros": row.predict_micros,
                "remarks": describe_warnings(row),
                "parts": describe_blend(row.blend),
            }
            rows.append(record)
        return rows

    @property
    def table(self):
        """The leaderboard as a dataframe of the kind that was compared, or Arrow."""
        import pyarrow as pa

        rows = pa.Table.from_pylist(self.records())
        if self.library == "pandas":
            return rows.to_pandas()
        if self.library == "polars":
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
        columns = [{"name": c.name, "role": c.role, "why": c.why} for c in s.columns]
        special = {k: getattr(s, k) for k in ("group", "time", "weight")}
        optional = lambda value: None if value is None else value._asdict()
        return json_ready(
            {
                "target": s.target,
                "task": s.task,
                "ordered": s.ordered,
                "why": s.why,
                "columns": columns,
                "classes": list(s.classes),
                "labels": list(s.labels),
                **{k: name for k, name in special.items() if name is not None},
                "settings": self.settings,
                "leaderboard": self.records(),
                "winner": self.winner,
                "verdict": self.verdict,
                "baselines": [b._asdict() for b in self.baselines],
                "kept_because": str(self.keep_reason),
                "test": {
                    "kind": str(self.leaderboard[0].test),
                    "units": self.leaderboard[0].units,
                    "df": self.leaderboard[0].df,
                },
                "tradeoff": optional(self.tradeoff),
                "rope": self.rope,
                "level_promised": self.level_promised,
                "level_reached": self.level_reached(),
                "expected": self.expected_score._asdict(),
                "selection_bias": self.selection_bias,
                "shuffled_score": optional(self.shuffled_score),
                "other_units_score": optional(self.other_units_score),
                "stopped": [
                    {"method": r.method, **r.stopped._asdict()}
                    for r in self.leaderboard
                    if r.stopped is not None
                ],
                "complete": self.complete,
                "disqualified": self.disqualified,
                "not_run": self.not_run,
                "findings": as_dicts(self.findings),
                "notes": self.notes,
                "folds": {
                    t.method.name: t.scores for t in self.trials if not t.failure
                },
                "holdout": None if self.holdout is None else asdict(self.holdout),
            }
        )

    # --- the model ---------------------------------------------------------------

    @property
    def model(self) -> TableModel:
        """The winner, fitted on all rows."""
        if self._model is None:
            from .model.kept_model import fit_kept_model

            self._model = fit_kept_model(self)
        return self._model

    best = model

    def predict(self, table):
        """Predictions of the winner for new rows."""
        return self.model.predict(table)

    def save(self, path) -> None:
        """Write the winner and its schema to a file for `pansophy.load`."""
        from ..persist import save

        save(self.model, path)

    # --- presentation: made by `compare.report` ----------------------------------

    @property
    def verdict(self) -> str:
        """The result in a sentence or two."""
        from .report.verdict import verdict_sentence

        return verdict_sentence(self.leaderboard, self.kept)

    def write(self, folder=None, *, progress=False) -> dict[str, Path]:
        """Write results, report and model to a folder; their names and places.

        `progress` says whether steps are shown: None, on a terminal only.
        """
        from .report.html import write_results

        return write_results(self, Path(folder or self.folder or "."), progress)

    def report(self, path=None) -> Path:
        """Write everything as one HTML page that needs no other file.

        Without a path it goes to the folder of the run, or to `report.html` here.
        """
        from .report.html import write_report

        if path is None:
            path = Path(self.folder or ".") / "report.html"
        return write_report(self, path)

    def __str__(self):
        from .report.terminal import render_text

        return render_text(self)

    def __repr__(self):
        from .report.terminal import one_line_summary

        return one_line_summary(self)

    def _repr_html_(self):
        from .report.notebook import render_notebook

        return render_notebook(self)

    # Figures: each draws on the axes given, or on new ones, and returns them.

    def plot_scores(self, ax=None):
        """Scores with their intervals, best on top."""
        return self._draw("plot_scores", ax)

    def plot_quality_time(self, ax=None):
        """Score against the time of a fit, with the Pareto front."""
        return self._draw("plot_quality_time", ax)

    def plot_roc(self, method=None, ax=None):
        """ROC curve of held-out rows."""
        return self._draw("plot_roc", ax, method)

    def plot_precision_recall(self, method=None, ax=None):
        """Precision against recall of held-out rows."""
        return self._draw("plot_precision_recall", ax, method)

    def plot_confusion(self, method=None, ax=None):
        """Confusion matrix of held-out rows."""
        return self._draw("plot_confusion", ax, method)

    def plot_calibration(self, method=None, ax=None):
        """Reliability curve of held-out probabilities, with a band."""
        return self._draw("plot_calibration", ax, method)

    def plot_gain(self, method=None, ax=None):
        """Cumulative gain: positives found when the most probable rows come first."""
        return self._draw("plot_gain", ax, method)

    def plot_residuals(self, method=None, ax=None):
        """Residuals of held-out rows against the prediction."""
        return self._draw("plot_residuals", ax, method)

    def plot_importance(self, method=None, ax=None):
        """Permutation importance of the columns on held-out rows."""
        return self._draw("plot_importance", ax, method)

    def plot_partial_dependence(self, column=None, method=None, ax=None):
        """The mean prediction as one column changes; the most important by default."""
        return self._draw("plot_partial_dependence", ax, method, column)

    def plot_column(self, column=None, ax=None):
        """The target by the values of a column; the one that tells most by default."""
        return self._draw("plot_column", ax, column)

    def plot_learning_curve(self, method=None, ax=None):
        """Score against the number of training rows; takes fits of its own."""
        return self._draw("plot_learning_curve", ax, method)

    def _draw(self, name, ax, *arguments):
        from .report import plots

        return getattr(plots, name)(self, *arguments, ax=ax)
