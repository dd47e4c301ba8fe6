"""Sensitivity, specificity and predictive values, with intervals and counts."""

import numpy as np

from pansophy.compare.model.kept_model import held_out_predictions
from pansophy.compare.report.class_rates import class_rate_sections, class_rates
from tests.compare.comparisons import ready


def test_rates_are_shares_of_the_confusion_matrix(rng):
    y = (rng.random(400) < 0.3).astype(int)
    said = rng.random(400) < 0.2 + 0.5 * y
    rates = class_rates(y, said, np.ones(400))
    hit, miss = np.sum(said & (y == 1)), np.sum(~said & (y == 1))
    false, rest = np.sum(said & (y == 0)), np.sum(~said & (y == 0))
    expected = (
        hit / (hit + miss), rest / (rest + false), hit / (hit + false),
        rest / (rest + miss),
    )  # fmt: skip
    found = [r[0] for r in rates.values()]
    np.testing.assert_allclose(found, expected)
    assert all(low < share < high for share, low, high, *_ in rates.values())


def test_whole_weights_count_as_rows(rng):
    y, said = rng.integers(0, 2, 60), rng.random(60) < 0.5
    w = rng.integers(0, 4, 60)
    repeated = np.repeat(np.arange(60), w)
    one = class_rates(y, said, w.astype(float))
    other = class_rates(y[repeated], said[repeated], np.ones(len(repeated)))
    np.testing.assert_allclose(list(one.values()), list(other.values()))


def test_a_class_that_is_never_said_has_no_predictive_value():
    c = ready("classification")
    (section,) = class_rate_sections(c)
    held_out = held_out_predictions(c)
    events = int(held_out.y.sum())
    assert f"{events:,} of {len(held_out.y):,} rows are" in section.text
    assert [row[0] for row in section.table.body][:2] == ["sensitivity", "specificity"]
    rates = class_rates(np.array([0, 1]), np.array([False, False]), np.ones(2))
    assert rates["positive predictive value"][4] == 0


def test_other_tasks_have_none():
    for task in ("multiclass", "regression"):
        assert class_rate_sections(ready(task)) == []
