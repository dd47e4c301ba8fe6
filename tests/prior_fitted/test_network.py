"""The forward pass: the same for NumPy and torch, by memory and by blocks."""

import numpy as np
import pytest
import torch

from pansophy.prior_fitted import operations
from pansophy.prior_fitted.network import forward

from .tiny_network import TINY, random_table, random_weights


def as_torch(a):
    return torch.from_numpy(np.ascontiguousarray(a))


@pytest.mark.parametrize(
    ("n_train", "n_new", "d"), [(60, 20, 5), (2, 1, 1), (30, 3, 40)]
)
def test_numpy_equals_torch(n_train, n_new, d):
    weights = random_weights(TINY)
    table = random_table(n_train, n_new, d)
    outputs, memory = forward(weights, TINY, *table)
    tensors = {name: as_torch(w) for name, w in weights.items()}
    expected, kept = forward(tensors, TINY, *map(as_torch, table))
    assert outputs.shape == (1, n_new, 10)
    np.testing.assert_allclose(outputs, expected.numpy(), atol=1e-5)
    for ours, theirs in zip(memory, kept, strict=True):
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_allclose(a, b.numpy(), atol=1e-5)


def test_memory_stands_for_training_rows():
    weights = random_weights(TINY)
    cells, targets, identities = random_table(50, 12, 4)
    whole, _ = forward(weights, TINY, cells, targets, identities)
    _, memory = forward(weights, TINY, cells[:, :50], targets, identities)
    for rows in slice(50, 62), slice(53, 54):
        alone, _ = forward(
            weights, TINY, cells[:, rows], targets[:, :0], identities, memory
        )
        expected = whole[:, rows.start - 50 : rows.stop - 50]
        np.testing.assert_allclose(alone, expected, atol=1e-5)


def test_blocks_of_attention_change_nothing(monkeypatch):
    weights = random_weights(TINY)
    table = random_table(40, 9, 6)
    whole, _ = forward(weights, TINY, *table)
    monkeypatch.setattr(operations, "MOST_SCORES", 300)
    blocked, _ = forward(weights, TINY, *table)
    np.testing.assert_allclose(blocked, whole, atol=1e-5)


def test_order_of_training_rows_and_columns_changes_nothing():
    weights = random_weights(TINY)
    cells, targets, identities = random_table(40, 9, 6)
    whole, _ = forward(weights, TINY, cells, targets, identities)
    rng = np.random.default_rng(1)
    rows, columns = rng.permutation(40), rng.permutation(6)
    order = np.r_[rows, 40:49]
    mixed, _ = forward(
        weights,
        TINY,
        cells[:, order][:, :, columns],
        targets[:, rows],
        identities[:, columns],
    )
    np.testing.assert_allclose(mixed, whole, atol=1e-5)
