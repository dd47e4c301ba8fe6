"""Transformers: parity with torch, causality, padding, caches, a copied sequence."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from pansophy import nn, persist  # noqa: E402
from pansophy.nn.layers.transformer import FeedForward, token_loss  # noqa: E402

F64 = torch.float64
OPTIONS = {
    "standard": nn.STANDARD,
    "classic": nn.CLASSIC,
    "modern": nn.MODERN,
    "learned, swiglu": nn.BlockOptions(positions="learned", feed_forward="swiglu"),
    "blockwise": nn.BlockOptions(norm="rms", positions="rotary", backend="blockwise"),
}


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(params=OPTIONS)
def options(request):
    return OPTIONS[request.param]


def stirred(module):
    """float64, with projections that are no longer 0."""
    module = module.double()
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.1 * torch.randn_like(p))
    return module


@pytest.mark.parametrize("first", [False, True], ids=["norm after", "norm first"])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_parity_with_torch_layer(first, activation):
    options = nn.BlockOptions(norm_first=first, feed_forward=activation, positions=None)
    ours = nn.TransformerEncoder(8, 2, 1, 16, options=options).double()
    peer = torch.nn.TransformerEncoderLayer(
        8, 2, 16, dropout=0.0, activation=activation, batch_first=True,
        norm_first=first, dtype=F64,
    )  # fmt: skip
    block = ours.stack.blocks[0]
    for p in block.parameters():
        p.data.normal_(std=0.3)
    a = block.attention
    pairs = {
        peer.self_attn.out_proj: a.W_o,
        peer.linear1: block.feed_forward.W_1,
        peer.linear2: block.feed_forward.W_2,
        peer.norm1: block.norms["attention"],
        peer.norm2: block.norms["feed_forward"],
    }
    with torch.no_grad():
        parts = [a.W_q, a.W_k, a.W_v]
        peer.self_attn.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        peer.self_attn.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
        for theirs, own in pairs.items():
            theirs.weight.copy_(own.weight)
            theirs.bias.copy_(own.bias)
    peer.train()  # torch's own quick path in eval rounds differently
    X, lengths = torch.randn(3, 5, 8, dtype=F64), torch.tensor([5, 2, 4])
    here = torch.arange(5) < lengths[:, None]
    wanted = peer(X, src_key_padding_mask=~here)
    if first:  # the last norm is not part of torch's layer
        wanted = ours.stack.last_norm(wanted)
    found, _ = ours(X, lengths)
    torch.testing.assert_close(found[here], wanted[here], atol=1e-11, rtol=0)
    assert (found[~here] == 0).all()


def test_encoder_without_positions_is_equivariant():
    encoder = stirred(
        nn.TransformerEncoder(8, 2, 2, options=nn.BlockOptions(positions=None))
    )
    X, swap = torch.randn(2, 6, 8, dtype=F64), torch.randperm(6)
    torch.testing.assert_close(encoder(X[:, swap])[0], encoder(X)[0][:, swap])


def test_encoder_with_positions_sees_order(options):
    encoder = stirred(nn.TransformerEncoder(8, 2, 2, options=options))
    X = torch.randn(1, 6, 8, dtype=F64)
    swap = torch.tensor([1, 0, 2, 3, 4, 5])
    assert not torch.allclose(encoder(X[:, swap])[0], encoder(X)[0][:, swap], atol=1e-3)


def test_padding_changes_nothing(options):
    encoder = stirred(nn.TransformerEncoder(8, 2, 2, options=options))
    X, lengths = torch.randn(3, 6, 8, dtype=F64), torch.tensor([6, 1, 4])
    Y, _ = encoder(X, lengths)
    for i, n in enumerate(lengths):
        alone, _ = encoder(X[i : i + 1, :n])
        torch.testing.assert_close(Y[i, :n], alone[0], atol=1e-12, rtol=0)
        X[i, n:] = 1e9
    assert torch.equal(encoder(X, lengths)[0], Y)  # bit by bit


def test_causal_encoder(options):
    encoder = stirred(nn.TransformerEncoder(8, 2, 2, options=options, causal=True))
    X = torch.randn(2, 6, 8, dtype=F64, requires_grad=True)
    Y, _ = encoder(X)
    (g,) = torch.autograd.grad(Y[:, 2].sum(), X)
    assert (g[:, 3:] == 0).all() and (g[:, :3] != 0).any()
    other = X.detach().clone()
    other[:, 4] += 3
    assert torch.equal(encoder(other)[0][:, :4], Y[:, :4])
    for pieces in ([1] * 6, [3, 3], [5, 1]):
        state, parts = None, []
        for piece in X.split(pieces, 1):
            out, state = encoder(piece, state=state)
            parts.append(out)
        torch.testing.assert_close(torch.cat(parts, 1), Y, atol=1e-12, rtol=0)
    y, _ = encoder.step(X[:, 0], encoder.init_state(2))
    torch.testing.assert_close(y, Y[:, 0], atol=1e-12, rtol=0)


def test_two_way_encoder_has_no_state():
    encoder = nn.TransformerEncoder(8, 2, 1)
    X = torch.zeros(1, 2, 8)
    assert encoder(X)[1] is None
    with pytest.raises(ValueError, match="only a causal encoder"):
        encoder(X, state=())


def test_modern_block_begins_as_the_identity():
    encoder = nn.TransformerEncoder(8, 2, 3, options=nn.MODERN)
    X = torch.randn(1, 4, 8)
    block = encoder.stack.blocks[0]
    assert torch.equal(block(X)[0], X)


def test_feed_forward_maps():
    x = torch.tensor([[-1.0, 2.0]])
    for kind, wanted in {"relu": 2.0, "relu2": 4.0}.items():
        layer = FeedForward(2, 2, kind, bias=False)
        with torch.no_grad():
            layer.W_1.weight.copy_(torch.eye(2))
            layer.W_2.weight.copy_(torch.ones(2, 2))
        assert layer(x)[0].tolist() == [wanted, wanted]
    gate = FeedForward(2, 2, "swiglu", bias=False)
    with torch.no_grad():
        for w in (gate.W_1, gate.W_2, gate.W_3):
            w.weight.copy_(torch.eye(2))
    silu = torch.nn.functional.silu(x) * x
    torch.testing.assert_close(gate(x), silu)


def test_decoder_is_causal_and_cached(options):
    decoder = stirred(nn.TransformerDecoder(8, 2, 2, options=options))
    memory, lengths = torch.randn(2, 5, 8, dtype=F64), torch.tensor([5, 3])
    start = decoder.init_state(memory, lengths)
    X = torch.randn(2, 6, 8, dtype=F64)
    Y, _ = decoder(X, start)
    for pieces in ([1] * 6, [4, 2]):
        state, parts = start, []
        for piece in X.split(pieces, 1):
            out, state = decoder(piece, state)
            parts.append(out)
        torch.testing.assert_close(torch.cat(parts, 1), Y, atol=1e-12, rtol=0)
    other = X.clone()
    other[:, 4] += 3
    assert torch.equal(decoder(other, start)[0][:, :4], Y[:, :4])
    memory[1, 3:] = float("nan")  # behind the end of the memory
    assert torch.equal(decoder(X, decoder.init_state(memory, lengths))[0], Y)


def test_full_model_gives_probabilities(options):
    """E32: positions, layers with memory, softmax on the last axis; rows sum to 1."""
    model = stirred(nn.Transformer(7, 9, 8, 2, 2, options=options))
    source = torch.randint(0, 7, (2, 5))
    target = torch.randint(0, 9, (2, 4))
    P = model(source, target, torch.tensor([5, 2])).softmax(-1)
    assert P.shape == (2, 4, 9)
    torch.testing.assert_close(P.sum(-1), torch.ones(2, 4, dtype=F64))


def test_loss_of_two_lengths_is_the_weighted_mean_of_singles():
    model = stirred(nn.Transformer(7, 7, 8, 2, 1))
    source, target = torch.randint(0, 7, (2, 5)), torch.randint(0, 7, (2, 6))
    sl, tl = torch.tensor([5, 3]), torch.tensor([6, 3])
    both = model.losses((source, sl, target, tl))["loss"]
    singles = []
    for i in range(2):
        s, t = source[i : i + 1, : sl[i]], target[i : i + 1, : tl[i]]
        singles.append(model.losses((s, sl[i : i + 1], t, tl[i : i + 1]))["loss"])
    wanted = (5 * singles[0] + 2 * singles[1]) / 7  # tokens that are predicted
    torch.testing.assert_close(both, wanted)
    assert model.batch_weight((source, sl, target, tl)) == 7


def test_loss_is_float32_and_ignores_what_is_padding():
    logits = torch.randn(1, 3, 5, dtype=torch.bfloat16)
    tokens = torch.tensor([[1, 2, 3]])
    mask = torch.tensor([[True, True, False]])
    loss = token_loss(logits, tokens, mask)
    assert loss.dtype == torch.float32
    logits[:, 2] = float("nan")
    assert torch.equal(token_loss(logits, tokens, mask), loss)
    torch.testing.assert_close(loss, token_loss(logits[:, :2], tokens[:, :2]))
    assert float(token_loss(logits, tokens, torch.zeros(1, 3, dtype=torch.bool))) == 0


def test_bad_options_are_named():
    for bad in ({"feed_forward": "sine"}, {"positions": "none"}, {"norm": "batch"}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            nn.BlockOptions(**bad)


def test_saved_encoder(tmp_path):
    encoder = nn.TransformerEncoder(8, 2, 1).eval()
    persist.save(encoder, tmp_path / "net")
    X = torch.randn(1, 3, 8)
    assert torch.equal(persist.load(tmp_path / "net")(X)[0], encoder(X)[0])


def test_learns_to_copy_a_short_sequence(rng):
    """Source of 3 to 5 symbols; target: begin, the same symbols, end."""
    begin, end, n = 0, 1, 256

    def draw(n):
        lengths = rng.integers(3, 6, n)
        source = rng.integers(2, 8, (n, 5))
        target = np.full((n, 7), end)
        target[:, 0] = begin
        for i, k in enumerate(lengths):
            target[i, 1 : k + 1] = source[i, :k]
        return source, lengths, target, lengths + 2

    model = nn.Transformer(8, 8, d=32, heads=2, layers=1)
    options = {"batch_size": 64, "optimiser": nn.Adam(1e-2), "device": "cpu"}
    data = tuple(map(torch.as_tensor, draw(n)))
    schedule = nn.schedules.warmup_cosine(20)
    nn.train(model, data, epochs=40, seed=0, schedule=schedule, **options)
    source, lengths, target, _ = map(torch.as_tensor, draw(40))
    state = model.init_state(source, lengths)
    first = torch.full((40, 1), begin)
    found = nn.decode(model.advance, first, state, max_new=6, temperature=0, end=end)
    wanted = target[:, 1 : found.shape[1] + 1]
    assert float((found == wanted).all(1).double().mean()) > 0.9


def test_segments_of_a_row_do_not_see_each_other(options):
    net = stirred(nn.TransformerEncoder(8, 2, 2, options=options, causal=True)).eval()
    X = torch.randn(1, 9, 8, dtype=F64)
    segments = torch.tensor([[0, 0, 0, 0, 1, 1, 1, 2, 2]])
    whole, _ = net(X, segments=segments)
    changed = X.clone()
    changed[:, 1:4] = torch.randn(3, 8, dtype=F64)
    other, _ = net(changed, segments=segments)
    assert torch.equal(other[:, 4:], whole[:, 4:])
    assert not torch.allclose(other[:, 3], whole[:, 3])
    first, _ = net(X[:, :4])  # the first has the positions of a sequence of its own
    torch.testing.assert_close(whole[:, :4], first, atol=1e-10, rtol=0)
    both = nn.TransformerEncoder(8, 2, 1, options=options)
    both = stirred(both).eval()
    one, _ = both(X, segments=segments)
    two, _ = both(changed, segments=segments)
    assert torch.equal(two[:, 4:], one[:, 4:])
