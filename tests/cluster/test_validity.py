"""Cluster validity: definitions, SciPy, and blindness to names."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import pdist, squareform

from pansophy.cluster import cophenetic_correlation, dunn_index, purity_score, validity
from pansophy.cluster import validity as module_or_function


def blobs(rng, n=90, gap=10.0):
    z = np.arange(n) % 3
    return rng.normal(size=(n, 2)) + gap * z[:, None], z


def test_dunn_by_definition(rng):
    X = rng.normal(size=(50, 3))
    z = rng.integers(0, 4, size=50)
    D = squareform(pdist(X))
    same = z[:, None] == z
    want = D[~same].min() / D[same].max()
    assert dunn_index(X, z) == pytest.approx(want)
    assert dunn_index(D, z, metric="precomputed") == pytest.approx(want)
    noisy = np.append(z, -1)
    assert dunn_index(np.vstack([X, [[99, 0, 0]]]), noisy) == pytest.approx(want)


def test_purity_by_hand():
    assert purity_score([0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]) == pytest.approx(5 / 6)
    assert purity_score(range(6), [0, 0, 1, 1, 1, 1]) == 1


@pytest.mark.parametrize("method", ["single", "complete", "average"])
@pytest.mark.parametrize("metric", ["euclidean", "cityblock"])
def test_cophenetic_correlation_equals_scipy(method, metric, rng):
    X = rng.normal(size=(70, 3))
    d = pdist(X, metric)
    Z = linkage(d, method)
    want = cophenet(Z, d)[0]
    assert cophenetic_correlation(Z, X, metric=metric) == pytest.approx(want)
    D = squareform(d)
    assert cophenetic_correlation(Z, D, metric="precomputed") == pytest.approx(want)


def test_cophenetic_correlation_in_blocks(rng, monkeypatch):
    import sys

    X = rng.normal(size=(40, 2))
    Z = linkage(X, "average")
    want = cophenetic_correlation(Z, X)
    monkeypatch.setattr(sys.modules["pansophy.cluster.validity"], "BLOCK", 10)
    assert cophenetic_correlation(Z, X) == pytest.approx(want)
    assert dunn_index(X, np.arange(40) % 3) > 0


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_one_for_the_same_partition_whatever_the_names(seed):
    rng = np.random.default_rng(seed)
    X, z = blobs(rng, 30, gap=1.0)
    z = rng.integers(0, 3, size=30)
    z[:3] = 0, 1, 2
    names = np.array(["red", "green", "blue"])[rng.permutation(3)]
    table = validity(X, names[z], z)
    external = ("adjusted_rand", "adjusted_mutual_info", "normalized_mutual_info",
                "v_measure", "fowlkes_mallows", "purity")  # fmt: skip
    for name in external:
        assert table[name] == pytest.approx(1)
    other = validity(X, z)
    for name in ("within_ss", "silhouette", "dunn", "davies_bouldin"):
        assert other[name] == pytest.approx(table[name])
    assert -1 <= table["silhouette"] <= 1


def test_separated_blobs_beat_random_labels(rng):
    X, z = blobs(rng)
    good, bad = validity(X, z, z), validity(X, rng.permutation(z), z)
    for name in ("silhouette", "dunn", "calinski_harabasz", "adjusted_rand", "purity"):
        assert good[name] > bad[name]
    for name in ("within_ss", "davies_bouldin"):
        assert good[name] < bad[name]


def test_noise_one_group_and_the_table(rng):
    X, z = blobs(rng)
    some = np.where(np.arange(90) < 6, -1, z)
    table = validity(X, some)
    assert table["n_noise"] == 6 and table["n_clusters"] == 3
    assert "silhouette" in repr(table)
    alone = validity(X, np.zeros(90))
    assert alone["n_clusters"] == 1 and "silhouette" not in alone
    assert alone["within_ss"] == pytest.approx(((X - X.mean(axis=0)) ** 2).sum())
    assert "silhouette" not in validity(X, z, max_pairwise_rows=10)
    nothing = validity(X, np.full(90, -1))
    assert nothing["n_clusters"] == 0
    assert module_or_function is validity


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda X: dunn_index(X, np.zeros(9)), "two groups"),
        (lambda X: dunn_index(X, [0, 1]), "9 rows"),
        (lambda X: dunn_index(X, [0, 1] * 4 + [1], metric="precomputed"), "square"),
        (lambda X: purity_score([0, 1], [0]), "compared"),
        (lambda X: validity(X, [0]), "9 rows"),
        (lambda X: cophenetic_correlation(np.zeros((3, 4)), X), "8 merges"),
        (lambda X: cophenetic_correlation([[0, 1, 1.0, 2]], X[:2]), "three rows"),
    ],
)
def test_bad_input(call, match, rng):
    with pytest.raises(ValueError, match=match):
        call(rng.normal(size=(9, 2)))
