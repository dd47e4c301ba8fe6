"""Pretrained weights: where they are, what stands beside them, how they are read.

A file of weights is a safetensors file of bfloat16 or float32 tensors, named as
`NetworkShape.parameters` names them, whose metadata hold as JSON

- `shape`: the fields of `NetworkShape`;
- `limits`: the largest tables of training (`n_classes`, `columns`, `rows`, the knots);
- `provenance`: steps and tables of the training.

The file of the package is used unless the environment variable
PANSOPHY_PRETRAINED_TABLES names another. bfloat16 is the upper half of float32, so that
NumPy reads it without another library.
"""

import hashlib
import json
import os
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .network import NetworkShape

FORMAT = "pansophy.prior_fitted"
VARIABLE = "PANSOPHY_PRETRAINED_TABLES"
PACKAGED = Path(__file__).with_name("prior_fitted.safetensors")


class PretrainedNetwork(NamedTuple):
    """Weights of a network with what is known about their training."""

    weights: dict[str, np.ndarray]  # float32
    shape: NetworkShape
    limits: dict
    provenance: dict
    digest: str  # of the file


def _pretrained_path() -> Path:
    """The file of weights that the estimators use."""
    return Path(os.environ.get(VARIABLE) or PACKAGED)


def has_pretrained() -> bool:
    """Whether there is a file of weights."""
    return _pretrained_path().is_file()


def load_pretrained(path=None) -> PretrainedNetwork:
    """The weights of a file, by default those of the package; kept in memory.

    Examples
    --------
    >>> from pansophy.prior_fitted.pretrained import load_pretrained
    >>> load_pretrained().shape.n_cell_features
    24
    """
    path = Path(path) if path is not None else _pretrained_path()
    try:
        stamp = path.stat().st_mtime_ns
    except OSError:
        raise FileNotFoundError(
            f"there are no pretrained weights at {path}; they come with the package, "
            f"and the environment variable {VARIABLE} may name another file."
        ) from None
    return _read_pretrained(path, stamp)


@lru_cache(maxsize=2)
def _read_pretrained(path: Path, stamp: int) -> PretrainedNetwork:
    from safetensors import SafetensorError, deserialize, safe_open

    data = path.read_bytes()
    try:
        with safe_open(path, framework="np") as file:
            meta = file.metadata() or {}
        tensors = deserialize(data)
    except SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file: {error}.") from None
    if meta.get("format") != FORMAT:
        raise ValueError(f"{path} holds no weights of a network for tables.")
    shape = NetworkShape(**json.loads(meta["shape"]))
    weights = {name: _as_float32(tensor) for name, tensor in tensors}
    shapes = {name: w.shape for name, w in weights.items()}
    if shapes != shape.parameters():
        raise ValueError(f"the weights in {path} do not have the shapes it states.")
    return PretrainedNetwork(
        weights,
        shape,
        json.loads(meta["limits"]),
        json.loads(meta["provenance"]),
        hashlib.sha256(data).hexdigest()[:16],
    )


def _as_float32(tensor: dict) -> np.ndarray:
    """A tensor of a safetensors file; bfloat16 is widened."""
    if tensor["dtype"] == "BF16":
        upper = np.frombuffer(tensor["data"], "<u2").astype(np.uint32)
        values = (upper << 16).view(np.float32)
    elif tensor["dtype"] == "F32":
        values = np.frombuffer(tensor["data"], "<f4").astype(np.float32)
    else:
        raise ValueError(f"weights of type {tensor['dtype']} are not read.")
    return values.reshape(tensor["shape"])
