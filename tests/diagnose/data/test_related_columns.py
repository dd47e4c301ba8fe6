"""Copied and associated columns."""

import numpy as np
import pytest
import scipy.stats

from pansophy.diagnose import explore
from pansophy.diagnose.data.columns import table_view
from pansophy.diagnose.data.related_columns import (
    Association,
    check_related,
    cramers_v,
    pairwise_correlation,
)

N = 600


def test_copied_and_related_columns(rng):
    a, kind = rng.normal(size=N), rng.choice(list("abc"), N)
    table = {
        "a": a,
        "again": a,
        "bent": np.exp(a),
        "kind": kind,
        "renamed": np.char.add("x", kind),
        "weight": np.where(kind == "a", 1.0, 5.0) + 0.01 * rng.normal(size=N),
    }
    found = [
        (f.kind, f.facts["of"], f.column) for f in check_related(table_view(table))
    ]
    assert ("duplicated column", "a", "again") in found
    assert ("duplicated column", "kind", "renamed") in found
    assert ("correlated columns", "a", "bent") in found
    assert any("weight" in pair for pair in found)


def test_association_against_scipy(rng):
    X = rng.normal(size=(N, 4)) @ rng.normal(size=(4, 4))
    X[rng.random(X.shape) < 0.2] = np.nan
    for i, j in ((0, 1), (2, 3)):
        both = ~np.isnan(X[:, [i, j]]).any(axis=1)
        r = scipy.stats.pearsonr(X[both, i], X[both, j]).statistic
        assert pairwise_correlation(X)[i, j] == pytest.approx(r, abs=1e-12)
    a, b = rng.integers(0, 40, N), rng.integers(0, 40, N)
    assert cramers_v(a, b) < 0.1 and cramers_v(a, a) == pytest.approx(1)
    found = Association(table_view({"x": X[:, 0], "k": a.astype(str)}))
    assert found.matrix[0, 1] < 0.2


def test_groups_are_not_called_like_the_columns_that_they_determine(rng):
    who = np.repeat([f"p{i:03d}" for i in range(60)], 8)
    age = np.repeat(rng.integers(20, 80, 60), 8)
    weight = np.repeat(rng.normal(70, 9, 60), 8)
    noise = rng.normal(size=480)
    for name in ("patient", "patient_id", "site", "group", "my id"):
        table = {name: who, "age": age, "weight": weight, "noise": noise}
        assert check_related(table_view(table)) == []
    other = {"where": who, "age": age, "noise": noise}  # many share an age
    assert check_related(table_view(other)) == []
    given = {"where": who, "weight": weight, "noise": noise}
    assert check_related(table_view(given), groups=["where"]) == []
    found = explore({**given, "y": noise}, "y", group="where", whole=False).findings
    assert not any(f.kind == "correlated columns" for f in found)


def test_categories_that_say_the_same_as_a_number_are_still_told(rng):
    size = rng.integers(0, 3, 300)
    words = np.array(["small", "middle", "large"])[size]
    table = {"words": words, "size": size + 0.01 * rng.normal(size=300)}
    (found,) = check_related(table_view(table))
    assert found.kind == "correlated columns"
