"""Mini-batches of rows on their device, without DataLoader or worker processes.

Data are arrays of equal length in a tuple or a dict, or any object with a length and
`take(rows) -> batch`. Arrays are moved to the device once. A pass is a permutation
drawn from the run's own generator; rows are gathered some megabytes at a time and the
batches of such a chunk are views of it, so a step costs no indexing. Order and batches
are the same on every device.

Sources that read files (`nn.training.data_sources`) are read by a thread some batches
ahead, in page-locked memory if they go to a GPU. The position of the stream, which
checkpoints hold, is that of the batches taken from it, not of those read ahead.
"""

import copy
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np
import torch

from .prefetch import prefetched

CHUNK_BYTES = 1 << 25


def _to_tensor(array, device, *, non_blocking=False) -> torch.Tensor:
    """The array as a tensor on the device, without a copy where that is safe."""
    if not isinstance(array, torch.Tensor):
        array = np.require(array, requirements=["C", "W"])  # torch wants both
        array = torch.from_numpy(np.atleast_1d(array))
    return array.to(device, non_blocking=non_blocking)


class TensorRows:
    """A tuple or dict of tensors with the same number of rows."""

    def __init__(self, data, device):
        if isinstance(data, (torch.Tensor, np.ndarray)):
            data = (data,)
        self.keys = list(data) if isinstance(data, dict) else None
        parts = data.values() if isinstance(data, dict) else data
        self.parts = [_to_tensor(a, device) for a in parts]
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
        for start in range(0, n, step):
            stop = min(start + step, n)
            if isinstance(rows, slice):
                part = slice(rows.start + start, rows.start + stop)
            else:
                part = torch.as_tensor(rows[start:stop], device=self.parts[0].device)
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
    data : array, tuple, dict, or object with a length and `take` or `read_pass`
    batch_size : int or None
        None takes all rows at once.
    rng : numpy.random.Generator or None
        Draws one permutation per pass. None keeps the order of the rows.
    device : torch.device
    part : (int, int) or None
        (i, k): the i-th of k equal parts of every batch, for the i-th of k processes. A
        part without rows is one row, counted as none.
    prefetch : int or None
        Batches that a thread reads ahead; None: 2 of sources that ask for it.
    drop_last : bool
        Whether to leave out the last rows of a pass that do not fill a batch.
    """

    def __init__(
        self,
        data,
        batch_size,
        rng=None,
        device="cpu",
        part=None,
        prefetch=None,
        drop_last=False,
    ):
        is_source = hasattr(data, "take") or hasattr(data, "read_pass")
        is_source = is_source and not isinstance(data, (torch.Tensor, np.ndarray))
        self.source = data if is_source else TensorRows(data, device)
        self.n, self.device, self.rng = len(self.source), device, rng
        if self.n == 0:
            raise ValueError("data must have at least one row.")
        self.batch_size = min(batch_size or self.n, self.n)
        self.drop_last = drop_last
        self.n_used = self.n - self.n % self.batch_size if drop_last else self.n
        self.part = part
        if prefetch is None:
            prefetch = 2 if getattr(self.source, "prefetch", False) else 0
        self.prefetch = prefetch
        self.read_ahead = None  # (position, generator state) of a prefetched stream
        self.position = 0  # batches taken of the present pass
        self.started = None  # the generator's state when this pass was drawn

    @property
    def per_pass(self) -> int:
        """Batches of a pass; a source that cuts its own batches says so itself."""
        source_batches = getattr(self.source, "per_pass", None)
        return source_batches or -(-self.n_used // self.batch_size)

    def one_pass(self, skip: int = 0, rng=None) -> Iterator[tuple[Any, int]]:
        """The batches of one pass, from batch number `skip`.

        Its order is drawn from `rng`; None is the generator of the stream.
        """
        rng = self.rng if rng is None else rng
        if rng is not None:
            self.started = rng.bit_generator.state
        if hasattr(self.source, "read_pass"):
            yield from self._read_pass(skip, rng)
            return
        begin = skip * self.batch_size
        order = None if rng is None else rng.permutation(self.n)[begin : self.n_used]
        if self.part is not None:
            yield from self._parts(order, begin)
            return
        if isinstance(self.source, TensorRows):
            rows = slice(begin, self.n_used) if order is None else order
            yield from self.source.batches(rows, self.batch_size)
            return
        order = np.arange(begin, self.n_used) if order is None else order
        for start in range(0, len(order), self.batch_size):
            part = order[start : start + self.batch_size]
            yield self._placed(self.source.take(part)), len(part)

    def _read_pass(self, skip, rng):
        """A pass of a source that has an order of its own."""
        source: Any = self.source
        for batch in source.read_pass(rng, self.batch_size, skip):
            rows = _first_length(batch)
            is_own_size = hasattr(source, "per_pass")  # batches cut by the source
            if self.drop_last and rows < self.batch_size and not is_own_size:
                continue
            if self.part is None:
                yield self._placed(batch), rows
                continue
            i, k = self.part
            share = slice(i * rows // k, (i + 1) * rows // k)
            count = share.stop - share.start
            shown = share if count else slice(0, 1)
            if isinstance(batch, dict):
                yield self._placed({k: a[shown] for k, a in batch.items()}), count
            else:
                yield self._placed(tuple(a[shown] for a in batch)), count

    def _placed(self, batch):
        """A batch on the device, or in page-locked memory on the way to it."""
        if self.prefetch and torch.device(self.device).type == "cuda":
            return _pinned_batch(batch)
        return batch_to_device(batch, self.device)

    def _parts(self, order, begin):
        """This process's part of each batch."""
        order = np.arange(begin, self.n_used) if order is None else order
        i, k = self.part or (0, 1)
        for start in range(0, len(order), self.batch_size):
            rows = order[start : start + self.batch_size]
            own_rows = rows[i * len(rows) // k : (i + 1) * len(rows) // k]
            shown = own_rows if len(own_rows) else rows[:1]
            yield self._placed(self.source.take(shown)), len(own_rows)

    def stream(self) -> Generator[tuple[Any, int], None, None]:
        """Batches without end, pass after pass, from the present position."""
        if self.prefetch:
            yield from self._stream_ahead()
        while True:
            for item in self.one_pass(self.position):
                self.position += 1
                yield item
            self.position = 0

    def _stream_ahead(self):
        """Batches read by a thread; the position is that of the batches taken.

        The thread draws from a copy of the generator, which itself stands where the
        batches taken have left it: what is drawn next does not depend on how far the
        thread has read.
        """
        ahead = prefetched(self._numbered(copy.deepcopy(self.rng)), self.prefetch)
        try:
            for (batch, rows), position, drawn in ahead:
                self.read_ahead = position
                if self.rng is not None:
                    self.rng.bit_generator.state = drawn
                yield batch_to_device(batch, self.device, non_blocking=True), rows
        finally:
            ahead.close()

    def _numbered(self, rng):
        """Batches without end, where the stream stands after each, `rng`'s state."""
        position = self.position
        while True:
            for item in self.one_pass(position, rng):
                position = (position + 1) % self.per_pass
                drawn = None if rng is None else rng.bit_generator.state
                begun = None if rng is None else self.started
                yield item, (position, begun if position else drawn), drawn

    def state_dict(self) -> dict:
        """The position of the stream, as values that JSON can hold."""
        if self.read_ahead is not None:
            position, state = self.read_ahead
            rng = {} if state is None else {"rng": _json_state(state)}
            return {"position": position, **rng}
        position = self.position % self.per_pass
        if self.rng is None:
            return {"position": position}
        state = self.started if position else self.rng.bit_generator.state
        return {"position": position, "rng": _json_state(state)}

    def load_state_dict(self, values: dict) -> None:
        """Continue where `state_dict` was called."""
        self.position = values["position"]
        if self.rng is not None:
            self.rng.bit_generator.state = values["rng"]


def batch_to_device(batch, device, *, non_blocking=False):
    """Every array of a batch on the device."""
    place = lambda a: _to_tensor(a, device, non_blocking=non_blocking)
    if isinstance(batch, dict):
        return {key: place(a) for key, a in batch.items()}
    if isinstance(batch, tuple):
        return tuple(place(a) for a in batch)
    return place(batch)


def _pinned_batch(batch):
    """Every array of a batch in page-locked memory, from which copies need no wait."""
    pin = lambda a: _to_tensor(a, "cpu").pin_memory()
    if isinstance(batch, dict):
        return {key: pin(a) for key, a in batch.items()}
    return tuple(map(pin, batch)) if isinstance(batch, tuple) else pin(batch)


def _first_length(batch) -> int:
    """Rows of a batch."""
    if isinstance(batch, dict):
        return len(next(iter(batch.values())))
    return len(batch[0]) if isinstance(batch, tuple) else len(batch)


def _json_state(state):
    """A generator's state with arrays as lists, for JSON."""
    if isinstance(state, dict):
        return {key: _json_state(value) for key, value in state.items()}
    if isinstance(state, np.ndarray):
        return state.tolist()
    return int(state) if isinstance(state, np.integer) else state
