"""Rows that come as torch has them: a Dataset, a DataLoader, an iterable of batches.

- A `TensorDataset` is its tensors, and any other map-style `Dataset` is read row by row
  and collated as a DataLoader does; `nn.train` cuts the batches.
- A `DataLoader` keeps its own batches, order and workers. `batch_size`, `shuffle` and
  `drop_last` of `nn.train` do not change it.
- Any other iterable gives batches; one without a length needs `steps_per_epoch`, and is
  begun again when it ends.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    TensorDataset,
    default_collate,
)


class TorchDatasetRows:
    """The rows of a map-style Dataset, collated as a DataLoader collates them."""

    def __init__(self, dataset):
        self.dataset = dataset

    def __len__(self):
        return len(self.dataset)

    def take(self, rows):
        return _plain_batch(default_collate([self.dataset[int(i)] for i in rows]))


class BatchIterable:
    """Batches that a DataLoader or another iterable gives.

    Parameters
    ----------
    batches : iterable
    """

    def __init__(self, batches: Any):
        self.batches = batches
        try:
            self.per_pass = len(batches)
        except TypeError:
            self.per_pass = None  # not known

    def __len__(self):
        rows = getattr(self.batches, "dataset", None)
        try:
            return len(rows) if rows is not None else self.per_pass or 1
        except TypeError:
            return 1

    def read_pass(self, rng, batch_size: int, skip: int = 0) -> Iterator:
        """The batches of a pass from number `skip`; their order is the iterable's."""
        number = -1
        for number, batch in enumerate(self.batches):
            if number >= skip:
                yield _plain_batch(batch)
        if number < skip:
            raise ValueError(
                "the iterable of batches has ended and gives none when it is begun "
                "again: give a DataLoader, a list, or an object whose __iter__ begins "
                "anew."
            )


def _plain_batch(batch):
    """A batch as `nn.train` hands it on: lists become tuples."""
    return tuple(batch) if isinstance(batch, list) else batch


def as_torch_source(data):
    """Data of torch's kinds as a source of rows or batches; others as they are."""
    if isinstance(data, TensorDataset):
        return data.tensors
    if isinstance(data, (DataLoader, IterableDataset)):
        return BatchIterable(data)
    if isinstance(data, Dataset):
        return TorchDatasetRows(data)
    arrays = isinstance(data, (dict, tuple, torch.Tensor))
    is_source = hasattr(data, "take") or hasattr(data, "read_pass")
    if arrays or is_source or hasattr(data, "shape") or hasattr(data, "__array__"):
        return data
    if isinstance(data, list) and not all(isinstance(b, (tuple, dict)) for b in data):
        return data  # arrays of equal length
    return BatchIterable(data) if isinstance(data, Iterable) else data
