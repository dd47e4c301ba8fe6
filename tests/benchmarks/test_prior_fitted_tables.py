"""The list of real tables for prior-fitted networks, and how a table is read."""

import numpy as np

from benchmarks.studies.prior_fitted_tables import (
    CLASS_TABLES,
    NUMBER_TABLES,
    Named,
    read,
)


def test_list_is_large_and_split_by_name():
    for tables in CLASS_TABLES, NUMBER_TABLES:
        assert len({t.name for t in tables}) == len(tables)
        assert 0.35 < np.mean([t.judgement for t in tables]) < 0.65
    assert len(CLASS_TABLES) >= 120
    assert sum(t.judgement for t in CLASS_TABLES) >= 55
    assert len(NUMBER_TABLES) >= 60
    # fixed for good: a table never changes halves
    assert Named("AER/HMDA", "deny", ()).judgement
    assert not Named("sklearn/wine", "target", ()).judgement


def test_cuts_are_stratified_and_disjoint():
    arrays = read(Named("sklearn/wine", "target", ()), classes=True)
    assert arrays["X"].shape == (178, 13)
    assert not arrays["cat"].any()
    for i in range(3):
        train, test = arrays[f"tr{i}"], arrays[f"te{i}"]
        assert not set(train) & set(test)
        assert len(train) == 118
        assert len(test) == 60
        assert np.bincount(arrays["y"][train]).min() >= 30
