"""The outcome: a leaderboard with intervals, a verdict in words, a model to keep."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..tables import Schema
from .data import Data
from .model import TableModel, fit_winner
from .statistics import (
    Interval,
    corrected_interval,
    corrected_t,
    expected_of_best,
    holm,
)

LEVEL = 0.05


class Row(NamedTuple):
    """One ranked method."""

    rank: int
    method: str
    scores: dict[str, Interval]  # by metric, the ranking one first
    difference: Interval | None  # from the best, in the ranking metric
    p: float  # adjusted; 1 for the best itself
    verdict: str  # "best", "tied", "worse" or "below dummy"
    fit_seconds: float  # median of a fold
    predict_micros: float  # median, for one row
    remarks: str


@dataclass
class Comparison:
    """What `compare` returns.

    Attributes
    ----------
    leaderboard : list of Row
        Methods that finished every fold, best first.
    disqualified : list of (name, reason)
        Methods that failed, ran out of time or were cut off.
    not_run : list of (name, reason)
        Methods that were not tried.
    notes : list of str
        What was done to the table and what looks suspicious.
    winner : str
        The simplest method that is not distinguishable from the best.
    complete : bool
        False if the comparison was interrupted.
    expected : float or None
        The best score after allowing for having picked the best of several.
    """

    schema: Schema
    settings: dict
    leaderboard: list[Row]
    disqualified: list[tuple[str, str]]
    not_run: list[tuple[str, str]]
    notes: list[str]
    winner: str
    verdict: str
    complete: bool
    expected: float | None
    trials: list = field(repr=False)
    data: Data = field(repr=False)
    _model: TableModel | None = field(default=None, repr=False)

    @property
    def metric(self) -> str:
        return self.settings["metric"]

    @property
    def model(self) -> TableModel:
        """The winner, fitted on all rows."""
        if self._model is None:
            trial = self.trial(self.winner)
            self._model = fit_winner(trial.method, self.data, self)
        return self._model

    def trial(self, name):
        return next(t for t in self.trials if t.method.name == name)

    def predict(self, table):
        """Predictions of the winner for new rows."""
        return self.model.predict(table)

    def save(self, path) -> None:
        """Write the winner and its schema to a file for `pansophy.load`."""
        from ..persist import save

        save(self.model, path)

    def report(self, path) -> None:
        """Write everything as one HTML page that needs no other file."""
        from .report import write

        write(self, path)

    def records(self) -> list[dict]:
        """The leaderboard as plain dicts, one per method."""
        out = []
        for row in self.leaderboard:
            flat = {"rank": row.rank, "method": row.method}
            for name, s in row.scores.items():
                key = name.replace(" ", "_")
                flat |= {key: s.mean, f"{key}_low": s.low, f"{key}_high": s.high}
            flat |= {"p": row.p, "verdict": row.verdict}
            flat |= {
                "fit_seconds": row.fit_seconds,
                "predict_micros": row.predict_micros,
                "remarks": row.remarks,
            }
            out.append(flat)
        return out

    def to_pandas(self):
        """The leaderboard as a pandas dataframe."""
        import pandas as pd

        return pd.DataFrame(self.records())

    def to_dict(self) -> dict:
        """Everything but the data, ready for JSON."""
        s = self.schema
        return {
            "target": s.target,
            "task": s.task,
            "why": s.why,
            "columns": [
                {"name": c.name, "role": c.role, "why": c.why} for c in s.columns
            ],
            "classes": list(s.classes),
            "settings": self.settings,
            "leaderboard": self.records(),
            "winner": self.winner,
            "verdict": self.verdict,
            "expected": self.expected,
            "complete": self.complete,
            "disqualified": [list(d) for d in self.disqualified],
            "not_run": [list(d) for d in self.not_run],
            "notes": list(self.notes),
        }

    def __str__(self):
        from .text import render

        return render(self)


def spread(interval) -> str:
    """`0.812 +-0.03` with digits that mean something."""
    reach = (interval.high - interval.low) / 2
    digits = 3
    if np.isfinite(reach) and reach > 0:
        digits = int(np.clip(1 - np.floor(np.log10(reach)), 0, 4))
    return f"{interval.mean:.{digits}f} ± {reach:.{digits}f}"


def rank(trials, metrics, ratio) -> list[Row]:
    """Methods that finished, best first, each tested against the best."""
    done = [t for t in trials if not t.failure]
    first = metrics[0]
    sign = -1 if first.greater else 1
    done.sort(
        key=lambda t: sign * np.mean(t.scores[first.name])
    )  # stable: simple first
    best = np.asarray(done[0].scores[first.name]) if done else None
    gaps = [np.asarray(t.scores[first.name]) - best for t in done]
    adjusted = holm([corrected_t(g, ratio)[1] for g in gaps[1:]])
    rows, names = [], [t.method.name for t in done]
    dummy = names.index("dummy") if "dummy" in names else len(names)
    for i, (trial, gap) in enumerate(zip(done, gaps)):
        p = 1.0 if i == 0 else float(adjusted[i - 1])
        verdict = "best" if i == 0 else "tied" if p >= LEVEL else "worse"
        verdict = "below dummy" if i > dummy else verdict  # however wide its interval
        total = len(gap)
        remarks = [f"{what} in {k} of {total} fits" for what, k in trial.warned.items()]
        rows.append(
            Row(
                i + 1,
                trial.method.name,
                {
                    m.name: corrected_interval(trial.scores[m.name], ratio)
                    for m in metrics
                },
                None if i == 0 else corrected_interval(gap, ratio),
                p,
                verdict,
                float(np.median(trial.fit_seconds)),
                float(np.median(trial.predict_seconds) * 1e6),
                "; ".join(remarks),
            )
        )
    return rows


def decide(rows, order) -> tuple[str, str]:
    """The method to keep, and the verdict in words.

    Among methods tied with the best the simplest is kept; the dummy only if there is
    nothing else.
    """
    place = {name: i for i, name in enumerate(order)}
    tied = [r for r in rows if r.verdict in ("best", "tied")]
    real = [r for r in tied if r.method != "dummy"] or tied
    keep = min(real, key=lambda r: place[r.method])
    best = rows[0]
    if len(rows) == 1:
        text = f"{best.method} is the only method that finished."
    elif len(tied) == 1:
        sure = all(r.p < LEVEL for r in rows[1:])
        text = f"{best.method} is better than every other method."
        if not sure:  # something below the dummy, too uneven to be sure about
            text = f"{best.method} scores best; nothing above the dummy ties with it."
    else:
        names = " and ".join(r.method for r in tied if r is not best)
        text = f"{best.method} scores best but is tied with {names}"
        text += "." if keep is best else f"; {keep.method} is kept as the simpler one."
    if any(r.method == "dummy" for r in tied) and len(rows) > 1:
        text += (
            " Nothing here beats the dummy, which ignores all columns, beyond doubt."
        )
    return keep.method, text


def expect(trials, rows, metric, seed) -> float | None:
    """The best score once the luck of being picked is taken off."""
    kept = [t.losses for t in trials if not t.failure and t.losses is not None]
    if len(kept) < 2 or metric.rows is None:
        return None
    losses = np.column_stack(kept)
    before = losses.mean(0).min()
    after = expected_of_best(losses, random_state=seed)
    return float(
        rows[0].scores[metric.name].mean + metric.undo(after) - metric.undo(before)
    )
