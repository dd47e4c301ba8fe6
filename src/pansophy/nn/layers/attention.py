"""Attention: soft retrieval of values by the similarity of their keys to a query.

    a_ij = exp(e_ij) / sum_k exp(e_ik),   y_i = sum_j a_ij v_j                    (1)

with e_ij = sim(q_i, k_j), and sums over the keys that query i may see. Similarities:

    dot q'k;  scaled q'k / sqrt(d);  bilinear q'W k;  additive u'tanh(W_q q + W_k k);
    linear w_q'q + w_k'k                                                          (2)

"linear" is the additive form as some notes print it: w_q'q is the same for all keys of
a query, so that it cancels in (1) and the weights do not depend on q. It is here to be
looked at, not to be used.

A mask is True where a query may see a key. What is masked has no effect, whatever it
holds: a change of a masked key changes no bit of the answer, and neither do NaN or
infinity. A query that may see no key gets 0, and gradients of 0.

`attend` computes (1) for scaled dots by one of four back-ends that agree:

    plain      the matrix of weights, O(L S) memory
    blockwise  blocks of keys, with running maxima m and sums z of each query:
               m' = max(m, max_j e_ij),  z' = z e^(m-m') + sum_j e^(e_ij-m'),
               y' = y e^(m-m') + sum_j e^(e_ij-m') v_j                            (3)
               and weights made again in the backward pass: O(L + S) memory
    torch      torch's fused attention
    fused      the same without a guard against NaN in masked keys and queries without
               keys: for nets that have neither, where the guard costs time

With P = a, dP = dy v' and r_i = sum_j P_ij dP_ij = dy_i'y_i the backward pass is

    dv = P'dy,   de = P (dP - r),   dq = de k / sqrt(d),   dk = de' q / sqrt(d)   (4)

Cost      O(L S d)
Shapes    q (..., L, d)   k (..., S, d)   v (..., S, e)   mask (..., L, S)
Refs      [Bahdanau2015] additive; [Vaswani2017] scaled, heads; [Rabe2021] (3);
          [Dao2022] (4)
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

BLOCK = 256  # keys, and queries, of a block


# -- similarities, eq. (2) ---------------------------------------------------------


def _dot_similarity(q, k):
    """q'k of every query and key, (..., L, S)."""
    return q @ k.mT


def scaled_dot_similarity(q, k):
    """q'k / sqrt(d): variance 1 for independent entries of variance 1."""
    return q @ k.mT / math.sqrt(q.shape[-1])


def _bilinear_similarity(q, k, W):
    """q'W k, W (d_q, d_k)."""
    return q @ W @ k.mT


def _additive_similarity(q, k, W_q, W_k, u):
    """u'tanh(W_q q + W_k k), W_q (m, d_q), W_k (m, d_k), u (m,)."""
    return torch.tanh((q @ W_q.mT)[..., :, None, :] + (k @ W_k.mT)[..., None, :, :]) @ u


def _linear_similarity(q, k, w_q, w_k):
    """w_q'q + w_k'k, the printed additive form: its softmax does not depend on q."""
    return (q @ w_q)[..., :, None] + (k @ w_k)[..., None, :]


SIMILARITIES = {
    "dot": _dot_similarity,
    "scaled": scaled_dot_similarity,
    "bilinear": _bilinear_similarity,
    "additive": _additive_similarity,
    "linear": _linear_similarity,
}


# -- masks -------------------------------------------------------------------------


def causal_mask(L: int, S: int, device=None) -> Tensor:
    """True where key j is not later than query i, (L, S); the last are aligned.

    With S > L the first S - L keys are a past that every query may see.
    """
    query_places = torch.arange(S - L, S, device=device)
    return torch.arange(S, device=device) <= query_places[:, None]


def _joint_mask(L, S, mask, causal, device) -> Tensor | None:
    """The mask of both, or None if every query may see every key."""
    if not causal:
        return mask
    ordered = causal_mask(L, S, device)
    return ordered if mask is None else mask & ordered


def masked_softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    """Weights of eq. (1) over the last dimension; 0 for a row without keys."""
    if mask is None:
        return scores.softmax(-1)
    scores = scores.masked_fill(~mask, -math.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = torch.where(top > -math.inf, top, 0.0)
    weights = torch.exp(scores - top)
    total = weights.sum(-1, keepdim=True)
    return weights / torch.where(total > 0, total, 1.0)


class Cleaned(NamedTuple):
    """Keys and values without NaN or infinity, and the queries that would see some."""

    k: Tensor
    v: Tensor
    seen: Tensor | None  # (..., L, 1), True where the answer is NaN


def _clean_masked(q, k, v, mask, causal) -> Cleaned:
    """Keys and values in which what is not finite has no effect where it is masked.

    0 * NaN is NaN: a weight of 0 would not keep it out of the sum over keys, nor out
    of gradients. So it is replaced by 0, and queries that do see it get NaN.
    """
    bad = ~(torch.isfinite(k).all(-1) & torch.isfinite(v).all(-1))  # (..., S)
    k = k.masked_fill(bad[..., None], 0.0)
    v = v.masked_fill(bad[..., None], 0.0)
    L, S = q.shape[-2], k.shape[-2]
    if mask is None and causal:  # any bad key up to the query's own place
        seen = bad.cummax(-1).values[..., S - L :]
    elif mask.shape[-2] == 1 and not causal:
        seen = (mask & bad[..., None, :]).any(-1).expand(*bad.shape[:-1], L)
    else:
        allowed = _joint_mask(L, S, mask, causal, q.device)
        seen = (allowed & bad[..., None, :]).any(-1)
    return Cleaned(k, v, seen[..., None])


# -- back-ends ---------------------------------------------------------------------


def _plain_attention(q, k, v, mask, causal):
    """Eq. (1) with the matrix of weights."""
    mask = _joint_mask(q.shape[-2], k.shape[-2], mask, causal, q.device)
    return masked_softmax(scaled_dot_similarity(q, k), mask) @ v


def _torch_attention(q, k, v, mask, causal):
    """Torch's fused attention; queries without keys are left to `masked_softmax`."""
    L, S = q.shape[-2], k.shape[-2]
    if mask is None and (not causal or L == S or L == 1):
        return functional.scaled_dot_product_attention(
            q, k, v, is_causal=causal and L > 1
        )
    mask = _joint_mask(L, S, mask, causal, q.device)
    assert mask is not None  # one of the two is given
    alive = mask.any(-1, keepdim=True)
    # a query without keys sees all of them and is put to 0 afterwards: torch's
    # kernels differ in what they answer, and some answer NaN
    y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~alive)
    return torch.where(alive, y, 0.0)


class BlockwiseAttention(torch.autograd.Function):
    """Eq. (3) forwards and (4) backwards, block by block; q is already scaled."""

    @staticmethod
    def forward(ctx, q, k, v, mask, causal):
        L, S = q.shape[-2], k.shape[-2]
        y = q.new_zeros((*q.shape[:-1], v.shape[-1]))
        log_z = q.new_full((*q.shape[:-1], 1), math.inf)  # log sum_k exp(e_ik)
        for i in range(0, L, BLOCK):
            rows = slice(i, min(i + BLOCK, L))
            m = q.new_full((*q.shape[:-2], rows.stop - i, 1), -math.inf)
            z, weighted_sum = torch.zeros_like(m), torch.zeros_like(y[..., rows, :])
            for columns in _key_blocks(rows, L, S, causal):
                e = _blockwise_scores(q, k, rows, columns, mask, causal, L, S)
                new = torch.maximum(m, e.amax(-1, keepdim=True))
                safe = torch.where(new > -math.inf, new, 0.0)
                fall = torch.exp(m - safe)
                P = torch.exp(e - safe)
                z = z * fall + P.sum(-1, keepdim=True)
                weighted_sum = weighted_sum * fall + P @ v[..., columns, :]
                m = new
            y[..., rows, :] = weighted_sum / torch.where(z > 0, z, 1.0)
            log_z[..., rows, :] = torch.where(z > 0, m + torch.log(z), math.inf)
        ctx.save_for_backward(q, k, v, mask, y, log_z)
        ctx.causal = causal
        return y

    @staticmethod
    def backward(ctx, dy):
        q, k, v, mask, y, log_z = ctx.saved_tensors
        L, S = q.shape[-2], k.shape[-2]
        dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
        r = (dy * y).sum(-1, keepdim=True)
        for i in range(0, L, BLOCK):
            rows = slice(i, min(i + BLOCK, L))
            for columns in _key_blocks(rows, L, S, ctx.causal):
                e = _blockwise_scores(q, k, rows, columns, mask, ctx.causal, L, S)
                P = torch.exp(e - log_z[..., rows, :])
                dv[..., columns, :] += P.mT @ dy[..., rows, :]
                dP = dy[..., rows, :] @ v[..., columns, :].mT
                de = P * (dP - r[..., rows, :])  # (4)
                dq[..., rows, :] += de @ k[..., columns, :]
                dk[..., columns, :] += de.mT @ q[..., rows, :]
        return dq, dk, dv, None, None


def _key_blocks(rows, L, S, causal):
    """Blocks of keys that some query of these rows may see."""
    last = min(S, rows.stop + S - L) if causal else S
    return [slice(j, min(j + BLOCK, last)) for j in range(0, last, BLOCK)]


def _blockwise_scores(q, k, rows, columns, mask, causal, L, S):
    """Masked scores of a block of queries and keys."""
    e = q[..., rows, :] @ k[..., columns, :].mT
    if mask is not None:
        part = mask if mask.shape[-2] == 1 else mask[..., rows, :]
        e = e.masked_fill(~part[..., columns], -math.inf)
    if causal and columns.stop - 1 > rows.start + S - L:
        t = torch.arange(rows.start, rows.stop, device=q.device)[:, None] + (S - L)
        j = torch.arange(columns.start, columns.stop, device=q.device)
        e = e.masked_fill(j > t, -math.inf)
    return e


def _blockwise_attention(q, k, v, mask, causal):
    """Eq. (3): memory linear in the length, forwards and backwards."""
    batch = torch.broadcast_shapes(q.shape[:-2], k.shape[:-2], v.shape[:-2])
    q, k, v = (a.expand(*batch, *a.shape[-2:]) for a in (q, k, v))
    scaled = q / math.sqrt(q.shape[-1])
    return BlockwiseAttention.apply(scaled, k, v, mask, causal)


def _fused_attention(q, k, v, mask, causal):
    """Torch's kernels as they are: every query must see a key, keys be finite."""
    L, S = q.shape[-2], k.shape[-2]
    if mask is None and (not causal or L == S or L == 1):
        causal = causal and L > 1
        return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    mask = _joint_mask(L, S, mask, causal, q.device)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


BACKENDS = {
    "plain": _plain_attention,
    "blockwise": _blockwise_attention,
    "torch": _torch_attention,
    "fused": _fused_attention,
}


def attend(q, k, v, mask=None, *, causal=False, backend="torch") -> Tensor:
    """Scaled dot-product attention, eq. (1): the answer y (..., L, e).

    Parameters
    ----------
    q : tensor of shape (..., L, d)
    k : tensor of shape (..., S, d)
    v : tensor of shape (..., S, e)
    mask : boolean tensor that broadcasts to (..., L, S), or None
        True where a query may see a key.
    causal : bool, default=False
        Query i sees no key later than itself; the last query stands at the last key.
    backend : {"torch", "blockwise", "plain", "fused"}, default="torch"
        They agree up to rounding.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> q = k = v = torch.eye(2)
    >>> nn.attend(q, k, v, causal=True)[0]
    tensor([1., 0.])
    >>> nn.attend(q, k, v, mask=torch.zeros(2, 2, dtype=torch.bool)).abs().max()
    tensor(0.)
    """
    if backend not in BACKENDS:
        raise ValueError(
            f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}."
        )
    if mask is not None:
        if mask.dtype != torch.bool:
            raise ValueError(
                "mask must be boolean, True where a query may see a key; got "
                f"{mask.dtype}."
            )
        mask = mask[None] if mask.ndim == 1 else mask
    if causal and k.shape[-2] < q.shape[-2]:
        raise ValueError(
            f"causal attention needs a key for each of the {q.shape[-2]} queries, got "
            f"{k.shape[-2]} keys."
        )
    if backend == "fused" or (mask is None and not causal):
        return BACKENDS[backend](q, k, v, mask, causal)
    k, v, seen = _clean_masked(q, k, v, mask, causal)
    y = BACKENDS[backend](q, k, v, mask, causal)
    return y.masked_fill(seen, math.nan)


# -- layers ------------------------------------------------------------------------


class CrossAttention(nn.Module):
    """Queries from one sequence, keys and values from another: one head, eq. (1).

    Parameters
    ----------
    d : int
        Columns of the queries' sequence, and of the answer.
    d_memory : int or None
        Columns of the other; None is d.
    d_key : int or None
        Columns of queries and keys; None is d.
    similarity : {"scaled", "dot", "bilinear", "additive", "linear"}

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> layer = nn.CrossAttention(4, d_memory=6)
    >>> layer(torch.zeros(2, 3, 4), torch.ones(2, 5, 6)).shape
    torch.Size([2, 3, 4])
    """

    def __init__(self, d, d_memory=None, d_key=None, *, similarity="scaled"):
        super().__init__()
        if similarity not in SIMILARITIES:
            raise ValueError(
                f"similarity must be one of {', '.join(SIMILARITIES)}, got "
                f"{similarity!r}."
            )
        m = d if d_key is None else d_key
        d_memory = d if d_memory is None else d_memory
        self.similarity = similarity
        self.W_q = nn.Linear(d, m, bias=False)
        self.W_k = nn.Linear(d_memory, m, bias=False)
        self.W_v = nn.Linear(d_memory, d, bias=False)
        draw = lambda *shape: nn.Parameter(torch.randn(shape) / math.sqrt(m))
        weights_of = {
            "bilinear": lambda: [draw(m, m)],
            "additive": lambda: [draw(m, m), draw(m, m), draw(m)],
            "linear": lambda: [draw(m), draw(m)],
        }
        self.weights = nn.ParameterList(weights_of.get(similarity, list)())

    def attention_weights(self, X, memory, mask=None) -> Tensor:
        """The weights a of eq. (1), (..., L, S)."""
        score = SIMILARITIES[self.similarity]
        e = score(self.W_q(X), self.W_k(memory), *self.weights)
        return masked_softmax(e, mask)

    def forward(self, X, memory, mask=None) -> Tensor:
        q = self.W_q(X)
        k = self.W_k(memory)
        v = self.W_v(memory)
        if self.similarity == "scaled":
            return attend(q, k, v, mask)
        score = SIMILARITIES[self.similarity]
        if mask is None:
            return masked_softmax(score(q, k, *self.weights)) @ v
        mask = mask[None] if mask.ndim == 1 else mask
        k, v, seen = _clean_masked(q, k, v, mask, False)
        y = masked_softmax(score(q, k, *self.weights), mask) @ v
        return y.masked_fill(seen, math.nan)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself: `CrossAttention` with memory = X.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> X, swap = torch.randn(3, 4), torch.tensor([1, 0, 2])
    >>> layer = nn.SelfAttention(4)
    >>> torch.allclose(layer(X)[swap], layer(X[swap]), atol=1e-6)
    True
    """

    def __init__(self, d, d_key=None, *, similarity="scaled"):
        super().__init__()
        self.attention = CrossAttention(d, d, d_key, similarity=similarity)

    def attention_weights(self, X, mask=None) -> Tensor:
        return self.attention.attention_weights(X, X, mask)

    def forward(self, X, mask=None) -> Tensor:
        return self.attention(X, X, mask)


class KeyValueCache(NamedTuple):
    """Keys and values of the steps so far: the state of attention while decoding."""

    k: Tensor  # (n, heads, S, d / heads)
    v: Tensor

    @property
    def length(self) -> int:
        return self.k.shape[2]

    def append(self, k, v) -> "KeyValueCache":
        """The cache with further steps."""
        return KeyValueCache(torch.cat([self.k, k], 2), torch.cat([self.v, v], 2))


class MultiHeadAttention(nn.Module):
    """Several heads in parallel: each attends in d / heads columns of its own.

    Parameters
    ----------
    d : int
    heads : int
    d_memory : int or None
        Columns of what keys and values are made of; None is d.
    bias : bool, default=True
    qk_norm : bool, default=False
        Scale queries and keys to unit root mean square, so that scores stay small.
    rotary : Rotary or None
        Rotates queries and keys by their positions, see `nn.layers.positions`.
    backend : str
        See `attend`.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> Y, cache = nn.MultiHeadAttention(8, 2)(torch.zeros(1, 3, 8), causal=True)
    >>> Y.shape, cache.length
    (torch.Size([1, 3, 8]), 3)
    """

    def __init__(
        self, d, heads=1, *, d_memory=None, bias=True, qk_norm=False, rotary=None,
        backend="torch",
    ):  # fmt: skip
        super().__init__()
        if d % heads:
            raise ValueError(f"heads must divide d={d}, got {heads}.")
        self.heads, self.qk_norm, self.backend = heads, qk_norm, backend
        self.rotary = rotary
        d_memory = d if d_memory is None else d_memory
        self.W_q = nn.Linear(d, d, bias=bias)
        self.W_k = nn.Linear(d_memory, d, bias=bias)
        self.W_v = nn.Linear(d_memory, d, bias=bias)
        self.W_o = nn.Linear(d, d, bias=bias)

    def split_heads(self, A: Tensor) -> Tensor:
        """(n, L, d) -> (n, heads, L, d / heads)."""
        return A.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_and_values(self, memory: Tensor, start: int = 0) -> KeyValueCache:
        """Keys and values of a memory whose first step has this position."""
        k = self.split_heads(self.W_k(memory))
        k = functional.rms_norm(k, k.shape[-1:]) if self.qk_norm else k
        k = k if self.rotary is None else self.rotary(k, start)
        return KeyValueCache(k, self.split_heads(self.W_v(memory)))

    def queries(self, X: Tensor, start: int = 0) -> Tensor:
        q = self.split_heads(self.W_q(X))
        q = functional.rms_norm(q, q.shape[-1:]) if self.qk_norm else q
        return q if self.rotary is None else self.rotary(q, start)

    def forward(
        self, X: Tensor, memory: Tensor | KeyValueCache | None = None,
        mask: Tensor | None = None, *, causal=False, state: KeyValueCache | None = None,
    ) -> tuple[Tensor, KeyValueCache]:  # fmt: skip
        """Answers (n, L, d), and keys and values for the next call.

        Parameters
        ----------
        X : tensor of shape (n, L, d)
        memory : tensor (n, S, d_memory), its keys and values, or None
            None attends to X itself.
        mask : boolean tensor that broadcasts to (n, L, S), or None
            True where a query may see a key.
        causal : bool
        state : KeyValueCache or None
            Keys and values of the steps before X.
        """
        start = 0 if state is None else state.length
        if isinstance(memory, KeyValueCache):
            kv = memory
        else:
            kv = self.keys_and_values(X if memory is None else memory, start)
            kv = kv if state is None else state.append(*kv)
        mask = None if mask is None else mask[:, None]  # the same for every head
        y = attend(
            self.queries(X, start), kv.k, kv.v, mask, causal=causal,
            backend=self.backend,
        )  # fmt: skip
        return self.W_o(y.transpose(1, 2).flatten(2)), kv

    def attention_weights(self, X, memory=None, mask=None, *, causal=False) -> Tensor:
        """The weights a of eq. (1) of every head, (n, heads, L, S)."""
        kv = self.keys_and_values(X if memory is None else memory)
        q = self.queries(X)
        mask = None if mask is None else mask[:, None]
        mask = _joint_mask(q.shape[-2], kv.length, mask, causal, X.device)
        return masked_softmax(scaled_dot_similarity(q, kv.k), mask)


class Residual(nn.Module):
    """x + f(x): the identity where f = 0, and a gradient that always has a way through.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn
    >>> nn.Residual(torch.zeros_like)(torch.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, x, *args):
        return x + self.f(x, *args)
