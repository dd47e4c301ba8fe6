"""Pooling: worked numbers, sizes, where gradients go, edges."""

import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402

RESPONSE = [[3, -1, -3, -1], [-3, 1, 0, -3], [-3, -3, 0, 1], [3, -2, -2, -1]]
TABLE = [[35, 19, 25, 6], [13, 22, 16, 53], [4, 3, 7, 10], [9, 8, 1, 3]]


def pooled(layer, values):
    return layer(torch.tensor(values, dtype=torch.float64)[None, None])[0, 0].tolist()


def test_worked_examples():
    assert pooled(nn.MaxPool(2, 1), RESPONSE) == [[3, 1, 0], [1, 1, 1], [3, 0, 1]]
    assert pooled(nn.MaxPool(2), RESPONSE) == [[3, 0], [3, 1]]
    assert pooled(nn.MaxPool(2), TABLE) == [[35, 53], [9, 10]]
    assert pooled(nn.AvgPool(2), TABLE) == [[22.25, 25], [6, 5.25]]
    overlapping = [[35, 25, 53], [22, 22, 53], [9, 8, 10]]
    assert pooled(nn.MaxPool(2, 1), TABLE) == overlapping


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_parity_with_torch_and_sizes(ndim):
    x = torch.randn(2, 3, *(7, 6, 5)[:ndim])
    for ours, name in ((nn.MaxPool(3, 2), "MaxPool"), (nn.AvgPool(3, 2), "AvgPool")):
        peer = getattr(torch.nn, f"{name}{ndim}d")(3, 2)
        torch.testing.assert_close(ours(x), peer(x))
        assert ours(x).shape[2:] == ours.output_size(x.shape[2:])


def test_gradient_of_the_maximum_goes_to_the_largest_entry():
    x = torch.tensor(TABLE, dtype=torch.float64)[None, None].requires_grad_()
    nn.MaxPool(2)(x).sum().backward()
    wanted = torch.zeros(4, 4, dtype=torch.float64)
    for i, j in ((0, 0), (1, 3), (3, 0), (2, 3)):
        wanted[i, j] = 1.0
    assert torch.equal(x.grad[0, 0], wanted)


@pytest.mark.parametrize("padding", [0, "same"])
@pytest.mark.parametrize("make", [nn.MaxPool, nn.AvgPool])
def test_gradients_against_differences(make, padding):
    torch.manual_seed(0)
    x = torch.randn(2, 2, 5, 4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(make(2, 1, padding=padding), x)
    assert torch.autograd.gradcheck(make(3, 2, padding=padding), x)


def test_gradient_of_the_average_is_shared_equally():
    x = torch.tensor(TABLE, dtype=torch.float64)[None, None].requires_grad_()
    nn.AvgPool(2)(x).sum().backward()
    assert torch.equal(x.grad, torch.full_like(x, 0.25))


def test_average_keeps_the_mean_where_windows_tile_and_is_below_the_maximum():
    x = torch.randn(1, 2, 6, 6)
    assert float(nn.AvgPool(2)(x).mean()) == pytest.approx(float(x.mean()), abs=1e-6)
    assert bool((nn.MaxPool(2)(x) >= nn.AvgPool(2)(x)).all())


def test_edges_neither_win_nor_count():
    x = -torch.ones(1, 1, 3, 3)
    assert set(nn.MaxPool(2, padding="same")(x).flatten().tolist()) == {-1.0}
    assert set(nn.AvgPool(2, padding="same")(x).flatten().tolist()) == {-1.0}
    assert nn.MaxPool(2, padding="same")(x).shape[2:] == (2, 2)


def test_a_window_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="does not fit into 3"):
        nn.MaxPool(4)(torch.zeros(1, 1, 3, 3))
    with pytest.raises(ValueError, match="1 to 3 sizes"):
        nn.MaxPool(2)(torch.zeros(1, 1))
