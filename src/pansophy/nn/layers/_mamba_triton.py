"""Mamba between its projections, as one function of Triton kernels (CUDA).

Eqs. (1) to (4) of `mamba.py` without the output projection. The projected input is
one tensor of columns [z, u, B, C, Delta]; the convolution writes [u, B, C] into a
second, whose columns the recurrence reads in place, and on the way back every kernel
writes its part of the gradient where it belongs: nothing is copied apart, joined or
transposed.

Kept for the way back are the two tensors, y before the norm, and the states before the
chunks; the convolution's preactivation, the norm and eq. (2), whose numbers are one per
head, are computed anew.

Refs      `_causal_conv_triton`, `_ssd_triton`, `_gated_norm_triton`
"""

import torch

from ._causal_conv_triton import silu_conv, silu_conv_gradient
from ._gated_norm_triton import gated_norm, gated_norm_gradient
from ._ssd_triton import SSDSaved, ssd_backward, ssd_forward
from .mamba import MambaParameters, selective_decays


def _convolved_parts(mixed, heads, states):
    """u (n, L, H, P), B and C of the convolved columns, in place."""
    inner = mixed.shape[-1] - 2 * states
    u, B, C = mixed.split((inner, states, states), dim=-1)
    return u.unflatten(-1, (heads, inner // heads)), B, C


def kernel_rows(kernel):
    """The weights of the convolution (channels, 1, W) as (W, channels)."""
    return kernel[:, 0].t().contiguous()


class TritonMambaCore(torch.autograd.Function):
    """(projected, mask, eps, *MambaParameters) -> normalised output (n, L, inner)."""

    @staticmethod
    def forward(ctx, projected, mask, eps, *parameters):
        p = MambaParameters(*parameters)
        channels = len(p.kernel)
        heads = len(p.D)
        projected = projected.contiguous()
        inner = projected.shape[-1] - channels - heads
        states = (channels - inner) // 2
        z, unmixed, dt = projected.split((inner, channels, heads), dim=-1)
        log_a, step_gain = selective_decays(dt, p.dt_bias, p.log_A, mask)
        n, length = projected.shape[:2]
        mixed = projected.new_empty(n, length, channels)
        silu_conv(unmixed, kernel_rows(p.kernel), p.kernel_bias, mixed)
        u, B, C = _convolved_parts(mixed, heads, states)
        h0 = u.new_zeros(n, heads, inner // heads, states, dtype=torch.float32)
        y, _, saved = ssd_forward(u, log_a, B, C, step_gain, h0, p.D.float())
        y = y.flatten(-2)
        ctx.save_for_backward(projected, mixed, y, *saved, *parameters)
        ctx.mask, ctx.eps = mask, eps
        return gated_norm(y, z, p.gain, eps)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        projected, mixed, y, sums, before_chunks, *parameters = ctx.saved_tensors
        p = MambaParameters(*parameters)
        channels = len(p.kernel)
        inner = y.shape[-1]
        heads = len(p.D)
        sizes = (inner, channels, heads)
        z, unmixed, dt = projected.split(sizes, dim=-1)
        dprojected = torch.empty_like(projected)
        dz, dbefore, ddt = dprojected.split(sizes, dim=-1)
        dy, dgain = gated_norm_gradient(y, z, p.gain, dout.contiguous(), dz, ctx.eps)
        states = before_chunks.shape[-1]
        u, B, C = _convolved_parts(mixed, heads, states)
        dmixed = torch.empty_like(mixed)
        du, dB, dC = _convolved_parts(dmixed, heads, states)
        dlast = sums.new_zeros(len(u), heads, inner // heads, states)
        g = ssd_backward(
            u, B, C, p.D.float(), SSDSaved(sums, before_chunks),
            dy.view(u.shape), dlast, du,
        )  # fmt: skip
        dB.copy_(g.B)
        dC.copy_(g.C)
        w = kernel_rows(p.kernel)
        dw, db = silu_conv_gradient(unmixed, w, p.kernel_bias, dmixed, dbefore)
        with torch.enable_grad():
            leaves = [p.detach().requires_grad_() for p in (dt, p.dt_bias, p.log_A)]
            decays = selective_decays(*leaves, mask=ctx.mask)
        dt_grad, dt_bias, log_A = torch.autograd.grad(decays, leaves, (g.log_a, g.gain))
        ddt.copy_(dt_grad)
        grads = MambaParameters(
            dw.t()[:, None], db, dt_bias=dt_bias, log_A=log_A, D=g.skip, gain=dgain
        )
        return dprojected, None, None, *grads
