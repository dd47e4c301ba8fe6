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
from .batches import Batches, SparseRows
from .bptt import TimeGradients, bptt, clip_gradients, gradient_by_lag
from .checkpoint import read_checkpoint, write_checkpoint
from .conv import (
    Conv,
    ConvTranspose,
    conv_output_size,
    convolve_channels,
    transposed_output_size,
)
from .conv_net import ConvNet
from .decoding import TokenModel, beam_search, decode
from .dropout import DropConnect, Dropout
from .feature_extractor import FeatureExtractor, layer_outputs
from .fine_tuning import fine_tune, freeze, unfreeze
from .ft_transformer import FTTransformer
from .heads import HEADS
from .hippo import hippo_legs, legs_coefficients, reconstruct_history
from .lipschitz import SpectralNorm, lipschitz_bound, lipschitz_estimate
from .locally_connected import LocallyConnected
from .mamba import Mamba
from .mlp import MLP, glorot_uniform
from .model_size import count_flops, count_parameters
from .neural_ode import FlowNet, MLPField, NeuralODE, ResidualNet
from .normalisation import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from .numeric_embeddings import (
    PeriodicEmbedding,
    PiecewiseLinearEmbedding,
    quantile_bins,
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
from .sequence_net import ARCHITECTURES, RaggedRows, SequenceNet
from .ssd import ssd
from .ssm import S4, S4D, StateSpaceBlock, causal_convolution, ssm_kernel, ssm_scan
from .stopping import EarlyStopping
from .tableaus import TABLEAUS
from .tabular_net import CategoryEmbedding, TabularResNet
from .train import Net, Training, TrainingState, train
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
    "DropConnect",
    "Dropout",
    "EarlyStopping",
    "FTTransformer",
    "FeatureExtractor",
    "FlowNet",
    "GRU",
    "GroupNorm",
    "HEADS",
    "KeyValueCache",
    "LSTM",
    "LayerNorm",
    "LearnedPositions",
    "Lion",
    "LocallyConnected",
    "MLP",
    "MLPField",
    "MODERN",
    "Mamba",
    "MaxPool",
    "MultiHeadAttention",
    "Muon",
    "Net",
    "NeuralODE",
    "ODESolution",
    "ParameterGroups",
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
    "SparseRows",
    "SpectralNorm",
    "StateSpaceBlock",
    "StiffODEWarning",
    "TABLEAUS",
    "TabularResNet",
    "TimeGradients",
    "TokenModel",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "Transformer",
    "TransformerDecoder",
    "TransformerEncoder",
    "WeightAverage",
    "activations",
    "attend",
    "augment",
    "beam_search",
    "bptt",
    "causal_convolution",
    "causal_mask",
    "clip_gradients",
    "conv_output_size",
    "convolve_channels",
    "count_flops",
    "count_parameters",
    "decode",
    "fine_tune",
    "freeze",
    "glorot_uniform",
    "gradient_by_lag",
    "heads",
    "hippo_legs",
    "invariance_score",
    "layer_outputs",
    "legs_coefficients",
    "lipschitz_bound",
    "lipschitz_estimate",
    "odeint",
    "quantile_bins",
    "read_checkpoint",
    "reconstruct_history",
    "saliency",
    "scan",
    "schedules",
    "sinusoidal_positions",
    "ssd",
    "ssm_kernel",
    "ssm_scan",
    "tie",
    "train",
    "transposed_output_size",
    "unfreeze",
    "write_checkpoint",
]
