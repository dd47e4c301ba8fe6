"""Labels, member lists, representatives and memberships are one thing."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pansophy.cluster import Partition

LABELS = st.lists(st.integers(-1, 4), min_size=1, max_size=40)


@given(LABELS)
@settings(max_examples=50, deadline=None)
def test_all_forms_convert_back_exactly(labels):
    p = Partition.from_labels(labels, k=5)
    np.testing.assert_array_equal(p.labels, labels)
    back = Partition.from_members(p.members, n=p.n)
    np.testing.assert_array_equal(back.labels, labels)
    assert back.k == p.k
    r = Partition.from_representatives(p.representatives)
    assert r.is_equivalent(p) and p.is_equivalent(r)
    np.testing.assert_array_equal(r.representatives, p.representatives)
    soft = Partition.from_membership(p.membership_matrix())
    np.testing.assert_array_equal(soft.labels, labels)
    np.testing.assert_array_equal(p.sizes, [len(m) for m in p.members])


def test_members_are_disjoint_and_exhaustive():
    z = np.random.default_rng(0).integers(0, 7, size=200)
    every = np.concatenate(Partition.from_labels(z).members)
    np.testing.assert_array_equal(np.sort(every), np.arange(200))


def test_names_come_back():
    names = np.array(["red", "blue", "red", "green"])
    p = Partition.from_labels(names)
    assert p.k == 3
    np.testing.assert_array_equal(p.labels_by_name(), names)
    sparse_numbers = Partition.from_labels([7, 30, -1, 7])
    assert sparse_numbers.k == 2
    np.testing.assert_array_equal(sparse_numbers.labels_by_name(), [7, 30, -1, 7])


def test_soft_rows_sum_to_one_and_argmax_is_hard():
    U = np.random.default_rng(1).dirichlet(np.ones(4), size=30)
    p = Partition.from_membership(U)
    np.testing.assert_allclose(p.membership_matrix().sum(axis=1), 1)
    np.testing.assert_array_equal(p.labels, U.argmax(axis=1))
    assert "soft" in repr(p)


def test_the_same_groups_by_other_names():
    a, b = (
        Partition.from_labels([0, 0, 1, 2]),
        Partition.from_labels(["x", "x", "a", "b"]),
    )
    assert a.is_equivalent(b)
    assert not a.is_equivalent(Partition.from_labels([0, 1, 1, 2]))
    assert not a.is_equivalent(Partition.from_labels([0, 0, 1, -1]))


def test_centroids_and_exemplars():
    X = np.array([[0.0], [1.0], [5.0], [10.0]])
    p = Partition.from_labels([0, 0, 0, 1], k=3)
    C = p.centroids(X)
    np.testing.assert_allclose(C[:2, 0], [2.0, 10.0])
    assert np.isnan(C[2]).all()
    np.testing.assert_array_equal(p.exemplars(X), [1, 3, -1])
    np.testing.assert_array_equal(p.representatives_from([1, 3, -1]), [1, 1, 1, 3])
    weighted = p.centroids(X, sample_weight=[1, 1, 0, 1])
    np.testing.assert_allclose(weighted[0], 0.5)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Partition.from_labels([[0]]), "one column"),
        (lambda: Partition.from_labels([-2]), "below -1"),
        (lambda: Partition.from_labels([3], k=2), "does not fit"),
        (lambda: Partition.from_members([[0], [0]]), "two groups"),
        (lambda: Partition.from_members([[5]], n=2), "row numbers"),
        (lambda: Partition.from_representatives([1, 0]), "stands for itself"),
        (lambda: Partition.from_membership([[0.4, 0.4]]), "sum to 1"),
        (lambda: Partition.from_membership([[-1.0, 2.0]]), ">= 0"),
        (
            lambda: Partition.from_labels([0, 1]).representatives_from([1, 0]),
            "own group",
        ),
    ],
)
def test_what_is_no_partition_is_refused(make, match):
    with pytest.raises(ValueError, match=match):
        make()
