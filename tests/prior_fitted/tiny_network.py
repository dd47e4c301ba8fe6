"""A small network with random weights, and random tables for it."""

import json
import math
from dataclasses import asdict, replace

import numpy as np
from safetensors.numpy import save_file

from pansophy.prior_fitted.cells import describe_columns, encode_cells
from pansophy.prior_fitted.network import IDENTITY, NetworkShape
from pansophy.prior_fitted.pretrained import FORMAT

TINY = NetworkShape(
    n_cell_features=24,
    n_targets=11,
    n_outputs=10,
    width=32,
    n_inducing=4,
    n_summaries=2,
    n_thinking=3,
    column_blocks=2,
    row_blocks=2,
    context_blocks=2,
    head_width=16,
)


def random_weights(shape, seed=0):
    rng = np.random.default_rng(seed)
    weights = {}
    for name, size in shape.parameters().items():
        values = rng.standard_normal(size)
        values = np.abs(values) if name.endswith("scale") else values
        unit = math.sqrt(size[-1]) if len(size) > 1 else 4
        weights[name] = (values / unit).astype(np.float32)
    return weights


def random_table(n_train, n_new, d, n_classes=3, missing=0.1, seed=0):
    """Cells, targets of the training rows and identities of one table."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1, n_train + n_new, d)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    cells = encode_cells(describe_columns(X[:, :n_train]), X)
    targets = np.zeros((1, n_train, 11), np.float32)
    targets[0, np.arange(n_train), rng.integers(0, n_classes, n_train)] = 1
    targets[0, :, 10] = 1
    identities = rng.standard_normal((1, d, IDENTITY)).astype(np.float32)
    return cells, targets, identities


WITH_HEADS = replace(TINY, n_targets=34, n_outputs=74)


def write_random_network(path, shape=WITH_HEADS, seed=0):
    """A file of random weights, with limits of 200 rows and 6 columns."""
    limits = {"n_classes": 10, "n_knots": 64, "columns": 6, "rows": 200}
    metadata = {
        "format": FORMAT,
        "shape": json.dumps(asdict(shape)),
        "limits": json.dumps(limits),
        "provenance": json.dumps({"steps": 0}),
    }
    save_file(random_weights(shape, seed), path, metadata=metadata)
