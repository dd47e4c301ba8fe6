"""Density ratios by a classifier, and the value of the best discriminator."""

import math

import numpy as np
import pytest

from pansophy.distributions import (
    Normal,
    density_ratio,
    discriminator_value,
    js,
    optimal_discriminator,
)
from pansophy.linear_model import LogisticRegression

torch = pytest.importorskip("torch")


def grid(p, q, x):
    a, b = np.exp(p.log_prob(x)), np.exp(q.log_prob(x))
    return a / a.sum(), b / b.sum()


def test_known_densities():
    p, q = grid(Normal(0.0, 1.0), Normal(1.5, 2.0), np.linspace(-15, 15, 4001))
    D = optimal_discriminator(p, q)
    np.testing.assert_allclose(D, p / (p + q))
    best = discriminator_value(p, q)
    assert best == pytest.approx(-math.log(4) + 2 * js(p, q), abs=1e-12)
    for other in (0.9 * D + 0.05, D**2, np.full_like(D, 0.5)):
        assert discriminator_value(p, q, other) < best
    assert (optimal_discriminator(p, p) == 0.5).all()
    assert discriminator_value(p, p) == pytest.approx(-1.386294, abs=5e-7)
    assert optimal_discriminator([0.0], [0.0]) == [0.5]
    assert isinstance(
        discriminator_value(torch.tensor(p), torch.tensor(q)), torch.Tensor
    )


@pytest.mark.parametrize("sizes", [(6000, 6000), (9000, 3000)])
def test_learned_ratio_of_normals(sizes, rng):
    n, m = sizes
    draw = lambda k, mean: rng.normal(mean, 1.0, (k, 1))
    found = density_ratio(draw(n, 1.0), draw(m, 0.0), LogisticRegression(C=1e6))
    x = np.linspace(-1, 2, 7)[:, None]
    np.testing.assert_allclose(found.log_ratio(x), x[:, 0] - 0.5, atol=0.15)
    np.testing.assert_allclose(found.ratio(x), np.exp(found.log_ratio(x)))
    np.testing.assert_allclose(
        found.discriminator(x), found.ratio(x) / (1 + found.ratio(x))
    )
    p, q = grid(Normal(1.0, 1.0), Normal(0.0, 1.0), np.linspace(-15, 15, 4001))
    held = draw(5000, 1.0), draw(5000, 0.0)
    assert found.js(*held) == pytest.approx(js(p, q), abs=0.02)
    assert found.value(*held) == pytest.approx(2 * found.js(*held) - math.log(4))


def test_equal_samples_give_a_half(rng):
    P, Q = rng.standard_normal((2, 4000, 2))
    found = density_ratio(P, Q, LogisticRegression())
    np.testing.assert_allclose(found.discriminator(P), 0.5, atol=0.1)
    assert found.js(P, Q) == pytest.approx(0, abs=0.005)


def test_any_classifier_and_refusals(rng):
    from sklearn.svm import LinearSVC
    from sklearn.tree import DecisionTreeClassifier

    P, Q = rng.random((400, 1)), 0.5 * rng.random((400, 1))
    tree = DecisionTreeClassifier(max_leaf_nodes=2, min_samples_leaf=50)
    found = density_ratio(P, Q, tree)
    assert found.ratio([[0.25]])[0] == pytest.approx(0.5, abs=0.1)
    assert not hasattr(tree, "tree_")  # a copy was fitted
    assert found.ratio([[0.9]])[0] > 10
    with pytest.raises(TypeError, match="predict_proba"):
        density_ratio(P, Q, LinearSVC())
    with pytest.raises(ValueError, match="same columns"):
        density_ratio(P, np.ones((3, 2)), tree)
