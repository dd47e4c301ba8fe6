"""The model that a comparison leaves: a pipeline and the schema to feed it."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables import Schema, read_table
from .methods import Setting
from .pipelines import fit_pipeline, pipeline


@dataclass(frozen=True)
class TableModel:
    """A fitted pipeline that takes tables; saved and loaded by `pansophy.persist`.

    Attributes
    ----------
    schema : Schema
        Columns, their roles and levels, the task and the classes.
    method : str
        The name of the method in the comparison.
    pipeline : Pipeline
        Preparation and estimator, fitted on all rows.
    facts : dict
        Score with its interval, seed, versions and data hash of the comparison.
    """

    schema: Schema
    method: str
    pipeline: Any
    facts: dict

    def predict(self, table) -> np.ndarray:
        """One class label or number for each row of a table (or path)."""
        frame = self._frame(table)
        with quiet():
            answer = np.asarray(self.pipeline.predict(frame))
        if self.schema.task == "classification":
            return np.asarray(self.schema.classes)[answer.astype(int)]
        return answer.reshape(len(frame))

    def predict_proba(self, table) -> np.ndarray:
        """Probabilities, one column for each of `schema.classes`."""
        if self.schema.task != "classification":
            raise AttributeError("A model of numbers has no class probabilities.")
        frame = self._frame(table)
        with quiet():
            return np.asarray(self.pipeline.predict_proba(frame))

    def _frame(self, table):
        return self.schema.frame(read_table(table))


def quiet():
    """Levels never seen are expected in new tables; they need no warning a row."""
    return warnings.catch_warnings(action="ignore", category=UserWarning)


def fit_winner(method, data, comparison) -> TableModel:
    """The pipeline of the winner on all rows."""
    schema, settings = comparison.schema, comparison.settings
    model = pipeline(method, schema, Setting(schema.task, len(data), settings["seed"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # counted during the comparison already
        fit_pipeline(model, data.frame, data.y)
    row = next(r for r in comparison.leaderboard if r.method == method.name)
    kept = ("rows", "seed", "folds", "repeats", "data_hash", "versions")
    facts = {
        "scores": {k: list(v) for k, v in row.scores.items()},
        **{k: settings[k] for k in kept},
    }
    return TableModel(schema, method.name, model, facts)
