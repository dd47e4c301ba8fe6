"""Frequency tables are told by their shape, not by names."""

import itertools

import numpy as np
import pytest

from pansophy.diagnose import explore
from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.frequency_table import count_column


def cells(rng, sizes=(4, 2, 2), numbers=False):
    grid = np.array(list(itertools.product(*map(range, sizes))))
    names = ["Klasse", "Geschlecht", "antwort"]
    table = {
        name: z if numbers else np.array([f"{name[0]}{k}" for k in z])
        for name, z in zip(names, grid.T, strict=True)
    }
    return {**table, "Anzahl": rng.integers(0, 300, len(grid))}


@pytest.mark.parametrize("numbers", [False, True])
def test_a_grid_of_cells_with_counts(rng, numbers):
    table = cells(rng, numbers=numbers)
    assert count_column(table_view(table)) == "Anzahl"
    (alarm,) = [
        f for f in explore(table, "antwort", whole=False).alarms
        if f.kind == "frequency table"
    ]  # fmt: skip
    assert alarm.column == "Anzahl" and alarm.facts["rows"] == table["Anzahl"].sum()


def test_some_cells_may_lack(rng):
    table = cells(rng, (5, 4, 2))
    keep = np.sort(rng.choice(40, 36, replace=False))
    assert count_column(table_view({k: v[keep] for k, v in table.items()})) == "Anzahl"


def test_other_tables_are_none(rng):
    table = cells(rng)
    assert count_column(table_view({**table, "x": rng.normal(size=16)})) is None
    doubled = {k: np.r_[v, v[:4]] for k, v in table.items()}
    assert count_column(table_view(doubled)) is None
    people = {
        "age": rng.integers(18, 90, 300),
        "sex": rng.integers(0, 2, 300),
        "ill": rng.integers(0, 2, 300),
    }
    assert count_column(table_view(people)) is None
    ones = {**table, "Anzahl": np.ones(16, int)}
    assert count_column(table_view(ones)) is None
    # an experiment: every combination once, and a yield of fractions
    assert count_column(table_view({**table, "Anzahl": rng.normal(9, 1, 16)})) is None
