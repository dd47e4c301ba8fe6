"""Convolutional nets: shapes by the calculators, counts, learning, gradients."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)

from pansophy import nn  # noqa: E402


def bars(n, rng, size=8):
    """Images of one bright line, across (0) or down (1), anywhere."""
    y = rng.integers(0, 2, n)
    images = 0.1 * rng.normal(size=(n, 1, size, size))
    for image, down in zip(images, y):
        at = rng.integers(size)
        image[0][(slice(None), at) if down else (at, slice(None))] += 1
    return images.astype(np.float32), y


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n_filters": (4,), "pool_size": 3, "kernel_size": 5},
        {"n_filters": ((4, 4), 6), "pooling": "average", "normalisation": "group"},
        {"global_pooling": True, "hidden_layer_sizes": (7, 5), "normalisation": None},
        {"pool_size": 20, "kernel_size": 4, "normalisation": "layer"},
    ],
)
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 9, 5), (2, 1, 7)])
def test_shapes_parameters_and_flops_are_those_of_the_calculators(options, shape):
    net = nn.ConvNet(shape, 4, **options).eval()
    layers = net.layer_shapes()
    assert sum(layer.parameters for layer in layers) == nn.count_parameters(net)
    x = torch.randn(2, *shape)
    for layer in layers:
        found = nn.layer_outputs(net, x, layer=layer.name)
        assert tuple(found.shape[1:]) == layer.shape
    assert nn.count_flops(net, (1, *shape)) == sum(layer.flops for layer in layers)


def test_parameters_of_convolutions_do_not_depend_on_the_image():
    nets = [nn.ConvNet((1, n, n), 10, global_pooling=True) for n in (8, 28, 64)]
    assert len({nn.count_parameters(net) for net in nets}) == 1
    nets = [nn.ConvNet((1, n, n), 10) for n in (8, 28)]
    counts = [nn.count_parameters(net.blocks) for net in nets]
    assert counts[0] == counts[1] < nn.count_parameters(nets[1])


def test_gradient_check():
    torch.manual_seed(0)
    net = nn.ConvNet((1, 4, 4), 2, n_filters=(2,), activation="tanh").double()
    batch = (torch.randn(3, 1, 4, 4, dtype=torch.float64), torch.tensor([0, 1, 1]))
    params = dict(net.named_parameters())

    def loss(*values):
        replaced = dict(zip(params, values))
        return torch.func.functional_call(net, replaced, batch[0])[range(3), batch[1]]

    assert torch.autograd.gradcheck(loss, tuple(params.values()))


def test_toy_shapes_are_learnt(rng):
    torch.manual_seed(0)
    net = nn.ConvNet((1, 8, 8), 2, n_filters=(8,), global_pooling=True)
    options = {"epochs": 12, "batch_size": 32, "device": "cpu", "seed": 0}
    nn.train(net, bars(400, rng), optimiser=nn.Adam(1e-2), **options)
    images, y = bars(200, rng)
    with torch.no_grad():
        found = net(torch.from_numpy(images)).argmax(1).numpy()
    assert (found == y).mean() > 0.98


def test_weights_are_repeated_rows_in_training(rng):
    images, y = bars(6, rng)
    images = images.astype(np.float64)
    w = np.array([1.0, 2.0, 0.0, 3.0, 1.0, 1.0])
    index = np.repeat(np.arange(6), w.astype(int))
    found = []
    for data in ((images, y, w), (images[index], y[index])):
        torch.manual_seed(0)
        net = nn.ConvNet((1, 8, 8), 2, n_filters=(3,)).double()
        nn.train(net, data, epochs=5, batch_size=100, device="cpu", seed=0)
        with torch.no_grad():
            found.append(net(torch.from_numpy(images)))
    torch.testing.assert_close(*found, rtol=1e-9, atol=1e-9)


def test_bytes_are_images_too(rng):
    net = nn.ConvNet((1, 4, 4), 2).eval()
    net.set_pixel_scaling([100.0], [50.0])
    images = rng.integers(0, 255, (3, 1, 4, 4), dtype=np.uint8)
    a = net(torch.from_numpy(images))
    b = net(torch.from_numpy(images.astype(np.float32)))
    assert torch.equal(a, b)
