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


def test_coverage_is_shown_by_size_of_the_prediction():
    from pansophy.compare.model.kept_model import held_out_predictions
    from pansophy.compare.report.decisions import interval_part_sections

    for task in ("regression", "count"):
        c = made(task)
        held_out = held_out_predictions(c)
        (section,) = interval_part_sections(c, held_out)
        body = section.table.body
        n = len(held_out.y)
        assert 2 <= len(body) <= n // 20
        assert sum(int(row[1].replace(",", "")) for row in body) == n
        ends = [float(v) for row in body for v in row[0].split(" to ")]
        assert ends == sorted(ends)  # ranges of the prediction, one after the other
        held = [float(row[2].split()[0]) for row in body]
        assert 80 < np.mean(held) <= 100  # of 150 rows, 90 % promised
        later = replace(c.data, time=np.arange(n))
        one = replace(c, dataset=c.dataset._replace(data=later))
        (section,) = interval_part_sections(one, held_out)
        assert sum(int(row[1]) for row in section.table.body) == n - n // 2
    few = held_out._replace(
        **{name: getattr(held_out, name)[:30] for name in ("y", "p", "rows")}
    )
    assert interval_part_sections(c, few) == []


def test_sets_say_whether_they_are_randomised():
    from pansophy.compare.report.decisions import decision_sections

    for task, randomised in (("classification", False), ("multiclass", True)):
        texts = " ".join(s.text for s in decision_sections(made(task)))
        assert ("randomised" in texts) == randomised
        assert ("on the probabilities alone" in texts) != randomised


def test_one_group_of_all_rows_leaves_no_half_to_calibrate_on():
    from pansophy.compare.report.decisions import decision_sections

    c = made("regression")
    data = replace(c.data, group=np.zeros(len(c.data.y), int))
    one = replace(c, dataset=c.dataset._replace(data=data))
    assert "too few held-out rows" in decision_sections(one)[-1].text


def test_sentences_on_where_intervals_are_wide():
    from pansophy.compare.evaluation.residual_scale import fit_residual_scale
    from pansophy.compare.report.decisions import scale_sentence

    assert scale_sentence(None) == "Equally wide for all rows."
    rng = np.random.default_rng(0)
    p = np.exp(rng.normal(size=400))
    log = fit_residual_scale("regression", p * np.exp(rng.normal(size=400)), p).scale
    assert "proportion" in scale_sentence(log._replace(columns=np.zeros(0, int)))
    r = rng.normal(size=400) * p  # of either sign, and wide where p is large
    steps = fit_residual_scale("regression", r, p).scale
    assert scale_sentence(steps).startswith("Wider where the prediction")


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
