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
from .batches import Batches, SparseRows
from .bptt import TimeGradients, bptt, clip_gradients, gradient_by_lag
from .checkpoint import read_checkpoint, write_checkpoint
from .decoding import TokenModel, beam_search, decode
from .heads import HEADS
from .mlp import MLP, glorot_uniform
from .normalisation import LayerNorm, RMSNorm
from .optimisers import SGD, Adam, TorchOptimiser
from .positions import (
    LearnedPositions,
    PositionalEncoding,
    Rotary,
    sinusoidal_positions,
)
from .recurrent import GRU, LSTM, RNN
from .stopping import EarlyStopping
from .train import Net, Training, TrainingState, train
from .transformer import (
    CLASSIC,
    MODERN,
    BlockOptions,
    Transformer,
    TransformerDecoder,
    TransformerEncoder,
)

__all__ = [
    "ACTIVATIONS",
    "Adam",
    "Batches",
    "BlockOptions",
    "CLASSIC",
    "CrossAttention",
    "EarlyStopping",
    "GRU",
    "HEADS",
    "KeyValueCache",
    "LSTM",
    "LayerNorm",
    "LearnedPositions",
    "MLP",
    "MODERN",
    "MultiHeadAttention",
    "Net",
    "PositionalEncoding",
    "RMSNorm",
    "RNN",
    "Residual",
    "Rotary",
    "SGD",
    "SIMILARITIES",
    "SelfAttention",
    "SparseRows",
    "TimeGradients",
    "TokenModel",
    "TorchOptimiser",
    "Training",
    "TrainingState",
    "Transformer",
    "TransformerDecoder",
    "TransformerEncoder",
    "activations",
    "attend",
    "beam_search",
    "bptt",
    "causal_mask",
    "clip_gradients",
    "decode",
    "glorot_uniform",
    "gradient_by_lag",
    "heads",
    "read_checkpoint",
    "schedules",
    "sinusoidal_positions",
    "train",
    "write_checkpoint",
]
