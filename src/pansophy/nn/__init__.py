"""Neural networks (torch): one training loop, and the parts that nets are made of.

`train` drives every net. A net is a torch module with `losses(batch) -> {name:
scalar}`; how it is optimised, stopped, saved and resumed is the driver's business.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "neural networks need torch, which is not installed: "
        "pip install 'pansophy[deep]'."
    ) from error

from . import activations, heads, schedules
from .activations import ACTIVATIONS
from .batches import Batches, SparseRows
from .checkpoint import read_checkpoint, write_checkpoint
from .heads import HEADS
from .hippo import hippo_legs, legs_coefficients, reconstruct_history
from .lipschitz import SpectralNorm, lipschitz_bound, lipschitz_estimate
from .mamba import Mamba
from .mlp import MLP, glorot_uniform
from .neural_ode import MLPField, NeuralODE, ResidualNet
from .ode import AdjointWarning, ODESolution, StiffODEWarning, odeint
from .optimisers import SGD, Adam, TorchOptimiser
from .scan import scan
from .ssd import ssd
from .ssm import (
    S4,
    S4D,
    StateSpaceBlock,
    causal_convolution,
    ssm_kernel,
    ssm_scan,
)
from .stopping import EarlyStopping
from .tableaus import TABLEAUS
from .train import Net, Training, TrainingState, train

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "AdjointWarning",
    "Batches",
    "EarlyStopping",
    "HEADS",
    "MLP",
    "MLPField",
    "Mamba",
    "Net",
    "NeuralODE",
    "ODESolution",
    "ResidualNet",
    "S4",
    "S4D",
    "SGD",
    "SparseRows",
    "SpectralNorm",
    "StateSpaceBlock",
    "StiffODEWarning",
    "TABLEAUS",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "activations",
    "causal_convolution",
    "glorot_uniform",
    "heads",
    "hippo_legs",
    "legs_coefficients",
    "lipschitz_bound",
    "lipschitz_estimate",
    "odeint",
    "read_checkpoint",
    "reconstruct_history",
    "scan",
    "schedules",
    "ssd",
    "ssm_kernel",
    "ssm_scan",
    "train",
    "write_checkpoint",
]
