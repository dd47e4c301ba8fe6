"""The edges of the numbers: rows whose squares cannot be held are refused."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from pansophy import cluster
from pansophy.cluster.initialization import check_scale

MODELS = [
    cluster.KMeans(2, random_state=0),
    cluster.KMedoids(2),
    cluster.KMedians(2, random_state=0),
    cluster.FuzzyCMeans(2, random_state=0),
    cluster.KernelKMeans(2, kernel="rbf", random_state=0),
    cluster.TrimmedKMeans(2, trim=0.0, random_state=0),
    cluster.VectorQuantizer(2, random_state=0),
    cluster.ClusterImputer(2, random_state=0),
    cluster.SelfOrganizingMap((1, 2), random_state=0),
]


@pytest.fixture(scope="module")
def rows():
    X = np.random.default_rng(0).normal(size=(20, 3))
    X[:10] += 9
    return X


@pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)
def test_two_groups_at_any_scale_or_one_sentence(model, rows):
    for scale in (1e-140, 1e-20, 1.0, 1e20, 1e140):
        z = clone(model).fit(rows * scale).labels_
        assert (z[:10] == z[0]).all() and (z[10:] == 1 - z[0]).all()
    with pytest.raises(ValueError, match="too little to square: scale X"):
        clone(model).fit(rows * 1e-200)
    for scale in (1e160, 1e200):
        with pytest.raises(ValueError, match="too large"):
            clone(model).fit(rows * scale)
    if not isinstance(model, cluster.ClusterImputer):  # which works in float64
        for scale, says in ((1e30, "too large"), (1e-30, "too little")):
            with pytest.raises(ValueError, match=says):
                clone(model).fit((rows * scale).astype(np.float32))


def test_check_scale_passes_what_can_be_squared():
    for X in (
        np.ones((4, 2)),
        np.full((4, 2), 1e200),
        np.array([[0.0, np.nan], [1, 2]]),
    ):
        check_scale(X)
    check_scale(np.array([[0.0], [1e-200]]), small=False)
    with pytest.raises(ValueError, match="too large"):
        check_scale(np.array([[-1e308], [1e308]]))


def test_distances_without_squares_go_further(rows):
    z = cluster.KMedoids(2, metric="manhattan").fit(rows * 1e-200).labels_
    assert (z[:10] == z[0]).all() and (z[10:] != z[0]).all()


def test_trimmed_keeps_column_names(rows):
    frame = pd.DataFrame(rows, columns=list("abc"))
    model = cluster.TrimmedKMeans(2, random_state=0).fit(frame)
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
