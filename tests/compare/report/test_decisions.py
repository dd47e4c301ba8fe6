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
