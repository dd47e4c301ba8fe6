"""A planted shortcut is found, in any table and for any task."""

import numpy as np
import pytest

from pansophy.diagnose import shortcuts
from pansophy.linear_model import LinearRegression, LogisticRegression
from pansophy.tree import DecisionTreeClassifier


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


def planted(kind, n=500):
    """Columns sign, stamp, noise; classes; and groups that matter in some way."""
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, n)
    sign = y + 0.6 * rng.normal(size=n)
    group = rng.integers(0, 3, n)
    agreeing = lambda share: np.where(rng.random(n) < share, y, 1 - y)
    if kind == "breaks in one group":
        stamp = np.where(group == 2, agreeing(0.5), agreeing(0.95))
    elif kind == "reversed in one group":
        stamp = np.where(group == 2, agreeing(0.05), agreeing(0.95))
    else:
        stamp = agreeing(0.9)
    if kind == "agree or not":
        group = (stamp == y).astype(int)
    elif kind == "class and stamp":
        group = 2 * y + stamp
    elif kind == "the stamp itself":
        group = np.array(["inside", "outside"])[stamp]
    elif kind == "many":
        group = rng.integers(0, 30, n)
    return np.column_stack([sign, stamp, rng.normal(size=n)]), y, group


GROUPS = (
    "three at random", "many", "breaks in one group", "reversed in one group",
    "agree or not", "class and stamp", "the stamp itself",
)  # fmt: skip


@pytest.mark.parametrize("kind", GROUPS)
def test_a_planted_shortcut_is_found_with_groups(kind):
    X, y, groups = planted(kind)
    found = shortcuts(LogisticRegression(), X, y, [1, 2], groups=groups)
    stamp, noise = sorted(found, key=lambda s: s.column)
    assert stamp.verdict == "shortcut" and noise.verdict == "not needed"
    assert set(stamp.by_group) == set(np.unique(groups).tolist())
    if "one group" in kind:
        assert stamp.misled == (2,) and "In group 2 the error is" in str(stamp)
    if kind in ("three at random", "many"):
        assert not stamp.misled and not stamp.vanishes
    if kind == "the stamp itself":
        assert stamp.vanishes and "lost in new ones" in str(stamp)
    assert len(stamp.finding().facts["by_group"]) == len(stamp.by_group)


def test_groups_that_cannot_be_used_are_refused():
    X, y, groups = planted("three at random", 60)
    model = LogisticRegression()
    for bad, says in (
        (y, "determine the class"),
        (np.zeros(60), "at least two"),
        (groups[:5], "each of 60 rows"),
        ([None, *groups[1:]], "missing"),
    ):
        with pytest.raises(ValueError, match=says):
            shortcuts(model, X, y, [1], groups=bad)


def test_numbers_have_shortcuts_by_group(rng):
    group = rng.integers(0, 3, 400)
    true = rng.normal(size=400)
    y = true + 0.3 * rng.normal(size=400)
    tag = np.where(group == 1, -y, y) + 0.1 * rng.normal(size=400)
    found = shortcuts(LinearRegression(), np.c_[true, tag], y, groups=group)
    tag = next(s for s in found if s.column == "x1")
    assert tag.verdict == "shortcut" and 1 in tag.misled
