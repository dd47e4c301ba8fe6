"""The perceptron's mathematics: worked numbers, heads, activations."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from pansophy import nn  # noqa: E402
from pansophy.nn.training.optimisers import flatten_parameters  # noqa: E402

torch.set_num_threads(1)  # nets this small lose time to a second thread


def column(*values):
    return torch.tensor([values], dtype=torch.float64)


def by_hand(net, X, Y):
    """Loss, and gradients of matrices and biases."""
    flatten_parameters(net.parameters())
    with torch.no_grad():
        J = net.gradients((X, Y))["loss"]
    grads = lambda parts: [p.grad.numpy() for p in parts]
    return float(J), grads(net.weights), grads(net.biases)


@pytest.mark.parametrize(
    ("name", "w", "f", "J", "outer", "inner"),
    [
        ("logistic", 2.0, 1.2449187, 0.0599852, 0.3049038, 0.2302272),
        ("tanh", 2.0, 0.9242343, 0.0057404, -0.0700252, -0.2383430),
        ("relu", 3.0, 1.5, 0.25, 0.5, 3.0),
    ],
)
def test_one_one_one_net(name, w, f, J, outer, inner):
    """f = w g(w' x), (f - y)^2, at x = 1, w' = 0.5, y = 1; ours is half of it."""
    net = nn.MLP(
        [np.array([[0.5]]), np.array([[w]])],
        [np.zeros(1), np.zeros(1)],
        activation=name,
        head="identity",
    )
    assert net(column(1.0)).item() == pytest.approx(f, abs=1e-7)
    value, (dv, dw), _ = by_hand(net, column(1.0), column(1.0))
    assert 2 * value == pytest.approx(J, abs=1e-7)
    assert 2 * dw.item() == pytest.approx(outer, abs=1e-7)
    assert 2 * dv.item() == pytest.approx(inner, abs=1e-7)


def test_two_two_two_net():
    """tanh, summed squares; the text writes W from the output's side."""
    W1, W2 = np.array([[0.1, 0.2], [0.3, -0.4]]), np.array([[0.5, -0.6], [0.7, 0.8]])
    net = nn.MLP(
        [W1.T.copy(), W2.T.copy()],
        [np.zeros(2), np.zeros(2)],
        activation="tanh",
        head="identity",
    )
    X, Y = column(1.0, 2.0), column(1.0, -1.0)
    out = net(X).detach().numpy()[0]
    assert out == pytest.approx([0.5083289, -0.0462117], abs=1e-7)
    value, (d1, d2), _ = by_hand(net, X, Y)
    assert 2 * value == pytest.approx(1.1514526, abs=1e-7)
    wanted2 = [[-0.4544193, 0.4544193], [0.8815239, -0.8815239]]
    wanted1 = [[0.6634728, 1.3269457], [1.6641758, 3.3283516]]
    assert pytest.approx(np.array(wanted2), abs=1e-7) == 2 * d2.T
    assert pytest.approx(np.array(wanted1), abs=1e-7) == 2 * d1.T


def test_sigmoid_hidden_linear_out():
    W1 = np.array([[0.1, 0.2], [0.3, -0.4]])
    net = nn.MLP(
        [W1.T.copy(), np.array([[0.5], [-0.6]])],
        [np.array([0.1, 0.2]), np.array([0.1])],
        activation="logistic",
        head="identity",
    )
    X = column(1.0, 2.0)
    assert net(X).item() == pytest.approx(0.167494, abs=1e-6)
    value, (d1, d2), (b1, b2) = by_hand(net, X, column(1.0))
    assert value == pytest.approx(0.346533, abs=1e-6)
    assert b2 == pytest.approx([-0.832506], abs=1e-6)
    assert d2[:, 0] == pytest.approx([-0.537513, -0.354279], abs=1e-6)
    assert b1 == pytest.approx([-0.095232, 0.122108], abs=1e-6)
    wanted = np.array([[-0.095232, -0.190464], [0.122108, 0.244216]])
    assert pytest.approx(wanted, abs=1e-6) == d1.T


def test_exclusive_or():
    """Hand-set weights solve what no linear model can."""
    X = torch.tensor([[0.0, 0], [0, 1], [1, 0], [1, 1]], dtype=torch.float64)
    net = nn.MLP(
        [np.ones((2, 2)), np.array([[1.0], [-2.0]])],
        [np.array([0.0, -1.0]), np.zeros(1)],
        head="identity",
    )
    assert net(X)[:, 0].tolist() == [0, 1, 1, 0]


def test_batch_equals_stacked_rows_and_identity_collapses(rng):
    coefs, intercepts = nn.glorot_uniform([4, 6, 2], rng)
    net = nn.MLP(coefs, intercepts, activation="identity", head="identity")
    X = torch.as_tensor(rng.normal(size=(9, 4)))
    one = torch.cat([net(X[i : i + 1]) for i in range(9)])
    torch.testing.assert_close(net(X), one)
    flat = X @ torch.as_tensor(coefs[0] @ coefs[1])
    bias = intercepts[0] @ coefs[1] + intercepts[1]
    torch.testing.assert_close(net(X).detach(), flat + torch.as_tensor(bias))


def test_initial_weights_have_glorot_s_scale(rng):
    (W,), (b,) = nn.glorot_uniform([300, 200], rng)
    bound = np.sqrt(6 / 500)
    assert np.abs(W).max() <= bound and W.std() == pytest.approx(bound / 3**0.5, 0.02)
    assert b.shape == (200,)
    (W,), _ = nn.glorot_uniform([300, 200], rng, "logistic")
    assert np.abs(W).max() <= np.sqrt(2 / 500)


def test_dropout_is_off_at_prediction_and_zero_is_identity(rng):
    coefs, intercepts = nn.glorot_uniform([4, 50, 2], rng)
    X = torch.as_tensor(rng.normal(size=(9, 4)))
    plain = nn.MLP(coefs, intercepts)
    noisy = nn.MLP(coefs, intercepts, dropout=0.5)
    assert torch.equal(noisy.eval()(X), plain(X))
    noisy.train()
    draws = torch.stack([noisy(X).detach() for _ in range(500)])
    torch.testing.assert_close(draws.mean(0), plain(X).detach(), atol=0.2, rtol=0.2)
    assert float(draws.std(0).min()) > 0
