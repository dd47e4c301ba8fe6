"""Back-propagation through time by hand, gradients by lag, clipping."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn, teaching  # noqa: E402

F64 = torch.float64


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


def cost(layer, X, truncate=None):
    """A cost at every step: sum_t sum_h (t + 1) h_t^2 / 2, and its gradient in H."""
    H, _ = layer(X, truncate=truncate)
    t = torch.arange(1, X.shape[1] + 1, dtype=H.dtype)[:, None]
    return (t * H.square()).sum() / 2, (t * H).detach()


@pytest.mark.parametrize("activation", ["tanh", "relu", "logistic", "identity"])
@pytest.mark.parametrize("truncate", [None, 1, 2, 5])
def test_by_hand_is_autograd(activation, truncate):
    layer = nn.RNN(3, 4, activation=activation).double()
    X = torch.randn(2, 5, 3, dtype=F64, requires_grad=True)
    value, G = cost(layer, X, truncate)
    value.backward()
    found = teaching.bptt(layer, X.detach(), G, truncate=truncate)
    for name, g in found.weights.items():
        torch.testing.assert_close(g, layer.weights[name].grad, atol=1e-12, rtol=1e-10)
    torch.testing.assert_close(found.inputs, X.grad, atol=1e-12, rtol=1e-10)


def test_by_hand_is_finite_differences():
    layer = nn.RNN(2, 3).double()
    X = torch.randn(2, 4, 2, dtype=F64)
    found = teaching.bptt(layer, X, cost(layer, X)[1])
    step = 1e-6
    for name, g in found.weights.items():
        flat = layer.weights[name].data.view(-1)
        for i in range(len(flat)):
            kept = float(flat[i])
            flat[i] = kept + step
            up = float(cost(layer, X)[0].detach())
            flat[i] = kept - step
            down = float(cost(layer, X)[0].detach())
            flat[i] = kept
            assert (up - down) / (2 * step) == pytest.approx(
                float(g.reshape(-1)[i]), rel=1e-6, abs=1e-8
            )


def test_one_step_is_ordinary_backpropagation():
    layer = nn.RNN(2, 3).double()
    X, G = torch.randn(5, 1, 2, dtype=F64), torch.randn(5, 1, 3, dtype=F64)
    found = teaching.bptt(layer, X, G)
    A = G[:, 0] * (1 - layer(X)[0][:, 0].detach() ** 2)
    torch.testing.assert_close(found.weights["W_x_0"], A.T @ X[:, 0])
    torch.testing.assert_close(found.weights["b_h_0"], A.sum(0))
    assert (found.weights["W_h_0"] == 0).all()


def test_bptt_takes_one_plain_layer():
    with pytest.raises(ValueError, match="one layer"):
        teaching.bptt(nn.RNN(1, 1, 2), torch.zeros(1, 2, 1), torch.zeros(1, 2, 1))


@pytest.mark.parametrize("factor", [0.5, 1.0, 1.5])
def test_scalar_cell_decays_or_grows_geometrically(factor):
    layer = nn.RNN(1, 1, activation="identity", bias=False).double()
    layer.weights["W_h_0"].data.fill_(factor)
    found = teaching.gradient_by_lag(layer, torch.randn(3, 9, 1, dtype=F64))
    assert found == pytest.approx(factor ** np.arange(9), rel=1e-12)


def test_identity_recurrence_has_the_jacobian_one_exactly():
    layer = nn.RNN(2, 3, recurrence="identity").double()
    found = teaching.gradient_by_lag(layer, torch.randn(2, 20, 2, dtype=F64))
    assert np.array_equal(found, np.ones(20))
    assert [n for n, p in layer.named_parameters() if p.requires_grad] == [
        "weights.W_x_0", "weights.b_x_0",
    ]  # fmt: skip


def test_lag_norms_against_autograd():
    """ds_T/ds_T-k of a two-layer LSTM by one long backward pass."""
    layer = nn.LSTM(2, 2, 2).double()
    X = torch.randn(1, 4, 2, dtype=F64)
    found = teaching.gradient_by_lag(layer, X)
    state = layer.init_state(1)
    for t in range(4):  # the state after step t + 1
        _, state = layer.step(X[:, t], state)

        def rest(h, c, t=t):
            s = (h, c)
            for u in range(t + 1, 4):
                _, s = layer.step(X[:, u], s)
            return torch.cat([p.reshape(-1) for p in s])

        J = torch.autograd.functional.jacobian(rest, state)
        J = torch.cat([j.reshape(8, 4) for j in J], 1)
        wanted = float(torch.linalg.matrix_norm(J, 2))
        assert found[3 - t] == pytest.approx(wanted, rel=1e-10)


def test_lstm_that_remembers_outlasts_the_rnn():
    X = torch.zeros(1, 40, 1, dtype=F64)
    rnn = nn.RNN(1, 8).double()
    lstm = nn.LSTM(1, 8, forget_bias=6.0).double()
    assert (
        teaching.gradient_by_lag(rnn, X)[-1]
        < 1e-3
        < teaching.gradient_by_lag(lstm, X)[-1]
    )


def test_clipping_by_norm_and_value():
    g, h = torch.tensor([3.0, 0.0]), torch.tensor([4.0])
    assert teaching.clip_gradients([g, h], max_norm=10.0) == 5.0
    assert g.tolist() == [3.0, 0.0]  # within the limit: as it was
    assert teaching.clip_gradients([g, h], max_norm=2.5) == 5.0
    assert torch.cat([g, h]).tolist() == pytest.approx([1.5, 0.0, 2.0])
    assert teaching.clip_gradients([g, h], max_value=1.0) == pytest.approx(2**0.5)
    layer = torch.nn.Linear(2, 1)
    assert teaching.clip_gradients(layer, max_norm=1.0) == 0.0
    (1e6 * layer(torch.ones(1, 2)).sum()).backward()
    teaching.clip_gradients(layer, max_norm=1.0)
    norm = torch.cat([p.grad.reshape(-1) for p in layer.parameters()]).norm()
    assert float(norm) == pytest.approx(1.0, rel=1e-5)
