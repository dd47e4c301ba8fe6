"""Preparation learns from the rows it is given and from nothing else."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import pansophy
from pansophy.datasets import make_messy
from pansophy.tables import MixedFrame, Preparation
from tests.oracles.tables import one_hot
from tests.tables.small_schemas import columns_of, prepared, same_state

KINDS = [{}, {"scale": True}, {"scale": True, "full_rank": True}, {"native": True}]


NAN = np.nan


@pytest.fixture(scope="module")
def messy():
    return make_messy(400, 5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_messy_table(kind, messy):
    prepare, frame, y, schema = prepared(messy, **kind)
    first = prepare.fit_transform(frame, y)
    again = prepare.transform(frame)
    names = prepare.get_feature_names_out()
    assert first.shape == again.shape == (400, len(names)) and len(set(names)) == len(
        names
    )
    where = prepare.columns_of
    assert all(n.startswith(schema.used[j].name) for n, j in zip(names, where))
    assert set(where) == set(range(len(schema.used)))
    means = np.char.endswith(names.astype(str), " mean")
    np.testing.assert_array_equal(first[:, ~means], again[:, ~means])
    if prepare.native:
        assert prepare.categories == [0, 1, 2] and not means.any()
        assert np.isnan(first[:, 0]).any() and np.nanmax(first[:, 1]) > 30
    else:
        assert np.isfinite(first).all() and means.sum() == 1
        assert not np.array_equal(first[:, means], again[:, means])
    one_by_one = np.vstack([prepare.transform(frame[i : i + 1]) for i in range(20)])
    np.testing.assert_allclose(one_by_one, again[:20], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_learned_outside_fit(kind, messy):
    prepare, frame, y, _ = prepared(messy, **kind)
    train, test = frame[:300], frame[300:]
    want = prepare.fit_transform(train, y[:300])
    held = copy.deepcopy(vars(prepare))
    before = prepare.transform(train), prepare.transform(test)
    order = np.random.default_rng(0).permutation(100)
    mixed = np.random.default_rng(1).permuted(test.values, axis=0)
    mixed[::3] = NAN
    prepare.transform(MixedFrame(mixed, test[order].texts))
    np.testing.assert_array_equal(prepare.transform(train), before[0])
    np.testing.assert_array_equal(prepare.transform(test), before[1])
    np.testing.assert_array_equal(prepare.transform(test[order]), before[1][order])
    assert same_state(held, vars(prepare))
    twin = clone(prepare)
    assert "edges_" not in vars(twin)
    np.testing.assert_array_equal(twin.fit_transform(train, y[:300]), want)
    assert same_state(held, vars(twin))


@pytest.mark.parametrize("kind", KINDS)
def test_saved_and_loaded(kind, messy, tmp_path):
    prepare, frame, y, schema = prepared(messy, **kind)
    prepare.fit(frame, y)
    pansophy.save((prepare, schema), tmp_path / "p.pansophy")
    again, told = pansophy.load(tmp_path / "p.pansophy")
    assert told == schema and same_state(vars(prepare), vars(again))
    np.testing.assert_array_equal(again.transform(frame), prepare.transform(frame))


def test_numbers_are_filled_scaled_and_flagged():
    V = np.array([[1, 5.0, 0], [2, NAN, 1], [NAN, NAN, -1], [4, 8, 2], [10, 6, NAN]])
    told = columns_of(("number", 0), ("number", 0), ("ordinal", 3))
    prepare = Preparation(told).fit(MixedFrame(V))
    assert prepare.get_feature_names_out().tolist() == [
        "c0", "c1", "c2", "c0 missing", "c1 missing", "c2 missing",
    ]  # fmt: skip
    got = prepare.transform(MixedFrame(V))
    assert got[2].tolist() == [3, 6, 1, 1, 1, 0] and got[4].tolist() == [
        10,
        6,
        1,
        0,
        0,
        1,
    ]
    scaled = Preparation(told, scale=True).fit(MixedFrame(V)).transform(MixedFrame(V))
    np.testing.assert_allclose(scaled[:, :3].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(scaled[:, :3].std(axis=0), 1)
    empty = Preparation(columns_of(("number", 0))).fit(MixedFrame(np.full((3, 1), NAN)))
    assert empty.transform(MixedFrame(np.array([[NAN], [2.0]]))).tolist() == [
        [0, 1],
        [2, 0],
    ]
    with pytest.raises(ValueError, match="has 1 columns, but Preparation is told of 3"):
        Preparation(told).fit(MixedFrame(V[:, :1]))


def test_levels_unknown_missing_and_rare():
    codes = np.repeat([0, 1, 2, 3, 4, NAN], [500, 300, 3, 2, 190, 5])
    frame, told = MixedFrame(codes[:, None]), columns_of(("category", 7))
    prepare = Preparation(told).fit(frame)
    names = [n.partition("=")[2] for n in prepare.get_feature_names_out()]
    assert names == ["v00", "v01", "v04", "(rare)", "(missing)"]
    new = np.array([0, 1, 2, 3, 4, 5, 6, -1, NAN])  # 5, 6 and -1 were never seen
    want = one_hot(new, [[0], [1], [4], [2, 3], [NAN]])
    want[[5, 6, 7], 3] = 1  # together with the rare ones
    assert prepare.transform(MixedFrame(new[:, None])).tolist() == want.tolist()
    few = Preparation(told).fit(MixedFrame(np.array([[0.0], [1], [1], [2]])))
    assert len(few.get_feature_names_out()) == 3  # nothing is rare among four rows
    assert few.transform(MixedFrame(np.array([[-1.0], [NAN], [5]]))).sum() == 0


def test_full_rank(messy):
    prepare, frame, y, _ = prepared(messy, full_rank=True, scale=True)
    V = np.hstack([np.ones((400, 1)), prepare.fit_transform(frame, y)])
    keep = [
        i
        for i, n in enumerate(prepare.get_feature_names_out())
        if "since year" not in n
    ]
    V = V[:, [0, *(i + 1 for i in keep)]]
    assert np.linalg.matrix_rank(V) == V.shape[1]
    codes = np.repeat([0, 1, 2, 3, NAN], [500, 490, 3, 2, 5])[:, None]
    A = Preparation(columns_of(("category", 4)), full_rank=True).fit(MixedFrame(codes))
    A = A.transform(MixedFrame(codes))
    assert np.linalg.matrix_rank(np.hstack([np.ones((1000, 1)), A])) == A.shape[1] + 1


def test_native_codes():
    rng = np.random.default_rng(0)
    codes = np.r_[np.arange(300), rng.integers(0, 40, 700), [NAN, -1]]
    prepare = Preparation(columns_of(("category", 300), ("number", 0)), native=True)
    V = np.column_stack([codes, np.r_[rng.normal(size=1001), NAN]])
    got = prepare.fit_transform(MixedFrame(V), np.zeros(1002))
    assert got[:, 0][~np.isnan(got[:, 0])].max() == 249 and np.isnan(got[1000, 0])
    assert got[-1, 0] == 249 and np.isnan(got[-1, 1])  # unknown: with the rare ones
    assert len(set(got[:40, 0])) == 40  # frequent levels keep codes of their own
    few = Preparation(columns_of(("category", 5)), native=True)
    few.fit(MixedFrame(np.array([[0.0], [3], [3]])))
    got = few.transform(MixedFrame(np.array([[0.0], [3], [1], [-1], [NAN]])))[:, 0]
    assert got[:2].tolist() == [0, 1] and np.isnan(got[2:]).all()


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(KINDS))
def test_weights_are_repeated_rows(seed, kind):
    rng = np.random.default_rng(seed)
    n = 40
    w = rng.integers(0, 4, n) + (np.arange(n) == 0)
    V = np.column_stack([
        rng.normal(size=n), rng.integers(0, 3, n), rng.integers(0, 15, n),
        rng.integers(0, 10**9, n), rng.uniform(0, 360, n),
    ]).astype(float)  # fmt: skip
    V[rng.random(V.shape) < 0.1] = NAN
    V[0] = 1.0
    told = columns_of(
        ("number", 0), ("category", 3), ("category", 15), ("date", 0), ("angle", 360.0)
    )
    y = rng.normal(size=n)
    rows = np.repeat(np.arange(n), w)
    weighted = Preparation(told, **kind).fit(MixedFrame(V), y, sample_weight=w)
    repeated = Preparation(told, **kind).fit(MixedFrame(V[rows]), y[rows])
    assert weighted.names_ == repeated.names_
    assert weighted.fit_transform(MixedFrame(V), y, sample_weight=w).shape[0] == n
    np.testing.assert_allclose(
        weighted.transform(MixedFrame(V)),
        repeated.transform(MixedFrame(V)),
        rtol=1e-9,
        atol=1e-9,
    )
