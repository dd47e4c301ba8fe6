"""Grid fields: logistic regression, gradients, enumeration, a picture with noise."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import pansophy
from pansophy import optim
from pansophy.graphical import FactorGraph, GridCRF, loopy_bp
from pansophy.graphical.crf.grid_crf import (
    GridObjective,
    make_pixel_grid,
    propagate_beliefs,
)


def noisy(seed, size=24, noise=1.0, k=2):
    rng = np.random.default_rng(seed)
    y = np.zeros((size, size), int)
    y[size // 4 : size // 2] = 1
    y[:, : size // 3] = k - 1
    return y + noise * rng.normal(size=y.shape), y


def test_single_pixels_are_logistic_regression():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 1, 1, 3)), rng.integers(0, 3, (60, 1, 1))
    model = GridCRF(0.25, tol=1e-9, max_iter=2000).fit(X, y)
    peer = LogisticRegression(C=2.0, tol=1e-10, max_iter=5000)
    peer.fit(X[:, 0, 0], y[:, 0, 0])
    found = np.array(model.predict_proba(X))[:, 0, 0]
    np.testing.assert_allclose(found, peer.predict_proba(X[:, 0, 0]), atol=1e-5)


def problem(pseudo, shapes):
    rng = np.random.default_rng(1)
    pictures = [make_pixel_grid(rng.normal(size=(*s, 2)), 0.8) for s in shapes]
    codes = [rng.integers(0, 3, len(p.X)) for p in pictures]
    made = GridObjective(pictures, codes, 3, 0.3, 0.02, pseudo)
    return made, 0.5 * rng.normal(size=made.size)


def test_pseudo_likelihood_and_its_slope():
    f, theta = problem(True, [(3, 4), (2, 2)])
    slope = optim.numeric_gradient(lambda v: f(v)[0], theta)
    np.testing.assert_allclose(f(theta)[1], slope, atol=1e-6)
    W, b, v = f.split(theta)
    slow = 0.3 * (W**2).sum() + 0.02 * 16 * v @ v
    for p, y in zip(f.grids, f.codes, strict=True):
        for i in range(len(y)):
            z = p.X[i] @ W + b
            for (a, c), near in zip(p.pairs, p.similarity, strict=True):
                if i in (a, c):
                    z[y[c if i == a else a]] += near @ v
            slow += np.logaddexp.reduce(z) - z[y[i]]
    assert f(theta)[0] == pytest.approx(slow)


def enumerated(p, U, a):
    """log Z, marginals, agreement of pairs and the best labels by writing all out."""
    n, k = U.shape
    every = np.array(list(itertools.product(range(k), repeat=n)))
    same = every[:, p.pairs[:, 0]] == every[:, p.pairs[:, 1]]
    score = U[np.arange(n), every].sum(axis=1) + same @ a
    weight = np.exp(score - score.max())
    weight /= weight.sum()
    marginal = np.stack([weight @ (every == v) for v in range(k)], axis=1)
    log_z = np.logaddexp.reduce(score)
    return log_z, marginal, weight @ same, every[score.argmax()]


def test_one_row_is_exact_and_has_the_right_slope():
    f, theta = problem(False, [(1, 5), (4, 1)])
    W, b, v = f.split(theta)
    for p in f.grids:
        U, a = p.X @ W + b, p.similarity @ v
        found = propagate_beliefs(p, U, a)
        log_z, marginal, agree, _ = enumerated(p, U, a)
        assert found.log_z == pytest.approx(log_z, abs=1e-4)
        np.testing.assert_allclose(found.marginals, marginal, atol=1e-5)
        np.testing.assert_allclose(found.agree, agree, atol=1e-5)
    slope = optim.numeric_gradient(lambda v: f(v)[0], theta)
    np.testing.assert_allclose(f(theta)[1], slope, atol=1e-3)


def test_small_picture_by_enumeration():
    x, y = noisy(2, 20)
    model = GridCRF(contrast=True, decode="map").fit([x], [y])
    small = x[8:11, 4:7]
    p, U, a = next(model._potentials([small]))
    log_z, marginal, agree, best = enumerated(p, U, a)
    np.testing.assert_array_equal(model.predict([small])[0].ravel(), best)
    found = propagate_beliefs(p, U, a)
    np.testing.assert_allclose(found.marginals, marginal, atol=0.05)
    np.testing.assert_allclose(found.agree, agree, atol=0.05)
    assert found.log_z == pytest.approx(log_z, abs=0.2)


def test_noise_goes_away(tmp_path):
    train, test = noisy(3), noisy(4)
    model = GridCRF().fit([train[0]], [train[1]])
    assert model.coupling_[0] > 0
    alone = ((test[0] > 0.5) == test[1]).mean()
    assert model.score([test[0]], [test[1]]) > alone + 0.1
    pansophy.save(model, tmp_path / "grid.pansophy")
    again = pansophy.load(tmp_path / "grid.pansophy")
    np.testing.assert_array_equal(again.predict([test[0]]), model.predict([test[0]]))


def test_three_labels_names_and_neighbours_that_differ():
    x, y = noisy(5, k=3)
    names = np.array(["sea", "land", "ice"])[y]
    model = GridCRF().fit([x], [names])
    assert set(np.unique(model.predict([x])[0])) <= set(names.ravel())
    board = np.add.outer(np.arange(10), np.arange(10)) % 2
    rng = np.random.default_rng(0)
    odd = GridCRF(0.01).fit([board + rng.normal(size=(10, 10))], [board])
    assert odd.coupling_[0] < 0
    assert odd.score([board + 0.5 * rng.normal(size=(10, 10))], [board]) > 0.9


def test_bad_input():
    x, y = noisy(6, 8)
    with pytest.raises(ValueError, match="label for each pixel"):
        GridCRF().fit([x], [y[:-1]])
    with pytest.raises(ValueError, match="NaN"):
        GridCRF().fit([np.full((2, 2), np.nan)], [np.zeros((2, 2))])
    with pytest.raises(ValueError, match="list of images"):
        GridCRF().fit([[1, 2]], [[0, 1]])
    model = GridCRF().fit([x], [y])
    with pytest.raises(ValueError, match="1 numbers a pixel"):
        model.predict([np.zeros((3, 3, 2))])


def test_messages_are_those_of_loopy_belief_propagation():
    rng = np.random.default_rng(0)
    p, U = make_pixel_grid(rng.normal(size=(3, 3, 1)), None), rng.normal(size=(9, 2))
    names = [f"p{i}" for i in range(9)]
    tables = [((name,), np.exp(u)) for name, u in zip(names, U, strict=True)]
    tables += [((names[i], names[j]), np.exp(0.4 * np.eye(2))) for i, j in p.pairs]
    general = loopy_bp(FactorGraph(dict.fromkeys(names, 2), tables))
    found = propagate_beliefs(p, U, np.full(len(p.pairs), 0.4))
    assert found.log_z == pytest.approx(general.log_z, abs=1e-4)
    for name, marginal in zip(names, found.marginals, strict=True):
        np.testing.assert_allclose(general[name], marginal, atol=1e-5)


def pictures(kind, seed, copies=4, noise=0.5, size=20):
    """Noisy images of a square, of random discs, or of three regions."""
    rng = np.random.default_rng(seed)
    labels = []
    for _ in range(copies):
        y = np.zeros((size, size), int)
        if kind == "square":
            y[5:15, 5:15] = 1
        elif kind == "three":
            y[: size // 3] = 1
            y[:, -size // 3 :] = 2
        else:
            row, column = np.mgrid[:size, :size]
            for _ in range(4):
                at = rng.integers(0, size, 2)
                y[np.hypot(row - at[0], column - at[1]) < rng.integers(2, 6)] = 1
        labels.append(y)
    return [y + noise * rng.normal(size=y.shape) for y in labels], labels


@pytest.mark.parametrize("kind", ["square", "discs", "three"])
@pytest.mark.parametrize("noise", [0.5, 0.8])
def test_default_field_labels_unseen_pictures(kind, noise):
    train, unseen = (pictures(kind, seed, 2, noise) for seed in (0, 1))
    model = GridCRF().fit(*train)
    x, y = np.array(unseen[0]), np.array(unseen[1])
    alone = np.mean(np.clip(np.rint(x), 0, y.max()) == y)
    assert not model.frozen_ and 0 < model.coupling_[0] < 1.5
    assert model.score(*unseen) > alone + 0.5 * (1 - alone)
    assert model.score(*unseen) > np.bincount(y.ravel()).max() / y.size


def test_more_copies_do_not_freeze_the_field():
    unseen = pictures("square", 9)
    for copies in (1, 6):
        model = GridCRF().fit(*pictures("square", 3, copies))
        assert model.score(*unseen) > 0.97
        model.decode = "map"
        assert model.score(*unseen) > 0.97


@pytest.mark.parametrize("objective", ["bethe", "pseudo"])
def test_a_frozen_field_warns(objective):
    train = pictures("square", 0, 1)
    model = GridCRF(objective=objective, coupling_penalty=0, decode="map")
    with pytest.warns(UserWarning, match="Raise coupling_penalty"):
        model.fit(*train)
    assert model.frozen_ and model.coupling_[0] > 1
