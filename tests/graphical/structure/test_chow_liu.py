"""Chow-Liu trees against all trees."""

from itertools import product

import numpy as np
import pytest

from pansophy.graphical import (
    chow_liu,
    log_likelihood_score,
)
from tests.graphical.structure.test_structure_search import strong


def trees(d):
    """Parents of every tree rooted at 0."""
    for choice in product(range(d), repeat=d - 1):
        parents = [(), *((p,) for p in choice)]
        reached = {0}
        for _ in range(d):
            reached |= {j for j in range(1, d) if parents[j][0] in reached}
        if len(reached) == d:
            yield parents


def test_chow_liu_is_the_likeliest_of_all_trees():
    X = strong(300)
    best = max(log_likelihood_score(X, t) for t in trees(5))
    for root in (None, 3):
        found = chow_liu(X, root=root)
        assert log_likelihood_score(X, found.parents) == pytest.approx(best)
        assert found.score_samples(X).sum() == pytest.approx(best)
    assert found.parents[3] == ()
    w = np.arange(300) % 3
    a, b = chow_liu(X, sample_weight=w), chow_liu(np.repeat(X, w, axis=0))
    assert a.parents == b.parents


def test_chow_liu_reads_frames_with_holes():
    pd = pytest.importorskip("pandas")
    X = strong(2000).astype(float)
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    found = chow_liu(pd.DataFrame(X, columns=list("abcde")), root="a")
    assert ("c", "e") in found.edges and ("c", "d") in found.edges


def test_chow_liu_refuses_columns_of_real_numbers():
    real = np.random.default_rng(0).normal(size=80)
    real[3] = np.nan
    for rows in ({"a": ["x", "y"] * 40, "b": real}, {"b": real, "c": real}):
        with pytest.raises(ValueError, match=r"^column 'b' holds real numbers, and ch"):
            chow_liu(rows)
