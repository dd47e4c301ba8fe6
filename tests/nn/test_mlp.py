"""The perceptron's mathematics: worked numbers, heads, activations."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
torch.set_num_threads(1)  # nets this small lose time to a second thread

from pansophy import losses, nn  # noqa: E402
from pansophy.nn.optimisers import flatten_parameters  # noqa: E402


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


def test_activation_values():
    at = lambda name, z: float(nn.ACTIVATIONS[name].value(torch.tensor(z).double()))
    assert at("logistic", -2.0) == pytest.approx(0.119203, abs=1e-6)
    assert at("tanh", -2.0) == pytest.approx(-0.964028, abs=1e-6)
    assert at("relu", -2.0) == 0
    assert at("leaky", -2.0) == pytest.approx(-0.2, abs=1e-6)
    assert at("elu", -2.0) == pytest.approx(-0.864665, abs=1e-6)
    assert at("leaky", -0.5) == pytest.approx(-0.05, abs=1e-6)
    assert at("elu", -0.5) == pytest.approx(-0.393469, abs=1e-6)
    assert at("tanh", 0.7) == pytest.approx(2 * at("logistic", 1.4) - 1)


@pytest.mark.parametrize("name", nn.ACTIVATIONS)
def test_slopes_against_autograd(name):
    g = nn.ACTIVATIONS[name]
    Z = torch.linspace(-3, 3, 14, dtype=torch.float64, requires_grad=True)
    H = g.value(Z)
    G = torch.linspace(1, 2, 14, dtype=torch.float64)
    H.backward(G)
    torch.testing.assert_close(g.backward(G, H.detach()), Z.grad)
    torch.testing.assert_close(g.apply_(Z.detach().clone()), H.detach())


def test_softplus_cost_of_a_yes_or_no():
    cost = lambda t, a: float(nn.HEADS["logistic"].value(column(t), column(a)))
    assert cost(0.0, -2.0) == pytest.approx(0.126928, abs=1e-6)
    assert cost(1.0, -2.0) == pytest.approx(2.126928, abs=1e-6)
    assert cost(0.0, 0.0) == pytest.approx(0.693147, abs=1e-6)
    assert cost(0.0, 3.0) == pytest.approx(3.048587, abs=1e-6)
    assert cost(1.0, 3.0) == pytest.approx(0.048587, abs=1e-6)


def head_cases(rng):
    F = torch.as_tensor(3 * rng.normal(size=(20, 4)))
    z = torch.as_tensor(rng.integers(0, 4, 20))
    yes = torch.as_tensor(rng.integers(0, 2, (20, 4)).astype(float))
    real = torch.as_tensor(rng.normal(size=(20, 4)))
    counts = torch.as_tensor(rng.integers(0, 9, (20, 4)).astype(float))
    soft = torch.softmax(torch.as_tensor(rng.normal(size=(20, 4))), 1)
    return F, [
        ("softmax", z),
        ("softmax", soft),
        ("logistic", yes),
        ("identity", real),
        ("exp", counts),
    ]


def test_heads_give_prediction_minus_target(rng):
    F, cases = head_cases(rng)
    for name, Y in cases:
        head = nn.HEADS[name]
        G = F.clone().requires_grad_()
        value = head.value(Y, G)
        value.sum().backward()
        found, residual = head.value_and_gradient(Y, F.clone())
        torch.testing.assert_close(found, value.detach())
        torch.testing.assert_close(residual, G.grad)
        target = torch.nn.functional.one_hot(Y, 4) if Y.ndim == 1 else Y
        torch.testing.assert_close(residual, head.mean(F) - target)


def test_heads_are_the_losses_of_the_package(rng):
    F, cases = head_cases(rng)
    value = {name: nn.HEADS[name].value(Y, F) for name, Y in cases[2:]}
    columns = lambda loss, Y: sum(loss.value(Y[:, k], F[:, k]) for k in range(4))
    for _, Y in cases[:2]:
        torch.testing.assert_close(
            nn.HEADS["softmax"].value(Y, F), losses.softmax.value(Y, F)
        )
    yes, real, counts = (Y for _, Y in cases[2:])
    torch.testing.assert_close(value["logistic"], columns(losses.logistic, yes))
    torch.testing.assert_close(value["identity"], columns(losses.half_squared, real))
    free = (torch.xlogy(counts, counts) - counts).sum(1)  # of f; ours is a deviance
    torch.testing.assert_close(value["exp"] - free, columns(losses.poisson, counts))


def test_softmax_head_is_exact_for_large_scores():
    F = torch.tensor([[1e4, 0.0, -1e4]], dtype=torch.float64)
    value, D = nn.HEADS["softmax"].value_and_gradient(torch.tensor([1]), F)
    assert value.tolist() == [1e4]
    assert D.tolist() == [[1.0, -1.0, 0.0]]


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
