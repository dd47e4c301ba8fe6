"""K-means with some labels given."""

import numpy as np
import pytest

from pansophy.cluster import KMeans
from pansophy.semi_supervised import SeededKMeans
from tests.oracles import kmeans as slow


def rows(rng, n=90, gap=3.0):
    y = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + gap * np.stack([y, -y], axis=1), y


def constrained(X, w, C, known):
    """Turns by the book, known labels put back after each assignment."""
    old = None
    while True:
        z = np.where(known >= 0, known, slow.assign(X, C))
        if old is not None and (z == old).all():
            return C, z
        C = slow.means(X, w, z, C)
        old = z


@pytest.mark.parametrize("seed", range(4))
def test_constrained_equals_the_oracle(seed):
    rng = np.random.default_rng(seed)
    X, y = rows(rng, gap=1.5)
    known = np.where(rng.random(90) < 0.3, y, -1)
    known[:3] = 0, 1, 2
    model = SeededKMeans().fit(X, known)
    start = np.stack([X[known == j].mean(axis=0) for j in range(3)])
    C, z = constrained(X, np.ones(90), start, known)
    np.testing.assert_allclose(model.cluster_centers_, C)
    np.testing.assert_array_equal(model.labels_, z)
    told = known >= 0
    np.testing.assert_array_equal(model.transduction_[told], known[told])


def test_seeded_is_k_means_from_the_class_means(rng):
    X, y = rows(rng, gap=1.5)
    known = np.where(np.arange(90) < 12, y, -1)
    model = SeededKMeans("seeded").fit(X, known)
    start = np.stack([X[known == j].mean(axis=0) for j in range(3)])
    plain = KMeans(3, init=start, tol=0).fit(X)
    np.testing.assert_allclose(model.cluster_centers_, plain.cluster_centers_)
    np.testing.assert_array_equal(model.labels_, plain.labels_)
    assert model.inertia_ == pytest.approx(plain.inertia_)


@pytest.mark.parametrize("mode", ["seeded", "constrained"])
def test_objective_never_rises(mode, rng):
    X, y = rows(rng, gap=1.0)
    known = np.where(rng.random(90) < 0.2, rng.permutation(y), -1)
    known[:3] = 0, 1, 2
    h = SeededKMeans(mode).fit(X, known).history_["objective"]
    assert (np.diff(h) <= 1e-9 * h[0]).all()


def test_all_known_is_the_nearest_class_mean(rng):
    X, y = rows(rng)
    model = SeededKMeans().fit(X, y)
    C = np.stack([X[y == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(model.cluster_centers_, C)
    np.testing.assert_array_equal(model.predict(X), slow.assign(X, C))


def test_labels_help(rng):
    """Two groups that k-means would split the wrong way."""
    X = np.concatenate(
        [
            rng.normal(size=(60, 2)) * [3.5, 0.7],
            rng.normal(size=(60, 2)) * [3.5, 0.7] + [0, 5],
        ]
    )
    y = np.repeat([0, 1], 60)
    known = np.where(rng.random(120) < 0.3, y, -1)
    plain = KMeans(2, random_state=0, n_init=5).fit(X).labels_
    alone = max(np.mean(plain == y), np.mean(plain != y))
    told = SeededKMeans().fit(X, known).transduction_
    assert np.mean(told == y) > alone + 0.1


def test_text_classes_and_weights(rng):
    X, y = rows(rng)
    names = np.array(["red", "green", "blue"])
    some = np.where(np.arange(90) < 9, names[y], "")
    model = SeededKMeans().fit(X, some)
    assert list(model.classes_) == ["blue", "green", "red"]
    assert set(model.predict(X)) <= set(names)
    few = np.where(np.arange(90) < 9, y, -1)
    other = SeededKMeans().fit(X, few)
    np.testing.assert_array_equal(names[other.transduction_], model.transduction_)
    w = rng.integers(0, 3, size=90)
    w[:9] = 1
    for mode in ("constrained", "seeded"):
        a = SeededKMeans(mode).fit(X, few, sample_weight=w)
        b = SeededKMeans(mode).fit(np.repeat(X, w, axis=0), np.repeat(few, w))
        np.testing.assert_allclose(a.cluster_centers_, b.cluster_centers_)
        assert a.inertia_ == pytest.approx(b.inertia_)
    assert a.distances(X).shape == (90, 3)


def test_float32_and_an_offset(rng):
    """Rows far from the origin lose no digits to it."""
    X, y = rows(rng)
    few = np.where(np.arange(90) < 9, y, -1)
    a = SeededKMeans().fit(X.astype(np.float32) + np.float32(2048), few)
    b = SeededKMeans().fit(X, few)
    assert a.cluster_centers_.dtype == np.float32
    np.testing.assert_array_equal(a.labels_, b.labels_)
    np.testing.assert_allclose(a.inertia_, b.inertia_, rtol=1e-3)


def test_no_label_at_all_is_refused(rng):
    with pytest.raises(ValueError, match="no class at all"):
        SeededKMeans().fit(rng.normal(size=(5, 2)), np.full(5, -1))


def test_text_with_minus_one_for_no_label():
    X = [[0.0], [1.0], [8.0], [9.0]]
    said = SeededKMeans().fit(X, np.array(["low", -1, -1, "high"], dtype=object))
    assert said.transduction_.tolist() == ["low", "low", "high", "high"]
