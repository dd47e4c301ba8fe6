"""Promises in the report: checked on later rows and groups, counted by weight."""

from dataclasses import replace

import numpy as np

from tests.compare.comparisons import made


def test_promises_are_checked_on_later_rows_and_other_groups():
    from pansophy.compare.model.kept_model import held_out_predictions
    from pansophy.compare.report.decisions import calibration_halves

    c, n = made("regression"), 150
    when, whose = np.arange(n)[::-1], np.arange(n) // 7
    for data in (replace(c.data, time=when), replace(c.data, group=whose)):
        one = replace(c, dataset=c.dataset._replace(data=data))
        a, b = calibration_halves(one, held_out_predictions(one))
        assert sorted([*a, *b]) == list(range(n)) and min(len(a), len(b)) > n // 3
        if data.time is not None:
            assert when[a].max() < when[b].min()
        else:
            assert not set(whose[a]) & set(whose[b])


def test_what_promises_hold_is_counted_by_weight():
    from pansophy.compare.model.kept_model import held_out_predictions
    from pansophy.compare.report.decisions import (
        calibration_halves,
        interval_section,
        prediction_set_section,
    )

    for task, part in (
        ("regression", interval_section),
        ("classification", prediction_set_section),
    ):
        c = made(task)
        bare = held_out_predictions(c)
        n, (_, b) = len(bare.y), calibration_halves(c, bare)
        one = part(c, bare)
        heavy = np.where(np.arange(n) == b[0], 1e4, 1.0)  # one row is nearly all
        given = (np.ones(n), np.full(n, 0.5), np.full(n, 3.0), heavy)
        each, half, thrice, most = (part(c, bare._replace(weight=w)) for w in given)
        assert each == half == one
        assert f"with {3 * len(b):,} rows" in thrice.text
        held = float(most.table.body[0][1].split()[0])
        assert held > 98 or held < 2


def test_no_threshold_is_advised_that_its_own_row_shows_to_be_worse():
    from pansophy.compare.model.kept_model import held_out_predictions
    from pansophy.compare.report.decisions import cost_ratio_section, threshold_section

    for seed in range(5):
        c = made("classification", seed=seed)
        held = held_out_predictions(c)
        section = threshold_section(c, held)
        rows = section.table.body
        for _, threshold, expected, plain, _ in rows:
            assert float(expected) >= float(plain)
            assert (threshold == "0.5 (stay)") == (expected == plain)
        stay = all(row[1] == "0.5 (stay)" for row in rows)
        assert ("Stay at one half" in section.text) == stay
    rng = np.random.default_rng(0)
    p = rng.random(2000)  # right probabilities: 1 / (1 + c)
    right = held._replace(
        y=(rng.random(2000) < p).astype(int),
        p=np.c_[1 - p, p],
        rows=np.arange(2000),
    )
    for ratio, threshold, *_ in cost_ratio_section(c, right).table.body:
        assert abs(float(threshold) - 1 / (1 + float(ratio))) < 0.1
