"""Embeddings of numbers: pieces, edges, gradients."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


def test_pieces_fill_one_after_the_other_and_go_on_beyond_the_edges():
    layer = nn.PiecewiseLinearEmbedding([[0.0, 1.0, 3.0], [0.0, 2.0]], 2)
    x = torch.tensor([[-1.0, -1.0], [0.5, 1.0], [2.0, 2.0], [5.0, 6.0]])
    found = layer.encode(x)
    assert found[:, 0].tolist() == [[-1, 0], [0.5, 0], [1, 0.5], [1, 2]]
    assert found[:, 1].tolist() == [[0, -0.5], [0, 0.5], [0, 1], [0, 3]]


def test_a_linear_map_of_the_code_is_continuous_and_piecewise_linear():
    torch.manual_seed(0)
    layer = nn.PiecewiseLinearEmbedding([[0.0, 1.0, 3.0]], 4, activation=False)
    x = torch.linspace(-1, 4, 501, dtype=torch.float64)[:, None]
    v = layer.double()(x)[:, 0].detach()
    bends = (v[2:] - 2 * v[1:-1] + v[:-2]).abs().amax(1) > 1e-9
    kinks = x[1:-1, 0][bends]
    assert set(kinks.round(decimals=2).tolist()) <= {1.0}
    assert nn.PiecewiseLinearEmbedding([[0.0, 1.0]], 4)(torch.zeros(3, 1)).min() >= 0


def test_bins_are_weighted_quantiles(rng):
    x = rng.normal(size=(50, 1)).round(1)
    w = rng.integers(0, 4, 50).astype(float)
    repeated = np.repeat(x, w.astype(int), axis=0)
    (weighted,) = nn.distinct_quantiles(x, 8, w)
    (plain,) = nn.distinct_quantiles(repeated, 8)
    np.testing.assert_array_equal(weighted, plain)
    assert (np.diff(plain) > 0).all() and plain[0] == repeated.min()
    nothing = nn.distinct_quantiles(np.full((3, 1), np.nan), 4)
    assert nothing[0].tolist() == [0.0, 1.0]


def test_periodic_columns_have_frequencies_of_their_own():
    layer = nn.PeriodicEmbedding(2, 3, frequencies=4).double()
    x = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(nn.PeriodicEmbedding.forward, (layer, x))
    moved = x.detach().clone()
    moved[:, 0] += 1
    same = layer(moved)[:, 1] == layer(x)[:, 1]
    assert bool(same.all())
