"""What generators share: weighted means, rows taken together."""

import numpy as np
import pytest

from pansophy.generative.abstract_generator import GeneratorRows, batch_mean


def test_weighted_mean_counts_rows():
    torch = pytest.importorskip("torch")
    values = torch.tensor([1.0, 2.0, 4.0], dtype=torch.float64)
    w = torch.tensor([1.0, 0.0, 3.0], dtype=torch.float64)
    repeated = torch.tensor([1.0, 4.0, 4.0, 4.0], dtype=torch.float64)
    assert batch_mean(values, {"w": w}) == batch_mean(repeated, {})
    assert batch_mean(values, {"w": 0 * w}) == 0


def test_rows_are_taken_together():
    rows = GeneratorRows(np.arange(6.0).reshape(3, 2), np.arange(3), None)
    part = rows.take([2, 0])
    assert part.w is None and part.y.tolist() == [2, 0]
    assert part.arrays("float32")["X"].dtype == np.float32
