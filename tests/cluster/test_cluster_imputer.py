"""Missing values from clusters, rows released in groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from pansophy.cluster import ClusterImputer, KMeans


def holes(rng, n=90, share=0.2):
    z = np.arange(n) % 3
    X = rng.normal(size=(n, 4)) + 8 * z[:, None]
    gone = rng.random((n, 4)) < share
    gone[:3] = False
    return X, np.where(gone, np.nan, X), z


@given(st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_known_entries_and_complete_rows_are_unchanged(seed):
    rng = np.random.default_rng(seed)
    _, X, _ = holes(rng, 30, 0.4)
    out = ClusterImputer(3, random_state=0).fit_transform(X)
    known = ~np.isnan(X)
    np.testing.assert_array_equal(out[known], X[known])
    assert np.isfinite(out).all()
    complete = known.all(axis=1)
    np.testing.assert_array_equal(out[complete], X[complete])


def test_clusters_fill_better_than_means(rng):
    full, X, _ = holes(rng)
    out = ClusterImputer(3, random_state=0).fit_transform(X)
    gone = np.isnan(X)
    error = np.abs(out - full)[gone].mean()
    plain = np.abs(np.nanmean(X, axis=0) - full)[gone].mean()
    assert error < 0.3 * plain


def test_fill_is_the_mean_of_the_observed_values_of_the_cluster(rng):
    _, X, _ = holes(rng)
    model = ClusterImputer(3, random_state=0).fit(X)
    out = model.transform(X)
    for j in range(3):
        mine = X[model.labels_ == j]
        np.testing.assert_allclose(model.cluster_centers_[j], np.nanmean(mine, axis=0))
    i, f = np.argwhere(np.isnan(X))[0]
    assert out[i, f] == pytest.approx(model.cluster_centers_[model.labels_[i], f])
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_objective_never_rises_and_is_k_means_without_holes(rng):
    full, X, _ = holes(rng, share=0.5)
    model = ClusterImputer(5, n_init=1, random_state=2).fit(X)
    h = model.history_["objective"]
    assert (np.diff(h) <= 1e-9 * h[0]).all()
    whole = ClusterImputer(3, random_state=0).fit(full)
    assert whole.inertia_ == pytest.approx(
        KMeans(3, n_init=5, tol=0, random_state=0).fit(full).inertia_
    )


def test_nothing_observed_of_a_row_or_of_a_column():
    X = np.array([[0.0, 1.0], [np.nan, np.nan], [4.0, 5.0], [4.0, 7.0]])
    model = ClusterImputer(2, random_state=0).fit(X)
    assert model.labels_[1] == -1
    out = model.transform(X)
    np.testing.assert_allclose(out[1], np.nanmean(X, axis=0))
    X[:, 1] = np.nan
    with pytest.raises(ValueError, match="column 1 has no observed value"):
        ClusterImputer(2).fit(X)


def test_a_large_offset_costs_no_digits(rng):
    _, X, _ = holes(rng)
    a = ClusterImputer(3, random_state=0).fit_transform(X)
    b = ClusterImputer(3, random_state=0).fit_transform(X + 1e7) - 1e7
    np.testing.assert_allclose(a, b, atol=1e-6)


def test_empty_clusters_are_told():
    X = np.repeat([[0.0, 1.0], [5.0, 5.0]], 4, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        ClusterImputer(4, random_state=0).fit(X)
