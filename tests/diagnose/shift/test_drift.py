"""Drift between two tables: none for equal laws, named columns for others."""

import json

import numpy as np
import pytest

from pansophy.diagnose import (
    drift,
    mmd,
)
from tests.diagnose.small_tables import people


def test_same_law_is_at_chance_level():
    found = [drift(people(s), people(s + 100), random_state=s) for s in range(3)]
    assert sum(f.found for f in found) <= 1
    assert np.mean([f.auc.mean for f in found]) == pytest.approx(0.5, abs=0.05)
    assert np.mean([f.discrepancy.p < 0.05 for f in found]) <= 0.25


def test_same_rows_are_exactly_at_chance():
    table = people(0)
    found = drift(table, table)
    assert not found.found and found.auc.mean == 0.5
    X = np.random.default_rng(0).normal(size=(100, 3))
    assert mmd(X, X).value == 0 and mmd(X, X).p == 1
    assert "No drift" in str(found)


def test_columns_that_moved_are_named():
    new = people(1)
    new["age"] = new["age"] + 8
    new["town"] = np.where(np.arange(500) % 2, "Oslo", new["town"])
    new["gap"][:200] = np.nan
    found = drift(people(0), new)
    assert set(found.drifted) == {"age", "town", "gap"}
    assert found.auc.low > 0.6 and found.discrepancy.p < 0.01
    (age,) = [f for f in found.findings if f.column == "age"]
    before, after = np.median(people(0)["age"]), np.median(new["age"])
    assert f"median {before:.6g} became {after:.6g}" in age.text
    json.dumps(found.to_dict(), allow_nan=False)
