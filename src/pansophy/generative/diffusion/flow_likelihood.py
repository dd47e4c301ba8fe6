"""Log densities along an ordinary differential equation of rows.

Rows that move by dz/dt = f(t, z) carry their density with them:

    d log p(z(t)) / dt = -tr(df/dz)                                              (1)

so the density at one end is that at the other plus an integral along the path. The
trace is exact by d gradients, or an estimate with a vector e of independent signs,

    tr(J) = E e' J e                                                             (2)

(Hutchinson). e is the same during one solution, so that the equation solved is one
equation, and the same for all rows, so that a row's value does not depend on others.

For a denoiser D (`denoiser`), with tau = ln sigma, x = c z, c = (1 + sigma^2)^(-1/2),
the path that takes data to noise, dz / dtau = z - D(z, sigma), is

    dx / dtau = c (c x - D(x / c, sigma)),   from sigma_min up to sigma_max      (3)

at whose end x is N(0, I), up to the shape of the data. Standardised normal rows do not
move at all: their density is exact in any number of steps. What (3) gives is the
density of the data plus noise of sigma_min.

Cost      evaluations of f, each with d gradients, or as many as there are probes
Refs      [Chen2018] (1); [Grathwohl2019] (2); [Song2021] (3)
"""

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from ...nn import odeint

EXACT_COLUMNS = 32  # up to which "auto" takes the exact trace
ESTIMATE_PROBES = 8

TraceName = Literal["auto", "exact", "hutchinson"]


def trace_probes(d: int, trace: TraceName, like: Tensor) -> Tensor | None:
    """Signs (k, d) of eq. (2) by torch's random numbers; None for the exact trace."""
    if trace == "exact" or (trace == "auto" and d <= EXACT_COLUMNS):
        return None
    draws = torch.rand(ESTIMATE_PROBES, d, device=like.device) < 0.5
    return draws.to(like.dtype) * 2 - 1


def field_and_trace(
    field: Callable[[Tensor], Tensor], z: Tensor, probes, *, create_graph=False
):
    """f(z) (n, d) and tr(df/dz) (n,), exact if `probes` is None, else by eq. (2)."""
    with torch.enable_grad():
        leaf = z if create_graph and z.requires_grad else z.detach().requires_grad_()
        vectors = torch.eye(z.shape[1]).to(z) if probes is None else probes
        f, g = _field_and_products(field, leaf, vectors, create_graph)
        total = torch.einsum("knd,kd->n", g, vectors)
    if probes is not None:
        total = total / len(probes)
    return (f, total) if create_graph else (f.detach(), total.detach())


def _field_and_products(field, at, vectors, create_graph):
    """f (n, d) and e' df/dz (k, n, d) for each vector e of (k, d)."""
    shape = (len(vectors), *at.shape)
    row_vectors = vectors[:, None].expand(shape)  # the same for every row
    f = field(at)
    try:  # one backward pass for all vectors
        (g,) = torch.autograd.grad(
            f, at, row_vectors, is_grads_batched=True, create_graph=create_graph
        )
    except RuntimeError:
        # convolutions of images kept in the order of channels cannot be batched
        f = field(at)
        results = [
            torch.autograd.grad(f, at, e, create_graph=create_graph, retain_graph=True)[
                0
            ]
            for e in row_vectors
        ]
        g = torch.stack(results)
    return f, g


def denoiser_log_prob(
    denoise: Callable,
    x: Tensor,
    *,
    sigma_min: float = 0.002,
    sigma_max: float = 80.0,
    n_steps: int = 30,
    trace: TraceName = "auto",
) -> Tensor:
    """Log density (n,) of rows x (n, d) under a denoiser, eq. (3).

    Parameters
    ----------
    denoise : function of (z, sigma)
    x : tensor of shape (n, d)
    sigma_min, sigma_max : float
        Range of noise levels.
    n_steps : int
        Steps of the classical Runge-Kutta method, equal in ln sigma.
    trace : {"auto", "exact", "hutchinson"}
        "auto" is exact up to 32 columns; estimates take 8 vectors of signs.

    Examples
    --------
    >>> import torch
    >>> from pansophy.generative import denoiser_log_prob
    >>> best = lambda z, sigma: z / (1 + sigma**2)  # for rows of N(0, 1)
    >>> x = torch.tensor([[0.0], [2.0]], dtype=torch.float64)
    >>> denoiser_log_prob(best, x)
    tensor([-0.9189, -2.9189], dtype=torch.float64)
    """
    d = x.shape[1]
    probes = trace_probes(d, trace, x)

    def field(tau, state):
        sigma = float(tau.exp())
        c = _signal_share(sigma)
        move = lambda x: c * (c * x - denoise(x / c, sigma))
        f, total = field_and_trace(move, state[:, :d], probes)
        return torch.cat([f, total[:, None]], dim=1)

    first = _signal_share(sigma_min)
    start = torch.cat([first * x, torch.zeros_like(x[:, :1])], dim=1)
    times = (math.log(sigma_min), math.log(sigma_max))
    step = (times[1] - times[0]) / n_steps
    with torch.no_grad():
        end = odeint(field, start, times, "rk4", step=step).y[-1]
    noise, gained = end[:, :d], end[:, d]
    base = -0.5 * (noise.square().sum(1) + d * math.log(2 * math.pi))
    return base + gained + d * math.log(first)


def _signal_share(sigma: float) -> float:
    """c of eq. (3)."""
    return 1 / math.sqrt(1 + sigma * sigma)
