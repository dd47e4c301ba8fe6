"""Made-up ratings: distinct cells, long tails, what was planted."""

import numpy as np
import pytest

from pansophy.datasets import make_ratings


def test_shape_and_scale():
    t = make_ratings(200, 100, 4000)
    assert {len(c) for c in t.values()} == {4000}
    assert len(np.unique(t["user"] * 100 + t["item"])) == 4000
    assert set(np.unique(2 * t["rating"])) <= set(range(1, 11))
    assert (np.diff(t["time"]) >= 0).all()
    assert t["user"].max() < 200 and t["item"].max() < 100


def test_long_tails():
    t = make_ratings(2000, 1000, 50_000)
    counts = np.sort(np.bincount(t["item"], minlength=1000))[::-1]
    assert counts[:100].sum() > 0.3 * 50_000


def test_counts_seeds_and_refusals():
    t = make_ratings(50, 40, 300, implicit=True)
    assert t["rating"].min() >= 1 and (t["rating"] % 1 == 0).all()
    a, b, c = (make_ratings(50, 40, 300, random_state=s) for s in (1, 1, 2))
    assert all((a[k] == b[k]).all() for k in a) and (a["item"] != c["item"]).any()
    with pytest.raises(ValueError, match="at most half"):
        make_ratings(10, 10, 60)
    with pytest.raises(ValueError, match="at least 1"):
        make_ratings(0, 10, 60)
