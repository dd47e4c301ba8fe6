"""Mini-batches of rows on their device, without DataLoader or worker processes.

Data are arrays of equal length in a tuple or a dict, or any object with a length and
`take(rows) -> batch`. Arrays are moved to the device once. A pass is a permutation
drawn from the run's own generator; rows are gathered some megabytes at a time and the
batches of such a chunk are views of it, so a step costs no indexing. Order and batches
are the same on every device.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

CHUNK_BYTES = 1 << 25


def to_tensor(array, device) -> torch.Tensor:
    """The array as a tensor on the device, without a copy where that is safe."""
    if not isinstance(array, torch.Tensor):
        array = np.require(array, requirements=["C", "W"])  # torch wants both
        array = torch.from_numpy(np.atleast_1d(array))
    return array.to(device)


class TensorRows:
    """A tuple or dict of tensors with the same number of rows."""

    def __init__(self, data, device):
        if isinstance(data, (torch.Tensor, np.ndarray)):
            data = (data,)
        self.keys = list(data) if isinstance(data, dict) else None
        parts = data.values() if isinstance(data, dict) else data
        self.parts = [to_tensor(a, device) for a in parts]
        self.n = len(self.parts[0])
        if any(len(a) != self.n for a in self.parts):
            lengths = [len(a) for a in self.parts]
            raise ValueError(f"data must have equally many rows, got {lengths}.")
        size = sum(a.element_size() * a[:1].numel() for a in self.parts)
        self.chunk = max(1, CHUNK_BYTES // max(size, 1))

    def __len__(self):
        return self.n

    def as_batch(self, parts):
        """Parts as a tuple, or a dict if the data were one."""
        return dict(zip(self.keys, parts)) if self.keys else tuple(parts)

    def take(self, rows):
        return self.as_batch([a[rows] for a in self.parts])

    def batches(self, rows, batch: int) -> Iterator[tuple[Any, int]]:
        """(batch, number of its rows) along `rows`, an index or a slice."""
        step = max(self.chunk // batch, 1) * batch
        n = len(rows) if not isinstance(rows, slice) else rows.stop - rows.start
        for at in range(0, n, step):
            stop = min(at + step, n)
            if isinstance(rows, slice):
                part = slice(rows.start + at, rows.start + stop)
            else:
                part = torch.as_tensor(rows[at:stop], device=self.parts[0].device)
            cuts = [torch.split(a[part], batch) for a in self.parts]
            for pieces in zip(*cuts):
                yield self.as_batch(pieces), len(pieces[0])


class SparseRows:
    """A SciPy CSR matrix and arrays of its length; a batch is made dense when taken."""

    def __init__(self, X, *aligned):
        self.X, self.aligned = X, aligned

    def __len__(self):
        return self.X.shape[0]

    def take(self, rows):
        return (self.X[rows].toarray(), *(a[rows] for a in self.aligned))


class Batches:
    """An endless stream of batches over shuffled passes, which can be resumed.

    Parameters
    ----------
    data : array, tuple, dict or object with `take` and a length
    batch_size : int or None
        None takes all rows at once.
    rng : numpy.random.Generator or None
        Draws one permutation per pass. None keeps the order of the rows.
    device : torch.device
    """

    def __init__(self, data, batch_size, rng=None, device="cpu"):
        own = hasattr(data, "take") and not isinstance(data, (torch.Tensor, np.ndarray))
        self.source = data if own else TensorRows(data, device)
        self.n, self.device, self.rng = len(self.source), device, rng
        if self.n == 0:
            raise ValueError("data must have at least one row.")
        self.batch_size = min(batch_size or self.n, self.n)
        self.position = 0  # batches taken of the present pass
        self.started = None  # the generator's state when this pass was drawn

    @property
    def per_pass(self) -> int:
        return -(-self.n // self.batch_size)

    def one_pass(self, skip: int = 0) -> Iterator[tuple[Any, int]]:
        """The batches of one pass, from batch number `skip`."""
        begin = skip * self.batch_size
        order = None
        if self.rng is not None:
            self.started = self.rng.bit_generator.state
            order = self.rng.permutation(self.n)[begin:]
        if isinstance(self.source, TensorRows):
            rows = slice(begin, self.n) if order is None else order
            yield from self.source.batches(rows, self.batch_size)
            return
        order = np.arange(begin, self.n) if order is None else order
        for at in range(0, len(order), self.batch_size):
            part = order[at : at + self.batch_size]
            yield batch_to_device(self.source.take(part), self.device), len(part)

    def stream(self) -> Iterator[tuple[Any, int]]:
        """Batches without end, pass after pass, from the present position."""
        while True:
            for item in self.one_pass(self.position):
                self.position += 1
                yield item
            self.position = 0

    def state_dict(self) -> dict:
        """The position of the stream, as values that JSON can hold."""
        position = self.position % self.per_pass
        if self.rng is None:
            return {"position": position}
        state = self.started if position else self.rng.bit_generator.state
        return {"position": position, "rng": json_state(state)}

    def load_state_dict(self, values: dict) -> None:
        """Continue where `state_dict` was called."""
        self.position = values["position"]
        if self.rng is not None:
            self.rng.bit_generator.state = values["rng"]


def batch_to_device(batch, device):
    """Every array of a batch on the device."""
    if isinstance(batch, dict):
        return {key: to_tensor(a, device) for key, a in batch.items()}
    if isinstance(batch, tuple):
        return tuple(to_tensor(a, device) for a in batch)
    return to_tensor(batch, device)


def json_state(state):
    """A generator's state with arrays as lists, for JSON."""
    if isinstance(state, dict):
        return {key: json_state(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return state.tolist()
    return int(state) if isinstance(state, np.integer) else state
