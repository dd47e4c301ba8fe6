"""A planted shortcut is found, in any table and for any task."""

import numpy as np
import pandas as pd
import pytest

from pansophy.diagnose import shortcuts
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.tree import DecisionTreeClassifier


@pytest.fixture
def photos(rng):
    """A sign of the class, a stamp that goes with it in 9 of 10 rows, and noise."""
    y = rng.integers(0, 2, 600)
    stamp = np.where(rng.random(600) < 0.9, y, 1 - y)
    table = pd.DataFrame({
        "sign": y + 0.6 * rng.normal(size=600), "stamp": stamp,
        "noise": rng.normal(size=600),
    })  # fmt: skip
    return table, y


def test_a_planted_shortcut_is_found_by_all_three(photos):
    X, y = photos
    found = {s.column: s for s in shortcuts(LogisticRegression(), X, y)}
    stamp = found["stamp"]
    assert stamp.verdict == "shortcut"
    assert stamp.shuffled.low > 0 and stamp.without.low > 0
    assert stamp.conflicting[0] > 0.3 > stamp.conflicting[1]
    assert stamp.agreeing[0] < stamp.agreeing[1]
    assert stamp.alone == pytest.approx(0.9, abs=0.03)
    assert "'stamp' is used as a shortcut" in str(stamp)
    assert stamp.finding().severity == "warning" and stamp.finding().column == "stamp"
    assert found["noise"].verdict == "not needed" and found["noise"].finding() is None


def test_any_table_any_task(photos, rng):
    X, y = photos
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    (one,) = shortcuts(model, X.to_numpy(), y, [1])
    (same,) = shortcuts(model, X.to_numpy(), y, ["b"], names=["a", "b", "c"])
    assert one.shuffled == same.shuffled and same.column == "b"
    numbers = shortcuts(
        LinearRegression(), X, y + 0.1 * rng.normal(size=600), ["stamp"]
    )
    assert numbers[0].shuffled.low > 0 and np.isfinite(numbers[0].conflicting).all()
    with pytest.raises(ValueError, match="'typo'"):
        shortcuts(model, X, y, ["typo"])
