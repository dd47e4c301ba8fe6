"""Simpson's paradox: reversals are found, and only with confounding."""

import numpy as np
import pytest

from pansophy.diagnose import (
    simpson,
)
from pansophy.tables import TableError

STONES = [
    ("A", "small", 1, 81), ("A", "small", 0, 6), ("A", "large", 1, 192),
    ("A", "large", 0, 71), ("B", "small", 1, 234), ("B", "small", 0, 36),
    ("B", "large", 1, 55), ("B", "large", 0, 25),
]  # fmt: skip


def test_simpson_on_the_stones():
    rows = [r[:3] for r in STONES for _ in range(r[3])]
    table = dict(zip(["how", "stone", "cured"], map(list, zip(*rows))))
    found = simpson(table, "cured", "how", "stone")
    assert found.reversed
    assert found.overall.mean == pytest.approx(289 / 350 - 273 / 350)
    small, large = found.strata
    assert small.means == pytest.approx((81 / 87, 234 / 270))
    assert large.means == pytest.approx((192 / 263, 55 / 80))
    adjusted = (357 * small.difference + 343 * large.difference) / 700
    assert found.adjusted.mean == pytest.approx(adjusted)
    assert "turns round" in str(found) and "'small'" in str(found)
    weighted = dict(zip(["how", "stone", "cured", "n"], map(list, zip(*STONES))))
    same = simpson(weighted, "cured", "how", "stone", weight="n")
    assert same.adjusted.mean == pytest.approx(found.adjusted.mean)
    (turned,) = [s for s in simpson(table, "cured", "how") if s.reversed]
    assert turned.context == "stone"


def test_no_reversal_without_confounding():
    turned = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        c, a = rng.integers(0, 4, 400), rng.integers(0, 2, 400)
        y = 0.3 * c + 0.1 * a * (seed % 2) + rng.normal(size=400)
        turned += simpson({"y": y, "a": a, "c": c}, "y", "a", "c").reversed
    assert turned <= 3
    with pytest.raises(TableError, match="a treatment has two"):
        simpson({"y": [1.0, 2, 3], "a": ["u", "v", "w"], "c": [1, 1, 2]}, "y", "a", "c")
