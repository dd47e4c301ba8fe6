"""Monotone rational-quadratic splines with straight tails, and their inverse.

K bins between the knots (x_k, y_k) of the box [-B, B]^2; outside it the map is the
identity. In a bin of width w and height h, with slope s = h / w, slopes d_0 and d_1 at
its ends (1 at the ends of the box) and t = (x - x_k) / w,

    y = y_k + h (s t^2 + d_0 t (1 - t)) / q,  q = s + (d_0 + d_1 - 2 s) t (1 - t) (1)
    dy/dx = s^2 (d_1 t^2 + 2 s t (1 - t) + d_0 (1 - t)^2) / q^2                  (2)

which rises wherever d_0, d_1 and s are above 0. The inverse solves a quadratic a t^2 +
b t + c = 0, with e = y - y_k, by the root that does not cancel:

    a = h (s - d_0) + e (d_0 + d_1 - 2 s),  b = h d_0 - e (d_0 + d_1 - 2 s),
    c = -s e,    t = 2 c / (-b - r) if b >= 0 else (r - b) / (2 a),
    r = sqrt(b^2 - 4 a c)                                                        (3)

Free parameters of a spline are 3 K - 1 numbers: logits of widths and of heights,
each at least SMALLEST of the box, and K - 1 inner slopes by a softplus that gives 1 for
0, so that parameters of 0 are the identity. Rows outside the box take part in the
arithmetic as 0, whose gradient is finite, and are put back after it.

Shapes    x, y (n, d)   parameters (n, d, 3 K - 1)
Refs      [Gregory1982]; [Durkan2019]
"""

import math

import torch
from torch import Tensor
from torch.nn import functional

SMALLEST = 1e-3  # width or height of a bin, as a share of the box
SMALLEST_SLOPE = 1e-3
SLOPE_OFFSET = math.log(math.expm1(1 - SMALLEST_SLOPE))  # softplus of it makes slope 1


def spline_knots(logits: Tensor, bound: float) -> Tensor:
    """Knots (..., K + 1) from -bound to bound of bins given by logits (..., K)."""
    K = logits.shape[-1]
    sizes = SMALLEST + (1 - SMALLEST * K) * torch.softmax(logits, -1)
    inner = torch.cumsum(sizes[..., :-1], -1) * (2 * bound) - bound
    return functional.pad(
        functional.pad(inner, (1, 0), value=-bound), (0, 1), value=bound
    )


def _spline_bins(parameters: Tensor, value: Tensor, bound: float, *, inverse: bool):
    """The bin of each value: x_k, w, y_k, h, d_0, d_1, each shaped like value."""
    K = (parameters.shape[-1] + 1) // 3
    x = spline_knots(parameters[..., :K], bound)
    y = spline_knots(parameters[..., K : 2 * K], bound)
    slopes = SMALLEST_SLOPE + functional.softplus(
        parameters[..., 2 * K :] + SLOPE_OFFSET
    )
    slopes = functional.pad(slopes, (1, 1), value=1.0)
    edges = y if inverse else x
    k = (value[..., None] >= edges[..., 1:-1]).sum(-1, keepdim=True)
    ends = torch.cat([k, k + 1], -1)
    table = torch.stack([x, y, slopes], -2)  # (n, d, 3, K + 1)
    explanation = table.gather(-1, ends[..., None, :].expand(*ends.shape[:-1], 3, 2))
    (x0, x1), (y0, y1), (d0, d1) = (part.unbind(-1) for part in explanation.unbind(-2))
    return x0, x1 - x0, y0, y1 - y0, d0, d1


def spline_forward(x: Tensor, parameters: Tensor, bound: float = 5.0):
    """y of eq. (1) and log dy/dx of eq. (2)."""
    inside = x.abs() < bound
    inner = torch.where(inside, x, torch.zeros_like(x))
    x0, w, y0, h, d0, d1 = _spline_bins(parameters, inner, bound, inverse=False)
    s = h / w
    t = (inner - x0) / w
    rest = t * (1 - t)
    q = s + (d0 + d1 - 2 * s) * rest
    y = y0 + h * (s * t * t + d0 * rest) / q
    slope = d1 * t * t + 2 * s * rest + d0 * (1 - t) * (1 - t)
    log_slope = 2 * torch.log(s / q) + torch.log(slope)
    return torch.where(inside, y, x), torch.where(inside, log_slope, 0 * inner)


def spline_inverse(y: Tensor, parameters: Tensor, bound: float = 5.0):
    """x of eq. (3) and log dx/dy."""
    inside = y.abs() < bound
    inner = torch.where(inside, y, torch.zeros_like(y))
    x0, w, y0, h, d0, d1 = _spline_bins(parameters, inner, bound, inverse=True)
    s = h / w
    e = inner - y0
    bend = d0 + d1 - 2 * s
    a = h * (s - d0) + e * bend
    b = h * d0 - e * bend
    c = -s * e
    root = torch.sqrt((b * b - 4 * a * c).clamp(min=0))
    # each branch of eq. (3) where it does not subtract equal numbers
    positive = b >= 0
    ones = torch.ones_like(b)
    t = torch.where(
        positive,
        2 * c / torch.where(positive, -b - root, ones),
        (root - b) / torch.where(positive, ones, 2 * a),
    )
    rest = t * (1 - t)
    q = s + bend * rest
    slope = d1 * t * t + 2 * s * rest + d0 * (1 - t) * (1 - t)
    log_slope = 2 * torch.log(s / q) + torch.log(slope)
    x = x0 + w * t
    return torch.where(inside, x, y), torch.where(inside, -log_slope, 0 * inner)
