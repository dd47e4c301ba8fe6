"""Planes: separability with proofs, margins, given classifiers, codes, doubt."""

import numpy as np
import pytest

from pansophy.linear_model import is_separable
from pansophy.linear_model.classifiers import separability

SQUARE = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]])


def check_plane(found, X, y):
    t = np.where(np.asarray(y) == found.classes[1], 1, -1)
    assert np.all(t * (X @ found.w + found.b) >= 1)


def check_proof(found, X, y):
    t = np.where(np.asarray(y) == found.classes[1], 1, -1)
    u = found.multipliers
    assert np.all((u >= 0) & (u <= 1)) and u.sum() > 0.1
    np.testing.assert_allclose((u * t) @ X, 0, atol=1e-6)
    assert (u * t).sum() == pytest.approx(0, abs=1e-6)


def test_gates():
    for y in ([0, 0, 0, 1], [0, 1, 1, 1], [1, 1, 0, 0]):
        found = is_separable(SQUARE, y)
        assert found and found.multipliers is None
        check_plane(found, SQUARE, y)
    found = is_separable(SQUARE, [0, 1, 1, 0])
    assert not found and found.w is None
    check_proof(found, SQUARE, [0, 1, 1, 0])


def test_rings_and_touching_points(rng, monkeypatch):
    angle = rng.uniform(0, 2 * np.pi, size=60)
    X = (
        np.column_stack([np.cos(angle), np.sin(angle)])
        * np.repeat([1.0, 3.0], 30)[:, None]
    )
    y = np.repeat(["inner", "outer"], 30)
    found = is_separable(X, y)
    assert not found
    check_proof(found, X, y)
    X, y = np.array([[0.0], [1], [1], [2]]), [0, 0, 1, 1]
    assert not is_separable(X, y)  # a point of both classes
    monkeypatch.setattr(separability, "PASSES", 0)
    thin = np.array([[0.0, 5], [1e-4, 7], [1, 6], [1 + 1e-4, 4]])
    for y in ([0, 0, 1, 1], [0, 1, 1, 0]):
        found = is_separable(thin, y)
        assert found
        check_plane(found, thin, y)


def test_three_classes(rng):
    corners = np.array([[0.0, 0], [8, 0], [0, 8]])
    y = np.repeat([0, 1, 2], 20)
    X = corners[y] + rng.uniform(-1, 1, size=(60, 2))
    found = is_separable(X, y)
    F = X @ found.w.T + found.b
    own = F[np.arange(60), y]
    F[np.arange(60), y] = -np.inf
    assert found and np.all(own - F.max(axis=1) >= 1)
    y[0] = 1
    X[0] = corners[0]
    found = is_separable(X, y)
    assert not found and found.multipliers.shape == (60, 3)
    assert np.all(found.multipliers[np.arange(60), y] == 0)
