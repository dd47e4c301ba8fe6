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

from . import activations, heads, init, parallel, schedules
from .activation_checkpointing import checkpoint_activations
from .activations import ACTIVATIONS, ELU, LeakyReLU, Maxout
from .approximation_curve import approximation_curve
from .backward import backward
from .batches import Batches, SparseRows
from .check_graph import check_graph
from .checkpoint import read_checkpoint, write_checkpoint
from .data_sources import FileRows, ParquetRows, RaggedRows
from .heads import HEADS
from .init import glorot_uniform
from .mlp import MLP
from .neuron import Neuron
from .optimisers import (
    SGD,
    Adam,
    AdamW,
    Lion,
    Muon,
    ParameterGroups,
    TorchOptimiser,
)
from .sequential import Sequential
from .stopping import EarlyStopping
from .train import Net, Training, TrainingState, train
from .training_report import (
    learning_rate_range_test,
    saturation_report,
    training_report,
)
from .weight_average import WeightAverage
from .weight_symmetries import canonicalize, count_equivalent_weights
from .xor_network import xor_network

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "AdamW",
    "Batches",
    "ELU",
    "EarlyStopping",
    "FileRows",
    "HEADS",
    "LeakyReLU",
    "Lion",
    "MLP",
    "Maxout",
    "Muon",
    "Net",
    "Neuron",
    "ParameterGroups",
    "ParquetRows",
    "RaggedRows",
    "SGD",
    "Sequential",
    "SparseRows",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "WeightAverage",
    "activations",
    "approximation_curve",
    "backward",
    "canonicalize",
    "check_graph",
    "checkpoint_activations",
    "count_equivalent_weights",
    "glorot_uniform",
    "heads",
    "init",
    "learning_rate_range_test",
    "parallel",
    "read_checkpoint",
    "saturation_report",
    "schedules",
    "train",
    "training_report",
    "write_checkpoint",
    "xor_network",
]
