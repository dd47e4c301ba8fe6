"""Folds: the right kind for the table, said why, and no row on both sides."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from pansophy.compare.samples import Samples
from pansophy.compare.splits import duplicate_groups, make_splits, merge_groups
from pansophy.params import ParameterError
from pansophy.tables import Column, MixedFrame, Schema, TableError

COLUMNS = (Column("x", "number", ""),)


def schema(task="classification", classes=("a", "b"), **more):
    classes = classes if task == "classification" else ()
    return Schema("y", task, "", COLUMNS, classes, **more)


def data(y, n_columns=2, seed=0, **more):
    rng = np.random.default_rng(seed)
    return Samples(
        MixedFrame(rng.normal(size=(len(y), n_columns))), np.asarray(y), **more
    )


def cover(split, n):
    """Each row is held out once in every repeat, and never both learned and tested."""
    k = split.per_repeat
    for r in range(split.repeats):
        part = split.folds[r * k : (r + 1) * k]
        rows = np.concatenate([test for _, test in part])
        assert sorted(rows) == list(range(n))
        assert all(len(np.intersect1d(a, b)) == 0 for a, b in part)
        assert all(len(a) + len(b) == n for a, b in part)


def test_classes_are_stratified_and_numbers_plain():
    y = np.array([0] * 40 + [1] * 20)
    s = make_splits(data(y), schema(), folds=4, repeats=3, seed=7)
    cover(s, 60)
    assert (
        s.kind == "stratified" and s.per_repeat == 4 and s.ratio == pytest.approx(1 / 3)
    )
    assert {tuple(np.bincount(y[test])) for _, test in s.folds} == {(10, 5)}
    peer = RepeatedStratifiedKFold(n_splits=4, n_repeats=3, random_state=7)
    for (a, b), (c, d) in zip(s.folds, peer.split(np.zeros(60), y)):
        assert np.array_equal(a, c) and np.array_equal(b, d)
    p = make_splits(data(y * 1.0), schema("regression"), folds=4, seed=7)
    q = RepeatedKFold(n_splits=4, n_repeats=1, random_state=7).split(np.zeros(60))
    assert p.kind == "plain" and "number" in p.why
    assert all(np.array_equal(b, d) for (_, b), (_, d) in zip(p.folds, q))
    assert p.tested(60).all() and "4 plain folds" in str(p)


def test_labels_keep_their_combinations():
    y = np.array([[0, 0]] * 30 + [[1, 0]] * 10 + [[1, 1]] * 10 + [[0, 1]] * 2)
    s = make_splits(data(y), schema("multilabel", labels=("a", "b")), folds=5)
    cover(s, 52)
    assert s.kind == "plain" or "combination" in s.why
    y = y[:50]
    s = make_splits(data(y), schema("multilabel", labels=("a", "b")), folds=5)
    assert s.kind == "stratified"
    assert {tuple(y[test].sum(0)) for _, test in s.folds} == {(4, 2)}


@given(st.integers(0, 10**6), st.integers(2, 5), st.sampled_from(["class", "number"]))
def test_groups_are_never_parted(seed, folds, what):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 12, 80)
    y = rng.integers(0, 2, 80) if what == "class" else rng.normal(size=80)
    task = "classification" if what == "class" else "regression"
    one = schema(task, group="patient")
    s = make_splits(data(y, group=group), one, folds=folds, repeats=2, seed=seed)
    cover(s, 80)
    assert "grouped" in s.kind and "patient" in s.why and s.repeats == 2
    for train, test in s.folds:
        assert not set(group[train]) & set(group[test])
        assert what == "number" or len(set(y[test])) == len(set(y[train])) == 2
    again = make_splits(data(y, group=group), one, folds=folds, repeats=2, seed=seed)
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(s.folds, again.folds))


@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(0, 3))
def test_time_never_runs_backwards(seed, folds, gap):
    rng = np.random.default_rng(seed)
    t = rng.integers(0, 30, 90).astype(float)  # many rows of one moment
    one = schema("regression", time="day")
    s = make_splits(
        data(rng.normal(size=90), time=t), one, folds=folds, repeats=5, gap=gap
    )
    assert s.kind == "time-ordered" and s.repeats == 1 and "day" in s.why
    assert s.notes[0].startswith("No repeats")
    tested = np.zeros(90, int)
    for train, test in s.folds:
        assert t[train].max() < t[test].min()
        between = (t < t[test].min()).sum() - len(train)
        assert between == gap
        tested[test] += 1
    assert tested.max() == 1 and np.array_equal(tested == 1, s.tested(90))
    assert s.ratio == pytest.approx(np.mean([len(b) / len(a) for a, b in s.folds]))


def test_time_with_groups_takes_them_out_of_training():
    t, group = np.arange(60.0), np.arange(60) % 10
    d = data(np.arange(60.0), time=t, group=group)
    mixed = make_splits(d, schema("regression", time="day", group="g"))
    assert mixed.units == "same"  # each group comes at many moments
    late = replace(d, group=np.arange(60) // 7)
    s = make_splits(late, schema("regression", time="day", group="g"), folds=3)
    assert s.units == ""
    for train, test in s.folds:
        assert not set(late.group[train]) & set(late.group[test])


def test_copies_stay_together():
    values = np.array([[1.0, np.nan], [2, 0.0], [1, np.nan], [2, -0.0], [3, 3]])
    code = duplicate_groups(MixedFrame(values))
    assert code[0] == code[2] and code[1] == code[3] and len(set(code)) == 3
    words = pa.array(["a", "a", None, "b", "c"])
    code = duplicate_groups(MixedFrame(values[:, :0], (words,)))
    assert code[0] == code[1] and len(set(code)) == 4
    assert duplicate_groups(MixedFrame(values[[0, 1, 4]])) is None
    assert merge_groups([0, 0, 1, 2, 3], [9, 8, 8, 7, 6]).tolist() == [0, 0, 0, 1, 2]
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(30, 2)), 2, axis=0)
    d = Samples(MixedFrame(X), rng.normal(size=60))
    s = make_splits(d, schema("regression"), folds=3, together=True)
    assert s.kind == "grouped" and "same inputs" in s.why
    for train, test in s.folds:
        assert not set(X[train, 0]) & set(X[test, 0])
    plain = make_splits(data(np.arange(20.0)), schema("regression"), together=True)
    assert plain.kind == "plain"  # there are none


def test_too_few_of_something():
    y = np.array([0] * 40 + [1] * 3)
    s = make_splits(data(y), schema(), folds=5)
    assert s.per_repeat == 3 and s.notes == ("3 folds, since class 'b' has 3 rows.",)
    says = [
        (lambda: make_splits(data(y[:41]), schema()), "Class 'b' has one row"),
        (lambda: make_splits(data(np.arange(9.0)), schema("regression")), "9 rows are"),
        (
            lambda: make_splits(data(y, group=np.zeros(43, int)), schema(group="g")),
            "All rows are of one group",
        ),
        (
            lambda: make_splits(data(y, group=(y > 0) * 1), schema(group="g")),
            "Class 'a' is found in one group only",
        ),
        (
            lambda: make_splits(data(y, time=np.zeros(43)), schema(time="day")),
            "All rows have the same day",
        ),
        (
            lambda: make_splits(data(y, time=np.arange(43.0)), schema(time="day")),
            "into parts that can be tested: class 'b' is not in all of them",
        ),
        (lambda: make_splits(data(y), schema(), kind="grouped"), "column of groups"),
        (lambda: make_splits(data(y), schema(), kind="time"), "column of times"),
        (
            lambda: make_splits(data(y, time=np.full(43, np.nan)), schema(time="d")),
            "The time of row 1 is missing",
        ),
    ]
    for call, text in says:
        with pytest.raises(TableError, match=text) as caught:
            call()
        assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
    with pytest.raises(ParameterError, match="split must be one of"):
        make_splits(data(y), schema(), kind="random")
    with pytest.raises(ParameterError, match="gap must be a whole number"):
        make_splits(data(y), schema(), gap=-1)


def test_fewer_folds_for_few_groups_and_late_classes():
    y, group = np.arange(30) % 2, np.repeat([0, 1, 2], 10)
    s = make_splits(data(y, group=group), schema(group="g"), folds=5)
    assert s.per_repeat == 3 and "too few groups for 5" in s.notes[0]
    y = np.r_[np.zeros(25, int), np.arange(75) % 2]
    s = make_splits(data(y, time=np.arange(100.0)), schema(time="t"), folds=5)
    assert s.per_repeat < 5 and "a part without class 'b'" in s.notes[-1]
    many = np.arange(20_000)
    s = make_splits(data(many % 2, group=many // 2), schema(group="g"), folds=3)
    assert s.kind == "grouped"  # chance spreads the classes well enough


def test_a_rare_class_among_several_does_not_cut_the_folds():
    y = np.r_[np.arange(60) % 2, [2, 2]]
    three = schema(classes=("a", "b", "c"))
    s = make_splits(data(y), three, folds=5, repeats=2)
    cover(s, 62)
    assert s.per_repeat == 5 and "Class 'c' (2 rows) cannot be among" in s.notes[0]
    assert all(set(y[train]) == {0, 1, 2} for train, _ in s.folds)
    assert sum(2 in y[test] for _, test in s.folds) == 4  # two folds of each repeat
    g = np.arange(62)
    s = make_splits(data(y, group=g), replace(three, group="g"), folds=5)
    assert s.per_repeat == 5 and all(2 in y[train] for train, _ in s.folds)
    assert "'c' (2 rows)" in s.notes[0]


def test_panels_have_two_designs():
    rng = np.random.default_rng(0)
    t, group = np.tile(np.arange(12.0), 8), np.repeat(np.arange(8), 12)
    d = data(rng.normal(size=96), time=t, group=group)
    one = schema("regression", time="day", group="pig")
    same = make_splits(d, one, folds=3)
    assert same.units == "same" and same.kind == "time-ordered"
    for train, test in same.folds:
        assert t[train].max() < t[test].min()
        assert set(group[train]) == set(group[test])
        assert len(train) == (t < t[test].min()).sum()
    new = make_splits(d, one, folds=3, units="new")
    tested = np.zeros(96, int)
    for train, test in new.folds:
        assert t[train].max() < t[test].min()
        assert not set(group[train]) & set(group[test])
        tested[test] += 1
    assert np.array_equal(tested == 1, same.tested(96)) and tested.max() == 1
    assert new.units == "new" and "pig" in new.why
