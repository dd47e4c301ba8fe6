"""Data of torch's kinds as sources of rows or batches."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, TensorDataset  # noqa: E402

from pansophy.nn.training.torch_data import (  # noqa: E402
    BatchIterable,
    TorchDatasetRows,
    as_torch_source,
)


class Squares(Dataset):
    def __len__(self):
        return 5

    def __getitem__(self, i):
        return float(i), float(i) ** 2


def test_rows_of_a_dataset_are_collated():
    rows = as_torch_source(Squares())
    assert isinstance(rows, TorchDatasetRows) and len(rows) == 5
    x, y = rows.take(np.array([1, 3]))
    assert x.tolist() == [1, 3] and y.tolist() == [1, 9]


def test_a_tensor_dataset_is_its_tensors():
    x = torch.arange(3.0)
    assert as_torch_source(TensorDataset(x))[0] is x
    assert as_torch_source((x, x)) == (x, x)


def test_batches_come_in_the_order_of_the_loader():
    batches = as_torch_source(DataLoader(Squares(), batch_size=2))
    assert isinstance(batches, BatchIterable)
    assert len(batches) == 5 and batches.per_pass == 3
    firsts = [x.tolist() for x, _ in batches.read_pass(None, 2)]
    assert firsts == [[0, 1], [2, 3], [4]]
    assert [x.tolist() for x, _ in batches.read_pass(None, 2, skip=2)] == [[4]]


def test_a_generator_that_is_spent_is_told():
    batches = as_torch_source((x,) for x in (1, 2))
    assert len(list(batches.read_pass(None, 1))) == 2
    with pytest.raises(ValueError, match="has ended and gives none"):
        list(batches.read_pass(None, 1))
