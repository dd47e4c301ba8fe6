"""Held-out predictions of a comparison, and the model that it keeps."""

from dataclasses import replace

import numpy as np
import pytest

from pansophy.compare.evaluation.decision_threshold import advise_threshold
from pansophy.compare.model import kept_model
from pansophy.compare.model.kept_model import (
    costs_of_missing,
    fit_kept_model,
    held_out_predictions,
    least_cost_threshold,
)
from tests.compare.comparisons import made, ready


def with_predictions(comparison, p):
    """The comparison with other predictions of its winner."""
    trials = [
        replace(t, predictions=p) if t.method.name == comparison.winner else t
        for t in comparison.trials
    ]
    return replace(comparison, trials=trials)


@pytest.mark.parametrize("task", ["classification", "regression", "multilabel"])
def test_all_rows_of_a_whole_cross_validation(task):
    c = ready(task)
    got = held_out_predictions(c)
    np.testing.assert_array_equal(got.p, c.trial(c.winner).predictions)
    np.testing.assert_array_equal(got.y, c.data.y)
    assert got.weight is None and got.rows.tolist() == list(range(150))
    other = held_out_predictions(c, "dummy")
    np.testing.assert_array_equal(other.p, c.trial("dummy").predictions)


def test_rows_that_were_never_tested_are_left_out():
    c = made("classification")
    p = np.array(c.trial(c.winner).predictions)
    p[:50], p[60] = 0.0, np.nan  # folds that follow time, and a failed prediction
    w = np.linspace(1, 2, 150)
    c = with_predictions(c, p)
    c = replace(c, dataset=c.dataset._replace(data=replace(c.data, weight=w)))
    got = held_out_predictions(c)
    assert got.rows.tolist() == [*range(50, 60), *range(61, 150)]
    np.testing.assert_array_equal(got.weight, w[got.rows])
    np.testing.assert_array_equal(got.y, c.data.y[got.rows])
    np.testing.assert_array_equal(got.p, p[got.rows])


def test_a_number_may_be_zero():
    c = made("regression")
    p = np.array(c.trial(c.winner).predictions)
    p[:3] = 0.0
    assert len(held_out_predictions(with_predictions(c, p)).rows) == 150


def test_predictions_that_were_not_kept():
    c = with_predictions(made("regression"), None)
    with pytest.raises(ValueError, match=f"predictions of '{c.winner}' were not kept"):
        held_out_predictions(c)


def with_costs(costs):
    c = made("classification")
    return replace(c, settings={**c.settings, "costs": costs})


def test_costs_by_the_order_of_the_classes():
    assert costs_of_missing(with_costs({"k1": 5, "k0": 2})) == (2.0, 5.0)


def test_dear_misses_lower_the_threshold():
    dear, even = with_costs({"k0": 1, "k1": 20}), with_costs({"k0": 1, "k1": 1})
    held = held_out_predictions(dear)
    low, middle = least_cost_threshold(dear, held), least_cost_threshold(even, held)
    assert low.threshold < middle.threshold
    want = advise_threshold(held.y, held.p, "cost", costs=(1.0, 20.0))
    assert low == want
    heavy = held._replace(weight=np.where(held.y == 1, 20.0, 1.0))
    assert least_cost_threshold(even, heavy).threshold < middle.threshold


class Fitted:
    def __init__(self, *given):
        self.given, self.threshold, self.facts = given, None, {}

    def with_threshold(self, threshold):
        self.threshold = threshold
        return self


def test_the_winner_is_fitted_on_all_rows(monkeypatch):
    monkeypatch.setattr(kept_model, "fit_table_model", lambda *args: Fitted(*args))
    c = made("classification")
    model = fit_kept_model(c)
    method, data, context = model.given
    assert method.name == c.winner and data is c.data and context is c
    assert model.threshold is None
    assert model.facts["card"]["method"] == c.winner
    c = with_costs({"k0": 1, "k1": 20})
    want = least_cost_threshold(c, held_out_predictions(c))
    assert fit_kept_model(c).threshold == want


def test_a_sample_is_left_for_the_whole_table(monkeypatch):
    from pansophy.compare.model import refit

    monkeypatch.setattr(refit, "refit_on_all_rows", lambda *args: Fitted(*args))
    c = made("classification")
    c = replace(c, settings={**c.settings, "sampled": 10_000})
    method, source, context = fit_kept_model(c).given
    assert method.name == c.winner and source == "table.csv" and context is c
