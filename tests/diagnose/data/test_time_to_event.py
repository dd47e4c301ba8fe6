"""Time to an event: status and duration are recognised, and nothing else is."""

import numpy as np
import pytest

from pansophy.diagnose import explore
from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.time_to_event import find_time_to_event
from pansophy.diagnose.leakage.target_columns import target_columns_of


def followed(rng, n=200, status="status", duration="time"):
    event, end = rng.exponential(900, n), rng.uniform(300, 1500, n)
    return {
        "age": rng.normal(60, 8, n).round(),
        "treated": rng.integers(0, 2, n),
        duration: np.minimum(event, end).round(),
        status: (event < end).astype(int),
    }


def found(table, target):
    view = table_view(table)
    (column,) = target_columns_of(view, target)
    return find_time_to_event(view.without({target}), column)


@pytest.mark.parametrize(
    ("status", "duration"),
    [("status", "time"), ("death", "futime_days"), ("gestorben", "Dauer"),
     ("décès", "suivi_mois"), ("evento", "tiempo"), ("d_event", "survDays")],
)  # fmt: skip
def test_status_and_duration_in_several_languages(rng, status, duration):
    table = followed(rng, status=status, duration=duration)
    result = found(table, status)
    assert result.duration == duration and result.certain


def test_three_states_and_texts(rng):
    table = followed(rng)
    dead = table["status"] == 1
    table["status"] = np.where(
        dead, np.where(table["age"] > 65, "dead", "other"), "alive"
    )
    assert found(table, "status").duration == "time"


def test_one_name_needs_the_data(rng):
    table = followed(rng, status="z", n=400)
    result = found(table, "z")
    assert (
        result.duration == "time" and not result.certain and abs(result.auc - 0.5) > 0.1
    )
    table["z"] = rng.permutation(table["z"])
    assert found(table, "z") is None


@pytest.mark.parametrize(
    ("table", "target"),
    [
        ({"age_years": "ages", "status": "two"}, "status"),
        ({"time": "signed", "status": "two"}, "status"),
        ({"time": "few", "status": "two"}, "status"),
        ({"x": "ages", "status": "two"}, "status"),
        ({"time": "ages", "status": "many"}, "status"),
    ],
)
def test_other_tables_are_left_alone(rng, table, target):
    kinds = {
        "ages": rng.integers(20, 90, 200),
        "signed": rng.normal(size=200),
        "few": rng.integers(0, 4, 200),
        "two": rng.integers(0, 2, 200),
        "many": rng.integers(0, 6, 200),
    }
    assert found({name: kinds[k] for name, k in table.items()}, target) is None


def test_the_finding_is_an_alarm_that_explains_censoring(rng):
    table = followed(rng)
    (alarm,) = explore(table, "status", whole=False).alarms
    assert alarm.kind == "time to event" and "censored" in alarm.text
