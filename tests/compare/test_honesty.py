"""The study of honesty in small: what `compare` says, on tables of known truth.

Of 18 intervals of 95 % fewer than 14 hold in one of 900 suites if all is well
(binomial; .91 to .99 is what the study asks for), and two false winners of 9 come in
one of 80 at the 2 % each that it allows. What does not depend on chance has no
allowance.
"""

import pytest

from benchmarks.studies.honesty import SETTINGS, next_runs, page, run

NOISE = (
    "noise, 2 classes, 120 rows",
    "noise, 10 classes, 250 rows",
    "noise, numbers, 250 rows",
)
SIGNAL = ("2 classes, 250 rows", "numbers, 250 rows", "counts, mean 12, 300 rows")
SEEDS = (101, 102, 103)


@pytest.fixture(scope="module")
def runs():
    return [run(name, seed) for name in (*NOISE, *SIGNAL) for seed in SEEDS]


def test_the_score_to_expect_is_inside_its_interval(runs):
    assert all(r["inside"] for r in runs)


def test_intervals_hold(runs):
    held = sum(r["expected"][1] <= r["true"] <= r["expected"][2] for r in runs)
    assert held >= 14


def test_noise_is_not_called_better_and_signal_is(runs):
    noise = [r for r in runs if r["setting"] in NOISE]
    signal = [r for r in runs if r["setting"] in SIGNAL]
    assert sum(r["called_better"] for r in noise) <= 1
    assert sum(r["called_better"] for r in signal) >= 8


def test_tasks_are_right_and_nothing_is_found_where_nothing_is(runs):
    assert all(r["task_right"] and r["design_right"] for r in runs)
    assert sum(r["false_alarms"] for r in runs) == 0


def test_bands_hold_on_average(runs):
    bands = [r["band"] for r in runs if "band" in r]
    assert len(bands) == 9 and 0.86 < sum(bands) / 9 < 0.95


@pytest.mark.parametrize(
    "name",
    [k for k, s in SETTINGS.items() if s.leak or s.design in ("event", "entity")],
)
def test_leaks_and_designs_are_found(name):
    r = run(name, 104)
    assert r["design_right"] and r["task_right"]
    assert r["leak_found"] in (None, True)


def test_a_study_goes_on_and_has_a_table(runs):
    done = [{"setting": "a", "seed": 0}, {"setting": "b", "seed": 1}]
    assert next_runs(done, ["a", "b"], 2) == [("b", 0), ("a", 1)]
    text = page([{**r, "commit": "c0ffee", "date": "2026-01-01"} for r in runs])
    assert f"from {len(runs)} runs" in text and "c0ffee" in text
    assert all(f"| {name} | 3 |" in text for name in (*NOISE, *SIGNAL))
