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
from .mlp import MLP, glorot_uniform
from .optimisers import (
    SGD,
    Adam,
    AdamW,
    Lion,
    Muon,
    ParameterGroups,
    TorchOptimiser,
)
from .stopping import EarlyStopping
from .train import Net, Training, TrainingState, train
from .weight_average import WeightAverage

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "AdamW",
    "Batches",
    "EarlyStopping",
    "HEADS",
    "Lion",
    "MLP",
    "Muon",
    "Net",
    "ParameterGroups",
    "SGD",
    "SparseRows",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "WeightAverage",
    "activations",
    "glorot_uniform",
    "heads",
    "read_checkpoint",
    "schedules",
    "train",
    "write_checkpoint",
]
