"""Losses of one prediction a class: worked numbers, soft labels."""

import numpy as np
import pytest

from pansophy import losses


def test_labels_are_smoothed_with_any_distribution():
    y = np.array([1, 0, 2])
    u = np.array([0.5, 0.3, 0.2])
    each = np.array([[1.0, 0, 0], [0, 1, 0], [0.2, 0.3, 0.5]])
    f = np.array([[0.1, 2.0, -1.0], [0.5, 0.0, 0.2], [1.0, 1.0, 1.0]])
    for other in (u, each):
        soft = losses.smooth_labels(y, 3, 0.1, u=other)
        np.testing.assert_allclose(soft.sum(axis=1), 1)
        mixed = 0.9 * losses.softmax.value(y, f)
        mixed += 0.1 * losses.softmax.value(np.broadcast_to(other, (3, 3)), f)
        np.testing.assert_allclose(losses.softmax.value(soft, f), mixed)
    uniform = losses.smooth_labels(y, 3, 0.1, u=np.full(3, 1 / 3))
    np.testing.assert_allclose(uniform, losses.smooth_labels(y, 3, 0.1))
    for wrong in ([0.5, 0.5], [0.5, 0.6, 0.2], [1.5, -0.5, 0.0]):
        with pytest.raises(ValueError, match="u of smooth_labels"):
            losses.smooth_labels(y, 3, 0.1, u=np.array(wrong))
    with pytest.raises(ValueError, match="epsilon of smooth_labels"):
        losses.smooth_labels(y, 3, 1.5)


def test_multiclass_hinge_number():
    W, x = np.array([[1.0, 0], [0, 1], [-1, -1]]), np.array([2.0, 1.5])
    f, y = (W @ x)[None], np.array([0])
    np.testing.assert_allclose(losses.multiclass_hinge.value(y, f), [0.5])
    g = losses.multiclass_hinge.gradient(y, f).T @ x[None]
    np.testing.assert_allclose(g, [-x, x, 0 * x])


def test_soft_labels_mix_the_loss(rng):
    f, y = rng.normal(size=(4, 5)), rng.integers(0, 5, size=4)
    soft = losses.softmax.value(losses.smooth_labels(y, 5), f)
    even = losses.softmax.value(np.full((4, 5), 0.2), f)
    np.testing.assert_allclose(soft, 0.9 * losses.softmax.value(y, f) + 0.1 * even)
