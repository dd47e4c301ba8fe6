"""Self-organising map: epochs against the oracle, order on a square, the picture."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from pansophy import plot
from pansophy.cluster import SelfOrganizingMap
from pansophy.cluster.centers import _self_organizing_map
from pansophy.cluster.centers.self_organizing_map import adjacent_units, grid_positions
from tests.oracles import som as slow


def square(n=1500, seed=0):
    return np.random.default_rng(seed).random((n, 2))


def grid_squares(place):
    gap = place[:, None] - place
    return (gap * gap).sum(axis=2)


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_neighbours_on_the_grid_are_at_distance_one(topology):
    place = grid_positions((5, 6), topology)
    G = grid_squares(place)
    inner = 2 * 6 + 2
    close = np.isclose(G[inner], 1)
    assert close.sum() == (4 if topology == "rectangular" else 6)
    assert adjacent_units(G, topology)[inner].sum() == (
        8 if topology == "rectangular" else 6
    )
    assert G[G > 0].min() == pytest.approx(1)


def test_batch_epoch_equals_the_oracle(rng):
    X, w = rng.normal(size=(60, 3)), rng.random(60)
    start = rng.normal(size=(12, 3))
    how = {"init": start, "max_iter": 1, "sigma": (1.3, 1.3)}
    model = SelfOrganizingMap((3, 4), **how).fit(X, sample_weight=w)
    G = grid_squares(model.positions_)
    want = slow.batch_epoch(X, w, start, G, 1.3)
    np.testing.assert_allclose(model.prototypes_, want, rtol=1e-10)


@pytest.mark.parametrize(
    "kind", [_self_organizing_map.GAUSSIAN, _self_organizing_map.BUBBLE]
)
def test_online_epoch_equals_the_oracle(kind, rng):
    X, C = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    G = grid_squares(grid_positions((3, 3), "rectangular"))
    rate, width = np.array([0.5, 0.1]), np.array([1.5, 0.8])
    mine, order = C.copy(), rng.permutation(50)
    _self_organizing_map.online_epoch(X, np.ones(50), order, mine, G, rate, width, kind)
    want = slow.online_epoch(
        X, order, C, G, rate, width, bubble=kind == _self_organizing_map.BUBBLE
    )
    np.testing.assert_allclose(mine, want, rtol=1e-10)


def test_two_best_equal_the_oracle(rng):
    X, C = rng.normal(size=(50, 2)), rng.normal(size=(9, 2))
    a, b = np.empty((2, 50), np.int64)
    gap = np.empty(50)
    _self_organizing_map.two_nearest_prototypes(X, C, a, b, gap)
    for mine, want in zip((a, b, gap), slow.two_best(X, C)):
        np.testing.assert_allclose(mine, want)


@pytest.mark.parametrize("method", ["batch", "online"])
@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
@pytest.mark.parametrize("init", ["plane", "random"])
def test_error_falls_and_neighbours_hold_neighbours(method, topology, init):
    how = {"method": method, "topology": topology, "init": init, "random_state": 0}
    model = SelfOrganizingMap((7, 7), **how).fit(square())
    h = model.history_["objective"]
    assert len(h) == model.n_iter_ == 20
    assert h[-1] < 0.1 * h[0]
    assert (np.diff(h) <= 0.02 * h[:-1]).all()
    assert model.quantization_error_ < 0.08
    assert model.topographic_error_ < 0.15
    G = grid_squares(model.positions_)
    D = grid_squares(model.prototypes_)
    near, far = np.isclose(G, 1), G > 9
    assert D[near].mean() < 0.15 * D[far].mean()


def test_shapes_labels_and_errors():
    X = square(300)
    model = SelfOrganizingMap((3, 5)).fit(X)
    assert model.transform(X).shape == (300, 15)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.transform(X).argmin(axis=1), model.labels_)
    assert model.hits_.sum() == 300
    q = np.linalg.norm(X - model.prototypes_[model.labels_], axis=1).mean()
    assert model.quantization_error_ == pytest.approx(q)
    assert model.errors(X) == pytest.approx(
        (model.quantization_error_, model.topographic_error_)
    )
    assert model.embed(X).shape == (300, 2)
    U = model.u_matrix()
    assert U.shape == (3, 5) and (U > 0).all()
    assert model.get_feature_names_out()[0] == "selforganizingmap0"


def test_border_between_clusters_shows_in_the_u_matrix(rng):
    X = np.concatenate(
        [rng.normal(size=(200, 3)) * 0.3, rng.normal(size=(200, 3)) * 0.3 + 5]
    )
    U = SelfOrganizingMap((1, 12)).fit(X).u_matrix().ravel()
    assert 2 <= U.argmax() <= 9
    assert U.max() > 3 * np.median(U)


def test_weights_equal_repetition_in_batches(rng):
    X, w = rng.normal(size=(40, 2)), rng.integers(0, 3, size=40)
    a = SelfOrganizingMap((3, 3)).fit(X, sample_weight=w)
    b = SelfOrganizingMap((3, 3)).fit(np.repeat(X, w, axis=0))
    np.testing.assert_allclose(a.prototypes_, b.prototypes_, rtol=1e-8)
    np.testing.assert_allclose(a.hits_, b.hits_)


@pytest.mark.parametrize(
    ("how", "match"),
    [
        ({"shape": (0, 3)}, "two whole numbers"),
        ({"shape": 5}, "two whole numbers"),
        ({"sigma": (1.0, 2.0)}, "sigma must fall"),
        ({"method": "online", "learning_rate": (0.1, 0.5)}, "learning_rate"),
        ({"init": [[1.0]]}, "init must be"),
    ],
)
def test_bad_parameters(how, match, rng):
    with pytest.raises(ValueError, match=match):
        SelfOrganizingMap(**how).fit(rng.normal(size=(20, 2)))


@pytest.mark.parametrize("topology", ["rectangular", "hexagonal"])
def test_the_picture_has_a_cell_for_each_unit(topology):
    model = SelfOrganizingMap((3, 4), topology=topology).fit(square(200))
    ax = plot.som(model)
    cells = ax.collections[0]
    assert len(cells.get_paths()) == 12
    corners = len(cells.get_paths()[0].vertices) - 1
    assert corners == (4 if topology == "rectangular" else 6)
    np.testing.assert_allclose(cells.get_array(), model.u_matrix().ravel())
    ax = plot.som(model, 1, labels=range(12), hits=True)
    assert len(ax.texts) == 12
    np.testing.assert_allclose(ax.collections[0].get_array(), model.prototypes_[:, 1])
    with pytest.raises(ValueError, match="12 units"):
        plot.som(model, [1.0, 2.0])
    plt.close("all")
