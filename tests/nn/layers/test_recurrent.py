"""Recurrent layers: worked numbers, parity with torch, padding, directions, state."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn, persist  # noqa: E402
from pansophy.nn.layers.recurrent import last_steps, reverse_sequences  # noqa: E402

F64 = torch.float64
KINDS = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}
PEERS = {"rnn": torch.nn.RNN, "gru": torch.nn.GRU, "lstm": torch.nn.LSTM}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def put(layer, **weights):
    """Scalar weights by name, biases 0."""
    with torch.no_grad():
        for name, w in layer.weights.items():
            key = name.rsplit("_", 1)[0]
            w.copy_(torch.tensor(weights.get(key, 0.0)).reshape(w.shape).expand_as(w))
    return layer.double()


X = torch.tensor([[[1.0], [-0.5]]], dtype=F64)


def test_scalar_rnn_of_the_notes():
    """W26: x = (1, -0.5), W = (0.5, 0.4)."""
    layer = put(nn.RNN(1, 1, bias=False), W_x=[[0.5]], W_h=[[0.4]])
    H, (h,) = layer(X)
    assert H.ravel().tolist() == pytest.approx([0.46211716, -0.06506110], abs=5e-9)
    assert torch.equal(h[0, 0], H[0, -1])


def test_scalar_lstm_of_the_notes():
    """W26: gates i (0.3, -0.2), o (0.1, 0.6), no forget gate, no biases."""
    layer = nn.LSTM(1, 1, forget=False, bias=False).double()
    with torch.no_grad():  # rows i, g, o
        layer.weights["W_x_0"].copy_(torch.tensor([[0.3], [0.5], [0.1]]))
        layer.weights["W_h_0"].copy_(torch.tensor([[-0.2], [0.4], [0.6]]))
    state, cells = layer.init_state(1), []
    for t in range(2):
        _, state = layer.step(X[:, t], state)
        cells.append(state[1].item())
    assert cells == pytest.approx([0.26545974, 0.17745489], abs=5e-9)
    H, (_, c) = layer(X)
    assert H.ravel().tolist() == pytest.approx([0.13617702, 0.08919959], abs=5e-9)
    assert c.item() == pytest.approx(cells[-1], abs=1e-15)


def test_forget_gate_at_one_is_the_cell_without_it(rng):
    full = nn.LSTM(3, 4).double()
    old = nn.LSTM(3, 4, forget=False).double()
    with torch.no_grad():
        for name, w in old.weights.items():
            i, _, g, o = full.weights[name].chunk(4)
            w.copy_(torch.cat([i, g, o]))
            full.weights[name][4:8] = 1e3 if name.startswith("b_x") else 0.0  # f = 1
    Z = torch.randn(2, 6, 3, dtype=F64)
    assert torch.allclose(full(Z)[0], old(Z)[0], atol=1e-12)


def test_carousel_without_gates():
    """c_t = c_t-1 + tanh(W [x; h]), h = tanh(c): increments of at most 1."""
    layer = nn.LSTM(2, 3, forget=False, input_gate=False, output_gate=False).double()
    layer.requires_grad_(False)
    Z = 5 * torch.randn(1, 20, 2, dtype=F64)
    state, last = layer.init_state(1), torch.zeros(1, 1, 3, dtype=F64)
    for t in range(20):
        h, state = layer.step(Z[:, t], state)
        assert float((state[1] - last).abs().max()) <= 1
        assert torch.equal(h, torch.tanh(state[1][:, 0]))
        last = state[1]


def copy_to_torch(layer, peer):
    """Our weights in torch's module, name by name."""
    names = {"W_x": "weight_ih", "W_h": "weight_hh", "b_x": "bias_ih", "b_h": "bias_hh"}
    with torch.no_grad():
        for name, w in layer.weights.items():
            key, place = name[:3], name[4:]
            number, way = place[0], "_reverse" if place.endswith("r") else ""
            getattr(peer, f"{names[key]}_l{number}{way}").copy_(w)
    return peer


@pytest.mark.parametrize("both", [False, True], ids=["forward", "bidirectional"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_parity_with_torch(kind, both, dtype):
    layer = KINDS[kind](3, 5, 2, bidirectional=both).to(dtype)
    peer = PEERS[kind](3, 5, 2, batch_first=True, bidirectional=both, dtype=dtype)
    copy_to_torch(layer, peer)
    Z = torch.randn(4, 7, 3, dtype=dtype)
    H, state = layer(Z)
    G, last = peer(Z)
    tol = {"atol": 2e-6 if dtype == torch.float32 else 1e-12, "rtol": 0}
    torch.testing.assert_close(H, G, **tol)
    last = last if kind == "lstm" else (last,)
    ways = 2 if both else 1
    for ours, theirs in zip(state, last, strict=True):  # (n, layers, h) here
        wide = theirs.unflatten(0, (2, ways)).permute(2, 0, 1, 3).flatten(2)
        torch.testing.assert_close(ours, wide, **tol)


@pytest.mark.parametrize("both", [False, True], ids=["forward", "bidirectional"])
def test_padding_moves_no_state(kind, both):
    """Length-wise oracle: each sequence on its own; garbage in the padding."""
    layer = KINDS[kind](3, 5, 2, bidirectional=both).double()
    lengths = torch.tensor([6, 2, 1, 4])
    Z = torch.randn(4, 6, 3, dtype=F64)
    for i, n in enumerate(lengths):
        Z[i, n:] = 1e6
    H, state = layer(Z, lengths)
    only_h = layer(Z, lengths, return_state=False)
    torch.testing.assert_close(only_h[0], H, atol=1e-12, rtol=0)
    assert only_h[1] is None
    for i, n in enumerate(lengths):
        one, last = layer(Z[i : i + 1, :n])
        torch.testing.assert_close(H[i, :n], one[0], atol=1e-12, rtol=0)
        assert (H[i, n:] == 0).all()
        for s, alone in zip(state, last, strict=True):
            torch.testing.assert_close(s[i], alone[0], atol=1e-12, rtol=0)
    first = state[0][:, -1, :5]
    torch.testing.assert_close(first, last_steps(H[..., :5], lengths))
    if both:  # [forward after the last step, backward after the first]
        torch.testing.assert_close(state[0][:, -1, 5:], H[:, 0, 5:])


def test_packed_sequences_of_torch_agree(kind):
    layer = KINDS[kind](3, 5, bidirectional=True).double()
    peer = PEERS[kind](3, 5, batch_first=True, bidirectional=True, dtype=F64)
    copy_to_torch(layer, peer)
    Z, lengths = torch.randn(3, 6, 3, dtype=F64), torch.tensor([6, 3, 1])
    rnn = torch.nn.utils.rnn
    packed = rnn.pack_padded_sequence(Z, lengths, batch_first=True)
    wanted = rnn.pad_packed_sequence(peer(packed)[0], batch_first=True)[0]
    torch.testing.assert_close(layer(Z, lengths)[0], wanted, atol=1e-12, rtol=0)


def test_steps_are_the_sequence(kind):
    """step after step, and block after block, equal one pass."""
    layer = KINDS[kind](3, 5, 2).double()
    Z = torch.randn(2, 6, 3, dtype=F64)
    H, last = layer(Z)
    state, outs = layer.init_state(2), []
    for t in range(6):
        h, state = layer.step(Z[:, t], state)
        outs.append(h)
    torch.testing.assert_close(torch.stack(outs, 1), H, atol=1e-12, rtol=0)
    one, state = layer(Z[:, :4])
    two, state = layer(Z[:, 4:], state=state)
    torch.testing.assert_close(torch.cat([one, two], 1), H, atol=1e-12, rtol=0)
    for s, t in zip(state, last, strict=True):
        torch.testing.assert_close(s, t, atol=1e-12, rtol=0)


def test_causal_by_perturbation_and_gradient(kind):
    layer = KINDS[kind](3, 5, 2).double()
    Z = torch.randn(2, 6, 3, dtype=F64, requires_grad=True)
    H, _ = layer(Z)
    (g,) = torch.autograd.grad(H[:, 2].sum(), Z)
    assert (g[:, 3:] == 0).all() and (g[:, :3] != 0).any()
    other = Z.detach().clone()
    other[:, 4] += 10
    changed, _ = layer(other)
    assert torch.equal(changed[:, :4], H[:, :4])
    assert not torch.equal(changed[:, 4:], H[:, 4:])


def test_truncation_detaches_and_nothing_is_kept(kind):
    """Blocks of two steps: gradients stay inside, outputs are those of one pass."""
    layer = KINDS[kind](3, 5).double()
    Z = torch.randn(2, 6, 3, dtype=F64, requires_grad=True)
    lengths = torch.tensor([6, 3])
    H, state = layer(Z, lengths, truncate=2)
    whole, last = layer(Z, lengths)
    torch.testing.assert_close(H, whole, atol=1e-12, rtol=0)
    for s, t in zip(state, last, strict=True):
        torch.testing.assert_close(s, t, atol=1e-12, rtol=0)
    (g,) = torch.autograd.grad(H[:, 5].sum(), Z)
    assert (g[0, :4] == 0).all() and (g[0, 4:] != 0).any() and (g[1] == 0).all()
    # a batch of other rows in between leaves no trace: the state is not in the layer
    layer(torch.randn(2, 6, 3, dtype=F64), truncate=2)
    assert torch.equal(layer(Z, lengths, truncate=2)[0], H)


@pytest.mark.parametrize("both", [False, True])
def test_gradients_against_differences(kind, both):
    """In the input, the first state and every weight, with padding."""
    layer = KINDS[kind](2, 3, bidirectional=both).double()
    Z = torch.randn(2, 4, 2, dtype=F64, requires_grad=True)
    names = [n for n, _ in layer.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in layer.parameters()]

    def run(Z, *values):
        weights = dict(zip(names, values, strict=True))
        H, state = torch.func.functional_call(layer, weights, (Z, torch.tensor([4, 2])))
        return H, *state

    assert torch.autograd.gradcheck(run, (Z, *values))


def test_lstm_gradient_by_hand():
    """One unit, two steps, no forget gate (W26): dh_2 / dx_1 by the chain rule."""
    layer = nn.LSTM(1, 1, forget=False, bias=False).double()
    i, g, o = (0.3, -0.2), (0.5, 0.4), (0.1, 0.6)
    with torch.no_grad():
        layer.weights["W_x_0"].copy_(torch.tensor([[i[0]], [g[0]], [o[0]]]))
        layer.weights["W_h_0"].copy_(torch.tensor([[i[1]], [g[1]], [o[1]]]))
    Z = X.clone().requires_grad_()
    (found,) = torch.autograd.grad(layer(Z)[0][0, 1, 0], Z)
    s = lambda z: 1 / (1 + math.exp(-z))
    x1, x2 = X.ravel().tolist()
    gates = s(i[0] * x1), math.tanh(g[0] * x1), s(o[0] * x1)
    c1 = gates[0] * gates[1]
    h1 = gates[2] * math.tanh(c1)
    dc1 = i[0] * gates[0] * (1 - gates[0]) * gates[1]
    dc1 += g[0] * (1 - gates[1] ** 2) * gates[0]
    dh1 = o[0] * gates[2] * (1 - gates[2]) * math.tanh(c1)
    dh1 += gates[2] * (1 - math.tanh(c1) ** 2) * dc1
    gates = (
        s(i[0] * x2 + i[1] * h1),
        math.tanh(g[0] * x2 + g[1] * h1),
        s(o[0] * x2 + o[1] * h1),
    )
    c2 = c1 + gates[0] * gates[1]
    dc2 = dc1 + i[1] * dh1 * gates[0] * (1 - gates[0]) * gates[1]
    dc2 += g[1] * dh1 * (1 - gates[1] ** 2) * gates[0]
    dh2 = o[1] * dh1 * gates[2] * (1 - gates[2]) * math.tanh(c2)
    dh2 += gates[2] * (1 - math.tanh(c2) ** 2) * dc2
    assert float(found[0, 0, 0]) == pytest.approx(dh2, rel=1e-7)


def test_identity_activation_is_the_linear_recurrence(rng):
    A, B = rng.normal(size=(4, 4)) / 4, rng.normal(size=(4, 2))
    layer = nn.RNN(2, 4, activation="identity", bias=False).double()
    with torch.no_grad():
        layer.weights["W_h_0"].copy_(torch.tensor(A))
        layer.weights["W_x_0"].copy_(torch.tensor(B))
    u = rng.normal(size=(7, 2))
    h, wanted = np.zeros(4), []
    for t in range(7):
        h = A @ h + B @ u[t]
        wanted.append(h)
    found = layer(torch.tensor(u)[None])[0][0].detach().numpy()
    assert found == pytest.approx(np.array(wanted), abs=1e-13)


def test_zero_recurrence_is_feed_forward():
    layer = nn.RNN(2, 3).double()
    with torch.no_grad():
        layer.weights["W_h_0"].zero_()
    Z = torch.randn(2, 5, 2, dtype=F64)
    H = layer(Z)[0]
    swap = torch.tensor([3, 0, 4, 1, 2])
    torch.testing.assert_close(layer(Z[:, swap])[0], H[:, swap])


def test_dropout_is_between_layers_and_off_in_eval():
    layer = nn.GRU(2, 8, 2, dropout=0.5)
    Z = torch.randn(2, 5, 2)
    assert not torch.equal(layer(Z)[0], layer(Z)[0])
    layer.eval()
    assert torch.equal(layer(Z)[0], layer(Z)[0])
    single = nn.GRU(2, 8, dropout=0.5)
    assert torch.equal(single(Z)[0], single(Z)[0])


def test_reverse_sequences_keeps_padding():
    Z = torch.arange(8.0).reshape(2, 4, 1)
    found = reverse_sequences(Z, torch.tensor([4, 2]))[:, :, 0].tolist()
    assert found == [[3, 2, 1, 0], [5, 4, 6, 7]]


def test_first_forget_bias_and_parameters():
    first = nn.LSTM(1, 9).weights["b_x_0"].detach()
    assert float(first[9:18].mean()) > 1 - 1 / math.sqrt(9)
    count = sum(p.numel() for p in nn.LSTM(3, 5).parameters())
    assert count == 4 * 5 * (3 + 5 + 2)  # two bias vectors, as torch has


def test_bad_arguments():
    with pytest.raises(ValueError, match="activation must be one of"):
        nn.RNN(1, 1, activation="sine")
    with pytest.raises(ValueError, match="recurrence must be"):
        nn.RNN(1, 1, recurrence="none")
    both = nn.GRU(1, 2, bidirectional=True)
    with pytest.raises(ValueError, match="takes no state"):
        both(torch.zeros(1, 2, 1), state=both.init_state(1))
    with pytest.raises(ValueError, match="whole sequences"):
        both.step(torch.zeros(1, 1), both.init_state(1))


def test_layers_are_saved(tmp_path, kind):
    layer = KINDS[kind](2, 3)
    persist.save(layer, tmp_path / "layer")
    Z = torch.randn(1, 4, 2)
    assert torch.equal(persist.load(tmp_path / "layer")(Z)[0], layer(Z)[0])
