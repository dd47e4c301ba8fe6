"""Back-propagation through time, and how gradients fade or explode with the lag.

An RNN of T steps is a net of T layers with the same weights. With G_t = dC/dh_t from
the cost of step t alone, h_t = g(z_t) and z_t = W_x x_t + b_x + W_h h_t-1 + b_h,

    d_t = G_t + W_h' a_t+1,   a_t = d_t * g'(z_t)                                 (1)
    dC/dW_x = sum_t a_t x_t',   dC/dW_h = sum_t a_t h_t-1',   dC/db = sum_t a_t   (2)

Truncated: a_t+1 is left out of (1) where t + 1 begins a new block of k steps. The
gradient of a late state in an early one is a product of Jacobians,

    ds_T / ds_T-k = J_T J_T-1 ... J_T-k+1,   J_t = ds_t / ds_t-1                  (3)

whose norm falls or grows about geometrically in k: factor^k for a scalar cell. Clipping
is the remedy for growth; cells whose Jacobian is I (identity recurrence, the carousel
of an LSTM) are the remedy for decay.

Cost      (1) O(n T h (d + h)); (3) O(n T q^3) for states of q numbers
Shapes    X (n, T, d)   G (n, T, h)   norms (T,) by lag 0..T-1
Refs      [Werbos1990]; [Bengio1994] vanishing gradients; [Pascanu2013] clipping
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..nn.layers.activations import ACTIVATIONS
from ..nn.layers.recurrent import RNN, RecurrentLayer


class TimeGradients(NamedTuple):
    """Gradients of eq. (2), and those in the inputs and the first state."""

    weights: dict[str, Tensor]  # by the names of `layer.weights`
    inputs: Tensor  # (n, T, d)
    state: Tensor  # (n, 1, h)


@torch.no_grad()
def bptt(layer: RNN, X, G, *, state=None, truncate: int | None = None) -> TimeGradients:
    """Eq. (1) and (2) by hand, for an `RNN` of one layer and one direction.

    Parameters
    ----------
    layer : RNN
    X : tensor of shape (n, T, d)
    G : tensor of shape (n, T, h)
        Gradient of the cost in each output h_t.
    state : tuple of one tensor (n, 1, h), or None for zeros
    truncate : int or None
        Steps of a block that gradients do not leave backwards.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn, teaching
    >>> layer, X = nn.RNN(2, 3), torch.ones(1, 4, 2)
    >>> layer(X)[0].sum().backward()
    >>> found = teaching.bptt(layer, X, torch.ones(1, 4, 3))
    >>> torch.allclose(found.weights["W_h_0"], layer.weights["W_h_0"].grad)
    True
    """
    if layer.layers != 1 or layer.bidirectional or layer.recurrence != "full":
        raise ValueError("bptt takes an RNN of one layer, one direction, full matrix.")
    (first,) = state or layer.init_state(len(X), X.device, X.dtype)
    H, _ = layer(X, state=(first,))
    H_before = torch.cat([first, H[:, :-1]], 1)
    W_x, W_h, *biases = layer.layer_weights(0)
    slope = ACTIVATIONS[layer.activation].backward
    T = X.shape[1]
    A = torch.empty_like(H)
    carried = torch.zeros_like(first[:, 0])
    for t in range(T - 1, -1, -1):
        A[:, t] = slope(G[:, t] + carried, H[:, t])  # (1)
        carried = A[:, t] @ W_h
        if truncate is not None and t % truncate == 0:
            carried = torch.zeros_like(carried)
    grads = {
        "W_x_0": torch.einsum("nth,ntd->hd", A, X),  # (2)
        "W_h_0": torch.einsum("nth,ntk->hk", A, H_before),
    }
    if biases:
        grads["b_x_0"] = grads["b_h_0"] = A.sum((0, 1))
    return TimeGradients(grads, A @ W_x, carried[:, None])


def gradient_by_lag(layer: RecurrentLayer, X, state=None) -> np.ndarray:
    """Spectral norm of eq. (3) for lags 0..T-1, averaged over the sequences.

    The state is all that the layer hands on: h of every layer, and c of an LSTM. Lag 0
    is 1. What falls with the lag cannot be learnt over it; what grows explodes.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn, teaching
    >>> layer = nn.RNN(1, 1, activation="identity", bias=False)
    >>> _ = layer.weights["W_h_0"].data.fill_(0.5)
    >>> teaching.gradient_by_lag(layer, torch.zeros(1, 4, 1))
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    n, T = X.shape[:2]
    state = state or layer.init_state(n, X.device, X.dtype)
    shape = state[0].shape[1:]
    size = math.prod(shape)
    jacobians = []
    for t in range(T):

        def advance(s, t=t):
            parts = tuple(p.reshape(n, *shape) for p in s.split(size, 1))
            new = layer.step(X[:, t], parts)[1]
            return torch.cat([p.reshape(n, size) for p in new], 1)

        flat = torch.cat([s.reshape(n, size) for s in state], 1).detach()
        # the sequences of a batch do not mix, so the sum over them has the Jacobian
        # of each in its own row
        J = torch.autograd.functional.jacobian(lambda s: advance(s).sum(0), flat)
        jacobians.append(J.transpose(0, 1).detach())  # (n, q, q)
        with torch.no_grad():
            flat = advance(flat)
        state = tuple(p.reshape(n, *shape) for p in flat.split(size, 1))
    return _lag_norms(jacobians, n, X)


def _lag_norms(jacobians, n, X) -> np.ndarray:
    """Mean norms of the running products J_T ... J_T-k+1, from lag 0 on."""
    q = jacobians[0].shape[-1]
    product = torch.eye(q, dtype=X.dtype, device=X.device).expand(n, q, q)
    norms = [1.0]
    for J in reversed(jacobians[1:]):
        product = product @ J
        norms.append(float(torch.linalg.matrix_norm(product, 2).mean()))
    return np.array(norms)


def clip_gradients(
    tensors: Iterable[Tensor] | torch.nn.Module,
    *,
    max_norm: float | None = None,
    max_value: float | None = None,
) -> float:
    """Limit gradients in place: every entry first, then the norm of all together.

    Takes a module (its parameters' gradients) or gradients themselves; the norm before
    the second step comes back. A gradient within the limits stays as it is.

    Examples
    --------
    >>> import torch
    >>> from pansophy import nn, teaching
    >>> g = torch.tensor([3.0, 4.0])
    >>> teaching.clip_gradients([g], max_norm=1.0), g
    (5.0, tensor([0.6000, 0.8000]))
    """
    if isinstance(tensors, torch.nn.Module):
        tensors = [p.grad for p in tensors.parameters() if p.grad is not None]
    grads = list(tensors)
    if max_value is not None:
        for g in grads:
            g.clamp_(-max_value, max_value)
    if not grads:
        return 0.0
    norms = [torch.linalg.vector_norm(g) for g in grads]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    if max_norm is not None:
        factor = torch.clamp(max_norm / norm.clamp_min(1e-12), max=1.0)
        for g in grads:
            g.mul_(factor)
    return float(norm)
