"""Labels over graphs: harmonic functions, closed forms, scikit-learn's answers."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelPropagation as PeerPropagation
from sklearn.semi_supervised import LabelSpreading as PeerSpreading

from pansophy.semi_supervised import LabelPropagation, LabelSpreading
from pansophy.semi_supervised import label_propagation as module


def moons(n=150, known=4, seed=0):
    X, y = make_moons(n, noise=0.07, random_state=seed)
    part = np.full(n, -1)
    for c in range(2):
        part[np.flatnonzero(y == c)[:known]] = c
    return X, y, part


def chain(n=30):
    """A path of n rows, labelled at both ends."""
    X = np.arange(n, dtype=float)[:, None]
    y = np.full(n, -1)
    y[0], y[-1] = 0, 1
    return X, y


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
def test_rows_without_label_are_means_of_their_neighbours(kernel):
    X, _, y = moons()
    model = LabelPropagation(kernel, tol=1e-11).fit(X, y)
    F, free = model.label_distributions_, y < 0
    if kernel == "rbf":
        W = rbf_kernel(X, gamma=20)
    else:
        W = module.knn_graph(X, 6, mode="connectivity").toarray()
    mean = W @ F / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(F[free], mean[free], atol=1e-8)
    np.testing.assert_array_equal(F[~free], np.eye(2)[y[~free]])


def test_a_path_is_a_straight_line():
    X, y = chain()
    model = LabelPropagation("knn", n_neighbors=3, tol=1e-12).fit(X, y)
    # both ends of the path reach two rows inwards; in between neighbours are even
    F = model.label_distributions_[:, 1]
    np.testing.assert_allclose(F[3:-3] * 2, F[2:-4] + F[4:-2], atol=1e-9)
    assert np.all(np.diff(F) > 0)


def test_spreading_is_its_closed_form():
    X, _, y = moons(80)
    model = LabelSpreading(gamma=5, alpha=0.7, tol=1e-12, max_iter=500).fit(X, y)
    W = rbf_kernel(X, gamma=5)
    np.fill_diagonal(W, 0)
    root = np.sqrt(W.sum(axis=1))
    S = W / np.outer(root, root)
    Y = np.zeros((len(y), 2))
    Y[y >= 0, y[y >= 0]] = 1
    F = 0.3 * np.linalg.solve(np.eye(len(y)) - 0.7 * S, Y)
    F /= F.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.label_distributions_, F, atol=1e-9)


PAIRS = [
    (LabelPropagation, PeerPropagation, {"max_iter": 9999}),
    (LabelSpreading, PeerSpreading, {"max_iter": 500}),
]


@pytest.mark.parametrize(("mine", "peer", "options"), PAIRS)
def test_labels_equal_those_of_scikit_learn(mine, peer, options):
    X, _, y = moons()
    a = mine(tol=1e-9, **options).fit(X, y)
    b = peer(tol=1e-9, **options).fit(X, y)
    np.testing.assert_array_equal(a.transduction_, b.transduction_)
    # the peer stops when a turn changes little, which is not yet the end
    near = {"atol": 2e-4, "rtol": 0.0}
    np.testing.assert_allclose(a.label_distributions_, b.label_distributions_, **near)
    Z = X + 0.01
    np.testing.assert_allclose(a.predict_proba(Z), b.predict_proba(Z), **near)


@pytest.mark.parametrize(("mine", "peer", "options"), PAIRS)
@pytest.mark.parametrize("n_neighbors", [3, 7, 20])
def test_neighbours_are_those_of_scikit_learn(mine, peer, options, n_neighbors):
    X, _, y = moons(200, known=5)
    a = mine("knn", tol=1e-11, n_neighbors=n_neighbors, **options).fit(X, y)
    b = peer("knn", tol=1e-9, n_neighbors=n_neighbors, **options).fit(X, y)
    # rows without a way to a label are 0 there, and the shares of the labels here
    got = b.label_distributions_.sum(axis=1) > 0.5
    near = {"atol": 1e-4, "rtol": 0.0}
    F, G = a.label_distributions_, b.label_distributions_
    np.testing.assert_allclose(F[got], G[got], **near)
    np.testing.assert_allclose(F[~got], 0.5)
    if got.all():
        Z = X + 0.01
        np.testing.assert_allclose(a.predict_proba(Z), b.predict_proba(Z), **near)


def test_rows_that_are_nobody_s_neighbours():
    """A row far away has neighbours, but is the neighbour of none."""
    X = np.array([[0.0], [0.1], [0.3], [0.6], [50.0]])
    far_known = LabelPropagation("knn", n_neighbors=2).fit(X, [0, -1, -1, -1, 1])
    np.testing.assert_allclose(far_known.label_distributions_[1:4], [[1, 0]] * 3)
    far_free = LabelPropagation("knn", n_neighbors=2).fit(X, [0, -1, -1, 1, -1])
    np.testing.assert_allclose(far_free.label_distributions_[4], [0, 1])


def test_moons_from_few_labels():
    X, truth, y = moons(400, known=3)
    model = LabelPropagation("knn", tol=1e-8).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert np.mean(model.predict(X) == truth) > 0.95


def test_objective_never_rises():
    X, _, y = moons()
    for model in (LabelPropagation(tol=1e-9), LabelSpreading(tol=1e-9, max_iter=200)):
        J = model.fit(X, y).history_["objective"]
        assert np.all(np.diff(J) <= 1e-12 * np.abs(J[:-1]).max())


def test_rows_out_of_reach_get_the_shares_of_the_labels():
    X = np.array([[0.0], [0.1], [0.2], [100.0], [100.1]])
    y = np.array([0, 0, 1, -1, -1])
    model = LabelPropagation("knn", n_neighbors=2).fit(X, y)
    np.testing.assert_allclose(model.label_distributions_[3:], [[2 / 3, 1 / 3]] * 2)


def test_blocks_that_are_not_kept_give_the_same(monkeypatch):
    X, _, y = moons()
    whole = LabelSpreading(tol=1e-10, max_iter=200).fit(X, y)
    monkeypatch.setattr(module, "MAX_KERNEL_BYTES", 0)
    parts = LabelSpreading(tol=1e-10, max_iter=200).fit(X, y)
    np.testing.assert_allclose(
        whole.label_distributions_, parts.label_distributions_, atol=1e-8
    )


def test_a_kernel_of_ones_own():
    X, _, y = moons()
    alike = lambda A, B: rbf_kernel(A, B, gamma=20)
    mine = LabelPropagation(alike, tol=1e-9).fit(X, y)
    same = LabelPropagation(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(
        mine.label_distributions_, same.label_distributions_, atol=1e-7
    )
    with pytest.raises(ValueError, match="at least 0"):
        LabelPropagation(lambda A, B: A @ B.T).fit(X, y)


@pytest.mark.slow
def test_a_hundred_thousand_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000, 3)) + 4 * rng.integers(0, 2, (100_000, 1))
    truth = (X.sum(axis=1) > 6).astype(int)
    y = np.full(len(X), -1)
    y[:50] = truth[:50]
    model = LabelPropagation("knn", tol=1e-6).fit(X, y)
    assert np.mean(model.transduction_ == truth) > 0.95
    assert sp.issparse(module.knn_graph(X[:100], 3))


@pytest.mark.parametrize("kernel", ["rbf", "knn"])
@pytest.mark.parametrize("cls", [LabelPropagation, LabelSpreading])
def test_sparse_rows_are_the_same_rows(cls, kernel):
    X, _, y = moons(60)
    X = np.where(np.abs(X) < 0.05, 0.0, X)
    dense = cls(kernel).fit(X, y)
    for kind in (sp.csr_matrix, sp.csc_array, sp.coo_array):
        model = cls(kernel).fit(kind(X), y)
        np.testing.assert_allclose(
            model.label_distributions_, dense.label_distributions_, atol=1e-9
        )
        for fitted in (model, dense):
            for Z in (X, kind(X)):
                p = fitted.predict_proba(Z)
                np.testing.assert_allclose(p, dense.predict_proba(X), atol=1e-9)


def test_a_kernel_of_the_user_gets_sparse_rows_as_in_scikit_learn():
    X, _, y = moons(40)
    kernel = lambda A, B: rbf_kernel(A, B, gamma=5.0)
    model = LabelPropagation(kernel, tol=1e-10).fit(sp.csr_matrix(X), y)
    peer = PeerPropagation(kernel, max_iter=10000, tol=1e-10).fit(sp.csr_matrix(X), y)
    np.testing.assert_array_equal(model.transduction_, peer.transduction_)


@pytest.mark.parametrize(("mine", "peer", "options"), PAIRS)
def test_a_kernel_may_give_a_sparse_matrix(mine, peer, options):
    """The nearest rows with their kernel: not symmetric, training rows first."""

    def nearest_rbf(X, Z):
        graph = (
            NearestNeighbors(n_neighbors=8).fit(X).kneighbors_graph(Z, 8, "distance")
        )
        graph.data = np.exp(-5 * graph.data**2)
        return graph.T

    X, _, y = moons(120, known=6)
    a = mine(nearest_rbf, tol=1e-10, **options).fit(X, y)
    if mine is LabelSpreading:
        b = peer(nearest_rbf, tol=1e-10, **options).fit(X, y)
        np.testing.assert_allclose(
            a.label_distributions_, b.label_distributions_, atol=1e-6
        )
        Z = X[:20] + 0.02
        np.testing.assert_allclose(a.predict_proba(Z), b.predict_proba(Z), atol=1e-6)
    dense = mine(lambda X, Z: nearest_rbf(X, Z).toarray(), tol=1e-10, **options)
    np.testing.assert_allclose(
        a.label_distributions_, dense.fit(X, y).label_distributions_, atol=1e-8
    )
    with pytest.raises(ValueError, match="n by n"):
        mine(lambda X, Z: nearest_rbf(X, Z)[:5]).fit(X, y)


@pytest.mark.parametrize("cls", [LabelPropagation, LabelSpreading])
@pytest.mark.parametrize("scale", [1.0, 3.0, 4.0])
def test_labels_of_rows_far_from_all_others(cls, scale):
    """Similarities of 1e-18 or 1e-280 still say which label is nearer."""
    X = scale * np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 3.0]]) / 2
    model = cls(gamma=20).fit(X, [0, 1, -1])
    assert model.transduction_.tolist() == [0, 1, 1]


@pytest.mark.parametrize("cls", [LabelPropagation, LabelSpreading])
def test_warning_without_convergence_names_the_limit(cls):
    X, _, part = moons()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 was reached without"):
        cls(max_iter=1, tol=1e-12).fit(X, part)
