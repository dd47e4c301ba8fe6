"""Posteriors of mixed networks."""

import numpy as np

from pansophy.graphical import (
    NormalMixture,
)
from tests.graphical.small_networks import mixed_network


def test_mixed_network_against_a_grid():
    network = mixed_network()
    a, b = np.meshgrid(
        np.linspace(-9, 11, 401), np.linspace(-25, 35, 801), indexing="ij"
    )
    cell = (20 / 400) * (60 / 800)
    normal = lambda x, m, v: np.exp(-((x - m) ** 2) / (2 * v)) / np.sqrt(2 * np.pi * v)
    weight = []
    for k, (p, i, s, v) in enumerate([(0.3, 0.0, 1.0, 1.0), (0.7, 1.0, 2.0, 2.0)]):
        told = [0.1, 0.6][k]  # m = 1
        density = (
            normal(a, 1, 2) * normal(b, i + s * a, v) * normal(4.0, 0.5 + 1.5 * b, 1)
        )
        weight.append(p * told * density * cell)
    total = sum(w.sum() for w in weight)
    seen = {"c": 4.0, "m": 1}
    assert np.isclose(network.query("k", seen)[1], weight[1].sum() / total, atol=1e-6)
    found = network.query("a", seen)
    assert isinstance(found, NormalMixture) and len(found.weights) == 2
    mean = sum((w * a).sum() for w in weight) / total
    assert np.isclose(found.mean[0], mean, atol=1e-5)
    spread = sum((w * a**2).sum() for w in weight) / total - mean**2
    assert np.isclose(found.variance[0], spread, atol=1e-4)
    assert np.isclose(network.log_prob(seen), np.log(total), atol=1e-6)
    alone = network.query("a", {**seen, "k": 1})
    assert np.isclose(alone.mean[0], (weight[1] * a).sum() / weight[1].sum(), atol=1e-5)
