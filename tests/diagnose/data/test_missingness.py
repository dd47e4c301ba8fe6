"""Patterns of missing values."""

import numpy as np
import pytest

from pansophy.diagnose import missingness

N = 600


def test_map_of_missing_values(rng):
    x = rng.normal(size=N)
    gap = rng.random(N) < 0.2
    table = {
        "x": x,
        "a": np.where(gap, np.nan, 1.0),
        "b": np.where(gap, None, "u"),
        "c": np.where(x > 1, np.nan, rng.normal(size=N)),
        "d": np.where(rng.random(N) < 0.3, np.nan, rng.normal(size=N)),
    }
    found = missingness(table)
    assert found.together == [("a", "b", pytest.approx(1.0))]
    assert found.depends[0][:2] == ("c", "x") and found.depends[0][2] > 0.95
    assert {a for a, _, _ in found.depends} == {"c"}
    patterns = dict(found.patterns)
    assert sum(patterns.values()) == N and patterns[()] == found.complete
    assert "'c' is not missing at random" in str(found)
    assert str(missingness({"x": x})) == "No value is missing."
