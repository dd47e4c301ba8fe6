r"""Triton kernels (CUDA) of two operations: residual norm and short attention.

*Residual norm.* One pass reads x and its change, and writes both s and y:

.. math:: s = x + \Delta, \quad r = (\text{mean}(s^2) + \epsilon)^{-1/2}, \quad y = r s
          \qquad s' \leftarrow s' + r \big(y' - r^2 s\,\text{mean}(y' s)\big)       (1)

where primes are derivatives of the loss; x and the change both get the new s'.

*Short attention*, for sequences of at most 64 entries (the columns of a row), of which
there are tens of thousands: a program has all queries, keys and values of one head of
one row in registers, where kernels for long sequences would fill a fraction of their
tiles. With :math:`P = \text{softmax}(Q K^T / \sqrt c)`,

.. math:: O = P V, \quad V' = P^T O', \quad P' = O' V^T, \quad
          S' = P \circ (P' - \text{rowsum}(P \circ P')) / \sqrt c, \quad
          Q' = S' K, \quad K' = S'^T Q                                             (2)

and the backward program computes P again, so that nothing of size q n is stored.
"""

import torch
import triton
import triton.language as tl

LONGEST = 64  # queries or keys of short attention
ENTRIES = 2048  # of a tile of the residual norm


@triton.jit
def _add_norm_kernel(
    x_ptr,
    change_ptr,
    sum_ptr,
    norm_ptr,
    rows,
    width,
    eps,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row[:, None] < rows) & (column[None, :] < width)
    place = row[:, None] * width + column[None, :]
    x = tl.load(x_ptr + place, mask=inside, other=0.0).to(tl.float32)
    change = tl.load(change_ptr + place, mask=inside, other=0.0).to(tl.float32)
    total = (x + change).to(sum_ptr.dtype.element_ty)
    tl.store(sum_ptr + place, total, mask=inside)
    s = total.to(tl.float32)
    r = tl.rsqrt(tl.sum(s * s, axis=1) / width + eps)
    y = s * r[:, None]
    tl.store(norm_ptr + place, y.to(norm_ptr.dtype.element_ty), mask=inside)


@triton.jit
def _add_norm_gradient_kernel(
    sum_ptr,
    dsum_ptr,
    dnorm_ptr,
    dx_ptr,
    rows,
    width,
    eps,
    HAS_SUM: tl.constexpr,
    ROWS: tl.constexpr,
    WIDTH: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    inside = (row[:, None] < rows) & (column[None, :] < width)
    place = row[:, None] * width + column[None, :]
    s = tl.load(sum_ptr + place, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(dnorm_ptr + place, mask=inside, other=0.0).to(tl.float32)
    r = tl.rsqrt(tl.sum(s * s, axis=1) / width + eps)
    projection = r * r * (tl.sum(dy * s, axis=1) / width)
    dx = r[:, None] * (dy - s * projection[:, None])
    if HAS_SUM:
        dx += tl.load(dsum_ptr + place, mask=inside, other=0.0).to(tl.float32)
    tl.store(dx_ptr + place, dx.to(dx_ptr.dtype.element_ty), mask=inside)


def _norm_tile(width: int) -> tuple[int, int]:
    """Rows and columns of a tile."""
    block = triton.next_power_of_2(width)
    return max(1, ENTRIES // block), block


class AddNorm(torch.autograd.Function):
    """Equation (1): x (..., w) and its change to their sum and its norm."""

    @staticmethod
    def forward(ctx, x, change, eps):
        x, change = x.contiguous(), change.contiguous()
        total, norm = torch.empty_like(x), torch.empty_like(x)
        width = x.shape[-1]
        rows = x.numel() // width
        tile, block = _norm_tile(width)
        _add_norm_kernel[(triton.cdiv(rows, tile),)](
            x, change, total, norm, rows, width, eps, ROWS=tile, WIDTH=block
        )
        ctx.save_for_backward(total)
        ctx.eps = eps
        ctx.set_materialize_grads(False)
        return total, norm

    @staticmethod
    def backward(ctx, dsum, dnorm):
        if dnorm is None:
            return dsum, dsum, None
        (total,) = ctx.saved_tensors
        dx = torch.empty_like(total)
        width = total.shape[-1]
        rows = total.numel() // width
        tile, block = _norm_tile(width)
        dnorm = dnorm.contiguous()
        _add_norm_gradient_kernel[(triton.cdiv(rows, tile),)](
            total,
            total if dsum is None else dsum.contiguous(),
            dnorm,
            dx,
            rows,
            width,
            ctx.eps,
            HAS_SUM=dsum is not None,
            ROWS=tile,
            WIDTH=block,
        )
        return dx, dx, None


@triton.jit
def _softmax_of_scores(q, k, n, KEYS: tl.constexpr, HEAD: tl.constexpr):
    """Softmax of the scores of queries (QUERIES, C) over the first n keys (KEYS, C)."""
    scores = tl.dot(q, tl.trans(k), input_precision="ieee") * (HEAD**-0.5)
    scores = tl.where(tl.arange(0, KEYS)[None, :] < n, scores, float("-inf"))
    scores = tl.exp(scores - tl.max(scores, axis=1)[:, None])
    return scores / tl.sum(scores, axis=1)[:, None]


@triton.jit
def _short_attention_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    out_ptr,
    n_queries,
    n_keys,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    HEAD: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    width = tl.num_programs(1) * HEAD
    part = tl.program_id(1) * HEAD + tl.arange(0, HEAD)
    i, j = tl.arange(0, QUERIES), tl.arange(0, KEYS)
    q_place = (row * n_queries + i[:, None]) * width + part[None, :]
    k_place = (row * n_keys + j[:, None]) * width + part[None, :]
    is_query, is_key = i[:, None] < n_queries, j[:, None] < n_keys
    q = tl.load(q_ptr + q_place, mask=is_query, other=0.0)
    k = tl.load(k_ptr + k_place, mask=is_key, other=0.0)
    v = tl.load(v_ptr + k_place, mask=is_key, other=0.0)
    p = _softmax_of_scores(q, k, n_keys, KEYS, HEAD)
    out = tl.dot(p.to(v.dtype), v, input_precision="ieee")
    tl.store(out_ptr + q_place, out.to(out_ptr.dtype.element_ty), mask=is_query)


@triton.jit
def _short_attention_gradient_kernel(
    q_ptr,
    k_ptr,
    v_ptr,
    dout_ptr,
    dq_ptr,
    dk_ptr,
    dv_ptr,
    n_queries,
    n_keys,
    QUERIES: tl.constexpr,
    KEYS: tl.constexpr,
    HEAD: tl.constexpr,
):
    row = tl.program_id(0).to(tl.int64)
    width = tl.num_programs(1) * HEAD
    part = tl.program_id(1) * HEAD + tl.arange(0, HEAD)
    i, j = tl.arange(0, QUERIES), tl.arange(0, KEYS)
    q_place = (row * n_queries + i[:, None]) * width + part[None, :]
    k_place = (row * n_keys + j[:, None]) * width + part[None, :]
    is_query, is_key = i[:, None] < n_queries, j[:, None] < n_keys
    q = tl.load(q_ptr + q_place, mask=is_query, other=0.0)
    k = tl.load(k_ptr + k_place, mask=is_key, other=0.0)
    v = tl.load(v_ptr + k_place, mask=is_key, other=0.0)
    dout = tl.load(dout_ptr + q_place, mask=is_query, other=0.0)
    p = _softmax_of_scores(q, k, n_keys, KEYS, HEAD)
    dv = tl.dot(tl.trans(p.to(dout.dtype)), dout, input_precision="ieee")
    dp = tl.dot(dout, tl.trans(v), input_precision="ieee")
    ds = p * (dp - tl.sum(p * dp, axis=1)[:, None]) * (HEAD**-0.5)
    dq = tl.dot(ds.to(k.dtype), k, input_precision="ieee")
    dk = tl.dot(tl.trans(ds.to(q.dtype)), q, input_precision="ieee")
    tl.store(dq_ptr + q_place, dq.to(dq_ptr.dtype.element_ty), mask=is_query)
    tl.store(dk_ptr + k_place, dk.to(dk_ptr.dtype.element_ty), mask=is_key)
    tl.store(dv_ptr + k_place, dv.to(dv_ptr.dtype.element_ty), mask=is_key)


def suits_short_attention(queries, keys, heads: int) -> bool:
    """Whether a head of all queries and keys fits into a tile."""
    width = queries.shape[-1] // heads
    short = max(queries.shape[-2], keys.shape[-2]) <= LONGEST
    return short and width in (16, 32, 64) and queries.ndim == 3


def _attention_tile(queries, keys, heads: int):
    """Grid and sizes of the programs of short attention."""
    sizes = [max(16, triton.next_power_of_2(x.shape[1])) for x in (queries, keys)]
    return (queries.shape[0], heads), {
        "QUERIES": sizes[0],
        "KEYS": sizes[1],
        "HEAD": queries.shape[-1] // heads,
        "num_warps": {16: 1, 32: 2, 64: 4}[max(sizes)],
    }


class ShortAttention(torch.autograd.Function):
    """Equation (2): queries (B, q, w) to keys and values (B, n, w), q, n <= 64."""

    @staticmethod
    def forward(ctx, queries, keys, values, heads):
        q, k, v = (x.contiguous() for x in (queries, keys, values))
        out = torch.empty_like(q)
        grid, sizes = _attention_tile(q, k, heads)
        _short_attention_kernel[grid](q, k, v, out, q.shape[1], k.shape[1], **sizes)
        ctx.save_for_backward(q, k, v)
        ctx.heads = heads
        return out

    @staticmethod
    def backward(ctx, dout):
        q, k, v = ctx.saved_tensors
        dq, dk, dv = (torch.empty_like(x) for x in (q, k, v))
        grid, sizes = _attention_tile(q, k, ctx.heads)
        dout = dout.contiguous()
        _short_attention_gradient_kernel[grid](
            q, k, v, dout, dq, dk, dv, q.shape[1], k.shape[1], **sizes
        )
        return dq, dk, dv, None
