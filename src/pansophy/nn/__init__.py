"""Neural networks (torch): one training loop, and the parts that nets are made of.

`train` drives every net. A net is a torch module with `losses(batch) -> {name:
scalar}`; how it is optimised, stopped, saved and resumed is the driver's business.

Rooms

    layers      layers: what nets are made of, from a dense map to attention and state
                spaces
    nets        whole nets with named losses: perceptrons, convolutions, sequences,
                tables, ODEs
    training    the training loop and its options
    ode         ordinary differential equations: solvers, tableaus and gradients through
                them
    inspection  looks into a net: its size, saliency, Lipschitz bounds and the course of
                its training
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError(
        "neural networks need torch, which is not installed: "
        "pip install 'pansophy[deep]'."
    ) from error

from ..core.chains.decoding import beam_search, decode
from .inspection.lipschitz import SpectralNorm, lipschitz_bound, lipschitz_estimate
from .inspection.model_size import count_flops, count_parameters
from .inspection.saliency import saliency
from .inspection.training_report import (
    learning_rate_range_test,
    saturation_report,
    training_report,
)
from .layers import activations, init
from .layers.activations import ACTIVATIONS, ELU, LeakyReLU, Maxout
from .layers.attention import (
    SIMILARITIES,
    CrossAttention,
    KeyValueCache,
    MultiHeadAttention,
    Residual,
    SelfAttention,
    attend,
    causal_mask,
)
from .layers.conv import (
    Conv,
    ConvTranspose,
    conv_output_size,
    convolve_channels,
    transposed_output_size,
)
from .layers.dense_layers import DenseLayers
from .layers.dropout import DropConnect, Dropout
from .layers.hippo import hippo_legs, legs_coefficients, reconstruct_history
from .layers.init import glorot_uniform
from .layers.locally_connected import LocallyConnected
from .layers.mamba import Mamba
from .layers.normalisation import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from .layers.numeric_embeddings import (
    PeriodicEmbedding,
    PiecewiseLinearEmbedding,
    distinct_quantiles,
)
from .layers.pooling import AvgPool, MaxPool
from .layers.positions import (
    LearnedPositions,
    PositionalEncoding,
    Rotary,
    sinusoidal_positions,
)
from .layers.recurrent import GRU, LSTM, RNN
from .layers.scan import scan
from .layers.ssd import ssd
from .layers.ssm import (
    S4,
    S4D,
    StateSpaceBlock,
    causal_convolution,
    ssm_kernel,
    ssm_scan,
)
from .layers.transformer import (
    CLASSIC,
    MODERN,
    STANDARD,
    BlockOptions,
    Transformer,
    TransformerDecoder,
    TransformerEncoder,
)
from .nets import heads
from .nets.conv_net import ConvNet
from .nets.decoding import TokenModel
from .nets.feature_extractor import FeatureExtractor, layer_outputs
from .nets.ft_transformer import FTTransformer
from .nets.heads import HEADS
from .nets.mlp import MLP
from .nets.neural_ode import FlowNet, MLPField, NeuralODE, ResidualNet
from .nets.sequence_net import ARCHITECTURES, SequenceNet
from .nets.sequential import Sequential
from .nets.tabular_net import CategoryEmbedding, TabularResNet
from .ode.ode import AdjointWarning, ODESolution, StiffODEWarning, odeint
from .ode.tableaus import TABLEAUS
from .training import parallel, schedules
from .training.activation_checkpointing import checkpoint_activations
from .training.augmentation import Augmentation, augment, invariance_score
from .training.batches import Batches, SparseRows
from .training.checkpoint import read_checkpoint, write_checkpoint
from .training.data_sources import FileRows, ParquetRows, RaggedRows, TokenWindows
from .training.fine_tuning import fine_tune, freeze, unfreeze
from .training.lora import (
    LoRALinear,
    add_lora,
    load_lora,
    lora_layers,
    lora_weights,
    merge_lora,
    remove_lora,
    unmerge_lora,
)
from .training.optimisers import (
    SGD,
    Adam,
    AdamW,
    Lion,
    Muon,
    ParameterGroups,
    TorchOptimiser,
)
from .training.stopping import EarlyStopping
from .training.train import Net, Training, TrainingState, train
from .training.weight_average import WeightAverage
from .training.weight_sharing import tie

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
    "attend",
    "augment",
    "beam_search",
    "causal_convolution",
    "causal_mask",
    "checkpoint_activations",
    "conv_output_size",
    "convolve_channels",
    "count_flops",
    "count_parameters",
    "decode",
    "fine_tune",
    "freeze",
    "glorot_uniform",
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
]
