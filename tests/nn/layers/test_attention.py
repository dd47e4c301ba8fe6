"""Attention: similarities, masks bit by bit, back-ends that agree, heads, caches."""

import math

import pytest

torch = pytest.importorskip("torch")

from pansophy import nn  # noqa: E402
from pansophy.nn.layers.attention import (  # noqa: E402
    BACKENDS,
    BLOCK,
    masked_softmax,
    scaled_dot_similarity,
)

F64 = torch.float64


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.fixture(params=[name for name in BACKENDS if name != "fused"])
def backend(request):
    return request.param


def qkv(*batch, L=7, S=7, d=4, e=3, dtype=F64):
    shape = [(*batch, L, d), (*batch, S, d), (*batch, S, e)]
    return [torch.randn(s, dtype=dtype, requires_grad=True) for s in shape]


def masks(L, S):
    some = torch.rand(2, 1, L, S) > 0.4
    some[:, :, L // 2] = False  # a query without keys
    padding = torch.ones(2, 1, 1, S, dtype=torch.bool)
    padding[1, ..., S // 2 :] = False
    none = torch.zeros(2, 1, 1, S, dtype=torch.bool)
    return [
        {},
        {"causal": True},
        {"mask": some},
        {"mask": some, "causal": True},
        {"mask": padding},
        {"mask": padding, "causal": True},
        {"mask": none},
    ]


@pytest.mark.parametrize(("L", "S"), [(7, 7), (3, 8), (1, 5), (BLOCK + 9, 2 * BLOCK)])
@pytest.mark.parametrize("case", range(7))
def test_backends_agree(backend, case, L, S):
    """Values and gradients, for every kind of mask, also across blocks."""
    options = masks(L, S)[case]
    q, k, v = qkv(2, 3, L=L, S=S)
    w = torch.randn(2, 3, L, 3, dtype=F64)
    found = []
    for name in ("plain", backend):
        y = nn.attend(q, k, v, backend=name, **options)
        found.append((y, *torch.autograd.grad((w * y).sum(), (q, k, v))))
    for a, b in zip(*found, strict=True):
        torch.testing.assert_close(a, b, atol=1e-11, rtol=1e-9)


@pytest.mark.parametrize(("L", "S"), [(7, 7), (3, 8), (1, 5)])
@pytest.mark.parametrize("case", [0, 1, 4, 5])  # masks that leave every query a key
def test_fused_attention_agrees_where_nothing_is_to_guard(case, L, S):
    options = masks(L, S)[case]
    q, k, v = qkv(2, 3, L=L, S=S)
    y = nn.attend(q, k, v, backend="fused", **options)
    wanted = nn.attend(q, k, v, backend="plain", **options)
    torch.testing.assert_close(y, wanted, atol=1e-11, rtol=1e-9)


def test_weights_are_soft_retrieval():
    q, k, v = qkv()
    a = masked_softmax(scaled_dot_similarity(q, k))
    assert torch.allclose(a.sum(-1), torch.ones(7, dtype=F64))
    y = nn.attend(q, k, v)
    torch.testing.assert_close(y, a @ v)
    assert (y <= v.amax(0)).all() and (y >= v.amin(0)).all()  # in the hull of values
    sharp = nn.attend(1e4 * k, k, v)  # each key asks for itself
    i = (k @ k.T).argmax(-1)
    torch.testing.assert_close(sharp, v[i])


def test_masked_keys_have_no_effect_bit_by_bit(backend):
    q, k, v = qkv(2, 3)
    mask = torch.ones(2, 1, 7, 7, dtype=torch.bool)
    mask[:, :, :, 5:] = False
    mask[0, :, 2, 1] = False
    y = nn.attend(q, k, v, mask, backend=backend)
    grads = torch.autograd.grad(y.sum(), (q, k, v))
    for bad in (0.0, 1e30, math.nan, math.inf):
        k2, v2 = (a.detach().clone() for a in (k, v))
        k2[..., 5:, :], v2[..., 5:, :] = bad, bad
        k2.requires_grad_(), v2.requires_grad_()
        q2 = q.detach().clone().requires_grad_()
        z = nn.attend(q2, k2, v2, mask, backend=backend)
        assert torch.equal(z, y)
        for a, b in zip(torch.autograd.grad(z.sum(), (q2, k2, v2)), grads, strict=True):
            assert torch.equal(a, b)


def test_key_masked_for_one_query_only(backend):
    """Key 1 is hidden from query 2: NaN in it shows everywhere else."""
    q, k, v = qkv(1, 1)
    mask = torch.ones(1, 1, 7, 7, dtype=torch.bool)
    mask[..., 2, 1] = False
    y = nn.attend(q, k, v, mask, backend=backend)
    v2 = v.detach().clone()
    v2[..., 1, :] = math.nan
    z = nn.attend(q, k, v2, mask, backend=backend)
    assert torch.equal(z[..., 2, :], y[..., 2, :])
    assert z[..., [0, 1, 3, 4, 5, 6], :].isnan().all()


def test_causal_by_perturbation_and_exact_zero_gradients(backend):
    q, k, v = qkv(1, 2)
    y = nn.attend(q, k, v, causal=True, backend=backend)
    gk, gv = torch.autograd.grad(y[..., 3, :].sum(), (k, v))
    assert (gk[..., 4:, :] == 0).all() and (gv[..., 4:, :] == 0).all()
    assert (gv[..., :4, :] != 0).all()
    for bad in (7.0, math.nan):
        k2, v2 = (a.detach().clone() for a in (k, v))
        k2[..., 4, :], v2[..., 4, :] = bad, bad
        z = nn.attend(q, k2, v2, causal=True, backend=backend)
        assert torch.equal(z[..., :4, :], y[..., :4, :])
        assert not torch.equal(z[..., 4:, :], y[..., 4:, :])
    prefix = nn.attend(
        q[..., :4, :], k[..., :4, :], v[..., :4, :], causal=True, backend=backend
    )
    torch.testing.assert_close(prefix, y[..., :4, :], atol=1e-14, rtol=0)


def test_query_without_keys_gives_zero_and_zero_gradient(backend):
    for dtype in (torch.float32, F64):
        q, k, v = qkv(2, 2, dtype=dtype)
        mask = torch.ones(2, 1, 7, 7, dtype=torch.bool)
        mask[0, :, 3] = False
        y = nn.attend(q, k, v, mask, backend=backend)
        assert (y[0, :, 3] == 0).all() and (y[1, :, 3] != 0).all()
        grads = torch.autograd.grad(y[0, :, 3].sum(), (q, k, v), retain_graph=True)
        assert all((g == 0).all() for g in grads)
        assert all(g.isfinite().all() for g in torch.autograd.grad(y.sum(), (q, k, v)))


def test_queries_after_a_past_see_all_of_it(backend):
    """With L < S the last query stands at the last key, not the first at the first."""
    q, k, v = qkv(1, 1)
    whole = nn.attend(q, k, v, causal=True, backend=backend)
    part = nn.attend(q[..., 4:, :], k, v, causal=True, backend=backend)
    torch.testing.assert_close(part, whole[..., 4:, :], atol=1e-14, rtol=0)


def test_bad_masks_are_named():
    q, k, v = qkv()
    with pytest.raises(ValueError, match="must be boolean, True where"):
        nn.attend(q, k, v, torch.zeros(7, 7))
    with pytest.raises(ValueError, match="backend must be one of"):
        nn.attend(q, k, v, backend="flash")
    with pytest.raises(ValueError, match="a key for each of the 7"):
        nn.attend(q, k[:3], v[:3], causal=True)


# -- similarities ------------------------------------------------------------------


def test_bilinear_with_identity_is_dot():
    q, k, _ = qkv()
    S = nn.SIMILARITIES
    eye = torch.eye(4, dtype=F64)
    torch.testing.assert_close(S["bilinear"](q, k, eye), S["dot"](q, k))
    torch.testing.assert_close(S["scaled"](q, k), S["dot"](q, k) / 2)


def test_scaled_dot_has_unit_variance():
    q, k = torch.randn(400, 64), torch.randn(400, 64)
    assert float(scaled_dot_similarity(q, k).var()) == pytest.approx(1.0, rel=0.05)


def test_printed_additive_form_ignores_the_query():
    q, k, _ = qkv()
    w_q, w_k = torch.randn(4, dtype=F64), torch.randn(4, dtype=F64)
    a = masked_softmax(nn.SIMILARITIES["linear"](q, k, w_q, w_k))
    torch.testing.assert_close(a, a[:1].expand_as(a), atol=1e-14, rtol=0)
    W = [torch.randn(5, 4, dtype=F64) for _ in range(2)]
    b = masked_softmax(nn.SIMILARITIES["additive"](q, k, *W, torch.randn(5, dtype=F64)))
    assert not torch.allclose(b, b[:1].expand_as(b), atol=1e-3)


def test_additive_similarity_by_hand():
    q, k = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.0, 2.0]])
    W_q, W_k = torch.eye(2), 0.5 * torch.eye(2)
    found = nn.SIMILARITIES["additive"](q, k, W_q, W_k, torch.tensor([1.0, -1.0]))
    assert float(found) == pytest.approx(math.tanh(1) - math.tanh(1), abs=1e-7)


@pytest.mark.parametrize("similarity", nn.SIMILARITIES)
def test_self_attention_is_equivariant_and_cross_with_itself(similarity):
    layer = nn.SelfAttention(4, 6, similarity=similarity).double()
    X = torch.randn(5, 4, dtype=F64)
    swap = torch.randperm(5)
    torch.testing.assert_close(layer(X[swap]), layer(X)[swap])
    torch.testing.assert_close(layer(X), layer.attention(X, X))
    a = layer.attention_weights(X)
    torch.testing.assert_close(a.sum(-1), torch.ones(5, dtype=F64))
    torch.testing.assert_close(layer(X), a @ layer.attention.W_v(X))


# -- heads -------------------------------------------------------------------------


@pytest.mark.parametrize("similarity", nn.SIMILARITIES)
def test_masked_steps_have_no_effect_for_any_similarity(similarity):
    layer = nn.SelfAttention(4, similarity=similarity)
    X = torch.randn(2, 5, 4)
    mask = torch.ones(2, 5, 5, dtype=torch.bool)
    mask[..., 3:] = False
    y = layer(X, mask)
    for bad in (9.0, math.nan, math.inf):
        other = X.clone()
        other[:, 3:] = bad
        assert torch.equal(layer(other, mask)[:, :3], y[:, :3])
    X[:, 1] = math.nan  # a step that is not masked
    assert layer(X, mask).isnan().all()


GRADIENT_CASES = {
    **{
        f"cross, {name}": (lambda name=name: nn.CrossAttention(4, similarity=name))
        for name in nn.SIMILARITIES
    },
    "heads": lambda: nn.MultiHeadAttention(4, 2),
    "heads, queries and keys normed": lambda: nn.MultiHeadAttention(
        4, 2, qk_norm=True, backend="blockwise"
    ),
    "heads, plain": lambda: nn.MultiHeadAttention(4, 2, backend="plain"),
    "layer norm": lambda: nn.LayerNorm(4),
    "rms norm": lambda: nn.RMSNorm(4),
    "residual": lambda: nn.Residual(torch.nn.Linear(4, 4)),
}


@pytest.mark.parametrize("name", GRADIENT_CASES)
def test_gradients_against_differences(name):
    """In the input and every parameter; attention with a mask, and causal."""
    layer = GRADIENT_CASES[name]().double()
    X = torch.randn(2, 3, 4, dtype=F64, requires_grad=True)
    memory = torch.randn(2, 5, 4, dtype=F64, requires_grad=True)
    mask = torch.rand(2, 3, 5) > 0.3
    names = [n for n, _ in layer.named_parameters()]
    values = [p.detach().clone().requires_grad_() for p in layer.parameters()]

    def run(X, memory, *values):
        call = lambda *a, **k: torch.func.functional_call(
            layer, dict(zip(names, values, strict=True)), a, k
        )
        if name.startswith("cross"):
            return call(X, memory, mask)
        if name.startswith("heads"):
            return call(X, memory, mask)[0], call(X, causal=True)[0]
        return call(X)

    assert torch.autograd.gradcheck(run, (X, memory, *values))


def test_layer_norm_gradient_by_hand():
    """With z = (x - m) / s: dx = (g - mean(g) - z mean(g z)) / s, row by row."""
    X = torch.randn(3, 6, dtype=F64, requires_grad=True)
    g = torch.randn(3, 6, dtype=F64)
    (found,) = torch.autograd.grad(nn.LayerNorm(6).double()(X), X, g)
    s = (X.var(-1, unbiased=False, keepdim=True) + 1e-5).sqrt()
    z = (X - X.mean(-1, keepdim=True)) / s
    wanted = (g - g.mean(-1, keepdim=True) - z * (g * z).mean(-1, keepdim=True)) / s
    torch.testing.assert_close(found, wanted.detach(), atol=1e-9, rtol=1e-7)


def test_attention_gradient_by_hand():
    """With a = softmax(e): dv = a'g, de = a (g v' - its mean under a), eq. (1)."""
    q, k, v = qkv()
    g = torch.randn(7, 3, dtype=F64)
    found = torch.autograd.grad(nn.attend(q, k, v), (q, k, v), g)
    a = (q @ k.T / 2).softmax(-1)
    da = g @ v.T
    de = a * (da - (a * da).sum(-1, keepdim=True)) / 2  # 2 is the root of d = 4
    for ours, wanted in zip(found, (de @ k, de.T @ q, a.T @ g), strict=True):
        torch.testing.assert_close(ours, wanted.detach())


def test_one_head_is_plain_attention():
    heads = nn.MultiHeadAttention(4, 1, bias=False).double()
    one = nn.CrossAttention(4).double()
    with torch.no_grad():
        for name in ("W_q", "W_k", "W_v"):
            getattr(one, name).weight.copy_(getattr(heads, name).weight)
        heads.W_o.weight.copy_(torch.eye(4))
    X, M = torch.randn(2, 5, 4, dtype=F64), torch.randn(2, 3, 4, dtype=F64)
    torch.testing.assert_close(heads(X, M)[0], one(X, M))
    torch.testing.assert_close(heads(X)[0], heads(X, X)[0])  # memory = X


@pytest.mark.parametrize("causal", [False, True])
def test_parity_with_torch_heads(causal):
    ours = nn.MultiHeadAttention(8, 2).double()
    peer = torch.nn.MultiheadAttention(8, 2, batch_first=True, dtype=F64)
    with torch.no_grad():
        parts = [ours.W_q, ours.W_k, ours.W_v]
        peer.in_proj_weight.copy_(torch.cat([p.weight for p in parts]))
        peer.in_proj_bias.copy_(torch.cat([p.bias for p in parts]))
        peer.out_proj.weight.copy_(ours.W_o.weight)
        peer.out_proj.bias.copy_(ours.W_o.bias)
    X = torch.randn(3, 5, 8, dtype=F64)
    lengths = torch.tensor([5, 3, 4])
    here = torch.arange(5) < lengths[:, None]
    drop = ~nn.causal_mask(5, 5) if causal else None  # torch: True drops
    wanted, a = peer(
        X, X, X, key_padding_mask=~here, attn_mask=drop, average_attn_weights=False
    )
    found, _ = ours(X, mask=here[:, None], causal=causal)
    torch.testing.assert_close(found, wanted, atol=1e-12, rtol=0)
    b = ours.attention_weights(X, mask=here[:, None], causal=causal)
    torch.testing.assert_close(b, a, atol=1e-12, rtol=0)


@pytest.mark.parametrize("options", [{}, {"qk_norm": True, "rotary": nn.Rotary(4)}])
@pytest.mark.parametrize("pieces", [[1] * 6, [4, 2], [1, 5], [6]])
def test_cached_pieces_are_one_pass(options, pieces):
    layer = nn.MultiHeadAttention(8, 2, **options).double()
    X = torch.randn(2, 6, 8, dtype=F64)
    whole, full = layer(X, causal=True)
    state, parts = None, []
    for piece in X.split(pieces, 1):
        Y, state = layer(piece, causal=True, state=state)
        parts.append(Y)
    torch.testing.assert_close(torch.cat(parts, 1), whole, atol=1e-12, rtol=0)
    torch.testing.assert_close(state.k, full.k, atol=1e-12, rtol=0)
    assert state.length == 6


def test_heads_must_divide():
    with pytest.raises(ValueError, match="heads must divide d=6, got 4"):
        nn.MultiHeadAttention(6, 4)


# -- norms and residual links ------------------------------------------------------


def test_norms():
    X = 3 + 5 * torch.randn(4, 16, dtype=F64)
    Y = nn.LayerNorm(16).double()(X).detach()
    assert Y.mean(-1).abs().max() < 1e-12
    assert (Y.var(-1, unbiased=False) - 1).abs().max() < 1e-5
    Z = nn.RMSNorm(16).double()(X).detach()
    assert (Z.square().mean(-1) - 1).abs().max() < 1e-5
    torch.testing.assert_close(nn.RMSNorm(16, gain=False)(X), Z)
    torch.testing.assert_close(nn.RMSNorm(16, gain=False)(7 * X), Z, atol=1e-5, rtol=0)


def test_residual_has_an_identity_path():
    x = torch.randn(3, requires_grad=True)
    zero = nn.Residual(lambda z: 0 * z)
    assert torch.equal(zero(x), x)
    (g,) = torch.autograd.grad(nn.Residual(lambda z: z.detach() ** 2)(x).sum(), x)
    assert torch.equal(g, torch.ones(3))


def saved_bytes(backend, L):
    """Bytes that autograd keeps for one attention of length L."""
    q, k, v = qkv(1, 1, L=L, S=L, d=8, e=8, dtype=torch.float32)
    kept = {}

    def pack(t):
        kept[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        nn.attend(q, k, v, causal=True, backend=backend)
    return sum(kept.values())


def test_memory_of_the_backward_pass_is_linear_in_the_length():
    for name in ("blockwise", "torch"):
        small, large = saved_bytes(name, 512), saved_bytes(name, 2048)
        assert large < 4.5 * small
    assert saved_bytes("plain", 2048) > 12 * saved_bytes("plain", 512)
