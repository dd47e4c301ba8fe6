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

from ..core.decoding import beam_search, decode
from . import activations, heads, init, parallel, schedules
from .activation_checkpointing import checkpoint_activations
from .activations import ACTIVATIONS, ELU, LeakyReLU, Maxout
from .approximation_curve import approximation_curve
from .attention import (
    SIMILARITIES,
    CrossAttention,
    KeyValueCache,
    MultiHeadAttention,
    Residual,
    SelfAttention,
    attend,
    causal_mask,
)
from .augmentation import Augmentation, augment, invariance_score
from .backward import backward
from .batches import Batches, SparseRows
from .bptt import TimeGradients, bptt, clip_gradients, gradient_by_lag
from .check_graph import check_graph
from .checkpoint import read_checkpoint, write_checkpoint
from .conv import (
    Conv,
    ConvTranspose,
    conv_output_size,
    convolve_channels,
    transposed_output_size,
)
from .conv_net import ConvNet
from .data_sources import FileRows, ParquetRows, RaggedRows, TokenWindows
from .decoding import TokenModel
from .dense_layers import DenseLayers
from .dropout import DropConnect, Dropout
from .feature_extractor import FeatureExtractor, layer_outputs
from .fine_tuning import fine_tune, freeze, unfreeze
from .ft_transformer import FTTransformer
from .heads import HEADS
from .hippo import hippo_legs, legs_coefficients, reconstruct_history
from .init import glorot_uniform
from .lipschitz import SpectralNorm, lipschitz_bound, lipschitz_estimate
from .locally_connected import LocallyConnected
from .lora import (
    LoRALinear,
    add_lora,
    load_lora,
    lora_layers,
    lora_weights,
    merge_lora,
    remove_lora,
    unmerge_lora,
)
from .mamba import Mamba
from .mlp import MLP
from .model_size import count_flops, count_parameters
from .neural_ode import FlowNet, MLPField, NeuralODE, ResidualNet
from .neuron import Neuron
from .normalisation import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from .numeric_embeddings import (
    PeriodicEmbedding,
    PiecewiseLinearEmbedding,
    distinct_quantiles,
)
from .ode import AdjointWarning, ODESolution, StiffODEWarning, odeint
from .optimisers import SGD, Adam, AdamW, Lion, Muon, ParameterGroups, TorchOptimiser
from .pooling import AvgPool, MaxPool
from .positions import (
    LearnedPositions,
    PositionalEncoding,
    Rotary,
    sinusoidal_positions,
)
from .recurrent import GRU, LSTM, RNN
from .saliency import saliency
from .scan import scan
from .sequence_net import ARCHITECTURES, SequenceNet
from .sequential import Sequential
from .ssd import ssd
from .ssm import S4, S4D, StateSpaceBlock, causal_convolution, ssm_kernel, ssm_scan
from .stopping import EarlyStopping
from .tableaus import TABLEAUS
from .tabular_net import CategoryEmbedding, TabularResNet
from .train import Net, Training, TrainingState, train
from .training_report import (
    learning_rate_range_test,
    saturation_report,
    training_report,
)
from .transformer import (
    CLASSIC,
    MODERN,
    STANDARD,
    BlockOptions,
    Transformer,
    TransformerDecoder,
    TransformerEncoder,
)
from .weight_average import WeightAverage
from .weight_sharing import tie
from .weight_symmetries import canonicalize, count_equivalent_weights
from .xor_network import xor_network

__all__ = [
    "ACTIVATIONS",
    "ARCHITECTURES",
    "Adam",
    "AdamW",
    "AdjointWarning",
    "Augmentation",
    "AvgPool",
    "BatchNorm",
    "Batches",
    "BlockOptions",
    "CLASSIC",
    "CategoryEmbedding",
    "Conv",
    "ConvNet",
    "ConvTranspose",
    "CrossAttention",
    "DenseLayers",
    "DropConnect",
    "Dropout",
    "ELU",
    "EarlyStopping",
    "FTTransformer",
    "FeatureExtractor",
    "FileRows",
    "FlowNet",
    "GRU",
    "GroupNorm",
    "HEADS",
    "KeyValueCache",
    "LSTM",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPositions",
    "Lion",
    "LoRALinear",
    "LocallyConnected",
    "MLP",
    "MLPField",
    "MODERN",
    "Mamba",
    "MaxPool",
    "Maxout",
    "MultiHeadAttention",
    "Muon",
    "Net",
    "NeuralODE",
    "Neuron",
    "ODESolution",
    "ParameterGroups",
    "ParquetRows",
    "PeriodicEmbedding",
    "PiecewiseLinearEmbedding",
    "PositionalEncoding",
    "RMSNorm",
    "RNN",
    "RaggedRows",
    "Residual",
    "ResidualNet",
    "Rotary",
    "S4",
    "S4D",
    "SGD",
    "SIMILARITIES",
    "STANDARD",
    "SelfAttention",
    "SequenceNet",
    "Sequential",
    "SparseRows",
    "SpectralNorm",
    "StateSpaceBlock",
    "StiffODEWarning",
    "TABLEAUS",
    "TabularResNet",
    "TimeGradients",
    "TokenModel",
    "TokenWindows",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "Transformer",
    "TransformerDecoder",
    "TransformerEncoder",
    "WeightAverage",
    "activations",
    "add_lora",
    "approximation_curve",
    "attend",
    "augment",
    "backward",
    "beam_search",
    "bptt",
    "canonicalize",
    "causal_convolution",
    "causal_mask",
    "check_graph",
    "checkpoint_activations",
    "clip_gradients",
    "conv_output_size",
    "convolve_channels",
    "count_equivalent_weights",
    "count_flops",
    "count_parameters",
    "decode",
    "fine_tune",
    "freeze",
    "glorot_uniform",
    "gradient_by_lag",
    "heads",
    "hippo_legs",
    "init",
    "invariance_score",
    "layer_outputs",
    "learning_rate_range_test",
    "legs_coefficients",
    "lipschitz_bound",
    "lipschitz_estimate",
    "load_lora",
    "lora_layers",
    "lora_weights",
    "merge_lora",
    "odeint",
    "parallel",
    "distinct_quantiles",
    "read_checkpoint",
    "reconstruct_history",
    "remove_lora",
    "saliency",
    "saturation_report",
    "scan",
    "schedules",
    "sinusoidal_positions",
    "ssd",
    "ssm_kernel",
    "ssm_scan",
    "tie",
    "train",
    "training_report",
    "transposed_output_size",
    "unfreeze",
    "unmerge_lora",
    "write_checkpoint",
    "xor_network",
]
