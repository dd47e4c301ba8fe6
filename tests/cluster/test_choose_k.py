"""Choosing k and the report on restarts; their pictures."""

import warnings

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt

from pansophy import plot
from pansophy.cluster import KMeans, choose_k
from pansophy.cluster.centers import lloyd_iteration
from pansophy.plot.clusters.voronoi import voronoi_polygons

mpl.use("Agg")


def three(n=150, seed=0, gap=9.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 2)) + np.repeat([[0, 0], [gap, 0], [0, gap]], n // 3, 0)


@pytest.mark.parametrize(
    "method", ["elbow", "penalty", "bic", "silhouette", "gap", "stability"]
)
def test_three_groups_are_three(method):
    choice = choose_k(three(), range(1, 7), method=method, random_state=0)
    assert choice.k == 3
    assert choice.method == method
    assert np.all(np.diff(choice.costs) <= 0)
    assert len(choice.scores) == len(choice.ks) == 6


def test_ctrl_c_ends_the_choice_not_one_fit(monkeypatch):
    plain = lloyd_iteration.center_terms

    def pressed(*arguments):  # once: the fit itself goes on with what it has
        monkeypatch.setattr(lloyd_iteration, "center_terms", plain)
        raise KeyboardInterrupt

    monkeypatch.setattr(lloyd_iteration, "center_terms", pressed)
    with pytest.raises(KeyboardInterrupt):
        choose_k(three(), range(2, 5), method="silhouette", random_state=0)


def test_no_groups_are_one():
    X = np.random.default_rng(0).uniform(size=(200, 2))
    assert choose_k(X, range(1, 6), method="gap", random_state=0).k == 1
    Z = np.random.default_rng(0).normal(size=(200, 6))
    assert choose_k(Z, range(1, 6), method="bic", random_state=0).k == 1


def test_cost_never_rises_with_k_even_from_one_start():
    X = np.random.default_rng(0).normal(size=(120, 3))
    for seed in range(5):
        choice = choose_k(X, range(1, 25), n_init=1, random_state=seed)
        assert np.all(np.diff(choice.costs) <= 0)
    assert choose_k(X[:6], range(1, 7)).costs[-1] == pytest.approx(0, abs=1e-20)


def test_chosen_k_falls_with_the_penalty():
    X = np.random.default_rng(0).normal(size=(120, 3))
    how = {"method": "penalty", "random_state": 0}
    ks = [choose_k(X, range(1, 9), penalty=p, **how).k for p in (0, 3, 10, 30, 1e9)]
    assert ks == sorted(ks, reverse=True)
    assert ks[0] == 8
    assert ks[-1] == 1


def test_held_out_cost_cannot_choose():
    with pytest.warns(UserWarning, match="keeps falling with k"):
        choice = choose_k(three(), range(1, 7), method="holdout", random_state=0)
    assert choice.k == 6
    assert np.all(np.diff(choice.scores[:3]) > 0)


@pytest.mark.parametrize("method", ["elbow", "gap", "stability"])
def test_what_many_fits_warn_of_is_said_once(method):
    X = np.repeat(np.eye(3), 10, axis=0)  # three distinct rows
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        choice = choose_k(X, range(1, 7), method=method, random_state=0)
    assert choice.k == 3
    (one,) = caught
    assert "clusters (3) found smaller than n_clusters (4)" in str(one.message)
    assert "(Same for 6 fits.)" in str(one.message)
    assert one.filename == __file__


def test_stability_does_not_depend_on_label_names():
    a = choose_k(three(), range(2, 5), method="stability", random_state=0)
    assert a.scores[1] == pytest.approx(1.0)
    assert np.all(a.scores <= 1)


def test_partial_labels():
    X = three()
    y = np.full(150, -1)
    y[::10] = np.repeat([7, 3, 5], 50)[::10]
    assert choose_k(X, range(1, 7), method="labels", labels=y, random_state=0).k == 3
    with pytest.raises(ValueError, match="needs labels, one for each row"):
        choose_k(X, method="labels")
    with pytest.raises(ValueError, match="all -1"):
        choose_k(X, method="labels", labels=np.full(150, -1))


def test_bad_questions():
    with pytest.raises(ValueError, match="method must be one of elbow"):
        choose_k(three(), method="magic")
    with pytest.raises(ValueError, match="ks must be whole numbers from 1"):
        choose_k(three(), [0, 1])
    with pytest.raises(ValueError, match="needs a k of at least 2"):
        choose_k(three(), [1], method="silhouette")


def test_elbow_picture():
    choice = choose_k(three(), range(1, 6), random_state=0)
    ax = plot.elbow(choice)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), choice.costs)
    assert ax.lines[-1].get_xdata()[0] == 3
    other = choose_k(three(), range(1, 6), method="bic", random_state=0)
    ax = plot.elbow(other)
    twin = next(a for a in ax.figure.axes if a is not ax)
    np.testing.assert_allclose(twin.lines[0].get_ydata(), other.scores)
    plt.close("all")


def test_silhouette_picture():
    X = three()
    z = KMeans(3, random_state=0).fit(X).labels_
    ax = plot.silhouette(X, np.where(np.arange(150) < 5, -1, z))
    assert len(ax.collections) == 3
    assert 0.5 < ax.lines[0].get_xdata()[0] < 1
    plt.close("all")


def test_borders_are_perpendicular_bisectors():
    rng = np.random.default_rng(0)
    C, X = rng.normal(size=(6, 2)), rng.normal(size=(80, 2))
    limits = np.array([[-4.0, 4], [-4, 4]])
    for j, cell in enumerate(voronoi_polygons(C, limits)):
        for a, b in zip(cell, np.roll(cell, 1, axis=0), strict=True):
            middle = (a + b) / 2
            if np.abs(middle).max() > 4:
                continue
            D = np.sqrt(((C - middle) ** 2).sum(axis=1))
            near = np.argsort(D)[:2]
            assert j in near
            assert D[near[0]] == pytest.approx(D[near[1]])
            edge, gap = b - a, C[near[0]] - C[near[1]]
            assert abs(edge @ gap) < 1e-6 * np.sqrt(edge @ edge * (gap @ gap)) + 1e-9
    ax = plot.voronoi(C, X)
    assert len(ax.patches) == 6
    z = KMeans(6, init=C, max_iter=1)
    z.cluster_centers_, z.n_features_in_ = C, 2
    from matplotlib.path import Path

    for x, j in zip(X, z.predict(X), strict=True):
        assert Path(ax.patches[j].get_xy()).contains_point(x)
    with pytest.raises(ValueError, match="two columns"):
        plot.voronoi(np.zeros((3, 3)))
    plt.close("all")
