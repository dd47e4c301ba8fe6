"""Initial weights of agents' MLPs, and NumPy's way through them."""

import numpy as np
import pytest
import torch

from pansophy.rl.deep.small_nets import (
    fan_in_mlp,
    he_mlp,
    numpy_forward,
    numpy_layers,
    orthogonal_mlp,
)


def test_orthogonal_matrices_with_their_gains(rng):
    mlp = orthogonal_mlp((6, 6, 4), rng, activation="tanh", last_gain=0.01)
    first, last = (W.detach().numpy() for W in mlp.weights)
    np.testing.assert_allclose(first.T @ first, 2 * np.eye(6), atol=1e-5)
    np.testing.assert_allclose(last.T @ last, 1e-4 * np.eye(4), atol=1e-8)
    assert all((b == 0).all() for b in mlp.biases)
    assert first.dtype == np.float32


def test_he_weights_and_a_small_last_layer():
    mlp = he_mlp((50, 80, 2), np.random.default_rng(0), "relu")
    first, last = (W.detach().numpy() for W in mlp.weights)
    assert first.std() == pytest.approx(np.sqrt(2 / 50), rel=0.05)
    assert last.std() == pytest.approx(0.1 * np.sqrt(2 / 80), rel=0.15)


def test_even_weights_and_biases_by_the_inputs():
    """The bounds are those of torch's own layers."""
    mlp = fan_in_mlp((50, 80, 400), np.random.default_rng(0), "relu")
    for W, b, m in zip(mlp.weights, mlp.biases, (50, 80), strict=True):
        bound = m**-0.5
        layer = torch.nn.Linear(*W.shape)
        for values in (W, b, layer.weight, layer.bias):
            size = np.abs(values.detach().numpy())
            assert 0.8 * bound < size.max() <= bound
        for values in (W, b):
            spread = values.detach().numpy().std()
            assert spread == pytest.approx(bound / np.sqrt(3), rel=0.1)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("sizes", [(3, 2), (3, 8, 2), (3, 8, 8, 2)])
def test_numpy_outputs_are_torchs(activation, sizes, rng):
    mlp = orthogonal_mlp(sizes, rng, activation=activation, last_gain=1.0)
    X = rng.normal(size=(5, 3)).astype(np.float32)
    kept = X.copy()
    found = numpy_forward(numpy_layers(mlp), activation, X)
    with torch.no_grad():
        expected = mlp(torch.as_tensor(X)).numpy()
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(X, kept)  # activations work in place, not on X


def test_arrays_follow_the_weights(rng):
    """The arrays are torch's memory: a step of the optimiser is seen at once."""
    mlp = orthogonal_mlp((2, 3), rng, activation="tanh", last_gain=1.0)
    ((W, b),) = numpy_layers(mlp)
    with torch.no_grad():
        mlp.weights[0].fill_(2.0)
        mlp.biases[0].fill_(3.0)
    assert (W == 2.0).all() and (b == 3.0).all()


def test_same_generator_same_weights():
    nets = [
        he_mlp((3, 4, 2), np.random.default_rng(seed), "relu") for seed in (1, 1, 2)
    ]
    one, two, other = (torch.cat([p.ravel() for p in n.parameters()]) for n in nets)
    assert (one == two).all() and (one != other).any()
