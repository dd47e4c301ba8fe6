"""Back-propagation by hand: printed examples, differences, parity with `nn.MLP`."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn, teaching  # noqa: E402

close = lambda a, b, digits=7: np.allclose(a, b, rtol=0, atol=0.6 * 10**-digits)


def test_two_layers_of_tanh():
    W1, W2 = [[0.1, 0.2], [0.3, -0.4]], [[0.5, -0.6], [0.7, 0.8]]
    found = teaching.backward([W1, W2], [1, 2], [1, -1])
    assert close(found.sums[0], [0.5, -0.5])
    assert close(found.outputs[1], [0.4621172, -0.4621172])
    assert close(found.outputs[2], [0.5083289, -0.0462117])
    assert close(found.loss, 1.1514526)
    assert close(found.deltas[1], [-0.9833423, 1.9075766])
    assert close(
        found.weight_gradients[1], [[-0.4544193, 0.4544193], [0.8815239, -0.8815239]]
    )
    assert close(found.deltas[0], [0.6634728, 1.6641758])
    assert close(
        found.weight_gradients[0], [[0.6634728, 1.3269457], [1.6641758, 3.3283516]]
    )


@pytest.mark.parametrize(
    ("activation", "w", "f", "loss", "delta", "grads"),
    [
        ("logistic", 2, 1.2449187, 0.0599852, 0.4898373, (0.3049038, 0.2302272)),
        ("tanh", 2, 0.9242343, 0.0057404, -0.1515314, (-0.0700252, -0.2383430)),
        ("relu", 3, 1.5, 0.25, 1.0, (0.5, 3.0)),
    ],
)
def test_one_unit(activation, w, f, loss, delta, grads):
    found = teaching.backward([[[0.5]], [[w]]], [1], [1], activation=activation)
    assert close(found.outputs[2], f) and close(found.loss, loss)
    assert close(found.deltas[1], delta)
    assert close(found.weight_gradients[1], grads[0])
    assert close(found.weight_gradients[0], grads[1])


def test_sigmoid_hidden_layer_with_biases():
    found = teaching.backward(
        [[[0.1, 0.2], [0.3, -0.4]], [[0.5, -0.6]]], [1, 2], [1],
        biases=[[0.1, 0.2], [0.1]], activation="logistic", loss="half_squared",
    )  # fmt: skip
    assert close(found.sums[0], [0.6, -0.3], 6)
    assert close(found.outputs[1], [0.645656, 0.425557], 6)
    assert close(found.outputs[2], 0.167494, 6) and close(found.loss, 0.346533, 6)
    assert close(found.bias_gradients[1], -0.832506, 6)
    assert close(found.weight_gradients[1], [[-0.537513, -0.354279]], 6)
    assert close(found.bias_gradients[0], [-0.095232, 0.122108], 6)
    assert close(
        found.weight_gradients[0], [[-0.095232, -0.190464], [0.122108, 0.244216]], 6
    )


def test_one_sigmoid_unit_on_half_squares():
    found = teaching.backward(
        [[[0.5, -0.5]]], [1, 2], [1], output="logistic", loss="half_squared"
    )
    assert close(found.outputs[1], 0.377541, 6) and close(found.loss, 0.193728, 6)
    assert close(found.deltas[0], -0.146280, 6)
    assert close(found.weight_gradients[0], [[-0.146280, -0.292561]], 6)


CASES = [
    ("tanh", "identity", "squared"),
    ("logistic", "identity", "half_squared"),
    ("elu", "logistic", "cross_entropy"),
    ("tanh", "softmax", "cross_entropy"),
    ("tanh", "tanh", "squared"),
]


@pytest.mark.parametrize(("activation", "output", "loss"), CASES)
def test_gradients_against_differences(activation, output, loss, rng):
    shapes = [(4, 3), (5, 4), (3, 5)]
    W = [rng.normal(size=s) for s in shapes]
    b = [rng.normal(size=s[0]) for s in shapes]
    X = rng.normal(size=(6, 3))
    Y = np.eye(3)[rng.integers(0, 3, 6)]
    options = {"activation": activation, "output": output, "loss": loss}
    found = teaching.backward(W, X, Y, biases=b, **options)
    value = lambda: teaching.backward(W, X, Y, biases=b, **options).loss
    for arrays, grads in ((W, found.weight_gradients), (b, found.bias_gradients)):
        for a, g in zip(arrays, grads, strict=True):
            flat, slopes = a.reshape(-1), g.reshape(-1)
            for i in rng.integers(len(flat), size=3):
                kept = flat[i]
                flat[i] = kept + 1e-6
                up = value()
                flat[i] = kept - 1e-6
                down = value()
                flat[i] = kept
                assert (up - down) / 2e-6 == pytest.approx(slopes[i], abs=1e-7)


def test_batch_is_the_mean_of_singles_and_equals_the_perceptron(rng):
    W = [rng.normal(size=(4, 3)), rng.normal(size=(2, 4))]
    b = [rng.normal(size=4), rng.normal(size=2)]
    X, Y = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    whole = teaching.backward(W, X, Y, biases=b, loss="half_squared")
    ones = [
        teaching.backward(W, x, y, biases=b, loss="half_squared") for x, y in zip(X, Y)
    ]
    for i in range(2):
        mean = np.mean([one.weight_gradients[i] for one in ones], 0)
        assert whole.weight_gradients[i] == pytest.approx(mean)
        assert whole.outputs[i + 1] == pytest.approx(
            np.stack([one.outputs[i + 1] for one in ones])
        )
    net = nn.MLP([w.T for w in W], b, activation="tanh", head="identity")
    net.losses(tuple(map(torch.as_tensor, (X, Y))))["loss"].backward()
    for p, g in zip(net.weights, whole.weight_gradients):
        assert pytest.approx(g) == p.grad.numpy().T
    for p, g in zip(net.biases, whole.bias_gradients):
        assert p.grad.numpy() == pytest.approx(g)


def test_identity_collapses_to_a_linear_model(rng):
    W = [rng.normal(size=(4, 3)), rng.normal(size=(2, 4))]
    X = rng.normal(size=(5, 3))
    found = teaching.backward(W, X, np.zeros((5, 2)), activation="identity")
    assert found.outputs[-1] == pytest.approx(X @ (W[1] @ W[0]).T)


def test_it_prints_its_numbers_and_names_what_does_not_fit():
    text = str(teaching.backward([[[0.5]], [[2.0]]], [1], [1], activation="logistic"))
    assert "0.0599852" in text and "0.3049038" in text
    with pytest.raises(ValueError, match="layer 2 takes 3 inputs"):
        teaching.backward([np.ones((2, 2)), np.ones((1, 3))], [1, 1], [0])
    with pytest.raises(ValueError, match="y has 2 numbers"):
        teaching.backward([np.ones((1, 2))], [1, 1], [0, 0])
    with pytest.raises(ValueError, match="cross_entropy needs output"):
        teaching.backward([np.ones((1, 2))], [1, 1], [0], loss="cross_entropy")
