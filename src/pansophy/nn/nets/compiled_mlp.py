"""Small MLPs in compiled loops: what they need to know of a net and its optimiser.

A step of a net with 64 units takes longer in torch's calls than in arithmetic. The
loops of `_compiled_mlp.py` do the same arithmetic (eqs. 1, 4, 5 of `mlp`, eq. 2 of
`optimisers`) on the flat vectors of `optimisers.FlatParameters`, with matrix products
by BLAS; a method adds its own loss and calls them from one compiled function, so that a
whole step is one call. The memory is torch's: a net may be trained in turns by these
loops and by torch.

tanh is Lambert's continued fraction to x^7 at x / 4, where its error is below 1e-7, and
then twice tanh(2u) = 2 t / (1 + t^2), t = tanh(u): multiplications and divisions only,
so that the loop uses vector instructions.

Larger nets gain nothing: their time is in the products, which torch shares out to
threads. `suits_compiled_loops` says which side a net is on.
"""

from typing import NamedTuple

import numpy as np
import torch

from ..training.optimisers import Adam, ParameterPack
from .mlp import MLP

LARGE_STEP = 2e8  # operations of a step from which torch is as fast
LOOP_ACTIVATIONS = ("tanh", "relu")


class LayerTable(NamedTuple):
    """Positions of the layers of an MLP in a flat vector."""

    sizes: np.ndarray  # (L + 1,) m_0, ..., m_L
    weights: np.ndarray  # (L,) place of W_l's first entry
    biases: np.ndarray  # (L,) place of b_l's first entry
    rectified: bool  # g is the positive part, otherwise tanh


class AdamArrays(NamedTuple):
    """Parameters, gradient and running moments of a net, and the numbers of Adam."""

    w: np.ndarray
    g: np.ndarray
    m: np.ndarray
    v: np.ndarray
    t: np.ndarray  # (1,) steps so far
    beta1: float
    beta2: float
    eps: float
    clip: float  # longest gradient, infinity for any


def suits_compiled_loops(net, n_rows) -> bool:
    """Whether a net of MLPs is small, of float32 and on the CPU.

    `net` has `flops(n_rows)`, the operations of a step.
    """
    params = list(net.parameters())
    plain = all(p.dtype == torch.float32 and p.device.type == "cpu" for p in params)
    mlps = [part for part in net.modules() if isinstance(part, MLP)]
    known = all(
        mlp.activation_name in LOOP_ACTIVATIONS and not mlp.dropout for mlp in mlps
    )
    return plain and known and net.flops(n_rows) < LARGE_STEP


def layer_table(mlp: MLP, flat: torch.Tensor) -> LayerTable:
    """The layers of an MLP whose parameters are views of the vector `flat`."""
    place = lambda p: (p.data_ptr() - flat.data_ptr()) // flat.element_size()
    sizes = [mlp.weights[0].shape[0], *(W.shape[1] for W in mlp.weights)]
    return LayerTable(
        np.array(sizes, np.int64),
        np.array([place(W) for W in mlp.weights], np.int64),
        np.array([place(b) for b in mlp.biases], np.int64),
        mlp.activation_name == "relu",
    )


def adam_arrays(pack: ParameterPack, clip=None) -> AdamArrays:
    """Arrays of the memory of a pack whose rule is Adam without decay."""
    rule = pack.rule
    if not isinstance(rule, Adam) or rule.decay:
        raise TypeError("compiled loops know Adam without decay only.")
    flat, state = pack.flat, pack.state
    return AdamArrays(
        flat.w.numpy(),
        flat.g.numpy(),
        state["m"].numpy(),
        state["v"].numpy(),
        state["t"].view(1).numpy(),
        float(rule.beta1),
        float(rule.beta2),
        float(rule.eps),
        np.inf if clip is None else float(clip),
    )


def widest_layer(*tables: LayerTable) -> int:
    """Most units of a layer: rows times this many numbers hold dJ/dZ of any layer."""
    return max(int(table.sizes.max()) for table in tables)


def total_units(table: LayerTable) -> int:
    """Units of all layers after the input."""
    return int(table.sizes[1:].sum())
