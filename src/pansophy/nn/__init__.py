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
from .locally_connected import LocallyConnected
from .mlp import MLP, glorot_uniform
from .model_size import count_flops, count_parameters
from .normalisation import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from .numeric_embeddings import (
    PeriodicEmbedding,
    PiecewiseLinearEmbedding,
    quantile_bins,
)
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
from .sequence_net import ARCHITECTURES, RaggedRows, SequenceNet
from .stopping import EarlyStopping
from .tabular_net import CategoryEmbedding, TabularResNet
from .train import Net, Training, TrainingState, train
from .transformer import (
    CLASSIC,
    MODERN,
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
    "MODERN",
    "MaxPool",
    "MultiHeadAttention",
    "Muon",
    "Net",
    "ParameterGroups",
    "PeriodicEmbedding",
    "PiecewiseLinearEmbedding",
    "PositionalEncoding",
    "RMSNorm",
    "RNN",
    "RaggedRows",
    "Residual",
    "Rotary",
    "SGD",
    "SIMILARITIES",
    "SelfAttention",
    "SequenceNet",
    "SparseRows",
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
    "invariance_score",
    "layer_outputs",
    "quantile_bins",
    "read_checkpoint",
    "saliency",
    "schedules",
    "sinusoidal_positions",
    "tie",
    "train",
    "transposed_output_size",
    "unfreeze",
    "write_checkpoint",
]
