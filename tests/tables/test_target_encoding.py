"""Mean targets: the shrinkage formula, cross-fitting, several targets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.tables import MixedFrame, Preparation
from tests.oracles.tables import mean_targets
from tests.tables.small_schemas import columns_of

NAN = np.nan


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
def test_mean_targets_are_those_of_the_slow_version(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 60))
    codes, w = rng.integers(0, 12, n).astype(float), rng.integers(1, 4, n)
    codes[rng.random(n) < 0.1] = NAN
    y = rng.normal(size=n) + np.nan_to_num(codes, nan=3)
    told = columns_of(("category", 12))
    prepare = Preparation(told).fit(MixedFrame(codes[:, None]), y, sample_weight=w)
    names = ["gone" if c != c else c for c in codes]
    want = mean_targets(names, y, w)
    got = prepare.transform(MixedFrame(codes[:, None]))[:, 0]
    np.testing.assert_allclose(got, [want[c] for c in names], rtol=1e-9)
    unseen = prepare.transform(MixedFrame(np.array([[-1.0]])))[0, 0]
    assert np.isclose(unseen, np.average(y, weights=w))


def test_no_row_sees_its_own_answer():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 20, 100).astype(float)[:, None]
    told, y = columns_of(("category", 20)), rng.normal(size=100)
    first = Preparation(told).fit_transform(MixedFrame(codes), y)
    for i in (0, 17, 99):
        changed = y.copy()
        changed[i] = 1e6
        again = Preparation(told).fit_transform(MixedFrame(codes), changed)
        assert again[i, 0] == first[i, 0]
        others = (codes[:, 0] == codes[i, 0]) & (np.arange(100) != i)
        assert np.any(again[others] != first[others])
    ids = np.arange(100.0)[:, None]  # levels seen once tell nothing
    A = (
        Preparation(columns_of(("category", 100)))
        .fit(MixedFrame(ids), y)
        .transform(MixedFrame(ids))
    )
    np.testing.assert_allclose(A, y.mean())


@pytest.mark.filterwarnings("error")
def test_an_unknown_level_is_the_mean_also_where_levels_tell_everything():
    """Equal answers within every level leave no variance to divide by."""
    from pansophy.tables import target_encoding

    Y = np.repeat([[0.0], [1.0], [1.0], [0.0]], 5, axis=0)
    slots = np.repeat([1, 2, 3, 4], 5)
    found = target_encoding.mean_targets(slots, 6, Y, np.ones(20))
    assert found[:, 0].tolist() == [0.5, 0.0, 1.0, 1.0, 0.0, 0.5]


def test_levels_that_say_nothing_stay_small():
    """Shrunk to one mean in all rows, but not in the parts of cross-fitting."""
    rng = np.random.default_rng(1)
    codes, told = np.arange(160_000.0)[:, None] % 20, columns_of(("category", 20))
    shrunk = 0
    for _ in range(2):
        y = rng.integers(0, 3, len(codes))
        A = Preparation(told, task="classification", n_classes=3, scale=True)
        made = A.fit_transform(MixedFrame(codes), y)
        shrunk += int((np.ptp(A.means_.table, axis=0) < 1e-9).sum())
        assert (
            np.abs(made).max() < 30
            and np.abs(A.transform(MixedFrame(codes))).max() < 30
        )
    assert shrunk > 0


def test_mean_targets_of_classes_and_labels():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 12, 300).astype(float)[:, None]
    told, y = columns_of(("category", 12)), rng.integers(0, 3, 300)
    classes = Preparation(told, task="classification", n_classes=3)
    A = classes.fit(MixedFrame(codes), y).transform(MixedFrame(codes))
    assert classes.get_feature_names_out().tolist() == [
        "c0 mean 0",
        "c0 mean 1",
        "c0 mean 2",
    ]
    np.testing.assert_allclose(A.sum(axis=1), 1, atol=0.2)
    labels = np.column_stack([y == 0, y > 0]).astype(int)
    B = Preparation(told, task="multilabel").fit(MixedFrame(codes), labels)
    assert B.transform(MixedFrame(codes)).shape == (300, 2)
    both = Preparation(told, task="classification", n_classes=2)
    assert both.fit_transform(MixedFrame(codes), y > 0).shape == (300, 1)
    with pytest.raises(ValueError, match="needs y"):
        Preparation(told).fit(MixedFrame(codes))
