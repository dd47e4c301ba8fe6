"""The method that a comparison keeps, fitted on all rows, with its threshold."""

from typing import NamedTuple

import numpy as np

from ..evaluation.decision_threshold import DecisionThreshold, advise_threshold
from .model_card import model_card
from .table_model import TableModel, fit_table_model


class HeldOutPredictions(NamedTuple):
    """Predictions for rows held out of the fit."""

    y: np.ndarray
    p: np.ndarray
    weight: np.ndarray | None
    rows: np.ndarray  # their positions in the data


def held_out_predictions(comparison, method=None) -> HeldOutPredictions:
    """Predictions of the first cross-validation, by models that had not seen the row.

    The winner's by default.
    """
    c = comparison
    p = c.trial(method or c.winner).predictions
    if p is None:
        raise ValueError(f"The predictions of {method or c.winner!r} were not kept.")
    p = np.asarray(p, dtype=float)
    flat = p.reshape(len(p), -1)
    tested = np.isfinite(flat).all(1)
    if c.schema.task == "classification":
        tested &= flat.sum(1) > 0  # never tested, where folds follow time
    rows = np.flatnonzero(tested)
    w = c.data.weight
    return HeldOutPredictions(
        c.data.y[rows], p[rows], None if w is None else w[rows], rows
    )


def fit_kept_model(comparison) -> TableModel:
    """The winner fitted on all rows, also those beyond a sample.

    With costs of mistakes, it decides by the threshold of least cost.
    """
    c = comparison
    method = c.trial(c.winner).method
    if c.settings.get("sampled"):
        from .refit import refit_on_all_rows

        model = refit_on_all_rows(method, c.dataset.source, c)
    else:
        model = fit_table_model(method, c.data, c)
    if c.settings.get("costs"):
        model = model.with_threshold(least_cost_threshold(c, held_out_predictions(c)))
    model.facts["card"] = model_card(c)
    return model


def costs_of_missing(comparison) -> tuple[float, float]:
    """Costs of missing the first and the second class."""
    costs = {str(k): float(v) for k, v in comparison.settings["costs"].items()}
    cost_no, yes = (costs[str(k)] for k in comparison.schema.classes)
    return cost_no, yes


def least_cost_threshold(comparison, held_out: HeldOutPredictions) -> DecisionThreshold:
    """The threshold of least expected cost, from held-out rows.

    The one that calibrated probabilities ask for, unless another is surely better.
    """
    return advise_threshold(
        held_out.y,
        held_out.p,
        "cost",
        costs=costs_of_missing(comparison),
        weights=held_out.weight,
    )
