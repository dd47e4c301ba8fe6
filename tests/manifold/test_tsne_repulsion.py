"""The repulsion of t-SNE: direct, by a tree and on a grid, against an oracle."""

import numpy as np
import pytest

from pansophy.manifold import tsne_repulsion
from tests.oracles import manifold as oracle


def totals(found):
    """F (n, m) and Z from the tasks of a push."""
    F, tasks, _ = found
    Z = sum(task() for task in tasks)
    return F.T, Z


@pytest.mark.parametrize(("m", "a"), [(1, 1), (2, 1), (3, 2), (4, 3), (5, 4)])
def test_direct_push_equals_the_oracle(m, a):
    Y = np.random.default_rng(m).normal(size=(40, m)) * 3
    F, Z = totals(tsne_repulsion.direct_repulsion(np.ascontiguousarray(Y.T), a))
    slow_F, slow_Z = oracle.push(Y, a)
    np.testing.assert_allclose(F, slow_F, atol=1e-10)
    np.testing.assert_allclose(Z, slow_Z)


@pytest.mark.parametrize(("m", "a"), [(1, 1), (2, 1), (3, 2)])
def test_tree_push(m, a):
    Y = np.random.default_rng(m).normal(size=(m, 300)) * 5
    Y[:, :20] = Y[:, :1]  # points that coincide
    F, Z = totals(tsne_repulsion.direct_repulsion(Y, a))
    for angle, room in [(0.0, 1e-9), (0.2, 0.01), (0.5, 0.06)]:
        G, near_Z = totals(tsne_repulsion.barnes_hut_repulsion(Y, a, angle))
        assert np.linalg.norm(F - G) <= room * np.linalg.norm(F)
        assert abs(near_Z - Z) <= room * Z


@pytest.mark.parametrize("scale", [1e-5, 0.1, 3.0, 20.0, 60.0])
@pytest.mark.parametrize("m", [1, 2])
def test_grid_push(scale, m):
    """Both with the whole kernel and with the split, eq. (3)."""
    rng = np.random.default_rng(0)
    Y = (rng.normal(size=(m, 3000)) * scale).astype(np.float32)
    F, Z = totals(tsne_repulsion.direct_repulsion(Y))
    G, near_Z = totals(tsne_repulsion.grid_repulsion(Y))
    assert np.linalg.norm(F - G) <= 0.01 * np.linalg.norm(F)
    assert abs(near_Z - Z) <= 1e-3 * Z


def test_grid_of_one_place():
    F, tasks, _ = tsne_repulsion.grid_repulsion(np.ones((2, 5), np.float32))
    assert abs(tasks[0]() - 20) < 1e-4
    assert np.abs(F).max() < 1e-3
