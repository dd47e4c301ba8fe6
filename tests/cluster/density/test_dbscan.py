"""Density clusters at one scale."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn import cluster as peer
from sklearn.metrics import pairwise_distances

from pansophy import plot
from pansophy.cluster import DBSCAN, dbscan_labels
from pansophy.cluster.density import dbscan as module
from tests.oracles import hierarchy as oracle

LINE = np.array([0, 0.5, 1, 1.55, 5])[:, None]


SHAPES = [(300, 1, 0.01, 4), (500, 2, 0.15, 5), (600, 3, 0.5, 8), (300, 6, 1.2, 5),
          (300, 30, 6.0, 5), (200, 2, 50.0, 5), (200, 2, 1e-6, 1)]  # fmt: skip


def test_worked_example():
    model = DBSCAN(eps=0.6, min_samples=3).fit(LINE)
    assert_array_equal(model.core_sample_indices_, [1, 2])
    assert_array_equal(model.labels_, [0, 0, 0, 0, -1])
    assert_array_equal(model.components_, LINE[1:3])


@pytest.mark.parametrize(("n", "d", "eps", "least"), SHAPES)
@pytest.mark.parametrize("algorithm", ["auto", "kd_tree", "brute"])
@pytest.mark.parametrize("weighted", [False, True])
def test_equals_scikit_learn(n, d, eps, least, algorithm, weighted):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    w = rng.integers(0, 3, n) if weighted else None
    how = {"eps": eps, "min_samples": least, "algorithm": algorithm}
    a = DBSCAN(**how).fit(X, sample_weight=w)
    b = peer.DBSCAN(**how).fit(X, sample_weight=w)
    assert_array_equal(a.labels_, b.labels_)
    assert_array_equal(a.core_sample_indices_, b.core_sample_indices_)


@pytest.mark.parametrize(
    "how",
    [
        {"metric": "manhattan"},
        {"metric": "chebyshev"},
        {"metric": "cosine", "eps": 0.05},
        {"metric": "minkowski", "p": 3},
        {"metric": "minkowski", "metric_params": {"p": 1.5}},
        {"metric": "canberra"},
        {"metric": "precomputed"},
        {"metric": lambda u, v: np.abs(u - v).max()},
    ],
)
def test_metrics_equal_scikit_learn(how):
    X = np.random.default_rng(0).normal(size=(150, 3))
    X = pairwise_distances(X) if how["metric"] == "precomputed" else X
    how = {"eps": 0.6, **how}
    assert_array_equal(DBSCAN(**how).fit_predict(X), peer.DBSCAN(**how).fit_predict(X))


def test_sparse_rows_and_sparse_distances():
    X = sp.random(120, 10, 0.3, rng=np.random.default_rng(0), format="csr")
    expected = peer.DBSCAN(eps=0.6).fit_predict(X)
    assert_array_equal(DBSCAN(eps=0.6).fit_predict(X), expected)
    dense = X.toarray()
    assert_array_equal(DBSCAN(eps=0.6).fit_predict(dense), expected)
    D = pairwise_distances(dense)
    D = sp.csr_array(np.where(D <= 0.9, D, 0))
    assert_array_equal(DBSCAN(eps=0.6, metric="precomputed").fit_predict(D), expected)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 3), st.integers(0, 1000), st.integers(1, 6))
def test_equals_the_slow_walk(n, d, seed, enough):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (n, d)).astype(float)  # many ties, distances exact
    w = rng.integers(0, 3, n).astype(float)
    w = w if w.any() else w + 1
    for eps in (1.0, 2.0):
        labels, core = oracle.dbscan(X, eps, enough, w)
        ways = {
            "cells": dbscan_labels(X, eps, enough, w),
            "lists": module.dbscan_by_neighbor_lists(
                partial(module.precomputed_neighbor_blocks, pairwise_distances(X), eps),
                n, enough, w,
            ),
        }  # fmt: skip
        for found, flags in ways.values():
            assert_array_equal(flags, core)
            assert_array_equal(found, labels)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1000), st.sampled_from([2, 5, 20]))
def test_core_clusters_do_not_depend_on_the_order_of_rows(seed, d):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, d)) + 4 * rng.integers(0, 2, (80, 1))
    eps = 0.35 * np.sqrt(2 * d)
    order = rng.permutation(80)
    z, core = dbscan_labels(X, eps, 4)
    other, flags = dbscan_labels(X[order], eps, 4)
    assert_array_equal(core[order], flags)
    pairs = np.unique(np.column_stack([z[order], other])[flags], axis=0)
    assert len(pairs) == len(np.unique(pairs[:, 0])) == len(np.unique(pairs[:, 1]))
    assert_array_equal((z == -1)[order], other == -1)


@pytest.mark.parametrize("d", [2, 6])
def test_weights_are_repetition(d):
    rng = np.random.default_rng(3)
    X, w = rng.normal(size=(150, d)), rng.integers(1, 4, 150)
    eps = 0.2 * d
    z = DBSCAN(eps=eps, min_samples=6).fit(X, sample_weight=w).labels_
    many = DBSCAN(eps=eps, min_samples=6).fit(np.repeat(X, w, axis=0)).labels_
    assert_array_equal(np.repeat(z, w), many)


def test_lists_beyond_the_limit_are_looked_up_again(monkeypatch):
    X = np.random.default_rng(0).normal(size=(400, 6))
    expected = DBSCAN(eps=1.2).fit_predict(X)
    monkeypatch.setattr(module, "KEPT", 100)
    assert_array_equal(DBSCAN(eps=1.2).fit_predict(X), expected)


def test_threads_do_not_matter():
    X = np.random.default_rng(0).normal(size=(5000, 3))
    one = DBSCAN(eps=0.3, n_jobs=1).fit(X)
    assert_array_equal(one.labels_, DBSCAN(eps=0.3).fit(X).labels_)


def test_refusals_and_far_rows():
    with pytest.raises(ValueError, match="eps of DBSCAN"):
        DBSCAN(eps=0).fit(LINE)
    with pytest.raises(ValueError, match="square"):
        DBSCAN(metric="precomputed").fit(LINE)
    X = np.array([[0.0, 0], [1e12, 0], [1e12 + 0.1, 0]])  # too many cells: searched
    z = DBSCAN(eps=0.5, min_samples=2).fit(X).labels_
    assert_array_equal(z, [-1, 0, 0])


def test_picture_tells_core_border_and_noise_apart():
    model = DBSCAN(eps=0.6, min_samples=3).fit(LINE)
    ax = plot.dbscan(LINE, model.labels_, model.core_sample_indices_, eps=0.6)
    circles, core, border, noise = ax.collections
    assert_array_equal(core.get_offsets()[:, 0], [0.5, 1])
    assert_array_equal(border.get_offsets()[:, 0], [0, 1.55])
    assert_array_equal(noise.get_offsets()[:, 0], [5])
    assert len(circles.get_offsets()) == 2


def test_a_power_given_twice_is_warned_of(rng):
    X = rng.normal(size=(30, 2))
    how = {"metric": "minkowski", "metric_params": {"p": 1.0}}
    with pytest.warns(SyntaxWarning, match="Parameter p is found in metric_params"):
        model = DBSCAN(0.5, p=3, **how).fit(X)
    assert_array_equal(model.labels_, DBSCAN(0.5, metric="manhattan").fit(X).labels_)
